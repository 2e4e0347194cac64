"""A second codec, on flatc's generated classes and the flatbuffers runtime: slow, unchecked, and not ours.

What the library reads and writes is compared with this. It shares the schema's description with the library, but
nothing of `batprotocol.wire`. As a writer it can also be unlike any usual one: fields in any order, defaults written
out, pieces shared between tables, fields that only a newer schema would have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import flatbuffers
from batprotocol._schema.description import TABLES, UNIONS
from flatbuffers.number_types import UOffsetTFlags
from flatbuffers.table import Table

from batprotocol import model
from batprotocol.model import Doubles, Message, ProtocolEnum
from batprotocol.wire.reflection import Field, Type

__all__ = ["Piece", "Writer", "pieces", "read", "write"]

SIZES = {"bool": 1, "enum": 1, "utype": 1, "int32": 4, "uint32": 4, "uint64": 8, "float64": 8}
"""How many bytes the scalars take."""
NEWER_FIELDS = 3
"""How many fields `Writer(newer=True)` adds to each table."""


def camel(name: str) -> str:
    """A field's name as flatc's classes have it."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def module(table: str) -> Any:
    """flatc's module for a table."""
    return import_module(f"batprotocol.fb.{table}")


def inner(table: str) -> Field | None:
    """The one field of a table whose value stands for it in `model`, or None."""
    if not table.endswith("Wrapper"):
        return None
    return next(field for field in TABLES[table].fields if field.type.kind != "utype")


# Reading


def read(data: bytes) -> Message:
    """The message in a flatbuffer that is known to be one."""
    root = module("Message").Message.GetRootAs(data)
    return Message(root.Now(), tuple(envelope(root.Events(index)) for index in range(root.EventsLength())))


def envelope(found: Any) -> Any:
    name = UNIONS["Event"].members[found.EventType() - 1]
    return getattr(model, name)(timestamp=found.Timestamp(), **fields_of(name, opened(name, found.Event())))


def opened(name: str, place: Table) -> Any:
    """The union's table, seen as what its type says it is."""
    found = getattr(module(name), name)()
    found.Init(place.Bytes, place.Pos)
    return found


def fields_of(name: str, found: Any) -> dict[str, Any]:
    return {field.name: value_of(field, found) for field in TABLES[name].fields if field.type.kind != "utype"}


def table_of(name: str, found: Any) -> Any:
    wrapped = inner(name)
    return value_of(wrapped, found) if wrapped else getattr(model, name)(**fields_of(name, found))


def value_of(field: Field, found: Any) -> Any:
    name, type_ = camel(field.name), field.type
    if type_.kind == "vector":
        assert type_.element
        if getattr(found, f"{name}IsNone")():
            return None
        items = [getattr(found, name)(index) for index in range(getattr(found, f"{name}Length")())]
        if type_.element.kind == "float64":
            return Doubles(items)
        return tuple(element_of(type_.element, item) for item in items)
    value = getattr(found, name)()
    if type_.kind == "union":
        member = UNIONS[type_.name].members[getattr(found, f"{name}Type")() - 1]
        return table_of(member, opened(member, value))
    return None if value is None else element_of(type_, value)


def element_of(type_: Type, value: Any) -> Any:
    if type_.kind == "table":
        return table_of(type_.name, value)
    if type_.kind == "enum":
        return getattr(model, type_.name)(value)
    return value.decode() if type_.kind == "string" else value


# Looking at the bytes


class Piece(NamedTuple):
    """Something in a flatbuffer: its kind, where it lies, how it must be aligned, and what leads to it.

    `kind` is a scalar's kind, "offset", "table", "vtable", "string", "vector" (of numbers) or "offsets" (a vector of
    these); `place` is its first byte. `path` is that of an error: `events[0].event.job_id`.
    """

    kind: str
    place: int
    alignment: int
    path: str
    table: str = ""


def pieces(data: bytes) -> Iterator[Piece]:
    """All that a flatbuffer is made of; what several tables share comes up once for each of them."""
    yield Piece("offset", 0, 4, "")
    yield from _table_pieces("Message", module("Message").Message.GetRootAs(data)._tab, "")


def _table_pieces(name: str, at: Table, path: str) -> Iterator[Piece]:
    yield Piece("table", at.Pos, 4, path, name)
    yield Piece("vtable", at.Pos - at.Get(flatbuffers.number_types.SOffsetTFlags, at.Pos), 2, path, name)
    for field in TABLES[name].fields:
        place = at.Pos + at.Offset(4 + 2 * field.slot)
        below = f"{path}.{field.name}" if path else field.name
        if place == at.Pos:
            continue
        if field.type.kind in SIZES:
            yield Piece(field.type.kind, place, SIZES[field.type.kind], below)
            continue
        yield Piece("offset", place, 4, below)
        member = field.type.name
        if field.type.kind == "union":
            tag = at.Get(flatbuffers.number_types.Uint8Flags, at.Pos + at.Offset(4 + 2 * (field.slot - 1)))
            member = UNIONS[field.type.name].members[tag - 1]
        yield from _target_pieces(field.type, member, Table(at.Bytes, at.Indirect(place)), below)


