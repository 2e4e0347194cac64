"""The jobs of a workload with their lives in the results, for the independent check."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from batprotocol.model import FinalJobState

__all__ = ["DONE", "JUST", "KILLED", "LATE", "REJECTED", "Job", "Run"]

LATE = 0.02
"""Seconds by which messages and calls are late."""
JUST = 1e-6
"""Seconds by which sums of floats differ."""
DONE, KILLED, REJECTED = (
    FinalJobState.COMPLETED_SUCCESSFULLY,
    FinalJobState.COMPLETED_KILLED,
    FinalJobState.REJECTED,
)


@dataclass
class Run:
    """A life of a job."""

    first: str
    number: int
    row: Any
    start: float
    end: float
    hosts: tuple[int, ...]
    taken: Any = None


@dataclass
class Job:
    """A job of the workload: what it asks for, and its lives."""

    id: str
    place: int
    submitted: float
    size: int
    walltime: float
    asks: dict[str, Any]
    runs: list[Run] = field(default_factory=list)
    is_rejected: bool = False

    @property
    def start(self) -> float:
        return self.runs[0].start if self.runs else math.inf

    @property
    def end(self) -> float:
        return self.runs[-1].end if self.runs else math.inf

    @property
    def is_done(self) -> bool:
        return bool(self.runs) and self.runs[-1].row.final_state is DONE
