"""The metrics of the field, from the rows of ended jobs: waiting times, utilisation, lost work, and others.

Each has its definition and source in its docstring. All are over the jobs that ran; rejected jobs are only counted.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict

import msgspec
from msgspec.structs import replace

from batprotocol._util.distributions import Distribution
from batprotocol.errors import InputError, expect_options, shown
from batprotocol.results.catalogue import CLASSES, OwnMetric, flat, own_metrics
from batprotocol.results.electricity import CoreTimes, Electricity, PowerMetrics, power_of_machine
from batprotocol.results.observers import (
    TAU,
    JobRow,
    bounded_slowdown,
    per_processor_bounded_slowdown,
)
from batprotocol.results.times import (
    Counted,
    HostUse,
    JobTimes,
    MeasuredTime,
    RunRows,
    TimedHostEvent,
    WholeJob,
    host_downtime,
    overlap,
    share_of_time,
    whole_jobs,
)
from batprotocol.workloads.requests import Allocated, AttemptReport

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "Distribution",
    "FailureMetrics",
    "GroupOptions",
    "JoinedRun",
    "MeasureOptions",
    "MeasuredRun",
    "Metrics",
    "expect_usable",
    "jain_index",
    "joined_run",
    "measured",
    "metrics_of",
]


# Failures


_OWN_ENDS: Final = ("completed", "walltime")
"""The ends of attempts that were not interrupted."""


class FailureMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of failures and interruptions. All but the last two are about the machine in the measured time.

    Jobs are interrupted by a host that fails, by a window, or because they give way to another job. The host-seconds of
    all jobs are useful work, lost work, and checkpoints.

    Args:
        goodput: host-seconds of useful work / host-seconds of the hosts that were neither down nor in a closed window.
            All hosts count where the events of hosts are not known.
        lost_work: host-seconds of work that interruptions destroyed.
        repeated_work: host-seconds of lost work that jobs did again.
        checkpoint_overhead: host-seconds of checkpoints and restarts / host-seconds of all jobs.
        availability: host-seconds of the hosts that were not away / (hosts * measured time). Hosts that are down,
            drained, or in a closed window are away. None where the events of hosts are not known.
        full_availability: the share of the measured time in which no host was away; None as above.
        nb_interruptions: the number of interruptions of jobs.
        mean_time_to_interrupt: seconds that jobs ran / interruptions; NaN without interruptions.
        nb_given_up: the number of jobs that were interrupted, and did not run again.
    """

    goodput: float
    lost_work: float
    repeated_work: float
    checkpoint_overhead: float
    availability: float | None = None
    full_availability: float | None = None
    nb_interruptions: int
    mean_time_to_interrupt: float
    nb_given_up: int


class _AttemptEnd(NamedTuple):
    """The end of an attempt: whether it was interrupted, and its seconds of lost work and of checkpoints."""

    interrupted: bool = False
    lost: float = 0.0
    checkpoints: float = 0.0
    runs_again: bool = False


