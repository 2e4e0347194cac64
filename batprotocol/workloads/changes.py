"""Parts and changes of workloads: windows, faster or slower arrivals, another offered load, other weeks and walltimes.

Each function takes a workload and returns another one with the same profiles. It changes only the property in its name,
so you can combine these functions. Random numbers come from a seed, and are the same on every machine.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Final

from batprotocol._util.deprecation import old_arguments, old_names
from batprotocol.errors import InputError, shown
from batprotocol.model import DelayProfile
from batprotocol.workloads.columns import JobColumns, StoredJob
from batprotocol.workloads.workload import Workload

__all__ = [
    "WEEK",
    "estimated_walltimes",
    "exact_walltimes",
    "offered_load",
    "resampled_weeks",
    "scaled_arrivals",
    "scaled_walltimes",
    "shuffled_weeks",
    "window",
    "window_with_margins",
    "with_offered_load",
]


__getattr__ = old_names(__name__, {"scaled_load": "scaled_arrivals"})

WEEK: Final = 604_800.0
"""Seconds."""
_MOST_PERIODS: Final = 1_000_000
_LONGER: Final = 1e-6
"""Seconds. A walltime that equals the run time ends the job. A microsecond more does not change any decision."""


def scaled_arrivals(workload: Workload, factor: float, *, origin: float | None = None) -> Workload:
    """The same jobs, faster or slower: the time between two submissions is divided by a factor.

    The first submission keeps its time. So if a log begins at 0, its times are divided by the factor. The factor is not
    the load: `offered_load` computes the load, and `with_offered_load` finds the factor for a load.

    Args:
        workload: the workload.
        factor: the factor by which arrivals are compressed, > 0; with 2, jobs come twice as fast, with 1, nothing
            changes.
        origin: the time that does not change, in seconds; None: that of the first submission.

    Raises:
        InputError: the factor is not a finite number > 0, or times would leave the range of doubles.

    >>> from batprotocol.simulator import StaticJob, Workload
    >>> whole = Workload([StaticJob(str(n), 10.0 * n, 1, DelayProfile(5.0)) for n in range(3)])
    >>> [submission.time for submission in scaled_arrivals(whole, 1.25)]
    [0.0, 8.0, 16.0]
    """
    _expect_factor(factor)
    if factor == 1:
        return workload
    start = origin if origin is not None else workload[0].time if len(workload) else 0.0

    def scaled(job: StoredJob) -> StoredJob:
        time = start + (job.time - start) / factor
        if not math.isfinite(time):
            raise InputError(f"with the factor {shown(factor)}, job {shown(job.id)} has no finite time: use one near 1")
        return job.at(time)

    return _changed(workload, scaled)


def offered_load(workload: Workload, hosts: int | None = None) -> float | None:
    """The submitted work, relative to the capacity of the hosts in the same time: above 1, queues grow without end.

    It is the sum over all jobs of hosts x run time, divided by hosts x the time from the first to the last submission.
    The run time of a job is the delay of its profile, or its walltime where that is shorter.

    Args:
        workload: the workload.
        hosts: the number of computation hosts, > 0; None: as many as the workload is made for.

    Returns:
        The load. None if all jobs come at once, or if the run time of a job is not known before it runs.

    >>> from batprotocol.simulator import lublin_workload
    >>> round(offered_load(lublin_workload(64, 1000, offered_load=0.7)), 3)
    0.7
    """
    machine = workload.resource_count if hosts is None else hosts
    if machine <= 0:
        raise InputError(f"expected a number of hosts > 0, got {shown(machine)}")
    span = workload[len(workload) - 1].time - workload[0].time if len(workload) else 0.0
    if not span > 0:
        return None
    known = known_run_times(workload)
    return None if known is None else math.fsum(count * runtime for count, runtime in known) / (machine * span)


def known_run_times(workload: Workload) -> list[tuple[int, float]] | None:
    """The number of hosts, and the run time in seconds, of each job; None if a run time is not known before it runs.

    The run time of a job is the delay of its profile, or its walltime where that is shorter.
    """
    found = []
    for number in range(len(workload)):
        job = workload.record(number)
        runtime = _runtime(workload, job)
        if runtime is None:
            return None
        found.append((job.resources, runtime))
    return found


def with_offered_load(workload: Workload, load: float, *, hosts: int | None = None) -> Workload:
    """The same jobs, faster or slower, so that `offered_load` of the result is this load.

    Args:
        workload: the workload; the run times of its jobs must be known, as those of `DelayProfile` are.
        load: the offered load, > 0.
        hosts: the number of computation hosts; None: as many as the workload is made for.

    Raises:
        InputError: the load is not a finite number > 0, or the load of the workload is not known.
    """
    if not 0 < load < math.inf:
        raise InputError(f"expected an offered load > 0, got {shown(load)}")
    now = offered_load(workload, hosts)
    if not now:
        raise InputError(
            "the workload has no offered load to scale: use jobs with different submission times and DelayProfiles"
        )
    return scaled_arrivals(workload, load / now)


def scaled_walltimes(workload: Workload, factor: float) -> Workload:
    """The same jobs, with walltimes that are longer or shorter by a factor. Jobs without a walltime stay without one.

    If a walltime ended a job, the new walltime ends it: with a factor > 1, such jobs run for longer. With a factor < 1,
    walltimes end more jobs.

    Args:
        workload: the workload.
        factor: the factor for each walltime, > 0.

    Raises:
        InputError: the factor is not a finite number > 0, or a walltime would leave the range of doubles.
    """
    _expect_factor(factor)

    def scaled(job: StoredJob) -> StoredJob:
        return job if job.walltime is None else _with_walltime(job, job.walltime * factor)

    return workload if factor == 1 else _changed(workload, scaled)


@old_arguments(badness="estimate_factor")
def estimated_walltimes(workload: Workload, estimate_factor: float, *, seed: int = 0) -> Workload:
    """The same jobs, with random walltimes: uniform between the run time and (1 + the factor) times the run time.

    This is the f-model of A. W. Mu'alem and D. G. Feitelson, "Utilization, predictability, workloads, and user runtime
    estimates in scheduling the IBM SP2 with backfilling", IEEE TPDS 12(6), 2001. With 0, walltimes are the run times,
    which end the jobs: `exact_walltimes` makes them a little longer.
    The run time of a job is the delay of its profile, or its walltime where that is shorter.

    Args:
        workload: the workload; the run times of its jobs must be known, as those of `DelayProfile` are.
        estimate_factor: f, a number >= 0; in papers 0 to 300.
        seed: the seed of the random numbers. A job draws the same number with every factor.

    Raises:
        InputError: the factor is not a finite number >= 0, or the run time of a job is not known before it runs.

    >>> from batprotocol.simulator import lublin_workload
    >>> known = estimated_walltimes(lublin_workload(64, 10), 0)
    >>> all(job.walltime == known.profiles[job.profile_id].profile.delay for _, _, job in known)
    True
    """
    if not 0 <= estimate_factor < math.inf:
        raise InputError(f"expected an estimate factor >= 0, got {shown(estimate_factor)}")
    chance = random.Random(seed)

    def estimated(job: StoredJob) -> StoredJob:
        return _with_walltime(job, _known_runtime(workload, job) * (1.0 + estimate_factor * chance.random()))

    return _changed(workload, estimated)


def exact_walltimes(workload: Workload) -> Workload:
    """The same jobs, with exact estimates: each walltime is the run time plus a microsecond.

    A walltime that equals the run time would end the job, and the job would not succeed. Policies treat times that are
    less than a millisecond apart as equal, so they use the run times.

    Args:
        workload: the workload; the run times of its jobs must be known, as those of `DelayProfile` are.

    Raises:
        InputError: the run time of a job is not known before it runs.
    """
    return _changed(workload, lambda job: _with_walltime(job, _known_runtime(workload, job) + _LONGER))


def _runtime(workload: Workload, job: StoredJob) -> float | None:
    """The run time of a job; None if it is not known before the job runs."""
    profile = workload.profiles[f"{workload.name}!{job.profile}"].profile
    if not isinstance(profile, DelayProfile) or not profile.delay > 0:
        return None
    return profile.delay if job.walltime is None else min(profile.delay, job.walltime)


def _known_runtime(workload: Workload, job: StoredJob) -> float:
    runtime = _runtime(workload, job)
    if runtime is None:
        profile = workload.profiles[f"{workload.name}!{job.profile}"].profile
        reason = f"only those of a DelayProfile are known, but {shown(job.id)} has {shown(profile)}"
        raise InputError(f"estimates need run times: {reason}")
    return runtime


def shuffled_weeks(workload: Workload, seed: int, *, period: float = WEEK) -> Workload:
    """The same jobs, with the weeks in another order: a job keeps its day and hour, and those of a week stay together.

    Weeks are counted from the first submission on. A last part of less than half a week stays where it is.

    Args:
        workload: the workload.
        seed: the seed of the order: the same seed gives the same order, also for other jobs in as many weeks.
        period: the length of a week in seconds; with 86400, days are shuffled, and jobs keep their hours.

    Raises:
        InputError: the period is not a finite number > 0, or the workload has less than two periods.
    """
    weeks = _Periods(workload, period)
    order = list(range(weeks.count))
    random.Random(seed).shuffle(order)
    return weeks.arranged([*order, *range(weeks.count, len(weeks.parts))])


def resampled_weeks(workload: Workload, seed: int, *, weeks: int | None = None, period: float = WEEK) -> Workload:
    """A workload of random weeks of another workload, some of them several times.

    Each job keeps its day and hour, and all jobs of a week stay together. This follows the workload resampling of
    N. Zakay and D. G. Feitelson (CCPE 26(12), 2014), which draws users one by one. Weeks are counted from the first
    submission on. A last part of less than half a week is not drawn. From its second copy on, a job is called `ID#2`,
    `ID#3`...

    Args:
        workload: the workload.
        seed: the seed of the random numbers.
        weeks: the number of weeks to draw; None: as many as the workload has.
        period: the length of a week in seconds; with 86400, days are drawn, and jobs keep their hours.

    Raises:
        InputError: an argument is out of its range, or there are less than two weeks.
    """
    if weeks is not None and not 1 <= weeks <= _MOST_PERIODS:
        raise InputError(f"expected 1 to {_MOST_PERIODS} weeks, got {shown(weeks)}")
    given = _Periods(workload, period)
    chance = random.Random(seed)
    return given.arranged([chance.randrange(given.count) for _ in range(weeks or given.count)])


class _Periods:
    """The jobs of a workload, cut into parts of equal length.

    Attributes:
        parts: the places in the workload of the jobs of each period; only the last period may be incomplete.
        count: the number of periods that count as complete.
    """

    def __init__(self, workload: Workload, period: float) -> None:
        if not 0 < period < math.inf:
            raise InputError(f"expected a period of > 0 seconds, got {shown(period)}")
        self._workload = workload
        self._period = period
        begin = workload[0].time if len(workload) else 0.0
        span = (workload[len(workload) - 1].time - begin) / period if len(workload) else 0.0
        if not 1.5 <= span < _MOST_PERIODS:
            few = f"expected submissions over at least two periods of {period:g} s, got {span:.3g}; use shorter ones"
            many = f"{span:.3g} periods of {period:g} s are too many; use a longer period"
            raise InputError(few if span < 2 else many)
        self.parts: list[list[int]] = [[] for _ in range(math.floor(span) + 1)]
        for place, submission in enumerate(workload):
            self.parts[min(math.floor((submission.time - begin) / period), len(self.parts) - 1)].append(place)
        self.count = math.floor(span + 0.5)

    def arranged(self, order: list[int]) -> Workload:
        """The workload of these periods, one after the other."""
        jobs = JobColumns()
        copies: dict[int, int] = {}
        for place, number in enumerate(order):
            copies[number] = copies.get(number, 0) + 1
            moved = (place - number) * self._period
            mark = f"#{copies[number]}" if copies[number] > 1 else ""
            for row in self.parts[number]:
                job = self._workload.record(row)
                jobs.append(*job._replace(id=job.id + mark).at(job.time + moved))
        return self._workload.with_jobs(jobs)


def _changed(workload: Workload, change: Callable[[StoredJob], StoredJob]) -> Workload:
    """The workload with a change to each job, in the order of submissions."""
    jobs = JobColumns()
    for number in range(len(workload)):
        jobs.append(*change(workload.record(number)))
    return workload.with_jobs(jobs)


def _with_walltime(job: StoredJob, walltime: float) -> StoredJob:
    if not 0 < walltime < math.inf:
        raise InputError(f"the walltime of {shown(job.id)} would be {shown(walltime)} s")
    return job._replace(walltime=walltime)


def _expect_factor(factor: float) -> None:
    if not 0 < factor < math.inf:
        raise InputError(f"expected a factor > 0, got {shown(factor)}")


# Parts


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
