"""The values of campaigns, with the specification's names: plain, immutable, comparable. They know no entity.

Campaigns, tasks, jobs, clusters and events are defined in `_values`. Here are the values of a cycle: forecasts and
rates, the settings of the grid, its state, and the decisions upon it.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from batprotocol._util.deprecation import old_names
from batprotocol.campaigns._values import (
    Blacklist,
    Campaign,
    CampaignState,
    CampaignType,
    ClusterProperties,
    EventClass,
    EventState,
    GridCluster,
    GridEvent,
    GridJob,
    GridJobState,
    GridStatus,
    GridTask,
    GridValue,
    JobChange,
    JobOutput,
    KillReason,
    Level,
    Observation,
    RemoteEvent,
    RemoteJob,
    TapState,
    TaskPriority,
    TaskState,
    UserPriority,
    Word,
    exit_text,
)

__path__: list[str] = []  # it was a package: its modules are found by their old names

__all__ = [
    "CIGRI_2",
    "CIGRI_3",
    "Blacklist",
    "Campaign",
    "CampaignProgress",
    "CampaignState",
    "CampaignStatus",
    "CampaignType",
    "ClusterProperties",
    "ControllerSettings",
    "Decisions",
    "Durations",
    "EventChange",
    "EventClass",
    "EventState",
    "Forecast",
    "GridCluster",
    "GridEvent",
    "GridJob",
    "GridJobState",
    "GridSettings",
    "GridState",
    "GridStatus",
    "GridTask",
    "GridUpdate",
    "GridValue",
    "JobChange",
    "JobOrder",
    "JobOutput",
    "JobVerdict",
    "KillReason",
    "Launch",
    "Level",
    "Observation",
    "PiControllerState",
    "Policy",
    "Regulator",
    "RemoteEvent",
    "RemoteJob",
    "Strategy",
    "Tap",
    "TapSettings",
    "TapState",
    "TaskChange",
    "TaskPriority",
    "TaskState",
    "TaskSubmission",
    "ThroughputWindow",
    "UserPriority",
    "Wipe",
    "Word",
    "exit_text",
]


# The predictor's forecasts for a campaign on a cluster, and the statistics that it uses.


class Durations(GridValue, frozen=True):
    """The durations of jobs, as sums: a job is added when it ends, and need not be read again.

    Args:
        count: the number of jobs.
        total: the sum of their durations, in seconds.
        squares: the sum of the squares.

    >>> Durations.of(100, 200) + Durations.of(300)
    Durations(count=3, total=600, squares=140000)
    >>> Durations.of(100, 200, 200, 200, 200, 200).mean
    183.33333333333334
    """

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, *seconds: float) -> Durations:
        """The durations of jobs that took these times."""
        return cls(len(seconds), sum(seconds), sum(each * each for each in seconds))

    def __add__(self, other: Durations) -> Durations:
        return Durations(self.count + other.count, self.total + other.total, self.squares + other.squares)

    @property
    def mean(self) -> float | None:
        """The mean, in seconds; None without jobs."""
        return self.total / self.count if self.count else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of all of them, in seconds; None without jobs."""
        if not self.count:
            return None
        return math.sqrt(max(0.0, self.squares / self.count - (self.total / self.count) ** 2))


class ThroughputWindow(GridValue, frozen=True):
    """The jobs that ended within the last hours.

    Args:
        finished: how many ended with exit code 0.
        since: the time at which the first of them was submitted, in seconds of the grid's clock; None without jobs.
    """

    finished: int = 0
    since: float | None = None


class Forecast(GridValue, frozen=True, kw_only=True):
    """A row of the table `forecasts`.

    Args:
        campaign: the number of the campaign.
        cluster: the name of the cluster; None: all clusters of the campaign.
        time: the time of the forecast, in seconds of the grid's clock.
        ratio: jobs for each free resource, a real number >= 0; None if the regulator uses no ratio.
        nsub: how many jobs this cycle submitted.
        free: the number of resources that the ratio was multiplied by.
        average: the mean duration of a job, in seconds; None if it is unknown.
        deviation: its standard deviation.
        throughput: finished jobs per second, over the last hours; None if it is unknown.
        end: the expected time of the end of the campaign; None if it is unknown.
        method: the method of the forecast of the end, `average` or `throughput`; None without an end.
    """

    campaign: int
    cluster: str | None = None
    time: float = 0.0
    ratio: float | None = None
    nsub: int = 0
    free: float = 0.0
    average: float | None = None
    deviation: float | None = None
    throughput: float | None = None
    end: float | None = None
    method: str | None = None


# The rates at which clusters get jobs of campaigns: CiGri 3's taps, and the states of controllers.


class Tap(GridValue, frozen=True, kw_only=True):
    """A tap between a campaign and a cluster. `batprotocol.campaigns.entities.regulation` turns it.

    Args:
        campaign: the number of the campaign.
        cluster: the name of the cluster.
        state: whether it is open.
        rate: how many jobs may be submitted in a cycle while it is open.
        close_date: the time at which it was last closed, in seconds of the grid's clock; None: never.
    """

    campaign: int
    cluster: str
    state: TapState = TapState.OPEN
    rate: int = 3
    close_date: float | None = None


