"""The metascheduler: it launches the schedulers of campaigns on the clusters that offer resources.

    while (there is a test campaign to be scheduled on the available resources)
        launch scheduler of the test campaign on involved clusters
    while (there is a default campaign to be scheduled on the available resources)
        launch scheduler of the campaign on involved clusters

Both loops are in the order of the campaigns' numbers (FIFO). Other strategies order the couples of campaign and cluster
in another way. Resources that a campaign orders are not offered to the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import groupby

from batprotocol.campaigns.entities.scheduler import POLICIES, Limit, Share, resources_for
from batprotocol.campaigns.jdl.resources import read_resources
from batprotocol.campaigns.model import (
    Campaign,
    CampaignState,
    CampaignStatus,
    CampaignType,
    Cluster,
    ClusterProperties,
    Grid,
    JobState,
    Launch,
    Order,
    Policy,
    Record,
    Settings,
)

__all__ = ["STRATEGIES", "Couple", "couples", "is_test", "launches", "offers", "orders"]


class Couple(Record, frozen=True):
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
    cluster: Cluster
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


def couples(grid: Grid, settings: Settings) -> list[Couple]:
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


def offers(grid: Grid, settings: Settings) -> dict[str, float]:
    """The resources that each cluster offers: free ones, minus those of jobs that come, plus those for jobs to wait."""
    coming: dict[str, int] = {}
    waiting: dict[str, int] = {}
    for job in grid.jobs:
        if job.state in (JobState.TO_LAUNCH, JobState.SUBMITTED):
            coming[job.cluster] = coming.get(job.cluster, 0) + job.weight
        elif job.state is JobState.REMOTE_WAITING:
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
) -> tuple[Order, ...]:
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
        share = Share(
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
        found.append(Order(campaign=campaign, cluster=cluster, jobs=jobs, group=group, policy=policy, resources=taken))
    return tuple(found)
