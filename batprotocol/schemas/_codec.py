"""The codec of any schema: flatbuffers and JSON to records and back, with every check of the C++ library.

A record is a message with the names of its schema: nested dicts and lists, as in its JSON. The careful readers of
`wire` read. The generated codec, which is far faster, writes messages of this library's own schema.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any, Final, NoReturn

from batprotocol.errors import DecodeError, EncodeError, an, shown
from batprotocol.wire import json
from batprotocol.wire.binding import MAX_DEPTH, MAX_TABLES, RANGES
from batprotocol.wire.check import check_for
from batprotocol.wire.engine import as_bytes
from batprotocol.wire.reader import CODES, MAX_SIZE, read
from batprotocol.wire.reflection import Field, Schema, Type
from batprotocol.wire.tree import path_of

Record = dict[str, Any]
"""A message of a schema: its fields by name. Enums and the types of unions (`event_type`) are names, or numbers if the
schema has no name. Absent fields are left out, except scalars, which have their defaults. An absent optional scalar is
None. A struct has all of its fields. A field with `nested_flatbuffer` is the record that its bytes hold, or
a list of these bytes when it is written; one with `flexbuffer` is the value of any JSON that its bytes hold."""


class Codec:
    """Reads and writes the messages of one schema, with every check of the C++ library's verifier and parser.

    Args:
        schema: the schema, from `read_schema` or `age`.

    >>> from batprotocol.schemas import Codec, age
    >>> codec = Codec(age("2024-10"))
    >>> data = codec.encode({"now": 4.0, "events": []})
    >>> codec.decode(data)
    {'now': 4.0, 'events': []}
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def decode(self, data: bytes | bytearray | memoryview) -> Record:
        """Read a message from a flatbuffer.

        Raises:
            DecodeError: it is not a message of this schema. `path` and `offset` are the place of the error, and
                `partial` is the part that could be read.
        """
        return read(as_bytes(data), self.schema)

    def encode(self, record: Mapping[str, Any]) -> bytes:
        """Write a message as a flatbuffer, with the identifier of the schema if it has one.

        Raises:
            EncodeError: it is not a message of this schema; `path` is the place of the error.
        """
        return write(self.schema, record)

    def from_json(
        self, text: str | bytes | bytearray | memoryview, *, strict: bool = True, skipped: list[str] | None = None
    ) -> Record:
        """Read a message from JSON, in the dialect that Batsim reads.

        Args:
            text: the text, UTF-8 if it is bytes. It ends at the first NUL.
            strict: refuse fields that the schema does not have, as Batsim does. False skips them.
            skipped: a list, to which the paths of skipped fields are appended.

        Raises:
            DecodeError: Batsim's parser would refuse it with this schema.
        """
        from batprotocol.wire.dialect.parser import read as read_json  # which takes long to import

        return read_json(json.as_bytes(text), strict, skipped, self.schema)

    def to_json(self, record: Mapping[str, Any], indent: int | None = None) -> str:
        """Write a message as JSON text, which reads as this record.

        Args:
            record: the message.
            indent: the number of spaces for each level, or None for a single line.

        Raises:
            EncodeError: it is not a message of this schema, or its text would be longer than the limit of
                `batprotocol.wire.json`.
        """
        write(self.schema, record)
        return json.text(dict(record), indent)


def rounded(record: Record, schema: Schema) -> list[str]:
    """The places of numbers that flatc may have rounded: it writes 12 decimals of a double, and 6 of a float.

    Numbers below that are 0 in its JSON, and are not found.

    Args:
        record: a message that was read from JSON.
        schema: its schema.

    >>> from batprotocol.schemas import age, rounded
    >>> rounded({"now": 0.333333333333, "events": []}, age("2024-10"))
    ['now']
    """
    return [path_of(path) for path in _rounded(record, schema, schema.root, [])]


_DECIMALS: Final = {"float64": 12, "float32": 6}
_LARGEST: Final = {"float64": 1000.0, "float32": 8.0}
"""The limit of numbers that have more digits than flatc writes."""


