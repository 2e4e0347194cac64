"""The jobs under a cap that could start, if only their hosts were on already: how much earlier watts are needed.

A job draws watts until its walltime, and its hosts draw some before, while they are switched on. Where a cap suffices
for no longer than the walltime, such a job would never start. This module must not know how a plan is made.
"""

from __future__ import annotations

from collections.abc import Iterable

from batprotocol.policies.site.jobs import Entry
from batprotocol.policies.site.sleeping import Sleeping

__all__ = ["Lead"]


class Lead:
    """The entries that lacked the time to switch their hosts on."""

    def __init__(self) -> None:
        self._late: dict[int, tuple[Entry, float]] = {}
        self._known: dict[int, tuple[Entry, float]] = {}  # 0 s: its hosts are to be switched on ahead the next time
        self._has_grown = False

    def of(self, entry: Entry) -> float:
        """The seconds for which an entry needs its watts before it starts."""
        return self._known[entry.number][1] if entry.number in self._known else 0.0

    def text(self, entries: Iterable[Entry]) -> str:
        """How much longer entries need their watts, as a part of a sentence; "": no longer."""
        least = min(map(self.of, entries))
        return f" after {least:g} s to switch its hosts on" if least else ""

    def lacks(self, entry: Entry, seconds: float) -> None:
        """An entry could start now if its hosts, which need these seconds, were on."""
        self._late[entry.number] = entry, seconds

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
            if number in self._known and self._known[number][1] < seconds:
                self._known[number], self._has_grown = (entry, seconds), True
            self._known.setdefault(number, (entry, 0.0))
        self._late.clear()
        return [entry for entry, _ in self._known.values()]
