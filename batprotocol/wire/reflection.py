"""Schemas of flatbuffers: tables with their fields, enums and unions; and the reader of `.bfbs` files.

`flatc --binary --schema` writes a `.bfbs` file, the reflection schema, from an `.fbs` file. It is itself a flatbuffer,
of the schema `reflection.fbs`. The build uses this module before the library exists, so it must not import another
module of the library.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

__all__ = ["UNKNOWN", "Enum", "Field", "Schema", "Table", "Type", "Union", "read_reflection"]


class Type(NamedTuple):
    """The type of a field or of a vector's elements.

    `kind` is "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64",
    "string", "enum", "table", "union", "utype" (the tag of a union) or "vector"; `name` is the name of the enum, table
    or union. It is also "struct"; in a struct "array", which has a `length`; and in a whole schema "vector64".
    """

    kind: str
    name: str = ""
    element: Type | None = None
    length: int = 0

    def __str__(self) -> str:
        """The type as in a schema, such as `[Job]`, except for the names of scalars."""
        if self.element:
            bits = " with a size of 64 bits" if self.kind == "vector64" else ""
            return f"[{self.element}:{self.length}]" if self.length else f"[{self.element}]{bits}"
        return self.name or self.kind


class Field(NamedTuple):
    """A field: its number in the vtable, and its definition in the schema. `optional` scalars can be null.

    `offset` is the place of a field in its struct. `nested` is the table whose flatbuffer a vector of bytes holds, and
    `is_flexible` says that it holds a FlexBuffer. In a whole schema, `is_far` says that the offset to the value has 64
    bits. `initial` is the default of a string or of a vector, as the `.fbs` has it: a `.bfbs` has none.
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
    is_flexible: bool = False
    is_far: bool = False
    initial: str = ""

    @property
    def is_tag(self) -> bool:
        """Whether it holds the type of a union, or the types of a vector of unions."""
        return (self.type.element or self.type).kind == "utype"


class Table(NamedTuple):
    """A table and its fields, in the order of the schema.

    A struct is one that has a `size`, and lies at multiples of `align` bytes. `full` is the name with its namespace.
    """

    name: str
    fields: tuple[Field, ...]
    doc: str
    size: int = 0
    align: int = 1
    full: str = ""


class Enum(NamedTuple):
    """An enum: numbers by name, and the comments of the names that have one. `is_flags`: members are bits.

    `full` is the name with its namespace.
    """

    name: str
    kind: str
    values: dict[str, int]
    doc: str
    value_docs: dict[str, str]
    is_flags: bool = False
    full: str = ""