class PiControllerState(GridValue, frozen=True, kw_only=True):
    """The state of the controller of a campaign on a cluster.

    Args:
        campaign: the number of the campaign.
        cluster: the name of the cluster.
        submitted: how many jobs to submit in a cycle, before rounding.
        integral: the sum of the errors so far.
    """

    campaign: int
    cluster: str
    submitted: float = 0.0
    integral: float = 0.0


Policy: TypeAlias = Literal["test", "workqueue", "finalize"]
"""The scheduling policies of the specification."""


# The decisions of a cycle.


class Launch(GridValue, frozen=True):
    """A decision of the metascheduler: to launch the scheduler of a campaign on some of its clusters.

    Args:
        campaign: the number of the campaign.
        clusters: the names of the clusters that it is offered, in the order of their use.
    """

    campaign: int
    clusters: tuple[str, ...]


class JobOrder(GridValue, frozen=True, kw_only=True):
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


class TaskSubmission(GridValue, frozen=True, kw_only=True):
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


class Wipe(GridValue, frozen=True):
    """A decision to kill a job. The job is marked with the reason, and ends when its cluster reports the end.

    Args:
        job: the number of the job.
        reason: the reason.
        event: the event to record, or None.
    """

    job: int
    reason: KillReason
    event: GridEvent | None = None


class JobVerdict(GridValue, frozen=True, kw_only=True):
    """The effect of the end of a job on the job and its task.

    Args:
        state: the new state of the job: `TERMINATED`, `EVENT`, or the state in which it goes on.
        task: the new state of its task; None: unchanged, as the task has another job.
        priority: the priority of the task, if it goes back to the bag.
        affinity: the change of the affinity of the task to the cluster: 0 or less.
        events: the events to record. An event with `blacklists` keeps the campaign off this cluster.
        remote_id: the new id of the job on its cluster, if it has changed.
    """

    state: GridJobState
    task: TaskState | None = None
    priority: int | None = None
    affinity: int = 0
    events: tuple[GridEvent, ...] = ()
    remote_id: str | None = None


class TaskChange(GridValue, frozen=True, kw_only=True):
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


class EventChange(GridValue, frozen=True):
    """A change of an event: it is closed or opened.

    Args:
        event: its number.
        state: its new state.
    """

    event: int
    state: EventState = EventState.CLOSED


class GridUpdate(GridValue, frozen=True, kw_only=True):
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
    events: tuple[GridEvent, ...] = ()
    event_changes: tuple[EventChange, ...] = ()
    wipes: tuple[Wipe, ...] = ()
    relaunch: tuple[int, ...] = ()
    outputs: tuple[JobOutput, ...] = ()


class Decisions(GridValue, frozen=True, kw_only=True):
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
    orders: tuple[JobOrder, ...] = ()
    submissions: tuple[TaskSubmission, ...] = ()
    taps: tuple[Tap, ...] = ()
    controllers: tuple[PiControllerState, ...] = ()
    wipes: tuple[Wipe, ...] = ()
    ended: tuple[int, ...] = ()


# The grid: the input of a cycle. It has counts and active campaigns and jobs, but none that have ended.


class CampaignStatus(GridValue, frozen=True, kw_only=True):
    """The progress of a campaign.

    Args:
        campaign: the campaign.
        total: how many tasks it has.
        pending: how many of them are in the bag.
        active: how many of them are in jobs.
        terminated: how many of them ended with exit code 0.
        failed: how many of them ended with an event, or were cancelled.
        events: how many open events it has.
        prologue_done: the clusters on which its prologue has ended.
        epilogue_done: the clusters on which its epilogue has ended.
        used: the clusters on which it has had a job.
    """

    campaign: Campaign
    total: int = 0
    pending: int = 0
    active: int = 0
    terminated: int = 0
    failed: int = 0
    events: int = 0
    prologue_done: tuple[str, ...] = ()
    epilogue_done: tuple[str, ...] = ()
    used: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether all tasks, well or not, and the epilogues have ended."""
        epilogues = {each.cluster for each in self.campaign.clusters if each.epilogue and each.cluster in self.used}
        return self.pending == self.active == 0 and epilogues <= set(self.epilogue_done)


class CampaignProgress(GridValue, frozen=True, kw_only=True):
    """The jobs of a campaign that have ended on a cluster, as sums.

    Args:
        campaign: the number of the campaign.
        cluster: the name of the cluster.
        durations: the durations of the jobs that ended with exit code 0.
        window: the jobs that ended with exit code 0 within the last hours.
    """

    campaign: int
    cluster: str
    durations: Durations = Durations()
    window: ThroughputWindow = ThroughputWindow()


class GridState(GridValue, frozen=True, kw_only=True):
    """The state of the grid that a cycle decides upon, with the findings of the updator.

    Args:
        now: seconds of the grid's clock.
        clusters: all clusters, by number.
        gridstatus: the newest snapshot of each cluster; a cluster without one is not used.
        campaigns: the campaigns that have not ended, by number, also paused ones.
        jobs: the jobs that have not ended, by number.
        progress: the progress of these campaigns on their clusters, if there is any.
        blacklist: the clusters that must not be used.
        priorities: the priorities of users on clusters.
        forecasts: the newest forecast of each campaign and cluster, if there is one.
        taps: all taps of these campaigns.
        controllers: all controllers of these campaigns.
    """

    now: float = 0.0
    clusters: tuple[GridCluster, ...] = ()
    gridstatus: tuple[GridStatus, ...] = ()
    campaigns: tuple[CampaignStatus, ...] = ()
    jobs: tuple[GridJob, ...] = ()
    progress: tuple[CampaignProgress, ...] = ()
    blacklist: tuple[Blacklist, ...] = ()
    priorities: tuple[UserPriority, ...] = ()
    forecasts: tuple[Forecast, ...] = ()
    taps: tuple[Tap, ...] = ()
    controllers: tuple[PiControllerState, ...] = ()


# The settings of the grid: the numbers and names that the entities use. The defaults are CiGri's.


Strategy: TypeAlias = Literal["fifo", "affinity", "priority"]
"""The order of the campaigns in the metascheduler. `fifo`: by number. `affinity`: first the clusters to which the user
has an affinity, as in the specification's note. `priority`: cluster by cluster, by the users' priorities, as CiGri
3."""

Regulator: TypeAlias = Literal["slow-start", "two-way", "exponential", "rate", "controller"]
"""The part that limits the number of jobs of a campaign on a cluster: the predictor of the ratio (the first three, by
their algorithms), CiGri 3's taps, or a PI controller."""


