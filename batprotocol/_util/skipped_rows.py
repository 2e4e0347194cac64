"""The rows of a file that a reader leaves out: counted by reason, with the first lines of each.

No part of a log is dropped in silence: a row that does not become a job has its reason here. This module must not know
any format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

__all__ = ["LeftOut", "Reason"]

_EXAMPLES: Final = 5
_MOST_REASONS: Final = 1_000
_OTHERS: Final = "other reasons"


class Reason(msgspec.Struct, frozen=True, gc=False):
    """A reason, with the number of rows that it holds for.

    Attributes:
        reason: why these rows were left out, or what of them was.
        count: how many.
        lines: the numbers of the first such lines (or rows).
        is_row: whether whole rows were left out; otherwise, only a value of theirs was.
    """

    reason: str
    count: int
    lines: tuple[int, ...]
    is_row: bool


class LeftOut:
    """The rows, and values of rows, that a reader left out.

    >>> left_out = LeftOut()
    >>> left_out.row("it never started", 7)
    >>> left_out.row("it never started", 9)
    >>> list(left_out)
    [Reason(reason='it never started', count=2, lines=(7, 9), is_row=True)]
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[str, bool], int] = {}
        self._lines: dict[tuple[str, bool], list[int]] = {}

    def row(self, reason: str, line: int) -> None:
        """A row is left out.

        Args:
            reason: why, as a sentence without the values of the row: rows with equal reasons are counted together.
            line: the number of its line in the file, from 1 on.
        """
        self._note((reason, True), line)

    def value(self, reason: str, line: int) -> None:
        """A value of a row is left out, and the row is taken without it."""
        self._note((reason, False), line)

    def _note(self, key: tuple[str, bool], line: int) -> None:
        if key not in self._counts and len(self._counts) >= _MOST_REASONS:
            key = (_OTHERS, key[1])
        self._counts[key] = self._counts.get(key, 0) + 1
        lines = self._lines.setdefault(key, [])
        if len(lines) < _EXAMPLES:
            lines.append(line)

    @property
    def rows(self) -> int:
        """The number of rows that were left out."""
        return sum(count for (_, is_row), count in self._counts.items() if is_row)

    def __iter__(self) -> Iterator[Reason]:
        """The reasons, the most frequent first."""
        for key, count in sorted(self._counts.items(), key=lambda item: -item[1]):
            yield Reason(key[0], count, tuple(self._lines[key]), key[1])
