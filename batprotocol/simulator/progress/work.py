"""The walk through a job's profile, part after part, and its progress."""

from __future__ import annotations

from collections.abc import Callable

from mypy_extensions import mypyc_attr

from batprotocol._util.counting import step
from batprotocol.model import (
    KillProgress,
    KillProgressSequentialProfile,
    SequentialCompositionProfile,
)
from batprotocol.workloads import WorkloadProfile

__all__ = ["ProfileWalk", "SequencePart"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class SequencePart:
    """A profile of the walk: a composition, or the profile that runs now.

    Attributes:
        profile_id: its full name.
        profile: the profile.
        repetition: the number of completed repetitions of a composition.
        index: the index of the current part, from 0.
    """

    __slots__ = ("index", "profile", "profile_id", "repetition")

    def __init__(self, profile_id: str, profile: WorkloadProfile) -> None:
        self.profile_id = profile_id
        self.profile = profile
        self.repetition = 0
        self.index = 0


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class ProfileWalk:
    """The parts of a job's profile that are executed, one after the other.

    Attributes:
        profile_id: the profile where it begins.
        leaf: the profile that runs now, or None at the end.
        return_code: the return code of the job, at the end.
    """

    __slots__ = ("_above", "leaf", "profile_id", "return_code")

    def __init__(self, profile_id: str, find: Callable[[str], WorkloadProfile]) -> None:
        self.profile_id = profile_id
        self._above: list[SequencePart] = []
        self.leaf: SequencePart | None = None
        self.return_code = 0
        code = self._descend(profile_id, find)
        if code is not None:
            self.go_on(code, find)

    def _descend(self, profile_id: str, find: Callable[[str], WorkloadProfile]) -> int | None:
        """Go down to the first profile that runs. If there is none, return the return code of this empty part."""
        part = SequencePart(profile_id, find(profile_id))
        while isinstance(part.profile.profile, SequentialCompositionProfile):
            sequence = part.profile.profile
            if not sequence.profile_ids or not sequence.repetition_count:
                return part.profile.return_code
            step()
            self._above.append(part)
            part = SequencePart(sequence.profile_ids[0], find(sequence.profile_ids[0]))
        self.leaf = part
        return None

    def go_on(self, return_code: int, find: Callable[[str], WorkloadProfile]) -> None:
        """Take the return code of the current profile, and go to the next part or to the end."""
        self.leaf = None
        while self._above and return_code == 0:
            step()
            part = self._above[-1]
            sequence = part.profile.profile
            assert isinstance(sequence, SequentialCompositionProfile)
            part.index += 1
            if part.index == len(sequence.profile_ids):
                if part.repetition + 1 >= sequence.repetition_count:
                    return_code = part.profile.return_code
                    self._above.pop()
                    continue
                part.index = 0
                part.repetition += 1
            code = self._descend(sequence.profile_ids[part.index], find)
            if code is None:
                return
            return_code = code
        self.return_code = return_code

    def progress(self, of_leaf: KillProgress) -> KillProgress:
        """The progress of the walk, from the progress of the current profile."""
        progress = of_leaf
        for part in reversed(self._above):
            progress = KillProgressSequentialProfile(part.profile_id, part.repetition, part.index, progress)
        return progress
