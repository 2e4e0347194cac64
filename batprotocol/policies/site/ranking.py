"""Entries of the queue in order: sorted once by keys that last, or by priorities that grow in groups.

All jobs of a user and tier have the same fair share, and their ages grow at the same pace until they are full. So
the order within such a group lasts, and only the first entries of the groups are compared anew at each decision.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush, heapreplace
from itertools import islice
from typing import Any, Final

from sortedcontainers import SortedList

from batprotocol.policies.orders.fair_share import Association
from batprotocol.policies.site.jobs import Entry, Ranked
from batprotocol.policies.site.priorities import Priorities

__all__ = ["Grouped", "Lasting"]

_FEW: Final = 8


class Lasting:
    """Entries by keys that never change."""

    def __init__(self) -> None:
        self._sorted: SortedList[Ranked] = SortedList()
        self._keys: dict[int, Ranked] = {}

    def add(self, entry: Entry, key: Any) -> None:
        """Add an entry with its key."""
        ranked = self._keys[entry.number] = (key, entry.number, entry)
        self._sorted.add(ranked)

    def remove(self, entry: Entry) -> None:
        """Remove an entry."""
        self._sorted.remove(self._keys.pop(entry.number))

    def in_order(self, now: float) -> Iterator[Ranked]:
        """The entries, in order. Those that are removed meanwhile may still come."""
        return _following(self._sorted, None)


class _Group:
    """The entries of one user in one tier, with minus the parts of their priorities that do not grow."""

    __slots__ = ("full", "growing")

    def __init__(self) -> None:
        self.growing: SortedList[Ranked] = SortedList()
        self.full: SortedList[Ranked] = SortedList()


class Grouped:
    """Entries by the priorities of a site.

    Args:
        priorities: the priorities.
    """

    def __init__(self, priorities: Priorities) -> None:
        self._priorities = priorities
        self._groups: dict[tuple[int, Association | None], _Group] = {}
        self._ranked: dict[int, tuple[Ranked, bool]] = {}  # and whether it grows
        self._filling: list[tuple[float, int, Entry]] = []  # when the age of each is full

    def add(self, entry: Entry, key: Any) -> None:
        """Add an entry; its key is not used."""
        job, priorities = entry.job, self._priorities
        weight, number = priorities.weight_age, entry.number
        if job.request.priority is not None or not weight:
            fixed = job.request.priority
            value = priorities.static(entry) if fixed is None else fixed
            ranked = (-value, number, entry)
            self._group(entry).full.add(ranked)
            self._ranked[number] = ranked, False
            return
        # At a time t, the age adds weight * t / max_age to all that grow.
        value = priorities.static(entry) - weight * job.eligible / priorities.max_age
        ranked = (-value, number, entry)
        self._group(entry).growing.add(ranked)
        self._ranked[number] = ranked, True
        heappush(self._filling, (job.eligible + priorities.max_age, number, entry))

    def _place(self, entry: Entry) -> tuple[int, Association | None]:
        job = entry.job
        return entry.tier, None if job.request.priority is not None else self._priorities.share_of(job)

    def _group(self, entry: Entry) -> _Group:
        return self._groups.setdefault(self._place(entry), _Group())

    def remove(self, entry: Entry) -> None:
        """Remove an entry."""
        ranked, grows = self._ranked.pop(entry.number)
        group = self._group(entry)
        (group.growing if grows else group.full).remove(ranked)
        if not group.growing and not group.full:
            del self._groups[self._place(entry)]

    def _fill(self, now: float) -> None:
        """Move the entries whose age does not grow any more."""
        priorities, filling = self._priorities, self._filling
        while filling and filling[0][0] <= now:
            _, number, entry = heappop(filling)
            if number in self._ranked:
                ranked, _ = self._ranked[number]
                group = self._group(entry)
                group.growing.remove(ranked)
                ranked = (-(priorities.static(entry) + priorities.weight_age), number, entry)
                group.full.add(ranked)
                self._ranked[number] = ranked, False

    def in_order(self, now: float) -> Iterator[Ranked]:
        """The entries, in order. Those that are removed meanwhile may still come."""
        priorities = self._priorities
        priorities.refresh(now)
        self._fill(now)
        grown = priorities.weight_age * now / priorities.max_age
        heads: list[tuple[tuple[int, float], int, Ranked, float, SortedList[Ranked], Iterator[Ranked] | None]] = []
        for (tier, association), group in self._groups.items():
            share = 0.0 if association is None else priorities.fair_share(association)
            if group.growing:
                first = group.growing[0]
                heads.append(((-tier, first[0] - share - grown), first[1], first, share + grown, group.growing, None))
            if group.full:
                first = group.full[0]
                heads.append(((-tier, first[0] - share), first[1], first, share, group.full, None))
        heapify(heads)
        while heads:
            key, number, ranked, more, members, rest = heads[0]
            yield key, number, ranked[2]
            rest = _following(members, ranked) if rest is None else rest
            following = next(rest, None)
            if following is None:
                heappop(heads)
            else:
                heapreplace(heads, ((key[0], following[0] - more), following[1], following, more, members, rest))


def _following(entries: SortedList[Ranked], after: Ranked | None) -> Iterator[Ranked]:
    """The entries in order, from which some may be removed meanwhile. Mostly, only the first ones are looked at."""
    chunk = list(islice(entries if after is None else entries.irange(after, inclusive=(False, True)), _FEW))
    while chunk:
        yield from chunk
        chunk = list(islice(entries.irange(chunk[-1], inclusive=(False, True)), 8 * len(chunk)))
