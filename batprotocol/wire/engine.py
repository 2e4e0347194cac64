"""The Python engine, and the fallback of both engines.

It reads and writes with the generated codec. Messages that the codec refuses go to the careful reader (or, when
writing, to the checks), which either reads them or reports the error. The native engine falls back on the same
functions.

Plain JSON, the form of Batsim and most writers, is read with the standard library's parser. Values are made straight
from its dicts. For text that is not plain or is wrong, the answer is None: the reader of the whole dialect
(`batprotocol.wire.dialect`) then reads it, or reports the error. That reader must accept all text that is accepted
here, with the same meaning.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from batprotocol._schema import codec
from batprotocol._schema.description import ENUMS, TABLES, UNIONS
from batprotocol.errors import DecodeError, EncodeError, an
from batprotocol.model import Doubles, Message
from batprotocol.wire import check, reader, tree
from batprotocol.wire.binding import ENVELOPE, MAX_DEPTH, RANGES, ROOT, class_of, enum_of, member_of, wrapped
from batprotocol.wire.layout import STUMBLES, Doubt
from batprotocol.wire.reflection import Field, Type

__all__ = [
    "as_bytes",
    "decode",
    "decode_json",
    "encode",
    "read_carefully",
]


_CANNOT_WRITE = (
    AttributeError,
    Doubt,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    UnicodeEncodeError,
    ValueError,
    struct.error,
)


def as_bytes(data: bytes | bytearray | memoryview) -> bytes:
    """The bytes of any buffer that a message can be read from."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, bytearray | memoryview):
        return bytes(data)
    raise DecodeError(f"a binary message is bytes, got {an(type(data).__name__)}")


def read_carefully(data: bytes) -> Message:
    """Read a message with every check, or report its error."""
    return tree.to_message(reader.read(data))


def decode(data: bytes | bytearray | memoryview) -> Message:
    """Read a message from a flatbuffer."""
    data = as_bytes(data)
    try:
        message: Message = codec.decode(data)
    except STUMBLES:
        message = read_carefully(data)
    return message


def encode(message: Message, /, *, allow_late_events: bool = False) -> bytes:
    """Write a message as a flatbuffer."""
    if not isinstance(message, Message):
        raise EncodeError(f"expected a Message, got {an(type(message).__name__)}")
    try:
        data: bytes = codec.encode(message)
    except _CANNOT_WRITE as error:
        check.check(message)
        raise EncodeError(f"the message cannot be written: {error}") from error
    if len(data) > reader.MAX_SIZE:
        raise EncodeError(f"the message takes {len(data)} bytes, a flatbuffer has at most {reader.MAX_SIZE}")
    if not allow_late_events:
        check.refuse_late_events(message)
    return data


# Plain JSON

# A name of an enum's or union's member must not be spelled with escapes, which the standard library's parser hides.
_ASCII_ESCAPE = re.compile(rb"\\u00[2-7]")
# The standard library's parser makes an int of it, which has no sign.
_MINUS_ZERO = re.compile(rb"-0(?![.eE])")

_Read = Callable[[Any, int], Any]


class _NotPlain(Exception):
    """This is not what a usual writer writes."""


def decode_json(data: bytes) -> Message | None:
    """The message in this JSON text, or None if there is more to it."""
    try:
        if _ASCII_ESCAPE.search(data) or _MINUS_ZERO.search(data):
            return None
        found = json.loads(data.partition(b"\0")[0].decode(), object_pairs_hook=_unique)
        message: Message = _table(ROOT)(found, 1)
    except (_NotPlain, ValueError, OverflowError, RecursionError):
        return None
    return message


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _NotPlain
    return members


@cache
def _table(name: str) -> _Read:
    """The function that makes the value of a table from its dict."""
    every = TABLES[name].fields
    fields = [(field.name, _field(field), _absent(field)) for field in every if field.type.kind != "utype"]
    names = frozenset(field.name for field in every)
    make = _maker(name)

    def read_table(members: Any, depth: int) -> Any:
        if type(members) is not dict or depth > MAX_DEPTH or not names.issuperset(members):
            raise _NotPlain
        return make(
            {name: read_field(members, depth) if name in members else absent() for name, read_field, absent in fields}
        )

    return read_table


def _maker(name: str) -> Callable[[dict[str, Any]], Any]:
    """The function that makes a value from the values of a table's fields."""
    if name == ENVELOPE:
        return lambda values: values["event"][0](timestamp=values["timestamp"], **values["event"][1])
    if wrapped(name):
        return lambda values: next(iter(values.values()))
    class_ = class_of(name)
    if name in member_of("Event").values():
        return lambda values: (class_, values)  # the envelope adds the timestamp
    return lambda values: class_(**values)


def _absent(field: Field) -> Callable[[], Any]:
    if field.required:
        return _refuse
    default = enum_of(field.type.name)(field.default) if field.type.kind == "enum" else field.default
    return lambda: default


def _refuse() -> Any:
    raise _NotPlain


def _field(field: Field) -> _Read:
    """The function that makes the value of a field from the dict of its table."""
    name = field.name
    if field.type.kind == "union":
        members, tag = frozenset(UNIONS[field.type.name].members), f"{name}_type"

        def read_union(table: Any, depth: int) -> Any:
            if next(key for key in table if key in (tag, name)) == name:
                raise _NotPlain  # the type comes after the union
            member = table.get(tag)
            if type(member) is not str or member not in members:
                raise _NotPlain
            return _table(member)(table[name], depth + 1)

        return read_union
    read_value = _value(field.type)
    if field.optional:
        return lambda table, depth: None if table[name] is None else read_value(table[name], depth)
    return lambda table, depth: read_value(table[name], depth)


def _value(type_: Type) -> _Read:
    if type_.kind == "table":
        return lambda value, depth: _table(type_.name)(value, depth + 1)
    if type_.kind == "enum":
        return _enum(type_.name)
    if type_.element:
        return _vector(type_.element)
    return {"string": _text, "bool": _flag, "float64": _double}.get(type_.kind) or _integer(*RANGES[type_.kind])


def _text(value: Any, depth: int) -> str:
    if type(value) is not str:
        raise _NotPlain
    if not value.isascii():
        value.encode()  # lone surrogates are no text
    return value


def _flag(value: Any, depth: int) -> bool:
    if type(value) is not bool:
        raise _NotPlain
    return value


def _double(value: Any, depth: int) -> float:
    if type(value) is not float and type(value) is not int:
        raise _NotPlain
    return float(value)


def _integer(least: int, most: int) -> _Read:
    def read_integer(value: Any, depth: int) -> int:
        if type(value) is not int or not least <= value <= most:
            raise _NotPlain
        return value

    return read_integer


def _enum(name: str) -> _Read:
    enum = enum_of(name)
    members = {value: enum(number) for value, number in ENUMS[name].values.items()}

    def read_enum(value: Any, depth: int) -> Any:
        if type(value) is not str or value not in members:
            raise _NotPlain
        return members[value]

    return read_enum


def _vector(element: Type) -> _Read:
    read_element = _value(element)
    collect: Callable[[list[Any]], Any] = Doubles if element.kind == "float64" else tuple

    def read_vector(value: Any, depth: int) -> Any:
        if type(value) is not list:
            raise _NotPlain
        return collect([read_element(each, depth) for each in value])

    return read_vector
