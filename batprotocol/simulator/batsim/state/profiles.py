"""The profiles of jobs: those of the workloads, and those that the decision component has registered."""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from batprotocol._util.counting import step
from batprotocol.model import (
    ParallelTaskMergeCompositionProfile,
    Profile,
    ProfileAndId,
    SequentialCompositionProfile,
)
from batprotocol.model.profiles import ForkJoinCompositionProfile
from batprotocol.simulator.batsim.state.rules import Refusals
from batprotocol.workloads import WorkloadProfile

__all__ = ["Profiles", "has_parts"]

_COMPOSITIONS: Final = (SequentialCompositionProfile, ForkJoinCompositionProfile, ParallelTaskMergeCompositionProfile)


def has_parts(profile: Profile) -> bool:
    """Whether a profile is composed of others."""
    return isinstance(profile, _COMPOSITIONS)


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Profiles:
    """All profiles of a simulation.

    Args:
        refusals: creates the exceptions for unknown profiles.

    Attributes:
        known: all profiles by full name.
        dropped: the names of the profiles that can no longer be used.
        unusable: the names of the profiles that Batsim drops at the start, because no job uses them.
    """

    __slots__ = ("_refusals", "dropped", "known", "unusable")

    def __init__(self, refusals: Refusals) -> None:
        self._refusals = refusals
        self.known: dict[str, WorkloadProfile] = {}
        self.dropped: set[str] = set()
        self.unusable: set[str] = set()

    def find(self, profile_id: str) -> WorkloadProfile:
        """The profile of this name."""
        profile = self.known.get(profile_id)
        if profile is None:
            raise self._refusals.refusal("register.unknown-profile", f"there is no profile {profile_id!r}")
        return profile

    def tree(self, profile_id: str) -> list[str]:
        """The names of a profile and of all its parts, without duplicates."""
        found, todo = {profile_id: None}, [profile_id]
        while todo:
            step()
            profile = self.find(todo.pop()).profile
            if isinstance(profile, _COMPOSITIONS):
                todo += [part for part in reversed(profile.profile_ids) if part not in found]
                found.update(dict.fromkeys(profile.profile_ids))
        return list(found)

    def sent(self, profile_id: str) -> ProfileAndId:
        """A profile in the form of events."""
        known = self.find(profile_id)
        return ProfileAndId(profile_id, known.profile, known.extra_data)

    def drop(self, profile_id: str, job_id: str) -> None:
        """Drop the profile of a job that has ended, and its parts."""
        if profile_id in self.dropped:
            return
        workload = profile_id.partition("!")[0]
        tree = self.tree(profile_id)
        strange = next((name for name in tree if name.partition("!")[0] != workload), None)
        if strange is not None:
            text = f"profile {profile_id!r} of job {job_id!r} is composed of {strange!r}, of another workload"
            raise self._refusals.refusal("profile.other-workload", text)
        self.dropped.update(tree)
