"""Clusters whose hosts are connected as a torus, a fat tree or a dragonfly.

Their hosts are numbered from 0 (their *ranks*). `shapes` reads what `topo_parameters` says, which tells the cables that
there are; `ranked` is what all such clusters have in common; `torus`, `fat_tree` and `dragonfly` know which way leads
from rank to rank. The ways are SimGrid's own, also where they are longer than they need to be, or take a link that does
not lead there. This room must not know of files: cables are made by whoever asks for a topology.
"""

from batprotocol.simulator.inputs.topologies.dragonfly import Dragonfly
from batprotocol.simulator.inputs.topologies.fat_tree import FatTree
from batprotocol.simulator.inputs.topologies.ranked import Cable, Connect, RankedZone
from batprotocol.simulator.inputs.topologies.shapes import (
    TOPOLOGIES,
    DragonflyShape,
    FatTreeShape,
    Shape,
    TorusShape,
    parse_shape,
)
from batprotocol.simulator.inputs.topologies.torus import Torus

__all__ = [
    "TOPOLOGIES",
    "Cable",
    "Connect",
    "Dragonfly",
    "DragonflyShape",
    "FatTree",
    "FatTreeShape",
    "RankedZone",
    "Shape",
    "Torus",
    "TorusShape",
    "parse_shape",
]
