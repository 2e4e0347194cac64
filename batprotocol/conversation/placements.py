"""Check whether the placement of an execution fits the job's profile: custom mappings and overrides.

Only known profiles can be checked: those that were forwarded or registered. This module must not change the state.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from batprotocol import model
from batprotocol._util.steps.counting import step
from batprotocol.conversation.hostsets import HostSetText, read_hosts
from batprotocol.conversation.profiles import in_order, leaves
from batprotocol.conversation.state import State
from batprotocol.errors import shown

__all__ = ["check_overrides", "check_placement"]

# How a profile takes a custom mapping. Rigid ones need one entry for each executor; homogeneous ones take as many
# executors as there are entries. Only Batsim knows the number of a trace; the job's request is assumed.
_RIGID: Final = (model.ParallelTaskProfile, model.ParallelTaskDataStagingBetweenStoragesProfile)
_MAPPED: Final = (
    *_RIGID,
    model.ParallelTaskHomogeneousProfile,
    model.ParallelTaskOnStorageHomogeneousProfile,
    model.TraceReplayProfile,
)
_STRATEGIES: Final = tuple(model.PredefinedExecutorPlacementStrategy)


def check_placement(
    state: State, event: model.ExecuteJobEvent, executors: int, profile_id: str, hosts: HostSetText
) -> None:
    """Report a placement that does not fit the profiles that it applies to: all that are not overridden."""
    placement = event.allocation.executor_placement
    path = "allocation.executor_placement"
    if not isinstance(placement, model.CustomExecutorToHostMapping):
        _check_strategy(state, placement, path)
        return
    overridden = {override.profile_id for override in event.profile_allocation_override or ()}
    if profile_id in overridden:
        return
    first = _first(state, profile_id)
    for part_id, part in leaves(state, profile_id):
        if part_id not in overridden:
            with _as_part(state, first, part_id):
                _check_mapping(state, placement.mapping, path, executors, part_id, part, hosts)


def check_overrides(state: State, event: model.ExecuteJobEvent, profile_id: str) -> None:
    """Report overrides that do not fit the profile that they name."""
    parts, first = dict(leaves(state, profile_id)), _first(state, profile_id)
    everything_known = all(part is not None for part in parts.values())
    record = state.jobs[event.job_id]
    executors = record.job.resource_request if record.job is not None else 0
    for index, override in enumerate(event.profile_allocation_override or ()):
        step()
        path = f"profile_allocation_override[{index}]"
        if override.profile_id not in parts:
            if everything_known and override.profile_id != profile_id:
                text = f"job {shown(event.job_id)} does not use profile {shown(override.profile_id)}"
                state.report("job.override-unused", f"{path}.profile_id", text)
            continue
        with _as_part(state, first, override.profile_id):
            _check_override(state, override, path, executors, parts[override.profile_id])


@contextmanager
def _as_part(state: State, first: str, part_id: str) -> Iterator[None]:
    """Report what is found as a doubt, unless it is about the part that the job begins with."""
    state.instead = "job.later-part" if part_id != first else ""
    try:
        yield
    finally:
        state.instead = ""


def _first(state: State, profile_id: str) -> str:
    """The atomic profile that a job with this profile begins with."""
    return next((name for name, _, _ in in_order(state, profile_id)), profile_id)


def _check_override(
    state: State, override: model.ProfileAllocationPlacement, path: str, executors: int, profile: model.Profile | None
) -> None:
    hosts_text = override.host_allocation
    hosts = read_hosts(hosts_text)
    # Where it does not use a mapping, Batsim may never look at the hosts.
    if isinstance(profile, _MAPPED) and state.known_hosts(hosts_text, f"{path}.host_allocation") is None:
        return
    placement, path = override.executor_placement, f"{path}.executor_placement"
    if not isinstance(placement, model.CustomExecutorToHostMapping):
        _check_strategy(state, placement, path)
    elif hosts.last < state.host_limit:
        _check_mapping(state, placement.mapping, path, executors, override.profile_id, profile, hosts)


def _check_strategy(state: State, placement: model.ExecutorPlacement, path: str) -> None:
    if not isinstance(placement, model.CustomExecutorToHostMapping) and placement not in _STRATEGIES:
        state.report("job.placement-strategy", path, f"{int(placement)} is not a predefined placement strategy")


def _check_mapping(
    state: State,
    mapping: tuple[int, ...],
    path: str,
    executors: int,
    profile_id: str,
    profile: model.Profile | None,
    hosts: HostSetText,
) -> None:
    used = isinstance(profile, _MAPPED)
    size = hosts.size
    short = len(mapping) < executors and isinstance(profile, model.TraceReplayProfile)
    if short or (len(mapping) != executors and (isinstance(profile, _RIGID) or not used)):
        rule = "job.mapping-size" if used else "job.mapping-doubtful"
        text = f"the mapping has {len(mapping)} entries, and the job has {executors} executors"
        state.report(rule, f"{path}.mapping", f"{text} (profile {shown(profile_id)})")
    for index, entry in enumerate(mapping):
        step()
        if entry >= size:
            rule = "job.mapping-entry" if used else "job.mapping-doubtful"
            state.report(rule, f"{path}.mapping[{index}]", f"there is no host {entry} in an allocation of {size} hosts")
            break
