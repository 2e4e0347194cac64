"""The space for the jobs of a kind beside reservations, kept for as long as nothing of it changes.

This module must not know how a plan goes through the jobs, nor change reservations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from batprotocol.policies.site.jobs import Entry, Kind
from batprotocol.policies.site.pool import added, fits, reduced
from batprotocol.policies.site.sieve import Sieve
from batprotocol.policies.site.timeline import Timeline

__all__ = ["Gaps"]


class Gaps:
    """The space for each kind of jobs.

    Args:
        timeline: what will be free.
        heads: the entries that have a reservation.
        sieve: which kinds an amount suffices for.

    Attributes:
        moved: how often reservations have changed. Whoever changes some counts.
    """

    def __init__(self, timeline: Timeline, heads: Mapping[int, Entry], sieve: Sieve) -> None:
        self._timeline, self._heads, self._sieve = timeline, heads, sieve
        self._beside: dict[int, int] = {}  # for each host, the bits of the kinds that can be there beside the only head
        self._looked = 0, 0
        self._count = 0
        self._known: dict[Kind, tuple[int, int, list[float]]] = {}  # with the changes that it is of
        self._harmed: dict[Kind, tuple[int, int, dict[int, int]]] = {}
        self._shortest: dict[Kind, tuple[int, int, list[tuple[int, float]]]] = {}
        self.moved = 0

    def ends(self, kind: Kind, now: float) -> list[float]:
        """Until when each of the hosts with enough free for a kind has it, the last time first; `now`: not even now."""
        timeline = self._timeline
        known = self._known.get(kind)
        if known is not None:
            fitted, changes, ends = known
            is_valid = fitted == kind.fitted and (not ends or ends[-1] > now)
            if is_valid and (changes == timeline.changes or changes >= timeline.last_change(kind.fitting)):
                return ends
        ends = self._ends(kind, now)
        self._known[kind] = kind.fitted, timeline.changes, ends
        return ends

    def _ends(self, kind: Kind, now: float) -> list[float]:
        notes, bit = self._timeline.notes, kind.bit
        if self._count != self._sieve.count:
            self._count = self._sieve.count
            notes.clear()
        ends = []
        for host in kind.fitting:
            note = notes.get(host)
            if note is None or note[0] <= now:
                note = notes[host] = self._steps(host, now)
            for time, lasting in note[1]:
                if not lasting & bit:
                    ends.append(max(time, now))
                    break
        ends.sort(reverse=True)
        return [math.inf] * (len(kind.fitting) - len(ends)) + ends

    def _steps(self, host: int, now: float) -> tuple[float, list[tuple[float, int]]]:
        """When the answer ends, and the times at which kinds lose their space on a host, with the bits of the rest."""
        steps: list[tuple[float, int]] = []
        passing, valid = -1, math.inf
        for time, free in self._timeline.following(host, now):
            if steps and valid == math.inf:
                valid = time
            lasting = passing & self._sieve.passing(free)
            if lasting != passing:
                passing = lasting
                steps.append((time, passing))
                if not passing and valid < math.inf:
                    break
        return valid, steps

    def shortest(self, kind: Kind) -> list[tuple[int, float]]:
        """For each size of the jobs of a kind, the smallest first, for how many seconds the shortest one runs."""
        entries = kind.entries
        count, last = len(entries), kind.added
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

    def expectations_changed(self) -> None:
        """Jobs are expected to run for longer or shorter than before."""
        self._shortest.clear()

    def movable(self, kind: Kind) -> int:
        """The most hosts of a job of a kind beside which reservations may have hosts enough, if they move.

        Where there is one reservation, that is exact.
        """
        heads, most = self._heads, len(kind.fitting)
        if len(heads) != 1:
            return most if heads else 0
        (head,) = heads.values()
        spare = len(head.could) - head.job.size
        if most <= spare:
            return most
        sieve, beside, bit, harmed = self._sieve, self._beside, kind.bit, 0
        if self._looked != (self.moved, sieve.count):
            self._looked = self.moved, sieve.count
            beside.clear()
        for host in kind.fitting:
            can_be = beside.get(host)
            if can_be is None:
                free = head.could.get(host)
                can_be = beside[host] = -1 if free is None else sieve.passing(reduced(free, head.kind.amount))
            harmed += not can_be & bit
        return most - harmed + min(harmed, spare)

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
