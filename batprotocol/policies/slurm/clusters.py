"""The cluster of a slurm.conf: nodes have numbers, and partitions are sets of them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from batprotocol.policies.slurm.access import Access
from batprotocol.policies.slurm.bits import bits_of
from batprotocol.policies.slurm.values import Cluster, Node, Partition, PreemptMode, Select
from batprotocol.sites.slurm.configuration import Configuration
from batprotocol.sites.slurm.configuration import Node as NodeLine
from batprotocol.sites.slurm.configuration import Partition as PartitionLine

__all__ = ["cluster_of"]

_MESSAGE_TIMEOUT = 10
"""Slurm's MessageTimeout, in seconds."""


def cluster_of(configuration: Configuration) -> Cluster:
    """The cluster that a slurm.conf describes.

    >>> from batprotocol.sites.slurm.configuration import configuration_of
    >>> cluster = cluster_of(configuration_of("NodeName=n[0-3]\\nPartitionName=p Nodes=n[1-2]"))
    >>> [node.name for node in cluster.nodes], cluster.partitions[0].nodes
    (['n0', 'n1', 'n2', 'n3'], 6)
    """
    numbers = {node.name: number for number, node in enumerate(configuration.nodes)}
    partitions = tuple(_partition(each, numbers, configuration) for each in configuration.partitions)
    jobs, scheduler = configuration.jobs, configuration.scheduler
    return Cluster(
        tuple(map(_node, configuration.nodes)),
        partitions,
        next((each.name for each in configuration.partitions if each.default), ""),
        _select(configuration),
        scheduler,
        backfills=scheduler.plugin == "backfill",
        is_fifo=scheduler.plugin == "builtin"
        and configuration.priority.plugin == "basic"
        and len({each.tier for each in partitions}) <= 1,
        preempts=configuration.preemption.plugin != "none",
        preempt_youngest=scheduler.preempt_youngest_first,
        preempt_wait=jobs.kill_wait + _MESSAGE_TIMEOUT,
        kill_wait=jobs.kill_wait,
        requeues=jobs.requeue,
        kills_invalid=jobs.kill_invalid_depend,
        overtime=jobs.over_time_limit / 60,
        returns_to_service=jobs.return_to_service,
        min_age=jobs.min_age,
        switches=configuration.switches if configuration.topology == "tree" else (),
        tree_is_optional=configuration.topology_optional,
    )


def _node(line: NodeLine) -> Node:
    gres = []
    for kind, count in line.gres:
        name, _, type = kind.partition(":")
        gres.append((name, type, count))
    return Node(
        line.name,
        cpus=line.cpus,
        sockets=line.sockets,
        threads=line.threads_per_core,
        memory=max(line.memory - line.memory_reserved, 0),
        gres=tuple(gres),
        features=frozenset(line.features),
        weight=line.weight,
        is_up=line.state in ("UNKNOWN", "CLOUD"),
        record=line.record,
    )


def _partition(line: PartitionLine, numbers: Mapping[str, int], configuration: Configuration) -> Partition:
    jobs, mode = configuration.jobs, line.preempt_mode or configuration.preemption.mode
    default = line.max_time if line.default_time is None else line.default_time
    over = jobs.over_time_limit if line.over_time_limit is None else line.over_time_limit
    return Partition(
        line.name,
        bits_of(numbers[name] for name in line.nodes if name in numbers),
        tier=line.priority_tier,
        max_time=line.max_time / 60,
        default_time=default / 60,
        min_nodes=max(line.min_nodes, 1),
        max_nodes=math.inf if line.max_nodes is None else line.max_nodes,
        is_up=line.state in ("UP", "DRAIN"),
        access=Access.of(line),
        is_exclusive=line.over_subscribe == "exclusive",
        rows=line.over_subscribe_jobs if line.over_subscribe == "force" else 1,
        memory_per_cpu=line.memory_per_cpu or jobs.memory_per_cpu or 0,
        memory_per_node=line.memory_per_node or jobs.memory_per_node or 0,
        preempt_mode={"cancel": PreemptMode.CANCEL, "requeue": PreemptMode.REQUEUE}.get(mode, PreemptMode.OFF),
        grace=int(line.grace_time),
        overtime=over / 60,
        is_spread=line.least_loaded,
        qos=line.qos or "",
        factor=line.priority_job_factor,
    )


def _select(configuration: Configuration) -> Select:
    select = configuration.select
    return Select(
        is_linear=select.plugin == "linear",
        by_core=select.unit in ("core", "socket"),
        by_socket=select.unit == "socket",
        counts_memory=select.counts_memory,
        least_loaded=select.least_loaded,
        serial_at_end=configuration.scheduler.pack_serial_at_end,
    )