def _rounded(record: Record, schema: Schema, table: str, path: list[str]) -> Iterator[list[str]]:
    for field in schema.tables[table].fields:
        value = record.get(field.name)
        if value is not None:
            yield from _rounded_value(value, schema, field, field.type, record, [*path, field.name])


def _rounded_value(
    value: Any, schema: Schema, field: Field, type_: Type, record: Record, path: list[str]
) -> Iterator[list[str]]:
    if type_.kind in _DECIMALS:
        places = _DECIMALS[type_.kind]
        decimals = f"{value:.{places}f}".partition(".")[2]
        same = float(f"{value:.{places}f}")
        if not isfinite(value) or (same if type_.kind == "float64" else _single(same)) != value:
            return
        if decimals[-1] != "0" and abs(value) < _LARGEST[type_.kind]:
            yield path
    elif field.nested and isinstance(value, dict):
        yield from _rounded(value, schema, field.nested, path)
    elif type_.element and type_.element.kind in (*_DECIMALS, "table", "struct"):
        for index, each in enumerate(value):
            yield from _rounded_value(each, schema, field, type_.element, record, [*path, f"[{index}]"])
    elif type_.kind in ("table", "struct") and isinstance(value, dict):
        yield from _rounded(value, schema, type_.name, path)
    elif type_.kind == "union" and isinstance(value, dict):
        member = record.get(f"{field.name}_type", "")
        union = schema.unions[type_.name]
        if member in union.members:
            yield from _rounded(value, schema, union.table_of(member), path)


