"""Jobs that have a host at the same time: they are drawn side by side, so that none hides another.

This module must not know pages, nor what jobs ask for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from batprotocol.recordings.timeline.values import TimelineJob
from batprotocol.workloads.requests.usage import ROUNDED, share_hosts

__all__ = ["Overlaps", "overlaps_of"]


class Overlaps(msgspec.Struct, frozen=True):
    """The jobs that have a host together.

    Attributes:
        jobs: their places among all jobs.
        most: the most jobs that each of their hosts has at the same time.
    """

    jobs: frozenset[int] = frozenset()
    most: dict[int, int] = {}


def overlaps_of(jobs: Sequence[TimelineJob]) -> Overlaps:
    """The jobs that have a host together, for longer than times are rounded.

    >>> times = [(0.0, 9.0, 0), (5.0, 12.0, 0), (12.0, 20.0, 0), (0.0, 20.0, 1)]
    >>> jobs = [TimelineJob(job_id="w0!1", started=t, finished=end, hosts=((host, host),)) for t, end, host in times]
    >>> found = overlaps_of(jobs)
    >>> sorted(found.jobs), found.most
    ([0, 1], {0: 2})
    """
    ran = [
        (place, job.started, math.inf if job.finished is None else job.finished, job)
        for place, job in enumerate(jobs)
        if job.started is not None and job.hosts
    ]
    ran = [each for each in ran if each[2] > each[1] + ROUNDED]
    texts = (" ".join(f"{first}-{last}" for first, last in job.hosts) for *_, job in ran)
    if not share_hosts((start, end, text) for (_, start, end, _), text in zip(ran, texts, strict=True)):
        return Overlaps()
    events = [(start + ROUNDED, 1, place) for place, start, _, _ in ran]
    events += [(end, 0, place) for place, _, end, _ in ran if end < math.inf]
    running: dict[int, set[int]] = {}
    found: set[int] = set()
    most: dict[int, int] = {}
    for _, is_start, place in sorted(events):
        for first, last in jobs[place].hosts:
            for host in range(first, last + 1):
                here = running.setdefault(host, set())
                if not is_start:
                    here.discard(place)
                    continue
                here.add(place)
                if len(here) > 1:
                    found |= here
                    most[host] = max(most.get(host, 0), len(here))
    return Overlaps(frozenset(found), most)
