"""A job over all of its runs, and each of them. This module must not know which jobs run again."""

from __future__ import annotations

from typing import NamedTuple

from batprotocol.model import Job, Profile
from batprotocol.policies.site.pieces import Pieces

__all__ = ["Life", "Run"]


class Life:
    """A job over all of its runs.

    Args:
        job: the job as it was submitted.
        profile: its profile then, if it is known.

    Attributes:
        runs: how often it has run again.
        failures: how often it has run again because of failures.
        kept: the seconds of its work that are kept by checkpoints.
    """

    __slots__ = ("failures", "job", "kept", "profile", "runs")

    def __init__(self, job: Job, profile: Profile | None) -> None:
        self.job, self.profile = job, profile
        self.runs = self.failures = 0
        self.kept = 0.0


class Run(NamedTuple):
    """A run of a job that is registered.

    Attributes:
        id: its id.
        number: how often the job had run before.
        job: what it asks for.
        profiles: the profiles to register before it, with their ids.
        profile: its profile, if it is known; if it is divided, that of the whole job.
        pieces: the pieces of its work; None: it is not divided.
    """

    id: str
    number: int
    job: Job
    profiles: list[tuple[str, Profile]]
    profile: Profile | None
    pieces: Pieces | None = None
