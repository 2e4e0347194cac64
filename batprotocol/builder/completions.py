"""The checks and completions beyond types: the function of `fields` for each field, and the checks of whole events.

A new field needs a row in one of the tables only if the builder must check more than its type: that its numbers are
finite, its ids are not empty, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from types import NoneType
from typing import Any, Final, TypeAlias, get_args, get_type_hints

from msgspec.structs import replace

from batprotocol import model
from batprotocol.builder import fields
from batprotocol.errors import BuilderError, shown
from batprotocol.model.hosts import frozen_hosts

__all__ = ["asked", "completed"]

_Completion: TypeAlias = Callable[[Any, str], Any]

_SPREAD: Final = model.PredefinedExecutorPlacementStrategy.SpreadOverHostsFirst


def asked(kind: type, name: str) -> _Completion | None:
    """The function of `fields` that checks a field beyond its type, if the tables name one."""
    return _BY_FIELD[kind, name] if (kind, name) in _BY_FIELD else _BY_NAME.get(name)


def completed(event: model.Event) -> Any:
    """Complete an event. Raises `BuilderError`, which names the field, if a check fails.

    Args:
        event: an event that passed the check of types.
    """
    written = _completed(event, "")
    whole = _ACROSS_FIELDS.get(type(event))
    if whole is not None:
        whole(written)
    return written


def _completed(value: Any, path: str) -> Any:
    """Complete a value and all values in it."""
    kind: Any = type(value)
    if kind is tuple:
        return tuple([_completed(item, f"{path}[{index}]") for index, item in enumerate(value)])
    changes = {}
    for name, complete in _completions(kind):
        given = getattr(value, name)
        written = complete(given, f"{path}.{name}" if path else name)
        if written is not given:
            changes[name] = written
    return replace(value, **changes) if changes else value


def _placement(value: model.ExecutorPlacement, path: str) -> Any:
    if value is _SPREAD:  # the most frequent case
        return value
    return fields.known(value, path) if isinstance(value, model.ProtocolEnum) else _completed(value, path)


# The tables

_BY_NAME: dict[str, _Completion | None] = {
    "call_me_later_id": fields.id,
    "delay": fields.finite,
    "host_allocation": fields.some_hosts,
    "host_ids": fields.host_set,
    "job_id": fields.id,
    "job_ids": fields.some_ids,
    "link_ids": fields.ids,
    "probe_id": fields.id,
    "profile_id": fields.id,
    "profile_ids": fields.ids,
    "progress": fields.fraction,
    "submission_time": fields.finite,
    "timestamp": None,  # the builder's own clock
    "walltime": fields.finite,
}
"""The function for a field of this name, in any type."""

_BY_FIELD: dict[tuple[type, str], _Completion | None] = {
    (model.AllocationPlacement, "executor_placement"): _placement,
    (model.ChangeHostsPStateEvent, "host_ids"): fields.some_hosts,
    (model.EDCHelloEvent, "batprotocol_commit"): fields.csv_text,
    (model.EDCHelloEvent, "batprotocol_version"): fields.csv_text,
    (model.EDCHelloEvent, "decision_component_commit"): fields.commit,
    (model.EDCHelloEvent, "decision_component_name"): fields.csv_text,
    (model.EDCHelloEvent, "decision_component_version"): fields.csv_text,
    (model.ExternalEventOccurredEvent, "id"): fields.id,
    (model.Job, "profile_id"): None,  # may be empty in a submitted job; see _ACROSS_FIELDS for registered ones
    (model.ParallelTaskDataStagingBetweenStoragesProfile, "bytes_to_transfer"): fields.finite,
    (model.ParallelTaskHomogeneousProfile, "communication_amount"): fields.finite,
    (model.ParallelTaskHomogeneousProfile, "computation_amount"): fields.finite,
    (model.ParallelTaskOnStorageHomogeneousProfile, "bytes_to_read"): fields.finite,
    (model.ParallelTaskOnStorageHomogeneousProfile, "bytes_to_write"): fields.finite,
    (model.ParallelTaskProfile, "communication_matrix"): fields.finite_vector,
    (model.ParallelTaskProfile, "computation_vector"): fields.finite_vector,
    (model.ProfileAllocationPlacement, "executor_placement"): _placement,
    (model.ProfileAndId, "id"): fields.id,
    (model.QuantileFunction, "threshold"): fields.fraction,
    (model.SimulationBeginsEvent, "batsim_version"): fields.csv_text,
    (model.TurnOnOffHostsEvent, "host_ids"): fields.some_hosts,
}
"""The function for a field of one type. None: no check."""

_BY_HINT: dict[Any, _Completion] = {float: fields.number, int: fields.integer, tuple[int, ...]: fields.integers}
"""The function for all other fields of these types."""


@cache
def _completions(kind: type) -> tuple[tuple[str, _Completion], ...]:
    """The fields of a type that have a function: those in the tables, other numbers, and fields that hold values."""
    if not issubclass(kind, model.Value):
        return ()
    found = ((name, _completion(kind, name, hint)) for name, hint in get_type_hints(kind).items())
    return tuple((name, complete) for name, complete in found if complete is not None)


def _completion(kind: type, name: str, hint: Any) -> _Completion | None:
    if (kind, name) in _BY_FIELD:
        return _BY_FIELD[kind, name]
    if NoneType in get_args(hint):
        (present,) = (member for member in get_args(hint) if member is not NoneType)
        complete = _completion(kind, name, present)
        return complete and (lambda value, path: None if value is None else complete(value, path))
    if name in _BY_NAME:
        return _BY_NAME[name]
    if hint in _BY_HINT:
        return _BY_HINT[hint]
    if isinstance(hint, type) and issubclass(hint, model.ProtocolEnum):
        return lambda value, path: fields.known(
            hint(value), path
        )  # a number is accepted if the schema has a name for it
    return _completed if any(issubclass(leaf, model.Value) for leaf in _leaves(hint)) else None


def _leaves(hint: Any) -> Iterator[type]:
    """The types in an annotation."""
    for member in get_args(hint):
        yield from _leaves(member)
    if isinstance(hint, type) and not get_args(hint):
        yield hint


# Checks of whole events


def _job_to_register(event: model.RegisterJobEvent) -> None:
    fields.id(event.job.profile_id, "job.profile_id")


def _probe(event: model.CreateProbeEvent) -> None:
    if isinstance(event.resources, model.HostResources):
        fields.some_hosts(event.resources.host_ids, "resources.host_ids")


def _jobs_with_progress(event: model.JobsKilledEvent) -> None:
    killed = set(event.job_ids)
    for index, progress in enumerate(event.progresses):
        if progress.job_id not in killed:
            raise BuilderError(f"expected one of job_ids, got {shown(progress.job_id)}", f"progresses[{index}].job_id")


def _placements(event: model.ExecuteJobEvent) -> None:
    _indices(event.allocation, "allocation.executor_placement")
    for index, each in enumerate(event.profile_allocation_override or ()):
        _indices(each, f"profile_allocation_override[{index}].executor_placement")


def _indices(value: model.AllocationPlacement | model.ProfileAllocationPlacement, path: str) -> None:
    """Check that the indices of a mapping are indices into its host set."""
    placement = value.executor_placement
    if isinstance(placement, model.CustomExecutorToHostMapping) and placement.mapping:
        count, largest = len(frozen_hosts(value.host_allocation)), max(placement.mapping)
        if largest >= count:
            place = placement.mapping.index(largest)
            raise BuilderError(
                f"expected an index of {count} hosts, in [0, {count - 1}], got {largest}", f"{path}.mapping[{place}]"
            )


_ACROSS_FIELDS: dict[type, Callable[[Any], None]] = {
    model.CreateProbeEvent: _probe,
    model.ExecuteJobEvent: _placements,
    model.JobsKilledEvent: _jobs_with_progress,
    model.RegisterJobEvent: _job_to_register,
}
"""The check of a whole event, by its type."""
