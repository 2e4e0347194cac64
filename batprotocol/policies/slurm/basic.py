"""priority/basic: each job has a smaller priority than the one before it."""

from __future__ import annotations

import math
from typing import Final

from batprotocol.policies.slurm.jobs import SlurmJob

__all__ = ["Basic"]

_FIRST: Final = 4_294_901_759


class Basic:
    """Priorities in the order of submissions."""

    def __init__(self) -> None:
        self._next = _FIRST
        self._arrays: dict[str, int] = {}

    def submitted(self, job: SlurmJob, now: float) -> None:
        """A job comes: it gets its first priority. The tasks of an array have the same one."""
        value = self._arrays.get(job.array) if job.array is not None else None
        if value is None:
            value = self._next
            self._next -= 1
            if job.array is not None:
                self._arrays[job.array] = value
        job.priority = dict.fromkeys((each.name for each in job.partitions), max(value - job.nice, 1))

    def eligible(self, job: SlurmJob, now: float) -> None:
        """A job could start from now on."""

    def started(self, job: SlurmJob, now: float) -> None:
        """A job starts."""

    def ended(self, job: SlurmJob, now: float) -> None:
        """A job has left its nodes."""

    def next_time(self) -> float:
        """When the priorities are computed next: never."""
        return math.inf

    def renew(self, jobs: list[SlurmJob], now: float) -> bool:
        """Compute the priorities of jobs: they stay as they are."""
        return False