class JoinedRun(NamedTuple):
    """The jobs of a run, with all their attempts.

    Attributes:
        whole: the jobs.
        jobs: the data of those that ran.
        rejected: the submission times of those that did not.
        attempt_ends: the ends of the attempts, by their names; the others were not interrupted.
        events: the events of hosts.
    """

    whole: Sequence[WholeJob]
    jobs: list[JobTimes]
    rejected: list[float]
    attempt_ends: Mapping[str, _AttemptEnd]
    events: Sequence[TimedHostEvent]

    def attempts_of(self, jobs: Iterable[JobTimes]) -> list[JobTimes]:
        """The times that these jobs ran."""
        names = {job.name for job in jobs}
        return [attempt for job in self.whole if job.name in names for attempt in job.attempts]

    def metrics(
        self, running: Sequence[JobTimes], counted: Iterable[JobTimes], begin: float, end: float, hosts: int
    ) -> FailureMetrics:
        """The metrics of failures.

        Args:
            running: all times that jobs ran.
            counted: the jobs that count.
            begin: the beginning of the measured time, in seconds.
            end: its end.
            hosts: the number of hosts.
        """
        capacity = hosts * (end - begin)
        ran, lost, repeated, checkpoints, seconds = self._sums(running, begin, end)
        interrupted = sum(
            begin < job.finish <= end and self.attempt_ends.get(job.name, _AttemptEnd()).interrupted for job in running
        )
        known = [availability(self.events, hosts, begin, end)] if self.events and capacity > 0 else []
        possible = capacity - (known[0][2] if known else 0.0)
        names = {job.name for job in counted}
        return FailureMetrics(
            goodput=(ran - lost - checkpoints) / possible if possible > 0 else 0.0,
            lost_work=lost,
            repeated_work=repeated,
            checkpoint_overhead=checkpoints / ran if ran > 0 else 0.0,
            availability=known[0][0] if known else None,
            full_availability=known[0][1] if known else None,
            nb_interruptions=interrupted,
            mean_time_to_interrupt=seconds / interrupted if interrupted else math.nan,
            nb_given_up=sum(
                self.attempt_ends.get(job.attempts[-1].name, _AttemptEnd()).interrupted
                for job in self.whole
                if job.attempts and job.name in names
            ),
        )

    def useful_share(self, running: Iterable[JobTimes], begin: float, end: float) -> float:
        """The share of the host-seconds of jobs in a time that were useful work: neither lost, nor for checkpoints.

        Args:
            running: all times that these jobs ran.
            begin: the beginning of the time, in seconds.
            end: its end.
        """
        ran, lost, _, checkpoints, _ = self._sums(running, begin, end)
        return 1 - lost / ran - checkpoints / ran if ran > 0 else 1.0

    def _sums(self, running: Iterable[JobTimes], begin: float, end: float) -> Iterator[float]:
        """The sums of `_shares`."""
        return (math.fsum(values) for values in zip(*self._shares(running, begin, end), strict=True))

    def _shares(self, running: Iterable[JobTimes], begin: float, end: float) -> Iterator[tuple[float, ...]]:
        """Of each attempt in this time: host-seconds, those lost, repeated and for checkpoints, and its seconds."""
        yield 0.0, 0.0, 0.0, 0.0, 0.0
        for job in running:
            ended = self.attempt_ends.get(job.name, _AttemptEnd())
            time = job.finish - job.start
            inside = overlap(job.start, job.finish, begin, end)
            lost = overlap(job.finish - ended.lost, job.finish, begin, end) * job.hosts
            part = inside / time if time > 0 else 0.0
            checkpoints = ended.checkpoints * part * job.hosts
            yield inside * job.hosts, lost, lost if ended.runs_again else 0.0, checkpoints, inside


def availability(events: Iterable[TimedHostEvent], hosts: int, begin: float, end: float) -> tuple[float, float, float]:
    """The share of host-seconds and of time without a host away, and the host-seconds in which no job could run."""
    away = host_downtime(events, hosts)
    area, unable = away.area(begin, end)
    return 1 - area / (hosts * (end - begin)), away.complete(begin, end) / (end - begin), unable


def joined_run(
    seen: RunRows, attempts: Iterable[AttemptReport], events: Iterable[TimedHostEvent], hosts: int
) -> JoinedRun:
    """Join the attempts of each job.

    Args:
        seen: the rows of the run.
        attempts: the attempts as the scheduler reports them; empty: a killed job was interrupted if it runs again, has
            run before, or had a host that was away at its end; and all its work is lost unless it goes on from its
            progress.
        events: the events of hosts.
        hosts: the number of hosts.
    """
    records = {each.job_id: each for each in attempts}
    timed = list(events)
    whole = whole_jobs(seen, {each.job_id: each.first_id for each in records.values()})
    victims: frozenset[str] = frozenset()
    if not records and timed and seen.killed:
        killed_at = {job.name: (job.finish, seen.killed[job.name]) for job in seen.jobs if job.name in seen.killed}
        victims = host_downtime(timed, hosts, killed_at).victims
    attempt_ends: dict[str, _AttemptEnd] = {}
    for job in whole:
        last = len(job.attempts) - 1
        for number, attempt in enumerate(job.attempts):
            record, name = records.get(attempt.name), attempt.name
            again = number < last
            if record is not None:
                is_interrupted = record.end not in _OWN_ENDS
                attempt_ends[name] = _AttemptEnd(
                    is_interrupted, record.lost, record.checkpoints + record.restart, again
                )
            elif not records and name in seen.killed and (last or name in victims):
                goes_on = again and job.attempts[number + 1].name in seen.continued
                attempt_ends[name] = _AttemptEnd(True, 0.0 if goes_on else attempt.finish - attempt.start, 0.0, again)
    repeated = {name: each.lost for name, each in attempt_ends.items() if each.runs_again}
    return JoinedRun(
        whole,
        [job.times(repeated) for job in whole if job.attempts],
        [job.submission for job in whole if not job.attempts],
        attempt_ends,
        timed,
    )


