"""The time limits of running jobs, in the order in which they are over."""

from __future__ import annotations

import math
from heapq import heappop, heappush

from batprotocol.policies.slurm.jobs import JobStage, SlurmJob

__all__ = ["TimeLimits"]


class TimeLimits:
    """The limits. Those of jobs that have ended are forgotten when their turn comes."""

    def __init__(self) -> None:
        self._limits: list[tuple[float, int, SlurmJob, float]] = []
        self._count = 0

    def note(self, job: SlurmJob, end: float) -> None:
        """The limit of a running job is over at a time."""
        self._count += 1
        heappush(self._limits, (end, self._count, job, job.started))

    def first(self) -> float:
        """When the first one is over; infinity: there is none."""
        limits = self._limits
        while limits and (limits[0][2].stage is not JobStage.RUNNING or limits[0][2].started != limits[0][3]):
            heappop(limits)
        return limits[0][0] if limits else math.inf

    def over(self, second: int) -> list[SlurmJob]:
        """The jobs whose limits are over by a second, in the order of their starts; they are forgotten."""
        found = []
        while self.first() <= second:
            found.append(heappop(self._limits)[2])
        return sorted(dict.fromkeys(found), key=lambda job: (job.started, job.number, job.task))
