"""The watts of running jobs and reservations beyond those of idle hosts, now and over time, beside what is allowed.

A host counts once, however many jobs share it: the sum is what its jobs may draw, whatever their load is. This module
must not know jobs, and which hosts they could have instead.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from batprotocol.policies.site.allowance import Allowance

__all__ = ["Budget"]

_DIGIT: Final = 1 << 20
"""A host has fewer jobs of one pace."""


class _Steps:
    """A whole number over time, which changes in steps. Before the first time, and without one, it is 0."""

    __slots__ = ("times", "values")

    def __init__(self) -> None:
        self.times: list[float] = [-math.inf]
        self.values: list[int] = [0]

    def copy(self) -> _Steps:
        copy = _Steps()
        copy.times, copy.values = self.times.copy(), self.values.copy()
        return copy

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
    """The watts of jobs, in microwatts beyond those of idle hosts.

    Jobs run at a pace: 0 is the usual one, and in each of the next ones, hosts compute slower and draw less.

    Args:
        paces: for each pace, how much more each host draws at most with jobs than without.
        allowance: what is allowed.
        rounded: rounds times, so that those that count as equal are equal.

    Attributes:
        increments: those of the usual pace.
        is_uniform: whether all hosts draw as much more, in each pace.
    """

    def __init__(
        self, paces: Sequence[Mapping[int, int]], allowance: Allowance, rounded: Callable[[float], float]
    ) -> None:
        self._paces, self.allowance, self._rounded = [dict(pace) for pace in paces], allowance, rounded
        self.increments = self._paces[0]
        self._sums = [[0, *accumulate(sorted(pace.values()))] for pace in self._paces]
        self.is_uniform = all(len(set(pace.values())) <= 1 for pace in self._paces)
        self._busy: Counter[int] = Counter()  # the jobs of each host now; of each pace, they are a digit of the number
        self._drawn = 0
        self._standing: dict[int, int] = {}  # what hosts draw while they have no job
        self._now = -math.inf
        self._total = _Steps()
        self._jobs: defaultdict[int, _Steps] = defaultdict(_Steps)  # the jobs of each host, over time

    @property
    def paces(self) -> range:
        """The paces that there are, the fastest one first."""
        return range(len(self._paces))

    def smallest(self, count: int, pace: int = 0) -> int:
        """The least that so many hosts draw more with jobs than without."""
        sums = self._sums[pace]
        return sums[min(count, len(sums) - 1)]

    def sum(self, hosts: Iterable[int], pace: int = 0) -> int:
        """How much more hosts draw with jobs than without."""
        return sum(map(self._paces[pace].__getitem__, hosts))

    def _draws(self, host: int, jobs: int) -> int:
        """How much more a host draws with these jobs than without: as much as with the one that draws most."""
        if not jobs:
            return 0
        if jobs < _DIGIT:
            return self.increments[host]
        most, pace = 0, 0
        while jobs:
            jobs, digit = divmod(jobs, _DIGIT)
            if digit:
                most = max(most, self._paces[pace][host])
            pace += 1
        return most

    # What is drawn now

    def began(self, hosts: Iterable[int], pace: int = 0) -> None:
        """A job runs on hosts from now on."""
        self._change(hosts, _DIGIT**pace)

    def ended(self, hosts: Iterable[int], pace: int = 0) -> None:
        """A job runs on hosts no longer."""
        self._change(hosts, -(_DIGIT**pace))

    def _change(self, hosts: Iterable[int], by: int) -> None:
        for host in hosts:
            jobs = self._busy[host]
            self._busy[host] = jobs + by
            self._drawn += self._draws_now(host, jobs + by) - self._draws_now(host, jobs)

    def _draws_now(self, host: int, jobs: int) -> int:
        return self._draws(host, jobs) if jobs else self._standing.get(host, 0)

    def stands(self, host: int, draws: int) -> None:
        """A host draws so much from now on while it has no job."""
        if not self._busy[host]:
            self._drawn += draws - self._standing.get(host, 0)
        self._standing[host] = draws

    @property
    def is_busy(self) -> bool:
        """Whether a job runs."""
        return any(self._busy.values())

    def has_job(self, host: int) -> bool:
        """Whether a job runs on a host."""
        return self._busy[host] != 0

    def standing_of(self, host: int) -> int:
        """The amount that a host without a job draws now; 0 if a job runs there."""
        return 0 if self._busy[host] else self._standing.get(host, 0)

    @property
    def standing(self) -> int:
        """The sum of what the hosts without jobs draw now."""
        return sum(draws for host, draws in self._standing.items() if not self._busy[host])

    def rest(self, now: float) -> int:
        """How much more is allowed now than jobs draw."""
        return self.allowance.at(now) - self._drawn

    def fits_now(self, hosts: Iterable[int], now: float, pace: int = 0) -> bool:
        """Whether a job on these hosts is allowed now, as far as running jobs are concerned."""
        return self.lacks(hosts, now, pace) <= 0

    def lacks(self, hosts: Iterable[int], now: float, pace: int = 0) -> int:
        """How much a job on these hosts would draw beyond what is allowed now; 0 or less: it may start."""
        busy, by, draws = self._busy, _DIGIT**pace, self._draws_now
        more = sum(draws(host, busy[host] + by) - draws(host, busy[host]) for host in hosts)
        return more - self.rest(now) if more > 0 else 0

    # What is drawn over time

    @property
    def now(self) -> float:
        """The time before which nothing matters any more."""
        return self._now

    def advance(self, now: float) -> None:
        """The past of a time does not matter any more."""
        self._now = now
        self._total.forget(now)

    def take(self, hosts: Iterable[int], begin: float, end: float, pace: int = 0) -> None:
        """A job has hosts from one time to another one."""
        self._add(tuple(hosts), begin, end, _DIGIT**pace)

    def give_back(self, hosts: Iterable[int], begin: float, end: float, pace: int = 0) -> None:
        """A job does not have hosts from one time to another one, which it had."""
        self._add(tuple(hosts), begin, end, -(_DIGIT**pace))

    def _add(self, hosts: tuple[int, ...], begin: float, end: float, by: int) -> None:
        begin, end = self._rounded(begin), self._rounded(end)
        if end <= begin:
            return
        shared, draws = list[int](), 0
        for host in hosts:
            if self._has_alone(host, begin, end, by):
                draws += self._draws(host, abs(by))
            else:
                shared.append(host)
        if draws:
            self._total.add(begin, end, draws if by > 0 else -draws)
        for (first, last), more in self._pieces(shared, begin, end, by).items():
            self._total.add(first, last, more)
        for host in shared:
            jobs = self._jobs[host]
            jobs.add(begin, end, by)
            jobs.forget(self._now)
            if len(jobs.times) == 1 and not jobs.values[0]:
                del self._jobs[host]

    def _has_alone(self, host: int, begin: float, end: float, by: int) -> bool:
        """Note one more job on a host, or one less, if it has no other one; whether that is so."""
        jobs = self._jobs.get(host)
        if by > 0:
            if jobs is not None or end == math.inf or end <= self._now:
                return False
            jobs = self._jobs[host] = _Steps()
            is_past = begin <= self._now
            jobs.times = [-math.inf, end] if is_past else [-math.inf, begin, end]
            jobs.values = [by, 0] if is_past else [0, by, 0]
            return True
        if jobs is None or jobs.times[-1] != end:
            return False
        is_past = jobs.values == [-by, 0] and begin <= self._now
        if not is_past and (jobs.values != [0, -by, 0] or jobs.times[1] != begin):
            return False
        del self._jobs[host]
        return True

    def keep(self, amount: int, begin: float) -> None:
        """An amount is kept from a time on; a negative one is kept no longer."""
        self._total.add(self._rounded(begin), math.inf, amount)

    def _pieces(self, hosts: Iterable[int], begin: float, end: float, by: int) -> dict[tuple[float, float], int]:
        """The increase of what hosts draw with one more job, or one less, by intervals in which that is the same."""
        found: dict[tuple[float, float], int] = {}
        for host in hosts if begin < end else ():
            known = self._jobs.get(host)
            steps = [(begin, end, 0)] if known is None else known.within(begin, end)
            since, until, before = begin, begin, 0
            for first, last, jobs in steps:
                more = self._draws(host, jobs + by) - self._draws(host, jobs)
                if more != before:
                    if before:
                        found[since, until] = found.get((since, until), 0) + before
                    since, before = first, more
                until = last
            if before:
                found[since, until] = found.get((since, until), 0) + before
        return found

    def cost(self, host: int, begin: float, end: float, pace: int = 0) -> int:
        """How much more a host draws at most if it gets one more job from one time to another one."""
        jobs, by = self._jobs.get(host), _DIGIT**pace
        if jobs is None:
            return self._paces[pace][host]
        steps = jobs.within(self._rounded(begin), self._rounded(end))
        return max((self._draws(host, each + by) - self._draws(host, each) for _, _, each in steps), default=0)

    def fits(self, hosts: Iterable[int], begin: float, end: float, pace: int = 0) -> bool:
        """Whether a job is allowed on these hosts from one time to another one, beside all that is taken."""
        begin, end = self._rounded(begin), self._rounded(end)
        pieces = self._pieces(hosts, begin, end, _DIGIT**pace)
        least = self.allowance.least
        if len(pieces) <= 1:
            return all(
                taken + more <= least(first, last)
                for (since, until), more in pieces.items()
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

    def closed(
        self, need: int, after: float, before: float, seconds: float, more: Iterable[tuple[int, float, float]] = ()
    ) -> list[tuple[float, float]]:
        """Between which times nothing that draws so much can begin, whatever hosts it has.

        Args:
            need: what it draws more at least.
            after: the first time that counts.
            before: the last time that counts.
            seconds: how long it draws that.
            more: amounts that count in addition, each from one time to another one.

        Returns:
            Intervals in order, which do not overlap. At their bounds, something may begin.
        """
        total, greatest = self._total, self.allowance.greatest
        changes = [(amount, self._rounded(begin), self._rounded(end)) for amount, begin, end in more]
        if changes:
            total = total.copy()
        for amount, begin, end in changes:
            if begin < end:
                total.add(begin, end, amount)
        after, before = self._rounded(after), self._rounded(before)
        found: list[tuple[float, float]] = []
        for first, last, taken in total.within(after, before + seconds):
            if taken + need > greatest(first, last):
                since = first - seconds
                if found and since < found[-1][1]:
                    found[-1] = found[-1][0], last
                else:
                    found.append((since, last))
        return found

    def may_begin(self, need: int, now: float, seconds: float, more: Iterable[tuple[int, float, float]] = ()) -> bool:
        """Whether something that draws so much can begin now, as `closed` says, for which these are the arguments."""
        total, greatest, now = self._total, self.allowance.greatest, self._rounded(now)
        changes = [(amount, self._rounded(begin), self._rounded(end)) for amount, begin, end in more]
        if changes:
            _, last, taken = next(total.within(now, now + seconds))
            for amount, begin, end in changes:
                taken += amount if begin <= now < end else 0
                last = min(last, begin if begin > now else end if end > now else last)
            if taken + need > greatest(now, last):  # it mostly is: no copy is made
                return False
            total = total.copy()
        for amount, begin, end in changes:
            if begin < end:
                total.add(begin, end, amount)
        return all(taken + need <= greatest(first, last) for first, last, taken in total.within(now, now + seconds))

    def is_open(self, closed: Sequence[tuple[float, float]], after: float, before: float) -> bool:
        """Whether a time between two times is in none of some intervals, which `closed` returned."""
        time = self.first_open(closed, after)
        return time <= self._rounded(before) and time < math.inf

    def first_open(self, closed: Sequence[tuple[float, float]], after: float) -> float:
        """The first time from a time on that is in none of some intervals, which `closed` returned."""
        time = self._rounded(after)
        for begin, end in closed[max(bisect_left(closed, (time,)) - 1, 0) :]:
            if begin >= time:
                break
            time = max(time, end)
        return time

    def is_open_at(self, closed: Sequence[tuple[float, float]], time: float) -> bool:
        """Whether a time is in none of some intervals, which `closed` returned."""
        time = self._rounded(time)
        place = bisect_left(closed, (time,)) - 1
        return place < 0 or closed[place][1] <= time

    def is_over(self, begin: float, end: float) -> bool:
        """Whether more is taken than is allowed, some time between two times."""
        steps = self._total.within(self._rounded(begin), self._rounded(end))
        return any(taken > self.allowance.least(first, last) for first, last, taken in steps)

    def changes(self, after: float, before: float) -> list[float]:
        """The times at which what is taken changes, between two times."""
        times = self._total.times
        return times[bisect_right(times, after) : bisect_right(times, before)]

    def taken_at(self, time: float) -> int:
        """The sum of what is taken at a time."""
        return next(self._total.within(time, math.inf))[2]

    def is_taken(self, host: int, time: float) -> bool:
        """Whether a job has a host at a time."""
        jobs = self._jobs.get(host)
        return jobs is not None and jobs.values[bisect_right(jobs.times, time) - 1] != 0

    def taken_until(self, host: int, time: float) -> float:
        """When the last job ends that has a host before a time; minus infinity: there is none."""
        jobs = self._jobs.get(host)
        return -math.inf if jobs is None else jobs.times[bisect_right(jobs.times, time) - 1]

    def last_change(self) -> float:
        """The last time at which what is taken changes."""
        return self._total.times[-1]
