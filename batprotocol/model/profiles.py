"""Profiles: how Batsim simulates a job.

The id of a profile is `workload!name`. A name without `workload!` belongs to the workload of the job or profile that
uses it.
"""

from __future__ import annotations

from typing import TypeAlias

from batprotocol.model.enums import HomogeneousParallelTaskGenerationStrategy, TraceType
from batprotocol.model.value import OptionalVector, TupleOf, Value, tuples_into, vectors_into

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
    """A fixed time, on any hosts.

    Args:
        delay: the time in simulated seconds. Batsim registers a delay only if it is > 0.
    """

    delay: float


class ParallelTaskProfile(Value, frozen=True):
    """A parallel task with an amount for each executor and for each pair of executors.

    Args:
        computation_vector: the flops that each executor computes, >= 0, one number for each executor; or None.
        communication_matrix: the bytes that each executor (row) sends to each executor (column), >= 0, row by row: as
            many numbers as the square of the number of executors; or None.

    Iterables of numbers become `Doubles`.
    """

    computation_vector: OptionalVector = None  # type: ignore[assignment]
    communication_matrix: OptionalVector = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        vectors_into(self, "computation_vector", "communication_matrix")


class ParallelTaskHomogeneousProfile(Value, frozen=True):
    """A parallel task for which Batsim generates the vector and the matrix from two amounts.

    Args:
        computation_amount: flops, >= 0; 0 by default.
        communication_amount: bytes, >= 0; 0 by default.
        generation_strategy: whether the amounts are for each executor and each pair of executors (default), or totals
            to spread over them.
    """

    computation_amount: float = 0.0
    communication_amount: float = 0.0
    generation_strategy: HomogeneousParallelTaskGenerationStrategy = _EACH


class SequentialCompositionProfile(Value, frozen=True, kw_only=True):
    """Profiles that Batsim executes one after the other.

    Args:
        profile_ids: the ids of the profiles, in order. A registered profile must use full ids, `workload!name`.
        repetition_count: the number of times that Batsim executes the whole sequence; uint32, 1 by default.
    """

    repetition_count: int = 1
    profile_ids: TupleOf[str]

    def __post_init__(self) -> None:
        if type(self.profile_ids) is not tuple:
            tuples_into(self, "profile_ids")


class ForkJoinCompositionProfile(Value, frozen=True):
    """Profiles that run at the same time; it ends when all have ended. Batsim 5.0.0-rc2 does not implement it.

    Args:
        profile_ids: the ids of the profiles.
    """

    profile_ids: TupleOf[str]

    def __post_init__(self) -> None:
        if type(self.profile_ids) is not tuple:
            tuples_into(self, "profile_ids")


class ParallelTaskMergeCompositionProfile(Value, frozen=True):
    """Parallel tasks that are merged into one. Batsim 5.0.0-rc2 does not implement it.

    Args:
        profile_ids: the ids of the profiles.
    """

    profile_ids: TupleOf[str]

    def __post_init__(self) -> None:
        if type(self.profile_ids) is not tuple:
            tuples_into(self, "profile_ids")


class ParallelTaskOnStorageHomogeneousProfile(Value, frozen=True):
    """Transfers between each executor and one storage.

    Args:
        storage_name: the storage: the name of a host, or a label that `ExecuteJobEvent.storage_placement` maps to a
            host.
        bytes_to_read: the bytes that are read from the storage, >= 0; 0 by default.
        bytes_to_write: the bytes that are written to the storage, >= 0; 0 by default.
        generation_strategy: whether the amounts are for each executor (default), or totals to spread over them.
    """

    storage_name: str
    bytes_to_read: float = 0.0
    bytes_to_write: float = 0.0
    generation_strategy: HomogeneousParallelTaskGenerationStrategy = _EACH


class ParallelTaskDataStagingBetweenStoragesProfile(Value, frozen=True):
    """A transfer from one storage to another.

    Args:
        bytes_to_transfer: the bytes to transfer, >= 0.
        emitter_storage_name: the storage that sends the bytes.
        receiver_storage_name: the storage that receives the bytes.
    """

    bytes_to_transfer: float
    emitter_storage_name: str
    receiver_storage_name: str


class TraceReplayProfile(Value, frozen=True):
    """The replay of recorded traces.

    Args:
        trace_type: the content of the traces.
        filename: the file that lists the trace files of the executors. It must exist on the machine of Batsim.
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
    """A profile and its id.

    Args:
        id: the id, `workload!name`.
        profile: the profile.
        extra_data: free text for decision components, which Batsim does not read; None if absent.
    """

    id: str
    profile: Profile
    extra_data: str | None = None