def _target_pieces(type_: Type, member: str, at: Table, path: str) -> Iterator[Piece]:
    if type_.kind == "string":
        yield Piece("string", at.Pos, 4, path)
    elif type_.kind != "vector":
        yield from _table_pieces(member, at, path)
    elif type_.element and type_.element.kind in SIZES:
        yield Piece("vector", at.Pos, 4, path)
        if at.Get(UOffsetTFlags, at.Pos):
            yield Piece(type_.element.kind, at.Pos + 4, SIZES[type_.element.kind], path)
    elif type_.element:
        yield Piece("offsets", at.Pos, 4, path)
        for index in range(at.Get(UOffsetTFlags, at.Pos)):
            place = at.Pos + 4 + 4 * index
            yield Piece("offset", place, 4, f"{path}[{index}]")
            below = Table(at.Bytes, at.Indirect(place))
            yield from _target_pieces(type_.element, type_.element.name, below, f"{path}[{index}]")


# Writing


def write(message: Message) -> bytes:
    """The message as flatc's classes write it."""
    return Writer().message(message)


class Writer:
    """One writing.

    Args:
        defaults: write fields that have their default value too.
        arrange: puts the fields of a table in the order in which they shall be written, in place.
        shared: write equal strings and equal tables once, and lead to them from all places.
        newer: add fields to each table, as a newer schema may.
    """

    def __init__(
        self,
        *,
        defaults: bool = False,
        arrange: Callable[[list[Any]], None] = lambda fields: None,
        shared: bool = False,
        newer: bool = False,
    ) -> None:
        self.builder = flatbuffers.Builder(0)
        self.builder.ForceDefaults(defaults)
        self.arrange = arrange
        self.shared = shared
        self.newer = newer
        self.known: dict[Any, int] = {}

    def message(self, message: Message) -> bytes:
        events = [self.envelope(event) for event in message.events]
        vector = self.vector("Message", "events", lambda event: self.builder.PrependUOffsetTRelative(event), events)
        self.builder.Finish(self.table("Message", {"now": message.now, "events": vector}))
        return bytes(self.builder.Output())

    def envelope(self, event: Any) -> int:
        name = type(event).__name__
        inside = self.value(name, event)
        tag = UNIONS["Event"].members.index(name) + 1
        return self.table("EventAndTimestamp", {"timestamp": event.timestamp, "event_type": tag, "event": inside})

    def once(self, key: Any, make: Callable[[], int]) -> int:
        """The place of a piece, which is written unless it has been and pieces are shared."""
        if not self.shared:
            return make()
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]

    def text(self, text: str) -> int:
        return self.once(text, lambda: self.builder.CreateString(text))

    def value(self, table: str, value: Any) -> int:
        """Write the table that a value stands for; return its place."""
        return self.once((table, value), lambda: self.new_value(table, value))

    def new_value(self, table: str, value: Any) -> int:
        wrapped = inner(table)
        given: dict[str, Any] = {}
        for field in TABLES[table].fields:
            if field.type.kind != "utype":
                given |= self.field(table, field, value if field == wrapped else getattr(value, field.name))
        return self.table(table, given)

    def field(self, table: str, field: Field, value: Any) -> dict[str, Any]:
        """What to put into the table for this field: a scalar, or the place of what is written here."""
        kind = field.type.kind
        if value is None:
            return {}
        if kind == "string":
            return {field.name: self.text(value)}
        if kind == "table":
            return {field.name: self.value(field.type.name, value)}
        if kind == "union":
            members = UNIONS[field.type.name].members
            member = next(name for name in members if stands_for(value, name))
            return {f"{field.name}_type": members.index(member) + 1, field.name: self.value(member, value)}
        if kind == "vector":
            assert field.type.element
            return {field.name: self.elements(table, field.name, field.type.element, value)}
        return {field.name: int(value) if kind == "enum" else value}

    def elements(self, table: str, name: str, element: Type, values: Any) -> int:
        if element.kind == "float64":
            return self.vector(table, name, self.builder.PrependFloat64, list(values))
        if element.kind == "uint32":
            return self.vector(table, name, self.builder.PrependUint32, list(values))
        write_one = self.text if element.kind == "string" else lambda value: self.value(element.name, value)
        places = [write_one(value) for value in values]
        return self.vector(table, name, self.builder.PrependUOffsetTRelative, places)

    def vector(self, table: str, name: str, prepend: Callable[[Any], None], values: list[Any]) -> int:
        getattr(module(table), f"{table}Start{camel(name)}Vector")(self.builder, len(values))
        for value in reversed(values):
            prepend(value)
        return int(self.builder.EndVector())

    def table(self, name: str, given: dict[str, Any]) -> int:
        fields = list(given.items())
        self.arrange(fields)
        if not self.newer:
            getattr(module(name), f"{name}Start")(self.builder)
        else:
            text = self.text("from the future")
            known = len(TABLES[name].fields)
            self.builder.StartObject(known + NEWER_FIELDS)
            self.builder.PrependUint8Slot(known, 7, 0)
            self.builder.PrependUOffsetTRelativeSlot(known + 1, text, 0)
        for field, value in fields:
            getattr(module(name), f"{name}Add{camel(field)}")(self.builder, value)
        if self.newer:
            self.builder.PrependFloat64Slot(known + 2, 7.5, 0.0)
        return int(getattr(module(name), f"{name}End")(self.builder))


def stands_for(value: Any, table: str) -> bool:
    """Whether a value of `model` stands for this table."""
    wrapped = inner(table)
    if wrapped is None:
        return type(value).__name__ == table
    if wrapped.type.kind == "union":
        return any(stands_for(value, member) for member in UNIONS[wrapped.type.name].members)
    return isinstance(value, ProtocolEnum) and type(value).__name__ == wrapped.type.name
