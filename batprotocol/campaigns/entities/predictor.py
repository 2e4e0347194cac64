"""The predictor: how many jobs there are for a free resource, how fast a campaign goes, and when it should end.

It runs after the updator in each cycle, for each campaign on each cluster. The *ratio* (jobs for each resource: the
inverse of what a job needs) is adjusted by what became of the jobs that the last ratio submitted:

    if (number of jobs waiting > allowed) reduce job_ratio
    else increase job_ratio

How it is reduced and increased, a table tells. In it, S is what was submitted: the column nsub, or old ratio x free
resources then; R is how many of these run, W how many jobs wait on the cluster; E = W - allowed is the excess.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from batprotocol.campaigns.model import Durations, Record, Window

__all__ = ["ALGORITHMS", "Algorithm", "Situation", "adjusted", "allowed", "end_after", "next_ratio", "throughput"]

INITIAL_RATIO = 1.0
LARGEST_RATIO = 1e6
"""Where doubling ends: no cluster has more resources, and products with them stay finite."""


class Situation(Record, frozen=True, kw_only=True):
    """What a ratio is adjusted by.

    Args:
        ratio: the old ratio; None before the first: it is 1.
        free: how many resources of the cluster were free when the old ratio was used; below 0 where more were taken
            than there are.
        nsub: how many jobs were submitted by it; None if nobody counted: S is then what the ratio allowed.
        waiting: how many of our jobs wait on the cluster.
        running: how many run there.
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
        """S, how many jobs the old ratio submitted."""
        return self.old * self.free if self.nsub is None else self.nsub

    @property
    def excess(self) -> int:
        """E, how many jobs wait beyond what is allowed."""
        return self.waiting - self.allowed


def _double(now: Situation) -> float:
    """Exponential up, JR = OLD_JR * 2: from 0, there is one job for all that is free."""
    return now.old * 2 if now.old else 1 / max(now.free, 1)


def _adapt_up(now: Situation) -> float:
    """Adaptive up, JR = S / R: after 0 it begins anew, and it doubles where S or R says nothing.

    Where the cluster has less than nothing free, as its own users have taken more since, there is nothing to grow into.
    """
    if not now.old:
        return INITIAL_RATIO
    if now.submitted < 0:
        return 0.0
    if not now.submitted or not now.running:
        return _double(now)
    return now.submitted / now.running


def _one_job(now: Situation) -> float:
    """Down to nearly 0, JR = 1 / MAX_RESOURCES: a single job for a cluster that is all free."""
    return 1 / max(now.resources, 1)


def _adapt_down(now: Situation) -> float:
    """Adaptive down, JR = OLD_JR * (S - E) / S: in proportion to what did not wait too much."""
    if now.submitted <= 0:
        return 0.0
    return now.old * max(0.0, now.submitted - now.excess) / now.submitted


class Algorithm(NamedTuple):
    """A prediction algorithm of the specification.

    Attributes:
        up: the new ratio where no more jobs wait than are allowed.
        down: the new ratio where more do.
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
    """The ratio of the next cycle, or None where there is no reason for another one than the old.

    There is none before a job of the campaign has finished. And it grows only after it was used: where nothing was
    submitted, there is nothing to learn.
    """
    if not finished or (now.nsub == 0 and now.excess <= 0 and now.old):
        return None
    return next_ratio(now, algorithm)


def throughput(window: Window, now: float) -> float | None:
    """Finished jobs in a second, since the earliest of them was submitted; None if none finished lately.

    >>> throughput(Window(10, since=3000.0), 3600.0) * 60
    1.0
    """
    if not window.finished or window.since is None or now <= window.since:
        return None
    return window.finished / (now - window.since)


def end_after(
    *, waiting: int, running: int, durations: Durations, window: Window, age: float, now: float
) -> tuple[float, str] | None:
    """In how many seconds a campaign should have ended, and by which method that was found.

    A young campaign (less than two mean durations old, or nothing finished yet) is judged by the mean duration of its
    jobs, an older one by its throughput. None if that says nothing: of a young one nothing runs, or nothing has ever
    finished; of an older one nothing has finished lately.

    Args:
        waiting: how many of its tasks still wait, in the bag or on clusters.
        running: how many jobs run: they count as half done.
        durations: of the jobs to take the mean of.
        window: what finished lately.
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
