"""The base class of all values, and the conversions that their constructors do.

A value is a frozen `msgspec.Struct`. This module must not depend on the wire formats.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from batprotocol.model.doubles import Doubles
from batprotocol.model.hosts import format_hosts

__all__ = ["REPR_CHARACTERS", "Value", "hosts_into", "tuples_into", "vectors_into"]

REPR_CHARACTERS = 10_000
"""The approximate maximum length of the `repr` of a value, in characters. The `repr` is one line. Unless it is cut,
Python can evaluate it.
"""

_set = msgspec.structs.force_setattr


class Value(msgspec.Struct, frozen=True, gc=False, tag=True):
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
