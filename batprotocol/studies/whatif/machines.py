"""Machines with more or fewer hosts of the same kinds, for jobs that the network does not slow down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from batprotocol.errors import InputError
from batprotocol.policies.slurm.scheduler import LIKE
from batprotocol.simulator import Platform
from batprotocol.workloads import Host
from batprotocol.workloads.network import ClusterZone

__all__ = ["resized"]


def resized(platform: Platform, count: int) -> Platform:
    """A platform with another number of computation hosts, of the same kinds in the same shares. It has no network.

    Hosts of a kind have the same speeds, cores and properties. Of fewer hosts, the first ones of each kind stay. More
    hosts come after the others, and are called `added0`, `added1`... Each is like a host of the machine, and has its
    name as the property `like`: Slurm, whose slurm.conf does not name the new host, has it where it has the other one.

    Args:
        platform: the platform.
        count: the number of its computation hosts.

    Raises:
        InputError: the platform has no computation hosts.

    >>> from batprotocol.workloads import described_platform
    >>> found = resized(described_platform("n[0-5] cores=4; g[0-2] cores=8"), 6)
    >>> [(host.name, host.cores) for host in found.hosts]
    [('n0', 4), ('n1', 4), ('n2', 4), ('n3', 4), ('g0', 8), ('g1', 8)]
    """
    kinds: dict[Any, list[Host]] = {}
    hosts = [(host, _kind(host)) for host in platform.computation_hosts]
    for host, kind in hosts:
        kinds.setdefault(kind, []).append(host)
    if not kinds:
        raise InputError("the platform has no computation hosts", file=platform.filename)
    missing = dict(zip(kinds, _shares([len(each) for each in kinds.values()], count), strict=True))
    kept: list[Host] = []
    for host, kind in hosts:
        if missing[kind]:
            missing[kind] -= 1
            kept.append(host)
    names = {host.name for host in (platform.master, *platform.hosts)}
    for kind, found in kinds.items():
        for number in range(missing[kind]):
            like = found[number * len(found) // missing[kind] if missing[kind] < len(found) else number % len(found)]
            names.add(name := _free_name(names, len(kept)))
            own = tuple(each for each in like.properties if each[0] != LIKE)
            kept.append(msgspec.structs.replace(like, name=name, properties=(*own, (LIKE, like.name))))
    zone = ClusterZone("cluster")
    members = {name: zone.add(name) for name in (platform.master.name, *(host.name for host in kept))}
    numbered = [msgspec.structs.replace(host, id=place) for place, host in enumerate(kept)]
    return Platform(numbered, msgspec.structs.replace(platform.master, properties=()), members)


def _kind(host: Host) -> Any:
    """All that a host is, without its name."""
    return msgspec.json.encode(msgspec.structs.replace(host, id=0, name=""))


def _shares(sizes: Sequence[int], count: int) -> list[int]:
    """A number split in the ratio of these sizes: by the largest remainders."""
    exact = [size * count / sum(sizes) for size in sizes]
    found = [math.floor(each) for each in exact]
    order = sorted(range(len(sizes)), key=lambda place: found[place] - exact[place])
    for place in order[: count - sum(found)]:
        found[place] += 1
    return found


def _free_name(names: set[str], number: int) -> str:
    name = f"added{number}"
    while name in names:
        number += 1
        name = f"added{number}"
    return name
