"""The runner: it selects the tasks to submit to the clusters, and their order. The loop submits them.

With taps, a cluster serves one campaign at a time, as in CiGri 3: the first one whose tap is open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TypeAlias

from batprotocol.campaigns.entities import taps
from batprotocol.campaigns.entities.scheduler import draw
from batprotocol.campaigns.jdl.resources import read_resources
from batprotocol.campaigns.model import Campaign, Order, Record, Submission, Tap, TapSettings, TapState, Task

__all__ = ["Run", "TaskSource", "serve", "submission", "submissions"]

TaskSource: TypeAlias = Callable[[int, str, int], Sequence[Task]]
"""Returns the first waiting tasks of a campaign for a cluster: `tasks(campaign, cluster, how_many)`.

They are ordered by priority (the greatest first), then by affinity to the cluster (likewise), then by number."""


class Run(Record, frozen=True):
    """Consecutive jobs of one campaign in the queue of a cluster.

    Args:
        campaign: the number of the campaign.
        jobs: the number of jobs.
    """

    campaign: int
    jobs: int


def serve(
    queue: Iterable[Run], turned: Mapping[int, Tap], banned: Set[int], now: float, settings: TapSettings
) -> Run | None:
    """The campaign whose jobs a cluster gets in this cycle, and their number: at most the rate of its tap.

    A tap that was closed a short time ago blocks the cluster, so that the jobs that wait there may start first.

    Args:
        queue: the queue of the cluster, in its order.
        turned: the tap of each campaign on this cluster.
        banned: the campaigns that must not use this cluster.
        now: seconds of the grid's clock.
        settings: the settings of taps.
    """
    for run in queue:
        tap = turned[run.campaign]
        if tap.state is TapState.CLOSED and taps.in_grace(tap, now, settings):
            return None
        if tap.state is TapState.OPEN and run.campaign not in banned:
            return Run(run.campaign, min(run.jobs, tap.rate))
    return None


def submission(
    campaign: Campaign, cluster: str, tasks: Iterable[int], *, replica: bool = False, group: int = 1
) -> Submission:
    """A submission of tasks, by number, with the campaign's keys for the cluster. Copies are always best effort."""
    properties = next(each for each in campaign.clusters if each.cluster == cluster)
    return Submission(
        campaign=campaign,
        cluster=cluster,
        tasks=tuple(tasks),
        best_effort=replica or properties.best_effort,
        replica=replica,
        weight=read_resources(properties.resources).weight,
        group=group,
    )


def submissions(
    ordered: Sequence[Order], campaigns: Mapping[int, Campaign], tasks: TaskSource
) -> tuple[Submission, ...]:
    """The submissions for the orders. The clusters draw tasks in turn.

    Args:
        ordered: the orders of the campaigns' schedulers.
        campaigns: the campaigns by number.
        tasks: returns the waiting tasks.
    """
    wanted = {(order.campaign, order.cluster): order.jobs * order.group for order in ordered}
    groups = {(order.campaign, order.cluster): order.group for order in ordered}
    together: Counter[int] = Counter()
    for (number, _), tasks_of_it in wanted.items():
        together[number] += tasks_of_it
    candidates = {couple: tasks(*couple, together[couple[0]]) for couple in wanted}
    return tuple(
        submission(campaigns[number], cluster, (task.id for task in got), group=groups[number, cluster])
        for (number, cluster), got in draw(wanted, candidates).items()
    )
