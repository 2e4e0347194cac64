"""How good a copy of a log is: the log's own numbers, against those of a simulation that starts jobs as the log says.

The jobs of the simulation come from outside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Final, Protocol

import msgspec

from batprotocol._util.tables import LeftOut
from batprotocol.model.hosts import frozen_hosts
from batprotocol.results.times import HostUse, JobTimes
from batprotocol.simulator import JobRow, Platform, Workload
from batprotocol.sites.logs.jobs import Attempts, LoggedJob, LoggedRun, runs_of, share_of
from batprotocol.sites.logs.workloads import Unit, held_before
from batprotocol.workloads.requests import Allocated, Request, read_request

__all__ = [
    "ConflictLike",
    "Conflicts",
    "CopyCheck",
    "Explanation",
    "Numbers",
    "Waits",
    "check_copy",
    "explanation_of",
    "numbers_of_log",
]

_EXAMPLES: Final = 5
_MINUTE: Final = 60.0
EQUAL: Final = 0.01
"""Seconds: a start that differs by less is equal. Batsim's messages take some microseconds."""
ALL: Final = ""
"""The name of the numbers of all partitions together."""


class ConflictLike(Protocol):
    """A conflict as the policy `recorded` reports it."""

    @property
    def job_id(self) -> str:
        """The job."""

    @property
    def reason(self) -> str:
        """Why it could not start when and where the log says."""

    @property
    def delay(self) -> float:
        """How much later it started, in seconds."""


class Waits(msgspec.Struct, frozen=True):
    """The waiting times of jobs, in seconds.

    Attributes:
        jobs: the number of jobs.
        mean: their mean; NaN without jobs.
        median: their median.
    """

    jobs: int
    mean: float
    median: float


class Numbers(msgspec.Struct, frozen=True):
    """The numbers of a log, or of its copy.

    Attributes:
        utilisation: the share of the hosts that jobs had, from the first submission to the last end, in [0, 1]; NaN
            without jobs. A job that shares hosts has the share of its cores.
        waits: the waiting times by partition, and of all jobs as `""`.
    """

    utilisation: float
    waits: dict[str, Waits]


class Conflicts(msgspec.Struct, frozen=True):
    """Jobs that could not start when and where the log says, for one reason.

    Attributes:
        reason: the reason, as the end of a sentence.
        count: the number of jobs.
        mean_delay: how much later they started, in seconds: the mean.
        max_delay: the largest delay.
        jobs: the first such jobs.
    """

    reason: str
    count: int
    mean_delay: float
    max_delay: float
    jobs: tuple[str, ...]


class CopyCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A copy against its log.

    Attributes:
        jobs: the jobs of the workload that have a recorded start.
        equal_starts: those of them that start as in the log, to 10 ms.
        equal_hosts: those of these that also get the hosts of the log, where it has them.
        not_started: the jobs that never start: a scheduler rejects them.
        log: the log's own numbers.
        copy: those of the simulation.
        conflicts: the jobs that could not start when and where the log says, by reason, the most frequent first.
    """

    jobs: int
    equal_starts: int
    equal_hosts: int
    not_started: int
    log: Numbers
    copy: Numbers
    conflicts: tuple[Conflicts, ...]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """How well a policy explains the starts of a log.

    Attributes:
        policy: its name.
        jobs: the jobs with a recorded start.
        within_a_minute: the share of them that the policy starts within a minute of the log, in [0, 1]; NaN without
            jobs.
        mean_difference: the mean absolute difference of the starts, in seconds, over the jobs that the policy starts.
        not_started: the jobs that it never starts.
    """

    policy: str
    jobs: int
    within_a_minute: float
    mean_difference: float
    not_started: int


def check_copy(
    workload: Workload,
    platform: Platform,
    rows: Iterable[JobRow],
    log: Numbers,
    conflicts: Iterable[ConflictLike] = (),
    allocations: Iterable[Allocated] = (),
) -> CopyCheck:
    """Compare a simulation of the policy `recorded` with the log.

    Args:
        workload: the workload of the log, with recorded starts.
        platform: its platform.
        rows: the jobs of the simulation.
        log: the numbers of the log, see `numbers_of_log`.
        conflicts: the conflicts that the policy reported.
        allocations: the amounts that jobs took of shared hosts, such as `Policy.allocated`.
    """
    requests = _requests(workload)
    numbers = _Sums(len(platform.computation_hosts))
    rows = list(rows)
    usage = HostUse.of((job for row in rows if (job := JobTimes.of(row)) is not None), allocations)
    equal = same_hosts = never = 0
    for row in rows:
        request = requests[row.job_id]
        recorded = request.recorded
        if row.starting_time is None or row.execution_time is None:
            never += recorded is not None
            continue
        job = JobTimes.of(row)
        held = 0.0 if job is None else usage.hosts(job)
        numbers.add(row.submission_time, row.starting_time, row.execution_time, held, ",".join(request.partition))
        if recorded is not None and abs(row.starting_time - recorded.start) <= EQUAL:
            equal += 1
            same_hosts += recorded.hosts is None or recorded.hosts == frozen_hosts(row.allocated_resources)
    return CopyCheck(
        jobs=sum(request.recorded is not None for request in requests.values()),
        equal_starts=equal,
        equal_hosts=same_hosts,
        not_started=never,
        log=log,
        copy=numbers.numbers(),
        conflicts=_by_reason(conflicts),
    )


def numbers_of_log(
    jobs: Iterable[LoggedJob],
    platform: Platform,
    unit: Unit,
    attempts: Attempts = "last",
    *,
    awaited: frozenset[str] = frozenset(),
) -> Numbers:
    """The log's own numbers: those of its jobs that started and ended, as they are in the log.

    Jobs wait from the moment at which they come in a simulation: when they were eligible.

    Args:
        jobs: the jobs.
        platform: the machine of the log.
        unit: what the jobs ask for.
        attempts: which attempts of a job count.
        awaited: the ids of jobs and arrays that dependencies can name.
    """
    hosts = platform.computation_hosts
    cores = {host.name: host.cores for host in hosts}
    usual = sum(cores.values()) / len(cores) if cores else 1.0
    numbers = _Sums(len(hosts))
    seen: set[tuple[str, float, float]] = set()
    for run in runs_of(jobs, LeftOut(), attempts):
        same = (run.id, run.attempt.submitted, run.started)
        if same not in seen and not run.attempt.is_planned:
            seen.add(same)
            held = _held_in_log(run, unit, cores, usual)
            partition = run.job.partition or ALL
            numbers.add(
                run.attempt.submitted + held_before(run, awaited), run.started, run.ended - run.started, held, partition
            )
    return numbers.numbers()


def explanation_of(policy: str, workload: Workload, rows: Iterable[JobRow]) -> Explanation:
    """How well a policy explains the starts of a log.

    Args:
        policy: its name.
        workload: the workload of the log, with recorded starts.
        rows: the jobs of a simulation of the policy.
    """
    requests = _requests(workload)
    differences: list[float] = []
    never = 0
    for row in rows:
        recorded = requests[row.job_id].recorded
        if recorded is None:
            continue
        if row.starting_time is None:
            never += 1
        else:
            differences.append(abs(row.starting_time - recorded.start))
    jobs = len(differences) + never
    return Explanation(
        policy=policy,
        jobs=jobs,
        within_a_minute=sum(each <= _MINUTE for each in differences) / jobs if jobs else math.nan,
        mean_difference=math.fsum(differences) / len(differences) if differences else math.nan,
        not_started=never,
    )


class _Sums:
    """The sums of the numbers of jobs."""

    def __init__(self, hosts: int) -> None:
        self._hosts = hosts
        self._held: list[float] = []
        self._begin, self._end = math.inf, -math.inf
        self._waits: dict[str, list[float]] = {ALL: []}

    def add(self, submitted: float, started: float, lasted: float, held: float, partition: str) -> None:
        """A job that ran, with the number of hosts that it had."""
        self._held.append(held * lasted)
        self._begin, self._end = min(self._begin, submitted), max(self._end, started + lasted)
        self._waits[ALL].append(started - submitted)
        if partition:
            self._waits.setdefault(partition, []).append(started - submitted)

    def numbers(self) -> Numbers:
        """The numbers."""
        capacity = self._hosts * (self._end - self._begin)
        used = math.fsum(self._held) / capacity if 0 < capacity < math.inf else math.nan
        return Numbers(used, {name: _waits(waits) for name, waits in self._waits.items()})


def _waits(waits: Sequence[float]) -> Waits:
    if not waits:
        return Waits(0, math.nan, math.nan)
    return Waits(len(waits), math.fsum(waits) / len(waits), median(waits))


def _requests(workload: Workload) -> dict[str, Request]:
    """The requests of jobs, by their names inside the workload."""
    cut = len(workload.name) + 1
    return {submission.id[cut:]: read_request(submission.job.extra_data) for submission in workload}


def _held_in_log(run: LoggedRun, unit: Unit, cores: Mapping[str, int], usual: float) -> float:
    """The number of hosts that a job has in the log, of which it may have parts: by its cores, as `HostUse` counts."""
    if unit == "cores":
        return run.job.cores or run.job.requested_cores or run.host_count
    share = share_of(run)
    if unit == "hosts" or run.job.exclusive or not (share.cores or share.memory or share.gres):
        return run.host_count
    wanted = (run.job.cores or run.job.requested_cores or run.host_count) / run.host_count
    names = run.attempt.hosts
    if not names:
        return run.host_count * min(wanted / usual, 1.0)
    return sum(min(wanted / cores.get(name, usual), 1.0) for name in names)


def _by_reason(conflicts: Iterable[ConflictLike]) -> tuple[Conflicts, ...]:
    found: dict[str, list[ConflictLike]] = {}
    for conflict in conflicts:
        found.setdefault(conflict.reason, []).append(conflict)
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    return tuple(
        Conflicts(
            reason,
            len(given),
            math.fsum(each.delay for each in given) / len(given),
            max(each.delay for each in given),
            tuple(each.job_id for each in given[:_EXAMPLES]),
        )
        for reason, given in ordered
    )
