"""Composed profiles: their atomic profiles, the order of these, and the profiles that are forgotten with them.

It does not recurse: peers can nest profiles to any depth, even in themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from math import inf, isqrt
from typing import Any, Final

from batprotocol import model
from batprotocol._util.counting import step
from batprotocol.conversation.hostsets import members, read_hosts
from batprotocol.conversation.state import ConversationState
from batprotocol.errors import shown

__all__ = [
    "COMPOSITIONS",
    "PARALLEL_TASKS",
    "check_tasks",
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


def leaves(state: ConversationState, profile_id: str) -> Iterator[tuple[str, model.Profile | None]]:
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


def in_order(state: ConversationState, profile_id: str) -> Iterator[tuple[str, model.Profile | None, float]]:
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


def contained(state: ConversationState, profile_id: str) -> set[str]:
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


def elsewhere(state: ConversationState, profile_id: str) -> str | None:
    """A direct or indirect part of a sequence that belongs to another workload than the sequence."""
    if not isinstance(state.profiles.get(profile_id), model.SequentialCompositionProfile):
        return None
    workload = profile_id.partition("!")[0]
    return min((part for part in contained(state, profile_id) if part.partition("!")[0] != workload), default=None)


# Check whether Batsim and SimGrid can simulate the profiles of a job on its hosts.


_FILL: Final = model.PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst


def check_tasks(state: ConversationState, event: model.ExecuteJobEvent, profile_id: str, job: model.Job) -> None:
    """Report the profiles of the job that cannot be simulated, among those that it executes."""
    profile, walltime = state.profiles.get(profile_id), job.walltime
    endless = walltime is not None and not walltime < inf
    if walltime != walltime:
        state.report("job.infinite", "job_id", f"the walltime of job {shown(event.job_id)} is not a number")
        return
    limit = walltime if walltime is not None and walltime >= 0 else inf
    if not isinstance(profile, COMPOSITIONS):
        _check(state, event, job.resource_request, limit, profile_id, profile, endless)
        return
    try:
        for name, part, after in in_order(state, profile_id):
            if after > 0 and after >= limit:
                break
            _check(state, event, job.resource_request, limit, name, part, endless)
            if isinstance(profile, model.SequentialCompositionProfile):
                state.instead = "job.later-part"
    finally:
        state.instead = ""


def _check(
    state: ConversationState,
    event: model.ExecuteJobEvent,
    request: int,
    limit: float,
    name: str,
    profile: Any,
    endless: bool,
) -> None:
    """Check one profile that the job executes. `request` is the job's number of hosts; the walltime can be infinite.

    Executions are the most frequent events, so no text is built here unless it is needed.
    """
    check = _CHECKS.get(type(profile))
    if check is not None:
        check(state, event, request, name, profile)
        if endless:
            _report(state, event, "job.infinite", name, "cannot have an infinite walltime")
    elif type(profile) is model.DelayProfile and profile.delay == inf == limit:
        _report(state, event, "job.infinite", name, "is an infinite delay, and no walltime ends it")


def _report(
    state: ConversationState, event: model.ExecuteJobEvent, rule: str, name: str, what: str, path: str = "job_id"
) -> None:
    state.report(rule, path, f"profile {shown(name)} of job {shown(event.job_id)} {what}")


def _where(event: model.ExecuteJobEvent, name: str) -> model.AllocationPlacement | model.ProfileAllocationPlacement:
    """The placement of a profile of the job."""
    for override in event.profile_allocation_override or ():
        if override.profile_id == name:
            return override
    return event.allocation


def _executors(event: model.ExecuteJobEvent, request: int, name: str) -> int:
    """The number of executors of a profile that adapts to it."""
    placement = _where(event, name).executor_placement
    return len(placement.mapping) if isinstance(placement, model.CustomExecutorToHostMapping) else request


def _check_finite(state: ConversationState, event: model.ExecuteJobEvent, name: str, *amounts: float) -> None:
    if inf in amounts:
        _report(state, event, "job.infinite", name, "has an infinite amount of work")


# The checks take the job's execution, its requested number of hosts, and one of its profiles with the name.


def _check_vectors(
    state: ConversationState, event: model.ExecuteJobEvent, request: int, name: str, profile: model.ParallelTaskProfile
) -> None:
    size = executors_of(profile)
    if size != request:
        text = f"is a parallel task of {size} executors, and the job requests {request}"
        _report(state, event, "job.task-size", name, text)
    elif not size:
        _report(state, event, "job.no-work", name, "has no executor")
    if name in state.infinite_profiles:
        _check_finite(state, event, name, inf)


def _check_homogeneous(
    state: ConversationState,
    event: model.ExecuteJobEvent,
    request: int,
    name: str,
    profile: model.ParallelTaskHomogeneousProfile,
) -> None:
    executors = _executors(event, request, name)
    if not executors:
        _report(state, event, "job.no-work", name, "has no executor")
    elif executors == 1 and profile.computation_amount == 0:
        _report(
            state, event, "job.no-work", name, "computes nothing, and its only executor has no other to send bytes to"
        )
    sent = profile.communication_amount if executors > 1 else 0.0  # alone, an executor sends nothing
    _check_finite(state, event, name, profile.computation_amount, sent)


def _check_storage_task(
    state: ConversationState,
    event: model.ExecuteJobEvent,
    request: int,
    name: str,
    profile: model.ParallelTaskOnStorageHomogeneousProfile,
) -> None:
    if not _executors(event, request, name):
        _report(state, event, "job.no-work", name, "has no executor")
    _check_finite(state, event, name, profile.bytes_to_read)  # this Batsim writes as much as it reads
    _check_storage(state, event, profile.storage_name)


def _check_staging(
    state: ConversationState,
    event: model.ExecuteJobEvent,
    request: int,
    name: str,
    profile: model.ParallelTaskDataStagingBetweenStoragesProfile,
) -> None:
    _check_finite(state, event, name, profile.bytes_to_transfer)
    for storage in dict.fromkeys((profile.emitter_storage_name, profile.receiver_storage_name)):
        _check_storage(state, event, storage)


def _check_trace(
    state: ConversationState, event: model.ExecuteJobEvent, request: int, name: str, profile: model.TraceReplayProfile
) -> None:
    """A usage trace needs a separate host for each of its executors, whose number is the job's request."""
    if not is_usage_trace(profile):
        return
    where = _where(event, name)
    placement, hosts = where.executor_placement, read_hosts(where.host_allocation)
    if isinstance(placement, model.CustomExecutorToHostMapping):
        repeated = len(set(placement.mapping)) < len(placement.mapping)
    else:
        repeated = hosts.size < request
    if placement == _FILL and request > 1 and hosts.last < state.host_limit:
        cores = (state.hosts[host].host.core_count for host in members(hosts.mask) if host in state.hosts)
        repeated = repeated or any(count > 1 for count in islice(cores, request - 1))
    if repeated:
        text = f"replays a usage trace of {request} executors, and does not get a host for each of them"
        _report(state, event, "job.trace-hosts", name, text, "allocation")


