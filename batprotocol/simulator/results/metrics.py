"""The metrics of the field, of the rows of jobs that have ended: how long jobs waited, and how well hosts were used.

Each has its definition and source where it stands. All are over the jobs that ran; rejected ones only count as such.
Metrics of one's own (`own`) are computed of the same rows.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from batprotocol.distributions import Distribution
from batprotocol.errors import InputError, shown
from batprotocol.simulator.results.catalogue import CLASSES, flat
from batprotocol.simulator.results.observing import JobRow
from batprotocol.simulator.results.own import MeasuredRun, OwnMetric, expect_own

__all__ = [
    "TAU",
    "Distribution",
    "JobTimes",
    "Metrics",
    "bounded_slowdown",
    "jain_index",
    "measured",
    "per_processor_bounded_slowdown",
]

TAU: Final = 10.0
"""Seconds: what a job counts as having run, at least, for bounded slowdowns."""


class JobTimes(NamedTuple):
    """What metrics need of a job that ran.

    Args:
        submission: in seconds.
        start: in seconds.
        finish: in seconds.
        hosts: how many it had.
        name: its full name.
    """

    submission: float
    start: float
    finish: float
    hosts: int
    name: str

    @property
    def waiting(self) -> float:
        """Seconds from its submission to its start."""
        return self.start - self.submission

    @property
    def turnaround(self) -> float:
        """Seconds from its submission to its end."""
        return self.finish - self.submission

    @property
    def runtime(self) -> float:
        """Seconds from its start to its end."""
        return self.finish - self.start

    def within(self, begin: float, end: float) -> JobTimes:
        """As much of it as is in this time."""
        submission, start, finish = (min(max(time, begin), end) for time in self[:3])
        return JobTimes(submission, start, finish, self.hosts, self.name)


class Metrics(msgspec.Struct, frozen=True, kw_only=True):
    """What a simulation came to, in the metrics of the field.

    Args:
        nb_jobs: how many jobs ran.
        nb_rejected: how many were rejected.
        waiting: seconds from submission to start.
        turnaround: seconds from submission to end.
        slowdown: turnaround / run time.
        bounded_slowdown: `max(1, turnaround / max(run time, tau))`, so that very short jobs do not rule the mean
            (Feitelson and Rudolph, JSSPP 1998).
        per_processor_bounded_slowdown: `max(1, turnaround / (hosts * max(run time, tau)))`: a job that runs on many
            hosts has done more work in its time (Zotkin and Keleher, HPDC 1999).
        tau: that of both, in seconds.
        utilisation: host-seconds of all jobs / (hosts * measured time); above 1 where jobs share hosts.
        loss_of_capacity: idle host-seconds while jobs were waiting / (hosts * measured time): what fragmentation, and a
            scheduler that waits, cost (Zhang, Franke, Moreira and Sivasubramaniam, IPDPS 2000).
        makespan: seconds from the first submission to the last end of all jobs, whatever part of that is measured.
        measured_time: seconds of the part that is measured: the makespan, without a warm-up and a cool-down.
        throughput: jobs that ended a second of measured time.
        offered_load: host-seconds of the jobs / (hosts * seconds between their first and last submission): above 1,
            more is submitted than the hosts can do. NaN where all are submitted at once.
        waiting_at_end: the share of the jobs that still waited when the last one was submitted; where it is large, the
            queue grew to the end, and longer workloads wait for longer.
        fairness: Jain's index over users' mean bounded slowdowns: 1 if all are equal, 1/n if one of n users has it all
            (Jain, Chiu and Hawe, 1984); None where users are not known.
        consumed_joules: the energy of all hosts in the measured time; None where it was not measured.
        classes: the same for the jobs of each class, by its name; empty unless asked for.
        own: the metrics of one's own, by their names; what is not known is not in it.
    """

    nb_jobs: int
    nb_rejected: int
    waiting: Distribution
    turnaround: Distribution
    slowdown: Distribution
    bounded_slowdown: Distribution
    per_processor_bounded_slowdown: Distribution
    tau: float
    utilisation: float
    loss_of_capacity: float
    makespan: float
    measured_time: float
    throughput: float
    offered_load: float
    waiting_at_end: float
    fairness: float | None = None
    consumed_joules: float | None = None
    classes: Mapping[str, Metrics] = {}
    own: Mapping[str, float] = {}

    @property
    def stretch(self) -> Distribution:
        """The slowdown, as Batsim calls it."""
        return self.slowdown

    def flat(self) -> dict[str, float]:
        """All numbers by the names of `METRICS`, such as `mean_bounded_slowdown`; what is not known is not in it."""
        return flat(self)


def bounded_slowdown(turnaround: float, runtime: float, tau: float = TAU) -> float:
    """`max(1, turnaround / max(runtime, tau))`, all in seconds.

    >>> bounded_slowdown(100.0, 1.0), bounded_slowdown(5.0, 1.0)
    (10.0, 1.0)
    """
    return max(1.0, turnaround / max(runtime, tau))


def per_processor_bounded_slowdown(turnaround: float, runtime: float, hosts: int, tau: float = TAU) -> float:
    """`max(1, turnaround / (hosts * max(runtime, tau)))`, in seconds."""
    return max(1.0, turnaround / (max(hosts, 1) * max(runtime, tau)))


def jain_index(values: Iterable[float]) -> float:
    """`sum(x)**2 / (n * sum(x**2))`: 1 if all are equal, 1/n if one has everything; NaN without any.

    >>> jain_index([3.0, 3.0]), jain_index([1.0, 0.0])
    (1.0, 0.5)
    """
    given = list(values)
    squares = math.fsum(value * value for value in given)
    if not given or squares == 0:
        return 1.0 if given else math.nan
    return math.fsum(given) ** 2 / (len(given) * squares)


def measured(
    rows: Iterable[JobRow],
    hosts: int,
    *,
    tau: float = TAU,
    users: Mapping[str, object] | None = None,
    consumed_joules: float | None = None,
    energy: Sequence[tuple[float, float]] | None = None,
    wide: int | None = None,
    long: float | None = None,
    warm_up: float = 0.0,
    cool_down: float = 0.0,
    own: Sequence[OwnMetric | Callable[..., object]] = (),
) -> Metrics:
    """The metrics of these rows of jobs.csv.

    With a warm-up or a cool-down, only the jobs that are submitted in between count. What is of the machine
    (utilisation, loss of capacity, throughput, energy) is that of all jobs in that time, which is the measured time. A
    warm-up is a share, so that a workload is cut at the same jobs whatever its load.

    Args:
        rows: of jobs that ended or were rejected, in any order.
        hosts: how many computation hosts there are, > 0.
        tau: see `Metrics`, in seconds, > 0.
        users: who submitted each job, by its full name (`w0!1`), for fairness; None if that is not known.
        consumed_joules: the energy of all hosts in the whole simulation.
        energy: the energy of all hosts, in joules, at some times, in seconds, in their order: (time, joules). In between
            it is taken to rise evenly. With a warm-up or a cool-down, energy is not known without it.
        wide: jobs on more hosts than this are wide, the others narrow. With `long`, the jobs of each of the four
            classes are measured, too: "short narrow", "short wide", "long narrow", "long wide".
        long: jobs that ran for more seconds than this are long, the others short.
        warm_up: a share of the time between the first and the last submission, in [0, 1): what is left out at its
            beginning.
        cool_down: likewise, at its end; both together are less than 1.
        own: metrics of one's own, see `metric`.

    Raises:
        InputError: an argument is out of its range, or a metric of one's own cannot be computed.
    """
    if hosts <= 0 or not tau > 0 or (wide is None) != (long is None):
        raise InputError(
            f"expected hosts > 0, tau > 0 and both or none of wide and long, got {shown((hosts, tau, wide, long))}"
        )
    if not (warm_up >= 0 and cool_down >= 0 and warm_up + cool_down < 1):
        raise InputError(f"expected a warm-up and cool-down >= 0, below 1 together, got {shown((warm_up, cool_down))}")
    given = tuple(rows) if own else rows
    jobs: list[JobTimes] = []
    rejected: list[float] = []
    for row in given:
        finish = row.finish_time
        if row.starting_time is None or finish is None:
            rejected.append(row.submission_time)
            continue
        name = f"{row.workload_name}!{row.job_id}"
        jobs.append(JobTimes(row.submission_time, row.starting_time, finish, row.host_count, name))
    time = _Time.between(jobs, rejected, warm_up, cool_down)
    machine = _Machine(hosts, tau, users, time, _submissions(jobs, rejected, time))
    counted = jobs if time.is_whole else [job for job in jobs if time.has(job.submission)]
    classes: dict[str, Metrics] = {}
    chosen: dict[str, list[JobTimes]] = {}
    if wide is not None and long is not None:
        for name in CLASSES:
            length, size = name.split()
            part = [job for job in jobs if _is(job, size, length, wide, long)]
            chosen[name] = [job for job in part if time.has(job.submission)]
            classes[name] = _of(chosen[name], part, machine)
    found = _of(counted, jobs, machine)
    joules = consumed_joules if time.is_whole else _consumed(energy, time.of(counted)) if energy else None
    rejections = sum(map(time.has, rejected))
    if own:
        metrics = [expect_own(each) for each in own]
        run = MeasuredRun(
            hosts=hosts,
            users=users or {},
            metrics=msgspec.structs.replace(found, consumed_joules=joules, nb_rejected=rejections),
            time=time.of(counted),
            rows=tuple(given),
        )
        classes = {
            name: msgspec.structs.replace(part, own=_own(metrics, chosen[name], run)) for name, part in classes.items()
        }
        mine = {each.name: value for each in metrics if (value := each.value(_counted(run.rows, time), run)) is not None}
        found = msgspec.structs.replace(found, own=mine)
    return msgspec.structs.replace(found, nb_rejected=rejections, consumed_joules=joules, classes=classes)


def _own(metrics: Sequence[OwnMetric], jobs: Sequence[JobTimes], run: MeasuredRun) -> dict[str, float]:
    """The metrics of one's own of some jobs that ran."""
    names = {job.name for job in jobs}
    rows = tuple(row for row in run.rows if f"{row.workload_name}!{row.job_id}" in names)
    return {each.name: value for each in metrics if (value := each.value(rows, run)) is not None}


