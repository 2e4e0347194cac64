"""Parts of the standard library that only some operating systems have, and the sentence that refuses the rest.

This module must not know what needs it.
"""

from __future__ import annotations

import os
import signal
from importlib import import_module
from typing import Protocol

__all__ = ["kill_with_children", "lacking", "refusal"]


class _Process(Protocol):
    """What was started with `subprocess.Popen`."""

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
