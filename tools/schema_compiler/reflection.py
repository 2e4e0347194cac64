"""Reads the reflection schema (`.bfbs`) that flatc writes, into plain Python.

A `.bfbs` file is itself a flatbuffer, of the schema `reflection.fbs`. Only files that flatc has just made are read, so
nothing is checked.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["Enum", "Field", "Schema", "Table", "Type", "Union", "read"]

# reflection.fbs, enum BaseType
_BASE_TYPES = {
    1: "utype", 2: "bool", 3: "int8", 4: "uint8", 5: "int16", 6: "uint16", 7: "int32", 8: "uint32", 9: "int64",
    10: "uint64", 11: "float32", 12: "float64", 13: "string", 14: "vector", 15: "table", 16: "union",
}  # fmt: skip
_UTYPE, _VECTOR, _TABLE, _UNION = 1, 14, 15, 16

T = TypeVar("T")


@dataclass(frozen=True)
class Type:
    """`kind` is a scalar's name, "string", "enum", "table", "union", "utype" or "vector"; `name` says which one."""

    kind: str
    name: str = ""
    element: Type | None = None


@dataclass(frozen=True)
class Field:
    name: str
    slot: int
    type: Type
    required: bool
    optional: bool
    default: Any
    doc: str


@dataclass(frozen=True)
class Table:
    name: str
    fields: tuple[Field, ...]
    doc: str


@dataclass(frozen=True)
class Enum:
    name: str
    kind: str
    values: dict[str, int]
    doc: str
    value_docs: dict[str, str]


@dataclass(frozen=True)
class Union:
    name: str
    members: tuple[str, ...]
    doc: str
    member_docs: dict[str, str]


@dataclass(frozen=True)
class Schema:
    root: str
    tables: dict[str, Table]
    enums: dict[str, Enum]
    unions: dict[str, Union]


class _Table:
    """A table of the `.bfbs` file: its fields by number."""

    def __init__(self, data: bytes, position: int) -> None:
        self.data, self.position = data, position
        self.vtable = position - self._at("<i", position)

    def _at(self, layout: str, position: int) -> Any:
        return struct.unpack_from(layout, self.data, position)[0]

    def _field(self, number: int) -> int:
        entry = 4 + 2 * number
        offset = self._at("<H", self.vtable + entry) if entry < self._at("<H", self.vtable) else 0
        return self.position + offset if offset else 0

    def scalar(self, number: int, layout: str, default: Any = 0) -> Any:
        position = self._field(number)
        return self._at("<" + layout, position) if position else default

    def target(self, number: int) -> int:
        position = self._field(number)
        return position + self._at("<I", position) if position else 0

    def table(self, number: int) -> _Table:
        return _Table(self.data, self.target(number))

    def string(self, number: int) -> str:
        return self._string(self.target(number))

    def _string(self, position: int) -> str:
        size = self._at("<I", position)
        return self.data[position + 4 : position + 4 + size].decode()

    def vector(self, number: int, read: Callable[[int], T]) -> list[T]:
        position = self.target(number)
        if not position:
            return []
        places = [position + 4 + 4 * index for index in range(self._at("<I", position))]
        return [read(place + self._at("<I", place)) for place in places]

    def tables(self, number: int) -> list[_Table]:
        return self.vector(number, lambda position: _Table(self.data, position))

    def doc(self, number: int) -> str:
        """The comment, or nothing for the title of a section, which flatc takes for the comment of what follows it."""
        lines = [line.strip() for line in self.vector(number, self._string)]
        return "" if lines and not lines[0] else "\n".join(lines)


def read(data: bytes) -> Schema:
    """The schema that a `.bfbs` file describes."""
    root = _Table(data, struct.unpack_from("<I", data)[0])
    objects, enums = root.tables(0), root.tables(1)
    object_names = [_short(table.string(0)) for table in objects]
    enum_names = [_short(table.string(0)) for table in enums]

    def base_type(number: int, index: int) -> Type:
        if number == _UTYPE:
            return Type("utype", enum_names[index])
        if number == _UNION:
            return Type("union", enum_names[index])
        if number == _TABLE:
            return Type("table", object_names[index])
        return Type("enum", enum_names[index]) if index >= 0 else Type(_BASE_TYPES[number])

    def field_type(table: _Table) -> Type:
        number, element, index = table.scalar(0, "B"), table.scalar(1, "B"), table.scalar(2, "i", -1)
        return Type("vector", "", base_type(element, index)) if number == _VECTOR else base_type(number, index)

    def field(table: _Table) -> Field:
        kind = field_type(table.table(1))
        default: Any = None
        optional = bool(table.scalar(11, "B"))
        if kind.kind in ("float64", "float32"):
            default = table.scalar(5, "d", 0.0)
        elif kind.kind == "bool":
            default = bool(table.scalar(4, "q"))
        elif kind.kind not in ("string", "table", "union", "vector"):
            default = table.scalar(4, "q")
        return Field(
            name=table.string(0),
            slot=table.scalar(2, "H"),
            type=kind,
            required=bool(table.scalar(7, "B")),
            optional=optional and default is not None,
            default=None if optional else default,
            doc=table.doc(10),
        )

    tables = {}
    for table in objects:
        name = _short(table.string(0))
        if table.scalar(2, "B"):
            raise ValueError(f"the schema has a struct, {name}; only tables are supported")
        fields = sorted((field(entry) for entry in table.tables(1)), key=lambda field: field.slot)
        tables[name] = Table(name, tuple(fields), table.doc(6))
    found_enums, found_unions = {}, {}
    for table in enums:
        name, values = _short(table.string(0)), table.tables(1)
        docs = {_short(value.string(0)): value.doc(4) for value in values if value.doc(4)}
        if table.scalar(2, "B"):
            members = sorted((value.scalar(1, "q"), _short(value.string(0))) for value in values)
            if [number for number, _ in members] != list(range(len(members))):
                raise ValueError(f"the members of the union {name} are not numbered from 0; this is not supported")
            found_unions[name] = Union(name, tuple(member for _, member in members[1:]), table.doc(5), docs)
        else:
            kind = base_type(table.table(3).scalar(0, "B"), -1).kind
            numbers = {value.string(0): value.scalar(1, "q") for value in values}
            found_enums[name] = Enum(name, kind, numbers, table.doc(5), docs)
    return Schema(_short(root.table(4).string(0)), tables, found_enums, found_unions)


def _short(name: str) -> str:
    """The name without its namespace; flatc writes union members with the namespace's dots as underscores."""
    return name.rsplit(".", 1)[-1].rsplit("batprotocol_fb_", 1)[-1]
