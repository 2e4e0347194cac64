"""A value over time, such as the carbon intensity of electricity or its price: it changes in steps.

This module must not know files, and what schedulers do about it.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from batprotocol.errors import InputError

__all__ = ["JOULES_PER_KWH", "Step", "Trace"]

JOULES_PER_KWH: Final = 3.6e6
"""The joules of a kilowatt hour."""
_MOST_STEPS: Final = 10_000_000


class Step(NamedTuple):
    """A value and the time in which it holds: from `begin` to before `end`, in seconds."""

    begin: float
    end: float
    value: float


class Trace:
    """A value over time. Between two times it is the one that was given for the earlier of them.

    Args:
        times: the times at which values begin, in seconds, ascending.
        values: the value from each time on.
        end: the time up to which the last value holds, later than the last time.
        unit: the unit of the values, such as `g/kWh`.
        repeats: whether the trace begins anew at its end, and again, without end.

    Raises:
        InputError: there are no values, or times do not ascend.

    >>> trace = Trace([0.0, 3600.0], [300.0, 200.0], 7200.0, "g/kWh")
    >>> trace.at(3599.0), trace.at(3600.0), trace.integral(1800.0, 5400.0)
    (300.0, 200.0, 900000.0)
    """

    def __init__(
        self, times: Iterable[float], values: Iterable[float], end: float, unit: str, *, repeats: bool = False
    ) -> None:
        self.times, self.values = array("d", times), array("d", values)
        self.end, self.unit, self.repeats = end, unit, repeats
        if not self.times or len(self.times) != len(self.values):
            raise InputError(f"expected a value for each time, got {len(self.values)} for {len(self.times)} times")
        if len(self.times) > _MOST_STEPS:
            raise InputError(f"expected at most {_MOST_STEPS:,} values, got {len(self.times):,}")
        if not all(one < two for one, two in pairwise([*self.times, end])):
            raise InputError("expected ascending times")
        total = 0.0
        self._sums = array("d", [0.0])  # the integral up to the end of each step
        for begin, after, value in zip(self.times, [*self.times[1:], end], self.values, strict=True):
            total += value * (after - begin)
            self._sums.append(total)

    @property
    def begin(self) -> float:
        """The first time, in seconds."""
        return self.times[0]

    @property
    def period(self) -> float:
        """The time from the begin to the end, in seconds."""
        return self.end - self.times[0]

    def moved(self, seconds: float, *, repeats: bool | None = None) -> Trace:
        """The same values so many seconds later.

        Args:
            seconds: by how much; negative: earlier.
            repeats: whether the trace repeats; None: as this one does.
        """
        again = self.repeats if repeats is None else repeats
        return Trace((time + seconds for time in self.times), self.values, self.end + seconds, self.unit, repeats=again)

    def repeated(self, seconds: float) -> Trace:
        """The same values, which begin anew after some time, and again, without end.

        Args:
            seconds: the time from one begin to the next, longer than that from the first value to the last one.

        Raises:
            InputError: the last value begins later.
        """
        if not seconds > self.times[-1] - self.begin:
            raise InputError(
                f"expected a time of more than {self.times[-1] - self.begin:.15g} s from the first value to the first "
                f"one again, got {seconds:.15g} s"
            )
        return Trace(self.times, self.values, self.begin + seconds, self.unit, repeats=True)

    def sampled(self, seconds: float) -> Trace:
        """The trace of the values at all multiples of a time; the values in between are dropped.

        Args:
            seconds: the distance of the values, > 0.

        Raises:
            InputError: no multiple is inside the trace, or there would be too many.
        """
        if not seconds > 0 or self.period / seconds > _MOST_STEPS:
            raise InputError(f"expected a distance of values that leaves at most {_MOST_STEPS:,}, got {seconds:g} s")
        first, last = math.ceil(self.begin / seconds), math.ceil(self.end / seconds)
        times = [place * seconds for place in range(first, last)]
        return Trace(times, map(self.at, times), max(self.end, last * seconds), self.unit, repeats=self.repeats)

    # Values

    def at(self, time: float) -> float:
        """The value at a time.

        Raises:
            InputError: the trace does not reach to this time.
        """
        return self.values[self._place(self._folded(time)[0])]

    def next_change(self, time: float) -> float:
        """The first time after `time` at which another value may begin; infinity: none is known."""
        if time < self.begin and not self.repeats:
            return self.begin
        if time >= self.end and not self.repeats:
            return math.inf
        folded, offset = self._folded(time)
        place = bisect_right(self.times, folded)
        found = (self.times[place] if place < len(self.times) else self.end) + offset
        if found <= time:  # the sum was rounded
            found = math.nextafter(time, math.inf)
        return found

    def steps(self, begin: float, end: float) -> Iterator[Step]:
        """The steps between two times; the first begins and the last ends there.

        Raises:
            InputError: the trace does not reach over the whole time.
        """
        self._check(begin, end)
        while begin < end:
            after = min(self.next_change(begin), end)
            yield Step(begin, after, self.at(begin))
            begin = after

    def integral(self, begin: float, end: float) -> float:
        """The sum of value times seconds between two times, exact to some rounding errors of this sum.

        Raises:
            InputError: the trace does not reach over the whole time.
        """
        if end <= begin:
            return 0.0
        self._check(begin, end)
        (first, _), (last, _) = self._folded(begin), self._folded(end, is_end=True)
        turns = round((end - begin - (last - first)) / self.period)
        return turns * self._sums[-1] + (self._within(first, last) if first <= last else -self._within(last, first))

    def _within(self, begin: float, end: float) -> float:
        """The integral between two times inside the trace. Short times do not lose digits to the long sums."""
        first, last = self._place(begin), bisect_left(self.times, end) - 1
        if first >= last:
            return (end - begin) * self.values[first]
        values, times = self.values, self.times
        inner = self._sums[last] - self._sums[first + 1]
        return (times[first + 1] - begin) * values[first] + inner + (end - times[last]) * values[last]

    def mean(self, begin: float, end: float) -> float:
        """The mean value between two times; that at the time if they are one."""
        return self.integral(begin, end) / (end - begin) if end > begin else self.at(begin)

    def weighted(self, points: Iterable[tuple[float, float]]) -> float:
        """The sum of an amount that grows over time, each part times the value at its time.

        Args:
            points: times in ascending order, and the amount since the beginning. It grows evenly in between.

        Returns:
            With joules and g/kWh, grams times `JOULES_PER_KWH`.

        >>> joules = [(0.0, 0.0), (3600.0, 3.6e6), (7200.0, 7.2e6)]  # a kilowatt for two hours
        >>> Trace([0.0, 3600.0], [300.0, 200.0], 7200.0, "g/kWh").weighted(joules) / JOULES_PER_KWH
        500.0
        """
        total, before = 0.0, None
        since, until, value = math.inf, -math.inf, 0.0  # the step that was used last: amounts often change faster
        for time, amount in points:
            if before is not None and amount != before[1]:
                begin, less = before
                if not since <= begin < until and (time > begin or time < self.end or self.repeats):
                    since, until, value = begin, self.next_change(begin), self.at(begin)
                if since <= begin and time <= until:
                    total += (amount - less) * value
                elif time > begin:
                    total += (amount - less) / (time - begin) * self.integral(begin, time)
                else:
                    total += (amount - less) * self.at(time)
            before = time, amount
        return total

    def best_start(self, earliest: float, latest: float, seconds: float, grid: Sequence[float] | None = None) -> float:
        """The begin of the interval with the least mean value; of equal ones, the earliest.

        Args:
            earliest: the first time at which it may begin.
            latest: the last time at which it may begin, >= `earliest`.
            seconds: how long it is.
            grid: the times that are tried; None: all times, as the least one begins or ends with a step.

        Raises:
            InputError: the trace does not reach over the whole time.
        """
        tried = [earliest, *(grid if grid is not None else self._corners(earliest, latest, seconds))]
        best, least = earliest, math.inf
        for start in sorted(each for each in tried if earliest <= each <= latest):
            value = self.integral(start, start + seconds)
            if value < least - 1e-12 * abs(least) if least < math.inf else True:
                best, least = start, value
        return best

    def _corners(self, earliest: float, latest: float, seconds: float) -> Iterator[float]:
        """The times at which an interval begins, or ends, with a step: one of them has the least integral."""
        yield latest
        for step in self.steps(earliest, latest):
            yield step.begin
        for step in self.steps(earliest + seconds, latest + seconds):
            yield step.begin - seconds

    # Times

    def _place(self, time: float) -> int:
        return max(bisect_right(self.times, time) - 1, 0)

    def _check(self, begin: float, end: float) -> None:
        if self.repeats or (begin >= self.begin and end <= self.end):
            return
        if begin < self.begin:
            raise InputError(f"the trace begins at {self.begin:.15g} s, and its value at {begin:.15g} s is needed")
        raise InputError(f"the trace ends at {self.end:.15g} s, and its values up to {end:.15g} s are needed")

    def _folded(self, time: float, *, is_end: bool = False) -> tuple[float, float]:
        """A time inside the trace with the same value, and how much later the given one is."""
        if not self.repeats:
            self._check(time, time if is_end or time < self.end else math.nextafter(time, math.inf))
            return time, 0.0
        turns = math.floor((time - self.begin) / self.period)
        folded = time - turns * self.period
        if folded < self.begin:
            folded = self.begin
        elif folded >= self.end:
            turns, folded = turns + 1, self.begin
        return folded, time - folded