def _check_storage(state: ConversationState, event: model.ExecuteJobEvent, name: str) -> None:
    """Report a storage that is neither placed nor a host, or is not a storage host."""
    if not state.hosts:
        return
    placed = {entry.storage_name: entry.host_id for entry in event.storage_placement or ()}
    host = placed.get(name, state.host_names.get(name))
    if host is None:
        text = f"storage {shown(name)} is not placed, and no host has this name"
        state.report("job.storage-unknown", "storage_placement", text)
    elif host >= state.host_limit:
        text = f"storage {shown(name)} is placed on host {host}: the last one is {state.host_limit - 1}"
        state.report("hosts.unknown", "storage_placement", text)
    elif not state.hosts[host].is_storage:
        text = f"storage {shown(name)} is host {host}, which is not a storage host"
        state.report("job.storage-computes", "storage_placement", text)


_CHECKS: Final[Mapping[type[Any], Callable[[ConversationState, model.ExecuteJobEvent, int, str, Any], None]]] = {
    model.ParallelTaskProfile: _check_vectors,
    model.ParallelTaskHomogeneousProfile: _check_homogeneous,
    model.ParallelTaskOnStorageHomogeneousProfile: _check_storage_task,
    model.ParallelTaskDataStagingBetweenStoragesProfile: _check_staging,
    model.TraceReplayProfile: _check_trace,
}
