"""The values that all formats of logs are read into: one job of a log, with each of its attempts to run.

A value that a log does not have is None, or empty.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final, Literal, NamedTuple, Protocol

import msgspec

from batprotocol._util.tables import LeftOut

__all__ = [
    "Attempt",
    "AttemptState",
    "Attempts",
    "HostShare",
    "LogReader",
    "LoggedJob",
    "LoggedRun",
    "run_id",
    "runs_of",
    "seconds_between",
    "share_of",
]


class AttemptState(Enum):
    """How an attempt of a job ended, in Slurm's words."""

    BOOT_FAIL = "BOOT_FAIL"
    CANCELLED = "CANCELLED"
    COMPLETED = "COMPLETED"
    DEADLINE = "DEADLINE"
    FAILED = "FAILED"
    NODE_FAIL = "NODE_FAIL"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    PENDING = "PENDING"
    PREEMPTED = "PREEMPTED"
    REQUEUED = "REQUEUED"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    TIMEOUT = "TIMEOUT"
    UNKNOWN = "UNKNOWN"


class Attempt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One time that a job ran, or waited to run. A job that was requeued has several attempts.

    Attributes:
        submitted: when the job began to wait for this attempt, in seconds since 1970 (UTC).
        eligible: when it could have started first; None if the log does not have it.
        started: when it started; None if it never did.
        ended: when it ended or was cancelled; None while it waits or runs.
        state: how it ended.
        hosts: the names of its hosts, in the order of the log; empty if the log does not have them.
        suspended: seconds that it was suspended for.
        exit_code: the exit code; None if the log does not have it.
        signal: the signal that ended it; None or 0 if none did.
        is_planned: whether it is of a workload for a simulator, which has no starts: it counts as started at its
            submission.
    """

    submitted: float
    eligible: float | None = None
    started: float | None = None
    ended: float | None = None
    state: AttemptState = AttemptState.UNKNOWN
    hosts: tuple[str, ...] = ()
    suspended: float = 0.0
    exit_code: int | None = None
    signal: int | None = None
    is_planned: bool = False


class LoggedJob(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A job of a log.

    Amounts are totals of the whole job; `requested_...` is what the user asked for, and the rest what the job got.

    Attributes:
        id: its id in the log, without steps (`123`, `123_4` for a task of an array, `123+1` for a component).
        attempts: each time that it waited and ran, in order; at least one.
        host_count: the number of its hosts (allocated, or requested if it never started), at least 1.
        cores: its cores; None if the log has none.
        memory: its memory in bytes.
        gres: its generic resources, such as `{"gpu": 4, "gpu:a100": 4}`, as pairs of a name and a number.
        requested_hosts: the number of hosts that it asked for.
        requested_cores: the cores that it asked for.
        requested_memory: the memory that it asked for, in bytes.
        requested_gres: the generic resources that it asked for.
        walltime: its time limit in seconds; None if it has none.
        name: its name.
        user: the user.
        group: the group of the user.
        account: the account.
        partition: the partition or queue that it ran in; several with commas if it never ran.
        qos: the quality of service.
        constraint: the features that it asked for.
        reservation: the reservation that it ran in.
        priority: its priority when it was logged.
        dependency: the jobs that it waited for, in the vocabulary of `batprotocol.workloads.requests`.
        array: the id of the array that it is a task of.
        nodelist: the names of the hosts that it had to have, as `n[0-3]`.
        exclude: the names of the hosts that it did not want.
        exclusive: whether it had its hosts for itself; None if the log does not have it.
        packed: whether its cores fill its hosts one after the other, as Slurm gives them; None: it has as many of each.
        line: the line of the file that it begins at, or its row.
    """

    id: str
    attempts: tuple[Attempt, ...]
    host_count: int = 1
    cores: int | None = None
    memory: int | None = None
    gres: tuple[tuple[str, int], ...] = ()
    requested_hosts: int | None = None
    requested_cores: int | None = None
    requested_memory: int | None = None
    requested_gres: tuple[tuple[str, int], ...] = ()
    walltime: float | None = None
    name: str | None = None
    user: str | None = None
    group: str | None = None
    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    constraint: str | None = None
    reservation: str | None = None
    priority: int | None = None
    dependency: str | None = None
    array: str | None = None
    nodelist: str | None = None
    exclude: str | None = None
    exclusive: bool | None = None
    packed: bool | None = None
    line: int = 0

    @property
    def first(self) -> Attempt:
        """Its first attempt."""
        return self.attempts[0]

    @property
    def last(self) -> Attempt:
        """Its last attempt."""
        return self.attempts[-1]


