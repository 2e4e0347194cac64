"""Which value stands for which table of the schema.

The schema has tables that no person needs: those that wrap a union or an enum because flatbuffers cannot nest unions,
and the one that gives each event its timestamp. This is the only place that knows them.
The description of the schema is imported when it is first asked for, as most messages need none of it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from batprotocol import model

if TYPE_CHECKING:
    from batprotocol.wire.reflection import Field

__all__ = [
    "ENVELOPE",
    "MAX_DEPTH",
    "MAX_TABLES",
    "RANGES",
    "ROOT",
    "class_of",
    "enum_of",
    "member_of",
    "wrapped",
]

MAX_DEPTH = 64
"""How deep tables may nest, the message itself being 1: the limit of the C++ library's verifier."""
MAX_TABLES = 1_000_000
"""How many tables a message may hold, counted once for each way that leads to them: the C++ verifier's limit too."""

RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "uint8": (0, 2**8 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
"""The least and the greatest number that a field holds, by the kind of its type, or of its enum."""

ROOT = "Message"
"""The table that a message is."""

ENVELOPE = "EventAndTimestamp"
"""The table around each event. In `model`, the event itself has the timestamp."""

_WRAPPER = "Wrapper"


@cache
def wrapped(table: str) -> Field | None:
    """The one field that a wrapper table wraps, whose value stands for the table; None for other tables."""
    from batprotocol._schema.description import TABLES

    if not table.endswith(_WRAPPER):
        return None
    inner: Field = next(field for field in TABLES[table].fields if field.type.kind != "utype")
    return inner


@cache
def class_of(table: str) -> type[Any]:
    """The class of the values of a table that is not a wrapper."""
    found: type[Any] = getattr(model, table)
    return found


@cache
def enum_of(name: str) -> type[model.ProtocolEnum]:
    """The class of an enum's members."""
    found: type[model.ProtocolEnum] = getattr(model, name)
    return found


@cache
def _classes(table: str) -> frozenset[type[Any]]:
    """The classes of the values that stand for a table: several, if it wraps a union."""
    field = wrapped(table)
    if field is None:
        return frozenset([class_of(table)])
    if field.type.kind == "enum":
        return frozenset([enum_of(field.type.name)])
    return frozenset(member_of(field.type.name))


@cache
def member_of(union: str) -> dict[type[Any], str]:
    """The tables of a union, by the class of the value that stands for them."""
    from batprotocol._schema.description import UNIONS

    return {class_: member for member in UNIONS[union].members for class_ in _classes(member)}
