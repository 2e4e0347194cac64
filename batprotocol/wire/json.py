"""The JSON format, in the dialect of the flatbuffers C++ library, which Batsim parses and prints with.

The engines read plain messages, and the native one writes them. All others are read by `batprotocol.wire.dialect` and
written, from the wire tree, by the standard library.
"""

from __future__ import annotations

from typing import Any

from batprotocol.errors import DecodeError, EncodeError, an, shown
from batprotocol.model import Doubles, Message
from batprotocol.wire import binary

__all__ = ["MAX_TEXT", "as_bytes", "decode", "dumps", "encode"]

MAX_TEXT = 2**28
"""The approximate maximum number of characters of the JSON text of a message.

In a small flatbuffer, thousands of tables may share one long string or vector, which JSON repeats each time. A text
that would be longer than this, even with the shortest form of each escape and each number, is not written.
"""


def as_bytes(data: str | bytes | bytearray | memoryview) -> bytes:
    """The bytes of any text that a message can be read from."""
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    if not isinstance(data, str):
        raise DecodeError(f"a JSON message is text or bytes, got {an(type(data).__name__)}")
    try:
        return data.encode()
    except UnicodeEncodeError as error:
        raise DecodeError(f"the text is not Unicode: {error.reason}", "", error.start) from None


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
    if not isinstance(data, bytes):
        data = as_bytes(data)
    read_plain = binary.engine(binary.ENGINE).decode_json
    message = read_plain(data)
    if message is None:
        from batprotocol.wire import dialect, tree

        plainer = dialect.plainer(data)
        message = read_plain(plainer) if plainer is not data else None
    if message is None:
        message = tree.to_message(dialect.read(data, strict, skipped))
    return message


def encode(message: Message, indent: int | None = None, *, allow_late_events: bool = False) -> bytes:
    """Write a message as the JSON that Batsim reads from its socket: one line, with the NUL that ends it.

    Raises:
        EncodeError: as `dumps`.
    """
    return dumps(message, indent, allow_late_events=allow_late_events).encode() + b"\0"


def dumps(message: Message, indent: int | None = None, *, allow_late_events: bool = False) -> str:
    """Write a message as JSON text.

    Args:
        message: the message.
        indent: spaces for each level, or None: one line.
        allow_late_events: write events that are later than the message. They are refused by default (False).

    Non-ASCII characters are escaped; NaN and infinities are written as `NaN`, `Infinity` and `-Infinity`.

    Raises:
        EncodeError: a field has an invalid value, or an event is later than the message, and `path` names the field; or
            the text would be longer than
            `MAX_TEXT`; or `indent` is not a number of spaces.
    """
    if not isinstance(message, Message):
        raise EncodeError(f"expected a Message, got {an(type(message).__name__)}")
    if indent is not None and (type(indent) is not int or indent < 0):
        raise EncodeError(f"expected a number of spaces or None, got {shown(indent)}", "indent")
    plain = None
    if indent is None:
        write = binary.engine(binary.ENGINE).encode_json
        plain = write(message, allow_late_events=True) if allow_late_events else write(message)
    if plain is None:
        from batprotocol.wire import check, tree

        try:  # first, as a tree shares what the message shares, and the checks go through it each time
            done: tree.Done = {}
            written = tree.from_message(message, done)
            if tree.LARGE in done or indent:
                _refuse_if_long(written, indent)
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            check.check(message)
            raise
        check.check(message)
        if not allow_late_events:
            check.refuse_late_events(message)
        plain = _text(written, indent)
    return plain


def text(tree: dict[str, Any], indent: int | None = None) -> str:
    """The JSON text of a wire tree. `EncodeError` if it would be longer than `MAX_TEXT`."""
    _refuse_if_long(tree, indent)
    return _text(tree, indent)


def _refuse_if_long(tree: dict[str, Any], indent: int | None) -> None:
    size, _ = _least_size(tree, indent or 0, {})
    if size > MAX_TEXT:
        raise EncodeError(
            f"the JSON text would have more than {MAX_TEXT:,} characters: parts of the message recur in it"
        )


def _text(tree: dict[str, Any], indent: int | None) -> str:
    import json

    return json.dumps(tree, indent=indent, separators=(",", ": "), default=_plain)


def _plain(value: Any) -> Any:
    """Values that `json` does not know: vectors of doubles, and the numbers of other libraries."""
    if isinstance(value, Doubles):
        return list(value)
    return value.__index__() if hasattr(value, "__index__") else float(value)


def _least_size(value: Any, indent: int, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """The minimum number of characters of a value in JSON, and the number of lines of its parts.

    Values that several parts of a tree share are measured once, so the time is limited by the size in memory.
    """
    kind = type(value)
    if kind is str:
        return len(value) + 2, 0
    if kind is Doubles:
        count = len(value)
        return (1 if count else 2) + (4 + indent) * count, count
    if kind is not dict and kind is not list and kind is not tuple:
        return 1, 0
    found = known.get(id(value))
    if found is None:
        size = lines = 0
        if kind is dict:
            size = sum(map(len, value)) + 4 * len(value)
        parts = value.values() if kind is dict else value
        for part in parts:
            least, below = (len(part) + 2, 0) if type(part) is str else _least_size(part, indent, known)
            size += least + 1 + indent * (below + 1)
            lines += below + 1
        found = known[id(value)] = (size + (1 if value else 2), lines)  # a comma less than parts
    return found
