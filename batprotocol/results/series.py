"""A level over time (hosts in use, waiting jobs), in bounded memory, also for long simulations."""

from __future__ import annotations

from array import array

from mypy_extensions import mypyc_attr

__all__ = ["StepSeries"]

_BINS = 1024


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
        area = amount * (end - start)
        if end > self._end:
            self._end = end
            self._width = self._width or 2 * end / _BINS
            if end >= self._width * _BINS * _BINS:
                self._gather(end)
            while end >= self._width * _BINS:
                self._double()
        self.area += area
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
        self._areas[0] = self.area
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
