"""The jobs that wait on a site, each in every partition that it can run in, in the order of the queue.

Entries of higher priority tiers come first, then jobs of a higher `priority`, then the policy's order decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from batprotocol.policies.jobs import State
from batprotocol.policies.orders import Multifactor, Order
from batprotocol.policies.site.jobs import Entry, Kind, Ranked, Ranking, SiteJob
from batprotocol.policies.site.pool import Amount, Pool
from batprotocol.policies.site.priorities import Priorities
from batprotocol.policies.site.ranking import Grouped, Lasting
from batprotocol.policies.site.sieve import Sieve

__all__ = ["SiteQueue"]


def _precedence(entry: Entry) -> tuple[float, float]:
    """By tier and priority, before the policy's order decides: entries with a smaller one come first."""
    return -entry.tier, entry.job.request.nice - (entry.job.request.priority or 0)


class SiteQueue:
    """The entries that wait.

    Args:
        order: the policy's order.
        state: what orders look at.
        pool: what is free.
        priorities: the priorities of the order `multifactor`; None: that order's own.
    """

    def __init__(self, order: Order, state: State, pool: Pool, priorities: Priorities | None = None) -> None:
        self._order, self._state, self._pool, self._priorities = order, state, pool, priorities
        self._ranking = self._new_ranking()
        self._kinds: dict[tuple[Amount, frozenset[int]], Kind] = {}
        self._numbered: list[Kind] = []
        self._has_room = dict.fromkeys(pool.capacity, 0)  # for each host, the bits of the kinds that have room there
        self._allowed = dict.fromkeys(pool.capacity, 0)  # those of the kinds that can have it
        self.sieve = Sieve()
        """Which kinds an amount suffices for."""
        self.jobs: dict[str, SiteJob] = {}
        self.places: dict[str, int] = {}
        """The number of entries in each partition or reservation that has some."""
        self.joined = 0
        """How many jobs have joined."""

    def _new_ranking(self) -> Ranking | None:
        """An empty ranking in the order of the queue; None if each decision sorts all entries."""
        if self._priorities is not None and isinstance(self._order, Multifactor):
            return Grouped(self._priorities)
        return None if self._order.changes else Lasting()

    def __len__(self) -> int:
        return len(self.jobs)

    def kind(self, amount: Amount, hosts: frozenset[int]) -> Kind:
        """The kind of jobs that take an amount of such hosts."""
        found = self._kinds.get((amount, hosts))
        if found is None:
            bit = self.sieve.add(amount)
            found = self._kinds[amount, hosts] = Kind(amount, hosts, self._pool.free, self._new_ranking(), bit)
            self._numbered.append(found)
            for host in hosts:
                self._allowed[host] |= bit
            for host in found.fitting:
                self._has_room[host] |= bit
        return found

    @property
    def kinds(self) -> Iterable[Kind]:
        """The kinds of the jobs that have waited."""
        return self._kinds.values()

    def opened(self, hosts: Iterable[int]) -> None:
        """There are hosts that were not known before, or were forgotten. Nothing is free on them."""
        for host in hosts:
            self._has_room.setdefault(host, 0)
            self._allowed.setdefault(host, 0)

    def changed(self, hosts: Iterable[int]) -> None:
        """The free amounts of these hosts have changed."""
        for host in hosts:
            has_room = self.sieve.passing(self._pool.free[host]) & self._allowed[host]
            turned = has_room ^ self._has_room[host]
            self._has_room[host] = has_room
            while turned:
                place = turned.bit_length() - 1
                turned ^= 1 << place
                self._numbered[place].turn(host)

    def add(self, job: SiteJob) -> None:
        """A job waits, in all of its partitions."""
        self.jobs[job.id] = job
        self.joined += 1
        for entry in job.entries:
            self.add_entry(entry)

    def add_entry(self, entry: Entry) -> None:
        """A job that waits can also start in another partition, or in a reservation."""
        entry.kind.entries[entry.number] = entry
        entry.kind.added += 1
        self.places[entry.place] = self.places.get(entry.place, 0) + 1
        if self._ranking is not None and entry.kind.ranking is not None:
            key = self.key(entry) if isinstance(self._ranking, Lasting) else None
            self._ranking.add(entry, key)
            entry.kind.ranking.add(entry, key)

    def remove(self, job: SiteJob) -> None:
        """A job waits no longer."""
        del self.jobs[job.id]
        for entry in job.entries:
            self.remove_entry(entry)

    def remove_entry(self, entry: Entry) -> None:
        """A job that waits cannot start there any more."""
        del entry.kind.entries[entry.number]
        self.places[entry.place] -= 1
        if not self.places[entry.place]:
            del self.places[entry.place]
        if self._ranking is not None and entry.kind.ranking is not None:
            self._ranking.remove(entry)
            entry.kind.ranking.remove(entry)

    def key(self, entry: Entry, order: Order | None = None) -> Any:
        """The entry with the smallest key comes first."""
        order = order or self._order
        if self._priorities is not None and isinstance(order, Multifactor):
            return -entry.tier, -self._priorities.priority(entry, self._state.now)
        return *_precedence(entry), order.key(entry.job, self._state)

    def precedence(self, entry: Entry) -> tuple[float, float]:
        """The part of the key that comes before all else: entries with a smaller one come first."""
        # Where priorities are sums of factors, `nice` is one of them, and changes nothing alone.
        return _precedence(entry) if self._priorities is None else (-entry.tier, 0.0)

    def priority(self, entry: Entry) -> float:
        """The priority of an entry now: the sum of factors where those order the queue; else that of its request."""
        if self._priorities is not None and isinstance(self._order, Multifactor):
            return self._priorities.priority(entry, self._state.now)
        return entry.job.request.priority or 0

    def in_order(self) -> Iterator[Entry]:
        """The entries, in order. Those that are removed meanwhile may still come."""
        if self._ranking is not None:
            return (ranked[2] for ranked in self._ranking.in_order(self._state.now))
        return (ranked[2] for ranked in self._sorted((e for job in self.jobs.values() for e in job.entries), None))

    def ranked(self, kind: Kind, order: Order | None) -> Iterator[Ranked]:
        """The entries of a kind with their keys, in an order; None: in the queue's own. See `in_order`."""
        if order is None and kind.ranking is not None:
            return kind.ranking.in_order(self._state.now)
        return self._sorted(kind.entries.values(), order)

    def _sorted(self, entries: Iterable[Entry], order: Order | None) -> Iterator[Ranked]:
        if self._priorities is not None:
            self._priorities.refresh(self._state.now)
        return iter(sorted((self.key(entry, order), entry.number, entry) for entry in entries))
