"""Nikita wipes jobs: those that wait in excess of the allowed number, wait for too long, or run for too long.

It uses the answers of the clusters in this cycle, so jobs that were submitted since then do not count. It only marks
jobs. The cluster reports to the updator whether a job was killed or had ended before. Jobs that ended are not killed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from batprotocol.campaigns.entities.grouping import heads, whole_groups
from batprotocol.campaigns.entities.predictor import allowed
from batprotocol.campaigns.jdl.resources import seconds_of
from batprotocol.campaigns.model import Event, EventState, Grid, Job, JobState, KillReason, Settings, Wipe

__all__ = ["overflow", "overtime", "stale", "wipes"]

_EVENTS = {
    KillReason.OVERFLOW: ("FRAG", "Job overflow frag"),
    KillReason.STALE: ("FRAG", "RemoteWaiting for too long frag"),
    KillReason.WALLTIME: (
        "CIGRI_WALLTIME",
        "Killed because it has reached its walltime and its cluster does not seem to care",
    ),
}
"""The code and the message of the event of a wiped job. CiGri 2 has one code for both reasons to wipe waiting jobs."""


def overflow(waiting: Iterable[Job], allowed: int) -> list[Job]:
    """The jobs that wait on a cluster in excess of the allowed number, the newest first.

    Args:
        waiting: the jobs that wait there.
        allowed: how many jobs may wait.

    >>> waiting = [Job(id=i, campaign=1, task=i, cluster="a") for i in (1, 2, 3)]
    >>> [job.id for job in overflow(waiting, 1)]
    [3, 2]
    """
    newest = sorted(waiting, key=lambda job: job.id, reverse=True)
    return newest[: max(0, len(newest) - allowed)]


def stale(waiting: Iterable[Job], now: float, limit: float) -> list[Job]:
    """The jobs that have waited for longer than the limit in seconds."""
    return [job for job in waiting if now - job.submission_time > limit]


def overtime(running: Iterable[Job], now: float, walltimes: Mapping[tuple[int, str], float], grace: float) -> list[Job]:
    """The jobs that have run for longer than their walltime plus the time of grace.

    Args:
        running: the jobs that run.
        now: seconds of the grid's clock.
        walltimes: the walltimes in seconds, by campaign and cluster. Campaigns that have ended may be missing.
        grace: the time of grace, in seconds.
    """
    return [
        job
        for job in running
        if job.start_time is not None
        and now - job.start_time > walltimes.get((job.campaign, job.cluster), math.inf) + grace
    ]


def wipes(grid: Grid, settings: Settings) -> tuple[Wipe, ...]:
    """All jobs to kill in this cycle, without duplicates."""
    alive = [job for job in grid.jobs if job.kill is None]
    running = [job for job in alive if job.state is JobState.RUNNING]
    found: dict[int, Wipe] = {}
    for status in grid.gridstatus:
        waiting = [job for job in alive if job.state is JobState.REMOTE_WAITING and job.cluster == status.cluster]
        many = whole_groups(overflow(heads(waiting), allowed(status.max, settings.flood_rate)), waiting)
        found.update((job.id, _wipe(job, KillReason.OVERFLOW, grid.now)) for job in many)
        old = stale((job for job in waiting if job.id not in found), grid.now, settings.stale)
        found.update((job.id, _wipe(job, KillReason.STALE, grid.now)) for job in old)
    walltimes = {
        (each.campaign.id, properties.cluster): seconds_of(properties.walltime)
        for each in grid.campaigns
        for properties in each.campaign.clusters
    }
    late = overtime(running, grid.now, walltimes, settings.walltime_grace)
    found.update((job.id, _wipe(job, KillReason.WALLTIME, grid.now)) for job in late)
    return tuple(found.values())


def _wipe(job: Job, reason: KillReason, now: float) -> Wipe:
    code, message = _EVENTS[reason]
    event = Event(
        class_="job",
        code=code,
        state=EventState.CLOSED,
        date=now,
        job=job.id,
        campaign=job.campaign,
        cluster=job.cluster,
        message=message,
    )
    return Wipe(job.id, reason, event)
