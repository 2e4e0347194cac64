"""A codec for any schema: flatbuffers and JSON to records and back.

A record is a message in its schema's own words: nested dicts and lists, as its JSON has them. It must not know what
any field means, nor which schemas there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from batprotocol.reflection import Schema
from batprotocol.schemas.writing import write
from batprotocol.wire import json
from batprotocol.wire.dialect.parser import read as read_json
from batprotocol.wire.engine import as_bytes
from batprotocol.wire.reader import read

__all__ = ["Codec", "Record"]

Record = dict[str, Any]
"""A message of a schema: its fields by name. Enums and the types of unions (`event_type`) are names; a number stands
where the schema has no name for it; absent fields are left out, but for scalars, which have their defaults; an optional
scalar that is absent is None."""


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
            DecodeError: it is none of this schema; `path` and `offset` say where, `partial` holds what could be read.
        """
        return read(as_bytes(data), self.schema)

    def encode(self, record: Mapping[str, Any]) -> bytes:
        """Write a message as a flatbuffer.

        Raises:
            EncodeError: it is no message of this schema; `path` says where.
        """
        return write(self.schema, record)

    def from_json(
        self, text: str | bytes | bytearray | memoryview, *, strict: bool = True, skipped: list[str] | None = None
    ) -> Record:
        """Read a message from JSON, in the dialect that Batsim reads.

        Args:
            text: the text, UTF-8 if it is bytes. It ends at the first NUL.
            strict: refuse fields that the schema does not have, as Batsim does. False skips them.
            skipped: a list to which the paths of skipped fields are appended.

        Raises:
            DecodeError: Batsim's parser, with this schema, would refuse it.
        """
        return read_json(json.as_bytes(text), strict, skipped, self.schema)

    def to_json(self, record: Mapping[str, Any], indent: int | None = None) -> str:
        """Write a message as JSON text, that of this record as it would be read.

        Args:
            record: the message.
            indent: spaces for each level, or None: one line.

        Raises:
            EncodeError: it is no message of this schema, or its text would be longer than `batprotocol.wire.json`
                writes.
        """
        write(self.schema, record)
        return json.text(dict(record), indent)
