"""Nikita wipes jobs: those that wait beyond what is allowed, wait for too long, or run longer than they may.

It decides upon what the clusters said in this cycle, so what was submitted since then does not count. A job is only
marked; whether it was killed or had ended by then, its cluster tells the updator. A job that ended is not killed.
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
"""The code and the message of the event that tells why a job was wiped. CiGri 2 has one code for both that waited."""


def overflow(waiting: Iterable[Job], allowed: int) -> list[Job]:
    """The jobs that wait beyond what is allowed on a cluster, the newest first.

    Args:
        waiting: the jobs of ours that wait there.
        allowed: how many may.

    >>> waiting = [Job(id=i, campaign=1, task=i, cluster="a") for i in (1, 2, 3)]
    >>> [job.id for job in overflow(waiting, 1)]
    [3, 2]
    """
    newest = sorted(waiting, key=lambda job: job.id, reverse=True)
    return newest[: max(0, len(newest) - allowed)]


def stale(waiting: Iterable[Job], now: float, limit: float) -> list[Job]:
    """The jobs that have waited for longer than so many seconds."""
    return [job for job in waiting if now - job.submission_time > limit]


def overtime(running: Iterable[Job], now: float, walltimes: Mapping[tuple[int, str], float], grace: float) -> list[Job]:
    """The jobs that have run for longer than their walltime and some seconds of grace.

    Args:
        running: the jobs that run.
        now: seconds of the grid's clock.
        walltimes: seconds, by campaign and cluster; those of campaigns that have ended may be missing.
        grace: the seconds of grace.
    """
    return [
        job
        for job in running
        if job.start_time is not None
        and now - job.start_time > walltimes.get((job.campaign, job.cluster), math.inf) + grace
    ]


def wipes(grid: Grid, settings: Settings) -> tuple[Wipe, ...]:
    """All jobs to be killed in this cycle, each once."""
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
