"""Profiles: how Batsim simulates a job.

A profile is named `workload!name`; a bare name means the workload of the job or profile that uses it.
"""

from __future__ import annotations

from typing import TypeAlias

from batprotocol.model.enums import HomogeneousParallelTaskGenerationStrategy, TraceType
from batprotocol.model.fields import OptionalVector, TupleOf
from batprotocol.model.value import Value, tuples_into, vectors_into

__all__ = [
    "DelayProfile",
    "ForkJoinCompositionProfile",
    "ParallelTaskDataStagingBetweenStoragesProfile",
    "ParallelTaskHomogeneousProfile",
    "ParallelTaskMergeCompositionProfile",
    "ParallelTaskOnStorageHomogeneousProfile",
    "ParallelTaskProfile",
    "Profile",
    "ProfileAndId",
    "SequentialCompositionProfile",
    "TraceReplayProfile",
]

_EACH = HomogeneousParallelTaskGenerationStrategy.DefinedAmountsUsedForEachValue


class DelayProfile(Value, frozen=True):
    """A fixed time, whatever the hosts.

    Args:
        delay: in simulated seconds. Batsim refuses to register one that is not > 0.
    """

    delay: float


class ParallelTaskProfile(Value, frozen=True):
    """A parallel task with an amount for each executor and for each pair of executors.

    Args:
        computation_vector: flops that each executor computes, each >= 0; None or one for each executor.
        communication_matrix: bytes sent from each executor to each one, row by row, each >= 0; None or the square of
            the number of executors.

    Iterables of numbers become `Doubles`.
    """

    computation_vector: OptionalVector = None  # type: ignore[assignment]
    communication_matrix: OptionalVector = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        vectors_into(self, "computation_vector", "communication_matrix")


class ParallelTaskHomogeneousProfile(Value, frozen=True):
    """A parallel task whose vector and matrix are generated from two amounts.

    Args:
        computation_amount: flops, >= 0.
        communication_amount: bytes, >= 0.
        generation_strategy: whether the amounts are for each executor and each pair of them, or totals to spread.
    """

    computation_amount: float = 0.0
    communication_amount: float = 0.0
    generation_strategy: HomogeneousParallelTaskGenerationStrategy = _EACH


class SequentialCompositionProfile(Value, frozen=True, kw_only=True):
    """Profiles executed one after the other.

    Args:
        profile_ids: the profiles, in order; named in full when registered dynamically.
        repetition_count: how many times the whole sequence is executed; uint32, 1 unless told otherwise.
    """

    repetition_count: int = 1
    profile_ids: TupleOf[str]

    def __post_init__(self) -> None:
        if type(self.profile_ids) is not tuple:
            tuples_into(self, "profile_ids")


class ForkJoinCompositionProfile(Value, frozen=True):
    """Profiles executed at the same time; done when all are. Batsim 5.0.0-rc2 does not implement it.

    Args:
        profile_ids: the profiles.
    """

    profile_ids: TupleOf[str]

    def __post_init__(self) -> None:
        if type(self.profile_ids) is not tuple:
            tuples_into(self, "profile_ids")


class ParallelTaskMergeCompositionProfile(Value, frozen=True):
    """Parallel tasks merged into one. Batsim 5.0.0-rc2 does not implement it.

    Args:
        profile_ids: the profiles.
    """

    profile_ids: TupleOf[str]

    def __post_init__(self) -> None:
        if type(self.profile_ids) is not tuple:
            tuples_into(self, "profile_ids")


class ParallelTaskOnStorageHomogeneousProfile(Value, frozen=True):
    """Transfers between each executor and one storage.

    Args:
        storage_name: the storage, a host's name or a label that the execution places (`storage_placement`).
        bytes_to_read: bytes read from the storage, >= 0.
        bytes_to_write: bytes written to the storage, >= 0.
        generation_strategy: whether the amounts are for each executor, or totals to spread.
    """

    storage_name: str
    bytes_to_read: float = 0.0
    bytes_to_write: float = 0.0
    generation_strategy: HomogeneousParallelTaskGenerationStrategy = _EACH


class ParallelTaskDataStagingBetweenStoragesProfile(Value, frozen=True):
    """A transfer from one storage to another.

    Args:
        bytes_to_transfer: bytes, >= 0.
        emitter_storage_name: the storage that sends.
        receiver_storage_name: the storage that receives.
    """

    bytes_to_transfer: float
    emitter_storage_name: str
    receiver_storage_name: str


class TraceReplayProfile(Value, frozen=True):
    """The replay of recorded traces.

    Args:
        trace_type: what the traces hold.
        filename: the file, on Batsim's side, that lists the trace files of the executors. It must exist.
    """

    trace_type: TraceType
    filename: str


Profile: TypeAlias = (
    DelayProfile
    | ParallelTaskProfile
    | ParallelTaskHomogeneousProfile
    | SequentialCompositionProfile
    | ForkJoinCompositionProfile
    | ParallelTaskMergeCompositionProfile
    | ParallelTaskOnStorageHomogeneousProfile
    | ParallelTaskDataStagingBetweenStoragesProfile
    | TraceReplayProfile
)


class ProfileAndId(Value, frozen=True):
    """A profile and its name.

    Args:
        id: the name, `workload!name`.
        profile: the profile.
        extra_data: free text for decision components, which Batsim only carries; None if absent.
    """

    id: str
    profile: Profile
    extra_data: str | None = None
