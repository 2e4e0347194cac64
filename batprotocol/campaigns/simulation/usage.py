"""The use of a cluster's resources over time: areas in resource seconds, and a series to plot."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["Measure", "Usage", "UsagePoint"]

MOST_POINTS: Final = 20_000
"""The greatest number of points of a series; then every second point is dropped."""


class UsagePoint(msgspec.Struct, frozen=True):
    """A cluster at one moment.

    Args:
        time: the moment, in simulated seconds.
        local: the number of hosts of the cluster's own jobs.
        campaigns: the number of hosts of jobs of campaigns.
        waiting: the number of jobs of campaigns that wait.
    """

    time: float
    local: int = 0
    campaigns: int = 0
    waiting: int = 0


class Measure(msgspec.Struct, frozen=True):
    """Areas until a moment, in resource seconds.

    Args:
        time: the moment.
        local: the area of the cluster's own jobs.
        campaigns: the area of jobs of campaigns, also of killed jobs.
    """

    time: float
    local: float
    campaigns: float


class Usage:
    """The use of the resources of a cluster, from time 0 on.

    Attributes:
        lost: resource seconds of jobs of campaigns that were killed, so that their work is repeated.
        copied: resource seconds of jobs of campaigns that were killed because a copy of their task had ended.
        killed: the number of killed jobs of campaigns, without such copies.
        peak: the greatest number of jobs of campaigns that waited at once.
        points: the series.
    """

    def __init__(self, hosts: int) -> None:
        self.hosts = hosts
        self.lost = self.copied = 0.0
        self.killed = self.peak = 0
        self.points = [UsagePoint(0.0)]
        self._local = self._campaigns = 0.0

    def at(self, time: float, local: int, campaigns: int, waiting: int) -> None:
        """Record the numbers of used hosts and of waiting jobs, from this time on."""
        until = self.measure(time)
        self._local, self._campaigns = until.local, until.campaigns
        self.peak = max(self.peak, waiting)
        self.points.append(UsagePoint(time, local, campaigns, waiting))
        if len(self.points) > MOST_POINTS:
            self.points[1:-1] = self.points[1:-1:2]

    def measure(self, time: float) -> Measure:
        """The resources used until this time, which must not be before the last one."""
        last = self.points[-1]
        passed = time - last.time
        return Measure(time, self._local + passed * last.local, self._campaigns + passed * last.campaigns)

    def kill(self, seconds: float, *, copy: bool = False) -> None:
        """Record that a job was killed after some resource seconds."""
        if copy:
            self.copied += seconds
        else:
            self.lost += seconds
            self.killed += 1