class TapSettings(GridValue, frozen=True, kw_only=True):
    """The settings of taps.

    Args:
        rate: the rate that a tap begins with.
        factor: the factor by which the rate grows or falls.
        maximum: the greatest rate: from it on, a rate does not grow.
        grace: for how many seconds the rate stays unchanged after the tap was closed.
    """

    rate: int = 3
    factor: float = 1.5
    maximum: int = 100
    grace: float = 60.0


class ControllerSettings(GridValue, frozen=True, kw_only=True):
    """A PI controller: in each cycle, `submitted += proportional * error + integral * (sum of errors)`.

    Args:
        proportional: Kp.
        integral: Ki.
        reference: how many jobs should wait on the cluster; the error is this minus the number of jobs that wait.
        maximum: the greatest number of jobs to submit in a cycle.
    """

    proportional: float = 0.2
    integral: float = 0.02
    reference: float = 10.0
    maximum: int = 1000


class GridSettings(GridValue, frozen=True, kw_only=True):
    """The settings of the grid.

    Args:
        strategy: the order of the campaigns in the metascheduler.
        regulator: the part that limits the number of jobs on a cluster.
        flood_rate: how many jobs may wait, as a part of the cluster's resources; nikita wipes more jobs.
        order_flood_rate: how many jobs are ordered in excess of the free resources, as a part of all resources.
        window: the time over which the throughput is measured, in seconds.
        stale: the number of seconds after which a job that waits is wiped.
        walltime_grace: the number of seconds after its walltime after which a job that runs is wiped.
        finalize: whether the last tasks of a campaign are copied to idle resources.
        copies: how many jobs a task may have at once with `finalize`.
        batch: the greatest number of jobs of a campaign that a cluster gets at once.
        group_seconds: the intended duration of a group of tasks, for campaigns with temporal grouping.
        group_tasks: the greatest number of tasks in a group.
        tap: the settings of taps.
        controller: the settings of the controller.
    """

    strategy: Strategy = "fifo"
    regulator: Regulator = "two-way"
    flood_rate: float = 0.5
    order_flood_rate: float = 0.0
    window: float = 7200.0
    stale: float = 900.0
    walltime_grace: float = 1800.0
    finalize: bool = True
    copies: int = 2
    batch: int = 500
    group_seconds: float = 30.0
    group_tasks: int = 1000
    tap: TapSettings = TapSettings()
    controller: ControllerSettings = ControllerSettings()


CIGRI_2 = GridSettings(strategy="fifo", regulator="two-way", flood_rate=0.5, order_flood_rate=0.5, finalize=False)
"""CiGri 2: by the ratio, campaign after campaign; jobs that wait in excess of half a cluster are wiped. No copies."""

CIGRI_3 = GridSettings(strategy="priority", regulator="rate", flood_rate=100.0, finalize=False)
"""CiGri 3: by taps, cluster after cluster, by the users' priorities; only jobs that have waited for long are wiped."""


__getattr__ = old_names(
    __name__,
    {
        "Cluster": "GridCluster",
        "ControllerState": "PiControllerState",
        "Event": "GridEvent",
        "Grid": "GridState",
        "Job": "GridJob",
        "JobState": "GridJobState",
        "Order": "JobOrder",
        "Progress": "CampaignProgress",
        "Record": "GridValue",
        "Settings": "GridSettings",
        "Submission": "TaskSubmission",
        "Task": "GridTask",
        "Update": "GridUpdate",
        "Verdict": "JobVerdict",
        "Window": "ThroughputWindow",
        "said_of_exit": "exit_text",
    },
)
