"""A codec for any schema: flatbuffers and JSON to records and back.

A record is a message with the names of its schema: nested dicts and lists, as in its JSON. This module must not know
the meaning of fields, or which schemas exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from batprotocol.schemas.writing import write
from batprotocol.wire import json
from batprotocol.wire.dialect.parser import read as read_json
from batprotocol.wire.engine import as_bytes
from batprotocol.wire.reader import read
from batprotocol.wire.reflection import Schema

__all__ = ["Codec", "Record"]

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
