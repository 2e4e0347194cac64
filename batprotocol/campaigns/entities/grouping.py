"""Temporal grouping: a cluster runs short tasks one after the other, as one job.

All decisions treat a group as one job: it takes the resources of one job, waits as one and is wiped as one. The end of
each task is reported on its own, so a failure counts for its task only. This module must not know how groups run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from batprotocol.campaigns.model import ClusterProperties, Durations, Job, Settings

__all__ = ["group_size", "heads", "whole_groups"]


def group_size(
    properties: ClusterProperties, durations: Durations, *, remaining: int, places: int, settings: Settings
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
    >>> group_size(grouped, Durations.of(0.5, 1.5), remaining=1000, places=10, settings=Settings(group_seconds=30))
    30
    """
    mean = durations.mean
    if not properties.temporal_grouping or mean is None or remaining < 1:
        return 1
    by_time = settings.group_seconds / max(mean, settings.group_seconds / settings.group_tasks)
    return max(1, min(math.floor(by_time), math.ceil(remaining / max(1, places))))


def heads(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """These jobs, but of each group only the first one."""
    found: dict[int, Job] = {}
    for job in jobs:
        found.setdefault(job.id if job.group is None else job.group, job)
    return tuple(found.values())


def whole_groups(chosen: Iterable[Job], jobs: Iterable[Job]) -> list[Job]:
    """These jobs, and all jobs of their groups."""
    groups: Mapping[int, list[Job]] = _by_group(jobs)
    return [each for job in chosen for each in (groups[job.group] if job.group is not None else (job,))]


def _by_group(jobs: Iterable[Job]) -> dict[int, list[Job]]:
    found: dict[int, list[Job]] = {}
    for job in jobs:
        if job.group is not None:
            found.setdefault(job.group, []).append(job)
    return found
