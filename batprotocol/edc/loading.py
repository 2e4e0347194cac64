"""The class of a scheduler, from the file that it is written in: `path/to/file.py:Class`.

It must not know how the scheduler is run, nor who tells the user what is wrong.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

from batprotocol.edc.scheduler import Scheduler
from batprotocol.errors import SchedulerError

__all__ = ["DEPENDENCIES", "LoadError", "file_of", "load"]

DEPENDENCIES: Final = frozenset(
    [
        "batprotocol",
        "click",
        "cloudpickle",
        "distributed",
        "flatbuffers",
        "gymnasium",
        "intervaltree",
        "lz4",
        "matplotlib",
        "mcap",
        "msgspec",
        "mypy_extensions",
        "numpy",
        "paho",
        "pandas",
        "perfetto",
        "polars",
        "procset",
        "psycopg",
        "pyarrow",
        "re2",
        "redis",
        "rich",
        "sortedcontainers",
        "sqlalchemy",
        "yaml",
        "zmq",
        "zstandard",
    ]
)
"""What this library imports: no file of a scheduler can be called like that."""

_LOADED: set[ModuleType] = set()
"""The files of schedulers that were loaded: the next one may have the same name."""


class LoadError(SchedulerError):
    """What was named is no file with a scheduler in it. What that file itself raises is passed on as it is."""


def file_of(target: str) -> tuple[str, str]:
    """The file and the name of the class that `path/to/file.py:Class` names.

    Raises:
        LoadError: it names no file.
    """
    path, _, name = target.rpartition(":")
    if not path or not name:
        raise LoadError(f"expected FILE:CLASS, for example scheduler.py:FCFS, got {target!r}")
    if not os.path.isfile(path):
        hint = f"; did you mean {path}.py:{name}?" if os.path.isfile(f"{path}.py") else ""
        raise LoadError(f"there is no file {path!r}{hint}")
    return path, name


def load(target: str, arguments: Mapping[str, object] | None = None) -> type[Scheduler]:
    """The class that `path/to/file.py:Class` names. As for a script, the files beside it can be imported.

    Args:
        target: the file and the class.
        arguments: what it will be made with, by their names.

    Raises:
        LoadError: there is no such file, no such scheduler in it, or none that is made with these arguments.
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
        raise LoadError(f"the class {name} is abstract: one that can be run has {' and '.join(missing)}, too")
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
    name = Path(path).stem
    if name in DEPENDENCIES or _is_taken(name, path):
        # Whoever imports that module from now on would get this file.
        raise LoadError(f"{path!r} would hide the module {name} of Python or of this library; rename the file")
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path[:1]:
        # As that of a script, it stays: what the file imports in its methods is looked for when they are called.
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise LoadError(f"{path!r} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _LOADED.add(module)
    spec.loader.exec_module(module)
    return module


def _is_taken(name: str, path: str) -> bool:
    """Whether another file than this one was already imported by this name, other than by `load`."""
    if name not in sys.modules or sys.modules[name] in _LOADED:
        return False
    file = getattr(sys.modules[name], "__file__", None)
    return file is None or not os.path.exists(file) or not os.path.samefile(file, path)


def _is_scheduler_of(value: object, module: ModuleType) -> bool:
    return isinstance(value, type) and issubclass(value, Scheduler) and value.__module__ == module.__name__
