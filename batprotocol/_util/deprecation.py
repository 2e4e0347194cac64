"""Public names that have changed: the old ones work for one version more, with a `DeprecationWarning`.

A name of a module is an old one by `__getattr__ = old_names(...)`, an attribute or method of a class by `OldName`, an
argument of a function by `old_arguments`.
"""

from __future__ import annotations

import functools
import importlib
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

__all__ = ["OldName", "old_arguments", "old_names"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} is deprecated: use {new} instead", DeprecationWarning, stacklevel=3)


def old_names(module: str, names: Mapping[str, str], late: Mapping[str, str] = {}) -> Callable[[str], Any]:
    """Make the function `__getattr__` of a module whose names have changed, or are imported at their first use.

    Args:
        module: the name of the module, `__name__`.
        names: each old name with the new one, which the module has, or one of its submodules (`studies.StudyError`).
        late: the submodule of each name that is imported at its first use, or the full name of another module.

    >>> from batprotocol import policies
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found = old_names("batprotocol.policies", {"Ordering": "Order"})("Ordering")
    >>> found is policies.Order, str(caught[0].message)
    (True, 'batprotocol.policies.Ordering is deprecated: use batprotocol.policies.Order instead')
    """

    def find(name: str) -> Any:
        if name in late:
            there = late[name]
            full = there if there.startswith("batprotocol.") else f"{module}.{there}"
            found = getattr(importlib.import_module(full), name)
            setattr(sys.modules[module], name, found)
            return found
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        _warn(f"{module}.{name}", f"{module}.{names[name]}")
        inner, _, new = f"{module}.{names[name]}".rpartition(".")
        try:
            return getattr(importlib.import_module(inner), new)
        except ModuleNotFoundError as error:
            if error.name != inner:
                raise
            raise AttributeError(f"module {module!r} has no attribute {name!r} without {inner}") from None

    return find


class OldName:
    """The old name of an attribute, property or method of a class: `left = OldName("remaining")`.

    Args:
        new: the name that it has now.
    """

    def __init__(self, new: str) -> None:
        self.new = new
        self.old = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.old = name

    def __get__(self, instance: object, owner: type) -> Any:
        _warn(f"{owner.__name__}.{self.old}", f"{owner.__name__}.{self.new}")
        return getattr(owner if instance is None else instance, self.new)


def old_arguments(**names: str) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Let a function take arguments by their old names: `@old_arguments(badness="estimate_factor")`.

    Args:
        names: each old name with the new one.

    Raises:
        TypeError: when the function is called with both names of an argument.
    """

    def decorate(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        @functools.wraps(function)
        def call(*args: _Parameters.args, **keywords: _Parameters.kwargs) -> _Result:
            for old in names.keys() & keywords.keys():
                new = names[old]
                if new in keywords:
                    raise TypeError(f"{function.__name__}() got both {new!r} and {old!r}, its old name")
                _warn(f"the argument {old!r} of {function.__name__}()", repr(new))
                keywords[new] = keywords.pop(old)
            return function(*args, **keywords)

        return call

    return decorate
