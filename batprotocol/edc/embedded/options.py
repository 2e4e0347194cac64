"""The library that Batsim loads, and the initialization data, which name the scheduler to run in it.

The data are a JSON object of strings: `libpython` and `python`, which the C half reads to start the interpreter;
`prefix`, `scheduler`, `format`, `record`, `report` and `verbose`, which are for `guest`; and `init`, the user's own
text, for `on_init`.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from batprotocol.edc.scheduler import file_of
from batprotocol.errors import SchedulerError

__all__ = ["OPTION", "EmbeddedReport", "carried", "libpython", "library", "taken"]

OPTION: Final = "--edc-library-str"
"""Batsim's option for a library and its initialization data."""

_FILE: Final = "libscheduler.so.0"
_NEEDED: Final = frozenset(["format", "init", "libpython", "prefix", "python", "scheduler"])
_POSSIBLE: Final = _NEEDED | {"record", "report", "verbose"}


class EmbeddedReport(NamedTuple):
    """The state of a scheduler inside Batsim, for the program that has started Batsim.

    Args:
        state: "" before the scheduler was loaded; then "begun", and "over" or "failed" in the end.
        reason: the reason of a failure, as a sentence, or "".
    """

    state: str = ""
    reason: str = ""

    def write(self, path: str) -> None:
        """Write it to a file, instead of the one before."""
        with suppress(OSError), open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            json.dump(self, file)

    @classmethod
    def read(cls, path: str) -> EmbeddedReport:
        """The one in a file."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        return cls(*json.loads(text)) if text else cls()


def library() -> str:
    """The path of the shared library.

    Raises:
        SchedulerError: it was not compiled when batprotocol was installed.
    """
    path = Path(__file__).parent / _FILE
    if not path.is_file():
        raise SchedulerError(
            "schedulers cannot run inside Batsim: the library for it was not compiled when batprotocol was installed. "
            "Install a C compiler (Debian and Ubuntu: apt-get install gcc) and batprotocol again"
        )
    return os.fspath(path)


def carried(
    target: str,
    *,
    init: str = "",
    format: str = "binary",
    record: str | None = None,
    report: str | None = None,
    verbose: bool = False,
) -> str:
    """The initialization data for the library to run this scheduler, with this interpreter and environment.

    Args:
        target: the file and the class in it, `path/to/file.py:Class`.
        init: the user's own text, for `on_init`.
        format: "binary" or "json": the format of the conversation.
        record: the path of a recording of the conversation, or None.
        report: the file for the state of the scheduler, or None; see `EmbeddedReport`.
        verbose: show everything that the scheduler logs.

    Raises:
        SchedulerError: there is no such file, or this Python cannot be loaded into other programs.
    """
    path, name = file_of(target)
    data = {
        "libpython": libpython(sysconfig.get_config_vars(), (sys.base_prefix, sys.base_exec_prefix)),
        "python": sys.executable,
        "prefix": sys.prefix,
        "scheduler": f"{os.path.abspath(path)}:{name}",
        "format": format,
        **({} if record is None else {"record": os.path.abspath(record)}),
        **({} if report is None else {"report": report}),
        **({"verbose": "yes"} if verbose else {}),
        "init": init,
    }
    return json.dumps(data, ensure_ascii=False)


def taken(data: bytes) -> dict[str, str]:
    """The contents of initialization data.

    Raises:
        SchedulerError: they were not made by `carried`.
    """
    try:
        found: object = json.loads(data.decode("utf-8", "surrogateescape"))
    except ValueError:
        found = None
    members = found if isinstance(found, dict) else {}
    if _NEEDED <= members.keys() <= _POSSIBLE and all(isinstance(value, str) for value in members.values()):
        return members
    raise SchedulerError("the initialization data were expected to be those that `batproto library FILE:CLASS` prints")


def libpython(variables: Mapping[str, Any], prefixes: tuple[str, ...]) -> str:
    """The path of Python's shared library.

    Args:
        variables: the build of Python, as `sysconfig.get_config_vars` returns it.
        prefixes: the folders of the installation.

    Raises:
        SchedulerError: it has none.
    """
    version = variables.get("LDVERSION") or variables.get("VERSION")
    given = [variables.get(name) or "" for name in ("INSTSONAME", "LDLIBRARY")]
    names = [name for name in given if ".so" in name or ".dylib" in name]
    names += [f"libpython{version}.so.1.0", f"libpython{version}.so", f"libpython{version}.dylib"]
    where = variables.get("LIBDIR") or ""
    folders = [where, os.path.join(where, variables.get("MULTIARCH") or "")]
    folders += [os.path.join(prefix, folder) for prefix in prefixes for folder in ("lib", "lib64")]
    for folder in filter(None, folders):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                return path
    raise SchedulerError(
        f"schedulers cannot run inside Batsim with {sys.executable}: this Python has no shared library "
        f"{names[0]}. On Debian and Ubuntu, apt-get install libpython{variables.get('VERSION')} brings it; with pyenv, "
        "PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install does. Over the socket, any Python works"
    )
