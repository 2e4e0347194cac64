"""What the tests of `batproto` are given: files, and an environment that decides nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import DECIDING_VARIABLES, MESSAGE, write
from support import runs


@pytest.fixture
def message_file(tmp_path: Path) -> Path:
    return write(tmp_path / "00004-b2e.bin", MESSAGE.to_binary())


@pytest.fixture(scope="module", params=["binary", "json"])
def recorded_run(request: pytest.FixtureRequest) -> Path:
    """The smallest recorded run of a format."""
    return min((path for path in runs() if path.name.endswith(f"__{request.param}.tar.xz")), key=_file_size)


def _file_size(path: Path) -> int:
    return path.stat().st_size


@pytest.fixture(autouse=True)
def no_deciding_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in DECIDING_VARIABLES:
        monkeypatch.delenv(name, raising=False)
