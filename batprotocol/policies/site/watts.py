"""Watts over time: those that are allowed, and those that jobs draw beyond idle hosts; and slower power states.

Watts are whole numbers of microwatts, so that sums are exact. A host counts once, however many jobs share it: its jobs
may draw that sum, whatever their load is.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from batprotocol.model import DelayProfile, ParallelTaskHomogeneousProfile
from batprotocol.policies.availability import Steps
from batprotocol.policies.driver import Actions
from batprotocol.policies.failures import length_of
from batprotocol.policies.jobs import SiteEntry
from batprotocol.workloads.electricity import HostWatts, Trace

_MOST_KNOWN: Final = 4096


def micro(watts: float) -> int:
    """Watts in microwatts.

    >>> micro(95.1)
    95100000
    """
    return round(watts * 1e6)


class _AllowedTimes(NamedTuple):
    """The times in which an amount is allowed: their begins, their ends, and the longest one from each one on."""

    begins: list[float]
    ends: list[float]
    longest: list[float]


class Allowance:
    """The watts that jobs may draw over time.

    Args:
        cap: the watts that the machine may draw at most. Outside of its times, its first and last values hold.
        idle: what it draws without jobs, in microwatts.

    Attributes:
        is_constant: whether it is the same at all times.

    >>> allowance = Allowance(Trace([0.0, 60.0], [500.0, 300.0], math.inf, "W"), micro(200.0))
    >>> allowance.least(0.0, 60.0), allowance.least(0.0, 61.0), allowance.lasts(micro(200.0), 61.0, 0.0)
    (300000000, 100000000, False)
    """

    def __init__(self, cap: Trace, idle: int) -> None:
        values = [micro(value) - idle for value in cap.values]
        self._steps = Steps(cap.times[0], values[0])
        self._steps.times, self._steps.values = list(cap.times), values
        self.is_constant = len(values) == 1
        self._period = cap.period if cap.repeats else math.inf
        least = math.inf
        self._rest: list[float] = []  # the least from each step on
        for value in reversed(values):
            least = min(least, value)
            self._rest.append(least)
        self._rest.reverse()
        before = values[-1] if self.repeats else values[0]
        changes = zip(cap.times, [before, *values], values, strict=False)
        self._rises = [time for time, less, more in changes if more > less]
        self._known: dict[int, _AllowedTimes] = {}

    @property
    def period(self) -> float:
        """The time after which it begins anew; infinity: it does not."""
        return self._period

    @property
    def begin(self) -> float:
        """The first of its times."""
        return self._steps.times[0]

    @property
    def repeats(self) -> bool:
        """Whether it begins anew again and again."""
        return self._period < math.inf

    def at(self, time: float) -> int:
        """The amount that is allowed at a time."""
        if self.is_constant:
            return self._steps.values[0]
        return self._steps.at(self._folded(time))

    def least(self, begin: float, end: float) -> int:
        """The amount that is allowed throughout an interval, also one without an end."""
        if self.is_constant:
            return self._steps.values[0]
        if end == math.inf or (self.repeats and end - begin >= self._period):
            return int(self._rest[0 if self.repeats else self._steps.place(begin)])
        return min(self._between(begin, end))

    def greatest(self, begin: float, end: float) -> int:
        """The most that is allowed at any time of an interval, also one without an end."""
        if self.is_constant:
            return self._steps.values[0]
        if self.repeats and end - begin >= self._period:
            return max(self._steps.values)
        return max(self._between(begin, end))

    def _between(self, begin: float, end: float) -> list[int]:
        """The amounts of an interval, which is shorter than a period."""
        steps, first = self._steps, self._folded(begin)
        last = first + (end - begin)
        if self.repeats and last > self.begin + self._period:
            return steps.between(first, math.inf) + steps.between(self.begin, last - self._period)
        return steps.between(first, last)

    def most(self, now: float) -> int:
        """The most that is allowed at any time from now on."""
        return max(self._steps.values if self.repeats else self._steps.between(now, math.inf))

    def next_step(self, after: float) -> float:
        """The first time after another one at which something else may be allowed; infinity: never."""
        if after == -math.inf:
            return self.begin
        folded, times = self._folded(after), self._steps.times
        place = bisect_right(times, folded)
        if place < len(times):
            return max(after + (times[place] - folded), math.nextafter(after, math.inf))
        return after + (self.begin + self._period - folded) if self.repeats else math.inf

    # Times in which an amount is allowed

    def lasts(self, amount: int, seconds: float, now: float) -> bool:
        """Whether an amount is allowed for so long from some time on that is not over.

        Args:
            amount: the amount.
            seconds: how long.
            now: the first time that counts.
        """
        if amount <= self._rest[0]:
            return True
        begins, ends, longest = self._runs(amount)
        if self.repeats:
            return bool(longest) and longest[0] >= seconds
        place = bisect_right(ends, now)
        if place == len(begins):
            return False
        rest = ends[place] - max(begins[place], now)
        return rest >= seconds or (place + 1 < len(longest) and longest[place + 1] >= seconds)

    def longest(self, amount: int, now: float) -> float:
        """For how many seconds an amount is allowed at most from some time on."""
        if amount <= self._rest[0]:
            return math.inf
        begins, ends, _ = self._runs(amount)
        if self.repeats:
            return max((end - begin for begin, end in zip(begins, ends, strict=True)), default=0.0)
        return max((end - max(begin, now) for begin, end in zip(begins, ends, strict=True) if end > now), default=0.0)

    def rises(self, after: float, before: float) -> Iterator[float]:
        """The times at which more is allowed than just before, between two times.

        Args:
            after: the times are later than this one.
            before: they are no later than this one.
        """
        rises, turn = self._rises, 0.0
        if self.repeats:
            turn = math.floor((after - self.begin) / self._period) * self._period
        while rises and turn + rises[0] <= before:
            first = bisect_right(rises, after - turn)
            yield from (turn + time for time in rises[first:] if after < turn + time <= before)
            if not self.repeats:
                return
            turn += self._period

    def _runs(self, amount: int) -> _AllowedTimes:
        found = self._known.get(amount)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[amount] = self._new_runs(amount)
        return found

    def _new_runs(self, amount: int) -> _AllowedTimes:
        begins: list[float] = []
        ends: list[float] = []
        for begin, end, value in self._steps.within(self.begin, self.begin + self._period):
            if value < amount:
                continue
            if ends and ends[-1] == begin:
                ends[-1] = end
            else:
                begins.append(begin if begins or self.repeats or begin > self.begin else -math.inf)
                ends.append(end)
        if self.repeats and len(begins) > 1 and begins[0] == self.begin and ends[-1] == self.begin + self._period:
            ends[-1] += ends.pop(0) - begins.pop(0)  # it goes on at the begin
        longest: list[float] = []
        for begin, end in zip(reversed(begins), reversed(ends), strict=True):
            longest.append(max(end - begin, longest[-1] if longest else 0.0))
        return _AllowedTimes(begins, ends, longest[::-1])

    # Times

    def _folded(self, time: float) -> float:
        """A time of the first turn at which the same is allowed."""
        if not self.repeats:
            return time
        folded = time - math.floor((time - self.begin) / self._period) * self._period
        return folded if folded < self.begin + self._period else self.begin


# The watts of running jobs and reservations beyond those of idle hosts, now and over time, beside what is allowed.


_LARGE: Final = 1 << 62
"""More microwatts than a machine draws."""

_DIGIT: Final = 1 << 20
"""A host has fewer jobs of one pace."""


def _steps() -> Steps[int]:
    """Watts over time: before the first time, and without one, none."""
    return Steps(-math.inf, 0)


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
        changed: how often what is taken over time has changed.
    """

    def __init__(
        self, paces: Sequence[Mapping[int, int]], allowance: Allowance, rounded: Callable[[float], float]
    ) -> None:
        self._paces, self.allowance, self._rounded = [dict(pace) for pace in paces], allowance, rounded
        self.increments = self._paces[0]
        self._sums = [[0, *accumulate(sorted(pace.values()))] for pace in self._paces]
        self.is_uniform = all(len(set(pace.values())) <= 1 for pace in self._paces)
        # Where all numbers are those of a machine:
        self._is_small = len(self._paces) <= 3 and max(map(max, map(dict.values, self._paces)), default=0) < 1 << 44
        self._busy: Counter[int] = Counter()  # the jobs of each host now; of each pace, they are a digit of the number
        self._drawn = self.changed = 0
        self._standing: dict[int, int] = {}  # what hosts draw while they have no job
        self._now = -math.inf
        self._total = _steps()
        self._jobs: defaultdict[int, Steps[int]] = defaultdict(_steps)  # the jobs of each host, over time

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
        self.changed += 1
        if end <= begin:
            return
        shared, draws = list[int](), 0
        for host in hosts:
            if self._has_alone(host, begin, end, by):
                draws += self._draws(host, abs(by))
            else:
                shared.append(host)
        if draws:
            self._total.change(begin, end, draws if by > 0 else -draws)
        for (first, last), more in self._pieces(shared, begin, end, by).items():
            self._total.change(first, last, more)
        change_jobs(self._jobs, shared, begin, end, by, self._now)

    def _has_alone(self, host: int, begin: float, end: float, by: int) -> bool:
        """Note one more job on a host, or one less, if it has no other one; whether that is so."""
        jobs = self._jobs.get(host)
        if by > 0:
            if jobs is not None or end == math.inf or end <= self._now:
                return False
            jobs = self._jobs[host] = _steps()
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
        self.changed += 1
        self._total.change(self._rounded(begin), math.inf, amount)

    def _pieces(self, hosts: Iterable[int], begin: float, end: float, by: int) -> dict[tuple[float, float], int]:
        """The increase of what hosts draw with one more job, or one less, by intervals in which that is the same."""
        how = pieces if self._is_small else python_pieces
        return how(self._jobs, hosts, begin, end, by, self.increments, self._draws)

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
        more = _steps()
        for (since, until), each in pieces.items():
            more.change(since, until, each)
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
                total.change(begin, end, amount)
        after, before = self._rounded(after), self._rounded(before)
        until = before + seconds
        if self.allowance.is_constant and self._is_small:
            return closed_times(total, min(greatest(after, until) - need, _LARGE), after, until, seconds)
        return python_closed_times(total, lambda first, last: greatest(first, last) - need, after, until, seconds)

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
                total.change(begin, end, amount)
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
        return self._total.at(time)

    def is_taken(self, host: int, time: float) -> bool:
        """Whether a job has a host at a time."""
        jobs = self._jobs.get(host)
        return jobs is not None and jobs.at(time) != 0

    def taken_until(self, host: int, time: float) -> float:
        """When the last job ends that has a host before a time; minus infinity: there is none."""
        jobs = self._jobs.get(host)
        return -math.inf if jobs is None else jobs.times[jobs.place(time)]

    def last_change(self) -> float:
        """The last time at which what is taken changes."""
        return self._total.times[-1]


