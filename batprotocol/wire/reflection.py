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
    or union. In a whole schema, it is also "struct" or "array", which has a `length`.
    """

    kind: str
    name: str = ""
    element: Type | None = None
    length: int = 0

    def __str__(self) -> str:
        """The type as in a schema, such as `[Job]`, except for the names of scalars."""
        if self.element:
            return f"[{self.element}:{self.length}]" if self.length else f"[{self.element}]"
        return self.name or self.kind


class Field(NamedTuple):
    """A field: its number in the vtable, and its definition in the schema. `optional` scalars can be null.

    In a whole schema, `offset` is the place of a field in its struct, and `nested` is the table whose flatbuffer a
    vector of bytes holds.
    """

    name: str
    slot: int
    type: Type
    required: bool
    optional: bool
    default: Any
    doc: str
    deprecated: bool = False
    offset: int = 0
    nested: str = ""

    @property
    def is_tag(self) -> bool:
        """Whether it holds the type of a union, or the types of a vector of unions."""
        return (self.type.element or self.type).kind == "utype"


class Table(NamedTuple):
    """A table and its fields, in the order of the schema. In a whole schema, a struct is one that has a `size`."""

    name: str
    fields: tuple[Field, ...]
    doc: str
    size: int = 0


class Enum(NamedTuple):
    """An enum: numbers by name, and the comments of the names that have one. `is_flags`: members are bits."""

    name: str
    kind: str
    values: dict[str, int]
    doc: str
    value_docs: dict[str, str]
    is_flags: bool = False


class Union(NamedTuple):
    """A union: its tables, numbered from 1 (0 is NONE), and the comments of those that have one.

    In a whole schema, a member has a name, a number and a type of its own.
    """

    name: str
    members: tuple[str, ...]
    doc: str
    member_docs: dict[str, str]
    numbers: tuple[int, ...] = ()
    types: tuple[Type, ...] = ()

    @property
    def numbered(self) -> list[tuple[str, int, Type]]:
        """The members, each with its number and its type, also of a schema that is not whole."""
        numbers = self.numbers or range(1, len(self.members) + 1)
        types = self.types or [Type("table", name) for name in self.members]
        return list(zip(self.members, numbers, types, strict=True))


class Schema:
    """A schema: the table of a message, and all tables, enums and unions by name.

    Attributes:
        root: the name of the table of a message. A whole schema may have none: "".
        tables: the tables, and in a whole schema the structs.
        enums: the enums.
        unions: the unions.
        identifier: the four letters at the beginning of its messages, or "".
        names: for each enum, the names of its members by number.
        plans: the readers' preparations for the tables; only the readers use it.
    """

    def __init__(
        self,
        root: str,
        tables: dict[str, Table],
        enums: dict[str, Enum],
        unions: dict[str, Union],
        identifier: str = "",
    ) -> None:
        self.root = root
        self.identifier = identifier
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
        mine = (self.root, self.tables, self.enums, self.unions, self.identifier)
        return mine == (other.root, other.tables, other.enums, other.unions, other.identifier)

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
_UTYPE, _VECTOR, _TABLE, _UNION, _ARRAY = 1, 14, 15, 16, 17

T = TypeVar("T")


def read_reflection(data: bytes, *, whole: bool = False) -> Schema:
    """Read the schema from a `.bfbs` file.

    Args:
        data: the contents of the file.
        whole: also read parts that no version of the protocol has: structs, arrays, vectors of unions, unions of
            anything except tables, two tables with the same name in different namespaces, and no root type. The
            readers and writers of messages do not know them.

    Raises:
        ValueError: it is not such a file, or its schema has parts that are not read.
    """
    if data[4:8] != b"BFBS":
        raise ValueError("it is not a reflection schema: write one with flatc --binary --schema")
    try:
        return _Reflection(data, whole).schema()
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

    def attributes(self, number: int) -> dict[str, str]:
        """The attributes, as `key` or `nested_flatbuffer: "Job"`."""
        return {entry.string(0): entry.string(1) if entry.target(1) else "" for entry in self.tables(number)}

    def doc(self, number: int) -> str:
        """The comment, or nothing for the title of a section, which flatc treats as the comment of the next part."""
        lines = [line.strip() for line in self.vector(number, self._string)]
        return "" if lines and not lines[0] else "\n".join(lines)


class _Reflection:
    """The reading of a `.bfbs` file."""

    def __init__(self, data: bytes, whole: bool) -> None:
        self.whole = whole
        self.root = _Table(data, struct.unpack_from("<I", data)[0])
        self.objects, self.found = self.root.tables(0), self.root.tables(1)
        self.object_names = _short(self.objects, whole)
        self.enum_names = _short(self.found, whole)
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
        identifier = self.root.string(2) if self.root.target(2) else ""
        if not self.root.target(4):
            if not self.whole:
                raise ValueError("the schema has no root type: declare the table of a message with root_type")
            return Schema("", tables, enums, unions, identifier)
        root = self.known(self.root.table(4).string(0))
        return Schema(tables[root].name, tables, enums, unions, identifier)

    def known(self, full: str, near: str = "") -> str:
        """The name of a table here, by its full name, or by its name as it is written near another one."""
        names = [entry.string(0) for entry in self.objects]
        spaces = near.split(".")[:-1]
        for length in range(len(spaces), -1, -1):
            if (name := ".".join([*spaces[:length], full])) in names:
                return self.object_names[names.index(name)]
        return full

    def several(self, entry: _Table, number: int) -> list[_Table]:
        tables = entry.tables(number)
        self.left -= len(tables)
        if self.left < 0:
            raise ValueError(f"the reflection schema has more than {MOST_TABLES:,} tables")
        return tables

    def table(self, name: str, entry: _Table) -> Table:
        is_struct = bool(entry.scalar(2, "B"))
        if is_struct and not self.whole:
            raise ValueError(f"the schema has a struct, {name}; only tables are supported")
        fields = [self.field(name, entry.string(0), field, is_struct) for field in self.several(entry, 1)]
        size = entry.scalar(4, "i") if is_struct else 0
        return Table(name, tuple(sorted(fields, key=lambda field: field.slot)), entry.doc(6), size)

    def field(self, table: str, full: str, entry: _Table, in_struct: bool) -> Field:
        name = entry.string(0)
        kind = self.field_type(f"{table}.{name}", entry.table(1))
        default: Any = None
        optional = bool(entry.scalar(11, "B"))
        if kind.kind in ("float64", "float32"):
            default = entry.scalar(5, "d", 0.0)
        elif kind.kind == "bool":
            default = bool(entry.scalar(4, "q"))
        elif kind.kind not in ("string", "table", "union", "vector", "struct", "array"):
            default = entry.scalar(4, "q")
            if kind.kind == "uint64":
                default %= 2**64
        nested = entry.attributes(9).get("nested_flatbuffer", "") if self.whole and entry.target(9) else ""
        return Field(
            name=name,
            slot=entry.scalar(2, "H"),
            type=kind,
            required=bool(entry.scalar(7, "B")),
            optional=optional and default is not None,
            default=None if optional else default,
            doc=entry.doc(10),
            deprecated=bool(entry.scalar(6, "B")),
            offset=entry.scalar(3, "H") if in_struct else 0,
            nested=self.known(nested, full) if nested else "",
        )

    def field_type(self, where: str, entry: _Table) -> Type:
        number, element, index = entry.scalar(0, "B"), entry.scalar(1, "B"), entry.scalar(2, "i", -1)
        if number == _ARRAY and self.whole:
            return Type("array", "", self.base_type(where, element, index), entry.scalar(3, "H"))
        if number != _VECTOR:
            return self.base_type(where, number, index)
        if element in (_UTYPE, _UNION) and not self.whole:
            raise ValueError(f"{where} is a vector of unions; only unions themselves are supported")
        return Type("vector", "", self.base_type(where, element, index))

    def base_type(self, where: str, number: int, index: int) -> Type:
        if number not in _BASE_TYPES or number == _VECTOR:
            raise ValueError(f"{where} has a type that is not supported: number {number} of reflection.fbs")
        if number == _TABLE:
            if index < 0:
                raise IndexError
            return Type("struct" if self.objects[index].scalar(2, "B") else "table", self.object_names[index])
        if number in (_UTYPE, _UNION):
            return Type(_BASE_TYPES[number], self.enum_name(index, is_union=True))
        return Type("enum", self.enum_name(index, is_union=False)) if index >= 0 else Type(_BASE_TYPES[number])

    def enum_name(self, index: int, *, is_union: bool) -> str:
        """The name of an enum or of a union: a damaged file may name one in place of the other."""
        if index < 0 or bool(self.found[index].scalar(2, "B")) != is_union:
            raise IndexError
        return self.enum_names[index]

    def enum(self, name: str, entry: _Table) -> Enum:
        values = self.several(entry, 1)
        docs = {value.string(0): value.doc(4) for value in values if value.doc(4)}
        kind = _BASE_TYPES[entry.table(3).scalar(0, "B")]
        layout = "Q" if kind == "uint64" and self.whole else "q"
        numbers = {value.string(0): value.scalar(1, layout) for value in values}
        is_flags = self.whole and bool(entry.target(4)) and "bit_flags" in entry.attributes(4)
        return Enum(name, kind, numbers, entry.doc(5), docs, is_flags)

    def union(self, name: str, entry: _Table) -> Union:
        if self.whole:
            return self.whole_union(name, entry)
        members, docs = [], {}
        for number, value in enumerate(sorted(self.several(entry, 1), key=lambda value: value.scalar(1, "q"))):
            if value.scalar(1, "q") != number:
                raise ValueError(f"the members of the union {name} are not numbered from 0; this is not supported")
            if number:
                kind = value.table(3)
                if kind.scalar(0, "B") != _TABLE:
                    raise ValueError(f"the union {name} has a member that is not a table; this is not supported")
                place = kind.scalar(2, "i", -1)
                if place < 0:
                    raise IndexError
                members.append(self.object_names[place])
                if doc := value.doc(4):
                    docs[members[-1]] = doc
        return Union(name, tuple(members), entry.doc(5), docs)

    def whole_union(self, name: str, entry: _Table) -> Union:
        """A union of anything. A member has its own name only if it is not the name of its type."""
        found = []
        for value in sorted(self.several(entry, 1), key=lambda value: value.scalar(1, "q")):
            if number := value.scalar(1, "q"):
                kind = value.table(3)
                type_ = self.base_type(name, kind.scalar(0, "B"), kind.scalar(2, "i", -1))
                own = value.string(0)
                is_alias = type_.name.rsplit(".", 1)[-1] != own.rsplit("_", 1)[-1] and type_.name != own
                found.append((own if is_alias or not type_.name else type_.name, number, type_, value.doc(4)))
        members = tuple(member for member, *_ in found)
        docs = {member: doc for member, _, _, doc in found if doc}
        numbers, types = tuple(number for _, number, _, _ in found), tuple(type_ for _, _, type_, _ in found)
        return Union(name, members, entry.doc(5), docs, numbers, types)


def _short(entries: list[_Table], whole: bool) -> list[str]:
    """The names without their namespaces. In a whole schema, names that would be equal stay as they are."""
    full = [entry.string(0) for entry in entries]
    names = [name.rsplit(".", 1)[-1] for name in full]
    twice = {name for name, count in Counter(names).items() if count > 1}
    if twice and not whole:
        raise ValueError(f"two parts of the schema are called {min(twice)}, in different namespaces")
    return [long if short in twice else short for long, short in zip(full, names, strict=True)]