def _single(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


# Writing: a message is written from its end to its start, as flatbuffers requires. The parts of a table are written
# before the table, and places are counted from the end.


_CHECKS: Final = {kind: check_for(Type(kind)) for kind in ("string", "bool", "float64", *RANGES)} | {
    "float32": check_for(Type("float64"))
}

_MOST_FIELDS: Final = (0xFFFF - 4) // 2


def write(schema: Schema, tree: Mapping[str, Any]) -> bytes:
    """The flatbuffer of a message.

    Args:
        schema: whose message it is.
        tree: the message, in the form of its JSON. Shared parts are written once.

    Raises:
        EncodeError: a value does not fit the schema, is missing, or out of range; `path` is its place.
    """
    return _Writer(schema).message(tree)


class _Writer:
    """Writes one message: `path` is the current place, `pieces` the pieces so far, last first, of `size` bytes."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.path: list[str] = []
        self.pieces: list[bytes] = []
        self.size = 0
        self.align = 8
        self.vtables: dict[bytes, int] = {}
        self.done: dict[tuple[str, int], tuple[int, int, int]] = {}

    def fail(self, reason: str) -> NoReturn:
        raise EncodeError(reason, path_of(self.path))

    def refuse(self, expected: str, value: object) -> NoReturn:
        self.fail(f"expected {expected}, got {shown(value)} ({type(value).__name__})")

    def message(self, tree: Mapping[str, Any]) -> bytes:
        place, _, _ = self.table(self.schema.root, tree, 1)
        return self.finished(place, self.schema.identifier.encode())

    def finished(self, place: int, identifier: bytes = b"") -> bytes:
        """The message whose table lies at a place."""
        head = 4 + len(identifier)
        self.put(bytes(-(self.size + head) % self.align))
        if self.size + head > MAX_SIZE:
            self.fail(f"the message takes {self.size + head} bytes, a flatbuffer has at most {MAX_SIZE}")
        self.put(identifier)
        self.put(struct.pack("<I", self.size + 4 - place))
        return b"".join(reversed(self.pieces))

    def put(self, piece: bytes) -> int:
        """Write a piece before all others, and return its place."""
        if piece:
            self.pieces.append(piece)
            self.size += len(piece)
        return self.size

    def table(self, name: str, tree: Any, depth: int) -> tuple[int, int, int]:
        """Write a table, and return its place, the number of tables in it, and the number of their levels."""
        if depth > MAX_DEPTH:
            self.fail(f"tables nest more than {MAX_DEPTH} deep")
        if not isinstance(tree, Mapping):
            self.refuse(f"the fields of {an(name)}", tree)
        known = self.done.get((name, id(tree)))
        if known is None:
            known = self.done[name, id(tree)] = self.new_table(name, tree, depth)
        elif depth + known[2] - 1 > MAX_DEPTH:
            self.fail(f"tables nest more than {MAX_DEPTH} deep")
        if known[1] > MAX_TABLES:
            self.fail(f"the message has more than {MAX_TABLES:,} tables")
        return known

    def new_table(self, name: str, tree: Mapping[str, Any], depth: int) -> tuple[int, int, int]:
        fields = self.schema.tables[name].fields
        names = {field.name for field in fields if not field.deprecated}
        for key in tree:
            if key not in names:
                self.path.append(str(key))
                self.fail(f"{name} has no field of this name")
        inline: list[tuple[int, Field, str, Any]] = []
        tables, height = 1, 0
        for field in fields:
            if field.deprecated:
                continue
            self.path.append(field.name)
            value = tree.get(field.name)
            if value is None:
                if field.required or (field.name in tree and not self.may_be_none(field)):
                    self.fail("this field is required" if field.required else "this field cannot be null")
            elif field.type.kind == "utype":
                self.union_type(field, tree)  # which is written with its union
            else:
                below = self.field(field, value, tree, depth, inline)
                tables, height = tables + below[0], max(height, below[1])
            self.path.pop()
        return self.inline(inline), tables, height + 1

    @staticmethod
    def may_be_none(field: Field) -> bool:
        return field.optional or field.type.kind in ("string", "vector", "table", "union", "utype", "struct")

    def union_type(self, field: Field, tree: Mapping[str, Any]) -> None:
        """Refuse the type of a union whose value is missing."""
        union = field.name.removesuffix("_type")
        if tree[field.name] != "NONE" and tree.get(union) is None:
            self.path[-1] = union
            self.fail(f"its type is {shown(tree[field.name])}, and it has no value")

    def field(
        self, field: Field, value: Any, tree: Mapping[str, Any], depth: int, inline: list[tuple[int, Field, str, Any]]
    ) -> tuple[int, int]:
        """Write the parts of a field outside the table, and record its value in the table. Return tables and levels."""
        kind = field.type.kind
        if kind == "enum" or kind in CODES:
            number = self.scalar(field.type, value)
            if field.optional or repr(number) != repr(field.default):  # the zeros of both signs are not the same
                inline.append((field.slot, field, self.code(field.type), number))
            return 0, 0
        if kind == "struct":
            data = bytes(self.struct(field.type.name, value))
            inline.append((field.slot, field, f"{len(data)}s", data))
            return 0, 0
        if kind == "string":
            place, below = self.string(value), (0, 0)
        elif field.is_flexible or (field.nested and isinstance(value, Mapping)):
            place, *rest = self.inner(field, value, depth)
            below = (rest[0], rest[1])
        elif kind == "vector":
            assert field.type.element
            place, *rest = self.vector(field.type.element, value, depth)
            below = (rest[0], rest[1])
            if field.nested:
                self.check_nested(field, value)
        else:
            member = field.type.name
            if kind == "union":
                member, number = self.member(field, tree)
                inline.append((field.slot - 1, field, "B", number))
            place, *rest = self.table(member, value, depth + 1)
            below = (rest[0], rest[1])
        inline.append((field.slot, field, "I", place))
        return below

    def member(self, field: Field, tree: Mapping[str, Any]) -> tuple[str, int]:
        """The table of a union, and its number."""
        union = self.schema.unions[field.type.name]
        said = tree.get(f"{field.name}_type")
        if not isinstance(said, str) or said not in union.members:
            self.path[-1] = f"{field.name}_type"
            self.refuse(f"the name of {an(field.type.name)}", said)
        return union.table_of(said), union.number_of(said)

    def inner(self, field: Field, value: Any, depth: int) -> tuple[int, int, int]:
        """Write a message into a vector of bytes."""
        tables = height = 0
        if field.is_flexible:
            from batprotocol.wire import flexbuffers

            data = flexbuffers.write(value, self.path, MAX_DEPTH - depth)
            align = 8
        else:
            writer = _Writer(self.schema)
            writer.path = self.path
            place, tables, height = writer.table(field.nested, value, depth + 1)
            data, align = writer.finished(place), writer.align
        self.align = max(self.align, align)
        self.put(bytes(-(self.size + len(data)) % align))
        self.put(data)
        return self.put(struct.pack("<I", len(data))), tables, height

    def check_nested(self, field: Field, value: Any) -> None:
        """Refuse bytes that are not a message of the field's table."""
        if not len(value):
            return
        whole = self.schema
        try:
            read(bytes(value), Schema(field.nested, whole.tables, whole.enums, whole.unions))
        except DecodeError as error:
            self.fail(f"expected a message of {field.nested}: {error.reason}")

    # Structs

    def struct(self, name: str, tree: Any) -> bytearray:
        """The bytes of a struct, which has all of its fields."""
        table = self.schema.tables[name]
        if not isinstance(tree, Mapping):
            self.refuse(f"the fields of {an(name)}", tree)
        names = {field.name for field in table.fields}
        for key in tree:
            if key not in names:
                self.path.append(str(key))
                self.fail(f"{name} has no field of this name")
        data = bytearray(table.size)
        for field in table.fields:
            self.path.append(field.name)
            if tree.get(field.name) is None:
                self.fail(f"this field of the struct {name} is required")
            self.inside(field.type, tree[field.name], data, field.offset)
            self.path.pop()
        self.align = max(self.align, table.align)
        return data

    def inside(self, type_: Type, value: Any, data: bytearray, place: int) -> None:
        """Write a field into the bytes of its struct."""
        if type_.kind == "struct":
            part = self.struct(type_.name, value)
            data[place : place + len(part)] = part
        elif type_.kind == "array":
            assert type_.element
            self.check_sequence(type_.element, value)
            if len(value) != type_.length:
                self.fail(f"expected {type_.length} elements, got {len(value)}")
            width = self.width(type_.element)
            for index, item in enumerate(value):
                self.path.append(f"[{index}]")
                self.inside(type_.element, item, data, place + width * index)
                self.path.pop()
        else:
            struct.pack_into(f"<{self.code(type_)}", data, place, self.scalar(type_, value))

    def width(self, type_: Type) -> int:
        return self.schema.tables[type_.name].size if type_.kind == "struct" else struct.calcsize(self.code(type_))

    def align_of(self, field: Field) -> int:
        """The alignment of a field in its table."""
        kind = field.type.kind
        if kind == "struct":
            return self.schema.tables[field.type.name].align
        return struct.calcsize(self.code(field.type)) if kind == "enum" or kind in CODES else 4

    def inline(self, fields: list[tuple[int, Field, str, Any]]) -> int:
        """Write a table itself, and its vtable unless an equal one exists."""
        aligns = [1 if code == "B" else self.align_of(field) for _, field, code, _ in fields]
        places = sorted(range(len(fields)), key=lambda index: -aligns[index])
        fields = [fields[index] for index in places]
        offsets: dict[int, int] = {}
        end = 4
        for slot, _, code, _ in fields:
            offsets[slot] = end
            end += struct.calcsize(f"<{code}")
        if end > 0xFFFF:
            self.fail(f"the fields of this table take {end} bytes, and the limit is 65,535")
        # The first field lies behind the four bytes of the offset to the vtable.
        self.put(bytes(-(self.size + end - 4) % max([4, *aligns])))
        place = self.size + end
        count = max(offsets, default=-1) + 1
        if count > _MOST_FIELDS:
            self.fail(f"this table has a field number {count - 1}, and the limit is {_MOST_FIELDS - 1:,}")
        vtable = struct.pack(f"<{count + 2}H", 4 + 2 * count, end, *(offsets.get(slot, 0) for slot in range(count)))
        known = self.vtables.get(vtable)
        at = known if known is not None else place + len(vtable) + len(vtable) % 4
        values = [
            place - offsets[slot] - value if code == "I" and self.leads(field) else value
            for slot, field, code, value in fields
        ]
        self.put(struct.pack(f"<i{''.join(code for _, _, code, _ in fields)}", at - place, *values))
        if known is None:
            self.put(vtable + bytes(len(vtable) % 4))
            self.vtables[vtable] = at
        return place

    @staticmethod
    def leads(field: Field) -> bool:
        return field.type.kind in ("string", "vector", "table", "union")

    def code(self, type_: Type) -> str:
        return CODES[self.schema.kind_of(type_)]

    # Values of fields

    def scalar(self, type_: Type, value: Any) -> Any:
        kind = self.schema.kind_of(type_)
        if type_.kind == "enum":
            if isinstance(value, str):
                number = self.schema.enums[type_.name].values.get(value)
                if number is None:
                    self.refuse(an(type_.name), value)
                return number
            kind = "uint8" if kind == "bool" else kind
        self.check(kind, value)
        if kind in RANGES:
            return operator.index(value)
        return value if kind == "bool" else self.real(kind, value)

    def check(self, kind: str, value: Any) -> None:
        """Refuse a value that is not a text, or not a scalar of this kind."""
        try:
            _CHECKS[kind](value, 0)
        except EncodeError as error:
            self.fail(error.reason)

    def real(self, kind: str, value: Any) -> float:
        number = float(value)
        try:
            struct.pack(f"<{CODES[kind]}", number)
        except OverflowError as error:
            self.fail(f"expected a {kind}, got {shown(value)}: {error}")
        return number

    def string(self, value: Any) -> int:
        self.check("string", value)
        data = value.encode()
        self.put(data + bytes(4 - (self.size + len(data)) % 4))
        return self.put(struct.pack("<I", len(data)))

    def vector(self, element: Type, value: Any, depth: int) -> tuple[int, int, int]:
        self.check_sequence(element, value)
        key = f"[{element}]", id(value)
        known = self.done.get(key)
        if known is not None and depth + known[2] <= MAX_DEPTH:
            return known
        kind, tables, height = element.kind, 0, 0
        if kind == "enum" or kind in CODES:
            code = self.code(element)
            numbers = self.each(value, lambda item: self.scalar(element, item))
            width = struct.calcsize(code)
            data = struct.pack(f"<{len(numbers)}{code}", *numbers)
            self.put(bytes(-(self.size + len(data)) % max(4, width)))
            self.put(data)
        elif kind == "struct":
            data = b"".join(self.each(value, lambda item: self.struct(element.name, item)))
            self.put(bytes(-(self.size + len(data)) % max(4, self.schema.tables[element.name].align)))
            self.put(data)
        else:

            def write_item(item: Any) -> int:
                nonlocal tables, height
                if kind == "string":
                    return self.string(item)
                place, *below = self.table(element.name, item, depth + 1)
                tables, height = tables + below[0], max(height, below[1])
                return place

            places = self.each(value, write_item)
            end = self.size + 4 * len(places)
            steps = [end - 4 * index - place for index, place in enumerate(places)]
            self.put(struct.pack(f"<{len(steps)}I", *steps))
        place = self.put(struct.pack("<I", len(value)))
        self.done[key] = place, tables, height
        return place, tables, height

    def check_sequence(self, element: Type, value: Any) -> None:
        if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__") or not hasattr(value, "__iter__"):
            self.refuse(f"a sequence of {element}", value)

    def each(self, value: Any, take: Callable[[Any], Any]) -> list[Any]:
        taken = []
        for index, item in enumerate(value):
            self.path.append(f"[{index}]")
            taken.append(take(item))
            self.path.pop()
        return taken
