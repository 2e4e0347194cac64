"""Code of users: their files as modules, and errors in the methods that they override."""

from __future__ import annotations

import dataclasses
import difflib
import importlib.util
import inspect
import os
import sys
from collections.abc import Collection
from pathlib import Path
from types import ModuleType
from typing import Final

from batprotocol.errors import SchedulerError, shown

__all__ = [
    "DEPENDENCIES",
    "ImportFault",
    "expect_known",
    "expect_method",
    "is_computed",
    "module_in",
]


DEPENDENCIES: Final = frozenset(
    [
        "anyio",
        "batprotocol",
        "click",
        "cloudpickle",
        "distributed",
        "dpkt",
        "flatbuffers",
        "gymnasium",
        "h11",
        "intervaltree",
        "landlockpy",
        "lz4",
        "matplotlib",
        "mcap",
        "mcp",
        "msgspec",
        "mypy_extensions",
        "numpy",
        "paho",
        "pandas",
        "perfetto",
        "polars",
        "procset",
        "psycopg",
        "pydantic",
        "pyarrow",
        "re2",
        "redis",
        "rich",
        "sortedcontainers",
        "sqlalchemy",
        "typing_extensions",
        "yaml",
        "zmq",
        "zstandard",
    ]
)
"""The packages that this library imports. No file of a user can have such a name."""

_LOADED: set[ModuleType] = set()
"""The modules made of files. The next file may have the same name."""


class ImportFault(Exception):
    """A file cannot be a module. Exceptions of the file itself pass through unchanged."""


def module_in(path: str) -> ModuleType:
    """Run a file as a module. As for a script, the files beside it can be imported.

    Args:
        path: of a file that exists.

    Raises:
        ImportFault: it would hide another module, or it is not a Python file.
        Exception: any exception that the file raises.
    """
    name = Path(path).stem
    if name in DEPENDENCIES or _is_taken(name, path):
        # Each import of that module would give this file from now on.
        raise ImportFault(f"{path!r} would hide the module {name} of Python or of this library; rename the file")
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path[:1]:
        # As that of a script, it stays: what the file imports in its methods is looked for when they are called.
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportFault(f"{path!r} is not a Python file: its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _LOADED.add(module)
    try:
        spec.loader.exec_module(module)
    except BaseException:  # as the import statement does: no half of a module stays
        sys.modules.pop(name, None)
        raise
    return module


def _is_taken(name: str, path: str) -> bool:
    """Whether another file than this one was already imported by this name, other than by `module_in`."""
    if name not in sys.modules or sys.modules[name] in _LOADED:
        return False
    file = getattr(sys.modules[name], "__file__", None)
    return file is None or not os.path.exists(file) or not os.path.samefile(file, path)


# Checks of the methods that a class of schedulers overrides, made when Python creates the class.


def expect_known(cls: type, known: Collection[str], what: str) -> None:
    """Refuse methods `on_...` of a class that nobody would call.

    Args:
        cls: the class.
        known: the names of the methods that are called.
        what: the kind of thing that such a method is for, such as "event".

    >>> expect_known(type("Mine", (), {"on_jobs": None}), ["on_job"], "event")
    Traceback (most recent call last):
    batprotocol.errors.SchedulerError: Mine.on_jobs would never be called: there is no such event; did you mean on_job?
    """
    for name in vars(cls):
        if name.startswith("on_") and name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise SchedulerError(f"{cls.__name__}.{name} would never be called: there is no such {what}{hint}")


def is_computed(attribute: object) -> bool:
    """Whether an attribute of a class makes a value for each instance, as properties do."""
    if isinstance(attribute, dataclasses.Field):
        return True
    return hasattr(type(attribute), "__get__") and not inspect.isfunction(attribute)


def expect_method(
    cls: type, name: str, method: object, arguments: tuple[str, ...], instead_of_async: str | None
) -> None:
    """Refuse a method that cannot be called, or that would do nothing. Accept methods that Python cannot inspect.

    Args:
        cls: the class.
        name: the name of the method.
        method: the attribute of the class with this name.
        arguments: the names of the arguments that the caller passes, besides `self`.
        instead_of_async: advice for a method that is `async def`; None where such methods are right.
    """
    place = f"{cls.__name__}.{name}"
    if isinstance(method, staticmethod | classmethod):
        method = method.__get__(None, cls)
    elif inspect.isfunction(method):
        arguments = ("self", *arguments)
    elif is_computed(method):
        return
    if not callable(method):
        raise SchedulerError(f"{place} is not a method: expected a function, got {shown(method)}")
    if instead_of_async is not None and (inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)):
        raise SchedulerError(f"{place} is `async def`, and nobody would await it: {instead_of_async}")
    if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        raise SchedulerError(f"{place} contains a `yield`, so its code would not run: remove the `yield`")
    try:
        signature = inspect.signature(method, follow_wrapped=False)
    except ValueError:  # of some functions in C, nobody knows it
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        called_with = ", ".join(arguments)
        raise SchedulerError(f"{place} takes {signature}, but is called with ({called_with})") from None
