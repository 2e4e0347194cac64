"""The state of a site, which its parts share: hosts, the queue, what runs, what is free when, and which hosts are away.

It knows none of the parts. All jobs of a user and tier have the same fair share, and their ages grow at the same pace
until they are full. So the order within such a group lasts, and decisions only compare the first entries of groups.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from sortedcontainers import SortedList

from batprotocol.model import Host
from batprotocol.policies.allocations import Chooser
from batprotocol.policies.availability import Amount, Pool, fits
from batprotocol.policies.fair_share import Association
from batprotocol.policies.jobs import (
    EntryRanking,
    EntryShapes,
    JobKind,
    KindFilter,
    Promises,
    Ranked,
    SiteEntry,
    SiteJob,
    SiteRunning,
    SortedEntries,
    State,
    following,
    rounded_up,
)
from batprotocol.policies.orders import Multifactor, Order
from batprotocol.policies.site.accounts import LimitUsage, Priorities
from batprotocol.policies.site.futures import HostTimeline, PythonHostSteps
from batprotocol.policies.site.rules import SiteRules, default_of, partitions_of
from batprotocol.workloads.host_events import HostChange, HostEvent
from batprotocol.workloads.requests import OfferedHosts as Machine

_Place: TypeAlias = tuple[int, Association | None, bool]
"""The tier, the user, if the priority is not a fixed one, and whether the age grows."""


class _Group:
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


class GroupedEntries:
    """Entries by the priorities of a site.

    Args:
        priorities: the priorities.
    """

    def __init__(self, priorities: Priorities) -> None:
        self._priorities = priorities
        self._parts: dict[_Place, _Group] = {}
        self._ranked: dict[int, tuple[Ranked, _Place]] = {}
        self._filling: list[tuple[float, int, SiteEntry]] = []  # when the age of each is full

    def add(self, entry: SiteEntry, key: Any) -> None:
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
            part = self._parts[place] = _Group()
        part.add(ranked)

    def remove(self, entry: SiteEntry) -> None:
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

    def of(self, entries: Iterable[SiteEntry], now: float) -> Iterable[Ranked]:
        """Some of the entries with their keys, in any order."""
        grown, shares = self._refresh(now)
        for (value, number, entry), (tier, association, grows) in (self._ranked[entry.number] for entry in entries):
            more = shares[association] + grown if grows else shares[association]
            yield (-tier, value - more), number, entry

    def _refresh(self, now: float) -> tuple[float, Mapping[Association | None, float]]:
        """How much the ages add, and the fair share of each user."""
        priorities = self._priorities
        priorities.refresh(now)
        self._fill(now)
        return priorities.weight_age * now / priorities.max_age, priorities.fair_shares()

    def in_order(self, now: float) -> Iterator[Ranked]:
        """The entries, in order. Those that are removed meanwhile may still come."""
        grown, shares = self._refresh(now)
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
            rest = following(members, ranked) if rest is None else rest
            coming = next(rest, None)
            if coming is None:
                heappop(heads)
            else:
                heapreplace(heads, ((key[0], coming[0] - more), coming[1], coming, more, members, rest))


# Which hosts have space for a kind of jobs, from each time on: the question that plans ask for each reservation.


Again: TypeAlias = "tuple[float, list[int]] | Literal[True] | None"
"""Where a reservation would be if it was made anew: a time and hosts; True: where it is; None: not sure."""

_MOST_KNOWN: Final = 32
"""Up to so many kinds of jobs, their hosts with space are kept."""


class PythonOpenHosts:
    """The hosts that have space for jobs of a kind, from each time on: a bit for each, the smallest number first.

    Args:
        hosts: the hosts that the jobs can have.
        amount: what a job takes of each.
        now: the first time. No host has space yet.
    """

    def __init__(self, hosts: Iterable[int], amount: Amount, now: float) -> None:
        self._hosts, self._amount = sorted(hosts), amount
        self._places = {host: place for place, host in enumerate(self._hosts)}
        self._times, self._open = [now], [0]
        self._short_until = -math.inf  # the last time until which more is taken of a host than it has, as was seen

    def change(self, steps: PythonHostSteps, hosts: Iterable[int], begin: float, end: float) -> None:
        """Another amount is free on hosts from one time to another one.

        Args:
            steps: what is free on each host.
            hosts: the hosts; others than those of the kind do not matter.
            begin: the first time.
            end: the time at which that is over.
        """
        begin = max(begin, self._times[0])
        for host in hosts:
            if host in self._places and begin < end:
                times, amounts = steps.following(host, begin)
                since = begin
                for after, free in zip([*times[1:], math.inf], amounts, strict=True):
                    until = min(after, end)
                    if min(free) < 0:
                        self._short_until = max(self._short_until, until)
                    self._set(1 << self._places[host], since, until, fits(self._amount, free))
                    since = after
                    if since >= end:
                        break

    def _set(self, bit: int, begin: float, end: float, is_open: bool) -> None:
        times, values = self._times, self._open
        first, last = self._cut(begin), self._cut(end) if end < math.inf else len(times)
        for place in range(first, last):
            values[place] = values[place] | bit if is_open else values[place] & ~bit
        for place in range(min(last, len(times) - 1), max(first, 1) - 1, -1):
            if values[place] == values[place - 1]:
                del times[place], values[place]

    def _cut(self, time: float) -> int:
        place = bisect_left(self._times, time)
        if place == len(self._times) or self._times[place] != time:
            self._times.insert(place, time)
            self._open.insert(place, self._open[place - 1])
        return place

    def advance(self, now: float) -> None:
        """The past of a time does not matter any more."""
        place = max(bisect_right(self._times, now) - 1, 0)
        del self._times[:place], self._open[:place]
        self._times[0] = max(self._times[0], now)

    def _stays_open(
        self, place: int, time: float, wanted: int, seconds: float, own: int, begin: float
    ) -> tuple[int, int] | None:
        """The bits of the hosts that are open from a time on, which is in the step at a place.

        Returns:
            The bits, 0 if there are not enough; and the last place from which on there are not enough either. None:
            that depends on how times are rounded.
        """
        kept = self._open[place] | (own if time >= begin else 0)
        for after in range(place + 1, len(self._times)):
            until = self._times[after]
            lasts, is_long = until - seconds >= time, until - time >= seconds
            if kept.bit_count() < wanted or (lasts and is_long):
                break
            rest = kept & (self._open[after] | (own if until >= begin else 0))
            if rest != kept and lasts != is_long:
                return None
            kept = rest
            if self._open[after].bit_count() < wanted and until < begin:
                return 0, after
        return kept if kept.bit_count() >= wanted else 0, place

    def _first(self, wanted: int, seconds: float, after: float, before: float, own: int) -> tuple[float, int] | None:
        """The first time at which enough are open, and their bits: `before` is the begin of an own reservation."""
        place, time, last = max(bisect_right(self._times, after) - 1, 0), after, max(self._times[-1], after)
        if not last - seconds < last:
            return None  # a host that is open until a time counts as open at it
        while time < before or (time == before and not own):
            found = self._stays_open(place, time, wanted, seconds, own, before if own else math.inf)
            if found is None or found[0]:
                return None if found is None else (time, found[0])
            place = found[1] + 1
            if place == len(self._times):
                break
            time = self._times[place]
        return math.inf, 0

    def _numbers(self, bits: int) -> list[int]:
        return [host for place, host in enumerate(self._hosts) if bits >> place & 1]

    def earliest(self, count: int, seconds: float, after: float, before: float) -> tuple[float, list[int]] | None:
        """The first time from which on enough hosts are open.

        Args:
            count: how many are enough.
            seconds: for how long they must be open.
            after: the first time that counts.
            before: the last time that counts.

        Returns:
            The time and all hosts that are open then; infinity and no hosts if there are never enough. None: that
            depends on how times are rounded.
        """
        found = self._first(count, seconds, after, before, 0)
        return None if found is None else (found[0], self._numbers(found[1]))

    def again(self, own: Sequence[int], begin: float, end: float, seconds: float, after: float) -> Again:
        """Where a reservation would be if it was made anew, on the first hosts that are open then.

        Args:
            own: its hosts, in order.
            begin: its begin.
            end: its end.
            seconds: for how long hosts must be open.
            after: the first time that counts.
        """
        if not (own and begin > after and end - seconds >= begin and end - begin >= seconds):
            return None
        if self._short_until > after or any(host not in self._places for host in own) or list(own) != sorted(own):
            return None
        bits = sum(1 << self._places[host] for host in own)
        found = self._first(len(own), seconds, after, begin, bits)
        if found is not None and not found[1]:
            place = max(bisect_right(self._times, begin) - 1, 0)
            kept = self._stays_open(place, begin, len(own), seconds, bits, begin)
            found = None if kept is None else (begin, kept[0])
        if found is None:
            return None
        hosts = self._numbers(found[1])[: len(own)]
        return True if found[0] == begin and hosts == list(own) else (found[0], hosts)


OpenHosts = PythonOpenHosts
if not TYPE_CHECKING:
    with suppress(ImportError):
        from batprotocol.policies._profile import OpenHosts


class OpenHostsOfKinds:
    """The hosts that have space for each kind of jobs, kept up to date as the future of hosts changes.

    Args:
        timeline: what will be free.

    Attributes:
        known: those that are kept.
    """

    def __init__(self, timeline: HostTimeline) -> None:
        self._timeline = timeline
        self.known: dict[JobKind, OpenHosts] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"_timeline": self._timeline, "known": {}}  # a copy makes them anew

    def of(self, kind: JobKind, now: float) -> OpenHosts | None:
        """The hosts that have space for a kind from now on; None: there are too many kinds to know them of each."""
        found = self.known.get(kind)
        if found is None:
            if len(self.known) >= _MOST_KNOWN:
                return None
            steps = self._timeline.watch(self._changed)
            make = PythonOpenHosts if type(steps) is PythonHostSteps else OpenHosts
            found = self.known[kind] = make(kind.hosts, kind.amount, now)
            found.change(steps, kind.hosts, now, math.inf)
        return found

    def advance(self, now: float) -> None:
        """The past of a time does not matter any more."""
        for hosts_of_kind in self.known.values():
            hosts_of_kind.advance(now)

    def _changed(self, steps: PythonHostSteps, hosts: Sequence[int] | None, begin: float, end: float) -> None:
        if hosts is None:
            self.known.clear()
        for hosts_of_kind in self.known.values():
            hosts_of_kind.change(steps, hosts or (), begin, end)


# The jobs that wait on a site, each in every partition that it can run in, in the order of the queue.


class SizedEntries(SortedEntries[SiteEntry]):
    """Entries in the order of keys that last, also those of each size: the first that may fit is found soon."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: defaultdict[int, SortedList[Ranked]] = defaultdict(SortedList)

    def add(self, entry: SiteEntry, key: Any) -> None:
        super().add(entry, key)
        self._sizes[entry.job.size].add(self._keys[entry.number])

    def remove(self, entry: SiteEntry) -> None:
        self._sizes[entry.job.size].remove(self._keys[entry.number])
        super().remove(entry)

    def first(
        self,
        shapes: EntryShapes,
        after: Ranked | None,
        most: int,
        movable: int,
        seconds: Callable[[int], float],
        slack: float,
    ) -> Ranked | None:
        """The first entry that may fit; None: none does.

        Args:
            shapes: the same entries by size and expected time.
            after: only those behind this one count; None: all.
            most: their largest size.
            movable: up to this size, any may fit.
            seconds: for how long hosts are free for a size. It never grows with the size.
            slack: how many seconds longer an entry may run.
        """
        best: Ranked | None = None
        for size, entries in shapes.by_size.items():
            if size > most:
                continue
            ranked = self._sizes[size]
            if size <= movable:
                found = ranked[0] if after is None else next(ranked.irange(after, None, (False, True)), None)
            else:
                free = seconds(size)
                if entries[0][0] > rounded_up(free + slack):
                    continue
                found = self._first_within(size, entries, after, best, free, slack)
            if found is not None and (best is None or found < best):
                best = found
        return best

    def _first_within(
        self,
        size: int,
        entries: SortedList[tuple[float, int, SiteEntry]],
        after: Ranked | None,
        best: Ranked | None,
        free: float,
        slack: float,
    ) -> Ranked | None:
        """The first entry of a size that is short enough, if it comes before the best one of the other sizes.

        In the order of the queue, it is soon found if many are short. If not, the short ones are looked at.
        """
        limit = rounded_up(free + slack)
        few = entries.bisect_right((limit, math.inf))
        for ranked in self._sizes[size].irange(after, best, (False, False)):
            if free >= ranked[2].expected - slack:
                return ranked
            few -= 1
            if few < 0:
                break
        else:
            return None
        found: Ranked | None = None
        for _, number, entry in entries.irange(None, (limit, math.inf)):
            ranked = self._keys[number]
            if free >= entry.expected - slack and (after is None or ranked > after):
                found = ranked if found is None or ranked < found else found
        return found


