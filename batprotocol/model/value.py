"""The base class of all values, and the conversions that their constructors do.

A value is a frozen `msgspec.Struct`. This module must not depend on the wire formats.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from batprotocol.errors import hint
from batprotocol.model.doubles import Doubles
from batprotocol.model.hosts import format_hosts

__all__ = ["REPR_CHARACTERS", "Value", "fast", "hosts_into", "tuples_into", "vectors_into"]

_Made = TypeVar("_Made")

REPR_CHARACTERS = 10_000
"""The approximate maximum length of the `repr` of a value, in characters. The `repr` is one line. Unless it is cut,
Python can evaluate it.
"""

_set = msgspec.structs.force_setattr


_construct: Any = msgspec.StructMeta.__call__


class _Named(msgspec.StructMeta):
    """The type of all classes of values: an error of a constructor names the class and its fields."""

    if not TYPE_CHECKING:  # type checkers would take its arguments for those of the constructors

        def __call__(cls, *arguments, **keywords):  # noqa: N805
            try:
                return _construct(cls, *arguments, **keywords)
            except TypeError as error:
                raise TypeError(_fault(cls, arguments, keywords) or f"{cls.__name__}: {error}") from None


def _fault(kind: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """The fault in the arguments of a constructor, or "" if only the constructor knows it."""
    by_position, fields = kind.__match_args__, kind.__struct_fields__
    if len(arguments) > len(by_position):
        if not fields:
            return f"{kind.__name__} has no fields, got {len(arguments)} by position"
        how = "only by keyword" if not by_position else "by position or keyword"
        return f"{kind.__name__} takes {', '.join(by_position or fields)} {how}, got {len(arguments)} by position"
    given = {*by_position[: len(arguments)], *keywords}
    unknown = [name for name in keywords if name not in fields]
    if unknown:
        return f"{kind.__name__} has no field {unknown[0]!r}{hint(unknown[0], fields)}"
    missing = [each.name for each in msgspec.structs.fields(kind) if each.required and each.name not in given]
    return f"{kind.__name__} needs {' and '.join(missing)}" if missing else ""


def fast(kind: Callable[..., _Made]) -> Callable[..., _Made]:
    """The constructor of a class of values, without the names in its errors: for code that makes many values."""
    return functools.partial(_construct, kind)


class Value(msgspec.Struct, frozen=True, gc=False, tag=True, metaclass=_Named):
    """A value of the protocol: immutable, hashable, comparable. The constructor does not check its arguments.

    Values compare as in Python: two values that hold a scalar NaN are not equal. A `repr` longer than `REPR_CHARACTERS`
        is cut and ends with `... and more`.
    """

    def __repr__(self) -> str:
        pieces: list[str] = []
        free = REPR_CHARACTERS
        for piece in _pieces(self):
            pieces.append(piece)
            free -= len(piece)
            if free < 0:
                return f"{''.join(pieces)[:REPR_CHARACTERS]}... and more"
        return "".join(pieces)


def _pieces(value: Any) -> Iterator[str]:
    """The `repr` of a value in pieces, so that the caller can stop early."""
    if isinstance(value, Value):
        before = f"{type(value).__name__}("
        for name in value.__struct_fields__:
            yield f"{before}{name}="
            yield from _pieces(getattr(value, name))
            before = ", "
        yield ")" if before == ", " else f"{before})"
    elif type(value) is tuple:
        before = "("
        for each in value:
            yield before
            yield from _pieces(each)
            before = ", "
        yield f"{'(' if not value else ',' if len(value) == 1 else ''})"
    elif type(value) is str:
        yield repr(value[:REPR_CHARACTERS])
    else:
        yield repr(value)


# The functions below do not fail: a value that they cannot convert stays as it is, and encoding or MessageBuilder then
# names the field. So the usual case, in which nothing has to be done, costs one test.


def tuples_into(value: Value, *names: str) -> None:
    """Convert the iterables in these fields to tuples. Strings stay as they are: nobody means them as sequences."""
    for name in names:
        given: Any = getattr(value, name)
        if given is not None and type(given) is not tuple and not isinstance(given, str | bytes | dict):
            try:
                _set(value, name, tuple(given))
            except TypeError:
                continue


def vectors_into(value: Value, *names: str) -> None:
    """Convert the iterables of numbers in these fields to `Doubles`."""
    for name in names:
        given: Any = getattr(value, name)
        if given is not None and type(given) is not Doubles and not isinstance(given, str | bytes | dict):
            try:
                _set(value, name, Doubles(given))
            except (TypeError, OverflowError):
                continue


def hosts_into(value: Value, name: str) -> None:
    """Convert a host set that is not a string to the canonical string."""
    given: Any = getattr(value, name)
    if type(given) is not str:
        _set(value, name, format_hosts(given))
