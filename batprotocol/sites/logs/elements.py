"""The elements of a long array or object in a JSON file, as bytes, one by one. A damaged one does not end the reading.

It is made for files of gigabytes: an array that is written with a line for each value is divided at its lines, which
takes no look at the values. It must not know what the elements mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from batprotocol.errors import InputError
from batprotocol.sites.logs.lines import Source

__all__ = ["elements_of", "members_of"]

_HEAD: Final = 1 << 20
_LONGEST: Final = 1 << 27
_BEGIN: Final = 3  # bytes that show whether an object has a line for each value
_IS_ARRAY: Final = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\[")
_SPACE: Final = re.compile(rb"[ \t\r\n,]*")
_TOKENS: Final = {
    b"{": (b"}", re.compile(rb'"(?:[^"\\]|\\.)*"?|[{}]', re.DOTALL)),
    b"[": (b"]", re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[\]]', re.DOTALL)),
}
"""For each opening bracket: the closing one, and the tokens that count to find it."""
_PLAIN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[^ \t\r\n,\[\]{}"]+', re.DOTALL)


class _Buffer:
    """The bytes that were read, and a place in them."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.data = bytearray()
        self.place = 0
        self._blocks = blocks

    def more(self) -> bool:
        """Read another block, and drop what is before the place; False at the end, or when too much is kept."""
        block = next(self._blocks, b"")
        if self.place > len(self.data) // 2:
            del self.data[: self.place]
            self.place = 0
        self.data += block
        return bool(block) and len(self.data) - self.place <= _LONGEST

    def next(self) -> bytes:
        """The next byte that is neither a space nor a comma; b"" at the end."""
        while True:
            found = _SPACE.match(self.data, self.place)
            assert found is not None
            self.place = found.end()
            if self.place < len(self.data):
                return bytes(self.data[self.place : self.place + 1])
            if not self.more():
                return b""


def elements_of(source: Source, key: str = "") -> Iterator[bytes | None]:
    """The elements of an array, as bytes; at last None, if the file ends, or is damaged, within the array.

    They are objects, but for errors of who wrote the file.

    Args:
        source: the file.
        key: the key of the array in the object that the file is; "": the file is the array. A file that is an array is
            read without the key, too, as `jq .KEY` writes it.

    Raises:
        InputError: the file has no such array at its begin.
    """
    buffer = _opened(source, "" if _IS_ARRAY.match(source.first()) else key, b"[", "array")
    while (first := buffer.next()) != b"]":
        element = _taken(buffer, first)
        yield element
        if element is None:
            return


def members_of(source: Source, key: str = "") -> Iterator[tuple[bytes, bytes | None]]:
    """The keys of an object with their values, as bytes; at last a value None, if the file ends within it.

    Args:
        source: the file.
        key: the key of the object in the object that the file is; "": the file is the object.

    Raises:
        InputError: the file has no such object at its begin.
    """
    buffer = _opened(source, key, b"{", "object")
    while (first := buffer.next()) != b"}":
        name = _taken(buffer, first) if first == b'"' else None
        value = None
        if name is not None and buffer.next() == b":":
            buffer.place += 1
            value = _taken(buffer, buffer.next())
        yield name or b"", value
        if value is None:
            return


def _opened(source: Source, key: str, bracket: bytes, kind: str) -> _Buffer:
    """The bytes of a file, at the place behind the bracket that opens its array or object."""
    buffer = _Buffer(source.blocks())
    before = rb'"%b"[ \t\r\n]*:' % re.escape(key.encode()) if key else rb"\A(?:\xef\xbb\xbf)?"
    opening = re.compile(before + rb"[ \t\r\n]*" + re.escape(bracket))
    while (found := opening.search(buffer.data)) is None:
        if len(buffer.data) > _HEAD or not buffer.more():
            expected = f'a JSON object with an {kind} "{key}"' if key else f"a JSON {kind}"
            raise InputError(f"expected {expected}", file=source.name, line=1)
    buffer.place = found.end()
    return buffer


def _taken(buffer: _Buffer, first: bytes) -> bytes | None:
    """The value that begins at the place of the buffer, which is then behind it; None: it has no end."""
    end = _end(buffer) if first == b"{" else _end_of_other(buffer, first)
    if end is None:
        return None
    value = bytes(buffer.data[buffer.place : end])
    buffer.place = end
    return value


def _end_of_other(buffer: _Buffer, first: bytes) -> int | None:
    """The place behind a list, a text, a number or a word that begins at the place of the buffer; None: no end."""
    if first == b"[":
        return _end_by_brackets(buffer, first)
    while True:
        found = _PLAIN.match(buffer.data, buffer.place)
        if found is not None and found.end() < len(buffer.data):
            return found.end()
        if len(buffer.data) - buffer.place > _HEAD or not buffer.more():
            return None


def _end(buffer: _Buffer) -> int | None:
    """The place behind the object that begins at the place of the buffer; None if there is no end."""
    line = buffer.data.rfind(b"\n", 0, buffer.place)
    indent = bytes(buffer.data[line + 1 : buffer.place])
    if len(buffer.data) - buffer.place < _BEGIN:
        buffer.more()
    is_open = buffer.data[buffer.place + 1 : buffer.place + _BEGIN].lstrip(b"\r").startswith(b"\n")
    if line >= 0 and is_open and indent and not indent.strip():
        return _end_by_lines(buffer, b"\n" + indent + b"}")
    return _end_by_brackets(buffer, b"{")


def _end_by_lines(buffer: _Buffer, closing: bytes) -> int | None:
    """An object ends at the line with the same indent: a string in JSON has no end of line."""
    seen = 0
    while (found := buffer.data.find(closing, buffer.place + seen)) < 0:
        seen = max(0, len(buffer.data) - buffer.place - len(closing))
        if not buffer.more():
            return None
    return found + len(closing)


def _end_by_brackets(buffer: _Buffer, opening: bytes) -> int | None:
    """An object or list ends where as many of its brackets are closed as were opened, outside of strings."""
    closing, tokens = _TOKENS[opening]
    depth = seen = 0
    while True:
        for token in tokens.finditer(buffer.data, buffer.place + seen):
            text = token[0]
            if text[0] == 0x22 and (len(text) == 1 or text[-1] != 0x22 or token.end() == len(buffer.data)):
                break  # a string that may go on
            seen = token.end() - buffer.place
            depth += (text == opening) - (text == closing)
            if not depth:
                return buffer.place + seen
        if not buffer.more():
            return None
