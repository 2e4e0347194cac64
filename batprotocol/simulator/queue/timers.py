"""Time-outs in the order in which SimGrid finds them: that of a Fibonacci heap, also for equal dates.

SimGrid stores its timers in boost's `fibonacci_heap`. For equal dates, the heap returns the one that its last
consolidation reached last, so the order depends on the shape of its trees. This module has the same trees, with the
same order of roots and children. They are in flat lists, because a long chain of objects cannot be pickled.
"""

from __future__ import annotations

from math import inf
from typing import Final

from mypy_extensions import mypyc_attr

from batprotocol._util.counting import step
from batprotocol.simulator.queue.pending import Timer

__all__ = ["Timers"]

_RANKS: Final = 64
"""A larger number of children than any node has: this many would take 2**64 time-outs."""
_ROOTS: Final = 0
"""The node whose children are the roots. It is not a time-out."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Timers:
    """The pending time-outs.

    Nodes are numbers. The children of a node are a ring: place `2 * node` is the place of the node among its siblings,
    and place `2 * node + 1` is before its first child and after its last one.
    """

    __slots__ = ("_after", "_before", "_counts", "_dates", "_free", "_parents", "_timers", "_top")

    def __init__(self) -> None:
        self._after: list[int] = [0, 1]
        self._before: list[int] = [0, 1]
        self._parents: list[int] = [_ROOTS]
        self._counts: list[int] = [0]
        self._dates: list[float] = [-inf]
        self._timers: list[Timer | None] = [None]
        self._free: list[int] = []
        self._top = _ROOTS

    def add(self, timer: Timer) -> None:
        """Add a time-out, and set its `node`."""
        if self._free:
            node = self._free.pop()
        else:
            node = len(self._dates)
            self._after += [2 * node, 2 * node + 1]
            self._before += [2 * node, 2 * node + 1]
            self._parents.append(_ROOTS)
            self._counts.append(0)
            self._dates.append(0.0)
            self._timers.append(None)
        self._dates[node] = timer.date
        self._timers[node] = timer
        timer.node = node
        self._insert(node, _ROOTS, 2 * _ROOTS + 1)
        if self._top == _ROOTS or self._dates[self._top] > timer.date:
            self._top = node

    def remove(self, timer: Timer) -> None:
        """Remove a time-out, which must be pending."""
        self._take(timer.node)

    def next_date(self) -> float:
        """The date of the next time-out; infinite if there is none."""
        return inf if self._top == _ROOTS else self._dates[self._top]

    def pop(self) -> Timer:
        """Remove and return the next time-out. There must be one."""
        timer = self._timers[self._top]
        assert timer is not None
        self._take(self._top)
        return timer

    def _take(self, node: int) -> None:
        after, before, header = self._after, self._before, 2 * node + 1
        self._leave(node)
        place = after[header]
        while place != header:
            step()
            following = after[place]
            self._parents[place >> 1] = _ROOTS
            place = following
        if after[header] != header:  # all its children, in order, behind the last root
            first, last, end = after[header], before[header], 2 * _ROOTS + 1
            before[first], after[before[end]] = before[end], first
            after[last], before[end] = end, last
            after[header] = before[header] = header
            self._counts[_ROOTS] += self._counts[node]
            self._counts[node] = 0
        self._timers[node] = None
        self._free.append(node)
        self._consolidate()

    def _consolidate(self) -> None:
        """Merge trees until all roots have different numbers of children."""
        after, dates, counts = self._after, self._dates, self._counts
        end = 2 * _ROOTS + 1
        by_count = [_ROOTS] * _RANKS
        place = after[end]
        top = _ROOTS if place == end else place >> 1
        while place != end:
            step()
            node = place >> 1
            place = after[place]
            count = counts[node]
            other = by_count[count]
            while other != _ROOTS:
                if dates[node] > dates[other]:
                    node, other = other, node
                self._leave(other)
                self._insert(other, node, self._before[2 * node + 1])
                by_count[count] = _ROOTS
                count = counts[node]
                other = by_count[count]
            by_count[count] = node
            if not dates[node] > dates[top]:
                top = node
        self._top = top

    def _insert(self, node: int, parent: int, place: int) -> None:
        """Make a node a child of another one, behind this place."""
        after, before, own = self._after, self._before, 2 * node
        following = after[place]
        after[place] = before[following] = own
        before[own], after[own] = place, following
        self._parents[node] = parent
        self._counts[parent] += 1

    def _leave(self, node: int) -> None:
        """Remove a node from its parent."""
        after, before, own = self._after, self._before, 2 * node
        after[before[own]], before[after[own]] = after[own], before[own]
        self._counts[self._parents[node]] -= 1
