"""The decisions of a site as others carry them out."""

from __future__ import annotations

from typing import Protocol

from batprotocol.model import Job, Profile

__all__ = ["Actions"]


class Actions(Protocol):
    """The actions of a site."""

    def execute(self, job_id: str, hosts: list[int], mapping: list[int] | None) -> str | None:
        """Execute a job; returns why that is not possible, or None."""

    def reject(self, job_id: str, why: str) -> None:
        """Reject a job."""

    def kill(self, job_ids: list[str]) -> None:
        """Kill jobs."""

    def register(self, job_id: str, job: Job, profile: Profile | None) -> None:
        """Register a job, and its profile if it has a new one."""

    def finish(self) -> None:
        """No more jobs are registered."""
