"""The reasons why campaigns wait, for a user or for an administrator.

A cluster that has not answered yet, or is under stress, is not a hindrance, as nobody needs to act.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from batprotocol.campaigns.model import Campaign, CampaignState, Cluster, Grid, Record

__all__ = ["Hindrance", "Obstacle", "hindrances"]

Obstacle: TypeAlias = Literal["failed", "away", "disabled", "unknown"]
"""The reason why a campaign cannot use a cluster: open events of the campaign, or a cluster that does not answer, is
disabled, or is not registered."""


class Hindrance(Record, frozen=True, kw_only=True):
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


def hindrances(grid: Grid) -> tuple[Hindrance, ...]:
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


def _obstacle(cluster: Cluster | None, failed: bool, away: bool) -> Obstacle | None:
    if cluster is None:
        return "unknown"
    if not cluster.enabled:
        return "disabled"
    if failed:
        return "failed"
    return "away" if away else None
