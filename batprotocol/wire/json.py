"""The JSON format, in the dialect of the flatbuffers C++ library, which Batsim parses and prints with.

The engines read plain messages, and the native one writes them. All others are read by `batprotocol.wire.dialect` and
written, from the wire tree, by the standard library.
"""

from __future__ import annotations

from typing import Any

from batprotocol.errors import DecodeError, EncodeError
from batprotocol.model import Doubles, Message
from batprotocol.wire import binary

__all__ = ["decode", "dumps", "encode"]


def decode(
    data: str | bytes | bytearray | memoryview, *, strict: bool = True, skipped: list[str] | None = None
) -> Message:
    """Read a message from JSON text.

    Args:
        data: the text, UTF-8 if it is bytes. It ends at the first NUL, if there is one.
        strict: refuse fields that the schema does not have, as Batsim does. False skips them.
        skipped: a list to which the paths of skipped fields are appended.

    Raises:
        DecodeError: Batsim's parser would refuse the text; `path` and `offset` say where, `partial` holds what could
            be read. The offset counts bytes of UTF-8.
    """
    if isinstance(data, str):
        try:
            data = data.encode()
        except UnicodeEncodeError as error:
            raise DecodeError(f"the text is not Unicode: {error.reason}", "", error.start) from None
    elif not isinstance(data, bytes | bytearray | memoryview):
        raise DecodeError(f"a JSON message is text or bytes, got a {type(data).__name__}")
    data = bytes(data)
    message = binary.engine(binary.ENGINE).decode_json(data)
    if message is None:
        from batprotocol.wire import dialect, tree

        message = tree.to_message(dialect.read(data, strict, skipped))
    return message


def encode(message: Message, indent: int | None = None) -> bytes:
    """Write a message as the JSON that Batsim reads from its socket: one line, with the NUL that ends it.

    Raises:
        EncodeError: a field holds what the wire cannot carry; `path` names it.
    """
    return dumps(message, indent).encode() + b"\0"


def dumps(message: Message, indent: int | None = None) -> str:
    """Write a message as JSON text.

    Args:
        message: the message.
        indent: spaces for each level, or None: one line.

    Non-ASCII characters are escaped; NaN and infinities are written as `NaN`, `Infinity` and `-Infinity`.

    Raises:
        EncodeError: a field holds what the wire cannot carry; `path` names it.
    """
    if not isinstance(message, Message):
        raise EncodeError(f"expected a Message, got a {type(message).__name__}")
    plain = binary.engine(binary.ENGINE).encode_json(message) if indent is None else None
    if plain is None:
        from batprotocol.wire import check, tree

        check.check(message)
        plain = text(tree.from_message(message), indent)
    return plain


def text(tree: dict[str, Any], indent: int | None = None) -> str:
    """The JSON text of a wire tree."""
    import json

    return json.dumps(tree, indent=indent, separators=(",", ": "), default=_plain)


def _plain(value: Any) -> Any:
    """What `json` does not know: vectors of doubles, and the numbers of other libraries."""
    if isinstance(value, Doubles):
        return list(value)
    return value.__index__() if hasattr(value, "__index__") else float(value)
