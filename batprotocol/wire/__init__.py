"""Bytes to messages and back: one module for each format, the handshake frames, and finding out which one it is.

A format is a module with `decode(bytes) -> Message` and `encode(Message) -> bytes`, listed in `FORMATS`. Nothing here
knows what may be said when, nor opens a socket or a file.

The way in: `detect` looks at the first bytes; `frames` takes the handshake's words off messages 0 and 1.

- `binary` hands a message to the engine in use: `_native`, in C (its rooms are in `native/`), or `engine`, a generated
  codec on `layout`. Either makes the values at once. What it stumbles over goes to `reader`, which makes every check
  that the C++ verifier makes: the outcome is a wire tree (`tree`) and from it the message, or a `DecodeError`.
- `json` hands a text to the same engine: `_native` reads plain JSON by itself, the Python engine by `plain`, which
  stands on the standard library's parser. What is not plain goes to `dialect`, which makes the same wire tree.

The way out: `binary` has `_native` or the codec write the message, and `json` has `_native` write it, or makes a wire
tree, which the standard library writes. What cannot be written ends in `check`, which names the field.

`glance` tells the time of a message without reading the rest of it, for those who keep messages by their time.

`making` makes values of fields that are known to be right, for those who make them again and again.

`binding` says, for all of them, which value stands for which table of the schema.
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


def detect(data: str | bytes | bytearray | memoryview) -> str:
    """What these bytes are: "binary" or "json" (a bare message), "init" or "hello" (the frame of message 0 or 1).

    It looks at the first bytes only, and always decides; decoding then tells whether they are what they look like. Text
    is JSON. `DecodeError` if this is neither bytes nor text.

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
    if len(head) >= 4 and first in frames.FLAGS.values():  # no root table of a flatbuffer starts at byte 1 or 2
        return "hello"
    text = head.removeprefix(_BOM).lstrip(b" \t\r\n")
    if text[:1] in (b"{", b"/") and text[1:2] != b"\0" and first >= len(data):
        return "json"
    return "json" if text[:1] == b"{" and len(data) < 4 else "binary"


def decode(data: str | bytes | bytearray | memoryview, *, strict: bool = True) -> Message:
    """Read a message, whichever format it is in; also the message in a hello frame.

    Args:
        data: the bytes of one message. Text (`str`) is read as `Message.from_json` does.
        strict: refuse fields of JSON that the schema does not have, as Batsim does.

    Raises:
        DecodeError: this is no message.
    """
    kind = detect(data)
    if kind == "json" or isinstance(data, str):
        return json.decode(data, strict=strict)
    if kind == "init":
        raise DecodeError("these are the initialization data of the handshake, not a message: use frames.decode_init")
    if kind == "hello":
        return frames.decode_hello(data, strict=strict).message
    return decode_binary(data)


def decode_binary(data: bytes | bytearray | memoryview) -> Message:
    """Read what `detect` calls binary, as all that it does not know. Of text in disguise, `DecodeError` says so."""
    try:
        return binary.decode(data)
    except DecodeError:
        text = _text_in(bytes(data[:64]))
        if text is None:
            raise
    raise DecodeError(f"neither JSON nor binary: a message in JSON is an object in UTF-8, and this is {text}") from None


def _text_in(head: bytes) -> str | None:
    """What text these bytes that are no message begin with, in a few words, or None if they are not text."""
    halves = head[: len(head) // 2 * 2]
    little, big = halves[1::2], halves[::2]
    for order, zeros, letters in (("le", little, big), ("be", big, little)):
        marked = head.startswith(codecs.BOM_UTF16_LE if order == "le" else codecs.BOM_UTF16_BE)
        if marked or (len(head) >= 4 and not any(zeros) and _is_text(letters.decode("latin-1"))):
            return f"text in UTF-16, {shown(halves.decode(f'utf-16-{order}', 'replace').lstrip(chr(0xFEFF))[:20])}"
    text = head.removeprefix(_BOM).decode(errors="ignore")
    if len(head) >= 4 and _is_text(text) and len(text.encode()) >= len(head) - 6:
        return f"other text, {shown(text[:20])}"
    return None


def _is_text(text: str) -> bool:
    return all(character.isprintable() or character in "\t\r\n\f" for character in text)
