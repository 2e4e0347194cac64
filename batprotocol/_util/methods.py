"""Checks of the methods that a class of schedulers overrides, made when Python creates the class.

This module must not know which methods there are, nor who calls them.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Collection

from batprotocol.errors import SchedulerError, shown

__all__ = ["expect_known", "expect_method", "is_computed"]


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
