"""The predictor: the ratio of jobs to resources, the throughput of a campaign, and its expected end.

It runs after the updator in each cycle, for each campaign on each cluster. The *ratio* (jobs for each resource: the
inverse of the resources of a job) is adjusted by the outcome of the jobs that the last ratio submitted:

    if (number of jobs waiting > allowed) reduce job_ratio
    else increase job_ratio

A table defines how it is reduced and increased. S is the number of submitted jobs: the column `nsub`, or the old ratio
times the old number of free resources. R is the number of these that run. W is the number of jobs that wait on the
cluster. E = W - allowed is the excess.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from batprotocol.campaigns._values import read_resources
from batprotocol.campaigns.model import (
    CampaignProgress,
    CampaignStatus,
    ClusterProperties,
    Durations,
    Forecast,
    GridJob,
    GridJobState,
    GridSettings,
    GridState,
    GridStatus,
    GridValue,
    ThroughputWindow,
)

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Situation",
    "adjusted",
    "allowed",
    "end_after",
    "forecasts",
    "initial_ratio",
    "next_ratio",
    "throughput",
]


INITIAL_RATIO = 1.0
LARGEST_RATIO = 1e6
"""The greatest ratio: no cluster has more resources, and products with it stay finite."""


class Situation(GridValue, frozen=True, kw_only=True):
    """The numbers by which a ratio is adjusted.

    Args:
        ratio: the old ratio; None before the first one, which is 1.
        free: how many resources of the cluster were free when the old ratio was used; below 0 if more were taken than
            there are.
        nsub: how many jobs were submitted by it; None if it is unknown: S is then the number that the ratio allowed.
        waiting: how many of the campaigns' jobs wait on the cluster.
        running: how many of them run there.
        resources: how many resources the cluster has.
        allowed: how many jobs may wait there.
    """

    ratio: float | None = None
    free: float
    nsub: int | None = None
    waiting: int = 0
    running: int = 0
    resources: int
    allowed: int

    @property
    def old(self) -> float:
        """The old ratio."""
        return INITIAL_RATIO if self.ratio is None else self.ratio

    @property
    def submitted(self) -> float:
        """S, the number of jobs that the old ratio submitted."""
        return self.old * self.free if self.nsub is None else self.nsub

    @property
    def excess(self) -> int:
        """E, the number of jobs that wait in excess of the allowed number."""
        return self.waiting - self.allowed


def _double(now: Situation) -> float:
    """Exponential up, JR = OLD_JR * 2; from 0: one job for all free resources."""
    return now.old * 2 if now.old else 1 / max(now.free, 1)


def _adapt_up(now: Situation) -> float:
    """Adaptive up, JR = S / R: from 0 it starts again at 1, and it doubles if S or R is 0.

    It does not grow if the cluster has less than 0 free resources, as its own users have taken more since.
    """
    if not now.old:
        return INITIAL_RATIO
    if now.submitted < 0:
        return 0.0
    if not now.submitted or not now.running:
        return _double(now)
    return now.submitted / now.running


def _one_job(now: Situation) -> float:
    """Down to nearly 0, JR = 1 / MAX_RESOURCES: a single job for a cluster without other jobs."""
    return 1 / max(now.resources, 1)


def _adapt_down(now: Situation) -> float:
    """Adaptive down, JR = OLD_JR * (S - E) / S: in proportion to the jobs that are not in excess."""
    if now.submitted <= 0:
        return 0.0
    return now.old * max(0.0, now.submitted - now.excess) / now.submitted


class Algorithm(NamedTuple):
    """A prediction algorithm of the specification.

    Attributes:
        up: returns the new ratio if no more jobs wait than are allowed.
        down: returns the new ratio if more jobs wait.
    """

    up: Callable[[Situation], float]
    down: Callable[[Situation], float]


ALGORITHMS: dict[str, Algorithm] = {
    "slow-start": Algorithm(up=_double, down=_one_job),
    "two-way": Algorithm(up=_adapt_up, down=_adapt_down),
    "exponential": Algorithm(up=_double, down=_adapt_down),
}
"""Slow-start, two-way adaptive, and adaptive down, exponential up."""


def allowed(resources: int, flood_rate: float) -> int:
    """How many jobs may wait on a cluster.

    >>> allowed(9, 0.25)
    2
    """
    return math.floor(resources * flood_rate)


def next_ratio(now: Situation, algorithm: str = "two-way") -> float:
    """The ratio of the next cycle: a real number, at least 0.

    >>> next_ratio(Situation(ratio=1, free=10, running=5, resources=10, allowed=5))
    2.0
    >>> next_ratio(Situation(ratio=1, free=10, waiting=10, resources=10, allowed=5))
    0.5
    >>> next_ratio(Situation(ratio=1, free=10, waiting=10, resources=20, allowed=5), "slow-start")
    0.05
    """
    step = ALGORITHMS[algorithm]
    return min((step.down if now.excess > 0 else step.up)(now), LARGEST_RATIO)


def adjusted(now: Situation, finished: int, algorithm: str = "two-way") -> float | None:
    """The ratio of the next cycle, or None if it does not change.

    It does not change before a job of the campaign has finished. It grows only after jobs were submitted, as there is
    nothing to learn otherwise.
    """
    if not finished or (now.nsub == 0 and now.excess <= 0 and now.old):
        return None
    return next_ratio(now, algorithm)


def throughput(window: ThroughputWindow, now: float) -> float | None:
    """Finished jobs per second, since the first of them was submitted; None if none has finished lately.

    >>> throughput(ThroughputWindow(10, since=3000.0), 3600.0) * 60
    1.0
    """
    if not window.finished or window.since is None or now <= window.since:
        return None
    return window.finished / (now - window.since)


def end_after(
    *, waiting: int, running: int, durations: Durations, window: ThroughputWindow, age: float, now: float
) -> tuple[float, str] | None:
    """The expected time to the end of a campaign, in seconds, and the method of this forecast.

    For a young campaign (younger than two mean durations, or without finished jobs), the method is the mean duration
    of its jobs, for an older one its throughput. It is None if there is no forecast: nothing of a young campaign runs,
    or no job has ever finished; or no job of an older campaign has finished lately.

    Args:
        waiting: how many of its tasks wait, in the bag or on clusters.
        running: how many of its jobs run. They count as half completed.
        durations: the durations of the jobs, for the mean.
        window: the jobs that finished lately.
        age: seconds since the campaign was submitted.
        now: seconds of the grid's clock.

    >>> end_after(waiting=10, running=4, durations=Durations.of(100), window=ThroughputWindow(), age=50, now=50)
    (300.0, 'average')
    """
    left = waiting + running / 2
    mean = durations.mean
    if not mean or age < 2 * mean:
        return (left * mean / running, "average") if mean is not None and running else None
    rate = throughput(window, now)
    return None if not rate else (left / rate, "throughput")


# The rows of the table `forecasts`: the predictor for each campaign on each cluster, and for each campaign.


def initial_ratio(properties: ClusterProperties) -> float:
    """The first ratio: one resource for a job, or as many as its JDL requests."""
    return 1 / read_resources(properties.resources).weight


def forecasts(grid: GridState, settings: GridSettings) -> tuple[Forecast, ...]:
    """The forecasts for each campaign in treatment, on each of its clusters and as a whole."""
    seen = _Seen(grid)
    found: list[Forecast] = []
    for status in grid.campaigns:
        found += (_on_cluster(status, properties, seen, settings) for properties in status.campaign.clusters)
        found.append(_of_campaign(status, seen))
    return tuple(found)


class _Seen:
    """The grid, indexed for the forecasts."""

    def __init__(self, grid: GridState) -> None:
        self.now = grid.now
        self.statuses: dict[str, GridStatus] = {each.cluster: each for each in grid.gridstatus}
        self.old: dict[tuple[int, str | None], Forecast] = {
            (each.campaign, each.cluster): each for each in grid.forecasts
        }
        self.progress: dict[tuple[int, str], CampaignProgress] = {
            (each.campaign, each.cluster): each for each in grid.progress
        }
        self.finished: dict[int, int] = defaultdict(int)
        for each in grid.progress:
            self.finished[each.campaign] += each.durations.count
        self.jobs: dict[tuple[int, str], list[GridJob]] = defaultdict(list)
        self.waiting: dict[str, int] = defaultdict(int)
        for job in grid.jobs:
            self.jobs[job.campaign, job.cluster].append(job)
            self.waiting[job.cluster] += job.state is GridJobState.REMOTE_WAITING and job.kill is None


def _on_cluster(status: CampaignStatus, properties: ClusterProperties, seen: _Seen, settings: GridSettings) -> Forecast:
    key = (status.campaign.id, properties.cluster)
    progress = seen.progress.get(key, CampaignProgress(campaign=key[0], cluster=key[1]))
    all_jobs = progress.durations + _so_far(seen.jobs[key], seen.now)
    return Forecast(
        campaign=key[0],
        cluster=key[1],
        time=seen.now,
        ratio=_ratio(properties, progress, seen, settings) if settings.regulator in ALGORITHMS else None,
        average=all_jobs.mean,
        deviation=all_jobs.deviation,
        throughput=throughput(progress.window, seen.now),
    )


def _so_far(jobs: Iterable[GridJob], now: float) -> Durations:
    """The durations so far of the jobs that have not ended. A job that has not begun counts from its submission."""
    begun = (job.submission_time if job.start_time is None else job.start_time for job in jobs)
    return Durations.of(*(max(0.0, now - time) for time in begun))


def _ratio(properties: ClusterProperties, progress: CampaignProgress, seen: _Seen, settings: GridSettings) -> float:
    """The new ratio, or the old one if it does not change."""
    old = seen.old.get((progress.campaign, progress.cluster))
    status = seen.statuses.get(progress.cluster)
    if old is None or old.ratio is None:
        return initial_ratio(properties)
    if status is None:
        return old.ratio
    jobs = seen.jobs[progress.campaign, progress.cluster]
    situation = Situation(
        ratio=old.ratio,
        free=old.free,
        nsub=old.nsub,
        waiting=seen.waiting[progress.cluster],
        running=sum(job.state is GridJobState.RUNNING and job.submission_time >= old.time for job in jobs),
        resources=status.max,
        allowed=allowed(status.max, settings.flood_rate),
    )
    new = adjusted(situation, seen.finished[progress.campaign], settings.regulator)
    return old.ratio if new is None else new


def _of_campaign(status: CampaignStatus, seen: _Seen) -> Forecast:
    number = status.campaign.id
    keys = [(number, properties.cluster) for properties in status.campaign.clusters]
    done = [seen.progress[key] for key in keys if key in seen.progress]
    durations = sum((each.durations for each in done), Durations())
    sinces = [each.window.since for each in done if each.window.since is not None]
    window = ThroughputWindow(sum(each.window.finished for each in done), min(sinces, default=None))
    running = sum(job.state is GridJobState.RUNNING for key in keys for job in seen.jobs[key])
    end = end_after(
        waiting=max(0, status.pending + status.active - running),
        running=running,
        durations=durations,
        window=window,
        age=seen.now - status.campaign.submission_time,
        now=seen.now,
    )
    return Forecast(
        campaign=number,
        time=seen.now,
        average=durations.mean,
        deviation=durations.deviation,
        throughput=throughput(window, seen.now),
        end=None if end is None else seen.now + end[0],
        method=None if end is None else end[1],
    )