def _counted(rows: Sequence[JobRow], time: _Time) -> tuple[JobRow, ...]:
    """The rows that count, rejected jobs among them."""
    return tuple(rows) if time.is_whole else tuple(row for row in rows if time.has(row.submission_time))


def _submissions(jobs: Sequence[JobTimes], rejected: Sequence[float], time: _Time) -> tuple[float, float]:
    """The first and the last submission of the measured time."""
    found = [each for each in (*(job.submission for job in jobs), *rejected) if time.has(each)]
    return (min(found), max(found)) if found else (0.0, 0.0)


def _consumed(energy: Sequence[tuple[float, float]], time: tuple[float, float]) -> float:
    """The energy of a part of the simulation, in joules."""
    times = [each for each, _ in energy]

    def until(moment: float) -> float:
        place = bisect_right(times, moment)
        if place == 0:
            return energy[0][1]
        if place == len(energy):
            return energy[-1][1]
        (before, less), (after, more) = energy[place - 1], energy[place]
        return less + (more - less) * ((moment - before) / (after - before))

    return until(time[1]) - until(time[0])


def _is(job: JobTimes, size: str, length: str, wide: int, long: float) -> bool:
    """Whether a job belongs to a class."""
    return (job.hosts > wide) == (size == "wide") and (job.runtime > long) == (length == "long")


