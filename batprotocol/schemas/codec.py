"""A codec for any schema: flatbuffers and JSON to records and back.

A record is a message with the names of its schema: nested dicts and lists, as in its JSON. This module must not know
the meaning of fields, or which schemas exist.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, Final

from batprotocol.schemas.writing import write
from batprotocol.wire import json
from batprotocol.wire.dialect.parser import read as read_json
from batprotocol.wire.engine import as_bytes
from batprotocol.wire.reader import read
from batprotocol.wire.reflection import Field, Schema, Type
from batprotocol.wire.tree import path_of

__all__ = ["Codec", "Record", "rounded"]

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
