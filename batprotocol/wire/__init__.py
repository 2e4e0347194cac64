"""Bytes to messages and back: one module for each format, the handshake frames, and the detection of the format.

A format is a module with `decode(bytes) -> Message` and `encode(Message) -> bytes`, listed in `FORMATS`. This package
does not know the rules of the conversation, and opens no socket or file.

Reading: `detect` reads the first bytes; `frames` removes the handshake's words from messages 0 and 1.

- `binary` passes a message to the current engine: `_native`, in C (its source is in `native/`), or `engine`, a
  generated codec on `layout`. Either makes the values at once. Messages that it refuses go to `reader`, which makes
  every check of the C++ verifier. The outcome is a wire tree (`tree`) and from it the message, or a `DecodeError`.
- `json` passes a text to the same engine. `_native` reads plain JSON itself, and `engine` with the standard library's
  parser. JSON that is not plain goes to `dialect`, which makes the same wire tree.

Writing: in `binary`, `_native` or the codec writes the message. In `json`, `_native` writes it, or the standard library
writes its wire tree. If a message cannot be written, `check` names the wrong field.

`frames` also finds the time of a message without reading the rest of it, for code that keeps messages by their time.

`flexbuffers` reads and writes FlexBuffers, which fields of other schemas hold.

`making` makes values of fields that are known to be valid, for code that makes many of them.

`binding` defines, for all of them, the value of each table of the schema.
"""

from __future__ import annotations

import codecs
from types import ModuleType

from batprotocol.errors import DecodeError, an, shown
from batprotocol.model import Message, message
from batprotocol.wire import binary, frames, json

__all__ = ["FORMATS", "binary", "decode", "detect", "frames", "json"]

FORMATS: dict[str, ModuleType] = {"binary": binary, "json": json}
"""The formats of messages by name."""

message.formats.update(FORMATS)

_BOM = b"\xef\xbb\xbf"
_FLAGS = frozenset(frames.FLAGS.values())
_TEXT = frozenset((b"{", b"/", b" ", b"\t", b"\r", b"\n", b"\xef"))
"""The first bytes of JSON, its comments, its white space and its mark."""


def detect(data: str | bytes | bytearray | memoryview) -> str:
    """The kind of these bytes: "binary" or "json" (a bare message), "init" or "hello" (the frame of message 0 or 1).

    It reads the first bytes only, and always decides; decoding then shows whether the bytes are valid. Text is JSON.
    `DecodeError` if this is neither bytes nor text.

    >>> detect(b'{"now": 1, "events": []}'), detect(b"\\x02\\x00\\x00\\x00hi")
    ('json', 'init')
    """
    if isinstance(data, str):
        return "json"
    if not isinstance(data, bytes | bytearray | memoryview):
        raise DecodeError(f"a message is bytes or text, got {an(type(data).__name__)}")
    head = bytes(data[:64])
    first = int.from_bytes(head[:4], "little")
    if len(head) >= 4 and first == len(data) - 4:
        return "init"
    if len(head) >= 4 and first in _FLAGS:  # no root table of a flatbuffer starts at byte 1 or 2
        return "hello"
    if head[:1] not in _TEXT:
        return "binary"
    text = head.removeprefix(_BOM).lstrip(b" \t\r\n")
    if text[:1] in (b"{", b"/") and text[1:2] != b"\0" and first >= len(data):
        return "json"
    return "json" if text[:1] == b"{" and len(data) < 4 else "binary"


def decode(data: str | bytes | bytearray | memoryview, *, strict: bool = True) -> Message:
    """Read a message in any format, also the message in a hello frame.

    A size-prefixed flatbuffer looks like the initialization data of the handshake. Use `frames.decode_size_prefixed`.

    Args:
        data: the bytes of one message. Text (`str`) is read as `Message.from_json` does.
        strict: refuse fields of JSON that the schema does not have, as Batsim does.

    Raises:
        DecodeError: this is not a message.

    >>> decode(b'{"now": 1.5, "events": []}')
    Message(now=1.5, events=())
    """
    kind = detect(data)
    if kind == "json" or isinstance(data, str):
        return json.decode(data, strict=strict)
    if kind == "init":
        if frames.is_size_prefixed(data):
            raise DecodeError(
                "a size-prefixed message: use frames.decode_size_prefixed, or leave out its first 4 bytes"
            )
        raise DecodeError("these are the initialization data of the handshake, not a message: use frames.decode_init")
    if kind == "hello":
        return frames.decode_hello(data, strict=strict).message
    return decode_binary(data)


def decode_binary(data: bytes | bytearray | memoryview) -> Message:
    """Read bytes that `detect` calls binary, as all unknown bytes. If they are text, the `DecodeError` says so."""
    try:
        return binary.decode(data)
    except DecodeError:
        text = text_in(data)
        if text is None:
            raise
    raise DecodeError(f"neither JSON nor binary: a message in JSON is an object in UTF-8, and this is {text}") from None


def text_in(data: bytes | bytearray | memoryview) -> str | None:
    """A short description of the text in bytes that are not a message, or None if they do not begin as text does."""
    head = bytes(data[:64])
    halves = head[: len(head) // 2 * 2]
    little, big = halves[1::2], halves[::2]
    for order, zeros, letters in (("le", little, big), ("be", big, little)):
        marked = head.startswith(codecs.BOM_UTF16_LE if order == "le" else codecs.BOM_UTF16_BE)
        if marked or (len(head) >= 4 and not any(zeros) and _is_text(letters.decode("latin-1"))):
            return f"text in UTF-16, {shown(halves.decode(f'utf-16-{order}', 'replace').lstrip(chr(0xFEFF))[:20])}"
    text = head.removeprefix(_BOM).decode(errors="ignore")
    missing = len(head) - len(text.encode())
    if text and _is_text(text) and missing <= (6 if len(head) >= 4 else 0):
        return "an array" if text.lstrip(" \t\r\n").startswith("[") else f"other text, {shown(text[:20])}"
    return None


def _is_text(text: str) -> bool:
    return all(character.isprintable() or character in "\t\r\n\f" for character in text)
