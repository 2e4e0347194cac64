"""The amounts that a started job takes of its nodes, as the results keep them.

Nodes may give a job different amounts; the report has the largest ones. This module must not know when jobs start.
"""

from __future__ import annotations

import math

from batprotocol.policies.slurm.jobs import SlurmJob
from batprotocol.policies.slurm.values import Cluster
from batprotocol.workloads.requests import Allocated
from batprotocol.workloads.requests.amounts import GPU, Gres

__all__ = ["allocated_by"]

_MEBIBYTE = 2**20


def allocated_by(job: SlurmJob, job_id: str, hosts: str, time: float, cluster: Cluster) -> Allocated:
    """The amounts that a started job takes of each of its nodes.

    Args:
        job: the job, with its partition and its placement.
        job_id: its name in this life.
        hosts: its host set.
        time: when it starts, in seconds.
        cluster: the cluster.
    """
    placement, partition = job.placement, job.partition
    assert placement is not None
    assert partition is not None
    whole = cluster.select.is_linear or job.is_exclusive or partition.is_exclusive
    is_alone = whole and partition.rows == 1
    is_given_out = is_alone or not cluster.select.is_linear  # it does not divide nodes among the jobs that share them
    memory, gpus = (cluster.memory, cluster.gpus) if is_given_out else (0, 0)
    cpus = placement.cpus
    gres: dict[tuple[str, str], int] = {}
    for node, counts in placement.gres.items():
        for (name, type, _), count in zip(cluster.nodes[node].gres, counts, strict=False):
            gres[name, type] = max(gres.get((name, type), 0), count)
    return Allocated(
        job_id=job_id,
        first_id=job.id,
        starting_time=time,
        partition=partition.name,
        hosts=hosts,
        cores=0 if whole else max(cpus.values(), default=1),
        memory=0 if whole else max(placement.memory.values(), default=0) * _MEBIBYTE,
        gres=() if whole else tuple(Gres(name, type or None, count) for (name, type), count in gres.items() if count),
        whole=whole,
        memory_share=_memory(job, cluster, is_alone=is_alone) / memory if memory else None,
        gpu_share=_gpus(job, cluster, is_alone=is_alone) / gpus if gpus else None,
        held=len(cpus) if whole else math.fsum(n / cluster.nodes[node].cpus for node, n in cpus.items()),
    )


def _memory(job: SlurmJob, cluster: Cluster, *, is_alone: bool) -> int:
    """The MiB that a job holds: all of its nodes, if no other job can have them."""
    assert job.placement is not None
    if is_alone:
        return sum(cluster.nodes[node].memory for node in job.placement.cpus)
    return sum(job.placement.memory.values())


def _gpus(job: SlurmJob, cluster: Cluster, *, is_alone: bool) -> int:
    """The GPUs that a job holds: all of its nodes, if no other job can have them."""
    assert job.placement is not None
    if is_alone:
        return sum(cluster.nodes[node].gpus for node in job.placement.cpus)
    return sum(
        count
        for node, counts in job.placement.gres.items()
        for (name, _, _), count in zip(cluster.nodes[node].gres, counts, strict=False)
        if name == GPU
    )
