"""The nodes that jobs of lower priority can have, over the time that backfill looks ahead.

This module must not know jobs.
"""

from __future__ import annotations

from bisect import bisect_right

__all__ = ["Space"]


class Space:
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

    def overlaps(self, start: int, end: int, nodes: int) -> bool:
        """Whether some of the nodes are planned for others, between two times."""
        begins, parts, count = self.begins, self.nodes, len(self.begins)
        for place in range(self.place_of(start), count):
            if begins[place] >= end:
                break
            if (begins[place + 1] if place + 1 < count else self.end) > start and nodes & ~parts[place]:
                return True
        return False

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