def python_pieces(
    jobs: Mapping[int, Steps[int]],
    hosts: Iterable[int],
    begin: float,
    end: float,
    by: int,
    increments: Mapping[int, int],
    draws: Callable[[int, int], int],
) -> dict[tuple[float, float], int]:
    """The increase of what hosts draw with more jobs, or fewer, by intervals in which that is the same.

    Args:
        jobs: the jobs of each host that has some, over time.
        hosts: the hosts.
        begin: when the jobs begin.
        end: when they end.
        by: the digits of these jobs: negative ones for fewer.
        increments: how much more each host draws with jobs of the usual pace.
        draws: how much more a host draws with some jobs.
    """
    found: dict[tuple[float, float], int] = {}
    for host in hosts if begin < end else ():
        known = jobs.get(host)
        steps = [(begin, end, 0)] if known is None else known.within(begin, end)
        since, until, before = begin, begin, 0
        for first, last, number in steps:
            more = draws(host, number + by) - draws(host, number)
            if more != before:
                if before:
                    found[since, until] = found.get((since, until), 0) + before
                since, before = first, more
            until = last
        if before:
            found[since, until] = found.get((since, until), 0) + before
    return found


def python_closed_times(
    steps: Steps[int], most: int | Callable[[float, float], int], after: float, before: float, seconds: float
) -> list[tuple[float, float]]:
    """Between which times nothing can begin for some seconds, as a value exceeds another one some time then.

    Args:
        steps: the value over time.
        most: the other one, or what gives it, between two times.
        after: the first time at which the value counts.
        before: the time from which on it does not count.
        seconds: for how long something lasts.
    """
    found: list[tuple[float, float]] = []
    for first, last, value in steps.within(after, before):
        if value > (most if isinstance(most, int) else most(first, last)):
            since = first - seconds
            if found and since < found[-1][1]:
                found[-1] = found[-1][0], last
            else:
                found.append((since, last))
    return found


