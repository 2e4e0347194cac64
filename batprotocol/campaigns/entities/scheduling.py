"""The metascheduler: it launches the schedulers of campaigns on the clusters that offer resources.

    while (there is a test campaign to be scheduled on the available resources)
        launch scheduler of the test campaign on involved clusters
    while (there is a default campaign to be scheduled on the available resources)
        launch scheduler of the campaign on involved clusters

Both loops are in the order of the campaigns' numbers (FIFO). Other strategies order the couples of campaign and cluster
in another way. Resources that a campaign orders are not offered to the next one.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import groupby

from batprotocol._util.deprecation import old_names
from batprotocol.campaigns._values import read_resources
from batprotocol.campaigns.model import (
    Campaign,
    CampaignState,
    CampaignStatus,
    CampaignType,
    ClusterProperties,
    Durations,
    GridCluster,
    GridJob,
    GridJobState,
    GridSettings,
    GridState,
    GridTask,
    GridValue,
    JobOrder,
    Launch,
    Policy,
)

__all__ = [
    "POLICIES",
    "STRATEGIES",
    "ClusterShare",
    "Couple",
    "Limit",
    "couples",
    "draw",
    "finalize",
    "group_size",
    "heads",
    "is_test",
    "launches",
    "offers",
    "orders",
    "resources_for",
    "test",
    "whole_groups",
    "workqueue",
]


# The campaign schedulers: they decide how many jobs of a campaign a cluster gets, and with which tasks.


class Limit(GridValue, frozen=True, kw_only=True):
    """The limit of the regulator for a campaign on a cluster. One of both is None.

    Args:
        ratio: jobs for each offered resource.
        jobs: the number of jobs, for any number of offered resources.
    """

    ratio: float | None = None
    jobs: int | None = None


class ClusterShare(GridValue, frozen=True, kw_only=True):
    """The input of a campaign's scheduler, for one cluster.

    Args:
        offer: how many resources the metascheduler offers it.
        remaining: how many of its tasks are not ordered yet.
        limit: the limit of the regulator.
        active: how many jobs it has on the cluster that have not ended.
        max_jobs: how many jobs it may have there; None: no limit.
        weight: how many resources its JDL requests for each job.
        tested: whether a job of it has ended well there.
        group: how many tasks a job runs.
    """

    offer: float
    remaining: int
    limit: Limit
    active: int = 0
    max_jobs: int | None = None
    weight: int = 1
    tested: bool = False
    group: int = 1


def test(share: ClusterShare) -> int:
    """One job on each cluster, and another one only if the first one failed.

    >>> test(ClusterShare(offer=10, remaining=5, limit=Limit(ratio=1)))
    1
    >>> test(ClusterShare(offer=10, remaining=5, limit=Limit(ratio=1), active=1))
    0
    """
    return int(share.remaining > 0 and share.offer >= 1 and not share.active and not share.tested)


def workqueue(share: ClusterShare) -> int:
    """As many jobs as fill the offered resources, by the ratio; or as many as the regulator allows.

    A ratio above 0 gives one job at least, as slow start requires.

    >>> workqueue(ClusterShare(offer=10, remaining=100, limit=Limit(ratio=0.5)))
    5
    >>> workqueue(ClusterShare(offer=10, remaining=100, limit=Limit(ratio=0.05)))
    1
    """
    if share.limit.jobs is not None:
        jobs = share.limit.jobs
    elif share.limit.ratio and share.offer >= 1:
        jobs = max(1, math.floor(share.offer * share.limit.ratio))
    else:
        jobs = 0
    if share.max_jobs is not None:
        jobs = min(jobs, share.max_jobs - share.active)
    return max(0, min(jobs, math.ceil(share.remaining / share.group)))


POLICIES: dict[Policy, Callable[[ClusterShare], int]] = {"test": test, "workqueue": workqueue}


def resources_for(jobs: int, share: ClusterShare) -> float:
    """How many of the offered resources the jobs take: for each its weight, or `1 / ratio` if that is more."""
    each = max(share.weight, 1 / share.limit.ratio) if share.limit.ratio else share.weight
    return min(share.offer, jobs * each)


def draw(
    wanted: Mapping[tuple[int, str], int], candidates: Mapping[tuple[int, str], Sequence[GridTask]]
) -> dict[tuple[int, str], tuple[GridTask, ...]]:
    """The tasks for each cluster: the clusters draw one by one, in turn, and no task is drawn twice.

    Each draws its first task of its first campaign; if that campaign has no more tasks for it, of the next one.

    Args:
        wanted: how many tasks each couple of campaign and cluster gets; a cluster draws from campaigns in this order.
        candidates: the tasks of each couple, in the order in which the cluster draws them. For all to get enough, there
            must be as many as all clusters together want of that campaign.

    >>> tasks = [GridTask(number, 1, str(number), str(number)) for number in range(5)]
    >>> got = draw({(1, "a"): 2, (1, "b"): 9}, {(1, "a"): tasks, (1, "b"): tasks})
    >>> {cluster: [task.id for task in drawn] for (_, cluster), drawn in got.items()}
    {'a': [0, 2], 'b': [1, 3, 4]}
    """
    gone: set[int] = set()
    drawn: dict[tuple[int, str], list[GridTask]] = {couple: [] for couple in wanted}
    sources = {couple: iter(candidates[couple]) for couple in wanted}
    queues: dict[str, deque[tuple[int, str]]] = {}
    for couple in wanted:
        queues.setdefault(couple[1], deque()).append(couple)
    while queues:
        for cluster in list(queues):
            task, queue = None, queues[cluster]
            while queue and task is None:
                if len(drawn[queue[0]]) < wanted[queue[0]]:
                    task = next((each for each in sources[queue[0]] if each.id not in gone), None)
                if task is None:
                    queue.popleft()
            if task is None:
                del queues[cluster]
                continue
            gone.add(task.id)
            drawn[queue[0]].append(task)
    return {couple: tuple(tasks) for couple, tasks in drawn.items() if tasks}


def finalize(
    active: Iterable[GridJob], offer: float, weight: int, settings: GridSettings, copied: Mapping[int, int]
) -> list[int]:
    """The tasks of a campaign that are copied to idle resources, when none waits any more.

    The tasks that were submitted first come first. No task gets more copies than the settings allow.

    Args:
        active: the jobs of the campaign that have not ended, on all clusters.
        offer: how many resources are idle.
        weight: how many resources a job takes.
        settings: how many copies a task may have.
        copied: how many copies of each task other clusters have just got.
    """
    copies: dict[int, list[GridJob]] = {}
    for job in active:
        if job.task is not None:
            copies.setdefault(job.task, []).append(job)
    oldest = sorted(
        (task for task, jobs in copies.items() if len(jobs) + copied.get(task, 0) < settings.copies),
        key=lambda task: (min(job.submission_time for job in copies[task]), task),
    )
    return oldest[: max(0, math.floor(offer / weight))]


# The metascheduler.


class Couple(GridValue, frozen=True):
    """A campaign and one of the clusters that it may use now.

    Args:
        status: the campaign with its progress.
        properties: its keys for the cluster.
        cluster: the cluster.
        place: the position of the cluster in the JDL of the campaign.
        priority: the priority of the campaign's user on the cluster.
        turn: the position of the cluster among all, in the order in which the campaigns first name them.
    """

    status: CampaignStatus
    properties: ClusterProperties
    cluster: GridCluster
    place: int = 0
    priority: int = 0
    turn: int = 0

    @property
    def campaign(self) -> Campaign:
        """The campaign."""
        return self.status.campaign

    @property
    def weight(self) -> int:
        """How many resources a job of it takes."""
        return read_resources(self.properties.resources).weight

    @property
    def key(self) -> tuple[int, str]:
        """The campaign's number and the cluster's name."""
        return self.status.campaign.id, self.cluster.name


def is_test(campaign: Campaign, properties: ClusterProperties) -> bool:
    """Whether a campaign only tests a cluster."""
    return campaign.type is CampaignType.TEST or properties.test_mode


def _fifo(couple: Couple) -> tuple[float, ...]:
    return (couple.campaign.id, -couple.properties.priority, -couple.cluster.power, couple.place)


def _affinity(couple: Couple) -> tuple[float, ...]:
    return (couple.priority <= 0, *_fifo(couple))


def _priority(couple: Couple) -> tuple[float, ...]:
    return (couple.turn, -couple.priority, couple.campaign.id)


STRATEGIES: dict[str, Callable[[Couple], tuple[float, ...]]] = {
    "fifo": _fifo,
    "affinity": _affinity,
    "priority": _priority,
}
"""The keys by which couples are ordered: the smallest key comes first, and tests come before all others.

