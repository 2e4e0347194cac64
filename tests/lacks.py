"""Tests that need what this operating system lacks are skipped: Unix sockets, forks, signals of POSIX, terminals.

A test that uses such a part itself is skipped when it finds the part missing, and one of what the library refuses with
`SystemLacks`, too. `needs` marks those that would only see another behaviour of the library. If the library stumbles
over what is missing, the test fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from batprotocol._util.requirements import lacking
from batprotocol.errors import SystemLacks

__all__ = ["needs"]

HERE: Final = Path(__file__).resolve().parent
_NAME: Final = re.compile(r"module '(os|posix|resource|select|signal|socket)' has no attribute '(\w+)'")
_MODULE: Final = re.compile(r"(fcntl|grp|pty|pwd|resource|termios|tty)\b")


def needs(*names: str) -> pytest.MarkDecorator:
    """A mark for tests of what needs these names of the standard library, each as `module.name`."""
    missing = lacking(*names)
    return pytest.mark.skipif(bool(missing), reason=f"this system lacks {' and '.join(missing)}")


def _skipped(error: AttributeError | ImportError | SystemLacks) -> None:
    """Skip the test if its own code found something missing, or if the library refused to do without it."""
    if isinstance(error, SystemLacks):
        pytest.skip(str(error))
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or HERE not in Path(last.tb_frame.f_code.co_filename).resolve().parents:
        return
    found = _NAME.search(str(error))
    module = _MODULE.match(getattr(error, "name", None) or str(error).removeprefix("import of "))
    missing = ".".join(found.groups()) if found else module[1] if isinstance(error, ImportError) and module else ""
    if missing and lacking(missing if found else f"{missing}.__name__"):
        pytest.skip(f"this system lacks {missing}")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Iterator[None]:
    try:
        return (yield)
    except (AttributeError, ImportError, SystemLacks) as error:
        _skipped(error)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Iterator[Any]:
    try:
        return (yield)
    except (AttributeError, ImportError, SystemLacks) as error:
        _skipped(error)
        raise