def python_change_jobs(
    jobs: defaultdict[int, Steps[int]], hosts: Iterable[int], begin: float, end: float, by: int, now: float
) -> None:
    """Note more jobs on hosts, or fewer, from one time to another one; what was before a time is forgotten."""
    for host in hosts:
        own = jobs[host]
        own.change(begin, end, by)
        own.forget(now)
        if len(own.times) == 1 and not own.values[0]:
            del jobs[host]


change_jobs, closed_times, pieces = python_change_jobs, python_closed_times, python_pieces
if not TYPE_CHECKING:
    with suppress(ImportError):
        from batprotocol.policies._profile import change_jobs, closed_times, pieces


# Slower power states: which one each host has at a pace, how long jobs take then, and the switches before and after.


def pstates_of(watts: HostWatts, pstate: int) -> list[int]:
    """The power states in which a host computes no faster than in its own one, which comes first, then the fastest.

    Args:
        watts: what it draws, and how fast it computes.
        pstate: its own power state.

    >>> from batprotocol.workloads.electricity import Watts
    >>> pstates_of(HostWatts((Watts(9, 9, 20),) * 4, (2e9, 3e9, 1e9, 2e9)), 0)
    [0, 2]
    """
    speeds = watts.speeds
    slower = [each for each in watts.computation_pstates if speeds[each] < speeds[pstate]]
    return [pstate, *sorted(slower, key=lambda each: -speeds[each])]


