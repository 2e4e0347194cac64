"""Temporal grouping: tasks that a cluster runs as one, one after the other, as each of them is short.

A group is a job in all that is decided: it takes the resources of one, waits as one and is wiped as one. How each of
its tasks ends is told for itself, so a task that fails is its own failure. It must not know how groups are run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from batprotocol.campaigns.model import ClusterProperties, Durations, Job, Settings

__all__ = ["group_size", "heads", "whole_groups"]


def group_size(
    properties: ClusterProperties, durations: Durations, *, remaining: int, places: int, settings: Settings
) -> int:
    """How many tasks a job does: as many as take the seconds of the settings, by the mean of those that have ended.

    Before one has ended it is 1; and never so many that places would stay empty.

    Args:
        properties: what the campaign says of the cluster: only `temporal_grouping` makes groups.
        durations: of the campaign's jobs there that ended well.
        remaining: how many tasks there are to do.
        places: how many jobs the cluster has room for.
        settings: how the grid is run.

    >>> grouped = ClusterProperties(cluster="a", exec_file="x", temporal_grouping=True)
    >>> group_size(grouped, Durations.of(0.5, 1.5), remaining=1000, places=10, settings=Settings(group_seconds=30))
    30
    """
    mean = durations.mean
    if not properties.temporal_grouping or mean is None or remaining < 1:
        return 1
    by_time = settings.group_seconds / max(mean, settings.group_seconds / settings.group_tasks)
    return max(1, min(math.floor(by_time), math.ceil(remaining / max(1, places))))


def heads(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """These jobs with one for each group, its first."""
    found: dict[int, Job] = {}
    for job in jobs:
        found.setdefault(job.id if job.group is None else job.group, job)
    return tuple(found.values())


def whole_groups(chosen: Iterable[Job], jobs: Iterable[Job]) -> list[Job]:
    """These jobs, and all that are in their groups."""
    groups: Mapping[int, list[Job]] = _by_group(jobs)
    return [each for job in chosen for each in (groups[job.group] if job.group is not None else (job,))]


def _by_group(jobs: Iterable[Job]) -> dict[int, list[Job]]:
    found: dict[int, list[Job]] = {}
    for job in jobs:
        if job.group is not None:
            found.setdefault(job.group, []).append(job)
    return found
