"""The walk through a job's profile, part after part, and how far it has come."""

from __future__ import annotations

from collections.abc import Callable

from mypy_extensions import mypyc_attr

from batprotocol.model import (
    KillProgress,
    KillProgressSequentialProfile,
    SequentialCompositionProfile,
)
from batprotocol.simulator.inputs import WorkloadProfile
from batprotocol.steps.counting import step

__all__ = ["Part", "Walk"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Part:
    """A profile of the walk: a composition that is gone through, or what runs now.

    Attributes:
        profile_id: its full name.
        profile: what it is.
        repetition: how often a composition has been gone through.
        index: which of its parts runs, from 0.
    """

    __slots__ = ("index", "profile", "profile_id", "repetition")

    def __init__(self, profile_id: str, profile: WorkloadProfile) -> None:
        self.profile_id = profile_id
        self.profile = profile
        self.repetition = 0
        self.index = 0


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Walk:
    """The parts of a job's profile that are executed, one after the other.

    Attributes:
        profile_id: where it begins.
        leaf: what runs now, or None once all is done.
        return_code: what the job returns, once all is done.
    """

    __slots__ = ("_above", "leaf", "profile_id", "return_code")

    def __init__(self, profile_id: str, find: Callable[[str], WorkloadProfile]) -> None:
        self.profile_id = profile_id
        self._above: list[Part] = []
        self.leaf: Part | None = None
        self.return_code = 0
        code = self._descend(profile_id, find)
        if code is not None:
            self.go_on(code, find)

    def _descend(self, profile_id: str, find: Callable[[str], WorkloadProfile]) -> int | None:
        """Go down to what runs first; if that is nothing, the code that this nothing returns."""
        part = Part(profile_id, find(profile_id))
        while isinstance(part.profile.profile, SequentialCompositionProfile):
            sequence = part.profile.profile
            if not sequence.profile_ids or not sequence.repetition_count:
                return part.profile.return_code
            step()
            self._above.append(part)
            part = Part(sequence.profile_ids[0], find(sequence.profile_ids[0]))
        self.leaf = part
        return None

    def go_on(self, return_code: int, find: Callable[[str], WorkloadProfile]) -> None:
        """What ran has returned this code: the next part runs, or all is done."""
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
        """How far the walk has come, given the progress of what runs now."""
        progress = of_leaf
        for part in reversed(self._above):
            progress = KillProgressSequentialProfile(part.profile_id, part.repetition, part.index, progress)
        return progress
