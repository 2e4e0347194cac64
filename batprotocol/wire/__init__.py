"""Bytes to messages and back: one module for each format, the handshake frames, and finding out which one it is.

A format is a module with `decode(bytes) -> Message` and `encode(Message) -> bytes`, listed in `FORMATS`. Nothing here
knows what may be said when, nor opens a socket or a file.
"""

from __future__ import annotations

from types import ModuleType

from batprotocol.errors import DecodeError
from batprotocol.model import Message, message
from batprotocol.wire import binary, frames, json

__all__ = ["FORMATS", "binary", "decode", "detect", "frames", "json"]

FORMATS: dict[str, ModuleType] = {"binary": binary, "json": json}
"""The formats of messages by name."""

message.formats.update(FORMATS)

_BOM = b"\xef\xbb\xbf"


def detect(data: bytes | bytearray | memoryview) -> str:
    """What these bytes are: "binary" or "json" (a bare message), "init" or "hello" (the frame of message 0 or 1).

    It looks at the first bytes only, and always decides; decoding then tells whether they are what they look like.

    >>> detect(b'{"now": 1, "events": []}'), detect(b"\\x02\\x00\\x00\\x00hi")
    ('json', 'init')
    """
    head = bytes(data[:64])
    first = int.from_bytes(head[:4], "little")
    if len(head) >= 4 and first == len(data) - 4:
        return "init"
    if len(head) >= 4 and first in frames.FLAGS.values():  # no root table of a flatbuffer starts at byte 1 or 2
        return "hello"
    text = head.removeprefix(_BOM).lstrip(b" \t\r\n")
    if text[:1] in (b"{", b"/") and first >= len(data):
        return "json"
    return "json" if text[:1] == b"{" and len(data) < 4 else "binary"


def decode(data: bytes | bytearray | memoryview, *, strict: bool = True) -> Message:
    """Read a message, whichever format it is in; also the message in a hello frame.

    Args:
        data: the bytes of one message.
        strict: refuse fields of JSON that the schema does not have, as Batsim does.

    Raises:
        DecodeError: this is no message.
    """
    kind = detect(data)
    if kind == "init":
        raise DecodeError("these are the initialization data of the handshake, not a message: use frames.decode_init")
    if kind == "hello":
        return frames.decode_hello(data, strict=strict).message
    return json.decode(data, strict=strict) if kind == "json" else binary.decode(data)
