"""The share that each node can give to a job: CPUs, limited by cores, memory, tasks and generic resources.

This module must not know which nodes a job gets.
"""

from __future__ import annotations

from typing import NamedTuple

from batprotocol.policies.slurm.jobs import NodeShare, SlurmJob
from batprotocol.policies.slurm.selecting.rows import CoreRows
from batprotocol.policies.slurm.values import ClusterNode, ClusterPartition, SlurmCluster

__all__ = ["FreeResources", "NodeDemand", "demand_of"]


class NodeDemand(NamedTuple):
    """What a job takes of nodes in a partition.

    Attributes:
        is_whole: whether its nodes are its own.
        cpus: the CPUs of all nodes together, at least.
        least: the CPUs on each node, at least.
        step: CPUs come in this number.
        memory: MiB on each node; -1: all of a node.
        memory_per_cpu: MiB for each CPU.
        gres: generic resources on each node: name, type, number.
        gpus: GPUs of all nodes together.
        gpus_per_task: those of each task, which are on its node; 0: tasks do not matter.
    """

    is_whole: bool
    cpus: int
    least: int
    step: int
    memory: int
    memory_per_cpu: int
    gres: tuple[tuple[str, str, int], ...]
    gpus: int
    gpus_per_task: int


def demand_of(job: SlurmJob, partition: ClusterPartition, cluster: SlurmCluster) -> NodeDemand:
    """What a job takes of nodes in a partition."""
    select, step = cluster.select, job.cpus_per_task
    each = job.tasks_per_node * step
    memory, memory_per_cpu = job.memory, job.memory_per_cpu
    if not select.counts_memory:
        memory = memory_per_cpu = 0
    elif not memory and not memory_per_cpu:
        memory, memory_per_cpu = partition.memory_per_node, partition.memory_per_cpu
        if not memory and not memory_per_cpu:
            memory = -1
    return NodeDemand(
        is_whole=job.is_exclusive or partition.is_exclusive,
        cpus=max(job.tasks * step, job.min_nodes),
        least=each or step,
        step=step,
        memory=memory,
        memory_per_cpu=memory_per_cpu,
        gres=job.gres,
        gpus=job.gpus,
        gpus_per_task=job.gpus_per_task,
    )


