"""The nodes that jobs get: `linear` gives whole nodes, `consumable` cores, memory and generic resources.

Both are a `NodeSelector`: what a job gets now, and when it gets something at the earliest.
"""

from __future__ import annotations

from batprotocol.policies.slurm.selecting.base import NodeSelector, PossibleStart
from batprotocol.policies.slurm.selecting.consumable import Consumable
from batprotocol.policies.slurm.selecting.linear import Linear
from batprotocol.policies.slurm.values import SlurmCluster

__all__ = ["Consumable", "Linear", "NodeSelector", "PossibleStart", "selection_of"]


def selection_of(cluster: SlurmCluster, epoch: int, *, is_quick: bool) -> NodeSelector:
    """The selection of nodes that a cluster has, while no job runs.

    Args:
        cluster: the cluster.
        epoch: the seconds of the day at which the simulation began.
        is_quick: whether it takes short cuts.
    """
    return Linear(cluster, is_quick=is_quick) if cluster.select.is_linear else Consumable(cluster, epoch)
