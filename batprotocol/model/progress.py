"""Kill progress: the completed part of each profile of a job when the job was killed."""

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
        progress: the completed fraction, in [0,1]: 0 at the start, 1 at the end. Batsim sends -1.0 for SMPI replays.
    """

    profile_id: str
    progress: float


class KillProgressSequentialProfile(Value, frozen=True):
    """The progress of a sequence.

    Args:
        profile_id: the profile, `workload!name`.
        current_repetition: the number of completed repetitions of the whole sequence; uint32.
        current_task_index: the index of the running profile in the sequence, from 0; uint32.
        current_task_progress: the progress of that profile. It may be nested, as deep as the wire permits.
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
        job_id: the id of the job, `workload!job`.
        wrapper: the progress of the job's profile. The name is that of the schema, which needs a table around the
            union. Use the property `progress` to read it.
    """

    job_id: str
    wrapper: KillProgress

    @property
    def progress(self) -> KillProgress:
        """The progress of the job's profile."""
        return self.wrapper
