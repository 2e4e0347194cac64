"""The decisions of a site as others carry them out."""

from __future__ import annotations

from collections.abc import Iterable
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

    def withdraw(self, job_id: str) -> None:
        """Reject a job that is registered under another name."""

    def register(self, job_id: str, job: Job, profiles: Iterable[tuple[str, Profile]]) -> None:
        """Register new profiles, and a job."""

    def switch(self, hosts: Iterable[int], on: bool) -> None:
        """Switch hosts on or off."""

    def change_pstate(self, pstate: int, hosts: list[int]) -> None:
        """Change the power state of hosts that are on."""

    def finish(self) -> None:
        """No more jobs are registered."""