class _Time(NamedTuple):
    """The time that is measured; None: from the first submission on, and to the last end."""

    begin: float | None
    end: float | None

    @classmethod
    def between(cls, jobs: Sequence[JobTimes], rejected: Sequence[float], warm_up: float, cool_down: float) -> _Time:
        submissions = [job.submission for job in jobs] + list(rejected)
        if not submissions or not (warm_up or cool_down):
            return cls(None, None)
        first, last = min(submissions), max(submissions)
        span = last - first
        return cls(first + warm_up * span if warm_up else None, last - cool_down * span if cool_down else None)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return self.begin is None and self.end is None

    def has(self, submission: float) -> bool:
        """Whether what is submitted then counts."""
        return (self.begin is None or self.begin <= submission) and (self.end is None or submission <= self.end)

    def of(self, jobs: Sequence[JobTimes]) -> tuple[float, float]:
        """From when to when these jobs are measured."""
        begin = min((job.submission for job in jobs), default=0.0) if self.begin is None else self.begin
        end = max((job.finish for job in jobs), default=begin) if self.end is None else self.end
        return begin, max(begin, end)


class _Machine(NamedTuple):
    """What the jobs of all classes have in common."""

    hosts: int
    tau: float
    users: Mapping[str, object] | None
    time: _Time
    submissions: tuple[float, float]


