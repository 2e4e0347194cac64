"""The results of campaigns on simulated clusters, as numbers to compare and series to plot."""

from __future__ import annotations

from batprotocol.campaigns.loop import Cycle
from batprotocol.campaigns.model import CampaignStatus, TapState
from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.simulation.scheduler import GridScheduler
from batprotocol.campaigns.simulation.usage import Usage

__all__ = ["ClusterReport", "GridReport", "Regulation", "regulation_of", "report_of"]


class ClusterReport(Record, frozen=True, kw_only=True):
    """The use of the resources of a cluster while there were tasks to start.

    Args:
        name: the name of the cluster.
        hosts: how many hosts it has.
        seconds: the time in which there were tasks to start, in simulated seconds.
        local: resource seconds of its own jobs in that time.
        used: resource seconds of jobs of campaigns in that time, also of killed jobs.
        lost: resource seconds of killed jobs, in the whole simulation.
        copied: resource seconds of copies that were not needed, in the whole simulation.
        killed: the number of killed jobs, without such copies.
        peak: the greatest number of jobs of campaigns that waited at once.
    """

    name: str
    hosts: int
    seconds: float
    local: float
    used: float
    lost: float
    copied: float
    killed: int
    peak: int

    @property
    def idle(self) -> float:
        """Resource seconds that its own jobs did not use."""
        return self.hosts * self.seconds - self.local


class Regulation(Record, frozen=True):
    """The rate of jobs from a campaign to a cluster at one moment.

    Args:
        time: the moment, in simulated seconds.
        campaign: the number of the campaign.
        cluster: the name of the cluster.
        value: the ratio, or the number of jobs that a cycle may submit; 0 while a tap is closed.
    """

    time: float
    campaign: int
    cluster: str
    value: float


class GridReport(Record, frozen=True, kw_only=True):
    """The results of a simulation.

    Args:
        clusters: the use of their resources.
        campaigns: the progress of the campaigns.
        began: the time of the submission of the first campaign, in simulated seconds; None without campaigns.
        ended: the time of the end of the last task; None if a task has not ended.
        over: the time of the end of the simulation, or when the clusters had no jobs any more.
        warm_up_cycles: the number of cycles before the submission of the first campaign.
        cycles: the number of cycles after that.
    """

    clusters: tuple[ClusterReport, ...]
    campaigns: tuple[CampaignStatus, ...]
    began: float | None
    ended: float | None
    over: float
    warm_up_cycles: int
    cycles: int

    @property
    def hosts(self) -> int:
        """The number of hosts of all clusters."""
        return sum(cluster.hosts for cluster in self.clusters)

    @property
    def harvested(self) -> float | None:
        """The share of the idle resources that campaigns used while there were tasks to start, or None."""
        idle = sum(cluster.idle for cluster in self.clusters)
        return sum(cluster.used for cluster in self.clusters) / idle if idle > 0 else None

    @property
    def lost(self) -> float:
        """Resource seconds of jobs that were killed and started again."""
        return sum(cluster.lost for cluster in self.clusters)

    @property
    def peak(self) -> int:
        """The greatest number of jobs that waited on a cluster at once."""
        return max((cluster.peak for cluster in self.clusters), default=0)

    @property
    def load(self) -> float | None:
        """The share of all resources that the clusters' own jobs used in that time."""
        whole = sum(cluster.hosts * cluster.seconds for cluster in self.clusters)
        return sum(cluster.local for cluster in self.clusters) / whole if whole > 0 else None

    @property
    def duration(self) -> float | None:
        """Seconds from the first submission to the last end."""
        return None if self.began is None or self.ended is None else self.ended - self.began


def report_of(scheduler: GridScheduler) -> GridReport:
    """The results of a simulation that has ended."""
    begun = {name: measure.time for name, measure in scheduler.begun.items()}
    return GridReport(
        clusters=tuple(_cluster_report(scheduler, name, cluster.usage) for name, cluster in scheduler.clusters.items()),
        campaigns=scheduler.store.campaigns(ended=True),
        began=min(begun.values(), default=None),
        ended=scheduler.ended_at,
        over=max((cluster.usage.points[-1].time for cluster in scheduler.clusters.values()), default=0.0),
        warm_up_cycles=scheduler.warm_up_cycles,
        cycles=scheduler.cycles,
    )


def _cluster_report(scheduler: GridScheduler, name: str, usage: Usage) -> ClusterReport:
    end = usage.measure(usage.points[-1].time)
    first, last = scheduler.begun.get(name, end), scheduler.drained.get(name, end)
    return ClusterReport(
        name=name,
        hosts=usage.hosts,
        seconds=last.time - first.time,
        local=last.local - first.local,
        used=last.campaigns - first.campaigns,
        lost=usage.lost,
        copied=usage.copied,
        killed=usage.killed,
        peak=usage.peak,
    )


def regulation_of(cycle: Cycle, rates: dict[tuple[int, str], float]) -> list[Regulation]:
    """The rates of the regulators in a cycle.

    Args:
        cycle: the cycle.
        rates: the last rates of taps and controllers, which a cycle has only if they change. They are updated.
    """
    decisions = cycle.decisions
    for tap in decisions.taps:
        rates[tap.campaign, tap.cluster] = float(tap.rate) if tap.state is TapState.OPEN else 0.0
    for state in decisions.controllers:
        rates[state.campaign, state.cluster] = state.submitted
    ratios = {
        (each.campaign, each.cluster): each.ratio
        for each in decisions.forecasts
        if each.cluster is not None and each.ratio is not None
    }
    found = {**rates, **ratios}
    return [Regulation(cycle.now, campaign, cluster, value) for (campaign, cluster), value in found.items()]
