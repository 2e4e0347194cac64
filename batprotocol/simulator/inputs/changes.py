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

__all__ = [
    "WEEK",
    "estimated_walltimes",
    "exact_walltimes",
    "offered_load",
    "resampled_weeks",
    "scaled_load",
    "scaled_walltimes",
    "shuffled_weeks",
    "with_offered_load",
]

WEEK: Final = 604_800.0
"""Seconds."""
_MOST_PERIODS: Final = 1_000_000
_LONGER: Final = 1e-6
"""Seconds: a walltime that equals the run time ends the job. So little more changes no start of the policies."""


def scaled_load(workload: Workload, factor: float) -> Workload:
    """The same jobs, which come faster or slower: what passes between two submissions is divided by a factor.

    The first submission stays at its time: the times of a log that begins at 0 are divided by the factor. The factor is
    not the load: `offered_load` computes that, and `with_offered_load` finds the factor for one.

    Args:
        workload: the workload.
        factor: by which arrivals are compressed, > 0; with 2, jobs come twice as fast, with 1, nothing changes.

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
            raise InputError(f"with arrivals that are {shown(factor)} times as fast, {shown(job.id)} comes at no time")
        return job._replace(time=time)

    return _changed(workload, scaled)


def offered_load(workload: Workload, hosts: int | None = None) -> float | None:
    """The work that is submitted, over what the hosts could do meanwhile: above 1, queues grow without end.

    It is the sum over all jobs of hosts x run time, divided by hosts x the time from the first to the last submission.
    A run time is what the delay of the job's profile says, or its walltime where that ends the job before.

    Args:
        workload: the workload.
        hosts: how many computation hosts there are, > 0; None: as many as the workload is made for.

    Returns:
        The load; None where all jobs come at once, or the run time of a job is not known before it runs.

    >>> from batprotocol.simulator import lublin_workload
    >>> round(offered_load(lublin_workload(64, 1000, load=0.7)), 3)
    0.7
    """
    machine = workload.resource_count if hosts is None else hosts
    if machine <= 0:
        raise InputError(f"expected a number of hosts > 0, got {shown(machine)}")
    span = workload[len(workload) - 1].time - workload[0].time if len(workload) else 0.0
    if not span > 0:
        return None
    work = []
    for number in range(len(workload)):
        job = workload.record(number)
        runtime = _runtime(workload, job)
        if runtime is None:
            return None
        work.append(job.resources * runtime)
    return math.fsum(work) / (machine * span)


def with_offered_load(workload: Workload, load: float, *, hosts: int | None = None) -> Workload:
    """The same jobs, which come so much faster or slower that this load is offered, as `offered_load` computes it.

    Args:
        workload: the workload; the run times of its jobs are known, as those of `DelayProfile` are.
        load: the offered load, > 0.
        hosts: how many computation hosts there are; None: as many as the workload is made for.

    Raises:
        InputError: the load is no finite number > 0, or that of the workload is not known.
    """
    if not 0 < load < math.inf:
        raise InputError(f"expected an offered load > 0, got {shown(load)}")
    now = offered_load(workload, hosts)
    if not now:
        raise InputError(
            "there is no offered load that could be scaled: jobs need different submission times and DelayProfiles"
        )
    return scaled_load(workload, load / now)


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


def estimated_walltimes(
    workload: Workload, estimate_factor: float | None = None, *, seed: int = 0, badness: float | None = None
) -> Workload:
    """The same jobs, with walltimes drawn between their run times and 1 + the factor times as much, all alike likely.

    The f-model of A. W. Mu'alem and D. G. Feitelson, "Utilization, predictability, workloads, and user runtime
    estimates in scheduling the IBM SP2 with backfilling", IEEE TPDS 12(6), 2001. With 0, walltimes are the run times,
    which end the jobs: `exact_walltimes` leaves them a little longer.
    A run time is what the delay of the job's profile says, or its walltime where that ends the job before.

    Args:
        workload: the workload; its jobs have profiles whose run times are known, which are those of `DelayProfile`.
        estimate_factor: f, a number >= 0; in papers 0 to 300.
        seed: of chance. A job draws the same number whatever the factor is.
        badness: the former name of `estimate_factor`.

    Raises:
        InputError: the factor is no finite number >= 0, or the run time of a job is not known before it runs.

    >>> from batprotocol.simulator import lublin_workload
    >>> known = estimated_walltimes(lublin_workload(64, 10), 0)
    >>> all(job.walltime == known.profiles[job.profile_id].profile.delay for _, _, job in known)
    True
    """
    factor = badness if estimate_factor is None else estimate_factor
    if factor is None or not 0 <= factor < math.inf or None not in (estimate_factor, badness):
        raise InputError(f"expected an estimate factor >= 0, got {shown(factor)}")
    chance = random.Random(seed)

    def estimated(job: JobRecord) -> JobRecord:
        return _with_walltime(job, _known_runtime(workload, job) * (1.0 + factor * chance.random()))

    return _changed(workload, estimated)


def exact_walltimes(workload: Workload) -> Workload:
    """The same jobs, with exact estimates: each walltime is the run time and a microsecond.

    A walltime that equals the run time ends the job, which has not succeeded then. Policies take times that are less
    than a millisecond apart for one time, so they see the run times.

    Args:
        workload: the workload; its jobs have profiles whose run times are known, which are those of `DelayProfile`.

    Raises:
        InputError: the run time of a job is not known before it runs.
    """
    return _changed(workload, lambda job: _with_walltime(job, _known_runtime(workload, job) + _LONGER))


def _runtime(workload: Workload, job: JobRecord) -> float | None:
    """How long a job runs; None where that is not known before it runs."""
    profile = workload.profiles[f"{workload.name}!{job.profile}"].profile
    if not isinstance(profile, DelayProfile) or not profile.delay > 0:
        return None
    return profile.delay if job.walltime is None else min(profile.delay, job.walltime)


def _known_runtime(workload: Workload, job: JobRecord) -> float:
    runtime = _runtime(workload, job)
    if runtime is None:
        profile = workload.profiles[f"{workload.name}!{job.profile}"].profile
        reason = f"only of a DelayProfile the run time is known, but {shown(job.id)} has {shown(profile)}"
        raise InputError(f"estimates need run times, and {reason}")
    return runtime


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
