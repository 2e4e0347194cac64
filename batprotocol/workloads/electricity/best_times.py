"""The best times of a trace: the interval, or the pieces, with the least sum of values.

It finds what `Trace.best_start` does at the begins of steps. It takes less time where all steps are multiples of the
shortest one, and divides them into such.
"""

from __future__ import annotations

import math
from itertools import accumulate
from operator import sub

from batprotocol.workloads.electricity.trace import Trace

__all__ = ["BestTimes"]

_NEAR = 1e-9
"""Sums that differ by less, relatively, are computed again without rounding errors of long sums."""
_SHORTEST = 1.0
"""Seconds: no piece is shorter."""
_DAY = 86400.0
_MOST_EVEN = 16
"""Steps are divided into so many on average at most, so that all are as long."""


class BestTimes:
    """Finds the best times of a trace.

    Where the trace does not reach, nothing is known: no time is better than the earliest one.

    Args:
        trace: the values over time.

    >>> best = BestTimes(Trace([0.0, 3600.0, 7200.0], [300.0, 200.0, 250.0], 10800.0, "g/kWh"))
    >>> best.start(0.0, 9000.0, 1800.0), best.pieces(0.0, 10800.0, 5400.0)
    (3600.0, [(3600.0, 9000.0)])
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._step, self._values = _even(trace)
        self._count, self._greatest = len(self._values), max(map(abs, self._values))
        self._sums = [0.0, *accumulate(self._values)]
        self._low: dict[tuple[int, float], bool] = {}

    @property
    def is_constant(self) -> bool:
        """Whether no time is better than another one."""
        return min(self._values) == max(self._values)

    def known(self, begin: float, end: float) -> float:
        """The end of the time from `begin` on for which values are known, at most `end`; before `begin`: none are."""
        if self.trace.repeats:
            return end
        return min(end, self.trace.end) if begin >= self.trace.begin else -math.inf

    # An interval

    def start(self, earliest: float, latest: float, seconds: float) -> float:
        """The begin of the interval with the least mean value; of equal ones, the earliest.

        It begins at the earliest time, or with a step of the trace.

        Args:
            earliest: the first time at which it may begin.
            latest: the last time at which it may begin. Where the trace ends, intervals that reach beyond are not
                tried.
            seconds: how long it is, > 0.
        """
        latest = min(latest, self.known(earliest, latest + seconds) - seconds)
        if latest <= earliest:
            return earliest
        step, begin = self._step, self.trace.begin
        if not step:
            begins = (each.begin for each in self.trace.steps(earliest, latest))
            return self.trace.best_start(earliest, latest, seconds, [*begins, latest][1:-1])
        first, last = math.ceil((earliest - begin) / step), math.floor((latest - begin) / step)
        if first > last:
            return earliest
        sums = self._sums_of(first, last, seconds)
        least = min(sums)
        bound = least + _NEAR * (abs(least) + self._greatest)
        own = self._until(earliest + seconds) - self._until(earliest)
        near = [begin + (first + place) * step for place, value in enumerate(sums) if value <= bound]
        if own <= bound:
            near.insert(0, earliest)
        return near[0] if len(near) == 1 else self.trace.best_start(near[0], near[-1], seconds, near)

    def _sums_of(self, first: int, last: int, seconds: float) -> list[float]:
        """The sums of intervals that begin with the steps from `first` to `last`, in values times steps."""
        length = seconds / self._step
        whole = math.floor(length)
        rest = length - whole
        if rest < 1e-9 or rest > 1 - 1e-9:  # it is as long as some steps
            whole, rest = round(length), 0.0
        sums = list(map(sub, self._sums_in(first + whole, last + whole), self._sums_in(first, last)))
        if not rest:
            return sums
        after = self._values_in(first + whole, last + whole)
        return [total + rest * value for total, value in zip(sums, after, strict=True)]

    def _until(self, time: float) -> float:
        """The sum of all values before a time, in values times steps."""
        place = (time - self.trace.begin) / self._step
        turns, place = divmod(place, self._count) if self.trace.repeats else (0.0, place)
        number = min(math.floor(place), self._count - 1)
        return turns * self._sums[-1] + self._sums[number] + (place - number) * self._values[number]

    def _values_in(self, first: int, last: int) -> list[float]:
        """The values of the steps from `first` to `last`; a trace that repeats has one for each number."""
        count = self._count
        place = first % count
        if place + last - first < count:
            return self._values[place : place + last - first + 1]
        if not self.trace.repeats:  # a step after the last one has no weight
            return [*self._values[first:], *[0.0] * (last + 1 - count)]
        return [self._values[number % count] for number in range(first, last + 1)]

    def _sums_in(self, first: int, last: int) -> list[float]:
        """The sums of the values before each of these steps."""
        count, total = self._count, self._sums[-1]
        turns, place = divmod(first, count)
        if place + last - first <= count and not turns:
            return self._sums[place : place + last - first + 1]
        if not self.trace.repeats:
            return self._sums[first : last + 1]
        return [self._sums[number % count] + (number // count) * total for number in range(first, last + 1)]

    # Pieces

    def pieces(self, begin: float, end: float, seconds: float) -> list[tuple[float, float]]:
        """The times with the least values, together as long as is wanted, in their order.

        An interval without interruption is preferred where its sum is the same. Of equal values, the earliest are
        taken.

        Args:
            begin: the first time.
            end: the last time. If there is less time, the pieces are one interval that begins at `begin`.
            seconds: how long they are together, > 0.
        """
        end = self.known(begin, end)
        if end - begin <= seconds:
            return [(begin, begin + seconds)]
        taken: list[tuple[float, float]] = []
        left = seconds
        for step in sorted(self.trace.steps(begin, end), key=lambda step: (step.value, step.begin)):
            length = step.end - step.begin
            if taken and left < _SHORTEST:
                break
            if length >= left * (1 - 1e-12):
                taken.append(_part_of(step.begin, step.end, left, taken))
                left = 0.0
                break
            left -= length
            taken.append((step.begin, step.end))
        pieces = _longer(_merged(sorted(taken)), left, begin, end)
        start = self.start(begin, end - seconds, seconds)
        return [(start, start + seconds)] if self._is_as_good(start, seconds, pieces) else pieces

    def _is_as_good(self, start: float, seconds: float, pieces: list[tuple[float, float]]) -> bool:
        """Whether one interval has no larger sum than some pieces."""
        integral = self.trace.integral
        least = sum(integral(begin, end) for begin, end in pieces)
        return integral(start, start + seconds) <= least + _NEAR * abs(least)

    # Low values

    def low_from(self, time: float, latest: float, quantile: float) -> float:
        """The first time at which the value is low; `latest` if there is none before.

        Args:
            time: the first time.
            latest: the last time.
            quantile: a value is low if it is at most this quantile, from 0 to 1, of the values of the day from it on.
        """
        while time < latest and not self.is_low(time, quantile):
            time = self.trace.next_change(time)
        return min(time, latest)

    def high_from(self, time: float, latest: float, quantile: float) -> float:
        """The first time at which the value is not low any more; infinity if there is none before `latest`.

        The arguments are those of `low_from`.
        """
        while time < latest and self.is_low(time, quantile):
            time = self.trace.next_change(time)
        return time if time < latest else math.inf

    def is_low(self, time: float, quantile: float) -> bool:
        """Whether the value at a time is at most a quantile of the values of the day from it on; or is not known.

        Args:
            time: the time.
            quantile: from 0 to 1. Each value counts as long as it holds.
        """
        trace = self.trace
        if self.known(time, math.nextafter(time, math.inf)) <= time:
            return True
        begin = time if not self._step else trace.begin + math.floor((time - trace.begin) / self._step) * self._step
        key = (math.floor((time - trace.begin) / self._step) % self._count, quantile) if self._step else None
        if key is not None and key in self._low:
            return self._low[key]
        value, held, lower = trace.at(time), 0.0, 0.0
        begin = begin if trace.repeats else max(begin, trace.begin)
        for step in trace.steps(begin, self.known(begin, begin + _DAY)):
            held += step.end - step.begin
            lower += step.end - step.begin if step.value < value else 0.0
        found = lower <= quantile * held
        if key is not None:
            self._low[key] = found
        return found


def _even(trace: Trace) -> tuple[float, list[float]]:
    """The values of a trace in steps that are all as long, and how long: the shortest of its steps.

    If that does not divide the others, or not by little, the length is 0, and the values are those of its own steps.
    """
    ends = [*trace.times[1:], trace.end]
    step = min(end - begin for begin, end in zip(trace.times, ends, strict=True))
    if trace.period / step > _MOST_EVEN * len(trace.times):
        return 0.0, list(trace.values)
    places = [(time - trace.begin) / step for time in (*trace.times, trace.end)]
    numbers = [round(place) for place in places]
    if any(abs(place - number) > 1e-9 * max(number, 1) for place, number in zip(places, numbers, strict=True)):
        return 0.0, list(trace.values)
    counts = map(sub, numbers[1:], numbers)
    return trace.period / numbers[-1], [
        value for value, count in zip(trace.values, counts, strict=True) for _ in range(count)
    ]


def _part_of(begin: float, end: float, seconds: float, others: list[tuple[float, float]]) -> tuple[float, float]:
    """The part of a step that is taken: its end, if only the step after it is taken, too; else its begin."""
    if any(other[0] == end for other in others) and not any(other[1] == begin for other in others):
        return end - seconds, end
    return begin, begin + seconds


def _merged(pieces: list[tuple[float, float]]) -> list[tuple[float, float]]:
    merged = pieces[:1]
    for begin, end in pieces[1:]:
        if begin == merged[-1][1]:
            merged[-1] = merged[-1][0], end
        else:
            merged.append((begin, end))
    return merged


def _longer(pieces: list[tuple[float, float]], seconds: float, begin: float, end: float) -> list[tuple[float, float]]:
    """Pieces in a time, of which one is longer by a short rest: the last one with space behind it, or the first."""
    if not seconds:
        return pieces
    followers = [*(piece[0] for piece in pieces[1:]), end]
    for place in reversed(range(len(pieces))):
        first, last = pieces[place]
        if last + seconds <= followers[place]:
            return [*pieces[:place], (first, last + seconds), *pieces[place + 1 :]]
    return [(max(pieces[0][0] - seconds, begin), pieces[0][1]), *pieces[1:]]
