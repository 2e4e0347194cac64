"""The jobs under a cap that could start if only their hosts were on already, or off at once: how long these take.

A job draws watts until its walltime. Its hosts draw some before, while they are switched on, and after, while they are
switched off. Where a cap suffices for no longer than the walltime, such a job would never start. This module must not
know how a plan is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from batprotocol.policies.site.jobs import Entry
from batprotocol.policies.site.sleeping import Sleeping

__all__ = ["Lead"]


class _Seconds(NamedTuple):
    on: float = 0.0
    off: float = 0.0


class Lead:
    """The entries that lacked the time to switch their hosts on or off."""

    def __init__(self) -> None:
        self._late: dict[int, tuple[Entry, _Seconds]] = {}
        self._known: dict[int, tuple[Entry, _Seconds]] = {}  # none: its hosts are to be switched on ahead the next time
        self._has_grown = False

    def knows(self, entry: Entry) -> bool:
        """Whether an entry was late in an earlier plan."""
        return entry.number in self._known

    def of(self, entry: Entry) -> float:
        """The seconds for which an entry needs its watts before it starts and after it ends."""
        return sum(self._known[entry.number][1]) if entry.number in self._known else 0.0

    def text(self, entries: Iterable[Entry]) -> str:
        """How much longer entries need their watts, as a part of a sentence; "": no longer."""
        known = (self._known[entry.number][1] if entry.number in self._known else _Seconds() for entry in entries)
        on, off = min(known, key=sum)
        found = f" after {on:g} s to switch its hosts on" if on else ""
        return found + (f"{' and' if on else ''} before {off:g} s to switch them off" if off else "")

    def lacks(self, entry: Entry, on: float, off: float = 0.0) -> None:
        """An entry could start now if its hosts were on, and were off as soon as it ends.

        Args:
            entry: the entry.
            on: the seconds until its hosts are on.
            off: the seconds until they are off, if these count.
        """
        self._late[entry.number] = entry, _Seconds(on, off)

    def forget(self) -> None:
        """A plan begins."""
        self._late.clear()

    def over(self, entry: Entry) -> None:
        """An entry has started, or does not wait any more."""
        self._known.pop(entry.number, None)

    def grows(self) -> bool:
        """Whether an entry needs its watts for longer than at the last question."""
        had, self._has_grown = self._has_grown, False
        return had

    def late(self, sleeping: Sleeping | None) -> list[Entry]:
        """The entries that were late in this plan, or in an earlier one.

        The first time, hosts that were switched off for the watts of others may be switched on ahead of it. The second
        time, it needs its watts for longer from now on.

        Args:
            sleeping: the hosts that sleep.
        """
        if self._late and sleeping is not None:
            sleeping.spare_none()
        for number, (entry, seconds) in self._late.items():
            if number in self._known and sum(self._known[number][1]) < sum(seconds):
                self._known[number], self._has_grown = (entry, seconds), True
            self._known.setdefault(number, (entry, _Seconds()))
        self._late.clear()
        return [entry for entry, _ in self._known.values()]
