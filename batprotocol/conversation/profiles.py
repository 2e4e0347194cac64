"""Composed profiles: their atomic profiles, the order of these, and the profiles that are forgotten with them.

This module must not know events or rules, or change the state. It does not recurse: peers can nest profiles to any
depth, even in themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isqrt
from typing import Final

from batprotocol import model
from batprotocol._util.steps.counting import step
from batprotocol.conversation.state import State

__all__ = [
    "COMPOSITIONS",
    "PARALLEL_TASKS",
    "contained",
    "elsewhere",
    "executors_of",
    "in_order",
    "is_usage_trace",
    "leaves",
]

COMPOSITIONS: Final = (
    model.SequentialCompositionProfile,
    model.ForkJoinCompositionProfile,
    model.ParallelTaskMergeCompositionProfile,
)
PARALLEL_TASKS: Final = (
    model.ParallelTaskProfile,
    model.ParallelTaskHomogeneousProfile,
    model.ParallelTaskOnStorageHomogeneousProfile,
    model.ParallelTaskDataStagingBetweenStoragesProfile,
)


def is_usage_trace(profile: model.Profile | None) -> bool:
    """Whether the profile is known to replay traces of fractional computation."""
    return isinstance(profile, model.TraceReplayProfile) and profile.trace_type == model.TraceType.FractionalComputation


def executors_of(profile: model.ParallelTaskProfile) -> int:
    """The number of executors of a parallel task with vectors."""
    flops, bytes_sent = profile.computation_vector, profile.communication_matrix
    return (0 if flops is None else len(flops)) or (0 if bytes_sent is None else isqrt(len(bytes_sent)))


def leaves(state: State, profile_id: str) -> Iterator[tuple[str, model.Profile | None]]:
    """The atomic profiles that are executed, each once, with their names. None stands for an unknown profile."""
    todo, seen = [profile_id], {profile_id}
    while todo:
        step()
        name = todo.pop()
        profile = state.profiles.get(name)
        if not isinstance(profile, COMPOSITIONS):
            yield name, profile
            continue
        todo += [part for part in dict.fromkeys(profile.profile_ids) if part not in seen]
        seen.update(profile.profile_ids)


def in_order(state: State, profile_id: str) -> Iterator[tuple[str, model.Profile | None, float]]:
    """The atomic profiles that are executed, each at its first execution, in the order of execution.

    Each has the sum of the delays before it, in simulated seconds. Profiles that are never executed are left out: parts
    of a profile that is repeated 0 times, and all profiles after an infinite delay.
    """
    took: dict[str, float] = {}
    """The sum of the delays of a profile; 0 while the profile is being traversed."""
    elapsed = 0.0
    stack = [("", 0.0, 1, iter((profile_id,)))]
    while stack and elapsed < inf:
        step()
        name, start, repetitions, parts = stack[-1]
        part = next(parts, None)
        if part is None:
            stack.pop()
            took[name] = (elapsed - start) * repetitions
            elapsed = start + took[name]
            continue
        if part in took:
            elapsed += took[part]
            continue
        profile = state.profiles.get(part)
        took[part] = 0.0
        if isinstance(profile, COMPOSITIONS):
            repetitions = profile.repetition_count if isinstance(profile, model.SequentialCompositionProfile) else 1
            if repetitions:
                stack.append((part, elapsed, repetitions, iter(profile.profile_ids)))
            continue
        yield part, profile, elapsed
        if isinstance(profile, model.DelayProfile):
            took[part] = profile.delay
            elapsed += profile.delay


def contained(state: State, profile_id: str) -> set[str]:
    """The profiles that a sequence holds, and those that they hold."""
    found: set[str] = set()
    todo = [profile_id]
    while todo:
        step()
        profile = state.profiles.get(todo.pop())
        if isinstance(profile, model.SequentialCompositionProfile):
            todo += [part for part in dict.fromkeys(profile.profile_ids) if part not in found]
            found.update(profile.profile_ids)
    return found


def elsewhere(state: State, profile_id: str) -> str | None:
    """A direct or indirect part of a sequence that belongs to another workload than the sequence."""
    if not isinstance(state.profiles.get(profile_id), model.SequentialCompositionProfile):
        return None
    workload = profile_id.partition("!")[0]
    return min((part for part in contained(state, profile_id) if part.partition("!")[0] != workload), default=None)
