"""The nodes that jobs get: `linear` gives whole nodes, `consumable` cores, memory and generic resources.

`offers` has what each node can give. Both are a `Selection` of `base`: what a job gets now, and when it gets something
at the earliest.
"""

from __future__ import annotations

from batprotocol.policies.slurm.selecting.base import Chance, Selection
from batprotocol.policies.slurm.selecting.consumable import Consumable
from batprotocol.policies.slurm.selecting.linear import Linear
from batprotocol.policies.slurm.values import Cluster

__all__ = ["Chance", "Consumable", "Linear", "Selection", "selection_of"]


def selection_of(cluster: Cluster, epoch: int, *, is_quick: bool) -> Selection:
    """The selection of nodes that a cluster has, while no job runs.

    Args:
        cluster: the cluster.
        epoch: the seconds of the day at which the simulation began.
        is_quick: whether it takes short cuts.
    """
    return Linear(cluster, is_quick=is_quick) if cluster.select.is_linear else Consumable(cluster, epoch)
