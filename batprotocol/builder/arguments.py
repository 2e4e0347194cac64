"""The conversions of the arguments of `add_` methods: iterables to tuples, mappings to values, numbers to data.

An argument that cannot be converted stays as it is: the check of types then names the field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from batprotocol import model
from batprotocol.builder.fields import host_set
from batprotocol.errors import BuilderError, shown

__all__ = ["PROTOCOL_VERSION", "overrides", "pairs", "resources", "tuple_of", "wrapped"]

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
