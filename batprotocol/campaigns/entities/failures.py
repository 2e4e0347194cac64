"""The ends of jobs: how clusters report them, their effect, the jobs that are wiped, and the campaigns that wait.

The effect on the job, its task and its cluster is what CiGri 3 calls Colombo.

The task of a job that was killed, or ended with exit code 66, runs again before the others; with exit code 67, after
them. Any other failure makes an event, which keeps the campaign off that cluster until its user closes it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from batprotocol.campaigns._values import as_ruby, seconds_of
from batprotocol.campaigns.entities.prediction import allowed
from batprotocol.campaigns.entities.scheduling import heads, whole_groups
from batprotocol.campaigns.model import (
    Campaign,
    CampaignState,
    EventChange,
    EventState,
    GridCluster,
    GridEvent,
    GridJob,
    GridJobState,
    GridSettings,
    GridState,
    GridStatus,
    GridUpdate,
    GridValue,
    JobChange,
    JobOutput,
    JobVerdict,
    KillReason,
    Observation,
    RemoteEvent,
    RemoteJob,
    TaskChange,
    TaskPriority,
    TaskState,
    Wipe,
)

__all__ = [
    "KILLED",
    "RESUBMITTED",
    "Hindrance",
    "Obstacle",
    "blacklist_event",
    "hindrances",
    "judge",
    "lifted",
    "overflow",
    "overtime",
    "refused",
    "stale",
    "update",
    "wipes",
]


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


def judge(job: GridJob, remote: RemoteJob, now: float = 0.0) -> JobVerdict:
    """The effect of the end of a job.

    Args:
        job: the job.
        remote: the report of its cluster, in the state `TERMINATED`.
        now: seconds of the grid's clock.

    >>> job = GridJob(id=1, campaign=1, task=5, cluster="a")
    >>> verdict = judge(job, RemoteJob(job=1, state=GridJobState.TERMINATED, exit_code=66 << 8))
    >>> verdict.task, verdict.priority, verdict.events[0].code
    (<TaskState.PENDING: 'pending'>, <TaskPriority.RESUBMITTED: 20>, 'RESUBMIT')
    """
    if remote.exit_code == 0:
        return JobVerdict(
            state=GridJobState.TERMINATED, task=None if job.kill is KillReason.REPLICA else TaskState.TERMINATED
        )
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


def _as_wanted(job: GridJob, reason: KillReason) -> JobVerdict:
    """The job was killed on request: the event was recorded then."""
    task, affinity = _AFTER_KILL[reason]
    if job.task is None:
        return JobVerdict(state=GridJobState.EVENT)
    priority = TaskPriority.RESUBMITTED if task is TaskState.PENDING else None
    return JobVerdict(state=GridJobState.EVENT, task=task, priority=priority, affinity=affinity)


def _again(job: GridJob, now: float, code: str, cause: str, priority: TaskPriority) -> JobVerdict:
    """The task goes back into the bag. A prologue or epilogue has no task; the next cycle submits it again."""
    events = [_event(job, now, code, f"Resubmit cause: {cause}")]
    affinity = -1
    if cause == "WALLTIME":
        affinity = -2  # another cluster may be faster
        warning = f"Job {job.id} has been resubmitted with modified affinity because of walltime reached"
        notice = GridEvent(class_="notify", code="WALLTIME_WARNING", date=now, campaign=job.campaign, message=warning)
        events.insert(0, msgspec.structs.replace(notice, state=EventState.CLOSED))
    return JobVerdict(
        state=GridJobState.EVENT,
        task=None if job.task is None else TaskState.PENDING,
        priority=None if job.task is None else priority,
        affinity=affinity,
        events=tuple(events),
    )


def _failed(job: GridJob, now: float, code: str, message: str) -> JobVerdict:
    """The user must close the event."""
    event = msgspec.structs.replace(_event(job, now, code, message), blacklists=True)
    task = None if job.task is None else TaskState.EVENT
    return JobVerdict(state=GridJobState.EVENT, task=task, affinity=-1, events=(event,))


def _goes_on(job: GridJob, now: float, remote_id: str) -> JobVerdict:
    """The resource manager runs the job again, with another id."""
    message = f"OAR did an automatic resubmission so we change the remote_id from {job.remote_id} to {remote_id};"
    event = msgspec.structs.replace(_event(job, now, "OAR_AUTO_RESUBMIT", message), state=EventState.CLOSED)
    return JobVerdict(state=GridJobState.EVENT, affinity=-1, events=(event,), remote_id=remote_id)


def _event(job: GridJob, now: float, code: str, message: str) -> GridEvent:
    return GridEvent(
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


def refused(job: GridJob, message: str, now: float = 0.0) -> JobVerdict:
    """The effect if a cluster refuses a job (`REFUSED`): its campaign must not use that cluster.

    The task goes back to the bag unchanged, for other clusters.
    """
    event = msgspec.structs.replace(_event(job, now, "RUNNER_SUBMIT_ERROR", message), blacklists=True)
    task = None if job.task is None else TaskState.PENDING
    return JobVerdict(state=GridJobState.EVENT, task=task, affinity=-1, events=(event,))


def blacklist_event(event: GridEvent, parent: int) -> GridEvent:
    """The event that keeps a campaign, or all campaigns, off a cluster until its parent is closed.

    Args:
        event: the parent, whose `blacklists` is true.
        parent: the number of the parent, which is stored already.
    """
    return GridEvent(
        class_="cluster" if event.class_ == "cluster" else "campaign",
        code="BLACKLIST",
        date=event.date,
        campaign=None if event.class_ == "cluster" else event.campaign,
        cluster=event.cluster,
        parent=parent,
    )


# The updator: from the answers of the clusters, it makes snapshots of resources, and new states of jobs and tasks.


def update(
    jobs: Sequence[GridJob],
    observations: Iterable[Observation],
    *,
    now: float,
    open_events: Sequence[GridEvent] = (),
) -> GridUpdate:
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


def lifted(open_events: Iterable[GridEvent], closed: Iterable[EventChange] = ()) -> tuple[EventChange, ...]:
    """The blacklists that end, as the events that caused them are closed.

    Args:
        open_events: all open events.
        closed: those of them that are closed now.
    """
    events = list(open_events)
    still_open = {each.id for each in events} - {each.event for each in closed}
    return tuple(EventChange(each.id) for each in events if each.code == "BLACKLIST" and each.parent not in still_open)


def _unreachable(seen: Observation, now: float) -> GridEvent:
    return GridEvent(
        class_="cluster", code=seen.error or "", date=now, cluster=seen.cluster, message=seen.message, blacklists=True
    )


class _Findings:
    """The findings, cluster by cluster, for an `GridUpdate`."""

    def __init__(self, jobs: Sequence[GridJob], now: float) -> None:
        self.now = now
        self.events: list[GridEvent] = []
        self._on: dict[str, list[GridJob]] = {}
        self._copies: dict[int, dict[int, GridJob]] = {}  # the jobs of each task that have not ended
        for job in jobs:
            self._on.setdefault(job.cluster, []).append(job)
            if job.task is not None:
                self._copies.setdefault(job.task, {})[job.id] = job
        self._statuses: list[GridStatus] = []
        self._changes: list[JobChange] = []
        self._relaunch: list[int] = []
        self._ended: list[tuple[GridJob, RemoteJob]] = []
        self._outputs: list[JobOutput] = []

    def look(self, seen: Observation) -> None:
        """Read the answer of a cluster."""
        self._statuses.append(GridStatus(cluster=seen.cluster, time=self.now, max=seen.max, free=seen.free))
        known = {each.job: each for each in seen.jobs}
        for job in self._on.get(seen.cluster, ()):
            remote = known.get(job.id)
            if remote is None:
                self._unknown(job, seen)
            elif remote.state is GridJobState.TERMINATED:
                self._ended.append((job, remote))
            elif _news(job, remote):
                self._changes.append(_change(job, remote, remote.state))

    def _unknown(self, job: GridJob, seen: Observation) -> None:
        """Handle a job that its cluster does not know: the cluster never got it, or has lost it."""
        if job.state is GridJobState.TO_LAUNCH and job.kill is None:
            self._relaunch.append(job.id)
        elif job.state is GridJobState.TO_LAUNCH or job.submission_time < seen.time:
            lost = RemoteJob(
                job=job.id, state=GridJobState.TERMINATED, events=(RemoteEvent("LOST"),), stop_time=self.now
            )
            self._ended.append((job, lost))

    def update(self, event_changes: tuple[EventChange, ...]) -> GridUpdate:
        """All findings."""
        tasks: dict[int, TaskChange] = {}
        wipes: list[Wipe] = []
        for job, remote in sorted(self._ended, key=lambda pair: pair[1].exit_code != 0):  # well ended ones first
            verdict = judge(job, remote, self.now)
            self.events += (_stored(event) for event in verdict.events)
            if verdict.remote_id is not None:
                again = msgspec.structs.replace(remote, remote_id=verdict.remote_id, exit_code=None, stop_time=None)
                self._changes.append(_change(job, again, GridJobState.SUBMITTED))
                continue
            self._changes.append(_change(job, remote, verdict.state, remote.stop_time or self.now))
            if verdict.state is GridJobState.EVENT and (remote.output or remote.errors):
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
        return GridUpdate(
            gridstatus=tuple(self._statuses),
            jobs=tuple(self._changes),
            tasks=tuple(tasks.values()),
            events=tuple(self.events),
            event_changes=event_changes,
            wipes=tuple(wipe for wipe in wipes if wipe.job not in ended),
            relaunch=tuple(self._relaunch),
            outputs=tuple(self._outputs),
        )


def _stored(event: GridEvent) -> GridEvent:
    """The event to store: it is closed already if the task runs again."""
    return event if event.blacklists else msgspec.structs.replace(event, state=EventState.CLOSED)


def _task_change(job: GridJob, task: int, verdict: JobVerdict) -> TaskChange:
    state = verdict.task or TaskState.ACTIVE
    return TaskChange(task=task, state=state, priority=verdict.priority, cluster=job.cluster, affinity=verdict.affinity)


def _news(job: GridJob, remote: RemoteJob) -> bool:
    """Whether the report of a job that goes on has news."""
    return job.state is not remote.state or (remote.remote_id is not None and remote.remote_id != job.remote_id)


def _change(job: GridJob, remote: RemoteJob, state: GridJobState, stop_time: float | None = None) -> JobChange:
    return JobChange(
        job=job.id,
        state=state,
        remote_id=remote.remote_id,
        start_time=remote.start_time,
        stop_time=stop_time,
        exit_code=remote.exit_code,
        node=remote.node,
    )


# Nikita wipes jobs: those that wait in excess of the allowed number, wait for too long, or run for too long.


_EVENTS = {
    KillReason.OVERFLOW: ("FRAG", "Job overflow frag"),
    KillReason.STALE: ("FRAG", "RemoteWaiting for too long frag"),
    KillReason.WALLTIME: (
        "CIGRI_WALLTIME",
        "Killed because it has reached its walltime and its cluster does not seem to care",
    ),
}
"""The code and the message of the event of a wiped job. CiGri 2 has one code for both reasons to wipe waiting jobs."""


def overflow(waiting: Iterable[GridJob], allowed: int) -> list[GridJob]:
    """The jobs that wait on a cluster in excess of the allowed number, the newest first.

    Args:
        waiting: the jobs that wait there.
        allowed: how many jobs may wait.

    >>> waiting = [GridJob(id=i, campaign=1, task=i, cluster="a") for i in (1, 2, 3)]
    >>> [job.id for job in overflow(waiting, 1)]
    [3, 2]
    """
    newest = sorted(waiting, key=lambda job: job.id, reverse=True)
    return newest[: max(0, len(newest) - allowed)]


def stale(waiting: Iterable[GridJob], now: float, limit: float) -> list[GridJob]:
    """The jobs that have waited for longer than the limit in seconds."""
    return [job for job in waiting if now - job.submission_time > limit]


def overtime(
    running: Iterable[GridJob], now: float, walltimes: Mapping[tuple[int, str], float], grace: float
) -> list[GridJob]:
    """The jobs that have run for longer than their walltime plus the time of grace.

    Args:
        running: the jobs that run.
        now: seconds of the grid's clock.
        walltimes: the walltimes in seconds, by campaign and cluster. Campaigns that have ended may be missing.
        grace: the time of grace, in seconds.
    """
    return [
        job
        for job in running
        if job.start_time is not None
        and now - job.start_time > walltimes.get((job.campaign, job.cluster), math.inf) + grace
    ]


def wipes(grid: GridState, settings: GridSettings) -> tuple[Wipe, ...]:
    """All jobs to kill in this cycle, without duplicates."""
    alive = [job for job in grid.jobs if job.kill is None]
    running = [job for job in alive if job.state is GridJobState.RUNNING]
    found: dict[int, Wipe] = {}
    for status in grid.gridstatus:
        waiting = [job for job in alive if job.state is GridJobState.REMOTE_WAITING and job.cluster == status.cluster]
        many = whole_groups(overflow(heads(waiting), allowed(status.max, settings.flood_rate)), waiting)
        found.update((job.id, _wipe(job, KillReason.OVERFLOW, grid.now)) for job in many)
        old = stale((job for job in waiting if job.id not in found), grid.now, settings.stale)
        found.update((job.id, _wipe(job, KillReason.STALE, grid.now)) for job in old)
    walltimes = {
        (each.campaign.id, properties.cluster): seconds_of(properties.walltime)
        for each in grid.campaigns
        for properties in each.campaign.clusters
    }
    late = overtime(running, grid.now, walltimes, settings.walltime_grace)
    found.update((job.id, _wipe(job, KillReason.WALLTIME, grid.now)) for job in late)
    return tuple(found.values())


def _wipe(job: GridJob, reason: KillReason, now: float) -> Wipe:
    code, message = _EVENTS[reason]
    event = GridEvent(
        class_="job",
        code=code,
        state=EventState.CLOSED,
        date=now,
        job=job.id,
        campaign=job.campaign,
        cluster=job.cluster,
        message=message,
    )
    return Wipe(job.id, reason, event)


# The reasons why campaigns wait, for a user or for an administrator.


Obstacle: TypeAlias = Literal["failed", "away", "disabled", "unknown"]
"""The reason why a campaign cannot use a cluster: open events of the campaign, or a cluster that does not answer, is
disabled, or is not registered."""


class Hindrance(GridValue, frozen=True, kw_only=True):
    """The reasons why a campaign does not go on, or not on some of its clusters.

    Args:
        campaign: the campaign.
        paused: whether its user has paused it.
        obstacles: the clusters that it cannot use, each with the reason.
        waits: whether nothing of it goes on until a person acts.
    """

    campaign: Campaign
    paused: bool = False
    obstacles: tuple[tuple[str, Obstacle], ...] = ()
    waits: bool = False


def hindrances(grid: GridState) -> tuple[Hindrance, ...]:
    """The hindrances of the campaigns that have tasks to run."""
    clusters = {each.name: each for each in grid.clusters}
    banned = {(each.campaign, each.cluster) for each in grid.blacklist}
    busy = {job.campaign for job in grid.jobs}
    found = []
    for status in grid.campaigns:
        campaign = status.campaign
        obstacles = []
        for properties in campaign.clusters:
            name = properties.cluster
            obstacle = _obstacle(clusters.get(name), (campaign.id, name) in banned, (None, name) in banned)
            if obstacle is not None:
                obstacles.append((name, obstacle))
        paused = campaign.state is CampaignState.PAUSED
        halted = paused or len(obstacles) == len(campaign.clusters)
        waits = halted and campaign.id not in busy and not status.ended
        if waits or (obstacles and not halted and status.pending):
            found.append(Hindrance(campaign=campaign, paused=paused, obstacles=tuple(obstacles), waits=waits))
    return tuple(found)


def _obstacle(cluster: GridCluster | None, failed: bool, away: bool) -> Obstacle | None:
    if cluster is None:
        return "unknown"
    if not cluster.enabled:
        return "disabled"
    if failed:
        return "failed"
    return "away" if away else None
