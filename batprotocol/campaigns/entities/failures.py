"""The effect of the end of a job on the job, its task, and its cluster. CiGri 3 calls this Colombo.

The task of a job that was killed, or ended with exit code 66, runs again before the others; with exit code 67, after
them. Any other failure makes an event, which keeps the campaign off that cluster until its user closes it.
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
)
from batprotocol.campaigns.ruby import as_ruby

__all__ = ["KILLED", "RESUBMITTED", "blacklist_event", "judge", "refused"]

KILLED = frozenset({"EXTERMINATE", "WALLTIME", "BESTEFFORT_KILL", "FRAG_JOB_REQUEST", "LOST"})
"""The events of a job that was killed. `LOST` is the campaigns' own: the cluster does not know the job any more."""

_TOLD = KILLED | {"WORKING_DIRECTORY", "RESUBMIT_JOB_AUTOMATICALLY", "REFUSED"}
_AGAIN = {
    66: ("RESUBMIT", TaskPriority.RESUBMITTED),
    67: ("RESUBMIT_END", TaskPriority.END),
}
"""The exit codes that request another run: the code of the event, and the priority of the task in the bag."""

RESUBMITTED = frozenset(code for code, _ in _AGAIN.values())
"""The codes of the events of jobs whose tasks run again without their user."""

_EXIT_ERRORS = {"prologue": "PROLOG_EXIT_ERROR", "epilogue": "EPILOG_EXIT_ERROR"}
_NEW_ID = re.compile(r"new id = ([0-9]{1,19})\)")
_ANY_ID = re.compile(r"([0-9]{1,19})\)")
_MESSAGE_CHARACTERS = 10_000

_AFTER_KILL: dict[KillReason, tuple[TaskState | None, int]] = {
    KillReason.OVERFLOW: (TaskState.PENDING, 0),
    KillReason.STALE: (TaskState.PENDING, -1),
    KillReason.WALLTIME: (TaskState.PENDING, -1),
    KillReason.REPLICA: (None, 0),
    KillReason.USER: (TaskState.CANCELLED, 0),
}
"""The new state of the task of a job that was killed on request, and the change of its affinity to the cluster."""


def judge(job: Job, remote: RemoteJob, now: float = 0.0) -> Verdict:
    """The effect of the end of a job.

    Args:
        job: the job.
        remote: the report of its cluster, in the state `TERMINATED`.
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
    if remote.exit_code is not None and remote.exit_code > 0:
        message = f"The job exited with exit status {remote.exit_code};"
        if remote.errors:
            message += f"\nLast lines of stderr_file:\n{remote.errors[-_MESSAGE_CHARACTERS:]}"
        return _failed(job, now, _EXIT_ERRORS.get(job.tag or "", "EXIT_ERROR"), message)
    if told is not None and told.type == "WORKING_DIRECTORY":
        hint = f"Use 'gridstat -C -j {job.id}' for more information."
        return _failed(
            job, now, "WORKING_DIRECTORY_ERROR", f"The job exited because of a working directory error. {hint}"
        )
    new = None if told is None else _NEW_ID.search(told.description) or _ANY_ID.search(told.description)
    if new is not None:
        return _goes_on(job, now, new[1])
    return _failed(
        job, now, "UNKNOWN_ERROR", f"The job exited with an unknown error. Job events: {_shown(remote.events)}"
    )


def _as_wanted(job: Job, reason: KillReason) -> Verdict:
    """The job was killed on request: the event was recorded then."""
    task, affinity = _AFTER_KILL[reason]
    if job.task is None:
        return Verdict(state=JobState.EVENT)
    priority = TaskPriority.RESUBMITTED if task is TaskState.PENDING else None
    return Verdict(state=JobState.EVENT, task=task, priority=priority, affinity=affinity)


def _again(job: Job, now: float, code: str, cause: str, priority: TaskPriority) -> Verdict:
    """The task goes back into the bag. A prologue or epilogue has no task; the next cycle submits it again."""
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
    """The user must close the event."""
    event = msgspec.structs.replace(_event(job, now, code, message), blacklists=True)
    task = None if job.task is None else TaskState.EVENT
    return Verdict(state=JobState.EVENT, task=task, affinity=-1, events=(event,))


def _goes_on(job: Job, now: float, remote_id: str) -> Verdict:
    """The resource manager runs the job again, with another id."""
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
    """Events in the notation of CiGri's messages."""
    pairs = [{"type": event.type, "description": event.description} for event in events]
    return as_ruby(pairs)[:_MESSAGE_CHARACTERS]


def refused(job: Job, message: str, now: float = 0.0) -> Verdict:
    """The effect if a cluster refuses a job (`REFUSED`): its campaign must not use that cluster.

    The task goes back to the bag unchanged, for other clusters.
    """
    event = msgspec.structs.replace(_event(job, now, "RUNNER_SUBMIT_ERROR", message), blacklists=True)
    task = None if job.task is None else TaskState.PENDING
    return Verdict(state=JobState.EVENT, task=task, affinity=-1, events=(event,))


def blacklist_event(event: Event, parent: int) -> Event:
    """The event that keeps a campaign, or all campaigns, off a cluster until its parent is closed.

    Args:
        event: the parent, whose `blacklists` is true.
        parent: the number of the parent, which is stored already.
    """
    return Event(
        class_="cluster" if event.class_ == "cluster" else "campaign",
        code="BLACKLIST",
        date=event.date,
        campaign=None if event.class_ == "cluster" else event.campaign,
        cluster=event.cluster,
        parent=parent,
    )