def _precedence(entry: SiteEntry) -> tuple[float, float]:
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
        self._kinds: dict[tuple[Amount, frozenset[int]], JobKind] = {}
        self._numbered: list[JobKind] = []
        self._has_room = dict.fromkeys(pool.capacity, 0)  # for each host, the bits of the kinds that have room there
        self._allowed = dict.fromkeys(pool.capacity, 0)  # those of the kinds that can have it
        self.kind_filter = KindFilter()
        """Which kinds an amount suffices for."""
        self.jobs: dict[str, SiteJob] = {}
        self.places: dict[str, int] = {}
        """The number of entries in each partition or reservation that has some."""
        self.joined = 0
        """How many jobs have joined."""
        self.changes = 0
        """How often free amounts have changed."""

    def _new_ranking(self) -> EntryRanking | None:
        """An empty ranking in the order of the queue; None if each decision sorts all entries."""
        if self._priorities is not None and isinstance(self._order, Multifactor):
            return GroupedEntries(self._priorities)
        return None if self._order.changes else SizedEntries()

    def __len__(self) -> int:
        return len(self.jobs)

    def kind(self, amount: Amount, hosts: frozenset[int]) -> JobKind:
        """The kind of jobs that take an amount of such hosts."""
        found = self._kinds.get((amount, hosts))
        if found is None:
            bit = self.kind_filter.add(amount)
            found = self._kinds[amount, hosts] = JobKind(amount, hosts, self._pool.free, self._new_ranking(), bit)
            self._numbered.append(found)
            for host in hosts:
                self._allowed[host] |= bit
            for host in found.fitting:
                self._has_room[host] |= bit
        return found

    @property
    def kinds(self) -> Iterable[JobKind]:
        """The kinds of the jobs that have waited."""
        return self._kinds.values()

    def opened(self, hosts: Iterable[int]) -> None:
        """There are hosts that were not known before, or were forgotten. Nothing is free on them."""
        for host in hosts:
            self._has_room.setdefault(host, 0)
            self._allowed.setdefault(host, 0)

    def changed(self, hosts: Iterable[int]) -> None:
        """The free amounts of these hosts have changed."""
        self.changes += 1
        for host in hosts:
            has_room = self.kind_filter.passing(self._pool.free[host]) & self._allowed[host]
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

    def add_entry(self, entry: SiteEntry) -> None:
        """A job that waits can also start in another partition, or in a reservation."""
        entry.kind.entries[entry.number] = entry
        entry.kind.shapes.add(entry)
        self.places[entry.place] = self.places.get(entry.place, 0) + 1
        if self._ranking is not None and entry.kind.ranking is not None:
            key = self.key(entry) if isinstance(self._ranking, SortedEntries) else None
            self._ranking.add(entry, key)
            entry.kind.ranking.add(entry, key)

    def remove(self, job: SiteJob) -> None:
        """A job waits no longer."""
        del self.jobs[job.id]
        for entry in job.entries:
            self.remove_entry(entry)

    def remove_entry(self, entry: SiteEntry) -> None:
        """A job that waits cannot start there any more."""
        del entry.kind.entries[entry.number]
        entry.kind.shapes.remove(entry)
        self.places[entry.place] -= 1
        if not self.places[entry.place]:
            del self.places[entry.place]
        if self._ranking is not None and entry.kind.ranking is not None:
            self._ranking.remove(entry)
            entry.kind.ranking.remove(entry)

    def key(self, entry: SiteEntry, order: Order | None = None) -> Any:
        """The entry with the smallest key comes first."""
        order = order or self._order
        if self._priorities is not None and isinstance(order, Multifactor):
            return -entry.tier, -self._priorities.priority(entry, self._state.now)
        return *_precedence(entry), order.key(entry.job, self._state)

    def precedence(self, entry: SiteEntry) -> tuple[float, float]:
        """The part of the key that comes before all else: entries with a smaller one come first."""
        # Where priorities are sums of factors, `nice` is one of them, and changes nothing alone.
        return _precedence(entry) if self._priorities is None else (-entry.tier, 0.0)

    def priority(self, entry: SiteEntry) -> float:
        """The priority of an entry now: the sum of factors where those order the queue; else that of its request."""
        if self._priorities is not None and isinstance(self._order, Multifactor):
            return self._priorities.priority(entry, self._state.now)
        return entry.job.request.priority or 0

    def in_order(self) -> Iterator[SiteEntry]:
        """The entries, in order. Those that are removed meanwhile may still come."""
        if self._ranking is not None:
            return (ranked[2] for ranked in self._ranking.in_order(self._state.now))
        return (ranked[2] for ranked in self._sorted((e for job in self.jobs.values() for e in job.entries), None))

    def ranked(self, kind: JobKind, entries: Iterable[SiteEntry], order: Order | None) -> list[Ranked]:
        """Some entries of a kind with their keys, in an order; None: in the queue's own."""
        if order is None and kind.ranking is not None:
            return sorted(kind.ranking.of(entries, self._state.now))
        return list(self._sorted(entries, order))

    def _sorted(self, entries: Iterable[SiteEntry], order: Order | None) -> Iterator[Ranked]:
        if self._priorities is not None:
            self._priorities.refresh(self._state.now)
        return iter(sorted((self.key(entry, order), entry.number, entry) for entry in entries))


