"""The nodes that jobs get: `linear` gives whole nodes, `consumable` cores, memory and generic resources.

`offers` has what each node can give. Both are a `Selection` of `base`: what a job gets now, and when it gets something
at the earliest.
"""

from __future__ import annotations

from batprotocol.policies.slurm.selecting.base import Chance, Selection
from batprotocol.policies.slurm.selecting.consumable import Consumable
from batprotocol.policies.slurm.selecting.linear import Linear

__all__ = ["Chance", "Consumable", "Linear", "Selection"]
