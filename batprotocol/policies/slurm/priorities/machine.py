"""The sizes that priorities are relative to: those of the cluster and of its partitions, and their largest factors.

This module must not know jobs and users.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from batprotocol.sites.slurm.configuration import Configuration, Node, Partition

__all__ = ["Machine"]


class Machine:
    """The sizes of a cluster.

    Args:
        configuration: the configuration.

    Attributes:
        nodes: the nodes of the cluster.
        cpus: their CPUs.
        most_factor: the largest PriorityJobFactor of the partitions.

    >>> from batprotocol.sites.slurm.configuration import configuration_of
    >>> machine = Machine(configuration_of("NodeName=n[0-3] CPUs=4\\nPartitionName=p Nodes=n[0-1] PriorityJobFactor=7"))
    >>> machine.nodes, machine.cpus, machine.amounts("p")["cpu"], machine.factor("p")
    (4, 16, 8.0, 7)
    """

    def __init__(self, configuration: Configuration) -> None:
        self.nodes = len(configuration.nodes)
        self.cpus = sum(node.cpus for node in configuration.nodes)
        self.most_factor = max((each.priority_job_factor for each in configuration.partitions), default=0)
        self._nodes = {node.name: node for node in configuration.nodes}
        self._partitions = {each.name: each for each in configuration.partitions}
        self._amounts: dict[str, Mapping[str, float]] = {}

    def partition(self, name: str) -> Partition | None:
        """A partition."""
        return self._partitions.get(name)

    def factor(self, name: str) -> int:
        """The PriorityJobFactor of a partition."""
        found = self._partitions.get(name)
        return found.priority_job_factor if found is not None else 0

    def minutes(self, name: str) -> float:
        """The longest time limit in a partition, in minutes."""
        found = self._partitions.get(name)
        return found.max_time / 60 if found is not None else math.inf

    def amounts(self, name: str) -> Mapping[str, float]:
        """The resources of the nodes of a partition, by name."""
        if name not in self._amounts:
            found = self._partitions.get(name)
            self._amounts[name] = _sum(self._nodes[node] for node in found.nodes) if found is not None else {}
        return self._amounts[name]


def _sum(nodes: Iterable[Node]) -> Mapping[str, float]:
    amounts: Counter[str] = Counter()
    for node in nodes:
        amounts.update({"cpu": node.cpus, "mem": node.memory, "node": 1})
        for kind, number in node.gres:
            name, _, type = kind.partition(":")
            amounts[f"gres/{name}"] += number
            if type:
                amounts[f"gres/{kind}"] += number
    return {name: float(number) for name, number in amounts.items()}
