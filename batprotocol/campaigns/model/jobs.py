"""Jobs: one attempt at a task, on one cluster."""

from __future__ import annotations

from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.model.words import JobState, KillReason

__all__ = ["Job", "JobChange"]


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
