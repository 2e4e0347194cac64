"""What running jobs and reservations draw beyond idle hosts, now and over time, beside what is allowed.

A host counts once, however many jobs share it: the sum is what its jobs may draw, whatever their load is. This module
must not know jobs, and which hosts they could have instead.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate

from batprotocol.policies.site.allowance import Allowance

__all__ = ["Budget"]


class _Steps:
    """A whole number over time, which changes in steps. Before the first time, and without one, it is 0."""

    __slots__ = ("times", "values")

    def __init__(self) -> None:
        self.times: list[float] = [-math.inf]
        self.values: list[int] = [0]

    def add(self, begin: float, end: float, by: int) -> None:
        first = self._cut(begin)
        last = self._cut(end) if end < math.inf else len(self.times)
        for place in range(first, last):
            self.values[place] += by
        for place in (last, first):
            if 0 < place < len(self.times) and self.values[place] == self.values[place - 1]:
                del self.times[place], self.values[place]

    def _cut(self, time: float) -> int:
        place = bisect_left(self.times, time)
        if place == len(self.times) or self.times[place] != time:
            self.times.insert(place, time)
            self.values.insert(place, self.values[place - 1])
        return place

    def within(self, begin: float, end: float) -> Iterator[tuple[float, float, int]]:
        """The steps between two times: the begin and the end of each, and its number."""
        times, values = self.times, self.values
        place = bisect_right(times, begin) - 1
        while begin < end:
            after = times[place + 1] if place + 1 < len(times) else math.inf
            yield begin, min(after, end), values[place]
            begin, place = after, place + 1

    def forget(self, now: float) -> None:
        """The past of a time does not matter any more."""
        place = bisect_right(self.times, now) - 1
        if place > 0:
            del self.times[1 : place + 1], self.values[:place]


class Budget:
    """What jobs draw, in microwatts beyond idle hosts.

    Args:
        increments: how much more each host draws at most with jobs than without.
        allowance: what is allowed.
        rounded: rounds times, so that those that count as equal are equal.
    """

    def __init__(self, increments: Mapping[int, int], allowance: Allowance, rounded: Callable[[float], float]) -> None:
        self.increments, self.allowance, self._rounded = dict(increments), allowance, rounded
        self._sums = [0, *accumulate(sorted(self.increments.values()))]
        self.is_uniform = len(set(self.increments.values())) <= 1
        self._busy: Counter[int] = Counter()  # how many jobs run on each host now
        self._drawn = 0
        self._now = -math.inf
        self._total = _Steps()
        self._jobs: defaultdict[int, _Steps] = defaultdict(_Steps)  # how many jobs each host has, over time

    def smallest(self, count: int) -> int:
        """The least that so many hosts draw more with jobs than without."""
        return self._sums[min(count, len(self._sums) - 1)]

    def sum(self, hosts: Iterable[int]) -> int:
        """How much more hosts draw with jobs than without."""
        return sum(map(self.increments.__getitem__, hosts))

    # What is drawn now

    def began(self, hosts: Iterable[int]) -> None:
        """A job runs on hosts from now on."""
        for host in hosts:
            if not self._busy[host]:
                self._drawn += self.increments[host]
            self._busy[host] += 1

    def ended(self, hosts: Iterable[int]) -> None:
        """A job runs on hosts no longer."""
        for host in hosts:
            self._busy[host] -= 1
            if not self._busy[host]:
                self._drawn -= self.increments[host]

    def rest(self, now: float) -> int:
        """How much more is allowed now than jobs draw."""
        return self.allowance.at(now) - self._drawn

    def fits_now(self, hosts: Iterable[int], now: float) -> bool:
        """Whether a job on these hosts is allowed now, as far as running jobs are concerned."""
        more = sum(self.increments[host] for host in hosts if not self._busy[host])
        return not more or more <= self.rest(now)

    # What is drawn over time

    def advance(self, now: float) -> None:
        """The past of a time does not matter any more."""
        self._now = now
        self._total.forget(now)

    def take(self, hosts: Iterable[int], begin: float, end: float) -> None:
        """A job has hosts from one time to another one."""
        begin, end = self._rounded(begin), self._rounded(end)
        hosts = tuple(hosts)
        for (first, last), more in self._pieces(hosts, begin, end, 0).items():
            self._total.add(first, last, more)
        for host in hosts if begin < end else ():
            self._jobs[host].add(begin, end, 1)

    def give_back(self, hosts: Iterable[int], begin: float, end: float) -> None:
        """A job does not have hosts from one time to another one, which it had."""
        begin, end = self._rounded(begin), self._rounded(end)
        hosts = tuple(hosts)
        for (first, last), less in self._pieces(hosts, begin, end, 1).items():
            self._total.add(first, last, -less)
        for host in hosts if begin < end else ():
            jobs = self._jobs[host]
            jobs.add(begin, end, -1)
            jobs.forget(self._now)
            if len(jobs.times) == 1 and not jobs.values[0]:
                del self._jobs[host]

    def keep(self, amount: int, begin: float) -> None:
        """An amount is kept from a time on; a negative one is kept no longer."""
        self._total.add(self._rounded(begin), math.inf, amount)

    def _pieces(self, hosts: Iterable[int], begin: float, end: float, jobs: int) -> dict[tuple[float, float], int]:
        """The intervals in which some of the hosts have a number of jobs, with what those draw."""
        found: dict[tuple[float, float], int] = {}
        for host in hosts if begin < end else ():
            increment, known = self.increments[host], self._jobs.get(host)
            if known is None:
                found[begin, end] = found.get((begin, end), 0) + increment
                continue
            for first, last, count in _joined(known.within(begin, end), jobs):
                if count == jobs:
                    found[first, last] = found.get((first, last), 0) + increment
        return found

    def cost(self, host: int, begin: float, end: float) -> int:
        """How much more a host draws at most if it gets one more job from one time to another one."""
        jobs = self._jobs.get(host)
        if jobs is not None and all(count for _, _, count in jobs.within(self._rounded(begin), self._rounded(end))):
            return 0
        return self.increments[host]

    def fits(self, hosts: Iterable[int], begin: float, end: float) -> bool:
        """Whether a job is allowed on these hosts from one time to another one, beside all that is taken."""
        begin, end = self._rounded(begin), self._rounded(end)
        pieces = self._pieces(hosts, begin, end, 0)
        least = self.allowance.least
        if len(pieces) <= 1:
            return all(
                taken + more <= least(first, last)
                for (since, until), more in pieces.items()
                if more
                for first, last, taken in self._total.within(since, until)
            )
        more = _Steps()
        for (since, until), each in pieces.items():
            more.add(since, until, each)
        return all(
            not each or taken + each <= least(first, last)
            for since, until, each in more.within(begin, end)
            for first, last, taken in self._total.within(since, until)
        )

    def is_over(self, begin: float, end: float) -> bool:
        """Whether more is taken than is allowed, some time between two times."""
        steps = self._total.within(self._rounded(begin), self._rounded(end))
        return any(taken > self.allowance.least(first, last) for first, last, taken in steps)

    def changes(self, after: float, before: float) -> list[float]:
        """The times at which what is taken changes, between two times."""
        times = self._total.times
        return times[bisect_right(times, after) : bisect_right(times, before)]

    def last_change(self) -> float:
        """The last time at which what is taken changes."""
        return self._total.times[-1]


def _joined(steps: Iterable[tuple[float, float, int]], wanted: int) -> Iterator[tuple[float, float, int]]:
    """Steps, of which those in a row that have the wanted number, or have not, are one."""
    before: tuple[float, float, int] | None = None
    for begin, end, number in steps:
        if before is not None and (before[2] == wanted) == (number == wanted):
            before = before[0], end, before[2]
            continue
        if before is not None:
            yield before
        before = begin, end, number
    if before is not None:
        yield before
