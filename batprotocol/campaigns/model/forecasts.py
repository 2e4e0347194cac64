"""The predictor's forecasts for a campaign on a cluster, and the statistics that it uses."""

from __future__ import annotations

import math

from batprotocol.campaigns.model.record import Record

__all__ = ["Durations", "Forecast", "Window"]


class Durations(Record, frozen=True):
    """The durations of jobs, as sums: a job is added when it ends, and need not be read again.

    Args:
        count: the number of jobs.
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
        """The durations of jobs that took these times."""
        return cls(len(seconds), sum(seconds), sum(each * each for each in seconds))

    def __add__(self, other: Durations) -> Durations:
        return Durations(self.count + other.count, self.total + other.total, self.squares + other.squares)

    @property
    def mean(self) -> float | None:
        """The mean, in seconds; None without jobs."""
        return self.total / self.count if self.count else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of all of them, in seconds; None without jobs."""
        if not self.count:
            return None
        return math.sqrt(max(0.0, self.squares / self.count - (self.total / self.count) ** 2))


class Window(Record, frozen=True):
    """The jobs that ended within the last hours.

    Args:
        finished: how many ended with exit code 0.
        since: the time at which the first of them was submitted, in seconds of the grid's clock; None without jobs.
    """

    finished: int = 0
    since: float | None = None


class Forecast(Record, frozen=True, kw_only=True):
    """A row of the table `forecasts`.

    Args:
        campaign: the number of the campaign.
        cluster: the name of the cluster; None: all clusters of the campaign.
        time: the time of the forecast, in seconds of the grid's clock.
        ratio: jobs for each free resource, a real number >= 0; None if the regulator uses no ratio.
        nsub: how many jobs this cycle submitted.
        free: the number of resources that the ratio was multiplied by.
        average: the mean duration of a job, in seconds; None if it is unknown.
        deviation: its standard deviation.
        throughput: finished jobs per second, over the last hours; None if it is unknown.
        end: the expected time of the end of the campaign; None if it is unknown.
        method: the method of the forecast of the end, `average` or `throughput`; None without an end.
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
