"""The availability profile, in which reservations are made: the expected number of free hosts over time.

The times at which the number changes lie in blocks. Each block records its smallest and its largest number, and an
amount to add to all of its numbers. So a search for a gap passes over most blocks, and a reservation of any length
changes the times of two blocks only (an availability profile as of Mu'alem and Feitelson). It must not know jobs.

If the extension module in C was compiled, its profile replaces this one. Both behave alike.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

__all__ = ["Profile", "PythonProfile"]

_LARGEST: Final = 128
"""The maximum number of times in a block. A larger block is split into two."""


class _Block:
    """The number of free hosts from each of some times on: `free[i] + added`."""

    __slots__ = ("added", "free", "highest", "lowest", "times")

    def __init__(self, times: list[float], free: list[int], added: int) -> None:
        self.times = times
        self.free = free
        self.added = added
        self.lowest = min(free) + added
        self.highest = max(free) + added

    def add(self, first: int, last: int, by: int) -> None:
        """Add to the numbers of the times from `first` on, before `last`."""
        free = self.free
        for place in range(first, last):
            free[place] += by
        self.lowest = min(free) + self.added
        self.highest = max(free) + self.added

    def add_to_all(self, by: int) -> None:
        self.added += by
        self.lowest += by
        self.highest += by


class PythonProfile:
    """The number of free hosts from each time on.

    Args:
        now: the first time.
        free: the number of free hosts at that time.
        endings: pairs of a time and the number of hosts that become free then, sorted by time.
    """

    def __init__(self, now: float, free: int, endings: Iterable[tuple[float, int]] = ()) -> None:
        times, numbers = [now], [free]
        for end, size in endings:
            free += size
            if end <= times[-1]:
                numbers[-1] = free
            elif end < math.inf:
                times.append(end)
                numbers.append(free)
        half = _LARGEST // 2
        self._blocks = [_Block(times[at : at + half], numbers[at : at + half], 0) for at in range(0, len(times), half)]
        self._firsts = [block.times[0] for block in self._blocks]

    def __iter__(self) -> Iterator[tuple[float, int]]:
        """Pairs of a time and the number of free hosts from then on."""
        for block in self._blocks:
            yield from ((time, free + block.added) for time, free in zip(block.times, block.free, strict=True))

    def advance(self, now: float) -> None:
        """Forget the times before `now`."""
        place = bisect_right(self._firsts, now) - 1
        if place > 0:
            del self._blocks[:place], self._firsts[:place]
        block = self._blocks[0]
        at = bisect_right(block.times, now) - 1
        if at > 0:
            del block.times[:at], block.free[:at]
            block.lowest, block.highest = min(block.free) + block.added, max(block.free) + block.added
        if block.times[0] < now:
            block.times[0] = now
        self._firsts[0] = block.times[0]

    def change(self, begin: float, end: float, by: int) -> None:
        """Add `by` to the number of free hosts from `begin`, which is not before the first time, to `end`."""
        if end <= begin:
            return
        self._cut(begin)
        if end < math.inf:
            self._cut(end)
        first = bisect_right(self._firsts, begin) - 1
        last = bisect_left(self._firsts, end) - 1
        blocks = self._blocks
        start = bisect_left(blocks[first].times, begin)
        stop = bisect_left(blocks[last].times, end)
        if first == last:
            blocks[first].add(start, stop, by)
        else:
            for number in range(first + 1, last):
                blocks[number].add_to_all(by)
            blocks[first].add(start, len(blocks[first].times), by)
            blocks[last].add(0, stop, by)
        self._heal(begin)
        if end < math.inf:
            self._heal(end)

    def _cut(self, time: float) -> None:
        """Add a time at which the number may change."""
        number = bisect_right(self._firsts, time) - 1
        block = self._blocks[number]
        at = bisect_left(block.times, time)
        if at < len(block.times) and block.times[at] == time:
            return
        block.times.insert(at, time)
        block.free.insert(at, block.free[at - 1])
        if len(block.times) > _LARGEST:
            half = _LARGEST // 2
            rest = _Block(block.times[half:], block.free[half:], block.added)
            self._blocks[number] = _Block(block.times[:half], block.free[:half], block.added)
            self._blocks.insert(number + 1, rest)
            self._firsts.insert(number + 1, rest.times[0])

    def _heal(self, time: float) -> None:
        """Forget a time, unless it is the first one, if the number does not change any more at that time."""
        number = bisect_right(self._firsts, time) - 1
        block = self._blocks[number]
        at = bisect_left(block.times, time)
        if not (number or at):
            return
        last = block if at else self._blocks[number - 1]
        if last.free[at - 1] + last.added != block.free[at] + block.added:
            return
        if len(block.times) == 1:
            del self._blocks[number], self._firsts[number]
            return
        del block.times[at], block.free[at]
        self._blocks[number] = _Block(block.times, block.free, block.added)
        self._firsts[number] = block.times[0]

    def earliest(self, size: int, seconds: float, before: float = math.inf) -> float:
        """The first time from which on enough hosts are free for long enough, or until `before`; else infinity.

        Args:
            size: the number of hosts.
            seconds: the number of seconds.
            before: only times before this one count.
        """
        begin = -1.0  # since when enough are free
        blocks = self._blocks
        for number in range(len(blocks)):
            block = blocks[number]
            if block.lowest >= size:  # enough in all of it, mostly
                if begin < 0:
                    begin = block.times[0]
                if begin >= before:
                    return math.inf
                if block.times[-1] - begin >= seconds or block.times[-1] >= before:
                    return begin
                continue
            needed = size - block.added
            times, free = block.times, block.free
            if begin < 0 and block.highest < size:
                if times[0] >= before:
                    return math.inf
                continue
            for place in range(len(times)):
                if free[place] >= needed:
                    if begin < 0:
                        begin = times[place]
                        if begin >= before:
                            return math.inf
                elif begin >= 0:
                    if times[place] - begin >= seconds or times[place] >= before:
                        return begin
                    begin = -1.0
            if times[-1] >= before and begin < 0:
                return math.inf
        return begin if 0 <= begin < before else math.inf

    def gaps(self, most: int) -> list[tuple[int, float]]:
        """Pairs (hosts, seconds): how long hosts are free from the first time on. Few hosts for long come first."""
        steps: list[tuple[int, float]] = []
        now, left = self._firsts[0], most
        for block in self._blocks:
            if block.lowest >= left:
                continue
            for time, free in zip(block.times, block.free, strict=True):
                if free + block.added < left:
                    if time > now:
                        steps.append((left, time - now))
                    left = free + block.added
                    if left <= 0:
                        return steps[::-1]
        steps.append((left, math.inf))
        return steps[::-1]


Profile = PythonProfile
if not TYPE_CHECKING:
    with suppress(ImportError):
        from batprotocol.policies._profile import Profile
