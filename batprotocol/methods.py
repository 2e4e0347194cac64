"""What is wrong with the methods that a class of schedulers overrides, told when the class is made.

It must not know which methods there are, nor who calls them.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Collection

from batprotocol.errors import SchedulerError, shown

__all__ = ["expect_known", "expect_method", "is_computed"]


def expect_known(cls: type, known: Collection[str], what: str) -> None:
    """Refuse methods `on_...` of a class that nobody would call; `what` is what each of them is for.

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
    """Whether what a class holds is no value but makes one for each instance, as properties do."""
    if isinstance(attribute, dataclasses.Field):
        return True
    return hasattr(type(attribute), "__get__") and not inspect.isfunction(attribute)


def expect_method(
    cls: type, name: str, method: object, arguments: tuple[str, ...], instead_of_async: str | None
) -> None:
    """Refuse what could not be called, or would do nothing when it is. What cannot be known is left alone.

    Args:
        cls: the class.
        name: the name of the method.
        method: what the class has by this name.
        arguments: what it is called with, beside `self`.
        instead_of_async: what to do instead of making it `async def`; None where that is right.
    """
    place = f"{cls.__name__}.{name}"
    if isinstance(method, staticmethod | classmethod):
        method = method.__get__(None, cls)
    elif inspect.isfunction(method):
        arguments = ("self", *arguments)
    elif is_computed(method):
        return
    if not callable(method):
        raise SchedulerError(f"{place} is no method, but {shown(method)}")
    if instead_of_async is not None and (inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)):
        raise SchedulerError(f"{place} is `async def`, and nobody would await it: {instead_of_async}")
    if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        raise SchedulerError(f"{place} holds a `yield`: it would be called, but its code would not run")
    try:
        signature = inspect.signature(method, follow_wrapped=False)
    except ValueError:  # of some functions in C, nobody knows it
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        called_with = ", ".join(arguments)
        raise SchedulerError(f"{place} takes {signature}, but is called with ({called_with})") from None
