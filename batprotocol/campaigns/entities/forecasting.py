"""The rows of the table `forecasts`: the predictor for each campaign on each cluster, and for each campaign."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from batprotocol.campaigns.entities.predictor import (
    ALGORITHMS,
    Situation,
    adjusted,
    allowed,
    end_after,
    throughput,
)
from batprotocol.campaigns.jdl.resources import read_resources
from batprotocol.campaigns.model import (
    CampaignStatus,
    ClusterProperties,
    Durations,
    Forecast,
    Grid,
    GridStatus,
    Job,
    JobState,
    Progress,
    Settings,
    Window,
)

__all__ = ["forecasts", "initial_ratio"]


def initial_ratio(properties: ClusterProperties) -> float:
    """The first ratio: one resource for a job, or as many as its JDL requests."""
    return 1 / read_resources(properties.resources).weight


def forecasts(grid: Grid, settings: Settings) -> tuple[Forecast, ...]:
    """The forecasts for each campaign in treatment, on each of its clusters and as a whole."""
    seen = _Seen(grid)
    found: list[Forecast] = []
    for status in grid.campaigns:
        found += (_on_cluster(status, properties, seen, settings) for properties in status.campaign.clusters)
        found.append(_of_campaign(status, seen))
    return tuple(found)


class _Seen:
    """The grid, indexed for the forecasts."""

    def __init__(self, grid: Grid) -> None:
        self.now = grid.now
        self.statuses: dict[str, GridStatus] = {each.cluster: each for each in grid.gridstatus}
        self.old: dict[tuple[int, str | None], Forecast] = {
            (each.campaign, each.cluster): each for each in grid.forecasts
        }
        self.progress: dict[tuple[int, str], Progress] = {(each.campaign, each.cluster): each for each in grid.progress}
        self.finished: dict[int, int] = defaultdict(int)
        for each in grid.progress:
            self.finished[each.campaign] += each.durations.count
        self.jobs: dict[tuple[int, str], list[Job]] = defaultdict(list)
        self.waiting: dict[str, int] = defaultdict(int)
        for job in grid.jobs:
            self.jobs[job.campaign, job.cluster].append(job)
            self.waiting[job.cluster] += job.state is JobState.REMOTE_WAITING and job.kill is None


def _on_cluster(status: CampaignStatus, properties: ClusterProperties, seen: _Seen, settings: Settings) -> Forecast:
    key = (status.campaign.id, properties.cluster)
    progress = seen.progress.get(key, Progress(campaign=key[0], cluster=key[1]))
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


def _so_far(jobs: Iterable[Job], now: float) -> Durations:
    """The durations so far of the jobs that have not ended. A job that has not begun counts from its submission."""
    begun = (job.submission_time if job.start_time is None else job.start_time for job in jobs)
    return Durations.of(*(max(0.0, now - time) for time in begun))


def _ratio(properties: ClusterProperties, progress: Progress, seen: _Seen, settings: Settings) -> float:
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
        running=sum(job.state is JobState.RUNNING and job.submission_time >= old.time for job in jobs),
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
    window = Window(sum(each.window.finished for each in done), min(sinces, default=None))
    running = sum(job.state is JobState.RUNNING for key in keys for job in seen.jobs[key])
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
