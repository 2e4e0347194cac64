"""Jobs that run again after they gave way: their new ids, and the work that remains if they go on from a checkpoint.

A job `w0!7` runs again as `again!w0-7~1`, then as `again!w0-7~2`: results have a row for each.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from batprotocol.model import (
    DelayProfile,
    Job,
    KillProgress,
    KillProgressAtomicProfile,
    ParallelTaskHomogeneousProfile,
    Profile,
)
from batprotocol.policies.site.jobs import SiteJob
from batprotocol.requests.lives import life_id

__all__ = ["Life", "Lives"]


class Life(NamedTuple):
    """A job as it runs again.

    Attributes:
        id: its new id.
        job: what it asks for.
        new_profile: the profile to register for it; None: that of the job before.
        profile: its profile, if it is known.
    """

    id: str
    job: Job
    new_profile: Profile | None
    profile: Profile | None


class Lives:
    """The ids of jobs that run again."""

    def __init__(self) -> None:
        self._current: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def current(self, first_id: str) -> str:
        """The id that a job has now, by the one under which it was submitted."""
        return self._current.get(first_id, first_id)

    def next(self, job: SiteJob, progress: KillProgress | None) -> Life:
        """The next life of a job.

        Args:
            job: the job as it was.
            progress: how far it had come, if it goes on from there; None: it begins from its start.
        """
        first = job.first_id
        count = self._counts[first] = self._counts.get(first, 0) + 1
        id = self._current[first] = life_id(first, count)
        rest = None if job.profile is None else remaining(job.profile, progress)
        if rest is None:
            return Life(id, job.job, None, job.profile)
        return Life(id, msgspec.structs.replace(job.job, profile_id=id), rest, rest)


def remaining(profile: Profile, progress: KillProgress | None) -> Profile | None:
    """The part of a profile that remains after some progress; None where that cannot be said.

    >>> remaining(DelayProfile(10.0), KillProgressAtomicProfile("w0!p", 0.25))
    DelayProfile(delay=7.5)
    """
    if not isinstance(progress, KillProgressAtomicProfile) or not 0 < progress.progress < 1:
        return None
    rest = 1 - progress.progress
    if isinstance(profile, DelayProfile):
        return DelayProfile(profile.delay * rest)
    if isinstance(profile, ParallelTaskHomogeneousProfile):
        return msgspec.structs.replace(
            profile,
            computation_amount=profile.computation_amount * rest,
            communication_amount=profile.communication_amount * rest,
        )
    return None
