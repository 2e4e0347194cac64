"""What became of a cluster's resources over time: areas of resource seconds, and a series to plot."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["Measure", "Usage", "UsagePoint"]

MOST_POINTS: Final = 20_000
"""A series of more points is thinned to half."""


class UsagePoint(msgspec.Struct, frozen=True):
    """A cluster at one moment.

    Args:
        time: when, in simulated seconds.
        local: how many hosts the cluster's own jobs have.
        campaigns: how many the jobs of campaigns have.
        waiting: how many jobs of campaigns wait.
    """

    time: float
    local: int = 0
    campaigns: int = 0
    waiting: int = 0


class Measure(msgspec.Struct, frozen=True):
    """Areas until a moment, in resource seconds.

    Args:
        time: the moment.
        local: of the cluster's own jobs.
        campaigns: of jobs of campaigns, those that were killed included.
    """

    time: float
    local: float
    campaigns: float


class Usage:
    """The resources of a cluster of so many hosts, from time 0 on.

    Attributes:
        lost: resource seconds of jobs of campaigns that were killed: what they had done is done again.
        copied: resource seconds of jobs of campaigns that were killed since a copy of theirs had ended.
        killed: how many jobs of campaigns were killed, without such copies.
        peak: how many jobs of campaigns waited at once at most.
        points: the series.
    """

    def __init__(self, hosts: int) -> None:
        self.hosts = hosts
        self.lost = self.copied = 0.0
        self.killed = self.peak = 0
        self.points = [UsagePoint(0.0)]
        self._local = self._campaigns = 0.0

    def at(self, time: float, local: int, campaigns: int, waiting: int) -> None:
        """From this time on, so many hosts are used, and so many jobs wait."""
        until = self.measure(time)
        self._local, self._campaigns = until.local, until.campaigns
        self.peak = max(self.peak, waiting)
        self.points.append(UsagePoint(time, local, campaigns, waiting))
        if len(self.points) > MOST_POINTS:
            self.points[1:-1] = self.points[1:-1:2]

    def measure(self, time: float) -> Measure:
        """What was used until this time, which is not before the last one."""
        last = self.points[-1]
        passed = time - last.time
        return Measure(time, self._local + passed * last.local, self._campaigns + passed * last.campaigns)

    def kill(self, seconds: float, *, copy: bool = False) -> None:
        """A job was killed after so many resource seconds."""
        if copy:
            self.copied += seconds
        else:
            self.lost += seconds
            self.killed += 1
