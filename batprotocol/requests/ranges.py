"""Names of hosts as Slurm writes them: `n[0-63]`, `rack[1-2]n[00-15,20]`, several with commas between them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Final

from batprotocol.errors import InputError, shown

__all__ = ["expanded_names"]

_MOST: Final = 100_000
_PIECE = re.compile(r"[^\[\],\s]+|\[[^\[\]]*\]")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", re.ASCII)


def expanded_names(text: str, limit: int = _MOST) -> list[str]:
    """The names that a text stands for, in order.

    Args:
        text: names with ranges in brackets, with commas between them. Leading zeros of a range are kept.
        limit: the most names that it may stand for.

    >>> expanded_names("n[08-10,12],login")
    ['n08', 'n09', 'n10', 'n12', 'login']

    Raises:
        InputError: the text cannot be read, or stands for more than `limit` names.
    """
    names: list[str] = []
    for part in _parts(text):
        pieces: list[list[str]] = []
        total = 1
        for piece in _pieces(part):
            values = _values(piece, limit) if piece.startswith("[") else [piece]
            total *= len(values)
            if len(names) + total > limit:
                raise InputError(f"{shown(text)} stands for more than {limit:,} names")
            pieces.append(values)
        names.extend("".join(choice) for choice in itertools.product(*pieces))
    return names


def _parts(text: str) -> Iterator[str]:
    """The parts between commas that are not in brackets."""
    begin = depth = 0
    for place, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if not 0 <= depth <= 1:
            raise InputError(f"expected names such as 'n[0-63]', got {shown(text)}: its brackets do not match")
        if character == "," and not depth:
            yield text[begin:place].strip()
            begin = place + 1
    if depth:
        raise InputError(f"expected names such as 'n[0-63]', got {shown(text)}: its brackets do not match")
    yield text[begin:].strip()


def _pieces(part: str) -> list[str]:
    pieces = _PIECE.findall(part)
    if not part or "".join(pieces) != part:
        raise InputError(f"expected names such as 'n[0-63]', got {shown(part)}")
    return pieces


def _values(brackets: str, limit: int) -> list[str]:
    values: list[str] = []
    for piece in brackets[1:-1].split(","):
        found = _RANGE.fullmatch(piece.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if found is None or last < first:
            raise InputError(f"expected a range such as 0-63, got {shown(piece)}")
        if last - first >= limit - len(values):
            raise InputError(f"{shown(brackets)} stands for more than {limit:,} names")
        width = len(found[1]) if found[1].startswith("0") else 0
        values.extend(f"{number:0{width}}" for number in range(first, last + 1))
    return values
