"""The decisions of a site as others carry them out, and the amounts that jobs got, for the results."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from batprotocol.model import Job, Profile

__all__ = ["Actions", "Allocated"]


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


class Allocated(NamedTuple):
    """The amounts that a job took, for the results.

    Attributes:
        job_id: the job.
        started: when it started, in seconds.
        hosts: the numbers of its hosts.
        cores: the cores that it took of each host.
        memory: the bytes that it took of each host.
        gres: the generic resources that it took of each host, as `gpu:2`.
        exclusive: whether it had its hosts for itself.
        partition: the partition that it ran in; "" without partitions.
        first_id: the id under which it was submitted first.
    """

    job_id: str
    started: float
    hosts: tuple[int, ...]
    cores: int
    memory: int
    gres: str
    exclusive: bool
    partition: str
    first_id: str