# The jobs that run on hosts, and the hosts that are unavailable, as they have failed or are drained


class JobsByHost:
    """The jobs that run on each host. They are counted from the first question on."""

    def __init__(self) -> None:
        self._jobs: dict[int, dict[str, SiteRunning]] | None = None

    def on(self, hosts: Iterable[int], running: Iterable[SiteRunning]) -> list[SiteRunning]:
        """The jobs that run on some of these hosts, in the order of their starts.

        Args:
            hosts: the hosts.
            running: all jobs that run.
        """
        if self._jobs is None:
            self._jobs = {}
            for job in running:
                self.started(job)
        found = {job.place: job for host in hosts for job in self._jobs.get(host, {}).values()}
        return [found[place] for place in sorted(found)]

    def started(self, job: SiteRunning) -> None:
        """A job has started."""
        if self._jobs is not None:
            for host in job.members:
                self._jobs.setdefault(host, {})[job.waited.id] = job

    def ended(self, job: SiteRunning) -> None:
        """A job has ended."""
        if self._jobs is not None:
            for host in job.members:
                del self._jobs[host][job.waited.id]


class UnavailableHosts:
    """The hosts that are away. Nobody knows when they are back.

    Args:
        pool: what is free now.
        timeline: what will be free.
        queue: the entries that wait.
        promises: the other numbers of hosts.

    Attributes:
        hosts: the hosts that are down or drained.
        down: those that are down.
    """

    def __init__(self, pool: Pool, timeline: HostTimeline, queue: SiteQueue, promises: Promises) -> None:
        self._pool, self._timeline, self._queue, self._promises = pool, timeline, queue, promises
        self.hosts: set[int] = set()
        self.down: set[int] = set()
        self._closed: dict[int, float] = {}  # the hosts that are being switched off, and until when
        self._failures, self._worked, self._since = 0, 0.0, 0.0

    def mean_time_between_failures(self, now: float) -> float | None:
        """The time that hosts have been up, for each failure of a host so far; None: there was no failure."""
        return self._worked_until(now) / self._failures if self._failures else None

    def _worked_until(self, now: float) -> float:
        return self._worked + (now - self._since) * (len(self._pool.hosts) - len(self.down))

    def change(self, event: HostEvent, now: float) -> list[int]:
        """Hosts fail, are drained or come back; returns those that have come back."""
        self._worked, self._since = self._worked_until(now), now
        if event.state is HostChange.DOWN:
            self._failures += len(event.hosts)
            self.down.update(event.hosts)
        if event.state is HostChange.UP:
            back = list(event.hosts)
            self.hosts.difference_update(back)
            self.down.difference_update(back)
            self._timeline.give_back(self._promises.everywhere(back), now, math.inf, self._pool.whole)
            self.come_back(back)
            return back
        left = [host for host in event.hosts if host not in self.hosts]  # drained hosts can fail
        self.hosts.update(left)
        self._timeline.take(self._promises.everywhere(left), now, math.inf, self._pool.whole)
        self.leave(left)
        return []

    def leave(self, hosts: Iterable[int]) -> None:
        """From now on, no job has space on these hosts, for one reason more."""
        hosts = tuple(self._promises.everywhere(hosts))
        self._pool.take(hosts, self._pool.whole)
        self._queue.changed(hosts)

    def come_back(self, hosts: Iterable[int]) -> None:
        """These hosts are not away any more for one of the reasons that there were."""
        hosts = tuple(self._promises.everywhere(hosts))
        self._pool.give_back(hosts, self._pool.whole)
        self._queue.changed(hosts)

    def closes(self, host: int, now: float, end: float) -> None:
        """A host is being switched off: it has no space until then."""
        self._closed[host] = end
        self._timeline.take(self._promises.everywhere((host,)), now, end, self._pool.whole)
        self.leave((host,))

    def opens(self, host: int, now: float) -> None:
        """A host was switched off, and has space again."""
        end = self._closed.pop(host)
        if end > now:
            self._timeline.give_back(self._promises.everywhere((host,)), now, end, self._pool.whole)
        self.come_back((host,))

    def anew(self, now: float) -> None:
        """The timeline was begun anew: take the hosts that are away."""
        for host, end in self._closed.items():
            if end > now:
                self._timeline.take(self._promises.everywhere((host,)), now, end, self._pool.whole)
        self._timeline.take(self._promises.everywhere(self.hosts), now, math.inf, self._pool.whole)


