"""Sleeps: each step is subtracted from the remaining time of each sleep, with the rounding of doubles.

This need not be done one by one. Between two powers of two, all doubles are multiples of one unit, so a step takes the
same whole number of units from each of them. Only a step in the middle between two multiples takes one unit more or
less, which depends on their last bits. So sleeps are in groups by their exponents. Each group stores the units that it
has lost in all, and the cost of a step depends on the number of groups, not on the number of sleeps. If a sleep comes
near the lower end of its group, the step is subtracted from it alone, and it moves to another group.
"""

from __future__ import annotations

from bisect import insort
from heapq import heapify, heappop, heappush
from math import frexp, inf, ldexp
from typing import Final

from batprotocol._util.deprecation import OldName

__all__ = ["TIMING", "Sleeps"]

TIMING: Final = 1e-9
"""A sleep or a latency ends when less than this remains, in seconds, by default."""
_DIGITS: Final = 52
_MANY_DEAD: Final = 64


class _SleepGroup:
    """The sleeps of which 2**exponent seconds or more remain, and less than twice as many.

    Attributes:
        unit: the unit of which they are multiples, in seconds.
        scale: the number of units in a second.
        least: a sleep of this number of units or fewer may leave the group.
        lost: the number of units that each sleep has lost since the group was made.
        heap: for each sleep its units at that time, and its number.
    """

    __slots__ = ("exponent", "heap", "least", "lost", "scale", "unit")

    def __init__(self, exponent: int, timing: float) -> None:
        self.exponent = exponent
        self.unit = ldexp(1.0, exponent - _DIGITS)
        self.scale = ldexp(1.0, _DIGITS - exponent)
        self.least = max(1 << _DIGITS, int(timing * self.scale) + 1)
        self.lost = 0
        self.heap: list[tuple[int, int]] = []

    def __lt__(self, other: _SleepGroup) -> bool:
        return self.exponent < other.exponent


class Sleeps:
    """All sleeps, by number.

    Args:
        timing: a sleep ends when less than this remains, in seconds.
    """

    __slots__ = ("_awake", "_by_exponent", "_groups", "_numbers", "_short", "timing")

    def __init__(self, timing: float) -> None:
        self.timing = timing
        self._numbers: set[int] = set()
        self._groups: list[_SleepGroup] = []
        self._by_exponent: dict[int, _SleepGroup] = {}
        self._short: list[tuple[float, int]] = []
        self._awake = 0

    def __contains__(self, number: int) -> bool:
        return number in self._numbers

    def add(self, number: int, seconds: float) -> None:
        """Add a sleep of more than 0 seconds."""
        self._numbers.add(number)
        self._insert(number, seconds)

    def _insert(self, number: int, seconds: float) -> None:
        if seconds < self.timing:  # it ends with the next step, however short that is
            self._short.append((seconds, number))
            return
        if seconds == inf:
            return
        exponent = frexp(seconds)[1] - 1
        group = self._by_exponent.get(exponent)
        if group is None:
            group = self._by_exponent[exponent] = _SleepGroup(exponent, self.timing)
            insort(self._groups, group)
        heappush(group.heap, (int(seconds * group.scale) + group.lost, number))

    def remove(self, number: int) -> None:
        """Remove a sleep."""
        self._numbers.remove(number)
        self._awake += 1
        if self._awake > _MANY_DEAD and self._awake > len(self._numbers):
            self._forget()

    def _forget(self) -> None:
        """Drop the sleeps that were removed."""
        for group in self._groups:
            group.heap = [each for each in group.heap if each[1] in self._numbers]
            heapify(group.heap)
        self._short = [each for each in self._short if each[1] in self._numbers]
        self._drop_empty()
        self._awake = 0

    def _drop_empty(self) -> None:
        self._groups = [group for group in self._groups if group.heap]
        self._by_exponent = {group.exponent: group for group in self._groups}

    def earliest(self) -> float:
        """The smallest remaining time; infinite if there is no sleep."""
        numbers = self._numbers
        if self._short:
            self._short = [each for each in self._short if each[1] in numbers]
            if self._short:
                return min(self._short)[0]
        while self._groups:
            group = self._groups[0]
            heap = group.heap
            while heap and heap[0][1] not in numbers:
                heappop(heap)
                self._awake -= 1
            if heap:
                return (heap[0][0] - group.lost) * group.unit
            self._drop_empty()
        return inf

    def subtract(self, seconds: float) -> list[int]:
        """Advance time by at most `earliest`, and return the numbers of the sleeps that have ended."""
        ended: list[int] = []
        moved: list[tuple[float, int]] = []
        if self._short:
            ended = [number for _, number in self._short]
            self._short = []
        for group in self._groups if seconds > 0.0 else ():
            amount = seconds * group.scale
            whole = round(amount)
            before, heap, unit = group.lost, group.heap, group.unit
            if amount - whole == 0.5 or whole - amount == 0.5:  # the last bit of each decides
                moved += [((units - before) * unit - seconds, number) for units, number in heap]
                heap.clear()
                continue
            group.lost = lost = before + whole
            while heap and heap[0][0] - lost <= group.least:
                units, number = heappop(heap)
                moved.append(((units - before) * unit - seconds, number))
        if moved:
            for left, number in moved:
                if left < self.timing:
                    ended.append(number)
                elif number in self._numbers:
                    self._insert(number, left)
            self._drop_empty()
        if ended:
            ended = [number for number in ended if number in self._numbers]
            self._numbers.difference_update(ended)
        return ended

    left = OldName("remaining")

    def remaining(self) -> dict[int, float]:
        """The remaining seconds of each sleep."""
        found = dict.fromkeys(sorted(self._numbers), inf)
        for group in self._groups:
            for units, number in group.heap:
                if number in found:
                    found[number] = (units - group.lost) * group.unit
        found.update((number, seconds) for seconds, number in self._short if number in found)
        return found