_UNKNOWN: Final = Electricity()


class Metrics(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a simulation, in the metrics of the field.

    Args:
        nb_jobs: the number of jobs that ran.
        nb_rejected: the number of rejected jobs.
        waiting: seconds from submission to end in which the job did not run: to its start, if it ran once.
        turnaround: seconds from submission to end; to the last end, if it ran several times.
        slowdown: turnaround / run time.
        bounded_slowdown: `max(1, turnaround / max(run time, tau))`, so that very short jobs do not dominate the mean
            (Feitelson and Rudolph, JSSPP 1998).
        per_processor_bounded_slowdown: `max(1, turnaround / (hosts * max(run time, tau)))`: a job that runs on many
            hosts has done more work in its time (Zotkin and Keleher, HPDC 1999).
        tau: the bound of both, in seconds.
        utilisation: host-seconds of all jobs / (hosts * measured time). A job that shares hosts has the share of their
            cores that it takes. If that is not known, hosts with jobs count as a whole, each once. So it is at most 1,
            unless jobs are given the same cores.
        memory_utilisation: byte-seconds of memory that jobs held / (bytes of all hosts * measured time), at most 1. A
            job that has its hosts for itself holds all of their memory. None where the scheduler does not give out
            memory, or does not say what jobs take.
        gpu_utilisation: the same for GPUs; None, too, where no host has one.
        loss_of_capacity: unused host-seconds while jobs were waiting / (hosts * measured time): the cost of
            fragmentation and of a scheduler that waits (Zhang, Franke, Moreira and Sivasubramaniam, IPDPS 2000).
        makespan: seconds from the first submission to the last end of the whole run, also with a warm-up.
        measured_time: the seconds of the measured time: the makespan, without a warm-up and a cool-down.
        throughput: jobs that ended per second of the measured time.
        offered_load: host-seconds of the measured jobs / (hosts * time from their first to their last submission, or
            the time from `begin` to `end` if both are given). It does not depend on the scheduler. A job that shares
            hosts has the share of their cores that it takes; if that is not known, it counts as if it had them for
            itself. NaN if all jobs were submitted at once.
        waiting_at_end: the share of the measured jobs that waited at the last submission, or at `end`: submitted before
            it, and started after it. NaN without any job.
        fairness: Jain's index over users' mean bounded slowdowns: 1 if all are equal, 1/n if one of n users has the
            whole sum (Jain, Chiu and Hawe, 1984); None where users are not known.
        consumed_joules: the energy of all hosts in the measured time, in joules; None where it is not known.
        failures: the metrics of failures and interruptions; None if no job ran several times, and neither attempts nor
            events of hosts are known.
        power: the metrics of electricity; None where the energy over time is not known.
        own: your own metrics, by their names; NaN where they are not known.
        classes: the metrics of the jobs of each class, by its name; empty by default.
        counted: what utilisation, offered load and loss of capacity count: `hosts`, `cores` where jobs share hosts and
            their cores are known, or `shared hosts` where the cores are not known.
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
    memory_utilisation: float | None = None
    gpu_utilisation: float | None = None
    fairness: float | None = None
    consumed_joules: float | None = None
    failures: FailureMetrics | None = None
    power: PowerMetrics | None = None
    own: Mapping[str, float] = {}
    classes: Mapping[str, Metrics] = {}
    counted: Counted = "hosts"

    @property
    def stretch(self) -> Distribution:
        """The slowdown, by Batsim's name."""
        return self.slowdown

    def flat(self) -> dict[str, float]:
        """All known numbers by the names of `METRICS`, such as `mean_bounded_slowdown`, and your own metrics by theirs.

        Unknown numbers are not included.
        """
        return flat(self)


class MeasuredRun(msgspec.Struct, frozen=True, kw_only=True):
    """The data of a run for your own metrics, in addition to the jobs.

    Args:
        hosts: the number of computation hosts.
        begin: the beginning of the measured time, in seconds.
        end: the end of the measured time, in seconds.
        metrics: all other metrics, of the same jobs.
        rows: all jobs of the run, also rejected jobs, and jobs before and after the measured time.
        users: the user of each job, by its full name; None where users are not known.
    """

    hosts: int
    begin: float
    end: float
    metrics: Metrics
    rows: Sequence[JobRow]
    users: Mapping[str, object] | None = None

    @property
    def consumed_joules(self) -> float | None:
        """The energy of all hosts in the measured time, in joules; None where it is not known."""
        return self.metrics.consumed_joules


def jain_index(values: Iterable[float]) -> float:
    """`sum(x)**2 / (n * sum(x**2))`: 1 if all are equal, 1/n if one has the whole sum; NaN without values.

    >>> jain_index([3.0, 3.0]), jain_index([1.0, 0.0])
    (1.0, 0.5)
    """
    given = list(values)
    squares = math.fsum(value * value for value in given)
    if not given or squares == 0:
        return 1.0 if given else math.nan
    return math.fsum(given) ** 2 / (len(given) * squares)


class GroupOptions(TypedDict, total=False):
    """The options of `grouped` and `measured`: how a run is measured, and the facts that its jobs do not have.

    Attributes:
        tau: see `Metrics`, in seconds, > 0.
        users: the user of each job, by its full name (`w0!1`), for fairness; None if users are not known.
        warm_up: the share of the time between the first and the last submission that is left out at its beginning, in
            [0, 1).
        cool_down: the share that is left out at its end; both together are less than 1.
        begin: in place of a warm-up, the time in seconds at which the measured time begins.
        end: in place of a cool-down, the time at which it ends; a job that is submitted then does not count.
        attempts: the attempts of jobs, such as `Policy.attempts` or `read_attempts`. Without them,
            attempts are joined by the names of jobs, and a job that continues from its progress has lost nothing.
        electricity: the carbon intensity and the price of the energy, and the cap on the power.
        cores: the number of cores of all computation hosts, for metrics of core hours; None if it is unknown.
        allocations: the amounts that jobs took of shared hosts, such as `Policy.allocated` or `read_allocations`.
        own: your own metrics, also as functions, or by their names: `FILE.py:NAME`.
    """

    tau: float
    users: Mapping[str, object] | None
    warm_up: float
    cool_down: float
    begin: float | None
    end: float | None
    attempts: Iterable[AttemptReport]
    electricity: Electricity
    cores: int | None
    allocations: Iterable[Allocated]
    own: Iterable[OwnMetric | Callable[..., Any] | str]


class MeasureOptions(GroupOptions, total=False):
    """The options of `measured`: those of `GroupOptions`, and these.

    Attributes:
        consumed_joules: the energy of all hosts in the whole run, for results without a warm-up and a cool-down.
        energy: the energy of all hosts over time: times in seconds in ascending order, and the joules since time 0,
            such as those of `read_energy`. In between, it is assumed to grow evenly. With a warm-up or a cool-down,
            this is the only source of the energy of the measured time, and it must reach to the end of this time. The
            metrics of electricity need it.
        wide: jobs on more hosts than this are wide, the others narrow. With `long`, the jobs of each of the four
            classes are measured, too: "short narrow", "short wide", "long narrow", "long wide".
        long: jobs that ran for more seconds than this are long, the others short.
        events: the events of hosts with their times, by their times, such as those of `host_events_of`, for
            availability.
    """

    consumed_joules: float | None
    energy: Iterable[tuple[float, float]] | None
    wide: int | None
    long: float | None
    events: Iterable[TimedHostEvent]


def measured(rows: Iterable[JobRow], hosts: int, **options: Unpack[MeasureOptions]) -> Metrics:
    """The metrics of these rows of jobs.csv.

    A job that ran several times, because it was interrupted, is one job: from its first submission to its last end. The
    machine was in use by each of its attempts.

    A warm-up and a cool-down are shares of the time of submissions, so a workload is cut at the same jobs with any
    load. The time in between is the measured time. Only the jobs that are submitted in it count. The metrics of the
    machine (utilisation, loss of capacity, throughput) are those of all jobs in it. The makespan is that of the whole
    run.

    Args:
        rows: the rows of jobs that ended or were rejected, in any order.
        hosts: the number of computation hosts, > 0.
        options: see `MeasureOptions`.

    Raises:
        InputError: an argument is out of its range, a trace does not reach over the measured time, or one of your own
            metrics cannot be measured.
    """
    expect_options("measured", options, MeasureOptions)
    tau, users, cores = options.get("tau", TAU), options.get("users"), options.get("cores")
    warm_up, cool_down = options.get("warm_up", 0.0), options.get("cool_down", 0.0)
    begin, end, wide, long = options.get("begin"), options.get("end"), options.get("wide"), options.get("long")
    expect_usable(hosts, tau, warm_up, cool_down)
    if (wide is None) != (long is None):
        raise InputError(f"expected both or none of wide and long, got {shown((wide, long))}")
    if (begin is not None and warm_up) or (end is not None and cool_down):
        raise InputError("begin is in place of a warm-up, and end in place of a cool-down: give one of both")
    if begin is not None and end is not None and not begin < end:
        raise InputError(f"expected a measured time that begins before it ends, got {shown((begin, end))}")
    chosen = own_metrics(options.get("own", ()))
    every = list(rows) if chosen else []
    seen = RunRows(every if chosen else rows)
    running, jobs, rejected, joined = seen.jobs, seen.jobs, [time for time, _ in seen.rejected], None
    records, timed = list(options.get("attempts", ())), list(options.get("events", ()))
    if seen.runs_again or records or timed:
        joined = joined_run(seen, records, timed, hosts)
        jobs, rejected = joined.jobs, joined.rejected
    time = MeasuredTime.between(jobs, rejected, warm_up, cool_down).within(begin, end)
    counted = jobs if time.is_whole else [job for job in jobs if time.has(job.submission)]
    taken_hosts = list(options.get("allocations", ()))
    usage = HostUse.of(running, taken_hosts)
    classes: dict[str, Metrics] = {}
    if wide is not None and long is not None:
        for name in CLASSES:
            length, size = name.split()
            part = [job for job in jobs if _is(job, size, length, wide, long)]
            inside = part if joined is None else joined.attempts_of(part)
            chosen_jobs = [job for job in part if time.has(job.submission)]
            classes[name] = metrics_of(chosen_jobs, inside, time, hosts, tau, users, usage, part)
    energy = options.get("energy")
    points = None if energy is None else list(energy)
    joules = (
        options.get("consumed_joules")
        if time.is_whole
        else None
        if points is None
        else _consumed(points, *time.of(counted))
    )
    failures = None if joined is None else joined.metrics(running, counted, *time.of(counted), hosts)
    power = None
    if points is not None:
        useful = 1.0 if joined is None else joined.useful_share(running, *time.of(counted))
        taken = CoreTimes.of(cores, hosts, taken_hosts)
        electricity = options.get("electricity", _UNKNOWN)
        power = power_of_machine(running, points, electricity, taken, useful, *time.of(counted))
    found = replace(
        metrics_of(counted, running, time, hosts, tau, users, usage, jobs),
        nb_rejected=sum(map(time.has, rejected)),
        consumed_joules=joules,
        failures=failures,
        power=power,
        classes=classes,
    )
    return _with_own(found, chosen, every, time, hosts, users, wide, long) if chosen else found


def expect_usable(hosts: int, tau: float, warm_up: float, cool_down: float) -> None:
    """Refuse arguments that are out of their ranges.

    Raises:
        InputError: one of them is.
    """
    if hosts <= 0 or not tau > 0:
        raise InputError(f"expected hosts > 0 and tau > 0, got {shown((hosts, tau))}")
    if not (warm_up >= 0 and cool_down >= 0 and warm_up + cool_down < 1):
        raise InputError(f"expected a warm-up and cool-down >= 0, below 1 together, got {shown((warm_up, cool_down))}")


def _with_own(
    found: Metrics,
    own: Sequence[OwnMetric],
    rows: Sequence[JobRow],
    time: MeasuredTime,
    hosts: int,
    users: Mapping[str, object] | None,
    wide: int | None,
    long: float | None,
) -> Metrics:
    """These metrics with your own metrics, also for each class."""
    ran = [(row, job) for row in rows if (job := JobTimes.of(row)) is not None and time.has(job.submission)]

    def extended(part: Metrics, jobs: Sequence[tuple[JobRow, JobTimes]]) -> Metrics:
        begin, end = time.of([job for _, job in jobs])
        run = MeasuredRun(hosts=hosts, begin=begin, end=end, metrics=part, rows=rows, users=users)
        given = [row for row, _ in jobs]
        return replace(part, own={each.name: each.value(given, run) for each in own})

    classes: dict[str, Metrics] = {}
    for name, part in found.classes.items():
        assert wide is not None
        assert long is not None
        length, size = name.split()
        classes[name] = extended(part, [each for each in ran if _is(each[1], size, length, wide, long)])
    return replace(extended(found, ran), classes=classes)


def _is(job: JobTimes, size: str, length: str, wide: int, long: float) -> bool:
    """Whether a job belongs to a class."""
    return (job.hosts > wide) == (size == "wide") and (job.runtime > long) == (length == "long")


def metrics_of(
    jobs: Sequence[JobTimes],
    running: Sequence[JobTimes],
    time: MeasuredTime,
    hosts: int,
    tau: float,
    users: Mapping[str, object] | None,
    usage: HostUse,
    ending: Sequence[JobTimes] | None = None,
) -> Metrics:
    """The metrics of these jobs, on a machine where others ran, too.

    Args:
        jobs: the jobs that count.
        running: all times that jobs ran; a job that ran several times is several times there.
        time: the measured time.
        hosts: the number of hosts.
        tau: the bound of bounded slowdowns.
        users: the user of each job, by its full name.
        usage: what is counted.
        ending: all jobs that ended; None: those in `running`.
    """
    ending = running if ending is None else ending
    bounded = [bounded_slowdown(job.turnaround, job.runtime, tau) for job in jobs]
    begin, end = time.of(jobs)
    duration = end - begin
    capacity = hosts * duration
    first, last = (begin, end) if time.is_whole else MeasuredTime(None, None).of(ending)

    def over(value: Callable[[JobTimes], float]) -> Distribution:
        return Distribution.of(map(value, jobs))

    inside = running if time.is_whole else [job.within(begin, end) for job in running]
    ended = len(ending) if time.is_whole else sum(begin < job.finish <= end for job in ending)
    used = usage.area(inside)
    asked = used if time.is_whole and ending is running and usage.counted == "hosts" else usage.work(jobs)
    opened, submitted = (choose((job.submission for job in jobs), default=math.nan) for choose in (min, max))
    if time.is_window:
        opened, submitted = begin, end
    capacity_asked = hosts * (submitted - opened)
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
        utilisation=used / capacity if capacity else 0.0,
        memory_utilisation=share_of_time(usage.seconds("memory", inside), duration),
        gpu_utilisation=share_of_time(usage.seconds("gpu", inside), duration),
        loss_of_capacity=_lost(inside, usage.changes(inside), hosts) / capacity if capacity else 0.0,
        makespan=last - first,
        measured_time=duration,
        throughput=ended / duration if duration else 0.0,
        offered_load=asked / capacity_asked if capacity_asked > 0 else math.nan,
        waiting_at_end=sum(job.submission < submitted < job.start for job in jobs) / len(jobs) if jobs else math.nan,
        fairness=None if users is None else _fairness(jobs, bounded, users),
        counted=usage.counted,
    )


