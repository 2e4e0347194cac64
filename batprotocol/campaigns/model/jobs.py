"""Jobs: one attempt at a task, on one cluster."""

from __future__ import annotations

import signal

from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.model.words import JobState, KillReason

__all__ = ["Job", "JobChange", "JobOutput", "said_of_exit"]


class Job(Record, frozen=True, kw_only=True):
    """A task on a cluster.

    Args:
        id: our number of it. A cluster is told it, so that a job can be recognised before its `remote_id` is known.
        campaign: the number of its campaign.
        task: the number of its task; None for a prologue or epilogue.
        cluster: where it is.
        state: how far it is.
        submission_time: when it was decided, in seconds of the grid's clock.
        start_time: when it began to run.
        stop_time: when it ended.
        exit_code: as `wait` gives it: 256 for `exit 1`.
        remote_id: the cluster's name of it.
        best_effort: whether the cluster's own jobs may kill it.
        replica: whether it is a further copy of a task that has a job already.
        tag: `prologue`, `epilogue` or None.
        kill: why we have asked the cluster to kill it, or None: we have not.
        weight: how many resources its JDL asks for.
        group: the number of the first of the jobs that the cluster runs as one, one after the other; None: it is alone.
    """

    id: int
    campaign: int
    task: int | None = None
    cluster: str
    state: JobState = JobState.TO_LAUNCH
    submission_time: float = 0.0
    start_time: float | None = None
    stop_time: float | None = None
    exit_code: int | None = None
    remote_id: str | None = None
    best_effort: bool = True
    replica: bool = False
    tag: str | None = None
    kill: KillReason | None = None
    weight: int = 1
    node: str | None = None
    group: int | None = None


class JobChange(Record, frozen=True, kw_only=True):
    """What the updator found out about a job. What is None stays as it was.

    Args:
        job: its number.
        state: how far it is now.
    """

    job: int
    state: JobState
    remote_id: str | None = None
    start_time: float | None = None
    stop_time: float | None = None
    exit_code: int | None = None
    node: str | None = None


class JobOutput(Record, frozen=True, kw_only=True):
    """The last of what a job printed that did not end well.

    Args:
        job: its number.
        stdout: the end of its standard output.
        stderr: the end of its standard error.
    """

    job: int
    stdout: str = ""
    stderr: str = ""


def said_of_exit(exit_code: int) -> str:
    """How a job ended, in words.

    Args:
        exit_code: as `wait` gives it.

    >>> said_of_exit(3 << 8), said_of_exit(9), said_of_exit(139 << 8)
    ('exit code 3', 'signal SIGKILL', 'exit code 139 (what a shell says of SIGSEGV)')
    """
    number, code = exit_code & 0x7F, exit_code >> 8
    if number:
        return f"signal {_signal_name(number)}"
    shell = _signal_name(code - 128) if 128 < code < 128 + signal.NSIG else ""
    return f"exit code {code}" + (f" (what a shell says of {shell})" if shell.startswith("SIG") else "")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
