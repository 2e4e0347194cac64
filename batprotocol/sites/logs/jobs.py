"""The values that all formats of logs are read into: one job of a log, with each of its attempts to run.

A value that a log does not have is None, or empty. It must not know any format.
"""

from __future__ import annotations

from enum import Enum

import msgspec

__all__ = ["Attempt", "JobState", "LoggedJob"]


class JobState(Enum):
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
    state: JobState = JobState.UNKNOWN
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
