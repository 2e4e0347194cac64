"""Names of hosts as Slurm writes them: `n[0-63]`, `rack[1-2]n[00-15,20]`, several with commas between them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from batprotocol.errors import InputError, shown

__all__ = ["expanded_names", "folded_names"]

_MOST: Final = 100_000
_DIGITS: Final = frozenset("0123456789")
_LONGEST: Final = 9
_MARK = re.compile(r"[\[\],]")
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
        if len(pieces) == 2 and len(pieces[0]) == 1:  # a name with one range: by far the most are
            names.extend([pieces[0][0] + value for value in pieces[1]])
        else:
            names.extend(map("".join, itertools.product(*pieces)))
    return names


class _NumberRange(NamedTuple):
    """Names that differ in one number: what is before and behind it, and ranges (first, last, as they are written)."""

    before: str
    behind: str
    ranges: list[tuple[str, int]]

    def __str__(self) -> str:
        texts = [first if int(first) == last else f"{first}-{last:0{_width(first)}}" for first, last in self.ranges]
        inside = texts[0] if len(texts) == 1 and "-" not in texts[0] else f"[{','.join(texts)}]"
        return f"{self.before}{inside}{self.behind}"


def folded_names(names: Iterable[str]) -> str:
    """The text that stands for names, in their order: the opposite of `expanded_names`.

    Args:
        names: the names, without brackets, commas and spaces in them.

    >>> folded_names(["n08", "n09", "n10", "n12", "login"])
    'n[08-10,12],login'
    """
    parts: list[_NumberRange | str] = []
    for name in names:
        before, number, behind = _divided(name)
        if not number:
            parts.append(name)
            continue
        last = parts[-1] if parts else ""
        if not isinstance(last, _NumberRange) or (last.before, last.behind) != (before, behind):
            parts.append(_NumberRange(before, behind, [(number, int(number))]))
            continue
        first, end = last.ranges[-1]
        if number == f"{end + 1:0{_width(first)}}":
            last.ranges[-1] = (first, end + 1)
        else:
            last.ranges.append((number, int(number)))
    return ",".join(map(str, parts))


def _divided(name: str) -> tuple[str, str, str]:
    """The last number of a name, with what is before and behind it; no number if it has none, or a very long one."""
    end = len(name)
    while end and name[end - 1] not in _DIGITS:
        end -= 1
    begin = end
    while begin and name[begin - 1] in _DIGITS:
        begin -= 1
    return (name[:begin], name[begin:end], name[end:]) if end - begin <= _LONGEST else (name, "", "")


def _width(first: str) -> int:
    return len(first) if first.startswith("0") else 0


def _parts(text: str) -> Iterator[str]:
    """The parts between commas that are not in brackets."""
    if "[" not in text and "]" not in text:
        yield from (part.strip() for part in text.split(","))
        return
    begin = depth = 0
    for found in _MARK.finditer(text):
        depth += (found[0] == "[") - (found[0] == "]")
        if not 0 <= depth <= 1:
            raise InputError(f"expected names such as 'n[0-63]', got {shown(text)}: its brackets do not match")
        if found[0] == "," and not depth:
            yield text[begin : found.start()].strip()
            begin = found.end()
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
        numbers, width = map(str, range(first, last + 1)), len(found[1])
        values.extend([number.zfill(width) for number in numbers] if found[1].startswith("0") else numbers)
    return values
