"""Series of the whole machine, computed from the jobs: how many jobs wait, and how many hosts are free.

This module must not know the source of the jobs.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from math import inf
from operator import itemgetter

from batprotocol.conversation.hostsets import mask_of
from batprotocol.model import FinalJobState
from batprotocol.recordings.timeline.values import OffDuty, Series, TimelineJob

__all__ = ["free_hosts", "waiting_jobs"]


def waiting_jobs(jobs: Iterable[TimelineJob]) -> Series:
    """How many jobs waited: submitted, and neither started nor rejected.

    >>> series = waiting_jobs([TimelineJob(job_id="w0!1", submitted=0.0, started=5.0)])
    >>> list(series.times), list(series.values)
    ([0.0, 5.0], [1.0, 0.0])
    """
    changes: list[tuple[float, int]] = []
    for job in jobs:
        leaves = job.finished if job.started is None else job.started
        if job.submitted is None or (leaves is None and job.state is FinalJobState.REJECTED):
            continue  # the time of its rejection is not known
        changes.append((job.submitted, 1))
        if leaves is not None:
            changes.append((max(leaves, job.submitted), -1))
    changes.sort(key=itemgetter(0))
    times, values = array("d"), array("d")
    waiting = 0
    for time, group in groupby(changes, itemgetter(0)):
        waiting += sum(change for _, change in group)
        if not values or values[-1] != waiting:
            times.append(time)
            values.append(waiting)
    return Series("jobs waiting", "queue", times, values, lane="jobs waiting")


def free_hosts(
    jobs: Iterable[TimelineJob],
    host_count: int,
    start: float,
    off_duty: Iterable[OffDuty] = (),
    end: float = inf,
) -> Series:
    """How many hosts were on and had no job. Hosts that several jobs share count once.

    Args:
        jobs: all jobs.
        host_count: how many hosts there are.
        start: the start of the series, in simulated seconds.
        off_duty: hosts that were off or switching.
        end: the end of the run, in simulated seconds. Hosts that are off duty until then stay off.
    """
    held: list[tuple[float, float | None, tuple[tuple[int, int], ...]]] = [
        (job.started, job.finished, job.hosts) for job in jobs if job.started is not None and job.hosts
    ]
    held += [(each.start, None if each.end >= end else each.end, ((each.first, each.last),)) for each in off_duty]
    changes: list[tuple[float, bool, int]] = []
    for number, (since, until, _) in enumerate(held):
        changes.append((since, True, number))
        if until is not None:
            changes.append((max(since, until), until <= since, number))
    changes.sort()  # at the same moment, ends come before starts: the next job gets the hosts
    busy = 0
    more: Counter[int] = Counter()  # for hosts that several jobs share: the number of jobs besides the first one
    times, values = array("d", [start]), array("d", [host_count])
    under_way = bytearray(len(held))
    for time, group in groupby(changes, itemgetter(0)):
        for _, _, number in group:
            mask = mask_of(held[number][2])
            if not under_way[number]:
                under_way[number] = 1
                more.update(_members(busy & mask))
                busy |= mask
            else:
                busy = _given_back(busy, mask, more)
        free = host_count - busy.bit_count()
        if times[-1] == time:
            values[-1] = free
        elif values[-1] != free:
            times.append(time)
            values.append(free)
    return Series("free hosts", "hosts", times, values, lane="free hosts", most=host_count)


def _given_back(busy: int, mask: int, more: Counter[int]) -> int:
    """The hosts that are still busy after a job with the hosts of the mask has ended."""
    kept = 0
    if more:
        for host in _members(mask):
            if more[host]:
                kept |= 1 << host
                more[host] -= 1
            if not more[host]:
                del more[host]
    return busy & (~mask | kept)


def _members(mask: int) -> Iterable[int]:
    """The hosts of a mask."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
