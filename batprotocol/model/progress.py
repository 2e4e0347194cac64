"""Kill progress: how far each part of a job had come when it was killed."""

from __future__ import annotations

from typing import TypeAlias

from batprotocol.model.fields import TupleOf
from batprotocol.model.value import Value, tuples_into

__all__ = [
    "JobAndProgress",
    "KillProgress",
    "KillProgressAtomicProfile",
    "KillProgressForkJoinProfile",
    "KillProgressSequentialProfile",
]


class KillProgressAtomicProfile(Value, frozen=True):
    """The progress of a profile that is not a composition.

    Args:
        profile_id: the profile, `workload!name`.
        progress: in [0,1], 0 just started and 1 just finished. Batsim sends -1.0 for SMPI replays.
    """

    profile_id: str
    progress: float


class KillProgressSequentialProfile(Value, frozen=True):
    """The progress of a sequence.

    Args:
        profile_id: the profile, `workload!name`.
        current_repetition: how many times the whole sequence had been done; uint32.
        current_task_index: which profile of the sequence was running, from 0; uint32.
        current_task_progress: the progress of that profile, nested to any depth the wire carries.
    """

    profile_id: str
    current_repetition: int
    current_task_index: int
    current_task_progress: KillProgress


class KillProgressForkJoinProfile(Value, frozen=True):
    """The progress of profiles that ran at the same time.

    Args:
        profile_id: the profile, `workload!name`.
        tasks_progress: the progress of each of its profiles.
    """

    profile_id: str
    tasks_progress: TupleOf[KillProgress]

    def __post_init__(self) -> None:
        if type(self.tasks_progress) is not tuple:
            tuples_into(self, "tasks_progress")


KillProgress: TypeAlias = KillProgressAtomicProfile | KillProgressSequentialProfile | KillProgressForkJoinProfile


class JobAndProgress(Value, frozen=True):
    """A killed job and its progress.

    Args:
        job_id: the job, `workload!job`.
        wrapper: the progress of its profile. The schema's name is that of the table it needs around the union; read it
            as `progress`.
    """

    job_id: str
    wrapper: KillProgress

    @property
    def progress(self) -> KillProgress:
        """The progress of the job's profile."""
        return self.wrapper
