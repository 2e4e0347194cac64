"""The call of the builder that makes an event: the inverse of its `add_` methods."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from batprotocol import model
from batprotocol.builder import MessageBuilder
from handbook.events.python import Piece, call, laid_out, named, pieces

__all__ = ["arguments_of", "building", "method_of"]

_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])(?<!P)")


def method_of(kind: type[model.Event]) -> str:
    """The name of the builder's method that makes events of this type.

    >>> method_of(model.JobsKilledEvent), method_of(model.EDCHelloEvent), method_of(model.ChangeHostsPStateEvent)
    ('add_jobs_killed', 'add_edc_hello', 'add_change_hosts_pstate')
    """
    return f"add_{_WORD.sub('_', kind.__name__.removesuffix('Event')).lower()}"


def _placed(event: model.ExecuteJobEvent) -> Any:
    placement = event.allocation.executor_placement
    return placement.mapping if isinstance(placement, model.CustomExecutorToHostMapping) else placement


def _by_key(values: Any, key: str, value: str) -> Any:
    """Values of two fields as a mapping of one field to the other, if no key occurs twice."""
    if values is None:
        return None
    found = {getattr(each, key): getattr(each, value) for each in values}
    return found if len(found) == len(values) else values


def _hosts(resources: model.Resources) -> str | None:
    return resources.host_ids if isinstance(resources, model.HostResources) else None


def _links(resources: model.Resources) -> Any:
    return resources.link_ids if isinstance(resources, model.LinkResources) else None


# The arguments that are not the field of the same name. Each function takes the event.
_BY_NAME: Final[Mapping[str, Callable[[Any], Any]]] = {
    "accumulation": lambda event: event.data_accumulation_strategy,
    "aggregation": lambda event: event.resources_aggregation_function,
    "commit": lambda event: event.decision_component_commit,
    "emission_filter": lambda event: event.emission_filtering_policy,
    "features": lambda event: event.requested_simulation_features,
    "hosts": lambda event: _hosts(event.resources) if hasattr(event, "resources") else event.host_ids,
    "links": lambda event: _links(event.resources),
    "name": lambda event: event.decision_component_name,
    "temporal_aggregation": lambda event: event.temporal_aggregation_function,
    "trigger": lambda event: event.measurement_triggering_policy,
    "version": lambda event: event.decision_component_version,
}
_OF_EVENT: Final[Mapping[type[model.Event], Mapping[str, Callable[[Any], Any]]]] = {
    model.ExecuteJobEvent: {
        "hosts": lambda event: event.allocation.host_allocation,
        "placement": _placed,
        "profile_overrides": lambda event: event.profile_allocation_override,
        "storage_placement": lambda event: _by_key(event.storage_placement, "storage_name", "host_id"),
    },
    model.ExternalEventOccurredEvent: {"external_event": lambda event: event.external_event.data},
    model.JobsKilledEvent: {"progresses": lambda event: _by_key(event.progresses, "job_id", "wrapper")},
    model.ProbeDataEmittedEvent: {"data": lambda event: event.data.data},
    model.RegisterProfileEvent: {
        "profile_id": lambda event: event.profile.id,
        "profile": lambda event: event.profile.profile,
        "extra_data": lambda event: event.profile.extra_data,
    },
}
_COUNTED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "computation_host_number": lambda event: len(event.computation_hosts),
    "features": lambda event: model.EDCRequestedSimulationFeatures(),
    "host_number": lambda event: len(event.computation_hosts) + len(event.storage_hosts),
    "storage_host_number": lambda event: len(event.storage_hosts),
}
"""The values of the arguments for which None means: compute it from the others."""


def arguments_of(event: model.Event) -> dict[str, Any]:
    """The arguments of the builder's method that makes this event, without those that have their default."""
    kind = type(event)
    own = _OF_EVENT.get(kind, {})
    found = {}
    for each in inspect.signature(getattr(MessageBuilder, method_of(kind))).parameters.values():
        if each.name == "self":
            continue
        get = own.get(each.name) or (None if each.name in event.__struct_fields__ else _BY_NAME.get(each.name))
        value = get(event) if get is not None else getattr(event, each.name)
        default = _COUNTED[each.name](event) if each.name in _COUNTED else each.default
        if each.default is each.empty or type(value) is not type(default) or value != default:
            found[each.name] = value
    return found


def building(message: model.Message) -> str:
    """The Python that makes a message with a builder."""
    now = message.events[0].timestamp if message.events else message.now
    lines = [f"builder = MessageBuilder(now={now!r})" if now else "builder = MessageBuilder()"]
    for event in message.events:
        if event.timestamp != now:
            now = event.timestamp
            lines.append(f"builder.set_current_time({now!r})")
        lines.append(laid_out(_call(event)))
    lines.append(f"message = builder.finish_message({repr(message.now) if message.now != now else ''})")
    return "\n".join(lines)


def _call(event: model.Event) -> Piece:
    parameters = inspect.signature(getattr(MessageBuilder, method_of(type(event)))).parameters
    arguments: list[Piece] = []
    for name, value in arguments_of(event).items():
        each = parameters[name]
        plain = each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
        arguments.append(pieces(value) if plain else named(name, pieces(value)))
    return call(f"builder.{method_of(type(event))}", arguments)
