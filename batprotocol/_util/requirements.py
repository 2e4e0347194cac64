"""Requirements: packages of an extra that are not installed, and parts that an operating system lacks."""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Iterator
from importlib import import_module
from typing import Protocol

__all__ = [
    "installing",
    "kill_with_children",
    "lacking",
    "refusal",
]


_PROJECT = "batprotocol"
_REQUIREMENT = re.compile(r"""(?P<package>[^\s;]+)\s*;\s*extra\s*==\s*["'](?P<extra>[\w-]+)["']""")


def installing(extra: str, *names: str) -> str:
    """The command that installs the packages of an extra.

    >>> installing("plots")
    "pip install 'matplotlib>=3.8'"

    Args:
        extra: the name of the extra.
        names: the packages to install; by default, all of the extra.
    """
    from importlib.metadata import PackageNotFoundError

    try:
        found = [each for each in _packages(extra) if not names or re.split(r"[^\w-]", each)[0] in names]
    except PackageNotFoundError:  # the source runs, and nothing is installed
        found = []
    return f"pip install {shlex.join(found or names or [f'.[{extra}]'])}"


def _packages(extra: str) -> Iterator[str]:
    """The requirements of an extra, as the installed project lists them."""
    from importlib.metadata import requires

    for text in requires(_PROJECT) or ():
        requirement = _REQUIREMENT.fullmatch(text)
        if requirement is None or requirement["extra"] != extra:
            continue
        nested = re.fullmatch(rf"{_PROJECT}\[(.+)\]", requirement["package"])
        if nested is None:
            yield requirement["package"]
        else:
            for other in nested[1].split(","):
                yield from _packages(other)


# Parts of the standard library that only some operating systems have, and the sentence that refuses the rest.


class _Process(Protocol):
    """A thing that was started with `subprocess.Popen`."""

    pid: int

    def kill(self) -> None:
        """Kill it alone."""


def lacking(*needed: str) -> list[str]:
    """Those of these names of the standard library that this system does not have.

    >>> lacking("os.path", "os.no_such_function", "no_such_module.function")
    ['os.no_such_function', 'no_such_module.function']

    Args:
        needed: functions and constants, each as `module.name`.
    """
    return [name for name in needed if not _has(*name.rsplit(".", 1))]


def refusal(what: str, *needed: str) -> str:
    """The sentence that refuses what this system cannot do; "" if the system can do it.

    >>> refusal("local clusters", "os.path")
    ''
    >>> refusal("local clusters", "os.no_such_function")
    'local clusters need os.no_such_function, which this system lacks: use Linux, or WSL on Windows'

    Args:
        what: what does not work, as a plural.
        needed: the names that it needs, as for `lacking`.
    """
    missing = lacking(*needed)
    if not missing:
        return ""
    return f"{what} need {' and '.join(missing)}, which this system lacks: use Linux, or WSL on Windows"


def kill_with_children(process: _Process) -> None:
    """Kill a process, and those that it has started: on systems without process groups, the process alone.

    Args:
        process: the process; it leads a group of its own where there are groups.
    """
    try:
        if hasattr(os, "killpg") and hasattr(signal, "SIGKILL"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):  # it has ended, or macOS says so of one that is ending
        process.kill()


def _has(module: str, name: str) -> bool:
    try:
        return hasattr(import_module(module), name)
    except ImportError:
        return False
