"""Schemas of flatbuffers: tables with their fields, enums and unions; and the reader of `.bfbs` files.

`flatc --binary --schema` writes a `.bfbs` file, the reflection schema, from an `.fbs` file. It is itself a flatbuffer,
of the schema `reflection.fbs`. The build uses this module before the library exists, so it must not import another
module of the library.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

__all__ = ["Enum", "Field", "Schema", "Table", "Type", "Union", "read_reflection"]


class Type(NamedTuple):
    """The type of a field or of a vector's elements.

    `kind` is "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64",
    "string", "enum", "table", "union", "utype" (the tag of a union) or "vector"; `name` is the name of the enum, table
    or union.
    """

    kind: str
    name: str = ""
    element: Type | None = None

    def __str__(self) -> str:
        """The type as in a schema, such as `[Job]`, except for the names of scalars."""
        return f"[{self.element}]" if self.element else self.name or self.kind


class Field(NamedTuple):
    """A field: its number in the vtable, and its definition in the schema. `optional` scalars can be null."""

    name: str
    slot: int
    type: Type
    required: bool
    optional: bool
    default: Any
    doc: str
    deprecated: bool = False


class Table(NamedTuple):
    """A table and its fields, in the order of the schema."""

    name: str
    fields: tuple[Field, ...]
    doc: str


class Enum(NamedTuple):
    """An enum: numbers by name, and the comments of the names that have one."""

    name: str
    kind: str
    values: dict[str, int]
    doc: str
    value_docs: dict[str, str]


class Union(NamedTuple):
    """A union: its tables, numbered from 1 (0 is NONE), and the comments of those that have one."""

    name: str
    members: tuple[str, ...]
    doc: str
    member_docs: dict[str, str]


class Schema:
    """A schema: the table of a message, and all tables, enums and unions by name.

    Attributes:
        root: the name of the table of a message.
        tables: the tables.
        enums: the enums.
        unions: the unions.
        names: for each enum, the names of its members by number.
        plans: the readers' preparations for the tables; only the readers use it.
    """

    def __init__(self, root: str, tables: dict[str, Table], enums: dict[str, Enum], unions: dict[str, Union]) -> None:
        self.root = root
        self.tables = tables
        self.enums = enums
        self.unions = unions
        self.names = {
            name: {number: member for member, number in reversed(enum.values.items())} for name, enum in enums.items()
        }
        self.plans: dict[str, Any] = {}

    def kind_of(self, type_: Type) -> str:
        """The kind of a type, as in `RANGES` of `batprotocol.wire.binding`; for an enum, the kind of its numbers."""
        return self.enums[type_.name].kind if type_.kind == "enum" else type_.kind

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        mine = (self.root, self.tables, self.enums, self.unions)
        return mine == (other.root, other.tables, other.enums, other.unions)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<Schema of {self.root}: {len(self.tables)} tables>"


MOST_TABLES: Final = 100_000
"""The maximum number of tables in a `.bfbs` file, counted each time one is read. Batsim's file has 600."""

# reflection.fbs, enum BaseType
_BASE_TYPES = {
    1: "utype", 2: "bool", 3: "int8", 4: "uint8", 5: "int16", 6: "uint16", 7: "int32", 8: "uint32", 9: "int64",
    10: "uint64", 11: "float32", 12: "float64", 13: "string", 14: "vector", 15: "table", 16: "union",
}  # fmt: skip
_UTYPE, _VECTOR, _TABLE, _UNION = 1, 14, 15, 16

T = TypeVar("T")


def read_reflection(data: bytes) -> Schema:
    """Read the schema from a `.bfbs` file.

    Args:
        data: the contents of the file.

    Raises:
        ValueError: it is not such a file, or its schema has parts that no version of the protocol has: structs, arrays,
            vectors of unions, unions of anything except tables, two tables with the same name.
    """
    if data[4:8] != b"BFBS":
        raise ValueError("it is not a reflection schema: write one with flatc --binary --schema")
    try:
        return _Reflection(data).schema()
    except (struct.error, IndexError, KeyError, UnicodeDecodeError, OverflowError, MemoryError) as error:
        raise ValueError("the reflection schema is broken") from error


class _Table:
    """A table of the `.bfbs` file: its fields by number."""

    def __init__(self, data: bytes, position: int) -> None:
        self.data, self.position = data, position
        self.vtable = position - self._at("<i", position)

    def _at(self, layout: str, position: int) -> Any:
        if position < 0:
            raise IndexError
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
        count = self._at("<I", position)
        if 4 * count > len(self.data):
            raise IndexError
        places = [position + 4 + 4 * index for index in range(count)]
        return [read(place + self._at("<I", place)) for place in places]

    def tables(self, number: int) -> list[_Table]:
        return self.vector(number, lambda position: _Table(self.data, position))

    def doc(self, number: int) -> str:
        """The comment, or nothing for the title of a section, which flatc treats as the comment of the next part."""
        lines = [line.strip() for line in self.vector(number, self._string)]
        return "" if lines and not lines[0] else "\n".join(lines)


