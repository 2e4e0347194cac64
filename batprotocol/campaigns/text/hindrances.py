"""The reasons why campaigns wait, and the commands to type, in sentences."""

from __future__ import annotations

from batprotocol.campaigns.entities.hindrances import Hindrance, Obstacle

__all__ = ["hindrance_sentence"]

_GRID = "batproto grid"


def hindrance_sentence(hindrance: Hindrance) -> str:
    """One sentence with the reason why a campaign waits, and the command to type.

    >>> from batprotocol.campaigns.model import Campaign
    >>> sweep = Campaign(id=4, user="alice", name="sweep")
    >>> print(hindrance_sentence(Hindrance(campaign=sweep, paused=True, waits=True)))
    campaign 4 waits for alice, who has paused it: batproto grid del -c 4 -r resumes it
    """
    number, user = hindrance.campaign.id, hindrance.campaign.user
    if hindrance.paused:
        return f"campaign {number} waits for {user}, who has paused it: {_GRID} del -c {number} -r resumes it"
    by_obstacle: dict[Obstacle, list[str]] = {}
    for cluster, obstacle in hindrance.obstacles:
        by_obstacle.setdefault(obstacle, []).append(cluster)
    parts = []
    for obstacle, names in by_obstacle.items():
        clusters = " and ".join(names)
        if obstacle == "failed":
            who = f"waits for {user}: its jobs failed" if hindrance.waits else "goes on elsewhere, as its jobs failed"
            parts.append(
                f"{who} on {clusters}: {_GRID} events -c {number} and {_GRID} output -c {number} show why,  "
                f"{_GRID} events -c {number} -f -r runs the failed tasks again, -f without -r skips them"
            )
        elif obstacle == "away":
            parts.append(f"{_waits(hindrance)} {clusters}, which cannot be reached: {_GRID} events -g shows why")
        elif obstacle == "disabled":
            parts.append(f"{_waits(hindrance)} {clusters}, disabled: {_GRID} clusters --enable {names[0]}")
        else:
            parts.append(f"{_waits(hindrance)} {clusters}, unknown: {_GRID} clusters --add {names[0]}")
    return f"campaign {number} {'; it '.join(parts)}"


def _waits(hindrance: Hindrance) -> str:
    return "waits for" if hindrance.waits else "goes on without"
