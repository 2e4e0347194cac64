"""What tests of the simulator's inputs have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from batprotocol.workloads import Platform, read_platform


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Platform]:
    """Reads a platform file of this text."""

    def reader(text: str | bytes, **options: object) -> Platform:
        path = tmp_path / "platform.xml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_platform(path, **options)  # type: ignore[arg-type]

    return reader
