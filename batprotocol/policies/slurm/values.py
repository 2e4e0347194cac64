"""The values that a Slurm decides by: nodes, partitions, and the parameters of its loops.

This module must not know where the values come from, nor what happens by them.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Final

import msgspec

from batprotocol.policies.slurm.access import Access
from batprotocol.sites.slurm.configuration import Scheduler, Switch
from batprotocol.workloads.requests.amounts import GPU

__all__ = ["FOREVER", "Cluster", "Node", "Partition", "PreemptMode", "Select"]

FOREVER: Final = 525_600
"""The minutes that a job without a limit counts as: a year, as in Slurm."""


class Node(msgspec.Struct, frozen=True, gc=False):
    """A node.

    Args:
        name: its name.
        cpus: the CPUs that jobs can have.
        sockets: its sockets.
        threads: the CPUs of a core.
        memory: its memory in MiB.
        gres: the number of generic resources of each name and type; the type is "" if it has none.
        features: what constraints can name.
        weight: nodes with a smaller weight are used first.
        is_up: whether jobs can start there in the beginning.
        record: the place of its line among those that name nodes: of equal weight, nodes of an earlier line come first.
    """

    name: str
    cpus: int = 1
    sockets: int = 1
    threads: int = 1
    memory: int = 1
    gres: tuple[tuple[str, str, int], ...] = ()
    features: frozenset[str] = frozenset()
    weight: int = 1
    is_up: bool = True
    record: int = 0

    @property
    def gpus(self) -> int:
        """Its GPUs of all types."""
        return sum(count for name, _, count in self.gres if name == GPU)


class PreemptMode:
    """How jobs give way: names of Slurm."""

    OFF: Final = "OFF"
    CANCEL: Final = "CANCEL"
    REQUEUE: Final = "REQUEUE"


class Partition(msgspec.Struct, frozen=True, gc=False):
    """A partition. Times are in minutes.

    Args:
        name: its name.
        nodes: the set of its nodes, as a number: bit i is node i.
        tier: jobs of a partition with a larger tier come first.
        max_time: the longest limit of its jobs; infinity: none.
        default_time: the limit of jobs that name none.
        min_nodes: jobs get at least so many nodes.
        max_nodes: jobs that need more wait for ever.
        is_up: whether jobs start in it.
        is_exclusive: whether its jobs have whole nodes.
        rows: how many jobs share a core (OverSubscribe=FORCE).
        memory_per_cpu: MiB for each CPU of jobs that ask for no memory; 0: see `memory_per_node`.
        memory_per_node: MiB on each node of jobs that ask for no memory; 0: all.
        preempt_mode: how its jobs give way.
        grace: seconds that they have then.
        overtime: minutes that jobs may run longer than their limit.
        is_spread: whether the node with the largest share of idle CPUs is used first.
        qos: the quality of service whose limits hold in it; "" if none.
        factor: the factor of priorities.
        access: who may use it.
    """

    name: str
    nodes: int
    tier: int = 1
    max_time: float = math.inf
    default_time: float = math.inf
    min_nodes: int = 1
    max_nodes: float = math.inf
    is_up: bool = True
    is_exclusive: bool = False
    rows: int = 1
    memory_per_cpu: int = 0
    memory_per_node: int = 0
    preempt_mode: str = PreemptMode.OFF
    grace: int = 0
    overtime: float = 0.0
    is_spread: bool = False
    qos: str = ""
    factor: int = 1
    access: Access = Access()

    def fits(self, nodes: int, minutes: float) -> bool:
        """Whether it ever takes jobs with this number of nodes and this time limit."""
        return nodes <= self.max_nodes and minutes <= self.max_time

    def takes(self, nodes: int, minutes: float) -> bool:
        """Whether it ever takes a job with this number of nodes and this limit."""
        return self.is_up and self.fits(nodes, minutes)


class Select(msgspec.Struct, frozen=True, gc=False):
    """How nodes are chosen.

    Args:
        is_linear: whether jobs have whole nodes (select/linear).
        by_core: whether jobs have whole cores.
        by_socket: whether jobs have whole sockets.
        counts_memory: whether memory is given out.
        least_loaded: whether the node with the largest share of idle CPUs is used first.
        serial_at_end: whether jobs of one CPU get the last nodes.
    """

    is_linear: bool = True
    by_core: bool = True
    by_socket: bool = False
    counts_memory: bool = False
    least_loaded: bool = False
    serial_at_end: bool = False


class Cluster(msgspec.Struct, frozen=True, dict=True):
    """A cluster as its slurm.conf describes it.

    Args:
        nodes: its nodes, in the order of the file.
        partitions: its partitions.
        default: the name of the partition of jobs that name none; "" if there is none.
        select: how nodes are chosen.
        loops: the parameters of the loops.
        backfills: whether there is the second loop.
        is_fifo: whether the first loop takes jobs as they came.
        preempts: whether jobs of higher partitions make those of lower ones give way.
        preempt_youngest: whether the jobs that started last give way first.
        preempt_wait: seconds for which a job waits for those that give way to it, before others do.
        kill_wait: seconds from the end of a limit to the kill that no job survives (KillWait).
        requeues: whether jobs may run again by default.
        kills_invalid: whether jobs whose dependency can never hold are cancelled.
        overtime: minutes that jobs may run longer than their limit.
        switches: the switches, if jobs are placed by them (topology/tree).
        tree_is_optional: whether only jobs that ask for a number of switches are placed by them (TopoOptional).
        returns_to_service: Slurm's ReturnToService.
        min_age: the seconds for which a job that has ended can run again (MinJobAge).
    """

    nodes: tuple[Node, ...]
    partitions: tuple[Partition, ...]
    default: str = ""
    select: Select = Select()
    loops: Scheduler = Scheduler()
    backfills: bool = True
    is_fifo: bool = False
    preempts: bool = False
    preempt_youngest: bool = False
    preempt_wait: float = 40.0
    kill_wait: float = 30.0
    requeues: bool = True
    kills_invalid: bool = False
    overtime: float = 0.0
    returns_to_service: int = 0
    min_age: float = 300.0
    switches: tuple[Switch, ...] = ()
    tree_is_optional: bool = False

    @property
    def up(self) -> int:
        """The nodes that work in the beginning."""
        return sum(node.is_up << number for number, node in enumerate(self.nodes))

    @cached_property
    def memory(self) -> int:
        """The MiB of all nodes; 0 if memory is not given out."""
        return sum(node.memory for node in self.nodes) if self.select.counts_memory else 0

    @cached_property
    def gpus(self) -> int:
        """The GPUs of all nodes."""
        return sum(node.gpus for node in self.nodes)
