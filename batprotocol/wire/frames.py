"""The two frames of the handshake, which are not bare messages.

Message 0, from Batsim: a uint32 size, then that many bytes of initialization data. Message 1, from the decision
component: a uint32 of flags, then a message, whose format the flags define: if bit 2 (value 2) is set, the whole
conversation is JSON, else binary. All others are bare messages.
"""

from __future__ import annotations

import math
import re
import struct
from contextlib import suppress
from struct import Struct, error
from typing import Final, NamedTuple

import msgspec

from batprotocol.errors import DecodeError, EncodeError, an
from batprotocol.model import EDCHelloEvent, Message, SimulationErrorEvent
from batprotocol.wire import binary, json

__all__ = [
    "FLAGS",
    "Hello",
    "behind_flags",
    "behind_size",
    "decode_hello",
    "decode_init",
    "decode_size_prefixed",
    "encode_hello",
    "encode_init",
    "encode_refusal",
    "flagged",
    "format_of",
    "is_size_prefixed",
    "time_of",
]


FLAGS = {"binary": 1, "json": 2}
"""The documented value of the flags for each format. Batsim itself only reads the bit of value 2."""

_U32 = struct.Struct("<I")


class Hello(NamedTuple):
    """The content of the frame of message 1: the flags word, the format that it selects, and the message."""

    flags: int
    format: str
    message: Message


def encode_init(text: str) -> bytes:
    """The frame of message 0.

    Args:
        text: the initialization data, free text. The lone surrogates of `decode_init` become the bytes that they were.

    >>> encode_init("hi")
    b'\\x02\\x00\\x00\\x00hi'
    """
    if not isinstance(text, str):
        raise EncodeError(f"expected a string, got {an(type(text).__name__)}")
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise EncodeError(f"the initialization data is not Unicode: {error.reason}") from None
    return _U32.pack(len(data)) + data


def decode_init(frame: bytes | bytearray | memoryview) -> str:
    """The initialization data in the frame of message 0.

    It comes from Batsim's command line, so bytes that are not UTF-8 become lone surrogates, as in `sys.argv`.

    Raises:
        DecodeError: the size does not match the frame.
    """
    data = bytes(frame)
    if len(data) < 4:
        raise DecodeError(f"expected a size of 4 bytes, found {len(data)} bytes", "", len(data))
    (size,) = _U32.unpack_from(data)
    if size != len(data) - 4:
        raise DecodeError(f"the size says {size} bytes of initialization data, {len(data) - 4} are there", "", 0)
    return data[4:].decode("utf-8", "surrogateescape")


def decode_size_prefixed(data: bytes | bytearray | memoryview) -> Message:
    """The message in a size-prefixed flatbuffer: a uint32 size, then a binary message of that many bytes.

    flatbuffers' `FinishSizePrefixed` writes such bytes. Batsim does not: on the wire, they would be the frame of
    message 0.

    Args:
        data: the size and the message. Bytes after it are ignored.

    Raises:
        DecodeError: the data is too short, or the message is invalid; the offset counts from the start of the data.

    >>> message = Message(now=1.5).to_binary()
    >>> decode_size_prefixed(_U32.pack(len(message)) + message)
    Message(now=1.5, events=())
    """
    body = behind_size(data)
    try:
        return binary.decode(body)
    except DecodeError as error:
        raise behind_flags(error) from None


def behind_size(data: bytes | bytearray | memoryview) -> bytes:
    """The bytes of a size-prefixed message behind their size. `DecodeError` if fewer are there."""
    given = bytes(data)
    if len(given) < _U32.size:
        raise DecodeError(f"expected a size of 4 bytes, found {len(given)} bytes", "", len(given))
    (size,) = _U32.unpack_from(given)
    if size > len(given) - _U32.size:
        raise DecodeError(f"the size says {size} bytes of a message, {len(given) - _U32.size} are there", "", 0)
    return given[_U32.size : _U32.size + size]


def is_size_prefixed(data: bytes | bytearray | memoryview) -> bool:
    """Whether the bytes are a size and a valid binary message of that many bytes, without bytes after it."""
    try:
        decode_size_prefixed(data)
    except DecodeError:
        return False
    size: int = _U32.unpack_from(data)[0]
    return len(data) == size + _U32.size


def format_of(frame: bytes | bytearray | memoryview) -> str:
    """The format that the flags in the frame of message 1 select. `DecodeError` if it is too short for flags."""
    if len(frame) < _U32.size:
        raise DecodeError(f"expected a flags word of 4 bytes, found {len(frame)} bytes", "", len(frame))
    return "json" if frame[0] & FLAGS["json"] else "binary"


def flagged(data: bytes, format: str) -> bytes:
    """The frame of message 1 with the bytes of a message, which have the format of the conversation."""
    return _U32.pack(FLAGS[format]) + data


