"""Loads the class of a scheduler from its file: `path/to/file.py:Class`.

This module must not know how the scheduler is run, nor who reports errors to the user.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from types import ModuleType

from batprotocol._util.importing import DEPENDENCIES, ImportFault, module_in
from batprotocol.edc.scheduler import Scheduler
from batprotocol.errors import SchedulerError

__all__ = ["DEPENDENCIES", "LoadError", "file_of", "load"]


class LoadError(SchedulerError):
    """The target is not a file with a scheduler in it. Exceptions of that file itself pass through unchanged."""


def file_of(target: str) -> tuple[str, str]:
    """The path and the name of the class in `path/to/file.py:Class`.

    Raises:
        LoadError: there is no such file.
    """
    path, _, name = target.rpartition(":")
    if not path or not name:
        raise LoadError(f"expected FILE:CLASS, for example scheduler.py:FCFS, got {target!r}")
    if not os.path.isfile(path):
        hint = f"; did you mean {path}.py:{name}?" if os.path.isfile(f"{path}.py") else ""
        raise LoadError(f"there is no file {path!r}{hint}")
    return path, name


def load(target: str, arguments: Mapping[str, object] | None = None) -> type[Scheduler]:
    """Load the class that `path/to/file.py:Class` names. As a script can, the file can import the files beside it.

    Args:
        target: the file and the class.
        arguments: the keyword arguments that the class will be called with.

    Raises:
        LoadError: there is no such file, no such scheduler in it, or the scheduler does not take these arguments.
    """
    path, name = file_of(target)
    module = _module(path)
    found = getattr(module, name, None)
    if not isinstance(found, type) or not issubclass(found, Scheduler):
        own = [each for each, value in vars(module).items() if _is_scheduler_of(value, module)]
        hint = f"; it has {' and '.join(own)}" if own else ", and no other"
        raise LoadError(f"{path!r} has no Scheduler called {name!r}{hint}")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise LoadError(f"the class {name} is abstract: define {' and '.join(missing)}, too")
    try:
        signature = inspect.signature(found)
        signature.bind(**(arguments or {}))
    except ValueError:  # of some classes in C, nobody knows it
        return found
    except TypeError as error:
        if arguments:
            raise LoadError(f"the class {name} cannot be made with these arguments: {error}") from None
        raise LoadError(
            f"the class {name} is made without arguments, but its __init__ takes {signature}: give them defaults, read "
            f"them from the initialization data in on_init, or call batprotocol.edc.run in a program of your own"
        ) from None
    return found


def _module(path: str) -> ModuleType:
    try:
        return module_in(path)
    except ImportFault as fault:
        raise LoadError(str(fault)) from None


def _is_scheduler_of(value: object, module: ModuleType) -> bool:
    return isinstance(value, type) and issubclass(value, Scheduler) and value.__module__ == module.__name__
