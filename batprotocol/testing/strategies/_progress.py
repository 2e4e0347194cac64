"""Strategies for kill progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.testing.strategies._common import makes, vectors
from batprotocol.testing.strategies._numbers import float64s, uint32s
from batprotocol.testing.strategies._texts import job_ids, profile_ids

__all__ = [
    "DEEPEST_KILL_PROGRESS",
    "job_and_progresses",
    "kill_progress_atomic_profiles",
    "kill_progress_fork_join_profiles",
    "kill_progress_sequential_profiles",
    "kill_progresses",
]

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
