"""The binary format: flatbuffers.

Two readers, one result. The generated codec reads and writes what usual writers write, fast; what it stumbles over goes
to the careful reader (or, when writing, to the checks), which either reads it after all or says what is wrong.
"""

from __future__ import annotations

import struct

from batprotocol._schema import codec
from batprotocol.errors import DecodeError, EncodeError
from batprotocol.model import Message
from batprotocol.wire import check, reader, tree
from batprotocol.wire.layout import STUMBLES, Doubt

__all__ = ["ENGINE", "decode", "encode"]

ENGINE = "python"
"""Which engine reads and writes: "python"."""

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


def decode(data: bytes | bytearray | memoryview) -> Message:
    """Read a message from a flatbuffer.

    Args:
        data: the bytes. What follows the flatbuffer, and fields that only a newer schema has, are ignored.

    Raises:
        DecodeError: not a message; `path` and `offset` say where, `partial` holds what could be read.
    """
    data = _as_bytes(data)
    try:
        message: Message = codec.decode(data)
    except STUMBLES:
        message = tree.to_message(reader.read(data))
    return message


def encode(message: Message) -> bytes:
    """Write a message as a flatbuffer, which the C++ library's verifier accepts.

    Raises:
        EncodeError: a field holds what the wire cannot carry; `path` names it.
    """
    if not isinstance(message, Message):
        raise EncodeError(f"expected a Message, got a {type(message).__name__}")
    try:
        data: bytes = codec.encode(message)
    except _CANNOT_WRITE as error:
        check.check(message)
        raise EncodeError(f"the message cannot be written: {error}") from error
    if len(data) > reader.MAX_SIZE:
        raise EncodeError(f"the message takes {len(data)} bytes, a flatbuffer has at most {reader.MAX_SIZE}")
    return data


def _as_bytes(data: bytes | bytearray | memoryview) -> bytes:
    if isinstance(data, bytes):
        return data
    if isinstance(data, bytearray | memoryview):
        return bytes(data)
    raise DecodeError(f"a binary message is bytes, got a {type(data).__name__}")
