"""The losses of a translation: it reports everything that it drops. This module must not know any single event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

__all__ = ["Loss", "Report"]

_MOST: Final = 1000
"""How many losses the report keeps one by one."""


class Loss(msgspec.Struct, frozen=True):
    """Information that the other protocol cannot express.

    Args:
        message: the number of the turn, counted from 0.
        event: the event, by its name in its own protocol.
        field: the field, or "" for the whole event.
        instead: what the translation does instead.

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
    """All losses so far, and how often each happened. Of a repeated loss, the report keeps the first one."""

    def __init__(self) -> None:
        self.message = 0
        self._found: dict[tuple[str, str, str], tuple[Loss, int]] = {}
        self.new: list[Loss] = []

    def add(self, event: str, field: str, instead: str) -> None:
        """Add a loss."""
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