class Pacing:
    """The power states of hosts at each pace.

    Args:
        hosts: the watts and the speeds of each host.
        pstates: for each host, its power states: that of pace 0, and so on. The last one is also that of later paces.
    """

    def __init__(self, hosts: Mapping[int, HostWatts], pstates: Mapping[int, list[int]]) -> None:
        self._hosts, self._pstates = hosts, pstates
        self._change: Callable[[int, list[int]], None]
        self._slow: set[str] = set()  # the jobs that run slower than usual

    @property
    def count(self) -> int:
        """The number of paces."""
        return max(map(len, self._pstates.values()), default=1)

    def pstate(self, host: int, pace: int) -> int:
        """The power state of a host at a pace."""
        states = self._pstates[host]
        return states[min(pace, len(states) - 1)]

    def _speed(self, host: int, pace: int) -> float:
        return self._hosts[host].speeds[self.pstate(host, pace)]

    def is_possible(self, entry: SiteEntry, hosts: Iterable[int], pace: int) -> bool:
        """Whether an entry may run at a slower pace.

        Batsim kills a job at the walltime that it was submitted with, so only jobs run slower that surely end by then.

        Args:
            entry: the entry.
            hosts: the hosts that it may get, by their own numbers.
            pace: the pace.
        """
        job, profile = entry.job, entry.job.profile
        if entry.limit == math.inf or isinstance(profile, DelayProfile):
            return True
        if not isinstance(profile, ParallelTaskHomogeneousProfile) or profile.communication_amount:
            return False
        if job.run is not None and job.run.pieces is not None:
            return False
        length = length_of(profile, job.size, min((self._speed(host, pace) for host in hosts), default=0.0))
        return length is not None and length * (1 + 1e-6) + 1e-3 <= entry.limit

    def expected(self, entry: SiteEntry, hosts: Iterable[int], pace: int, before: int, seconds: float) -> float:
        """The seconds that an entry is expected to run on hosts at a pace.

        Args:
            entry: the entry.
            hosts: the hosts that it may get, by their own numbers.
            pace: the pace.
            before: another pace.
            seconds: the seconds that it is expected to run at that one.
        """
        if isinstance(entry.job.profile, DelayProfile):
            return seconds
        ratio = max((self._speed(host, before) / self._speed(host, pace) for host in hosts), default=1.0)
        return min(seconds * ratio, entry.limit)

    def switch(self, hosts: Iterable[int], pace: int) -> None:
        """Change the power states of hosts to those of a pace.

        Args:
            hosts: the hosts, by their own numbers.
            pace: the pace; 0: hosts go back to their own power states.
        """
        members: defaultdict[int, list[int]] = defaultdict(list)
        for host in hosts:
            if len(self._pstates[host]) > 1:
                members[self.pstate(host, pace)].append(host)
        for pstate, these in sorted(members.items()):
            self._change(pstate, these)

    def around(self, actions: Actions, pace_of: Callable[[str], int]) -> Actions:
        """Actions that execute jobs at their paces.

        Args:
            actions: the actions.
            pace_of: gives the pace of a job that is executed.
        """
        self._change = actions.change_pstate
        return _Paced(actions, self, pace_of)

    def began(self, job_id: str, hosts: list[int], pace: int) -> None:
        """A job is executed at a pace."""
        if pace:
            self._slow.add(job_id)
            self.switch(hosts, pace)

    def over(self, job_id: str, hosts: list[int]) -> None:
        """A job does not run any more: its hosts go back to their own power states."""
        if job_id in self._slow:
            self._slow.remove(job_id)
            self.switch(hosts, 0)


class _Paced:
    """Actions, which change the power states of the hosts of a job before it is executed."""

    def __init__(self, actions: Actions, pacing: Pacing, pace_of: Callable[[str], int]) -> None:
        self._actions, self._pacing, self._pace_of = actions, pacing, pace_of
        self.reject, self.kill, self.withdraw = actions.reject, actions.kill, actions.withdraw
        self.register, self.finish, self.switch = actions.register, actions.finish, actions.switch
        self.change_pstate, self.call_at = actions.change_pstate, actions.call_at

    def execute(self, job_id: str, hosts: Iterable[int], mapping: list[int] | None = None) -> str | None:
        """Execute a job at its pace; returns why that is not possible, or None."""
        own = list(hosts)
        self._pacing.began(job_id, own, self._pace_of(job_id))
        refusal = self._actions.execute(job_id, own, mapping)
        if refusal is not None:
            self._pacing.over(job_id, own)
        return refusal
