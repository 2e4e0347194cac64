"""Decisions: what the entities want done. Who stores and submits does exactly that, and asks nothing."""

from __future__ import annotations

from typing import Literal, TypeAlias

from batprotocol.campaigns.model.campaigns import Campaign
from batprotocol.campaigns.model.clusters import GridStatus
from batprotocol.campaigns.model.events import Event
from batprotocol.campaigns.model.forecasts import Forecast
from batprotocol.campaigns.model.jobs import JobChange, JobOutput
from batprotocol.campaigns.model.rates import ControllerState, Tap
from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.model.words import EventState, JobState, KillReason, TaskState

__all__ = [
    "Decisions",
    "EventChange",
    "Launch",
    "Order",
    "Policy",
    "Submission",
    "TaskChange",
    "Update",
    "Verdict",
    "Wipe",
]

Policy: TypeAlias = Literal["test", "workqueue", "finalize"]
"""The scheduling policies of the specification."""


class Launch(Record, frozen=True):
    """The metascheduler launches the scheduler of a campaign on some of its clusters.

    Args:
        campaign: the number of the campaign.
        clusters: the names of the clusters that it is offered, in the order in which it is to use them.
    """

    campaign: int
    clusters: tuple[str, ...]


class Order(Record, frozen=True, kw_only=True):
    """A row of the table `jobsToSubmit`: how many jobs of a campaign a cluster is to get in this cycle.

    Args:
        campaign: the number of the campaign.
        cluster: the name of the cluster.
        jobs: how many, at least 1.
        group: how many tasks each of them does, one after the other, at most.
        policy: the policy of the campaign's scheduler.
        resources: how many of the cluster's free resources they are expected to take.
    """

    campaign: int
    cluster: str
    jobs: int
    group: int = 1
    policy: Policy = "workqueue"
    resources: float = 0.0


class Submission(Record, frozen=True, kw_only=True):
    """The runner submits tasks of a campaign to a cluster: each becomes a job, which begins as `TO_LAUNCH`.

    Args:
        campaign: the campaign.
        cluster: the name of the cluster.
        tasks: the numbers of the tasks, in the order of their submission; none twice.
        tag: `prologue` or `epilogue`: that is submitted instead, as one job without a task; or None.
        best_effort: whether the cluster's own jobs may kill them.
        replica: whether they are further copies of tasks that have a job already.
        weight: how many resources the JDL asks for, for each.
        group: how many of the tasks, one after the other, a job does.
    """

    campaign: Campaign
    cluster: str
    tasks: tuple[int, ...] = ()
    tag: str | None = None
    best_effort: bool = True
    replica: bool = False
    weight: int = 1
    group: int = 1


class Wipe(Record, frozen=True):
    """A job is to be killed. It is marked with the reason, and has ended only when its cluster says so.

    Args:
        job: the number of the job.
        reason: why.
        event: what is to be told of it, or None.
    """

    job: int
    reason: KillReason
    event: Event | None = None


class Verdict(Record, frozen=True, kw_only=True):
    """What becomes of a job that ended, and of its task.

    Args:
        state: of the job: `TERMINATED`, or `EVENT`, or that in which it goes on.
        task: the state of its task from now on; None: as it was, since another job has it.
        priority: of the task, if it goes back to the bag.
        affinity: by how much the task prefers other clusters from now on: 0 or less.
        events: what is to be told. One with `blacklists` keeps the campaign off this cluster.
        remote_id: the cluster's name of the job from now on, if that has changed.
    """

    state: JobState
    task: TaskState | None = None
    priority: int | None = None
    affinity: int = 0
    events: tuple[Event, ...] = ()
    remote_id: str | None = None


class TaskChange(Record, frozen=True, kw_only=True):
    """What becomes of a task.

    Args:
        task: its number.
        state: where it is now.
        priority: its priority from now on; None: as it was.
        cluster: the cluster whose affinity to it changes, or None.
        affinity: by how much: 0 or less.
    """

    task: int
    state: TaskState
    priority: int | None = None
    cluster: str | None = None
    affinity: int = 0


class EventChange(Record, frozen=True):
    """An event is closed or opened.

    Args:
        event: its number.
        state: its state from now on.
    """

    event: int
    state: EventState = EventState.CLOSED


class Update(Record, frozen=True, kw_only=True):
    """What the updator found out.

    Args:
        gridstatus: the resources of the clusters that answered.
        jobs: the jobs whose state changed.
        tasks: the tasks whose state changed; each at most once.
        events: what is to be told.
        event_changes: the events that are closed by it.
        wipes: jobs to be killed: copies of tasks that have ended.
        relaunch: the numbers of jobs in `TO_LAUNCH` which their cluster does not know: they are to be submitted again,
            under the same number.
        outputs: what those jobs printed that did not end well.
    """

    gridstatus: tuple[GridStatus, ...] = ()
    jobs: tuple[JobChange, ...] = ()
    tasks: tuple[TaskChange, ...] = ()
    events: tuple[Event, ...] = ()
    event_changes: tuple[EventChange, ...] = ()
    wipes: tuple[Wipe, ...] = ()
    relaunch: tuple[int, ...] = ()
    outputs: tuple[JobOutput, ...] = ()


class Decisions(Record, frozen=True, kw_only=True):
    """What a cycle decided, after the updator.

    Args:
        forecasts: one for each campaign and cluster, and one for each campaign (`cluster` is None).
        launches: whose schedulers the metascheduler launched, in that order.
        orders: what they ordered.
        submissions: what the runner is to submit, in that order.
        taps: the taps as they are now, where they have changed.
        controllers: likewise.
        wipes: the jobs that nikita has killed.
        ended: the numbers of the campaigns all of whose tasks have ended.
    """

    forecasts: tuple[Forecast, ...] = ()
    launches: tuple[Launch, ...] = ()
    orders: tuple[Order, ...] = ()
    submissions: tuple[Submission, ...] = ()
    taps: tuple[Tap, ...] = ()
    controllers: tuple[ControllerState, ...] = ()
    wipes: tuple[Wipe, ...] = ()
    ended: tuple[int, ...] = ()
