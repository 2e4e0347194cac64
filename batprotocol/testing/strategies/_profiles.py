"""Strategies of profiles, of the progress of killed jobs, and of triggers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.testing.strategies._values import (
    doubles,
    enums,
    float64s,
    job_ids,
    makes,
    names,
    optional,
    profile_ids,
    texts,
    uint32s,
    uint64s,
    vectors,
)


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


# Kill progress


DEEPEST_KILL_PROGRESS = 30
"""How many kill progress tables can be nested in a message. Readers of flatbuffers and of its JSON count at most 64
nested tables; the outermost progress is the 6th of a `JobsKilledEvent`, and each level brings its wrapper along."""


@makes(model.KillProgressAtomicProfile)
def kill_progress_atomic_profiles(*, allow_nan: bool = False) -> SearchStrategy[model.KillProgressAtomicProfile]:
    """`KillProgressAtomicProfile` values; progress outside [0,1] too."""
    return st.builds(model.KillProgressAtomicProfile, profile_id=profile_ids(), progress=float64s(allow_nan=allow_nan))


@makes(model.KillProgressSequentialProfile)
def kill_progress_sequential_profiles(
    *, allow_nan: bool = False
) -> SearchStrategy[model.KillProgressSequentialProfile]:
    """`KillProgressSequentialProfile` values, as deep as a message carries."""
    return _sequential_progresses(kill_progresses(max_depth=DEEPEST_KILL_PROGRESS - 1, allow_nan=allow_nan))


@makes(model.KillProgressForkJoinProfile)
def kill_progress_fork_join_profiles(*, allow_nan: bool = False) -> SearchStrategy[model.KillProgressForkJoinProfile]:
    """`KillProgressForkJoinProfile` values, as deep as a message carries, of no task too and of a thousand."""
    tasks = kill_progresses(max_depth=DEEPEST_KILL_PROGRESS - 1, allow_nan=allow_nan)
    return _fork_join_progresses(tasks, allow_nan)


def kill_progresses(
    *, min_depth: int = 1, max_depth: int = DEEPEST_KILL_PROGRESS, allow_nan: bool = False
) -> SearchStrategy[model.KillProgress]:
    """Kill progress of all three kinds, as small trees and as deep chains.

    Args:
        min_depth: how many tables are nested at least; 1 is the progress of an atomic profile, or of no task at all.
        max_depth: how many are nested at most. The default, 30, is the deepest that a message carries; more makes
            values that cannot be written.
        allow_nan: whether progress may be NaN.

    `kill_progresses(min_depth=30)` makes only the deepest.
    """
    if not 1 <= min_depth <= max_depth:
        raise ValueError(f"expected 1 <= min_depth <= max_depth, got {min_depth} and {max_depth}")
    atomic = kill_progress_atomic_profiles(allow_nan=allow_nan)
    siblings = st.lists(atomic, max_size=2).map(tuple)
    levels = st.one_of(
        st.builds(_sequential_around, profile_ids(), uint32s(), uint32s()),
        st.builds(_fork_join_around, profile_ids(), siblings, siblings),
    )
    depths = st.integers(min_depth - 1, max_depth - 1)  # drawn first: lists alone are seldom long
    chains = st.builds(_nested, atomic, depths.flatmap(lambda depth: st.lists(levels, min_size=depth, max_size=depth)))
    return chains if min_depth > 1 else st.one_of(_progress_trees(min(max_depth, 3), allow_nan), chains)


def _progress_trees(depth: int, allow_nan: bool) -> SearchStrategy[model.KillProgress]:
    atomic = kill_progress_atomic_profiles(allow_nan=allow_nan)
    if depth == 1:
        return atomic
    smaller = _progress_trees(depth - 1, allow_nan)
    return st.one_of(atomic, _sequential_progresses(smaller), _fork_join_progresses(smaller, allow_nan))


def _sequential_progresses(
    tasks: SearchStrategy[model.KillProgress],
) -> SearchStrategy[model.KillProgressSequentialProfile]:
    return st.builds(
        model.KillProgressSequentialProfile,
        profile_id=profile_ids(),
        current_repetition=uint32s(),
        current_task_index=uint32s(),
        current_task_progress=tasks,
    )


def _fork_join_progresses(
    tasks: SearchStrategy[model.KillProgress], allow_nan: bool
) -> SearchStrategy[model.KillProgressForkJoinProfile]:
    light = light_progresses(allow_nan)
    return st.builds(model.KillProgressForkJoinProfile, profile_id=profile_ids(), tasks_progress=vectors(tasks, light))


def light_progresses(allow_nan: bool) -> SearchStrategy[model.KillProgress]:
    """The smallest progress: what many killed jobs have."""
    return st.builds(
        model.KillProgressAtomicProfile, profile_id=st.just("w0!delay"), progress=float64s(allow_nan=allow_nan)
    )


# One level of a chain: what it puts around the progress below it.


def _sequential_around(
    profile_id: str, repetition: int, index: int
) -> Callable[[model.KillProgress], model.KillProgress]:
    return lambda inner: model.KillProgressSequentialProfile(profile_id, repetition, index, inner)


def _fork_join_around(
    profile_id: str, before: tuple[model.KillProgress, ...], after: tuple[model.KillProgress, ...]
) -> Callable[[model.KillProgress], model.KillProgress]:
    return lambda inner: model.KillProgressForkJoinProfile(profile_id, (*before, inner, *after))


def _nested(
    core: model.KillProgress, levels: Sequence[Callable[[model.KillProgress], model.KillProgress]]
) -> model.KillProgress:
    for level in levels:
        core = level(core)
    return core


@makes(model.JobAndProgress)
def job_and_progresses(*, allow_nan: bool = False) -> SearchStrategy[model.JobAndProgress]:
    """`JobAndProgress` values, with progress as deep as a message carries."""
    return st.builds(model.JobAndProgress, job_id=job_ids(), wrapper=kill_progresses(allow_nan=allow_nan))


# Temporal triggers


@makes(model.OneShot)
def one_shots() -> SearchStrategy[model.OneShot]:
    """`OneShot` values."""
    return st.builds(model.OneShot, time=uint64s(), time_unit=enums(model.TimeUnit))


@makes(model.Infinite)
def infinites() -> SearchStrategy[model.Infinite]:
    """`Infinite()`."""
    return st.builds(model.Infinite)


@makes(model.FinitePeriodNumber)
def finite_period_numbers() -> SearchStrategy[model.FinitePeriodNumber]:
    """`FinitePeriodNumber` values, 0 periods too."""
    return st.builds(model.FinitePeriodNumber, nb_periods=uint32s())


def periodic_modes() -> SearchStrategy[model.PeriodicMode]:
    """`Infinite()` or a `FinitePeriodNumber`."""
    return st.one_of(infinites(), finite_period_numbers())


@makes(model.Periodic)
def periodics() -> SearchStrategy[model.Periodic]:
    """`Periodic` values, of period 0 and with any offset too."""
    return st.builds(
        model.Periodic, period=uint64s(), offset=uint64s(), time_unit=enums(model.TimeUnit), mode=periodic_modes()
    )


def temporal_triggers() -> SearchStrategy[model.TemporalTrigger]:
    """A `OneShot` or a `Periodic`."""
    return st.one_of(one_shots(), periodics())
