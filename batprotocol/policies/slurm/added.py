"""Hosts that a slurm.conf does not name, and that are like nodes that it names.

A question about a larger machine has a platform with more hosts, and the slurm.conf of the machine as it is. Each
added host has the name of a node as its property `like`. It is a node like that one: with the same hardware, in the
same partitions, and at the same switch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

import msgspec

from batprotocol.model import Host
from batprotocol.sites.slurm.configuration import Configuration, Partition, Switch

__all__ = ["LIKE", "with_added_hosts"]

Part = TypeVar("Part", Partition, Switch)

LIKE: Final = "like"
"""The property of an added host: the name of the node that it is like."""


def with_added_hosts(configuration: Configuration, hosts: Iterable[Host]) -> Configuration:
    """The configuration with a node for each added host.

    >>> from batprotocol.model import HostProperty
    >>> from batprotocol.sites.slurm.configuration import configuration_of
    >>> made = configuration_of("NodeName=n[0-1] CPUs=4\\nPartitionName=p Nodes=n1")
    >>> like = (HostProperty("like", "n1"),)
    >>> added = Host(id=2, name="added2", properties=like, computation_speed=(1e9,))
    >>> more = with_added_hosts(made, [added])
    >>> [(node.name, node.cpus) for node in more.nodes], more.partitions[0].nodes
    ([('n0', 4), ('n1', 4), ('added2', 4)], ('n1', 'added2'))
    """
    nodes = {node.name: node for node in configuration.nodes}
    added: dict[str, list[str]] = {}
    for host in hosts:
        like = next((each.value for each in host.properties or () if each.key == LIKE), None)
        if like is not None and like in nodes and host.name not in nodes:
            added.setdefault(like, []).append(host.name)
    if not added:
        return configuration
    more = [msgspec.structs.replace(nodes[like], name=name) for like, names in added.items() for name in names]
    return msgspec.structs.replace(
        configuration,
        nodes=(*configuration.nodes, *more),
        partitions=tuple(_with(each, added) for each in configuration.partitions),
        switches=tuple(_with(each, added) for each in configuration.switches),
    )


def _with(part: Part, added: dict[str, list[str]]) -> Part:
    """The part with the added nodes that are like its own."""
    own: tuple[str, ...] = part.nodes
    more: list[str] = [name for node in own for name in added.get(node, ())]
    return msgspec.structs.replace(part, nodes=(*own, *more)) if more else part
