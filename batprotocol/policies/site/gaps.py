"""How much room there is for the jobs of a kind beside reservations, kept for as long as nothing of it changes.

This module must not know how a plan goes through the jobs, nor change reservations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from batprotocol.policies.site.jobs import Entry, Kind
from batprotocol.policies.site.pool import added, fits
from batprotocol.policies.site.timeline import Timeline

__all__ = ["Gaps"]


class _Known(NamedTuple):
    """What is known of a kind: as of when, until when each of its hosts has enough free, and for how many seconds."""

    fitted: int
    changes: int
    now: float
    until: list[float]
    seconds: list[float]


class Gaps:
    """The room for each kind of jobs.

    Args:
        timeline: what will be free.
        heads: the entries that have a reservation.

    Attributes:
        moved: how often reservations have changed. Whoever changes some counts.
    """

    def __init__(self, timeline: Timeline, heads: Mapping[int, Entry]) -> None:
        self._timeline, self._heads = timeline, heads
        self._known: dict[Kind, _Known] = {}
        self._harmed: dict[Kind, tuple[int, int, dict[int, int]]] = {}
        self._shortest: dict[Kind, tuple[int, int, list[tuple[int, float]]]] = {}
        self.moved = 0

    def seconds(self, kind: Kind, now: float) -> list[float]:
        """For how many seconds the hosts with enough free for a kind have it, the longest first."""
        timeline = self._timeline
        known = self._known.get(kind)
        if known is not None and known.fitted == kind.fitted and now < (known.until[-1] if known.until else math.inf):
            if known.changes == timeline.changes or known.changes >= timeline.last_change(kind.fitting):
                if known.now != now:
                    known = self._known[kind] = known._replace(now=now, seconds=[end - now for end in known.until])
                return known.seconds
        until, amount = timeline.until, kind.amount
        ends = sorted((until(host, amount, now) for host in kind.fitting), reverse=True)
        seconds = [max(end - now, 0.0) for end in ends]
        self._known[kind] = _Known(kind.fitted, timeline.changes, now, ends, seconds)
        return seconds

    def shortest(self, kind: Kind) -> list[tuple[int, float]]:
        """For each size of the jobs of a kind, the smallest first, for how many seconds the shortest one runs."""
        entries = kind.entries
        count, last = len(entries), next(reversed(entries), -1)  # an entry that is added has the greatest number
        known = self._shortest.get(kind)
        if known is not None and known[0] == count and known[1] == last:
            return known[2]
        shortest: dict[int, float] = {}
        for entry in entries.values():
            size = entry.job.size
            if entry.expected < shortest.get(size, math.inf) or size not in shortest:
                shortest[size] = entry.expected
        sizes = sorted(shortest.items())
        self._shortest[kind] = count, last, sizes
        return sizes

    def movable(self, kind: Kind) -> int:
        """The most hosts of a job of a kind beside which reservations may have hosts enough, if they move.

        Where there is one reservation, that is exact.
        """
        heads, most = self._heads, len(kind.fitting)
        if len(heads) != 1:
            return most if heads else 0
        harmed = len(self.harmed(kind))
        (head,) = heads.values()
        return most - harmed + min(harmed, len(head.could) - head.job.size)

    def harmed(self, kind: Kind) -> dict[int, int]:
        """The hosts on which a reservation could not be beside a job of a kind, each with how many could not."""
        known = self._harmed.get(kind)
        if known is not None and known[0] == kind.fitted and known[1] == self.moved:
            return known[2]
        harmed: dict[int, int] = {}
        for head in self._heads.values():
            wanted, could = added(head.kind.amount, kind.amount), head.could
            for host in kind.fitting:
                free = could.get(host)
                if free is not None and not fits(wanted, free):
                    harmed[host] = harmed.get(host, 0) + 1
        self._harmed[kind] = kind.fitted, self.moved, harmed
        return harmed
