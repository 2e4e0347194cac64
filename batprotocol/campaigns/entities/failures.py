"""What the end of a job means: for the job, its task, and the cluster it ran on. CiGri 3 calls who knows this Colombo.

A job that was killed, or asks for it by exit code 66, is run again before the others; with exit code 67, after them.
Any other failure is its user's business: an event says what happened, and keeps the campaign off that cluster until the
user has closed it.
"""

from __future__ import annotations

import re

import msgspec

from batprotocol.campaigns.model import (
    Event,
    EventState,
    Job,
    JobState,
    KillReason,
    RemoteEvent,
    RemoteJob,
    TaskPriority,
    TaskState,
    Verdict,
    said_of_exit,
)
from batprotocol.campaigns.ruby import as_ruby

__all__ = ["KILLED", "blacklist_event", "judge", "refused"]

KILLED = frozenset({"EXTERMINATE", "WALLTIME", "BESTEFFORT_KILL", "FRAG_JOB_REQUEST", "LOST"})
"""What a resource manager tells of a job that was killed; `LOST` is ours: the cluster knows nothing of it any more."""

_TOLD = KILLED | {"WORKING_DIRECTORY", "RESUBMIT_JOB_AUTOMATICALLY", "REFUSED"}
_AGAIN = {
    66: ("RESUBMIT", TaskPriority.RESUBMITTED),
    67: ("RESUBMIT_END", TaskPriority.END),
}
"""The exit codes that ask for another run: the code of the event, and where in the bag the task goes."""

_EXIT_ERRORS = {"prologue": "PROLOG_EXIT_ERROR", "epilogue": "EPILOG_EXIT_ERROR"}
_NEW_ID = re.compile(r"new id = ([0-9]{1,19})\)")
_MESSAGE_CHARACTERS = 10_000

_AFTER_KILL: dict[KillReason, tuple[TaskState | None, int]] = {
    KillReason.OVERFLOW: (TaskState.PENDING, 0),
    KillReason.STALE: (TaskState.PENDING, -1),
    KillReason.WALLTIME: (TaskState.PENDING, -1),
    KillReason.REPLICA: (None, 0),
    KillReason.USER: (TaskState.CANCELLED, 0),
}
"""What becomes of the task of a job that we had killed, and how its affinity to the cluster changes."""


def judge(job: Job, remote: RemoteJob, now: float = 0.0) -> Verdict:
    """What it means that a job ended as its cluster says.

    Args:
        job: the job.
        remote: what the cluster says; its state is `TERMINATED`.
        now: seconds of the grid's clock.

    >>> job = Job(id=1, campaign=1, task=5, cluster="a")
    >>> verdict = judge(job, RemoteJob(job=1, state=JobState.TERMINATED, exit_code=66 << 8))
    >>> verdict.task, verdict.priority, verdict.events[0].code
    (<TaskState.PENDING: 'pending'>, <TaskPriority.RESUBMITTED: 20>, 'RESUBMIT')
    """
    if remote.exit_code == 0:
        return Verdict(state=JobState.TERMINATED, task=None if job.kill is KillReason.REPLICA else TaskState.TERMINATED)
    if job.kill is not None:
        return _as_wanted(job, job.kill)
    told = next((event for event in remote.events if event.type in _TOLD), None)
    status = None if remote.exit_code is None else remote.exit_code >> 8
    if status in _AGAIN:
        code, priority = _AGAIN[status]
        return _again(job, now, code, f"Special_exit_status_{status}", priority)
    if told is not None and told.type == "REFUSED":
        return refused(job, told.description, now)
    if told is not None and told.type in KILLED:
        return _again(job, now, "RESUBMIT", told.type, TaskPriority.RESUBMITTED)
    if remote.exit_code:
        message = f"The job exited with {said_of_exit(remote.exit_code)};"
        if remote.errors:
            message += f"\nLast lines of stderr_file:\n{remote.errors[-_MESSAGE_CHARACTERS:]}"
        return _failed(job, now, _EXIT_ERRORS.get(job.tag or "", "EXIT_ERROR"), message)
    if told is not None and told.type == "WORKING_DIRECTORY":
        hint = f"Use 'gridstat -C -j {job.id}' for more information."
        return _failed(
            job, now, "WORKING_DIRECTORY_ERROR", f"The job exited because of a working directory error. {hint}"
        )
    new = _NEW_ID.search(told.description) if told is not None else None
    if new is not None:
        return _goes_on(job, now, new[1])
    return _failed(
        job, now, "UNKNOWN_ERROR", f"The job exited with an unknown error. Job events: {_shown(remote.events)}"
    )


