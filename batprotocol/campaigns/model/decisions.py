"""The decisions of the entities. The store and the loop carry them out as they are."""

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
    """A decision of the metascheduler: to launch the scheduler of a campaign on some of its clusters.

    Args:
        campaign: the number of the campaign.
        clusters: the names of the clusters that it is offered, in the order of their use.
    """

    campaign: int
    clusters: tuple[str, ...]


class Order(Record, frozen=True, kw_only=True):
    """A row of the table `jobsToSubmit`: the number of jobs of a campaign that a cluster gets in this cycle.

    Args:
        campaign: the number of the campaign.
        cluster: the name of the cluster.
        jobs: the number of jobs, at least 1.
        group: how many tasks each job runs at most, one after the other.
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
    """A decision of the runner: to submit tasks of a campaign to a cluster. Each becomes a job, first `TO_LAUNCH`.

    Args:
        campaign: the campaign.
        cluster: the name of the cluster.
        tasks: the numbers of the tasks, in the order of their submission, without duplicates.
        tag: `prologue` or `epilogue`: this is submitted instead, as one job without a task; or None.
        best_effort: whether the cluster's own jobs may kill them.
        replica: whether they are copies of tasks that have a job already.
        weight: how many resources the JDL requests for each job.
        group: how many of the tasks a job runs, one after the other.
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
    """A decision to kill a job. The job is marked with the reason, and ends when its cluster reports the end.

    Args:
        job: the number of the job.
        reason: the reason.
        event: the event to record, or None.
    """

    job: int
    reason: KillReason
    event: Event | None = None


class Verdict(Record, frozen=True, kw_only=True):
    """The effect of the end of a job on the job and its task.

    Args:
        state: the new state of the job: `TERMINATED`, `EVENT`, or the state in which it goes on.
        task: the new state of its task; None: unchanged, as the task has another job.
        priority: the priority of the task, if it goes back to the bag.
        affinity: the change of the affinity of the task to the cluster: 0 or less.
        events: the events to record. An event with `blacklists` keeps the campaign off this cluster.
        remote_id: the new id of the job on its cluster, if it has changed.
    """

    state: JobState
    task: TaskState | None = None
    priority: int | None = None
    affinity: int = 0
    events: tuple[Event, ...] = ()
    remote_id: str | None = None


class TaskChange(Record, frozen=True, kw_only=True):
    """A change of a task.

    Args:
        task: its number.
        state: its new state.
        priority: its new priority; None: unchanged.
        cluster: the cluster to which its affinity changes, or None.
        affinity: the change of the affinity: 0 or less.
    """

    task: int
    state: TaskState
    priority: int | None = None
    cluster: str | None = None
    affinity: int = 0


class EventChange(Record, frozen=True):
    """A change of an event: it is closed or opened.

    Args:
        event: its number.
        state: its new state.
    """

    event: int
    state: EventState = EventState.CLOSED


class Update(Record, frozen=True, kw_only=True):
    """The findings of the updator.

    Args:
        gridstatus: the resources of the clusters that answered.
        jobs: the jobs whose state changed.
        tasks: the tasks whose state changed; each at most once.
        events: the events to record.
        event_changes: the events that are closed.
        wipes: the jobs to kill: copies of tasks that have ended.
        relaunch: the numbers of jobs in `TO_LAUNCH` that their cluster does not know. They are submitted again, under
            the same number.
        outputs: the output of the jobs that did not end well.
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
    """The decisions of a cycle, after the updator.

    Args:
        forecasts: one for each campaign and cluster, and one for each campaign (`cluster` is None).
        launches: the schedulers that the metascheduler launched, in this order.
        orders: their orders.
        submissions: the submissions of the runner, in this order.
        taps: the taps that have changed.
        controllers: the controllers that have changed.
        wipes: the jobs that nikita kills.
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
