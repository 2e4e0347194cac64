"""The grid: the input of a cycle. It has counts and active campaigns and jobs, but none that have ended."""

from __future__ import annotations

from batprotocol.campaigns.model.campaigns import Campaign
from batprotocol.campaigns.model.clusters import Blacklist, Cluster, GridStatus, UserPriority
from batprotocol.campaigns.model.forecasts import Durations, Forecast, Window
from batprotocol.campaigns.model.jobs import Job
from batprotocol.campaigns.model.rates import ControllerState, Tap
from batprotocol.campaigns.model.record import Record

__all__ = ["CampaignStatus", "Grid", "Progress"]


class CampaignStatus(Record, frozen=True, kw_only=True):
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


class Progress(Record, frozen=True, kw_only=True):
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
    window: Window = Window()


class Grid(Record, frozen=True, kw_only=True):
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
    clusters: tuple[Cluster, ...] = ()
    gridstatus: tuple[GridStatus, ...] = ()
    campaigns: tuple[CampaignStatus, ...] = ()
    jobs: tuple[Job, ...] = ()
    progress: tuple[Progress, ...] = ()
    blacklist: tuple[Blacklist, ...] = ()
    priorities: tuple[UserPriority, ...] = ()
    forecasts: tuple[Forecast, ...] = ()
    taps: tuple[Tap, ...] = ()
    controllers: tuple[ControllerState, ...] = ()
