"""What the tests of decision components are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from processes import SCHEDULERS
from replay import PATIENCE


@pytest.fixture
def schedulers(tmp_path: Path) -> Callable[[str], str]:
    """Names a scheduler of SCHEDULERS, as `batproto run` wants it."""
    file = tmp_path / "schedulers.py"
    file.write_text(SCHEDULERS)
    return lambda name: f"{file}:{name}"


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The peers here do answer, but nobody knows when their threads are let run."""
    monkeypatch.setattr("batprotocol.edc.server.FAREWELL", PATIENCE)