def _consumed(energy: Iterable[tuple[float, float]], begin: float, end: float) -> float | None:
    """The joules between two times; None where the points end before."""
    points = [(0.0, 0.0), *energy]
    if points[-1][0] < end:
        return None

    def until(time: float) -> float:
        place = bisect_right(points, time, key=itemgetter(0))
        before, joules = points[max(place - 1, 0)]
        if before >= time or place == len(points):
            return joules
        after, more = points[place]
        return joules + (more - joules) * (time - before) / (after - before)

    return until(end) - until(begin)


def _lost(jobs: Iterable[JobTimes], used: Iterable[tuple[float, float]], hosts: int) -> float:
    """The host-seconds that were unused while jobs were waiting.

    Args:
        jobs: the jobs.
        used: times, and by how much the hosts in use change there.
        hosts: the number of hosts.
    """
    waits: dict[float, int] = {}
    for job in jobs:
        waits[job.submission] = waits.get(job.submission, 0) + 1
        waits[job.start] = waits.get(job.start, 0) - 1
    changes: dict[float, float] = {}
    for time, change in used:
        changes[time] = changes.get(time, 0.0) + change
    lost: list[float] = []
    waiting, busy, last = 0, 0.0, 0.0
    for time in sorted(waits.keys() | changes.keys()):
        if waiting and busy < hosts:
            lost.append((hosts - busy) * (time - last))
        last = time
        waiting += waits.get(time, 0)
        busy += changes.get(time, 0.0)
    return math.fsum(lost)


def _fairness(jobs: Sequence[JobTimes], bounded: Sequence[float], users: Mapping[str, object]) -> float | None:
    """Jain's index over the users; None if no job has one."""
    found: dict[object, list[float]] = {}
    for job, value in zip(jobs, bounded, strict=True):
        user = users.get(job.name)
        if user is not None:
            found.setdefault(user, []).append(value)
    return jain_index(math.fsum(values) / len(values) for values in found.values()) if found else None
