"""The careful reader of flatbuffers: every check of the C++ library's verifier, with the place of the first error.

It follows a schema's description and makes a wire tree. The generated codec reads the usual message ten times faster.
This reader reads messages that the codec refuses, and decides whether they are valid. It reads all messages of other
schemas. For any bytes, it takes time and memory in proportion to their number: it reads shared parts of tables once.
"""

from __future__ import annotations

import struct
from typing import Any, NoReturn

from batprotocol._schema.description import SCHEMA
from batprotocol.errors import DecodeError, an
from batprotocol.model.value import Doubles
from batprotocol.wire.binding import MAX_DEPTH, MAX_TABLES
from batprotocol.wire.reflection import Field, Schema, Type
from batprotocol.wire.tree import Tree, path_of

__all__ = ["CODES", "MAX_SIZE", "Reader", "read"]

MAX_SIZE = 2**31 - 1
"""The most bytes that a flatbuffer can have."""

CODES = {
    "bool": "B",
    "utype": "B",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
"""How `struct` calls each scalar. That of an enum is the one of its own kind."""
_SCALARS = {kind: struct.Struct(f"<{code}") for kind, code in CODES.items()}


def read(data: bytes, schema: Schema = SCHEMA) -> Tree:
    """The wire tree of a flatbuffer, or a `DecodeError` that says what is wrong with it, and where."""
    return Reader(data, schema).message()


class Reader:
    """One reading: `path` is the current place, `known` has the parts that have been read, by type and place.

    A known part is a tree or text or vector, the number of tables in it, and the number of their levels.
    """

    def __init__(self, data: bytes, schema: Schema) -> None:
        self.data = data
        self.schema = schema
        self.path: list[str] = []
        self.tree: Tree | None = None
        self.known: dict[tuple[str, int], tuple[Any, int, int]] = {}
        # Pieces do not overlap in what a writer writes; here they may, but not so much that time or memory explode.
        self.left = 16 * len(data)
        self.inner_left = MAX_DEPTH * len(data)

    def fail(self, reason: str, offset: int | None) -> NoReturn:
        raise DecodeError(reason, path_of(self.path), offset, self.tree) from None

    def need(self, offset: int, size: int, what: str) -> None:
        if offset < 0 or offset + size > len(self.data):
            place = max(0, min(offset, len(self.data)))
            self.fail(f"{what} lies outside the message, which has {len(self.data)} bytes", place)

    def message(self) -> Tree:
        if len(self.data) > MAX_SIZE:
            self.fail(f"a flatbuffer has at most {MAX_SIZE} bytes, this has {len(self.data)}", MAX_SIZE)
        if not self.data:
            self.fail("expected a flatbuffer, found no bytes at all", 0)
        self.need(0, 4, "the offset of the message")
        self.tree = {}
        position = self.offset(0)
        self.table(self.schema.root, position, 1, self.tree)
        return self.tree

    def offset(self, place: int) -> int:
        """Where the offset at `place` leads; its four bytes are known to be there."""
        (step,) = struct.unpack_from("<I", self.data, place)
        if not step:
            self.fail("an offset leads to itself", place)
        if place + step > len(self.data):
            self.fail(f"an offset of {step} leads outside the message, which has {len(self.data)} bytes", place)
        return place + int(step)

    def table(self, name: str, position: int, depth: int, tree: Tree) -> tuple[int, int]:
        """Read a table into `tree`; return how many tables that were, and how many levels of them."""
        if depth > MAX_DEPTH:
            self.fail(f"tables nest more than {MAX_DEPTH} deep", position)
        self.need(position, 4, an(name))
        vtable = position - int(struct.unpack_from("<i", self.data, position)[0])
        self.need(vtable, 2, f"the vtable of {an(name)}")
        (size,) = struct.unpack_from("<H", self.data, vtable)
        if size < 4 or size % 2:
            self.fail(f"the vtable of {an(name)} has an impossible size, {size}", vtable)
        self.need(vtable, size, f"the vtable of {an(name)}")
        tables, height = 1, 0
        tags: dict[str, tuple[int, int]] = {}
        for field in self.schema.tables[name].fields:
            if field.deprecated:
                continue
            entry = 4 + 2 * field.slot
            inline = struct.unpack_from("<H", self.data, vtable + entry)[0] if entry < size else 0
            self.path.append(field.name)
            if not inline:
                self.absent(field, position, tree)
            elif field.type.kind == "utype":
                self.need(position + inline, 1, f"the type of {an(field.type.name)}")
                tags[field.name] = (self.data[position + inline], position + inline)
            else:
                tag = tags.get(f"{field.name}_type", (0, position))
                below = self.field(field, tag, position + inline, depth, tree)
                tables, height = tables + below[0], max(height, below[1])
                if tables > MAX_TABLES:
                    self.fail(f"the message has more than {MAX_TABLES} tables", position)
            self.path.pop()
        return tables, height + 1

    def absent(self, field: Field, position: int, tree: Tree) -> None:
        if field.required:
            self.fail("this field is required and missing", position)
        if field.type.kind == "enum":
            tree[field.name] = self.schema.names[field.type.name].get(field.default, field.default)
        elif field.type.kind in _SCALARS and field.type.kind != "utype":
            tree[field.name] = field.default

    def field(self, field: Field, tag: tuple[int, int], place: int, depth: int, tree: Tree) -> tuple[int, int]:
        kind = field.type.kind
        names: dict[int, str] = {}
        layout = _SCALARS.get(kind)
        if kind == "enum":
            layout, names = self.layout(field.type), self.schema.names[field.type.name]
        if layout is not None:
            self.need(place, layout.size, an(field.type.name or kind))
            (value,) = layout.unpack_from(self.data, place)
            tree[field.name] = bool(value) if kind == "bool" else names.get(value, value)
            return 0, 0
        if kind == "struct":
            self.need(place, self.schema.tables[field.type.name].size, an(field.type.name))
            tree[field.name] = self.struct(field.type.name, place)
            return 0, 0
        self.need(place, 4, "an offset")
        position = self.offset(place)
        if kind == "string":
            tree[field.name] = self.string(position)
            return 0, 0
        if kind == "vector":
            assert field.type.element
            if field.nested or field.is_flexible:
                return self.inner(field, position, depth, tree)
            return self.vector(field, field.type.element, position, depth, tree)
        member = field.type.name
        if kind == "union":
            union = self.schema.unions[field.type.name]
            found = union.numbered_as(tag[0])
            if not found:
                most = max(union.numbers, default=len(union.members))
                self.fail(f"expected {an(field.type.name)}, found type {tag[0]} of 1 to {most}", tag[1])
            tree[f"{field.name}_type"] = found
            member = union.table_of(found)
        return self.child(member, position, depth + 1, tree, field.name)

    def layout(self, type_: Type) -> struct.Struct:
        """How a scalar lies in the message. All others take four bytes there, which are an offset."""
        return _SCALARS.get(self.schema.kind_of(type_)) or _SCALARS["uint32"]

    def struct(self, name: str, place: int) -> Tree:
        """The fields of a struct, whose bytes are known to be there."""
        return {field.name: self.inside(field.type, place + field.offset) for field in self.schema.tables[name].fields}

    def inside(self, type_: Type, place: int) -> Any:
        """A field of a struct."""
        if type_.kind == "struct":
            return self.struct(type_.name, place)
        if type_.kind == "array":
            assert type_.element
            width = self.width(type_.element)
            return [self.inside(type_.element, place + width * index) for index in range(type_.length)]
        (value,) = self.layout(type_).unpack_from(self.data, place)
        if type_.kind == "enum":
            return self.schema.names[type_.name].get(value, value)
        return bool(value) if type_.kind == "bool" else value

    def width(self, type_: Type) -> int:
        """The number of bytes of a value in its table, struct or vector."""
        return self.schema.tables[type_.name].size if type_.kind == "struct" else self.layout(type_).size

    def inner(self, field: Field, position: int, depth: int, tree: Tree) -> tuple[int, int]:
        """Read the message that a vector of bytes holds."""
        self.need(position, 4, "the size of a vector")
        (count,) = struct.unpack_from("<I", self.data, position)
        self.need(position, 4 + count, f"a vector of {count} elements")
        self.inner_left -= count
        if self.inner_left < 0:
            self.fail("messages overlap far more than any writer makes them", position)
        start = position + 4
        data = self.data[start : start + count]
        if field.is_flexible:
            from batprotocol.wire import flexbuffers

            tree[field.name] = None
            try:
                tree[field.name] = flexbuffers.read(data, self.path, start, MAX_DEPTH - depth)
            except DecodeError as error:
                raise DecodeError(error.reason, error.path, error.offset, self.tree) from None
            return 0, 0
        if not data:
            tree[field.name] = []
            return 0, 0
        reader = type(self)(data, self.schema)
        reader.path, reader.tree, reader.left, reader.inner_left = self.path, self.tree, self.left, self.inner_left
        child: Tree = {}
        tree[field.name] = child
        try:
            reader.need(0, 4, "the offset of the message")
            below = reader.table(field.nested, reader.offset(0), depth + 1, child)
        except DecodeError as error:
            offset = None if error.offset is None else error.offset + start
            raise DecodeError(error.reason, error.path, offset, self.tree) from None
        self.left, self.inner_left = reader.left, reader.inner_left
        return below

    def child(self, name: str, position: int, depth: int, into: Any, key: Any) -> tuple[int, int]:
        """Read a table, or take it from `known`; either way it hangs in its parent's tree before anything can fail."""
        known = self.known.get((name, position))
        if known is None:
            tree: Tree = {}
            into[key] = tree
            size = self.table(name, position, depth, tree)
            self.known[name, position] = (tree, *size)
            return size
        into[key] = known[0]
        if depth + known[2] - 1 > MAX_DEPTH:
            self.fail(f"tables nest more than {MAX_DEPTH} deep", position)
        return known[1], known[2]

    def string(self, position: int) -> str:
        known = self.known.get(("string", position))
        if known is not None:
            return str(known[0])
        self.need(position, 4, "the size of a string")
        (size,) = struct.unpack_from("<I", self.data, position)
        start, end = position + 4, position + 4 + size
        self.need(position, 4 + size + 1, f"a string of {size} bytes")
        if self.data[end]:
            self.fail("the string does not end with a NUL", end)
        self.spend(size, position)
        try:
            text = self.data[start:end].decode()
        except UnicodeDecodeError as error:
            self.fail(f"the string is not UTF-8: {error.reason}", start + error.start)
        self.known["string", position] = (text, 0, 0)
        return text

    def spend(self, size: int, position: int) -> None:
        self.left -= size
        if self.left < 0:
            self.fail("strings and vectors overlap far more than any writer makes them", position)

    def vector(self, field: Field, element: Type, position: int, depth: int, tree: Tree) -> tuple[int, int]:
        key = (f"[{element.name or element.kind}]", position)
        known = self.known.get(key)
        if known is not None:
            tree[field.name] = known[0]
            if depth + known[2] > MAX_DEPTH:
                self.fail(f"tables nest more than {MAX_DEPTH} deep", position)
            return known[1], known[2]
        self.need(position, 4, "the size of a vector")
        (count,) = struct.unpack_from("<I", self.data, position)
        size = count * self.width(element)
        self.need(position, 4 + size, f"a vector of {count} elements")
        self.spend(size, position)
        start, tables, height = position + 4, 0, 0
        if element.kind == "float64":
            tree[field.name] = Doubles.from_bytes(self.data[start : start + size])
        elif element.kind == "enum" or element.kind in _SCALARS:
            numbers = list(struct.unpack_from(f"<{count}{self.layout(element).format[1:]}", self.data, start))
            if element.kind == "enum":
                names = self.schema.names[element.name]
                tree[field.name] = [names.get(number, number) for number in numbers]
            else:
                tree[field.name] = list(map(bool, numbers)) if element.kind == "bool" else numbers
        elif element.kind == "struct":
            width = self.width(element)
            tree[field.name] = [self.struct(element.name, start + width * index) for index in range(count)]
        else:
            items: list[Any] = []
            tree[field.name] = items
            for index in range(count):
                self.path.append(f"[{index}]")
                at = self.offset(start + 4 * index)
                if element.kind == "string":
                    items.append(self.string(at))
                else:
                    items.append(None)
                    below = self.child(element.name, at, depth + 1, items, index)
                    tables, height = tables + below[0], max(height, below[1])
                    if tables > MAX_TABLES:
                        self.fail(f"the message has more than {MAX_TABLES} tables", position)
                self.path.pop()
        self.known[key] = (tree[field.name], tables, height)
        return tables, height