class Union(NamedTuple):
    """A union: its members, and the comments of those that have one.

    A member is the table of its name, and they are numbered from 1 (0 is NONE), unless `types` and `numbers` say
    otherwise: a member of another namespace is called `space_Name`, and one with an alias has that name. In a whole
    schema, members may be structs and strings. `full` is the name of the union with its namespace.
    """

    name: str
    members: tuple[str, ...]
    doc: str
    member_docs: dict[str, str]
    numbers: tuple[int, ...] = ()
    types: tuple[Type, ...] = ()
    full: str = ""

    def table_of(self, member: str) -> str:
        """The table of the member with this name."""
        return self.types[self.members.index(member)].name if self.types else member

    def number_of(self, member: str) -> int:
        """The number of the member with this name."""
        place = self.members.index(member)
        return self.numbers[place] if self.numbers else place + 1

    def numbered_as(self, number: int) -> str:
        """The name of the member with this number, or "" if there is none."""
        if self.numbers:
            return self.members[self.numbers.index(number)] if number in self.numbers else ""
        return self.members[number - 1] if 0 < number <= len(self.members) else ""

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
        notes: what the reader of the `.bfbs` does not know of the schema, as sentences.
        plans: the readers' preparations for the tables; only the readers use it.
    """

    def __init__(
        self,
        root: str,
        tables: dict[str, Table],
        enums: dict[str, Enum],
        unions: dict[str, Union],
        identifier: str = "",
        notes: tuple[str, ...] = (),
    ) -> None:
        self.root = root
        self.notes = notes
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
_UTYPE, _VECTOR, _TABLE, _UNION, _ARRAY, _VECTOR_64 = 1, 14, 15, 16, 17, 18

WIDTHS: Final = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
    "float32": 4, "float64": 8,
}  # fmt: skip
"""The number of bytes of each scalar, except the tags of unions."""

# reflection.fbs: how many fields each table has that this reader knows.
_KNOWN = {"Schema": 8, "Object": 8, "Field": 14, "Type": 6, "Enum": 7, "EnumVal": 6}
_FEATURES = 15
"""The bits of `advanced_features` that this reader knows: of arrays, unions, optional scalars, and the next."""
_DEFAULTS = 8
"""The bit for defaults of strings and vectors, which a `.bfbs` does not have."""
UNKNOWN: Final = "?"
"""The default of a string or vector in a `.bfbs`, whose schema has such defaults."""

_MOST_NOTES = 10
_DEEPEST = 64
"""How deep structs may nest."""
_LARGEST_ALIGN = 256

T = TypeVar("T")


def read_reflection(
    data: bytes, *, whole: bool = False, root: str = "", literals: Mapping[str, str] | None = None
) -> Schema:
    """Read the schema from a `.bfbs` file.

    Args:
        data: the contents of the file.
        whole: also read parts that a codec does not write: vectors of unions, unions of anything except tables, vectors
            and strings with offsets of 64 bits, and no root type.
        root: the name of the table of a message, in place of the root type.
        literals: the defaults of fields as the `.fbs` has them, by `space.Table.field`. A `.bfbs` has neither those of
            strings and vectors, nor those of a ulong from 2^63. None if there is no `.fbs`.

    Raises:
        ValueError: it is not such a file, or its schema has parts that are not read.
    """
    if data[4:8] != b"BFBS":
        raise ValueError("it is not a reflection schema: write one with flatc --binary --schema")
    try:
        return _Reflection(data, whole, literals).schema(root)
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

    def unknown(self, count: int) -> int:
        """The number of the first field behind those that are known, or 0."""
        fields = (self._at("<H", self.vtable) - 4) // 2
        return next((number for number in range(count, fields) if self._field(number)), 0)

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

    def __init__(self, data: bytes, whole: bool, literals: Mapping[str, str] | None) -> None:
        self.whole = whole
        self.literals = literals
        self.notes: list[str] = []
        self.root = _Table(data, struct.unpack_from("<I", data)[0])
        self.objects, self.found = self.root.tables(0), self.root.tables(1)
        self.full_names = [entry.string(0) for entry in self.objects]
        self.object_names = _short(self.objects)
        self.enum_names = _short(self.found)
        self.left = MOST_TABLES - len(self.objects) - len(self.found)

    def note(self, text: str) -> None:
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(text)

    def look(self, kind: str, where: str, entry: _Table) -> None:
        """Note a part of a table that only a newer flatc writes."""
        if number := entry.unknown(_KNOWN[kind]):
            self.note(f"{where} has a part that this reader does not know: field {number} of {kind} in reflection.fbs")

    def schema(self, root: str) -> Schema:
        self.look("Schema", "the schema", self.root)
        features = self.root.scalar(6, "Q")
        if features & ~_FEATURES:
            self.note(f"the schema has features that this reader does not know: {features & ~_FEATURES:#x}")
        if features & _DEFAULTS and self.literals is None:
            self.note("the schema has defaults of strings or vectors, which a .bfbs does not have: use the .fbs")
        tables = {name: self.table(name, entry) for name, entry in zip(self.object_names, self.objects, strict=True)}
        enums: dict[str, Enum] = {}
        unions: dict[str, Union] = {}
        for name, entry in zip(self.enum_names, self.found, strict=True):
            self.look("Enum", name, entry)
            if entry.scalar(2, "B"):
                unions[name] = self.union(name, entry)
            else:
                enums[name] = self.enum(name, entry)
        structs = _Structs(tables, enums)
        for table in tables.values():
            if table.size:
                structs.check(table)
        if self.literals is None:
            self.note_lost_defaults(tables, enums)
        identifier = self.root.string(2) if self.root.target(2) else ""
        top = ""
        if root:
            top = self.known(root)
            if top not in tables or tables[top].size:
                raise ValueError(f"the schema has no table {root}, which is to be the root type")
        elif self.root.target(4):
            top = tables[self.known(self.root.table(4).string(0))].name
        elif not self.whole:
            raise ValueError("the schema has no root type: declare the table of a message with root_type")
        return Schema(top, tables, enums, unions, identifier, tuple(self.notes))

    def note_lost_defaults(self, tables: Mapping[str, Table], enums: Mapping[str, Enum]) -> None:
        """Note the defaults from 2^63 that may be lost: a default is 0, and the enum has no member 0."""
        for table in tables.values():
            for field in table.fields:
                enum = enums.get(field.type.name) if field.type.kind == "enum" else None
                if enum is None or enum.kind != "uint64" or field.default != 0 or table.size:
                    continue
                if 0 not in enum.values.values():
                    where = f"{table.name}.{field.name}"
                    self.note(f"{where} may have a default from 2^63, which a .bfbs does not have: use the .fbs")

    def known(self, full: str, near: str = "") -> str:
        """The name of a table here, by its full name, or by its name as it is written near another one."""
        spaces = near.split(".")[:-1]
        for length in range(len(spaces), -1, -1):
            if (name := ".".join([*spaces[:length], full])) in self.full_names:
                return self.object_names[self.full_names.index(name)]
        return full

    def several(self, entry: _Table, number: int) -> list[_Table]:
        tables = entry.tables(number)
        self.left -= len(tables)
        if self.left < 0:
            raise ValueError(f"the reflection schema has more than {MOST_TABLES:,} tables")
        return tables

    def table(self, name: str, entry: _Table) -> Table:
        self.look("Object", name, entry)
        is_struct = bool(entry.scalar(2, "B"))
        full = entry.string(0)
        fields = [self.field(name, full, field, is_struct) for field in self.several(entry, 1)]
        size, align = (entry.scalar(4, "i"), entry.scalar(3, "i")) if is_struct else (0, 1)
        if is_struct and size < 1:
            raise ValueError(f"the struct {name} has no bytes")
        ordered = tuple(sorted(fields, key=lambda field: (field.slot, field.offset)))  # structs have no slots
        return Table(name, ordered, entry.doc(6), size, align, full)

    def field(self, table: str, full: str, entry: _Table, in_struct: bool) -> Field:
        name = entry.string(0)
        where = f"{table}.{name}"
        self.look("Field", where, entry)
        kind = self.field_type(where, entry.table(1), in_struct)
        default: Any = None
        optional = bool(entry.scalar(11, "B"))
        literal = (self.literals or {}).get(f"{full}.{name}", "")
        if kind.kind in ("float64", "float32"):
            default = entry.scalar(5, "d", 0.0)
        elif kind.kind == "bool":
            default = bool(entry.scalar(4, "q"))
        elif kind.kind not in ("string", "table", "union", "vector", "vector64", "struct", "array"):
            default = entry.scalar(4, "q")
            if self.is_unsigned(kind, entry.table(1)):
                default %= 2**64
                if not default and literal and not optional:
                    default = self.large(where, entry.table(1), literal)
        attributes = entry.attributes(9) if entry.target(9) else {}
        is_far = bool(entry.scalar(13, "B"))
        if is_far and not self.whole:
            raise ValueError(f"{where} has an offset of 64 bits; this is not supported")
        for name_64, is_known in (("offset64", is_far), ("vector64", kind.kind == "vector64")):
            if name_64 in attributes and not is_known:
                self.note(f"{where} has the attribute {name_64}, which the flatc that wrote this does not know")
        nested = attributes.get("nested_flatbuffer", "")
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
            nested=self.nested(where, nested, full) if nested and _is_bytes(kind) else "",
            is_flexible="flexbuffer" in attributes and _is_bytes(kind),
            is_far=is_far,
            initial=self.initial(kind, literal),
        )

    def initial(self, kind: Type, literal: str) -> str:
        """The default of a string or vector."""
        if kind.kind not in ("string", "vector", "vector64"):
            return ""
        is_lost = self.literals is None and self.root.scalar(6, "Q") & _DEFAULTS
        return UNKNOWN if is_lost else literal

    def nested(self, where: str, name: str, near: str) -> str:
        known = self.known(name, near)
        if known not in self.object_names or self.objects[self.object_names.index(known)].scalar(2, "B"):
            raise ValueError(f"{where} holds messages of {name}, and there is no such table")
        return known

    def is_unsigned(self, kind: Type, entry: _Table) -> bool:
        """Whether its numbers are those of a ulong, which a `.bfbs` has as an int64."""
        return kind.kind != "utype" and _BASE_TYPES.get(entry.scalar(0, "B")) == "uint64"

    def large(self, where: str, entry: _Table, literal: str) -> int:
        """The default of a ulong for which flatc has written 0, as the `.fbs` has it."""
        numbers: dict[str, int] = {}
        index = entry.scalar(2, "i", -1)
        if index >= 0:
            values = self.found[index].tables(1)
            numbers = {value.string(0): value.scalar(1, "q") % 2**64 for value in values}
        total = 0
        for word in literal.strip("\"'").split():
            own = word.rpartition(".")[2]
            if own in numbers:
                total |= numbers[own]
            elif re.fullmatch(r"[+-]?(?:0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})", word):
                total |= int(word, 16 if "x" in word.lower() else 10) % 2**64
            else:
                self.note(f"{where} has the default {literal}, which is not read: it is 0 here")
                return 0
        return total

    def field_type(self, where: str, entry: _Table, in_struct: bool) -> Type:
        self.look("Type", where, entry)
        number, element, index = entry.scalar(0, "B"), entry.scalar(1, "B"), entry.scalar(2, "i", -1)
        if number == _ARRAY and in_struct:
            return Type("array", "", self.base_type(where, element, index), entry.scalar(3, "H"))
        if number not in (_VECTOR, _VECTOR_64):
            return self.base_type(where, number, index)
        if element in (_UTYPE, _UNION) and not self.whole:
            raise ValueError(f"{where} is a vector of unions; only unions themselves are supported")
        if number == _VECTOR_64 and not self.whole:
            raise ValueError(f"{where} is a vector with a size of 64 bits; this is not supported")
        return Type("vector" if number == _VECTOR else "vector64", "", self.base_type(where, element, index))

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
        values = self.values(name, entry)
        docs = {value.string(0): value.doc(4) for value in values if value.doc(4)}
        kind = _BASE_TYPES[entry.table(3).scalar(0, "B")]
        if kind not in WIDTHS:
            raise KeyError(kind)
        layout = "Q" if kind == "uint64" else "q"
        numbers = {value.string(0): value.scalar(1, layout) for value in values}
        is_flags = bool(entry.target(4)) and "bit_flags" in entry.attributes(4)
        return Enum(name, kind, numbers, entry.doc(5), docs, is_flags, entry.string(0))

    def values(self, name: str, entry: _Table) -> list[_Table]:
        values = self.several(entry, 1)
        for value in values:
            self.look("EnumVal", f"{name}.{value.string(0)}", value)
        return values

    def union(self, name: str, entry: _Table) -> Union:
        found = []
        for value in sorted(self.values(name, entry), key=lambda value: value.scalar(1, "q")):
            if number := value.scalar(1, "q"):
                kind = value.table(3)
                type_ = self.base_type(name, kind.scalar(0, "B"), kind.scalar(2, "i", -1))
                if type_.kind != "table" and not self.whole:
                    raise ValueError(f"the union {name} has a member that is not a table; this is not supported")
                if not 0 < number < 256:
                    raise ValueError(f"the union {name} has a member with the number {number}")
                found.append((value.string(0), number, type_, value.doc(4)))
        members = tuple(member for member, *_ in found)
        docs = {member: doc for member, _, _, doc in found if doc}
        numbers, types = tuple(number for _, number, _, _ in found), tuple(type_ for _, _, type_, _ in found)
        if types == tuple(Type("table", member) for member in members):
            types = ()
        if numbers == tuple(range(1, len(members) + 1)):
            numbers = ()
        return Union(name, members, entry.doc(5), docs, numbers, types, entry.string(0))


def _is_bytes(kind: Type) -> bool:
    return kind.kind == "vector" and kind.element is not None and kind.element.kind == "uint8"


class _Structs:
    """The check of structs: fields lie in them one after the other, and no struct is part of itself."""

    def __init__(self, tables: Mapping[str, Table], enums: Mapping[str, Enum]) -> None:
        self.tables, self.enums = tables, enums
        self.depths: dict[str, int] = {}

    def check(self, table: Table) -> int:
        """Refuse a struct that is damaged. Return how deep structs nest in it."""
        if table.name in self.depths:
            if not self.depths[table.name]:
                raise ValueError(f"the struct {table.name} contains itself")
            return self.depths[table.name]
        self.depths[table.name] = 0
        if table.align < 1 or table.align & (table.align - 1) or table.align > _LARGEST_ALIGN:
            raise ValueError(f"the struct {table.name} has an impossible alignment, {table.align}")
        deepest = end = 0
        for field in table.fields:
            is_array = field.type.kind == "array"
            kind = field.type.element if is_array and field.type.element else field.type
            if kind.kind == "struct":
                deepest = max(deepest, self.check(self.tables[kind.name]))
                width = self.tables[kind.name].size
            else:
                width = WIDTHS[self.enums[kind.name].kind if kind.kind == "enum" else kind.kind]
            if field.offset < end:
                raise ValueError(f"the fields of the struct {table.name} overlap")
            end = field.offset + width * (field.type.length if is_array else 1)
        if end > table.size:
            raise ValueError(f"the struct {table.name} is too small for its fields")
        if table.size % table.align:
            raise ValueError(f"the struct {table.name} has {table.size} bytes, no multiple of {table.align}")
        if deepest >= _DEEPEST:
            raise ValueError(f"structs nest more than {_DEEPEST} deep")
        self.depths[table.name] = deepest + 1
        return deepest + 1


def _short(entries: list[_Table]) -> list[str]:
    """The names without their namespaces, except of names that would be equal."""
    full = [entry.string(0) for entry in entries]
    names = [name.rsplit(".", 1)[-1] for name in full]
    twice = {name for name, count in Counter(names).items() if count > 1}
    return [long if short in twice else short for long, short in zip(full, names, strict=True)]
