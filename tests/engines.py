"""Running a test with each engine: what one does, the other does too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from batprotocol.wire import binary

__all__ = ["each_engine", "needs_native"]

needs_native = pytest.mark.skipif(
    "native" not in binary.ENGINES, reason="the native engine was not compiled when the package was installed"
)


def each_engine() -> Iterator[str]:
    """Switch the library to one engine after the other; a hook in conftest.py switches back when the test has ended."""
    for name in binary.ENGINES:
        binary.use_engine(name)
        yield name
