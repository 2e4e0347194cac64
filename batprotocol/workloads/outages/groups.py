"""Groups of hosts that fail together: single hosts, racks, zones of a platform, hosts of one property, all hosts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from batprotocol.errors import InputError, shown
from batprotocol.model.hosts import FrozenHosts, frozen_hosts
from batprotocol.workloads.platform import Platform

__all__ = ["host_groups"]

_EXPECTED: Final = "host, machine, rack=SIZE, property=NAME or zone"


def host_groups(platform: Platform | int, each: str) -> list[tuple[str, FrozenHosts]]:
    """The groups of computation hosts of a platform, with a name for each.

    Args:
        platform: the platform, or the number of its computation hosts.
        each: the members of a group: `host` (one host), `machine` (all hosts), `rack=SIZE` (so many hosts with
            consecutive numbers), `property=NAME` (hosts with equal values of a property; hosts without it are in no
            group) or `zone` (the hosts of an innermost zone).

    >>> [(name, hosts.text) for name, hosts in host_groups(10, "rack=4")]
    [('0', '0-3'), ('1', '4-7'), ('2', '8-9')]

    Raises:
        InputError: `each` has another value, or the platform has no such group.
    """
    count = platform if isinstance(platform, int) else len(platform.computation_hosts)
    kind, _, value = each.partition("=")
    if each == "host":
        return [(str(host), frozen_hosts(host)) for host in range(count)]
    if each == "machine":
        return [("machine", frozen_hosts(range(count)))] if count else []
    if kind == "rack" and value.isascii() and value.isdigit() and len(value) < 10 and int(value) > 0:
        size = int(value)
        racks = range(0, count, size)
        return [(str(first // size), frozen_hosts(range(first, min(first + size, count)))) for first in racks]
    if (kind == "property" and value) or each == "zone":
        if isinstance(platform, int):
            raise InputError(
                f"expected a platform with hosts for {shown(each)}, got only a number of hosts: name a file"
            )
        return _named(_values(platform, value), each)
    raise InputError(f"expected {_EXPECTED}, got {shown(each)}")


def _values(platform: Platform, key: str) -> Iterable[tuple[str | None, int]]:
    """The name of the group of each host: the value of the property, or without a key the innermost zone."""
    for host in platform.computation_hosts:
        if key:
            yield {**dict(host.zone_properties), **dict(host.properties)}.get(key), host.id
        else:
            zones = platform.zones(host)
            yield "/".join(zones) if zones else None, host.id


def _named(members: Iterable[tuple[str | None, int]], each: str) -> list[tuple[str, FrozenHosts]]:
    groups: dict[str, list[int]] = {}
    for name, host in members:
        if name is not None:
            groups.setdefault(name, []).append(host)
    if not groups:
        raise InputError(f"expected a platform with hosts for {shown(each)}, got one where no host has this")
    return [(name, frozen_hosts(hosts)) for name, hosts in groups.items()]
