"""What keeps campaigns from going on, and so for whom they wait: a user who has to look, or an administrator.

A cluster that only has not answered yet, or asks to be spared, is no hindrance: it passes by itself.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from batprotocol.campaigns.model import Campaign, CampaignState, Cluster, Grid, Record

__all__ = ["Hindrance", "Obstacle", "hindrances"]

Obstacle: TypeAlias = Literal["failed", "away", "disabled", "unknown"]
"""What keeps a campaign off a cluster: its own open events, a cluster that does not answer, one that is not to be used,
or one that nobody has made known."""


class Hindrance(Record, frozen=True, kw_only=True):
    """What keeps a campaign from going on, or off some of its clusters.

    Args:
        campaign: the campaign.
        paused: whether its user has paused it.
        obstacles: its clusters that it cannot use, and why.
        waits: whether nothing of it goes on until somebody has done something.
    """

    campaign: Campaign
    paused: bool = False
    obstacles: tuple[tuple[str, Obstacle], ...] = ()
    waits: bool = False


def hindrances(grid: Grid) -> tuple[Hindrance, ...]:
    """What keeps the campaigns from going on that have something left to do."""
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
