"""The updator: from the answers of the clusters, it makes snapshots of resources, and new states of jobs and tasks.

It also opens and closes events. Only the updator ends jobs. A job that its cluster does not know any more is lost, and
runs again. A job that its cluster never got is submitted again under its old number. If a task has several copies, the
first one that ends well ends the task, and the others are wiped. A cluster that does not answer is not used, and its
jobs are unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from batprotocol.campaigns.entities.failures import judge
from batprotocol.campaigns.model import (
    Event,
    EventChange,
    EventState,
    GridStatus,
    Job,
    JobChange,
    JobOutput,
    JobState,
    KillReason,
    Observation,
    RemoteEvent,
    RemoteJob,
    TaskChange,
    TaskState,
    Update,
    Verdict,
    Wipe,
)

__all__ = ["lifted", "update"]


def update(
    jobs: Sequence[Job], observations: Iterable[Observation], *, now: float, open_events: Sequence[Event] = ()
) -> Update:
    """The changes that follow from the answers of the clusters.

    Args:
        jobs: all jobs that have not ended.
        observations: the answers of the clusters, one for each. A cluster that is missing was not asked.
        now: seconds of the grid's clock.
        open_events: all open events.
    """
    findings = _Findings(jobs, now)
    closed = []
    for seen in observations:
        troubles = [each for each in open_events if each.class_ == "cluster" and each.cluster == seen.cluster]
        troubles = [each for each in troubles if each.code != "BLACKLIST"]
        if seen.error is None:
            findings.look(seen)
            closed += [EventChange(each.id) for each in troubles if each.code in AUTOFIXED]
        elif not any(each.code == seen.error for each in troubles):
            findings.events.append(_unreachable(seen, now))
    return findings.update((*closed, *lifted(open_events, closed)))


AUTOFIXED = frozenset(
    {
        "CONNECTION_REFUSED",
        "CONNECTION_RESET",
        "GET_JOBS",
        "GET_STRESS_FACTOR",
        "HOST_UNREACHABLE",
        "POST_TIMEOUT",
        "SOCKET_ERROR",
        "SSL_ERROR",
        "TIMEOUT",
    }
)
"""The events of clusters that are closed when the cluster answers again."""


def lifted(open_events: Iterable[Event], closed: Iterable[EventChange] = ()) -> tuple[EventChange, ...]:
    """The blacklists that end, as the events that caused them are closed.

    Args:
        open_events: all open events.
        closed: those of them that are closed now.
    """
    events = list(open_events)
    still_open = {each.id for each in events} - {each.event for each in closed}
    return tuple(EventChange(each.id) for each in events if each.code == "BLACKLIST" and each.parent not in still_open)


def _unreachable(seen: Observation, now: float) -> Event:
    return Event(
        class_="cluster", code=seen.error or "", date=now, cluster=seen.cluster, message=seen.message, blacklists=True
    )


class _Findings:
    """The findings, cluster by cluster, for an `Update`."""

    def __init__(self, jobs: Sequence[Job], now: float) -> None:
        self.now = now
        self.events: list[Event] = []
        self._on: dict[str, list[Job]] = {}
        self._copies: dict[int, dict[int, Job]] = {}  # the jobs of each task that have not ended
        for job in jobs:
            self._on.setdefault(job.cluster, []).append(job)
            if job.task is not None:
                self._copies.setdefault(job.task, {})[job.id] = job
        self._statuses: list[GridStatus] = []
        self._changes: list[JobChange] = []
        self._relaunch: list[int] = []
        self._ended: list[tuple[Job, RemoteJob]] = []
        self._outputs: list[JobOutput] = []

    def look(self, seen: Observation) -> None:
        """Read the answer of a cluster."""
        self._statuses.append(GridStatus(cluster=seen.cluster, time=self.now, max=seen.max, free=seen.free))
        known = {each.job: each for each in seen.jobs}
        for job in self._on.get(seen.cluster, ()):
            remote = known.get(job.id)
            if remote is None:
                self._unknown(job, seen)
            elif remote.state is JobState.TERMINATED:
                self._ended.append((job, remote))
            elif _news(job, remote):
                self._changes.append(_change(job, remote, remote.state))

    def _unknown(self, job: Job, seen: Observation) -> None:
        """Handle a job that its cluster does not know: the cluster never got it, or has lost it."""
        if job.state is JobState.TO_LAUNCH and job.kill is None:
            self._relaunch.append(job.id)
        elif job.state is JobState.TO_LAUNCH or job.submission_time < seen.time:
            lost = RemoteJob(job=job.id, state=JobState.TERMINATED, events=(RemoteEvent("LOST"),), stop_time=self.now)
            self._ended.append((job, lost))

    def update(self, event_changes: tuple[EventChange, ...]) -> Update:
        """All findings."""
        tasks: dict[int, TaskChange] = {}
        wipes: list[Wipe] = []
        for job, remote in sorted(self._ended, key=lambda pair: pair[1].exit_code != 0):  # well ended ones first
            verdict = judge(job, remote, self.now)
            self.events += (_stored(event) for event in verdict.events)
            if verdict.remote_id is not None:
                again = msgspec.structs.replace(remote, remote_id=verdict.remote_id, exit_code=None, stop_time=None)
                self._changes.append(_change(job, again, JobState.SUBMITTED))
                continue
            self._changes.append(_change(job, remote, verdict.state, remote.stop_time or self.now))
            if verdict.state is JobState.EVENT and (remote.output or remote.errors):
                self._outputs.append(JobOutput(job=job.id, stdout=remote.output, stderr=remote.errors))
            if job.task is None:
                continue
            others = self._copies[job.task]
            del others[job.id]
            if verdict.task is None or job.task in tasks:
                continue
            if verdict.task is TaskState.TERMINATED:
                wipes += [Wipe(other.id, KillReason.REPLICA) for other in others.values()]
            elif others:
                continue
            tasks[job.task] = _task_change(job, job.task, verdict)
        ended = {job.id for job, _ in self._ended}
        return Update(
            gridstatus=tuple(self._statuses),
            jobs=tuple(self._changes),
            tasks=tuple(tasks.values()),
            events=tuple(self.events),
            event_changes=event_changes,
            wipes=tuple(wipe for wipe in wipes if wipe.job not in ended),
            relaunch=tuple(self._relaunch),
            outputs=tuple(self._outputs),
        )


def _stored(event: Event) -> Event:
    """The event to store: it is closed already if the task runs again."""
    return event if event.blacklists else msgspec.structs.replace(event, state=EventState.CLOSED)


def _task_change(job: Job, task: int, verdict: Verdict) -> TaskChange:
    state = verdict.task or TaskState.ACTIVE
    return TaskChange(task=task, state=state, priority=verdict.priority, cluster=job.cluster, affinity=verdict.affinity)


def _news(job: Job, remote: RemoteJob) -> bool:
    """Whether the report of a job that goes on has news."""
    return job.state is not remote.state or (remote.remote_id is not None and remote.remote_id != job.remote_id)


def _change(job: Job, remote: RemoteJob, state: JobState, stop_time: float | None = None) -> JobChange:
    return JobChange(
        job=job.id,
        state=state,
        remote_id=remote.remote_id,
        start_time=remote.start_time,
        stop_time=stop_time,
        exit_code=remote.exit_code,
        node=remote.node,
    )
