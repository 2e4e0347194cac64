"""Waits for conditions that hold soon, and for the ends of jobs."""

from __future__ import annotations

import time
from collections.abc import Callable

from batprotocol.campaigns.managers import ResourceManager
from batprotocol.campaigns.model import GridJobState, RemoteJob

__all__ = ["ends", "jobs_of", "until"]


def until(condition: Callable[[], bool], patience: float, step: float) -> None:
    """Wait until a condition holds, and ask after each step; fail after the patience. Both are in seconds."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end
        time.sleep(step)


def jobs_of(cluster: ResourceManager) -> dict[int, RemoteJob]:
    """The jobs of a cluster by their numbers."""
    return {job.job: job for job in cluster.look().jobs}


def ends(cluster: ResourceManager, patience: float, step: float) -> dict[int, RemoteJob]:
    """All jobs of a cluster, once all have ended."""
    until(lambda: all(job.state is GridJobState.TERMINATED for job in jobs_of(cluster).values()), patience, step)
    return jobs_of(cluster)