def _of(jobs: Sequence[JobTimes], running: Sequence[JobTimes], machine: _Machine) -> Metrics:
    """The metrics of these jobs, on a machine where those that are `running` ran, too."""
    hosts, tau, users, time, (first, last) = machine
    bounded = [bounded_slowdown(job.turnaround, job.runtime, tau) for job in jobs]
    begin, end = time.of(jobs)
    length = end - begin
    capacity = hosts * length

    def over(value: Callable[[JobTimes], float]) -> Distribution:
        return Distribution.of(map(value, jobs))

    inside = running if time.is_whole else [job.within(begin, end) for job in running]
    ended = len(running) if time.is_whole else sum(begin < job.finish <= end for job in running)
    whole = length if time.is_whole else _length(running)
    work = math.fsum(job.hosts * job.runtime for job in jobs)
    return Metrics(
        nb_jobs=len(jobs),
        nb_rejected=0,
        waiting=over(lambda job: job.waiting),
        turnaround=over(lambda job: job.turnaround),
        slowdown=over(lambda job: job.turnaround / job.runtime),
        bounded_slowdown=Distribution.of(bounded),
        per_processor_bounded_slowdown=over(
            lambda job: per_processor_bounded_slowdown(job.turnaround, job.runtime, job.hosts, tau)
        ),
        tau=tau,
        utilisation=math.fsum(job.hosts * job.runtime for job in inside) / capacity if capacity else 0.0,
        loss_of_capacity=_lost(inside, hosts) / capacity if capacity else 0.0,
        makespan=whole,
        measured_time=length,
        throughput=ended / length if length else 0.0,
        offered_load=work / (hosts * (last - first)) if last > first else math.nan,
        waiting_at_end=sum(job.submission < last < job.start for job in jobs) / len(jobs) if jobs else math.nan,
        fairness=None if users is None else _fairness(jobs, bounded, users),
    )


def _length(jobs: Sequence[JobTimes]) -> float:
    """Seconds from the first submission to the last end."""
    if not jobs:
        return 0.0
    return max(job.finish for job in jobs) - min(job.submission for job in jobs)


def _lost(jobs: Sequence[JobTimes], hosts: int) -> float:
    """The host-seconds that were idle while jobs were waiting."""
    changes: dict[float, tuple[int, int]] = {}
    for job in jobs:
        for time, waiting, busy in ((job.submission, 1, 0), (job.start, -1, job.hosts), (job.finish, 0, -job.hosts)):
            before = changes.get(time, (0, 0))
            changes[time] = before[0] + waiting, before[1] + busy
    lost: list[float] = []
    waiting = busy = 0
    last = 0.0
    for time in sorted(changes):
        if waiting and busy < hosts:
            lost.append((hosts - busy) * (time - last))
        last = time
        waiting += changes[time][0]
        busy += changes[time][1]
    return math.fsum(lost)


def _fairness(jobs: Sequence[JobTimes], bounded: Sequence[float], users: Mapping[str, object]) -> float | None:
    """Jain's index over the users; None if no job has one."""
    found: dict[object, list[float]] = {}
    for job, value in zip(jobs, bounded, strict=True):
        user = users.get(job.name)
        if user is not None:
            found.setdefault(user, []).append(value)
    return jain_index(math.fsum(values) / len(values) for values in found.values()) if found else None
