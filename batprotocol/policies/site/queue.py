"""The jobs that wait on a site, each in every partition that it can run in, in the order of the queue.

Entries of higher priority tiers come first, then jobs of a higher `priority`, then the policy's order decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

from sortedcontainers import SortedList

from batprotocol.policies.jobs import State
from batprotocol.policies.orders import Order
from batprotocol.policies.site.jobs import Entry, Kind, SiteJob
from batprotocol.policies.site.pool import Amount, Pool

__all__ = ["SiteQueue", "precedence"]

_FEW: Final = 8

Ranked = tuple[Any, int, Entry]
"""The key, the entry's number, by which no two are equal, and the entry."""


def precedence(entry: Entry) -> tuple[float, float]:
    """By tier and priority, before the policy's order decides: entries with a smaller one come first."""
    return -entry.tier, entry.job.request.nice - (entry.job.request.priority or 0)


class SiteQueue:
    """The entries that wait.

    Args:
        order: the policy's order.
        state: what orders look at.
        pool: what is free.
    """

    def __init__(self, order: Order, state: State, pool: Pool) -> None:
        self._order, self._state, self._pool = order, state, pool
        self._sorted: SortedList[Ranked] | None = None if order.changes else SortedList()
        self._keys: dict[int, Ranked] = {}
        self._kinds: dict[tuple[Amount, frozenset[int]], Kind] = {}
        self._by_host: dict[int, list[Kind]] = {host: [] for host in pool.capacity}
        self.jobs: dict[str, SiteJob] = {}
        self.partitions: dict[str, int] = {}
        """The number of entries in each partition that has some."""

    def __len__(self) -> int:
        return len(self.jobs)

    def kind(self, amount: Amount, hosts: frozenset[int]) -> Kind:
        """The kind of jobs that take an amount of such hosts."""
        found = self._kinds.get((amount, hosts))
        if found is None:
            found = self._kinds[amount, hosts] = Kind(amount, hosts, self._pool.free)
            for host in hosts:
                self._by_host[host].append(found)
        return found

    @property
    def kinds(self) -> Iterable[Kind]:
        """The kinds of the jobs that have waited."""
        return self._kinds.values()

    def changed(self, hosts: Iterable[int]) -> None:
        """The free amounts of these hosts have changed."""
        for host in hosts:
            free = self._pool.free[host]
            for kind in self._by_host[host]:
                if kind.entries:
                    kind.look(host, free)

    def add(self, job: SiteJob) -> None:
        """A job waits, in all of its partitions."""
        self.jobs[job.id] = job
        for entry in job.entries:
            if not entry.kind.entries:  # nobody kept it up to date
                for host in entry.kind.hosts:
                    entry.kind.look(host, self._pool.free[host])
            entry.kind.entries[entry.number] = entry
            self.partitions[entry.partition] = self.partitions.get(entry.partition, 0) + 1
            if self._sorted is not None:
                ranked = self._keys[entry.number] = (self.key(entry), entry.number, entry)
                self._sorted.add(ranked)
                entry.kind.ranked.add(ranked)

    def remove(self, job: SiteJob) -> None:
        """A job waits no longer."""
        del self.jobs[job.id]
        for entry in job.entries:
            del entry.kind.entries[entry.number]
            self.partitions[entry.partition] -= 1
            if not self.partitions[entry.partition]:
                del self.partitions[entry.partition]
            if self._sorted is not None:
                ranked = self._keys.pop(entry.number)
                self._sorted.remove(ranked)
                entry.kind.ranked.remove(ranked)

    def key(self, entry: Entry, order: Order | None = None) -> Any:
        """The entry with the smallest key comes first."""
        return *precedence(entry), (order or self._order).key(entry.job, self._state)

    def in_order(self) -> Iterator[Entry]:
        """The entries, in order. Those that are removed meanwhile may still come."""
        if self._sorted is not None:
            return (ranked[2] for ranked in _lasting(self._sorted))
        entries = (entry for job in self.jobs.values() for entry in job.entries)
        return (each[2] for each in sorted((self.key(entry), entry.number, entry) for entry in entries))

    def ranked(self, kind: Kind, order: Order | None) -> Iterator[Ranked]:
        """The entries of a kind with their keys, in an order; None: in the queue's own. See `in_order`."""
        if order is None and self._sorted is not None:
            return _lasting(kind.ranked)
        return iter(sorted((self.key(entry, order), entry.number, entry) for entry in kind.entries.values()))


def _lasting(entries: SortedList[Ranked]) -> Iterator[Ranked]:
    """The entries in order, from which some may be removed meanwhile. Mostly, only the first ones are looked at."""
    chunk = list(islice(entries, _FEW))
    while chunk:
        yield from chunk
        chunk = list(islice(entries.irange(chunk[-1], inclusive=(False, True)), 8 * len(chunk)))
