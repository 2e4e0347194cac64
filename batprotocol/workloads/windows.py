"""Parts of workloads: the jobs of a sequence, or of a window of time, also with those just before and after it."""

from __future__ import annotations

import math

from batprotocol.errors import InputError, shown
from batprotocol.workloads.columns import JobColumns
from batprotocol.workloads.workload import Workload

__all__ = ["window", "window_with_margins"]


def window(
    workload: Workload,
    *,
    first: int = 0,
    last: int | None = None,
    begin: float | None = None,
    end: float | None = None,
    shifted: bool = False,
) -> Workload:
    """A part of a workload's jobs.

    Args:
        workload: the workload; jobs are in the order of its submissions.
        first: the number of the first job, from 0 on.
        last: the number of the last job; None: the last job of the workload.
        begin: only jobs that are submitted at this time or later, in seconds.
        end: only jobs that are submitted before this time, in seconds.
        shifted: whether times are counted from the first of these jobs.

    Raises:
        InputError: a bound is negative, or a lower bound is above the upper one.

    >>> from batprotocol.model import DelayProfile
    >>> from batprotocol.simulator import StaticJob, Workload
    >>> whole = Workload([StaticJob(str(n), 10.0 * n, 1, DelayProfile(5.0)) for n in range(5)])
    >>> [submission.id for submission in window(whole, first=1, last=3)]
    ['w0!1', 'w0!2', 'w0!3']
    >>> [submission.time for submission in window(whole, begin=20, shifted=True)]
    [0.0, 10.0, 20.0]
    """
    if first < 0 or (last is not None and last < first) or (begin is not None and end is not None and end < begin):
        raise InputError(f"expected 0 <= first <= last and begin <= end, got {shown((first, last, begin, end))}")
    jobs = JobColumns()
    start: float | None = None
    for place in range(first, len(workload) if last is None else min(last + 1, len(workload))):
        job = workload.record(place)
        if begin is not None and job.time < begin:
            continue
        if end is not None and job.time >= end:
            break
        if start is None:
            start = job.time if shifted else 0.0
        jobs.append(*job.at(job.time - start))
    return workload.with_jobs(jobs)


def window_with_margins(
    workload: Workload, begin: float, end: float, *, before: float = 0.0, after: float = 0.0
) -> Workload:
    """The jobs of a window, and those that are submitted shortly before and after it, to be simulated but not counted.

    Times are counted from the beginning of the margin, so the window itself begins at the time `before`.

    Args:
        workload: the workload.
        begin: the beginning of the window, in seconds.
        end: its end; a job that is submitted at this time is not in it.
        before: the margin before the window in seconds, in which the machine fills.
        after: the margin after it, so that its last jobs still compete with others.

    Raises:
        InputError: the window ends before it begins, or a number is negative or not finite.

    >>> from batprotocol.model import DelayProfile
    >>> from batprotocol.simulator import StaticJob, Workload
    >>> whole = Workload([StaticJob(str(n), 10.0 * n, 1, DelayProfile(5.0)) for n in range(5)])
    >>> [(each.id, each.time) for each in window_with_margins(whole, 20, 30, before=15)]
    [('w0!1', 5.0), ('w0!2', 15.0)]
    """
    numbers = (begin, end, before, after)
    if not all(map(math.isfinite, numbers)) or end < begin or before < 0 or after < 0:
        raise InputError(f"expected a window with begin <= end, and margins >= 0, got {shown(numbers)}")
    part = window(workload, begin=begin - before, end=end + after)
    jobs = JobColumns()
    for place in range(len(part)):
        job = part.record(place)
        jobs.append(*job.at(job.time - (begin - before)))
    return part.with_jobs(jobs)
