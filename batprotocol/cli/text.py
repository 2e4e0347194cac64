"""Text that is safe to show: pieces with the names of their styles, escapes, the lines of a tree.

It must not know what is shown, nor where.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ASCII", "UNICODE", "Guides", "Piece", "number_of", "printable", "quote"]

Piece = tuple[str, str]
"""Some text and its style: (style, text)."""


class Guides(NamedTuple):
    """What connects a line to the one above it: (before the line itself, before the lines below it)."""

    middle: tuple[str, str]
    last: tuple[str, str]


UNICODE = Guides(("├── ", "│   "), ("└── ", "    "))
ASCII = Guides(("|-- ", "|   "), ("`-- ", "    "))


def printable(text: str) -> str:
    """The text, with escapes for all that would move the cursor, change colours or reorder the line."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


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
