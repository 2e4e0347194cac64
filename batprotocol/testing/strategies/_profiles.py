"""Strategies for the profiles of jobs."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.testing.strategies._common import makes, optional, vectors
from batprotocol.testing.strategies._doubles import doubles
from batprotocol.testing.strategies._enums import enums
from batprotocol.testing.strategies._numbers import float64s, uint32s
from batprotocol.testing.strategies._texts import names, profile_ids, texts

__all__ = [
    "delay_profiles",
    "fork_join_composition_profiles",
    "parallel_task_data_staging_between_storages_profiles",
    "parallel_task_homogeneous_profiles",
    "parallel_task_merge_composition_profiles",
    "parallel_task_on_storage_homogeneous_profiles",
    "parallel_task_profiles",
    "profile_and_ids",
    "profiles",
    "sequential_composition_profiles",
    "trace_replay_profiles",
]


@makes(model.DelayProfile)
def delay_profiles(*, allow_nan: bool = False) -> SearchStrategy[model.DelayProfile]:
    """`DelayProfile` values."""
    return st.builds(model.DelayProfile, delay=float64s(allow_nan=allow_nan))


@makes(model.ParallelTaskProfile)
def parallel_task_profiles(*, allow_nan: bool = False) -> SearchStrategy[model.ParallelTaskProfile]:
    """`ParallelTaskProfile` values; the vector and the matrix may each be absent, empty or huge, and need not match."""
    vectors = optional(doubles(allow_nan=allow_nan))
    return st.builds(model.ParallelTaskProfile, computation_vector=vectors, communication_matrix=vectors)


@makes(model.ParallelTaskHomogeneousProfile)
def parallel_task_homogeneous_profiles(
    *, allow_nan: bool = False
) -> SearchStrategy[model.ParallelTaskHomogeneousProfile]:
    """`ParallelTaskHomogeneousProfile` values."""
    return st.builds(
        model.ParallelTaskHomogeneousProfile,
        computation_amount=float64s(allow_nan=allow_nan),
        communication_amount=float64s(allow_nan=allow_nan),
        generation_strategy=enums(model.HomogeneousParallelTaskGenerationStrategy),
    )


@makes(model.SequentialCompositionProfile)
def sequential_composition_profiles() -> SearchStrategy[model.SequentialCompositionProfile]:
    """`SequentialCompositionProfile` values; an empty sequence too."""
    return st.builds(model.SequentialCompositionProfile, repetition_count=uint32s(), profile_ids=_profile_id_vectors())


@makes(model.ForkJoinCompositionProfile)
def fork_join_composition_profiles() -> SearchStrategy[model.ForkJoinCompositionProfile]:
    """`ForkJoinCompositionProfile` values; of no profile too."""
    return st.builds(model.ForkJoinCompositionProfile, profile_ids=_profile_id_vectors())


@makes(model.ParallelTaskMergeCompositionProfile)
def parallel_task_merge_composition_profiles() -> SearchStrategy[model.ParallelTaskMergeCompositionProfile]:
    """`ParallelTaskMergeCompositionProfile` values; of no profile too."""
    return st.builds(model.ParallelTaskMergeCompositionProfile, profile_ids=_profile_id_vectors())


@makes(model.ParallelTaskOnStorageHomogeneousProfile)
def parallel_task_on_storage_homogeneous_profiles(
    *, allow_nan: bool = False
) -> SearchStrategy[model.ParallelTaskOnStorageHomogeneousProfile]:
    """`ParallelTaskOnStorageHomogeneousProfile` values."""
    return st.builds(
        model.ParallelTaskOnStorageHomogeneousProfile,
        storage_name=names("pfs", "nfs"),
        bytes_to_read=float64s(allow_nan=allow_nan),
        bytes_to_write=float64s(allow_nan=allow_nan),
        generation_strategy=enums(model.HomogeneousParallelTaskGenerationStrategy),
    )


@makes(model.ParallelTaskDataStagingBetweenStoragesProfile)
def parallel_task_data_staging_between_storages_profiles(
    *, allow_nan: bool = False
) -> SearchStrategy[model.ParallelTaskDataStagingBetweenStoragesProfile]:
    """`ParallelTaskDataStagingBetweenStoragesProfile` values; both storages may be the same."""
    return st.builds(
        model.ParallelTaskDataStagingBetweenStoragesProfile,
        bytes_to_transfer=float64s(allow_nan=allow_nan),
        emitter_storage_name=names("pfs", "nfs"),
        receiver_storage_name=names("pfs", "nfs"),
    )


@makes(model.TraceReplayProfile)
def trace_replay_profiles() -> SearchStrategy[model.TraceReplayProfile]:
    """`TraceReplayProfile` values."""
    return st.builds(model.TraceReplayProfile, trace_type=enums(model.TraceType), filename=names("smpi/traces.txt"))


def profiles(*, allow_nan: bool = False) -> SearchStrategy[model.Profile]:
    """Any of the nine profiles."""
    return st.one_of(
        delay_profiles(allow_nan=allow_nan),
        parallel_task_profiles(allow_nan=allow_nan),
        parallel_task_homogeneous_profiles(allow_nan=allow_nan),
        sequential_composition_profiles(),
        fork_join_composition_profiles(),
        parallel_task_merge_composition_profiles(),
        parallel_task_on_storage_homogeneous_profiles(allow_nan=allow_nan),
        parallel_task_data_staging_between_storages_profiles(allow_nan=allow_nan),
        trace_replay_profiles(),
    )


@makes(model.ProfileAndId)
def profile_and_ids(*, allow_nan: bool = False) -> SearchStrategy[model.ProfileAndId]:
    """`ProfileAndId` values, of every profile; the extra data may be absent or empty."""
    return st.builds(
        model.ProfileAndId, id=profile_ids(), profile=profiles(allow_nan=allow_nan), extra_data=optional(texts())
    )


def profile_vectors(allow_nan: bool) -> SearchStrategy[tuple[model.ProfileAndId, ...] | None]:
    """No vector, an empty one, a few profiles, and now and then a thousand."""
    light = st.builds(model.ProfileAndId, id=st.just("w0!delay"), profile=delay_profiles(allow_nan=allow_nan))
    return optional(vectors(profile_and_ids(allow_nan=allow_nan), light))


def _profile_id_vectors() -> SearchStrategy[tuple[str, ...]]:
    return vectors(profile_ids(), st.sampled_from(("w0!delay10", "w0!ptask", "")))
