"""The grid: all that a cycle decides upon. It holds counts and what is active, never what has ended."""

from __future__ import annotations

from batprotocol.campaigns.model.campaigns import Campaign
from batprotocol.campaigns.model.clusters import Blacklist, Cluster, GridStatus, UserPriority
from batprotocol.campaigns.model.forecasts import Durations, Forecast, Window
from batprotocol.campaigns.model.jobs import Job
from batprotocol.campaigns.model.rates import ControllerState, Tap
from batprotocol.campaigns.model.record import Record

__all__ = ["CampaignStatus", "Grid", "Progress"]


class CampaignStatus(Record, frozen=True, kw_only=True):
    """How far a campaign is.

    Args:
        campaign: the campaign.
        total: how many tasks it has.
        pending: how many of them are in the bag.
        active: how many are in jobs.
        terminated: how many ended with exit code 0.
        failed: how many ended as an event, or were cancelled.
        events: how many open events it has.
        prologue_done: on which of its clusters that have a prologue it has ended.
        epilogue_done: likewise.
        used: on which of its clusters it ever had a job.
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
        """Whether each task has ended, well or not, and the epilogues too."""
        epilogues = {each.cluster for each in self.campaign.clusters if each.epilogue and each.cluster in self.used}
        return self.pending == self.active == 0 and epilogues <= set(self.epilogue_done)


class Progress(Record, frozen=True, kw_only=True):
    """What of a campaign has ended on a cluster: a few sums.

    Args:
        campaign: the number of the campaign.
        cluster: the name of the cluster.
        durations: of the jobs that ended with exit code 0.
        window: those that did within the last hours.
    """

    campaign: int
    cluster: str
    durations: Durations = Durations()
    window: Window = Window()


class Grid(Record, frozen=True, kw_only=True):
    """What is known when a cycle begins to decide, after the updator's findings are in.

    Args:
        now: seconds of the grid's clock.
        clusters: all clusters, by number.
        gridstatus: the newest snapshot of each; a cluster without one is not used.
        campaigns: the campaigns that have not ended, by number; paused ones too.
        jobs: the jobs that have not ended, by number.
        progress: of these campaigns on their clusters, where there is any.
        blacklist: which clusters are not to be used, by whom.
        priorities: of users on clusters.
        forecasts: the newest of each campaign and cluster, where there is one.
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
