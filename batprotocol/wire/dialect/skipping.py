"""Skipping: values of fields that the schema does not have, and values that are read later."""

from __future__ import annotations

import json
import re
from typing import Any

from batprotocol._util.counting import step
from batprotocol.wire.binding import MAX_DEPTH
from batprotocol.wire.dialect.tokens import CLOSING, IDENTIFIER, Tokens, quoted

__all__ = ["Skipping"]

_BRACKET = re.compile(rb"""[\[\]{}]|"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*'|["'].*""", re.DOTALL)
_FLAT = re.compile(rb"""[\[{]([^\[\]{}"']*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^\[\]{}"']*)*)[\]}]""", re.DOTALL)
_TOO_DEEP = re.compile(rb'(?:[ \t\r\n]*(?:\[|\{[ \t\r\n]*"[^"\\]*"[ \t\r\n]*:)){%d}' % (MAX_DEPTH + 1))
_BLANKS = b" \t\r\n"
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def _no_constant(name: str) -> Any:
    raise ValueError(name)


_JSON = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=_no_constant)


class Skipping(Tokens):
    """A reading that can pass over values, each in time in proportion to its size, however deep it nests in others."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.latin: str | None = None
        self.plain_from = 0
        self.closings: dict[int, tuple[int, int]] | None = None

    def jump(self, depth: int) -> None:
        """Go behind a value that is read later. Each one is looked through once, however deep it nests in others."""
        flat = _FLAT.match(self.data, self.at)
        if flat:
            end, height = flat.end(), 2 if flat[1].strip(_BLANKS) else 1
        else:
            if self.closings is None:
                self.closings = _closings(self.data, self.at)
            end, height = self.closings.get(self.at, (0, 0))
        if end and depth + height - 1 <= MAX_DEPTH:
            self.at = end
        else:
            self.skip(depth)

    def skip(self, depth: int) -> None:
        """Read any JSON value and forget it. All nested values count like tables."""
        step()
        if depth > MAX_DEPTH:
            self.fail(f"values nest more than {MAX_DEPTH} deep")
        first = self.peek()
        if self.skip_plain(depth):
            return
        if first not in CLOSING:
            what, text, start = self.scalar()
            if what == IDENTIFIER and text not in ("true", "false", "null"):
                self.fail(f"expected a value, found {quoted(text)}", start)
            return
        self.at += 1
        if self.peek() != CLOSING[first]:
            self.skip_member(first, depth)
            while self.peek() != CLOSING[first]:
                self.expect(b",", "a value")
                self.skip_member(first, depth)
        self.at += 1

    def skip_plain(self, depth: int) -> bool:
        """Skip a container, if it is one, with the standard library's parser, where both agree."""
        if self.at < self.plain_from or self.data[self.at : self.at + 1] not in CLOSING:
            return False
        if _TOO_DEEP.match(self.data, self.at):  # from Python 3.14 on, that parser has no limit of depth
            return False
        if self.latin is None:
            self.latin = self.data.decode("latin-1")  # a character for each byte
        self.plain_from = len(self.data)  # not again for what is in this one
        try:
            level, end = _JSON.raw_decode(self.latin, self.at)
            self.data[self.at : end].decode()
        except (ValueError, RecursionError):
            return False
        if _SURROGATE.search(self.data, self.at, end) or _height(level, MAX_DEPTH) > MAX_DEPTH - depth:
            return False
        self.at = self.plain_from = end
        return True

    def skip_member(self, opening: bytes, depth: int) -> None:
        if opening == b"{":
            self.key()
            self.expect(b":", "the name of a field")
        self.skip(depth + 1)


def _height(value: Any, most: int) -> int:
    """How many levels of values there are in a container, itself included; more than `most` are not counted."""
    level, height = [value], 0
    while level and height <= most:
        inner = [list(each.values()) if type(each) is dict else each for each in level]
        height += 1
        level = [each for container in inner for each in container if type(each) in (list, dict)]
        if not level and any(inner):
            height += 1
    return height


def _closings(data: bytes, start: int) -> dict[int, tuple[int, int]]:
    """Where each container ends that starts behind `start`, and how many levels of values it has, itself included."""
    found: dict[int, tuple[int, int]] = {}
    open_: list[int] = []
    heights = [0]
    for token in _BRACKET.finditer(data, start):
        step()
        character = token[0]
        if character in CLOSING:
            open_.append(token.start())
            heights.append(0)
        elif character in (b"]", b"}") and open_:
            first, height = open_.pop(), heights.pop() + 1
            if height == 1 and data[first + 1 : token.start()].strip(_BLANKS):
                height = 2
            found[first] = (token.end(), height)
            heights[-1] = max(heights[-1], height)
    return found
