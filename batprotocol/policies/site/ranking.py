"""Entries of the queue in order: sorted once by keys that last, or by priorities that grow in groups.

All jobs of a user and tier have the same fair share, and their ages grow at the same pace until they are full. So
the order within such a group lasts, and only the first entries of the groups are compared anew at each decision.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush, heapreplace
from itertools import islice
from typing import Any, Final, TypeAlias

from sortedcontainers import SortedList

from batprotocol.policies.orders.fair_share import Association
from batprotocol.policies.site.jobs import Entry, Ranked
from batprotocol.policies.site.priorities import Priorities

__all__ = ["Grouped", "Lasting"]

_FEW: Final = 8
_Place: TypeAlias = tuple[int, Association | None, bool]
"""The tier, the user, if the priority is not a fixed one, and whether the age grows."""


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


class _Part:
    """Entries of one user in one tier, with minus the parts of their priorities that do not grow.

    Attributes:
        entries: the entries, sorted.
        first: the first of them; None if there is none.
    """

    __slots__ = ("entries", "first")

    def __init__(self) -> None:
        self.entries: SortedList[Ranked] = SortedList()
        self.first: Ranked | None = None

    def add(self, ranked: Ranked) -> None:
        self.entries.add(ranked)
        if self.first is None or ranked < self.first:
            self.first = ranked

    def remove(self, ranked: Ranked) -> None:
        self.entries.remove(ranked)
        if ranked is self.first:
            self.first = self.entries[0] if self.entries else None


class Grouped:
    """Entries by the priorities of a site.

    Args:
        priorities: the priorities.
    """

    def __init__(self, priorities: Priorities) -> None:
        self._priorities = priorities
        self._parts: dict[_Place, _Part] = {}
        self._ranked: dict[int, tuple[Ranked, _Place]] = {}
        self._filling: list[tuple[float, int, Entry]] = []  # when the age of each is full

    def add(self, entry: Entry, key: Any) -> None:
        """Add an entry; its key is not used."""
        job, priorities = entry.job, self._priorities
        fixed, weight, number = job.request.priority, priorities.weight_age, entry.number
        if fixed is not None:
            self._put((-fixed, number, entry), (entry.tier, None, False))
            return
        grows = weight > 0
        # At a time t, the age adds weight * t / max_age to all that grow.
        value = priorities.static(entry) - (weight * job.eligible / priorities.max_age if grows else 0.0)
        self._put((-value, number, entry), (entry.tier, priorities.share_of(job), grows))
        if grows:
            heappush(self._filling, (job.eligible + priorities.max_age, number, entry))

    def _put(self, ranked: Ranked, place: _Place) -> None:
        self._ranked[ranked[1]] = ranked, place
        part = self._parts.get(place)
        if part is None:
            part = self._parts[place] = _Part()
        part.add(ranked)

    def remove(self, entry: Entry) -> None:
        """Remove an entry."""
        ranked, place = self._ranked.pop(entry.number)
        part = self._parts[place]
        part.remove(ranked)
        if part.first is None:
            del self._parts[place]

    def _fill(self, now: float) -> None:
        """Move the entries whose age does not grow any more."""
        priorities, filling = self._priorities, self._filling
        while filling and filling[0][0] <= now:
            _, number, entry = heappop(filling)
            if number in self._ranked:
                tier, association, _ = self._ranked[number][1]
                self.remove(entry)
                value = priorities.static(entry) + priorities.weight_age
                self._put((-value, number, entry), (tier, association, False))

    def in_order(self, now: float) -> Iterator[Ranked]:
        """The entries, in order. Those that are removed meanwhile may still come."""
        priorities = self._priorities
        priorities.refresh(now)
        self._fill(now)
        grown = priorities.weight_age * now / priorities.max_age
        shares = priorities.fair_shares()
        heads: list[tuple[tuple[int, float], int, Ranked, float, SortedList[Ranked], Iterator[Ranked] | None]] = []
        for (tier, association, grows), part in self._parts.items():
            more = shares[association] + grown if grows else shares[association]
            first = part.first
            assert first is not None
            heads.append(((-tier, first[0] - more), first[1], first, more, part.entries, None))
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