class LogReader(Protocol):
    """A reader of a format. It streams: it keeps no more of the file than it must."""

    def __call__(
        self, path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None
    ) -> Iterator[LoggedJob]:
        """The jobs of a file, in its order.

        Args:
            path: the file, compressed by gzip or xz or not.
            left_out: where it counts what it leaves out.
            zone: the zone of times that have none, such as `Europe/Paris`; None: UTC.

        Raises:
            InputError: the file as a whole cannot be read: it has no header, or is not of this format.
            OSError: the file cannot be read.
        """


# Runs: each attempt that started and ended, with its share of each host


Attempts = Literal["last", "all"]
"""The attempts of a job that become jobs of a workload: only the last one that started, or each one that started."""

WAITED: Final = "the job never started"
STILL_WAITS: Final = "the job waits at the end of the log"
STILL_RUNS: Final = "the job runs at the end of the log"
NO_TIME: Final = "the job ran for 0 seconds"
BACKWARDS: Final = "the job ended before it started"
SUSPENDED: Final = "the job was suspended for longer than it ran"
EARLY: Final = "the job started before it was submitted"
ENDLESS: Final = "a time of the job is not a number, or is too large"
TOO_MANY: Final = "the job has more hosts than a machine can have"
EARLIER_ATTEMPTS: Final = "an earlier attempt of the job: it ran again"
LATER_ATTEMPTS: Final = "a later attempt of the job, which never started"

_LARGEST: Final = 2.0**53
_MOST_HOSTS: Final = 2**31 - 1
"""The most hosts that Batsim can number."""


class LoggedRun(NamedTuple):
    """One run of a job.

    Attributes:
        id: its id: that of the job, with `~2` for a second attempt.
        job: the job.
        attempt: the attempt.
        started: when it started, in seconds since 1970 (UTC).
        ended: when it ended.
        runtime: its time on its hosts without suspensions, in seconds, > 0.
        is_first: whether it is the first run of the job.
    """

    id: str
    job: LoggedJob
    attempt: Attempt
    started: float
    ended: float
    runtime: float
    is_first: bool = True

    @property
    def host_count(self) -> int:
        """The number of its hosts."""
        return len(self.attempt.hosts) or self.job.host_count


class HostShare(NamedTuple):
    """The share of a job of each of its hosts.

    Attributes:
        cores: its cores; None if the log has none.
        memory: its memory in bytes; None if the log has none.
        gres: its generic resources.
    """

    cores: int | None = None
    memory: int | None = None
    gres: tuple[tuple[str, int], ...] = ()


def run_id(id: str, number: int = 1) -> str:
    """The id of a run inside its workload.

    Batsim separates the names of workloads by `!`, and takes each name that contains `w0` for a full name.

    >>> run_id("123_4"), run_id("123", 2), run_id("raw0!7")
    ('123_4', '123~2', 'raw_0-7')
    """
    plain = id.replace("!", "-").replace("w0", "w_0") if "!" in id or "w0" in id else id
    return plain if number == 1 else f"{plain}~{number}"