def _as_wanted(job: Job, reason: KillReason) -> Verdict:
    """We had it killed, and told why when we did."""
    task, affinity = _AFTER_KILL[reason]
    if job.task is None:
        return Verdict(state=JobState.EVENT)
    priority = TaskPriority.RESUBMITTED if task is TaskState.PENDING else None
    return Verdict(state=JobState.EVENT, task=task, priority=priority, affinity=affinity)


def _again(job: Job, now: float, code: str, cause: str, priority: TaskPriority) -> Verdict:
    """The task goes back into the bag. A prologue or epilogue has none, and comes again by itself."""
    events = [_event(job, now, code, f"Resubmit cause: {cause}")]
    affinity = -1
    if cause == "WALLTIME":
        affinity = -2  # another cluster may be faster
        warning = f"Job {job.id} has been resubmitted with modified affinity because of walltime reached"
        notice = Event(class_="notify", code="WALLTIME_WARNING", date=now, campaign=job.campaign, message=warning)
        events.insert(0, msgspec.structs.replace(notice, state=EventState.CLOSED))
    return Verdict(
        state=JobState.EVENT,
        task=None if job.task is None else TaskState.PENDING,
        priority=None if job.task is None else priority,
        affinity=affinity,
        events=tuple(events),
    )


def _failed(job: Job, now: float, code: str, message: str) -> Verdict:
    """The user must look at it."""
    event = msgspec.structs.replace(_event(job, now, code, message), blacklists=True)
    task = None if job.task is None else TaskState.EVENT
    return Verdict(state=JobState.EVENT, task=task, affinity=-1, events=(event,))


def _goes_on(job: Job, now: float, remote_id: str) -> Verdict:
    """The resource manager itself runs the job again, under another name."""
    message = f"OAR did an automatic resubmission so we change the remote_id from {job.remote_id} to {remote_id};"
    event = msgspec.structs.replace(_event(job, now, "OAR_AUTO_RESUBMIT", message), state=EventState.CLOSED)
    return Verdict(state=JobState.EVENT, affinity=-1, events=(event,), remote_id=remote_id)


def _event(job: Job, now: float, code: str, message: str) -> Event:
    return Event(
        class_="job",
        code=code,
        date=now,
        job=job.id,
        campaign=job.campaign,
        cluster=job.cluster,
        message=message,
    )


def _shown(events: tuple[RemoteEvent, ...]) -> str:
    """Events as CiGri's messages show them."""
    pairs = [{"type": event.type, "description": event.description} for event in events]
    return as_ruby(pairs)[:_MESSAGE_CHARACTERS]


def refused(job: Job, message: str, now: float = 0.0) -> Verdict:
    """What it means that a cluster does not take a job at all (`REFUSED`): its campaign is kept off that cluster.

    The task goes back to the bag as it was, for other clusters.
    """
    event = msgspec.structs.replace(_event(job, now, "RUNNER_SUBMIT_ERROR", message), blacklists=True)
    task = None if job.task is None else TaskState.PENDING
    return Verdict(state=JobState.EVENT, task=task, affinity=-1, events=(event,))


def blacklist_event(event: Event, parent: int) -> Event:
    """The event that keeps a campaign, or all, off a cluster, until its parent is closed.

    Args:
        event: what happened; its `blacklists` is true.
        parent: its number, now that it is stored.
    """
    return Event(
        class_="cluster" if event.class_ == "cluster" else "campaign",
        code="BLACKLIST",
        date=event.date,
        campaign=None if event.class_ == "cluster" else event.campaign,
        cluster=event.cluster,
        parent=parent,
    )
