"""Bytes of any older protocol: the detection of their protocol, and its codec by its name.

A name is the version of Batsim ("4.2.1", "1.4.0"), or "text-0" to "text-3".
"""

from __future__ import annotations

import re
import sys
from typing import TypeAlias

from batprotocol.errors import EncodeError, shown
from batprotocol.legacy.json import events as json_events
from batprotocol.legacy.json import wire as json_codec
from batprotocol.legacy.text import events as text_events
from batprotocol.legacy.text import wire as text_codec
from batprotocol.legacy.text.wire import decode_frame

__all__ = ["Message", "decode", "detect", "encode", "is_text", "text_version"]

Message: TypeAlias = json_events.Message | text_events.Message
"""A message of either protocol."""

_TEXT_VERSION = re.compile(r"text(?:-[0-3])?")
_TEXT = re.compile(rb"[0-9]{1,9}:[0-9][0-9.eE+-]*\|", re.DOTALL)
_MESSAGE = re.compile(rb'\s*\{\s*"(?:now|events)"\s*:')
_EVENT = re.compile(rb'"(?:type|data)"\s*:')


def is_text(version: str) -> bool:
    """Whether this names a version of the text protocol: "text", "text-0" ... "text-3"."""
    return _TEXT_VERSION.fullmatch(version) is not None


def text_version(version: str) -> int | None:
    """The number in the name of a version of the text protocol; None for "text", which is any, and for JSON."""
    return int(version[-1]) if is_text(version) and version != "text" else None


def decode(data: bytes, version: str = "4.2", *, strict: bool = False) -> Message:
    """Read a message of an older protocol.

    Args:
        data: the bytes; in the text protocol, with the size before them or without it.
        version: "4.2.1", "1.4.0" and so on, or "text-0" to "text-3", or "text", which is any of these.
        strict: whether to refuse forms that this version lacks, see `json.codec.decode` and `text.codec.decode`.

    Raises:
        DecodeError: this is not a message; the error has the place.
        ValueError: there is no such version.

    >>> decode(b"3:2.0|2.0:N", "text-3")
    Message(version=3, now=2.0, events=(Nop(timestamp=2.0),))
    """
    if not is_text(version):
        return json_codec.decode(data, version, strict=strict)
    read = decode_frame if _is_framed(data) else text_codec.decode
    return read(data, text_version(version), strict=strict)


def encode(message: Message, version: str = "4.2") -> bytes:
    """Write a message of an older protocol; in the text protocol, without the size before it.

    Args:
        message: the message.
        version: "4.2.1", "1.4.0" and so on, or "text-3".

    Raises:
        EncodeError: this version cannot express it; the error has the place.
        ValueError: there is no such version.
    """
    if is_text(version):
        if not isinstance(message, text_events.Message):
            raise EncodeError(f"expected a message of the text protocol, got {shown(message)}")
        return text_codec.encode(message, text_version(version))
    if not isinstance(message, json_events.Message):
        raise EncodeError(f"expected a message of the JSON protocol, got {shown(message)}")
    return json_codec.encode(message, version)


def _is_framed(data: bytes) -> bool:
    """Whether a message has its size before it."""
    return len(data) > 4 and int.from_bytes(data[:4], sys.byteorder) == len(data) - 4


def detect(data: bytes) -> str | None:
    """The older protocol of these bytes, as their beginning shows: "json", "text", "frame" or None.

    "frame" is a message of the text protocol with its size before it. A JSON message without events can also be a
    message of the current protocol: the caller must distinguish them.

    >>> detect(b'{"now":0,"events":[{"timestamp":0,"type":"NOTIFY","data":{}}]}'), detect(b"3:0.0|0.0:A")
    ('json', 'text')
    """
    if _TEXT.match(data):
        return "text"
    if _is_framed(data) and _TEXT.match(data[4:]):
        return "frame"
    head = data[:4096]
    if _MESSAGE.match(head) and b'"event_type"' not in head and _EVENT.search(head):
        return "json"
    return None