class SiteState:
    """The state of a site.

    Args:
        hosts: the computation hosts.
        rules: partitions, qualities of service, accounts and limits.
        state: the policy's state: its time, and its running jobs.
        order: the order of the queue.
        ranking: which of the hosts with room a job gets: a name of `RANKINGS`, or `best-fit`.

    Attributes:
        machine: what the hosts offer.
        pool: what is free on them now.
        timeline: what will be free on them.
        open_hosts: the hosts that will have space for each kind of jobs.
        members: the hosts of each partition, by its name.
        default: the partitions of jobs that name none.
        chooser: which hosts a job gets.
        promises: the reservations, with the other numbers of their hosts.
        priorities: the usage and fair share of users and accounts, and the priorities of jobs; None without such rules.
        usage: what users and accounts have.
        queue: the entries that wait for hosts.
        running: the jobs that run, by id.
        jobs_by_host: the same by their hosts.
        away: the hosts that have failed or are drained.
        speed: the speed of a core of the slowest host, in flops per second.

    Raises:
        InputError: a property of a host, or a name in the rules, cannot be used.
    """

    def __init__(self, hosts: tuple[Host, ...], rules: SiteRules, state: State, order: Order, ranking: str) -> None:
        self.rules, self.state, self.machine = rules, state, Machine(hosts)
        self.pool = Pool(self.machine.offers)
        self.members = partitions_of(hosts, self.machine, rules)
        self.default = default_of(rules, self.members)
        offers = {offer.id: offer for offer in self.machine.offers}
        self.priorities: Priorities | None = None
        if rules.priority is not None:
            self.priorities = Priorities(rules, rules.priority, offers, self.hosts_of, state.now)
        self.queue = SiteQueue(order, state, self.pool, self.priorities)
        self.timeline = HostTimeline(self.pool.capacity, state.now)
        self.open_hosts = OpenHostsOfKinds(self.timeline)
        self.chooser = Chooser(ranking, offers)
        self.promises = Promises(self.pool.hosts)
        self.usage = LimitUsage(rules)
        self.running: dict[str, SiteRunning] = {}
        self.jobs_by_host = JobsByHost()
        self.unavailable = UnavailableHosts(self.pool, self.timeline, self.queue, self.promises)
        self.speed = min((host.computation_speed[host.pstate] for host in hosts if host.computation_speed), default=0.0)

    def hosts_of(self, name: str) -> frozenset[int]:
        """The hosts of a partition; of "": all hosts."""
        return self.members[name] if name else self.pool.hosts

    def jobs_on(self, hosts: Iterable[int]) -> list[SiteRunning]:
        """The jobs that run on some of these hosts, in the order of their starts."""
        return self.jobs_by_host.on(hosts, self.running.values())