class FreeResources:
    """The resources that are free on the nodes.

    Args:
        nodes: the nodes.
        rows: the rows of partitions, if jobs share cores.
    """

    __slots__ = ("_busy", "cpus", "gres", "jobs", "memory", "nodes", "rows")

    def __init__(self, nodes: tuple[ClusterNode, ...], rows: CoreRows | None = None) -> None:
        self.nodes, self.rows = nodes, rows
        self._busy = [0] * len(nodes) if rows is not None else []
        self.cpus = [node.cpus for node in nodes]
        self.memory = [node.memory for node in nodes]
        self.gres = [[count for _, _, count in node.gres] for node in nodes]
        self.jobs = [0] * len(nodes)

    def copy(self) -> FreeResources:
        """The same once more."""
        made = FreeResources.__new__(FreeResources)
        made.nodes, made.cpus, made.memory, made.jobs = self.nodes, self.cpus[:], self.memory[:], self.jobs[:]
        made.gres = [each[:] for each in self.gres]
        made.rows, made._busy = None if self.rows is None else self.rows.copy(), self._busy
        return made

    def under(self, busy: list[int]) -> FreeResources:
        """The same, as if the jobs of a row were the only ones that have cores."""
        assert self.rows is not None
        made = FreeResources.__new__(FreeResources)
        made.nodes, made.memory, made.jobs, made.gres = self.nodes, self.memory, self.jobs, self.gres
        made.rows, made._busy = self.rows, busy
        made.cpus = [self.rows.free(node, cores) for node, cores in enumerate(busy)]
        return made

    def take(self, placement: NodeShare, sign: int = 1) -> None:
        """A job takes its share; with the sign -1, it gives it back."""
        for node, cpus in placement.cpus.items():
            self.cpus[node] -= sign * cpus
            self.jobs[node] += sign
            self.memory[node] -= sign * placement.memory.get(node, 0)
            for place, count in enumerate(placement.gres.get(node, ())):
                self.gres[node][place] -= sign * count
        rows = self.rows
        if rows is not None:
            rows.add(placement) if sign > 0 else rows.remove(placement)
            self._busy = rows.used()
            self.cpus = [rows.free(node, cores) for node, cores in enumerate(self._busy)]

    def offer(self, number: int, demand: NodeDemand) -> int:
        """The CPUs that a node gives to a job; 0 if it cannot be one of its nodes."""
        node, cpus, jobs = self.nodes[number], self.cpus[number], self.jobs[number]
        if demand.is_whole and (jobs if self.rows is None else self._busy[number]):
            return 0
        if demand.memory_per_cpu:
            cpus = min(cpus, self.memory[number] // demand.memory_per_cpu)
        elif demand.memory and (node.memory if demand.memory < 0 else demand.memory) > self.memory[number]:
            return 0
        if cpus < demand.least or (demand.gres and self.gres_for(number, demand.gres) is None):
            return 0
        if demand.gres and not demand.is_whole:  # cores that the job does not need count as if they were busy
            cpus = min(cpus, demand.cpus)
        if demand.gpus_per_task:
            cpus = min(cpus, self.gpus(number) // demand.gpus_per_task * demand.step)
        elif demand.gpus and not self.gpus(number):
            return 0
        return cpus - cpus % demand.step

    def idle_share(self, number: int) -> float:
        """The share of the CPUs of a node that are free."""
        return self.cpus[number] / self.nodes[number].cpus

    def gpus(self, number: int) -> int:
        """The free GPUs of a node."""
        gres = zip(self.nodes[number].gres, self.gres[number], strict=True)
        return sum(free for (name, _, _), free in gres if name == "gpu")

    def gres_for(self, number: int, wanted: tuple[tuple[str, str, int], ...]) -> tuple[int, ...] | None:
        """The generic resources of a node that a job gets; None if there are too few."""
        free, kinds = self.gres[number][:], self.nodes[number].gres
        taken = [0] * len(kinds)
        for name, type, count in sorted(wanted, key=lambda each: not each[1]):
            for place, (kind, kind_type, _) in enumerate(kinds):
                if kind == name and (not type or type == kind_type) and count > 0:
                    part = min(count, free[place])
                    free[place] -= part
                    taken[place] += part
                    count -= part
            if count > 0:
                return None
        return tuple(taken)

    def placement(self, chosen: dict[int, int], demand: NodeDemand, partition: str) -> NodeShare | None:
        """The share of a job on nodes of which it has so many CPUs; None if there are too few GPUs."""
        nodes, memory = 0, {}
        cpus: dict[int, int] = {}
        gres: dict[int, tuple[int, ...]] = {}
        gpus = demand.gpus
        for node, count in chosen.items():
            nodes |= 1 << node
            spec = self.nodes[node]
            cpus[node] = spec.cpus if demand.is_whole else _whole_cores(count, spec.threads)
            if demand.memory_per_cpu:
                memory[node] = demand.memory_per_cpu * cpus[node]
            elif demand.memory:
                memory[node] = spec.memory if demand.memory < 0 else demand.memory
            wanted = demand.gres
            if gpus:
                part = min(gpus, self.gpus(node))
                gpus -= part
                wanted = (*wanted, ("gpu", "", part))
            if wanted:
                gres[node] = self.gres_for(node, wanted) or ()
        if gpus:
            return None
        made = NodeShare(nodes, cpus, gres, memory)
        if self.rows is not None:
            made.partition = partition
            made.cores = {node: self.rows.pick(node, self._busy[node], count) for node, count in cpus.items()}
        return made


def _whole_cores(cpus: int, threads: int) -> int:
    return -(-cpus // threads) * threads