class _Reflection:
    """The reading of a `.bfbs` file."""

    def __init__(self, data: bytes) -> None:
        self.root = _Table(data, struct.unpack_from("<I", data)[0])
        self.objects, self.found = self.root.tables(0), self.root.tables(1)
        self.object_names = _short(self.objects)
        self.enum_names = _short(self.found)
        self.left = MOST_TABLES - len(self.objects) - len(self.found)

    def schema(self) -> Schema:
        tables = {name: self.table(name, entry) for name, entry in zip(self.object_names, self.objects, strict=True)}
        enums: dict[str, Enum] = {}
        unions: dict[str, Union] = {}
        for name, entry in zip(self.enum_names, self.found, strict=True):
            if entry.scalar(2, "B"):
                unions[name] = self.union(name, entry)
            else:
                enums[name] = self.enum(name, entry)
        if not self.root.target(4):
            raise ValueError("the schema has no root type: declare the table of a message with root_type")
        root = self.root.table(4).string(0).rsplit(".", 1)[-1]
        return Schema(tables[root].name, tables, enums, unions)

    def several(self, entry: _Table, number: int) -> list[_Table]:
        tables = entry.tables(number)
        self.left -= len(tables)
        if self.left < 0:
            raise ValueError(f"the reflection schema has more than {MOST_TABLES:,} tables")
        return tables

    def table(self, name: str, entry: _Table) -> Table:
        if entry.scalar(2, "B"):
            raise ValueError(f"the schema has a struct, {name}; only tables are supported")
        fields = [self.field(name, field) for field in self.several(entry, 1)]
        return Table(name, tuple(sorted(fields, key=lambda field: field.slot)), entry.doc(6))

    def field(self, table: str, entry: _Table) -> Field:
        name = entry.string(0)
        kind = self.field_type(f"{table}.{name}", entry.table(1))
        default: Any = None
        optional = bool(entry.scalar(11, "B"))
        if kind.kind in ("float64", "float32"):
            default = entry.scalar(5, "d", 0.0)
        elif kind.kind == "bool":
            default = bool(entry.scalar(4, "q"))
        elif kind.kind not in ("string", "table", "union", "vector"):
            default = entry.scalar(4, "q")
            if kind.kind == "uint64":
                default %= 2**64
        return Field(
            name=name,
            slot=entry.scalar(2, "H"),
            type=kind,
            required=bool(entry.scalar(7, "B")),
            optional=optional and default is not None,
            default=None if optional else default,
            doc=entry.doc(10),
            deprecated=bool(entry.scalar(6, "B")),
        )

    def field_type(self, where: str, entry: _Table) -> Type:
        number, element, index = entry.scalar(0, "B"), entry.scalar(1, "B"), entry.scalar(2, "i", -1)
        if number != _VECTOR:
            return self.base_type(where, number, index)
        if element in (_UTYPE, _UNION):
            raise ValueError(f"{where} is a vector of unions; only unions themselves are supported")
        return Type("vector", "", self.base_type(where, element, index))

    def base_type(self, where: str, number: int, index: int) -> Type:
        if number not in _BASE_TYPES or number == _VECTOR:
            raise ValueError(f"{where} has a type that is not supported: number {number} of reflection.fbs")
        if number in (_UTYPE, _UNION, _TABLE):
            names = self.object_names if number == _TABLE else self.enum_names
            if index < 0:
                raise IndexError
            return Type(_BASE_TYPES[number], names[index])
        return Type("enum", self.enum_names[index]) if index >= 0 else Type(_BASE_TYPES[number])

    def enum(self, name: str, entry: _Table) -> Enum:
        values = self.several(entry, 1)
        docs = {value.string(0): value.doc(4) for value in values if value.doc(4)}
        numbers = {value.string(0): value.scalar(1, "q") for value in values}
        return Enum(name, _BASE_TYPES[entry.table(3).scalar(0, "B")], numbers, entry.doc(5), docs)

    def union(self, name: str, entry: _Table) -> Union:
        members, docs = [], {}
        for number, value in enumerate(sorted(self.several(entry, 1), key=lambda value: value.scalar(1, "q"))):
            if value.scalar(1, "q") != number:
                raise ValueError(f"the members of the union {name} are not numbered from 0; this is not supported")
            if number:
                kind = value.table(3)
                if kind.scalar(0, "B") != _TABLE:
                    raise ValueError(f"the union {name} has a member that is not a table; this is not supported")
                members.append(self.object_names[kind.scalar(2, "i", -1)])
                if doc := value.doc(4):
                    docs[members[-1]] = doc
        return Union(name, tuple(members), entry.doc(5), docs)


def _short(entries: list[_Table]) -> list[str]:
    """The names without their namespaces."""
    names = [entry.string(0).rsplit(".", 1)[-1] for entry in entries]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"two parts of the schema are called {min(twice)}, in different namespaces")
    return names
