"""What all values have in common: their base class, and what their constructors make of a list or a host set.

A value is a frozen `msgspec.Struct`. It must not know of the wire.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from batprotocol.model.doubles import Doubles
from batprotocol.model.hosts import format_hosts

__all__ = ["REPR_CHARACTERS", "Value", "hosts_into", "tuples_into", "vectors_into"]

REPR_CHARACTERS = 10_000
"""About how many characters the `repr` of a value has at most. It is one line, and Python reads it unless it is cut."""

_set = msgspec.structs.force_setattr


class Value(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A value of the protocol: immutable, hashable, comparable, made without checks.

    Comparison is that of Python: a value that holds a scalar NaN is not equal to another one that does. `repr` leaves
    out what is beyond `REPR_CHARACTERS`, and says so.
    """

    def __repr__(self) -> str:
        pieces: list[str] = []
        room = REPR_CHARACTERS
        for piece in _pieces(self):
            pieces.append(piece)
            room -= len(piece)
            if room < 0:
                return f"{''.join(pieces)[:REPR_CHARACTERS]}... and more"
        return "".join(pieces)


def _pieces(value: Any) -> Iterator[str]:
    """The `repr` of a value, bit by bit, so that one may stop."""
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


# The constructors below are lenient, not curious: what they cannot turn into the field's form stays as it is, and
# encoding or MessageBuilder then names the field. That keeps the usual case, where nothing is to be done, at one test.


def tuples_into(value: Value, *names: str) -> None:
    """Make tuples of the iterables in these fields. Strings are left alone: they are never meant as sequences."""
    for name in names:
        given: Any = getattr(value, name)
        if given is not None and type(given) is not tuple and not isinstance(given, str | bytes | dict):
            try:
                _set(value, name, tuple(given))
            except TypeError:
                continue


def vectors_into(value: Value, *names: str) -> None:
    """Make `Doubles` of the iterables of numbers in these fields."""
    for name in names:
        given: Any = getattr(value, name)
        if given is not None and type(given) is not Doubles and not isinstance(given, str | bytes | dict):
            try:
                _set(value, name, Doubles(given))
            except (TypeError, OverflowError):
                continue


def hosts_into(value: Value, name: str) -> None:
    """Make the canonical string of a host set that was given as something else than a string."""
    given: Any = getattr(value, name)
    if type(given) is not str:
        _set(value, name, format_hosts(given))
