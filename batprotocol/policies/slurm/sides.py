"""The sides of a controller: the actions that it has others do, and the priorities that it asks for."""

from __future__ import annotations

from typing import Protocol

from batprotocol.policies.slurm.jobs import SlurmJob

__all__ = ["ControllerActions", "JobPriorities"]


class ControllerActions(Protocol):
    """The actions that a controller has others do."""

    def execute(self, job: SlurmJob) -> bool:
        """Execute a job on its placement; returns whether that is possible."""

    def kill(self, jobs: list[SlurmJob]) -> None:
        """Kill jobs."""

    def again(self, job: SlurmJob) -> None:
        """Register a job once more, and give it its new id."""

    def reject(self, job: SlurmJob, why: str) -> None:
        """A job never runs."""


class JobPriorities(Protocol):
    """The priorities of jobs."""

    def submitted(self, job: SlurmJob, now: float) -> None:
        """A job comes: it gets its first priority."""

    def eligible(self, job: SlurmJob, now: float) -> None:
        """A job could start from now on."""

    def started(self, job: SlurmJob, now: float) -> None:
        """A job starts."""

    def ended(self, job: SlurmJob, now: float) -> None:
        """A job is over, or has left its nodes."""

    def next_time(self) -> float:
        """When the priorities are computed next; infinity: never."""

    def again(self, job: SlurmJob, now: float) -> None:
        """A job is to run again."""

    def held(self, job: SlurmJob) -> None:
        """A job that waits is held: its priority is 0."""

    def released(self, job: SlurmJob, now: float) -> None:
        """A job is held no longer: it gets a new priority."""

    def changed(self, job: SlurmJob, now: float) -> None:
        """An operator has changed a job that waits and is not held."""

    def renew(self, now: float) -> bool:
        """Compute the priorities of jobs; returns whether one has changed."""
