"""The nodes that jobs of lower priority can have, over the time that backfill looks ahead.

This module must not know jobs.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TypeAlias

__all__ = ["NodeReleases", "PlannedNodes"]

NodeReleases: TypeAlias = tuple[list[float], list[int]]
"""When running jobs end, in order, and the nodes that are free before the first end and after each one."""


class PlannedNodes:
    """The sets of nodes that are not planned for other jobs, from time to time.

    Args:
        begin: the first second.
        end: the last one.
        nodes: the nodes.
        resolution: a reservation lasts so many seconds at least.

    Attributes:
        begins: the begins of the parts, in order.
        nodes: the nodes of each part.
        end: the end of the last part.
    """

    def __init__(self, begin: int, end: int, nodes: int, resolution: int) -> None:
        self.begins, self.nodes, self.end = [begin], [nodes], end
        self._resolution = resolution

    def __len__(self) -> int:
        return len(self.begins)

    def reserve(self, start: int, end: int, nodes: int) -> None:
        """Plan nodes for a job.

        Args:
            start: the begin of the first part that it needs.
            end: the end of the last one.
            nodes: the nodes.
        """
        end = max(end, start + self._resolution)
        start = max(start, self.begins[0])
        if start >= self.end:
            return
        first = self._split(start)
        last = len(self.begins) if end >= self.end else self._split(end)
        keep = ~nodes
        for place in range(first, last):
            self.nodes[place] &= keep
        self._join(max(first, 1), min(last, len(self.begins) - 1))

    def _split(self, time: int) -> int:
        """The part that begins at a time."""
        place = bisect_right(self.begins, time) - 1
        if self.begins[place] == time:
            return place
        self.begins.insert(place + 1, time)
        self.nodes.insert(place + 1, self.nodes[place])
        return place + 1

    def _join(self, first: int, last: int) -> None:
        """Join parts with the same nodes."""
        for place in range(last, first - 1, -1):
            if self.nodes[place] == self.nodes[place - 1]:
                del self.nodes[place], self.begins[place]

    def place_of(self, time: int) -> int:
        """The part at a time, or the first one after it."""
        return max(bisect_right(self.begins, time) - 1, 0)

    def second_begin(self) -> float:
        """When the second part begins; infinity: there is only one."""
        return self.begins[1] if len(self.begins) > 1 else math.inf

    def begin_after(self, time: int) -> float:
        """When the first part after a time begins; infinity: there is none."""
        place = bisect_right(self.begins, time)
        return self.begins[place] if place < len(self.begins) else math.inf

    def overlaps(self, start: int, end: int, nodes: int) -> bool:
        """Whether some of the nodes are planned for others, between two times."""
        begins, parts, count = self.begins, self.nodes, len(self.begins)
        for place in range(self.place_of(start), count):
            if begins[place] >= end:
                break
            if (begins[place + 1] if place + 1 < count else self.end) > start and nodes & ~parts[place]:
                return True
        return False

    def free_until(self, end: int, nodes: int, count: int) -> bool:
        """Whether at least so many of the nodes are free from the begin on, until a time."""
        for begin, part in zip(self.begins, self.nodes, strict=True):
            if begin > end:
                break
            nodes &= part
            if nodes.bit_count() < count:
                return False
        return nodes.bit_count() >= count

    def usable(self, start: int, end: int, nodes: int) -> tuple[int, int]:
        """The nodes that are free for a job all the time.

        Args:
            start: when it would start.
            end: when its limit would end.
            nodes: the nodes that it can have otherwise.

        Returns:
            The nodes, and the next time at which others are free; 0 if there is none.
        """
        begins, parts = self.begins, self.nodes
        last, later, usable = len(begins) - 1, 0, nodes
        for place in range(self.place_of(start), last + 1):
            if begins[place] > end and later:
                break
            part = parts[place]
            if place < last and not later and begins[place + 1] > start:
                following = nodes & parts[place + 1]
                if following & ~(usable & part):
                    later = begins[place + 1]
            if begins[place] > end:
                break
            usable &= part
        return usable, later

    def next_room(self, start: int, length: int, nodes: int, count: int, frees: NodeReleases) -> int:
        """The first time, from one on, at which a job may start before others are free for it.

        This is a short cut. At the times that it passes over, `usable` has fewer nodes than the job needs, or they are
        not free before the next time that `usable` names.

        Args:
            start: the first time.
            length: the time for which the job needs its nodes.
            nodes: the nodes that it can have otherwise.
            count: how many it needs.
            frees: when nodes are free of running jobs.
        """
        begins, parts, (ends, free) = self.begins, self.nodes, frees
        last, first = len(begins) - 1, self.place_of(start)
        while True:
            room, place, end = nodes & parts[first], first, start + length
            while place < last and begins[place] <= end:
                following = nodes & parts[place + 1]
                if following & ~room:
                    break
                room, place = following, place + 1
            if place == last or begins[place] > end:
                return start
            first = place + 1
            later = begins[first]
            room &= free[bisect_left(ends, later + 1)]
            if room.bit_count() >= count:
                for part in parts[first : bisect_right(begins, end)]:
                    room &= part
                if room.bit_count() >= count:
                    return start
            start = later
