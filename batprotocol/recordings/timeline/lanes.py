"""The lanes of jobs that share hosts: which cores and GPUs of each host a job is drawn on.

A scheduler reports only the hosts of a job. So its cores are chosen here: in the order of the starts, each job gets the
lowest free cores of each host, side by side where there is space, and keeps them. This module must not know pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Lanes", "Span"]


class Span(NamedTuple):
    """Some consecutive cores or GPUs of a host.

    Attributes:
        first: the number of the first one.
        width: how many.
    """

    first: int
    width: int


class Lanes:
    """The cores, or the GPUs, of the hosts.

    >>> lanes = Lanes()
    >>> lanes.take(0, 8, 4, 0.0, 10.0), lanes.take(0, 8, 2, 0.0, 99.0), lanes.take(0, 8, 4, 10.0, 20.0)
    ([Span(first=0, width=4)], [Span(first=4, width=2)], [Span(first=0, width=4)])
    """

    def __init__(self) -> None:
        self._held: dict[int, list[tuple[Span, float]]] = {}

    def take(self, host: int, size: int, count: int, start: float, end: float) -> list[Span]:
        """The lanes of a job on a host. Jobs come in the order of their starts.

        If no gap is wide enough, the job gets several spans. If less is free than it takes, it shares the last lanes
        with others.

        Args:
            host: the host.
            size: how many lanes the host has, >= 1.
            count: how many the job takes, >= 1; at most `size` count.
            start: its start, in seconds.
            end: its end, in seconds.
        """
        count = min(count, size)
        held = [each for each in self._held.get(host, ()) if each[1] > start]
        gaps = list(_gaps((span for span, _ in held), size))
        wide = next((gap for gap in gaps if gap.width >= count), None)
        if wide is not None:
            spans = [Span(wide.first, count)]
        elif sum(gap.width for gap in gaps) < count:
            spans = [Span(size - count, count)]
        else:
            spans, missing = [], count
            for gap in gaps:
                taken = min(gap.width, missing)
                missing -= taken
                if taken:
                    spans.append(Span(gap.first, taken))
        held += [(span, end) for span in spans]
        held.sort()
        self._held[host] = held
        return spans


def _gaps(held: Iterable[Span], size: int) -> Iterable[Span]:
    """What is free between spans that are in order, and may overlap."""
    free = 0
    for span in held:
        if span.first > free:
            yield Span(free, span.first - free)
        free = max(free, span.first + span.width)
    if free < size:
        yield Span(free, size - free)