def behind_flags(fault: DecodeError) -> DecodeError:
    """An error in the message of message 1 as an error in the frame, with an offset from the start of the frame."""
    offset = None if fault.offset is None else fault.offset + _U32.size
    return DecodeError(fault.reason, fault.path, offset, fault.partial)


def encode_hello(message: Message, format: str = "binary", *, allow_late_events: bool = False) -> bytes:
    """The frame of message 1.

    Args:
        message: the first message of a decision component; it must hold exactly one event, an `EDCHelloEvent`.
        format: "binary" or "json": the format of the whole conversation.
        allow_late_events: write an event that is later than the message. It is refused by default (False).

    Raises:
        EncodeError: this is another message, it cannot be written, or the format is unknown.
    """
    if format not in FLAGS:
        raise EncodeError(f"expected 'binary' or 'json', got {format!r}", "format")
    if not isinstance(message, Message) or [type(event) for event in message.events] != [EDCHelloEvent]:
        raise EncodeError("the first message must hold exactly one event, an EDCHelloEvent", "events")
    encode = json.encode if format == "json" else binary.encode
    return flagged(encode(message, allow_late_events=allow_late_events), format)


def decode_hello(frame: bytes | bytearray | memoryview, *, strict: bool = True) -> Hello:
    """The flags, the format and the message in the frame of message 1.

    Args:
        frame: the bytes. The events of the message are not checked; it may have other events.
        strict: refuse fields of JSON that the schema does not have.

    Raises:
        DecodeError: the frame is too short, or the message is invalid; the offset counts from the start of the frame.
    """
    data, format = bytes(frame), format_of(frame)
    try:
        message = json.decode(data[4:], strict=strict) if format == "json" else binary.decode(data[4:])
    except DecodeError as error:
        raise behind_flags(error) from None
    return Hello(_U32.unpack_from(data)[0], format, message)


def encode_refusal(heard: bytes, reason: str) -> bytes:
    """An answer that makes Batsim abort, so that scripts notice that there was no simulation.

    In JSON, it is an object with a member that the schema does not have: Batsim's parser prints the member when it
    aborts, so the reason is in Batsim's log. In binary, it is an event that only Batsim itself may send.

    Args:
        heard: the message from Batsim, which shows the state of the conversation.
        reason: a sentence for Batsim's user.
    """
    size = _U32.unpack_from(heard)[0] if len(heard) >= 4 else None
    begins = size == len(heard) - 4
    if begins or heard[:1] == b"{":
        from json import dumps

        text = dumps({reason: 0}).encode() + b"\0"
        return flagged(text, "json") if begins else text
    return binary.encode(Message(0.0, (SimulationErrorEvent(timestamp=0.0, error=reason),)))


# The time of a message, at a glance: without reading the rest of it, which may be large or broken.


_NUMBER: Final = Struct("<I").unpack_from
_I32: Final = Struct("<i").unpack_from
_TWO_U16: Final = Struct("<HxxH").unpack_from
_F64: Final = Struct("<d").unpack_from

_FLAGS: Final = frozenset(FLAGS.values())
_FIRST: Final = re.compile(rb'\s*\{\s*"now"\s*:\s*(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*[,}]')
"""JSON whose first member is its time, as Batsim, its C++ library and this one write it."""


class _Timed(msgspec.Struct):
    now: float


def time_of(data: bytes) -> float | None:
    """The `now` of a message, in simulated seconds; None for frames of the handshake and for bytes without a message.

    The rest of the message may be invalid. JSON of Batsim 1 to 4 has its time at the same place.

    Args:
        data: the bytes as they are on the wire, in either format.

    >>> from batprotocol import Message
    >>> time_of(Message(now=1.5).to_binary()), time_of(b'{"events": [], "now": 2}'), time_of(b"hi")
    (1.5, 2.0, None)
    """
    size = len(data)
    if size < 4:
        return None
    if data[0] == 123 and data[1]:  # "{"
        found = _FIRST.match(data)
        return _finite(float(found[1])) if found is not None else _anywhere(data)
    root = _NUMBER(data)[0]
    if root in _FLAGS or root == size - 4:  # a frame of the handshake
        return None
    try:
        table = root - _I32(data, root)[0]
        if table < 0:
            return None
        length, now = _TWO_U16(data, table)
        if length < 4:
            return None
        if length < 6 or not now:
            return 0.0
        time: float = _F64(data, root + now)[0]
        return time if time - time == 0 else None  # it is finite
    except error:  # offsets that lead out of it
        return _anywhere(data) if data[0] in b"\xef \t\r\n/{" else None


def _finite(time: float) -> float | None:
    return time if math.isfinite(time) else None


def _anywhere(data: bytes) -> float | None:
    """The time of a message in JSON, at any place in it."""
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        return _finite(msgspec.json.decode(data.partition(b"\0")[0], type=_Timed).now)
    with suppress(DecodeError):
        return _finite(json.decode(data, strict=False).now)
    return None
