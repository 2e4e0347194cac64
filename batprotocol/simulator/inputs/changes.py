"""Workloads made of others: with another load, other weeks, other walltimes.

Each function takes a workload and gives another one, with the same profiles, and in which nothing but what it is named
after has changed; so they combine freely, and with `window`. What chance decides comes from a seed, and is the same on
every machine.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Final

from batprotocol.errors import InputError, shown
from batprotocol.model import DelayProfile
from batprotocol.simulator.inputs.columns import JobColumns, JobRecord
from batprotocol.simulator.inputs.workload import Workload

__all__ = ["WEEK", "estimated_walltimes", "resampled_weeks", "scaled_load", "scaled_walltimes", "shuffled_weeks"]

WEEK: Final = 604_800.0
"""Seconds."""
_MOST_PERIODS: Final = 1_000_000


def scaled_load(workload: Workload, factor: float) -> Workload:
    """The same jobs, which come faster or slower: what passes between two submissions is divided by a factor.

    The first submission stays at its time: the times of a log that begins at 0 are divided by the factor.

    Args:
        workload: the workload.
        factor: by which the load grows, > 0; with 2, jobs come twice as fast, with 1, nothing changes.

    Raises:
        InputError: the factor is no finite number > 0, or times would leave the range of doubles.

    >>> from batprotocol.simulator import StaticJob, Workload
    >>> whole = Workload([StaticJob(str(n), 10.0 * n, 1, DelayProfile(5.0)) for n in range(3)])
    >>> [submission.time for submission in scaled_load(whole, 1.25)]
    [0.0, 8.0, 16.0]
    """
    _expect_factor(factor)
    if factor == 1:
        return workload
    start = workload[0].time if len(workload) else 0.0

    def scaled(job: JobRecord) -> JobRecord:
        time = start + (job.time - start) / factor
        if not math.isfinite(time):
            raise InputError(f"with a load that is {shown(factor)} times as high, {shown(job.id)} comes at no time")
        return job._replace(time=time)

    return _changed(workload, scaled)


def scaled_walltimes(workload: Workload, factor: float) -> Workload:
    """The same jobs, with walltimes that are longer or shorter by a factor; jobs without a walltime have none then.

    Where run times were cut off by a walltime, they are by the new one: with a factor > 1 such jobs run for longer, and
    with one < 1 more jobs are cut off.

    Args:
        workload: the workload.
        factor: what each walltime is multiplied by, > 0.

    Raises:
        InputError: the factor is no finite number > 0, or a walltime would leave the range of doubles.
    """
    _expect_factor(factor)

    def scaled(job: JobRecord) -> JobRecord:
        return job if job.walltime is None else _with_walltime(job, job.walltime * factor)

    return workload if factor == 1 else _changed(workload, scaled)


def estimated_walltimes(workload: Workload, badness: float, *, seed: int = 0) -> Workload:
    """The same jobs, with walltimes drawn between their run times and 1 + `badness` times as much, all alike likely.

    The f-model of A. W. Mu'alem and D. G. Feitelson, "Utilization, predictability, workloads, and user runtime
    estimates in scheduling the IBM SP2 with backfilling", IEEE TPDS 12(6), 2001. With 0, walltimes are the run times.
    A run time is what the delay of the job's profile says, or its walltime where that ends the job before.

    Args:
        workload: the workload; its jobs have profiles whose run times are known, which are those of `DelayProfile`.
        badness: f, a number >= 0; in papers 0 to 300.
        seed: of chance. A job draws the same number whatever `badness` is.

    Raises:
        InputError: `badness` is no finite number >= 0, or the run time of a job is not known before it runs.

    >>> from batprotocol.simulator import lublin_workload
    >>> exact = estimated_walltimes(lublin_workload(64, 10), 0)
    >>> all(job.walltime == exact.profiles[job.profile_id].profile.delay for _, _, job in exact)
    True
    """
    if not 0 <= badness < math.inf:
        raise InputError(f"expected a badness of estimates >= 0, got {shown(badness)}")
    chance = random.Random(seed)

    def estimated(job: JobRecord) -> JobRecord:
        profile = workload.profiles[f"{workload.name}!{job.profile}"].profile
        if not isinstance(profile, DelayProfile) or not profile.delay > 0:
            reason = f"only of a DelayProfile the run time is known, but {shown(job.id)} has {shown(profile)}"
            raise InputError(f"estimates need run times, and {reason}")
        runtime = profile.delay if job.walltime is None else min(profile.delay, job.walltime)
        return _with_walltime(job, runtime * (1.0 + badness * chance.random()))

    return _changed(workload, estimated)


def shuffled_weeks(workload: Workload, seed: int, *, period: float = WEEK) -> Workload:
    """The same jobs, with the weeks in another order: a job keeps its day and hour, and those of a week stay together.

    Weeks are counted from the first submission on. A last part of less than half a week stays where it is.

    Args:
        workload: the workload.
        seed: of chance: the same seed gives the same order, also with other jobs in as many weeks.
        period: what counts as a week, in seconds, such as 86400 for days, of which the hours are kept.

    Raises:
        InputError: the period is no finite number > 0, or there are less than two of them.
    """
    weeks = _Periods(workload, period)
    order = list(range(weeks.count))
    random.Random(seed).shuffle(order)
    return weeks.arranged([*order, *range(weeks.count, len(weeks.parts))])


def resampled_weeks(workload: Workload, seed: int, *, weeks: int | None = None, period: float = WEEK) -> Workload:
    """Weeks drawn from those of a workload, some of them several times: one more workload that could have been.

    Each job keeps its day and hour, and all jobs of a week stay together, as in the workload resampling of N. Zakay and
    D. G. Feitelson (CCPE 26(12), 2014), which draws users one by one. Weeks are counted from the first submission on; a
    last part of less than half a week is not drawn. From its second copy on, a job is called `ID#2`, `ID#3`...

    Args:
        workload: the workload.
        seed: of chance.
        weeks: how many weeks are drawn; None: as many as there are.
        period: what counts as a week, in seconds, such as 86400 for days, of which the hours are kept.

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
        parts: of each period, the places of its jobs in the workload; only the last one may be no whole period.
        count: how many of them count as whole.
    """

    def __init__(self, workload: Workload, period: float) -> None:
        if not 0 < period < math.inf:
            raise InputError(f"expected a period of > 0 seconds, got {shown(period)}")
        self._workload = workload
        self._period = period
        begin = workload[0].time if len(workload) else 0.0
        span = (workload[len(workload) - 1].time - begin) / period if len(workload) else 0.0
        if not 1.5 <= span < _MOST_PERIODS:
            few = f"expected submissions over two periods of {period:g} s at least, got {span:.3g} of them"
            raise InputError(few if span < 2 else f"{span:.3g} periods of {period:g} s are too many")
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
                jobs.append(*job._replace(id=job.id + mark, time=job.time + moved))
        return self._workload.with_jobs(jobs)


def _changed(workload: Workload, change: Callable[[JobRecord], JobRecord]) -> Workload:
    """The workload with each job changed, in the order of its submissions."""
    jobs = JobColumns()
    for number in range(len(workload)):
        jobs.append(*change(workload.record(number)))
    return workload.with_jobs(jobs)


def _with_walltime(job: JobRecord, walltime: float) -> JobRecord:
    if not 0 < walltime < math.inf:
        raise InputError(f"the walltime of {shown(job.id)} would be {shown(walltime)} s")
    return job._replace(walltime=walltime)


def _expect_factor(factor: float) -> None:
    if not 0 < factor < math.inf:
        raise InputError(f"expected a factor > 0, got {shown(factor)}")