def runs_of(jobs: Iterable[LoggedJob], left_out: LeftOut, attempts: Attempts = "last") -> Iterator[LoggedRun]:
    """The runs of jobs, in the order of the jobs.

    Args:
        jobs: the jobs.
        left_out: where jobs and attempts are counted that make no run.
        attempts: which attempts of a job make runs.
    """
    for job in jobs:
        chosen = job.attempts
        if attempts == "last" and len(chosen) > 1:
            chosen = _last_start(job, left_out)
        number = 0
        for attempt in chosen:
            started, ended = attempt.started, attempt.ended
            if started is None or ended is None:
                left_out.row(_unfinished(attempt), job.line)
                continue
            if job.host_count > _MOST_HOSTS:
                left_out.row(TOO_MANY, job.line)
                continue
            size = abs(attempt.submitted) + abs(started) + abs(ended) + abs(attempt.suspended)
            if not size < _LARGEST:  # neither infinities nor NaN are
                left_out.row(ENDLESS, job.line)
                continue
            runtime = seconds_between(started + max(attempt.suspended, 0.0), ended)
            if runtime <= 0:
                left_out.row(NO_TIME if ended == started else BACKWARDS if ended < started else SUSPENDED, job.line)
                continue
            if started < attempt.submitted:
                left_out.value(EARLY, job.line)
            number += 1
            yield LoggedRun(run_id(job.id, number), job, attempt, started, ended, runtime, number == 1)


def _last_start(job: LoggedJob, left_out: LeftOut) -> tuple[Attempt, ...]:
    """The last attempt that started, or the last one if none did. A job that ran and waits again has run."""
    place = next((place for place in reversed(range(len(job.attempts))) if job.attempts[place].started is not None), -1)
    for attempt in job.attempts[:place]:
        if attempt.started is not None:
            left_out.value(EARLIER_ATTEMPTS, job.line)
    if place >= 0:
        for _ in job.attempts[place + 1 :]:
            left_out.value(LATER_ATTEMPTS, job.line)
    return (job.attempts[place],)


def _unfinished(attempt: Attempt) -> str:
    """Why an attempt without a start or an end makes no run."""
    if attempt.started is not None:
        return STILL_RUNS
    return STILL_WAITS if attempt.state is AttemptState.PENDING and attempt.ended is None else WAITED


def seconds_between(earlier: float, later: float) -> float:
    """The seconds between two times of a log, in whole microseconds: the difference of doubles has fewer right digits.

    >>> seconds_between(1700000000.0, 1700000060.7)
    60.7
    """
    return round(later - earlier, 6)


def share_of(run: LoggedRun) -> HostShare:
    """The share of a run of each of its hosts: its amounts divided by its hosts, and rounded up."""
    job, hosts = run.job, run.host_count
    cores = job.cores if job.cores is not None else job.requested_cores
    memory = job.memory if job.memory is not None else job.requested_memory
    gres = job.gres or job.requested_gres
    return HostShare(
        None if not cores else -(-cores // hosts),
        None if not memory else -(-memory // hosts),
        _gres(gres, job.requested_gres, hosts) if gres else (),
    )


def _gres(
    given: tuple[tuple[str, int], ...], requested: tuple[tuple[str, int], ...], hosts: int
) -> tuple[tuple[str, int], ...]:
    """The resources on each host, without those that are counted twice: as `gpu`, and by their type as `gpu:a100`.

    A job that asked for any type keeps no type.
    """
    typed = {name.partition(":")[0] for name, _ in given if ":" in name}
    untyped = {name for name, _ in given if ":" not in name}
    asked_types = {name.partition(":")[0] for name, _ in requested if ":" in name}
    asked_any = {name for name, _ in requested if ":" not in name} - asked_types
    found = []
    for name, count in given:
        kind, colon, _ = name.partition(":")
        prefers_any = kind in untyped and kind in asked_any
        if count > 0 and (prefers_any is not bool(colon) or kind not in typed or kind not in untyped):
            found.append((name, -(-count // hosts)))
    return tuple(found)
