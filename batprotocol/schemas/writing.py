"""Writes the wire tree of any schema as a flatbuffer, and checks all its values.

A message is written from its end to its start, as flatbuffers requires: the parts of a table are written before the
table, and places are counted from the end. The generated codec, which is far faster, writes messages of this library's
own schema.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from batprotocol.errors import EncodeError, an, shown
from batprotocol.wire.binding import MAX_DEPTH, MAX_TABLES, RANGES
from batprotocol.wire.check import check_for
from batprotocol.wire.reader import CODES, MAX_SIZE
from batprotocol.wire.reflection import Field, Schema, Type
from batprotocol.wire.tree import path_of

__all__ = ["write"]

_CHECKS: Final = {kind: check_for(Type(kind)) for kind in ("string", "bool", "float64", *RANGES)} | {
    "float32": check_for(Type("float64"))
}


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
        self.vtables: dict[bytes, int] = {}
        self.done: dict[tuple[str, int], tuple[int, int, int]] = {}

    def fail(self, reason: str) -> NoReturn:
        raise EncodeError(reason, path_of(self.path))

    def refuse(self, expected: str, value: object) -> NoReturn:
        self.fail(f"expected {expected}, got {shown(value)} ({type(value).__name__})")

    def message(self, tree: Mapping[str, Any]) -> bytes:
        place, _, _ = self.table(self.schema.root, tree, 1)
        self.put(bytes(-(self.size + 4) % 8))
        if self.size + 4 > MAX_SIZE:
            self.fail(f"the message takes {self.size + 4} bytes, a flatbuffer has at most {MAX_SIZE}")
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
        return field.optional or field.type.kind in ("string", "vector", "table", "union", "utype")

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
        if kind == "string":
            place, below = self.string(value), (0, 0)
        elif kind == "vector":
            assert field.type.element
            place, *rest = self.vector(field.type.element, value, depth)
            below = (rest[0], rest[1])
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
        members = self.schema.unions[field.type.name].members
        said = tree.get(f"{field.name}_type")
        if not isinstance(said, str) or said not in members:
            self.path[-1] = f"{field.name}_type"
            self.refuse(f"the name of {an(field.type.name)}", said)
        return said, members.index(said) + 1

    def inline(self, fields: list[tuple[int, Field, str, Any]]) -> int:
        """Write a table itself, and its vtable unless an equal one exists."""
        fields.sort(key=lambda entry: -struct.calcsize(entry[2]))
        offsets: dict[int, int] = {}
        end = 4
        for slot, _, code, _ in fields:
            offsets[slot] = end
            end += struct.calcsize(code)
        wide = bool(fields) and struct.calcsize(fields[0][2]) == 8
        # The first eight bytes lie behind the four of the offset to the vtable.
        self.put(bytes(-(self.size + end - 4) % 8 if wide else -(self.size + end) % 4))
        place = self.size + end
        count = max(offsets, default=-1) + 1
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
        if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__") or not hasattr(value, "__iter__"):
            self.refuse(f"a sequence of {element}", value)
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

    def each(self, value: Any, take: Callable[[Any], Any]) -> list[Any]:
        taken = []
        for index, item in enumerate(value):
            self.path.append(f"[{index}]")
            taken.append(take(item))
            self.path.pop()
        return taken