`fifo`: campaigns by number, each on its clusters by the JDL's priority, then by power. `affinity`: likewise, but
couples with an affinity of the campaign's user to the cluster come first. `priority`: cluster by cluster, and on each
the campaigns by the priority of their users, then by number, as in CiGri 3."""


def couples(grid: GridState, settings: GridSettings) -> list[Couple]:
    """The campaigns in treatment, on each of the clusters that they may use, in the order of the strategy."""
    clusters = {each.name: each for each in grid.clusters}
    answering = {status.cluster for status in grid.gridstatus}
    priorities = {(each.user, each.cluster): each.priority for each in grid.priorities}
    banned = {(each.campaign, each.cluster) for each in grid.blacklist}
    turns: dict[str, int] = {}
    found = []
    for status in grid.campaigns:
        if status.campaign.state is not CampaignState.IN_TREATMENT:
            continue
        for place, properties in enumerate(status.campaign.clusters):
            name = properties.cluster
            turn = turns.setdefault(name, len(turns))
            cluster = clusters.get(name)
            if cluster is None or name not in answering or not cluster.enabled or cluster.under_stress:
                continue
            if (None, name) in banned or (status.campaign.id, name) in banned:
                continue
            priority = priorities.get((status.campaign.user, name), 0)
            found.append(Couple(status, properties, cluster, place, priority, turn))
    key = STRATEGIES[settings.strategy]
    tests_first = settings.strategy != "priority"
    return sorted(found, key=lambda couple: _with_tests_first(couple, key(couple), tests_first))


def _with_tests_first(couple: Couple, key: tuple[float, ...], everywhere: bool) -> tuple[float, ...]:
    """The key with tests before all others; if the order is cluster by cluster, on each cluster."""
    test = not is_test(couple.campaign, couple.properties)
    return (test, *key) if everywhere else (key[0], test, *key)


def launches(ordered: Iterable[Couple]) -> tuple[Launch, ...]:
    """The launches of schedulers: consecutive couples of a campaign are one launch."""
    return tuple(
        Launch(campaign, tuple(couple.cluster.name for couple in together))
        for campaign, together in groupby(ordered, key=lambda couple: couple.campaign.id)
    )


def offers(grid: GridState, settings: GridSettings) -> dict[str, float]:
    """The resources that each cluster offers: free ones, minus those of jobs that come, plus those for jobs to wait."""
    coming: dict[str, int] = {}
    waiting: dict[str, int] = {}
    for job in grid.jobs:
        if job.state in (GridJobState.TO_LAUNCH, GridJobState.SUBMITTED):
            coming[job.cluster] = coming.get(job.cluster, 0) + job.weight
        elif job.state is GridJobState.REMOTE_WAITING:
            waiting[job.cluster] = waiting.get(job.cluster, 0) + job.weight
    found: dict[str, float] = {}
    for status in grid.gridstatus:
        left = max(0.0, status.free) - coming.get(status.cluster, 0)
        will_wait = waiting.get(status.cluster, 0) + max(0.0, -left)
        found[status.cluster] = max(0.0, left) + max(0.0, status.max * settings.order_flood_rate - will_wait)
    return found


def orders(
    ordered: Sequence[Couple],
    offered: dict[str, float],
    limits: Mapping[tuple[int, str], Limit],
    active: Mapping[tuple[int, str], int],
    tested: Set[tuple[int, str]] = frozenset(),
    sizes: Callable[[Couple, int, float], int] = lambda couple, remaining, offer: 1,
) -> tuple[JobOrder, ...]:
    """The orders of the campaigns' schedulers, one after the other. Ordered resources are not offered to the next one.

    Args:
        ordered: the couples, in their order.
        offered: the resources that each cluster offers; ordered resources are subtracted.
        limits: the limit of jobs for each couple.
        active: how many jobs each couple has that have not ended.
        tested: the couples of test campaigns that have had their job.
        sizes: returns the number of tasks in a job of a couple, by the remaining tasks and the offered resources.
    """
    remaining = {couple.campaign.id: couple.status.pending for couple in ordered}
    found = []
    for couple in ordered:
        group = sizes(couple, remaining[couple.campaign.id], offered[couple.cluster.name])
        policy: Policy = "test" if is_test(couple.campaign, couple.properties) else "workqueue"
        share = ClusterShare(
            offer=offered[couple.cluster.name],
            remaining=remaining[couple.campaign.id],
            limit=limits[couple.key],
            active=active.get(couple.key, 0),
            max_jobs=couple.properties.max_jobs,
            weight=couple.weight,
            tested=couple.key in tested,
            group=group,
        )
        jobs = POLICIES[policy](share)
        if not jobs:
            continue
        taken = resources_for(jobs, share)
        offered[couple.cluster.name] -= taken
        remaining[couple.campaign.id] -= min(jobs * group, remaining[couple.campaign.id])
        campaign, cluster = couple.key
        found.append(
            JobOrder(campaign=campaign, cluster=cluster, jobs=jobs, group=group, policy=policy, resources=taken)
        )
    return tuple(found)


# Temporal grouping: a cluster runs short tasks one after the other, as one job.


def group_size(
    properties: ClusterProperties, durations: Durations, *, remaining: int, places: int, settings: GridSettings
) -> int:
    """The number of tasks in a job: as many as take `group_seconds`, by the mean duration of those that have ended.

    Before the first end it is 1. It is never so large that resources would stay idle.

    Args:
        properties: the keys of the campaign for the cluster: without `temporal_grouping`, there are no groups.
        durations: the durations of the campaign's jobs on the cluster that ended well.
        remaining: how many tasks have not been ordered yet.
        places: how many jobs the cluster can run.
        settings: the settings of the grid.

    >>> grouped = ClusterProperties(cluster="a", exec_file="x", temporal_grouping=True)
    >>> group_size(grouped, Durations.of(0.5, 1.5), remaining=1000, places=10, settings=GridSettings(group_seconds=30))
    30
    """
    mean = durations.mean
    if not properties.temporal_grouping or mean is None or remaining < 1:
        return 1
    by_time = settings.group_seconds / max(mean, settings.group_seconds / settings.group_tasks)
    return max(1, min(math.floor(by_time), math.ceil(remaining / max(1, places))))


def heads(jobs: Iterable[GridJob]) -> tuple[GridJob, ...]:
    """These jobs, but of each group only the first one."""
    found: dict[int, GridJob] = {}
    for job in jobs:
        found.setdefault(job.id if job.group is None else job.group, job)
    return tuple(found.values())


def whole_groups(chosen: Iterable[GridJob], jobs: Iterable[GridJob]) -> list[GridJob]:
    """These jobs, and all jobs of their groups."""
    groups: Mapping[int, list[GridJob]] = _by_group(jobs)
    return [each for job in chosen for each in (groups[job.group] if job.group is not None else (job,))]


def _by_group(jobs: Iterable[GridJob]) -> dict[int, list[GridJob]]:
    found: dict[int, list[GridJob]] = {}
    for job in jobs:
        if job.group is not None:
            found.setdefault(job.group, []).append(job)
    return found


__getattr__ = old_names(__name__, {"Share": "ClusterShare"})
