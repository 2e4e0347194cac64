"""The watts that jobs may draw over time: the cap of a machine without the watts of its idle hosts.

Watts are whole numbers of microwatts, so that sums are exact. This module must not know jobs.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from batprotocol.workloads.electricity import Trace

__all__ = ["Allowance", "micro"]

_MOST_KNOWN: Final = 4096


def micro(watts: float) -> int:
    """Watts in microwatts.

    >>> micro(95.1)
    95100000
    """
    return round(watts * 1e6)


class _Runs(NamedTuple):
    """The times in which an amount is allowed: their begins, their ends, and the longest one from each one on."""

    begins: list[float]
    ends: list[float]
    longest: list[float]


class Allowance:
    """The watts that jobs may draw over time.

    Args:
        cap: the watts that the machine may draw at most. Outside of its times, its first and last values hold.
        idle: what it draws without jobs, in microwatts.

    >>> allowance = Allowance(Trace([0.0, 60.0], [500.0, 300.0], math.inf, "W"), micro(200.0))
    >>> allowance.least(0.0, 60.0), allowance.least(0.0, 61.0), allowance.lasts(micro(200.0), 61.0, 0.0)
    (300000000, 100000000, False)
    """

    def __init__(self, cap: Trace, idle: int) -> None:
        self._times, self._values = list(cap.times), [micro(value) - idle for value in cap.values]
        self._is_constant = len(self._values) == 1
        self._period = cap.period if cap.repeats else math.inf
        least = math.inf
        self._rest: list[float] = []  # the least from each step on
        for value in reversed(self._values):
            least = min(least, value)
            self._rest.append(least)
        self._rest.reverse()
        before = self._values[-1] if self.repeats else self._values[0]
        values = zip(self._times, [before, *self._values], self._values, strict=False)
        self._rises = [time for time, less, more in values if more > less]
        self._known: dict[int, _Runs] = {}

    @property
    def period(self) -> float:
        """The time after which it begins anew; infinity: it does not."""
        return self._period

    @property
    def repeats(self) -> bool:
        """Whether it begins anew again and again."""
        return self._period < math.inf

    def at(self, time: float) -> int:
        """The amount that is allowed at a time."""
        if self._is_constant:
            return self._values[0]
        return self._values[self._place(self._folded(time))]

    def least(self, begin: float, end: float) -> int:
        """The amount that is allowed throughout an interval, also one without an end."""
        if self._is_constant:
            return self._values[0]
        if end == math.inf or (self.repeats and end - begin >= self._period):
            return int(self._rest[0 if self.repeats else self._place(begin)])
        return min(self._between(begin, end))

    def greatest(self, begin: float, end: float) -> int:
        """The most that is allowed at any time of an interval, also one without an end."""
        if self._is_constant:
            return self._values[0]
        if self.repeats and end - begin >= self._period:
            return max(self._values)
        return max(self._between(begin, end))

    def _between(self, begin: float, end: float) -> list[int]:
        """The amounts of an interval, which is shorter than a period."""
        first = self._folded(begin)
        place, last = self._place(first), first + (end - begin)
        if self.repeats and last > self._times[0] + self._period:
            rest = bisect_left(self._times, last - self._period)
            return self._values[place:] + self._values[: max(rest, 1)]
        return self._values[place : max(bisect_left(self._times, last), place + 1)]

    def most(self, now: float) -> int:
        """The most that is allowed at any time from now on."""
        return max(self._values if self.repeats else self._values[self._place(now) :])

    def next_step(self, after: float) -> float:
        """The first time after another one at which something else may be allowed; infinity: never."""
        if after == -math.inf:
            return self._times[0]
        folded = self._folded(after)
        place = bisect_right(self._times, folded)
        if place < len(self._times):
            return max(after + (self._times[place] - folded), math.nextafter(after, math.inf))
        return after + (self._times[0] + self._period - folded) if self.repeats else math.inf

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
            turn = math.floor((after - self._times[0]) / self._period) * self._period
        while rises and turn + rises[0] <= before:
            first = bisect_right(rises, after - turn)
            yield from (turn + time for time in rises[first:] if after < turn + time <= before)
            if not self.repeats:
                return
            turn += self._period

    def _runs(self, amount: int) -> _Runs:
        found = self._known.get(amount)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[amount] = self._new_runs(amount)
        return found

    def _new_runs(self, amount: int) -> _Runs:
        begins: list[float] = []
        ends: list[float] = []
        after = [*self._times[1:], self._times[0] + self._period]
        for begin, end, value in zip(self._times, after, self._values, strict=True):
            if value < amount:
                continue
            if ends and ends[-1] == begin:
                ends[-1] = end
            else:
                begins.append(begin if begins or self.repeats or begin > self._times[0] else -math.inf)
                ends.append(end)
        if self.repeats and len(begins) > 1 and begins[0] == self._times[0] and ends[-1] == after[-1]:
            ends[-1] += ends.pop(0) - begins.pop(0)  # it goes on at the begin
        longest: list[float] = []
        for begin, end in zip(reversed(begins), reversed(ends), strict=True):
            longest.append(max(end - begin, longest[-1] if longest else 0.0))
        return _Runs(begins, ends, longest[::-1])

    # Times

    def _folded(self, time: float) -> float:
        """A time of the first turn at which the same is allowed."""
        if not self.repeats:
            return time
        folded = time - math.floor((time - self._times[0]) / self._period) * self._period
        return folded if folded < self._times[0] + self._period else self._times[0]

    def _place(self, time: float) -> int:
        return max(bisect_right(self._times, time) - 1, 0)
