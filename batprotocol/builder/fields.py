"""The check and the completion of one field whose type is valid.

Each function returns the value to write, or raises `BuilderError` with the given path. `completions` assigns the
functions to fields.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import NoneType
from typing import Any, Final, SupportsIndex, TypeAlias, get_args, get_type_hints

from msgspec.structs import force_setattr, replace

from batprotocol import model
from batprotocol.errors import BuilderError, shown
from batprotocol.model.hosts import FrozenHosts, frozen_hosts, hosts_once

__all__ = [
    "PROTOCOL_VERSION",
    "asked",
    "commit",
    "completed",
    "csv_text",
    "finite",
    "finite_vector",
    "fraction",
    "host_set",
    "id",
    "ids",
    "integer",
    "integers",
    "known",
    "number",
    "overrides",
    "pairs",
    "resources",
    "some_hosts",
    "some_ids",
    "tuple_of",
    "wrapped",
]


_LAST_HOST: Final = 2**32 - 1


# Numbers


def number(value: Any, path: str) -> float:
    if type(value) is float:
        return value
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        raise BuilderError(f"expected a number, got {shown(value)}", path)
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError) as error:
        raise BuilderError(f"expected a number that a double can hold, got {shown(value)}", path) from error


def finite(value: Any, path: str) -> float:
    found = number(value, path)
    if not math.isfinite(found):
        raise BuilderError(f"expected a finite number, got {found}", path)
    return found


def finite_vector(values: model.Doubles | None, path: str) -> model.Doubles | None:
    if values is not None and not math.isfinite(sum(values.view)):  # the sum of finite numbers can be infinite too
        for index, value in enumerate(values):
            finite(value, f"{path}[{index}]")
    return values


def fraction(value: Any, path: str) -> float:
    found = number(value, path)
    if not 0.0 <= found <= 1.0:
        raise BuilderError(f"expected a number in [0,1], got {found}", path)
    return found


def integer(value: SupportsIndex, path: str) -> int:
    return operator.index(value)  # numpy's integers become Python's, like integers from the wire


def integers(values: tuple[SupportsIndex, ...], path: str) -> tuple[int, ...]:
    return tuple(map(operator.index, values))


# Enums


def known(value: model.ProtocolEnum, path: str) -> model.ProtocolEnum:
    if not value.known:
        names = ", ".join(member.name for member in type(value))
        raise BuilderError(f"expected one of {names}, got {int(value)}", path)
    return value


# Texts


def id(value: str, path: str) -> str:
    if not value:
        raise BuilderError(f"expected an id that is not empty, got {value!r}", path)
    return value


def ids(values: tuple[str, ...], path: str) -> tuple[str, ...]:
    for index, value in enumerate(values):
        id(value, f"{path}[{index}]")
    return values


def some_ids(values: tuple[str, ...], path: str) -> tuple[str, ...]:
    if not values:
        raise BuilderError("expected at least one id, got none", path)
    return ids(values, path)


def csv_text(value: str | None, path: str) -> str | None:
    if value is not None and ("," in value or '"' in value):
        raise BuilderError(f"expected a text without comma or double quote, got {shown(value)}", path)
    return value


def commit(value: str | None, path: str) -> str | None:
    return csv_text(value or "", path)


# Host sets


def host_set(value: Any, path: str) -> str:
    try:
        hosts = hosts_once(value)
        text = hosts.text
    except ValueError as error:  # HostSetError, or Python refuses to write an int of thousands of digits
        raise BuilderError(str(error), path) from error
    if hosts.intervals and hosts.intervals[-1][1] > _LAST_HOST:
        raise BuilderError(f"a host is an integer in [0, {_LAST_HOST}], got {shown(text)}", path)
    return value if type(value) is str and value == text else text  # the given string itself if it is canonical


def some_hosts(value: Any, path: str) -> str:
    hosts = host_set(value, path)
    if not hosts:
        raise BuilderError(f"expected at least one host, got {value!r}", path)
    if type(value) is FrozenHosts:
        force_setattr(value, "_sent", hosts)
    return hosts


# The conversions of the arguments of `add_` methods: iterables to tuples, mappings to values, numbers to data.


PROTOCOL_VERSION: Final = "0.1.0"
"""The version of the protocol that the builder implements: the default of `EDCHelloEvent.batprotocol_version`."""


def _is_sequence(items: Any) -> bool:
    return isinstance(items, Iterable) and not isinstance(items, str | bytes | Mapping)


def tuple_of(items: Any) -> Any:
    return tuple(items) if _is_sequence(items) else items


def wrapped(kind: type[model.Value], items: Any) -> Any:
    """A value of this type that holds these items. An argument that is not a sequence is returned as it is."""
    return kind(items) if _is_sequence(items) else items


def pairs(kind: type[model.Value], items: Any) -> Any:
    """Values of a type that has two fields, from a mapping of the first field to the second, or from values."""
    return tuple(kind(*pair) for pair in items.items()) if isinstance(items, Mapping) else tuple_of(items)


def overrides(items: Any) -> Any:
    if not isinstance(items, Mapping):
        return tuple_of(items)
    path = "profile_allocation_override[{}].host_allocation"
    return tuple(
        model.ProfileAllocationPlacement(profile_id, given.host_allocation, given.executor_placement)
        if isinstance(given, model.AllocationPlacement)
        else model.ProfileAllocationPlacement(profile_id, host_set(given, path.format(index)))
        for index, (profile_id, given) in enumerate(items.items())
    )


def resources(hosts: model.HostSet | None, links: Iterable[str] | None) -> model.Resources:
    if (hosts is None) is (links is None):
        raise BuilderError(
            f"expected either hosts or links, got hosts={shown(hosts)} and links={shown(links)}: give one of the two",
            "resources",
        )
    if links is not None:
        return model.LinkResources(tuple_of(links))
    return model.HostResources(host_set(hosts, "resources.host_ids"))


# The checks and completions beyond types: the function of `fields` for each field, and the checks of whole events.


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
    return known(value, path) if isinstance(value, model.ProtocolEnum) else _completed(value, path)


# The tables

_BY_NAME: dict[str, _Completion | None] = {
    "call_me_later_id": id,
    "delay": finite,
    "host_allocation": some_hosts,
    "host_ids": host_set,
    "job_id": id,
    "job_ids": some_ids,
    "link_ids": ids,
    "probe_id": id,
    "profile_id": id,
    "profile_ids": ids,
    "progress": fraction,
    "submission_time": finite,
    "timestamp": None,  # the builder's own clock
    "walltime": finite,
}
"""The function for a field of this name, in any type."""

_BY_FIELD: dict[tuple[type, str], _Completion | None] = {
    (model.AllocationPlacement, "executor_placement"): _placement,
    (model.ChangeHostsPStateEvent, "host_ids"): some_hosts,
    (model.EDCHelloEvent, "batprotocol_commit"): csv_text,
    (model.EDCHelloEvent, "batprotocol_version"): csv_text,
    (model.EDCHelloEvent, "decision_component_commit"): commit,
    (model.EDCHelloEvent, "decision_component_name"): csv_text,
    (model.EDCHelloEvent, "decision_component_version"): csv_text,
    (model.ExternalEventOccurredEvent, "id"): id,
    (model.Job, "profile_id"): None,  # may be empty in a submitted job; see _ACROSS_FIELDS for registered ones
    (model.ParallelTaskDataStagingBetweenStoragesProfile, "bytes_to_transfer"): finite,
    (model.ParallelTaskHomogeneousProfile, "communication_amount"): finite,
    (model.ParallelTaskHomogeneousProfile, "computation_amount"): finite,
    (model.ParallelTaskOnStorageHomogeneousProfile, "bytes_to_read"): finite,
    (model.ParallelTaskOnStorageHomogeneousProfile, "bytes_to_write"): finite,
    (model.ParallelTaskProfile, "communication_matrix"): finite_vector,
    (model.ParallelTaskProfile, "computation_vector"): finite_vector,
    (model.ProfileAllocationPlacement, "executor_placement"): _placement,
    (model.ProfileAndId, "id"): id,
    (model.QuantileFunction, "threshold"): fraction,
    (model.SimulationBeginsEvent, "batsim_version"): csv_text,
    (model.TurnOnOffHostsEvent, "host_ids"): some_hosts,
}
"""The function for a field of one type. None: no check."""

_BY_HINT: dict[Any, _Completion] = {float: number, int: integer, tuple[int, ...]: integers}
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
        return lambda value, path: known(hint(value), path)  # a number is accepted if the schema has a name for it
    return _completed if any(issubclass(leaf, model.Value) for leaf in _leaves(hint)) else None


def _leaves(hint: Any) -> Iterator[type]:
    """The types in an annotation."""
    for member in get_args(hint):
        yield from _leaves(member)
    if isinstance(hint, type) and not get_args(hint):
        yield hint


# Checks of whole events


def _job_to_register(event: model.RegisterJobEvent) -> None:
    id(event.job.profile_id, "job.profile_id")


def _probe(event: model.CreateProbeEvent) -> None:
    if isinstance(event.resources, model.HostResources):
        some_hosts(event.resources.host_ids, "resources.host_ids")


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
