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
from collections.abc import Callable
from typing import NamedTuple

from batprotocol.campaigns.model import Durations, Record, Window

__all__ = ["ALGORITHMS", "Algorithm", "Situation", "adjusted", "allowed", "end_after", "next_ratio", "throughput"]

INITIAL_RATIO = 1.0
LARGEST_RATIO = 1e6
"""The greatest ratio: no cluster has more resources, and products with it stay finite."""


class Situation(Record, frozen=True, kw_only=True):
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


def throughput(window: Window, now: float) -> float | None:
    """Finished jobs per second, since the first of them was submitted; None if none has finished lately.

    >>> throughput(Window(10, since=3000.0), 3600.0) * 60
    1.0
    """
    if not window.finished or window.since is None or now <= window.since:
        return None
    return window.finished / (now - window.since)


def end_after(
    *, waiting: int, running: int, durations: Durations, window: Window, age: float, now: float
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

    >>> end_after(waiting=10, running=4, durations=Durations.of(100), window=Window(), age=50, now=50)
    (300.0, 'average')
    """
    left = waiting + running / 2
    mean = durations.mean
    if not mean or age < 2 * mean:
        return (left * mean / running, "average") if mean is not None and running else None
    rate = throughput(window, now)
    return None if not rate else (left / rate, "throughput")
