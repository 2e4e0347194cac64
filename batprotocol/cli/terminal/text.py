"""Text that is safe to show: pieces with the names of their styles, escapes, the lines of a tree.

It must not know what is shown, nor where.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from batprotocol.errors import printable

__all__ = ["ASCII", "UNICODE", "Guides", "Piece", "number_of", "printable", "quote", "wrapped"]

NARROWEST = 20
"""No line is wrapped to fewer columns, however narrow the terminal and deep the tree."""

Piece = tuple[str, str]
"""Some text and its style: (style, text)."""


class Guides(NamedTuple):
    """The marks that connect a line to the one above it: (before the line itself, before the lines below it)."""

    middle: tuple[str, str]
    last: tuple[str, str]


UNICODE = Guides(("├── ", "│   "), ("└── ", "    "))
ASCII = Guides(("|-- ", "|   "), ("`-- ", "    "))


def quote(text: str) -> str:
    r"""The text as Python would read it back, in double quotes if it holds none.

    >>> print(quote("w0!1"), quote('{"a": 1}'), quote("\x1b[1m"))
    "w0!1" '{"a": 1}' "\x1b[1m"
    """
    if '"' in text:
        return repr(text)
    return f'"{text if text.isprintable() and chr(92) not in text else repr(text)[1:-1]}"'


def number_of(count: int, noun: str, many: str = "") -> str:
    """A count and what is counted: "1 event", "2,000 entries"."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


_WORD = re.compile(r" *[^ ]+| +")


def wrapped(pieces: list[Piece], first: int, others: int) -> list[list[Piece]]:
    """The lines that a line becomes where so many columns are free: `first` of its first line, and of the others.

    >>> wrapped([("field", "names:"), ("", ' ["a", "b"]')], 20, 20)
    [[('field', 'names:'), ('', ' ["a", "b"]')]]
    """
    room = max(first, NARROWEST)
    if sum(columns(text) for _, text in pieces) <= room:
        return [pieces]
    lines: list[list[Piece]] = [[]]
    for style, text in pieces:
        for word in _WORD.findall(text):
            if columns(word) > room and lines[-1]:
                lines.append([])
                room = max(others, NARROWEST)
                word = word.lstrip(" ")
            while columns(word) > room:
                fits = next(size for size in range(room, 0, -1) if columns(word[:size]) <= room)
                lines[-1].append((style, word[:fits]))
                lines.append([])
                room, word = max(others, NARROWEST), word[fits:]
            room -= columns(word)
            if word:
                lines[-1].append((style, word))
    return lines


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )
