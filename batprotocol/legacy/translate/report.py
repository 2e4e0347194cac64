"""What a translation could not carry: nothing is dropped in silence. It must not know of any single event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

__all__ = ["Loss", "Report"]

_MOST: Final = 1000
"""How many losses are kept one by one."""


class Loss(msgspec.Struct, frozen=True):
    """Something that the other protocol has no words for.

    Args:
        message: the number of the turn, counted from 0.
        event: which event, in the words of its own protocol.
        field: which of its fields, or "" for all of it.
        instead: what was done instead.

    >>> print(Loss(3, "SET_JOB_METADATA", "", "it is left out"))
    message 3, SET_JOB_METADATA: it is left out
    """

    message: int
    event: str
    field: str
    instead: str

    def __str__(self) -> str:
        field = f".{self.field}" if self.field else ""
        return f"message {self.message}, {self.event}{field}: {self.instead}"


class Report:
    """All that was lost so far, and how often. Of what happens again and again, the first time is kept."""

    def __init__(self) -> None:
        self.message = 0
        self._found: dict[tuple[str, str, str], tuple[Loss, int]] = {}
        self.new: list[Loss] = []

    def add(self, event: str, field: str, instead: str) -> None:
        """Something is lost."""
        key = (event, field, instead)
        known = self._found.get(key)
        if known is not None:
            self._found[key] = (known[0], known[1] + 1)
        elif len(self._found) < _MOST:
            loss = Loss(self.message, event, field, instead)
            self._found[key] = (loss, 1)
            self.new.append(loss)

    def __iter__(self) -> Iterator[Loss]:
        return (loss for loss, _ in self._found.values())

    def __len__(self) -> int:
        return len(self._found)

    def lines(self) -> Iterator[str]:
        """A line for each loss, with the number of times."""
        for loss, count in self._found.values():
            yield str(loss) if count == 1 else f"{loss} ({count:,} times)"
