"""The nodes of a slurm.conf as hosts of a platform, with the partitions that they belong to."""

from __future__ import annotations

from typing import Final

import msgspec

from batprotocol.sites.logs.platforms.hosts import MOST_GRES, SiteHost, checked
from batprotocol.sites.slurm.configuration import NodeLine, machine_of

__all__ = ["hosts_of_conf"]

_MEBI: Final = 2**20


def hosts_of_conf(text: str, *, file: str = "slurm.conf", folder: str | None = None) -> list[SiteHost]:
    """The nodes of a slurm.conf, with the partitions that they belong to.

    Args:
        text: the text of the file.
        file: the name of the file, for errors.
        folder: the folder of the file, where included files are; None: it may include none.

    >>> hosts_of_conf("NodeName=n[0-1] CPUs=4\\nPartitionName=p Nodes=ALL")[1].partitions
    ('p',)

    Raises:
        InputError: a line of nodes or partitions has a value that it cannot have; with file and line. Other parameters
            may have any value.
    """
    nodes, found = machine_of(text, file=file, folder=folder)
    partitions: dict[str, list[str]] = {node.name: [] for node in nodes}
    for partition in found:
        for name in partition.nodes:
            partitions[name].append(partition.name)
    return [msgspec.structs.replace(_host(node), partitions=tuple(partitions[node.name])) for node in nodes]


def _host(node: NodeLine) -> SiteHost:
    """A node as a host. The smallest memory, which Slurm assumes of nodes without one, is not known here."""
    memory = max(node.memory - node.memory_reserved, 0) if node.memory > 1 else 0
    return checked(
        SiteHost(
            name=node.name,
            cores=max(node.cpus - node.cores_reserved * node.threads_per_core, 1),
            memory=memory * _MEBI,
            gres=tuple((name, min(number, MOST_GRES)) for name, number in node.gres),
            features=node.features,
            weight=node.weight,
        )
    )
