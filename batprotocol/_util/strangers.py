"""Reads JSON of a stranger in bounded memory: only the wanted members, each of them small, of at most so many objects.

A struct of msgspec whose members are `Raw` refers to the bytes, and copies none. Passed over is what has another type
than expected: programs of other versions write other types. The module must not know what is read.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import msgspec

__all__ = ["ABSENT", "Item", "TooMany", "decoded", "items_of", "number_of", "small", "text_of"]

Kind = TypeVar("Kind")

ABSENT: Final = msgspec.Raw()
"""The default of a member."""

MOST_TEXT: Final = 1 << 14
"""How many bytes a text may have, in JSON. A longer one is not read."""

MOST_NUMBER: Final = 40

BROKEN: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

_counts = threading.local()


class TooMany(ValueError):
    """There are more objects than may be."""


class Item(msgspec.Struct, gc=False):
    """An object of which there may be many. They are counted while they are read, inside of `decoded`."""

    def __post_init__(self) -> None:
        _counts.left -= 1
        if _counts.left < 0:
            _counts.is_over = True
            raise TooMany


@contextmanager
def _counted(most: int) -> Iterator[None]:
    before = getattr(_counts, "left", 0)
    _counts.left, _counts.is_over = most, False
    try:
        yield
    except BROKEN:
        if _counts.is_over:
            raise TooMany(f"more than {most} objects") from None
        raise
    finally:
        _counts.left = before


def decoded(text: bytes | bytearray | msgspec.Raw, kind: type[Kind], most: int) -> Kind:
    """The value in a text of JSON.

    Args:
        text: the text.
        kind: its type.
        most: how many `Item` it may have.

    Raises:
        TooMany: it has more.
        msgspec.MsgspecError: it is another value, or no JSON. So do `UnicodeDecodeError` and `RecursionError`.
    """
    with _counted(most):
        return msgspec.json.decode(text, type=kind)


def text_of(raw: msgspec.Raw, most: int = MOST_TEXT) -> str:
    """A text, or "" if it is none. A number is written as a text, `true` as `True`.

    Args:
        raw: a member.
        most: how many bytes it may have in JSON. More are not read: the result is "".
    """
    found = small(raw, str | int | float | bool | None, most)
    return "" if found is None else str(found)


def number_of(raw: msgspec.Raw) -> int | None:
    """A whole number, or None if it is none."""
    found = small(raw, int | None, MOST_NUMBER)
    return found if isinstance(found, int) and abs(found) < 1 << 63 else None


def items_of(raw: msgspec.Raw, kind: type[Kind], most: int) -> list[Kind]:
    """The objects of a list; none if it is something else, or has more than `most`."""
    try:
        return decoded(raw, list[kind], most)  # type: ignore[valid-type]
    except (*BROKEN, TooMany):
        return []


def small(raw: msgspec.Raw, kind: object, most: int) -> object:
    """A member that has this type and at most so many bytes; else None."""
    text = memoryview(raw)
    if not 0 < len(text) <= most:
        return None
    try:
        return msgspec.json.decode(text, type=kind)
    except BROKEN:
        return None
