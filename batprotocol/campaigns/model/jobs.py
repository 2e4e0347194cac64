"""Jobs: one attempt at a task, on one cluster."""

from __future__ import annotations

import signal

from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.model.words import JobState, KillReason

__all__ = ["Job", "JobChange", "JobOutput", "exit_text"]


class Job(Record, frozen=True, kw_only=True):
    """A task on a cluster.

    Args:
        id: its number. A cluster gets it at the submission, to recognise the job before its `remote_id` is known.
        campaign: the number of its campaign.
        task: the number of its task; None for a prologue or epilogue.
        cluster: the name of its cluster.
        state: its state.
        submission_time: the time of the decision, in seconds of the grid's clock.
        start_time: the time of its begin.
        stop_time: the time of its end.
        exit_code: its status as `wait` returns it: 256 for `exit 1`.
        remote_id: the cluster's id of the job.
        best_effort: whether the cluster's own jobs may kill it.
        replica: whether it is a copy of a task that has a job already.
        tag: `prologue`, `epilogue` or None.
        kill: the reason if it is to be killed, or None.
        weight: how many resources its JDL requests.
        group: the number of the first job of its group, which the cluster runs one after the other; None: it is alone.
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
    """A change of a job by the updator. A field that is None is unchanged.

    Args:
        job: its number.
        state: its new state.
    """

    job: int
    state: JobState
    remote_id: str | None = None
    start_time: float | None = None
    stop_time: float | None = None
    exit_code: int | None = None
    node: str | None = None


class JobOutput(Record, frozen=True, kw_only=True):
    """The end of the output of a job that did not end well.

    Args:
        job: its number.
        stdout: the end of its standard output.
        stderr: the end of its standard error.
    """

    job: int
    stdout: str = ""
    stderr: str = ""


def exit_text(exit_code: int) -> str:
    """A description of the exit code of a job.

    Args:
        exit_code: the status as `wait` returns it.

    >>> exit_text(3 << 8), exit_text(9), exit_text(139 << 8)
    ('exit code 3', 'signal SIGKILL', "exit code 139 (a shell's code for SIGSEGV)")
    """
    number, code = exit_code & 0x7F, exit_code >> 8
    if number:
        return f"signal {_signal_name(number)}"
    shell = _signal_name(code - 128) if 128 < code < 128 + signal.NSIG else ""
    return f"exit code {code}" + (f" (a shell's code for {shell})" if shell.startswith("SIG") else "")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
