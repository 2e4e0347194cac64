"""The Python engine, and the fallback of both engines.

It reads and writes with the generated codec. Messages that the codec refuses go to the careful reader (or, when
writing, to the checks), which either reads them or reports the error. The native engine falls back on the same
functions.
"""

from __future__ import annotations

import struct

from batprotocol._schema import codec
from batprotocol.errors import DecodeError, EncodeError, an
from batprotocol.model import Message
from batprotocol.wire import check, reader, tree
from batprotocol.wire.layout import STUMBLES, Doubt

__all__ = ["as_bytes", "decode", "encode", "read_carefully"]

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
