"""Quick answers to whether watts may suffice for an entry: only a no is certain.

They count the watts that a job draws on any hosts, so that no hosts need be tried. This module must not know hosts, and
which entries have reservations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from batprotocol.policies.site.budget import Budget
from batprotocol.policies.site.jobs import Entry

__all__ = ["Held", "Scarcity"]

Held = tuple[list[int], float, float, int]
"""The hosts, the time and the pace of a job."""

_MARGIN: Final = 0.01


class Scarcity:
    """Whether watts may suffice.

    Args:
        budget: what jobs draw, and what is allowed.
        need: the least that an entry draws, wherever it runs; 0: unknown.
    """

    def __init__(self, budget: Budget, need: Callable[[Entry], int]) -> None:
        self._budget, self._need = budget, need
        self._lasting: set[int | str] = set()  # those that may draw watts when their hosts are free for others
        self._margin = 0.0

    def advance(self, resolution: float) -> None:
        """A plan begins, in which times that differ by less than the resolution count as equal."""
        self._margin = 3 * resolution + _MARGIN

    def note(self, which: int | str, *, lasts: bool) -> None:
        """Whether a reservation or a running job may draw watts longer than its hosts are taken."""
        if lasts:
            self._lasting.add(which)
        else:
            self._lasting.discard(which)

    def certain(self, entry: Entry) -> tuple[int, float]:
        """The watts that an entry surely draws in addition to all others, and for how many seconds; 0: unknown.

        Hosts that are free are without watts of other jobs, unless one can last longer than it is expected to.
        """
        seconds = entry.limit - self._margin
        if self._lasting or entry.lane is not None or not (self._margin and seconds > 0):
            return 0, 0.0
        return self._need(entry), seconds

    def closed(self, entry: Entry, now: float, before: float) -> list[tuple[float, float]]:
        """Intervals in which an entry surely cannot start, from now on and until a time, as of `Budget.closed`."""
        need, seconds = self.certain(entry)
        return self._budget.closed(need, now, before, seconds) if need else []

    def first_open(self, closed: Sequence[tuple[float, float]], now: float) -> float:
        """A time from now on before which all times are in intervals of `closed`, also when they are rounded."""
        return max(self._budget.first_open(closed, now) - self._margin, now)

    def may_run(self, entry: Entry, now: float) -> bool:
        """Whether watts may suffice for an entry from now on, beside all reservations."""
        need, seconds = self.certain(entry)
        return not need or self._budget.may_begin(need, now, seconds)

    def may_start(self, entry: Entry, heads: Sequence[Entry], held: Iterable[Held], now: float, *, both: bool) -> bool:
        """Whether watts may suffice for an entry now, if reservations move.

        Args:
            entry: the entry.
            heads: the entries that have these reservations, the first of them first.
            held: what they hold.
            now: the time.
            both: whether watts must also suffice for the first reservation at its time.
        """
        budget, first = self._budget, heads[0]
        need, seconds = self.certain(entry)
        if not need:
            return True
        more = [(-budget.sum(own, pace), begin, end) for own, begin, end, pace in held]
        if not budget.may_begin(need, now, seconds, more):
            return False
        needed, lasting = self.certain(first) if both else (0, 0.0)
        if not needed:
            return True
        more.append((need, now, now + seconds))
        return budget.is_open(budget.closed(needed, now, first.start, lasting, more), now, first.start)
