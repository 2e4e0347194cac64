"""Forecasts: what the predictor expects of a campaign on a cluster, and the numbers that it expects it from."""

from __future__ import annotations

import math

from batprotocol.campaigns.model.record import Record

__all__ = ["Durations", "Forecast", "Window"]


class Durations(Record, frozen=True):
    """How long jobs took: sums, to which each job that ends is added, so that nobody need look at all of them again.

    Args:
        count: how many jobs.
        total: the sum of their durations, in seconds.
        squares: the sum of the squares.

    >>> Durations.of(100, 200) + Durations.of(300)
    Durations(count=3, total=600, squares=140000)
    >>> Durations.of(100, 200, 200, 200, 200, 200).mean
    183.33333333333334
    """

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, *seconds: float) -> Durations:
        """Those of jobs that took so long."""
        return cls(len(seconds), sum(seconds), sum(each * each for each in seconds))

    def __add__(self, other: Durations) -> Durations:
        return Durations(self.count + other.count, self.total + other.total, self.squares + other.squares)

    @property
    def mean(self) -> float | None:
        """The mean, in seconds; None of no jobs."""
        return self.total / self.count if self.count else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of all of them, in seconds; None of no jobs."""
        if not self.count:
            return None
        return math.sqrt(max(0.0, self.squares / self.count - (self.total / self.count) ** 2))


class Window(Record, frozen=True):
    """The jobs that ended within the last hours.

    Args:
        finished: how many ended with exit code 0.
        since: when the earliest of them was submitted, in seconds of the grid's clock; None if there is none.
    """

    finished: int = 0
    since: float | None = None


class Forecast(Record, frozen=True, kw_only=True):
    """A row of the table `forecasts`.

    Args:
        campaign: the number of the campaign.
        cluster: the name of the cluster; None: of the campaign on all its clusters.
        time: when it was made, in seconds of the grid's clock.
        ratio: jobs for each free resource, a real number >= 0; None where no ratio is used.
        nsub: how many jobs this cycle submitted.
        free: how many resources the ratio was multiplied with.
        average: the mean duration of a job, in seconds; None if nobody knows.
        deviation: its standard deviation.
        throughput: finished jobs in a second, over the last hours; None if nobody knows.
        end: the time at which the campaign should have ended; None if nobody knows.
        method: `average` or `throughput`, by which the end was found; None if there is no end.
    """

    campaign: int
    cluster: str | None = None
    time: float = 0.0
    ratio: float | None = None
    nsub: int = 0
    free: float = 0.0
    average: float | None = None
    deviation: float | None = None
    throughput: float | None = None
    end: float | None = None
    method: str | None = None
