"""Numbers and levels over time as Batsim computes them: 64 bits of precision on every platform.

A number is a pair of doubles: the nearest double, and the remainder, which has eleven bits. Each operation rounds its
exact result once, half to even. Numbers of 1e290 and more are computed as doubles, and numbers nearer to 0 than 1e-250
can lose their last digits.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf, nan
from typing import Final, TypeAlias

from mypy_extensions import mypyc_attr

__all__ = [
    "SHORTEST",
    "JobTotals",
    "Pair",
    "Spread",
    "StepSeries",
    "Times",
    "difference",
    "plus",
    "quotient",
    "times",
    "total",
]


Pair: TypeAlias = tuple[float, float]
Times: TypeAlias = tuple[Pair, Pair, Pair, Pair]
SHORTEST: Final = 1e-5
"""The seconds of a job without duration in result files. With the rest below, they are nearer to 1/100000."""

# 2**53: of 64 bits, the low eleven are in the second double of a pair, in units of the last of them.
_BITS: Final = 9007199254740992.0
_LAST: Final = 0.000732421875  # 1.5 * 2**-11
_SPLIT: Final = 134217729.0  # 2**27 + 1
_HUGE: Final = 1e290
_SHORTEST_REST: Final = -8.180816258149444e-22


def total(values: Sequence[float]) -> Pair:
    """The sum of numbers, rounded after each."""
    high = low = 0.0
    for value in values:
        high, low = plus((high, low), (value, 0.0))
    return high, low


def difference(one: Pair, other: Pair) -> Pair:
    """The difference of two numbers."""
    return plus(one, (-other[0], -other[1]))


def plus(one: Pair, other: Pair) -> Pair:
    """The sum of two numbers."""
    high, value = one[0], other[0]
    added = high + value
    if not abs(added) < _HUGE:
        return added, 0.0
    part = added - high
    rest = (high - (added - part)) + (value - part) + (one[1] + other[1])
    return _rounded(added, rest)


def quotient(one: Pair, other: Pair) -> Pair:
    """A number divided by another one, which is not 0."""
    divisor = other[0]
    found = one[0] / divisor
    if not (abs(found) < _HUGE and abs(one[0]) < _HUGE and abs(divisor) < _HUGE):
        return found, 0.0
    # The remainder: the product of both doubles is exact as a pair.
    product = found * divisor
    scaled = found * _SPLIT
    upper = scaled - (scaled - found)
    lower = found - upper
    scaled = divisor * _SPLIT
    above = scaled - (scaled - divisor)
    below = divisor - above
    lacks = lower * below - (((product - upper * above) - lower * above) - upper * below)
    left = (((one[0] - product) - lacks) + one[1]) - found * other[1]
    return _rounded(found, left / divisor)


def times(submission: float, start: float, runtime: float, rest: float) -> Times:
    """Batsim's times of a job: its end, waiting time, turnaround time, and turnaround time / execution time.

    Args:
        submission: its submission time, in seconds.
        start: its starting time, in seconds.
        runtime: its execution time in seconds; 0 counts as 1e-5.
        rest: the remainder of the execution time.
    """
    ran = (runtime, rest) if runtime != 0.0 else (SHORTEST, _SHORTEST_REST)
    submitted = (-submission, 0.0)
    finish = plus((start, 0.0), ran)
    turnaround = plus(finish, submitted)
    return finish, plus((start, 0.0), submitted), turnaround, quotient(turnaround, ran)


def _rounded(high: float, rest: float) -> Pair:
    """A double and its remainder, rounded to 64 bits."""
    near = high + rest
    low = rest - (near - high)
    if low == 0.0:
        return near, 0.0
    scaled = near * (_BITS / 2.0 + 1.0)
    power = abs(scaled - (1.0 - 1.0 / _BITS) * scaled)  # the power of two that `near` begins with
    if power == abs(near) and (low < 0.0) == (near > 0.0):
        power /= 2.0
    unit = power * _LAST
    low = (low + unit) - unit
    nearest = near + low
    return nearest, low - (nearest - near)


# Levels over time


_BINS = 1024
_MOST_LATER = 512
"""The number of intervals that are kept before they are added to bins, so that few intervals need no bins."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class StepSeries:
    """The sum of amounts over intervals of time, as means over equal bins. Bins grow with time.

    Intervals that begin before time 0 count from 0 on.

    >>> series = StepSeries()
    >>> series.add(0.0, 10.0, 4)
    >>> series.add(5.0, 10.0, 2)
    >>> series.means(10.0, 2), series.area
    ([4.0, 6.0], 50.0)
    """

    def __init__(self) -> None:
        self.area = 0.0
        """The sum of amount times seconds of all intervals."""
        self._later: list[tuple[float, float, float]] = []
        self._binned = 0.0  # the area of the intervals that are in bins
        self._end = 0.0
        self._width = 0.0  # until something is added
        self._areas = array("d", bytes(8 * _BINS))  # of intervals that begin or end inside a bin, in that bin
        self._steps = array("d", bytes(8 * (_BINS + 1)))  # the change of the level at the beginning of a bin

    def add(self, start: float, end: float, amount: float) -> None:
        """Let `amount` hold from `start` to `end`, in seconds."""
        if start < 0.0:
            start = 0.0
        if end <= start:
            return
        self.area += amount * (end - start)
        self._later.append((start, end, amount))
        if len(self._later) >= _MOST_LATER:
            self._settle()

    def _settle(self) -> None:
        """Add the intervals that were kept to bins."""
        for start, end, amount in self._later:
            self._put(start, end, amount)
        self._later.clear()

    def _put(self, start: float, end: float, amount: float) -> None:
        area = amount * (end - start)
        if end > self._end:
            self._end = end
            self._width = self._width or 2 * end / _BINS
            if end >= self._width * _BINS * _BINS:
                self._gather(end)
            while end >= self._width * _BINS:
                self._double()
        self._binned += area
        areas, steps, width = self._areas, self._steps, self._width
        first, last = int(start / width), int(end / width)
        if first == last:  # as for most intervals, once bins have grown
            areas[first] += area
            return
        areas[first] += amount * ((first + 1) * width - start)
        steps[first + 1] += amount
        areas[last] -= amount * ((last + 1) * width - end)
        steps[last + 1] -= amount

    def _gather(self, end: float) -> None:
        """Merge all bins into one, because the next interval is so long that each bin will be longer."""
        while end >= self._width * _BINS:
            self._width *= 2
        self._areas = array("d", bytes(8 * _BINS))
        self._areas[0] = self._binned
        self._steps = array("d", bytes(8 * (_BINS + 1)))

    def _double(self) -> None:
        """Merge every two bins."""
        areas, steps, width = self._areas, self._steps, self._width
        odd = steps[1::2]
        pairs = zip(areas[::2], areas[1::2], odd, strict=True)
        self._areas = array("d", [one + other + width * step for one, other, step in pairs])
        self._areas.frombytes(bytes(8 * (_BINS // 2)))
        self._steps = array("d", [one + other for one, other in zip(steps[::2], [0.0, *odd], strict=True)])
        self._steps.frombytes(bytes(8 * (_BINS // 2)))
        self._width = 2 * width

    def means(self, until: float, count: int) -> list[float]:
        """The mean level in each of `count` equal parts of the time from 0 to `until`."""
        self._settle()
        totals = [0.0]
        level = 0.0
        for bin in range(_BINS):
            level += self._steps[bin]
            totals.append(totals[-1] + self._areas[bin] + level * self._width)
        edges = [self._total(totals, until * (part / count)) for part in range(count + 1)]
        length = until / count
        return [(edges[part + 1] - edges[part]) / length if length > 0 else 0.0 for part in range(count)]

    def _total(self, totals: list[float], time: float) -> float:
        """The area up to a time. Inside a bin, it is assumed to be spread evenly."""
        if time >= self._end:
            return totals[-1]
        bin = int(time / self._width)
        begin = bin * self._width
        length = min(begin + self._width, self._end) - begin
        return totals[bin] + (totals[bin + 1] - totals[bin]) * ((time - begin) / length)


# Totals over jobs


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Spread:
    """Sum and maximum of a number, with 64 bits."""

    __slots__ = ("_rest", "maximum", "total")

    def __init__(self) -> None:
        self.total = 0.0
        self._rest = 0.0
        self.maximum = 0.0

    def add(self, value: Pair) -> None:
        """Add a number."""
        self.total, self._rest = plus((self.total, self._rest), value)
        if value[0] > self.maximum:
            self.maximum = value[0]

    def mean(self, count: int) -> float:
        """The sum divided by a count, as Batsim does: it divides the nearest double; NaN for 0."""
        return self.total / count if count else nan


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class JobTotals:
    """The totals over jobs that ran. `Statistics` describes its attributes.

    Args:
        tau: the minimum run time for bounded slowdowns, in seconds.
    """

    def __init__(self, tau: float) -> None:
        self._tau = tau
        self.waiting = Spread()
        self.slowdown = Spread()
        self.turnaround = Spread()
        self.bounded_slowdown = Spread()
        self.first_submission = inf
        self.last_submission = -inf
        self.work = 0.0
        self.finish: Pair = (0.0, 0.0)
        self.computing = StepSeries()
        self.queue = StepSeries()
        self._waiting: list[tuple[float, float]] = []  # by their starts, jobs that may still wait at the end

    def add(self, submission: float, start: float, runtime: float, found: Times, hosts: int) -> None:
        """Add a job: its submission, its start and its run time in seconds, its other times, and its hosts."""
        finish, waiting, turnaround, slowdown = found
        self.waiting.add(waiting)
        self.turnaround.add(turnaround)
        self.slowdown.add(slowdown)
        tau = self._tau
        bounded = turnaround[0] / (tau if tau > runtime else runtime)
        self.bounded_slowdown.add((bounded if bounded > 1.0 else 1.0, 0.0))
        if submission < self.first_submission:
            self.first_submission = submission
        if submission > self.last_submission:
            self.last_submission = submission
        last = self.finish
        if finish[0] > last[0] or (finish[0] == last[0] and finish[1] > last[1]):
            self.finish = finish
        self.work += hosts * runtime
        heap = self._waiting
        if start > self.last_submission:
            heappush(heap, (start, submission))
        while heap and heap[0][0] <= self.last_submission:
            heappop(heap)
        self.queue.add(submission, start, 1.0)
        self.computing.add(start, finish[0], float(hosts))

    def waiting_at_end(self) -> int:
        """The number of jobs that still waited when the last one was submitted."""
        count = 0
        for _, submission in self._waiting:
            if submission < self.last_submission:
                count += 1
        return count
