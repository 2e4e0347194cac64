"""Clusters whose hosts are connected as a torus, a fat tree or a dragonfly.

Their hosts are numbered from 0 (their *ranks*). `shapes` reads `topo_parameters`, which define the cables. `ranked` is
the base class of such clusters. `torus`, `fat_tree` and `dragonfly` find the routes from rank to rank. These are
SimGrid's routes, also where they are longer than necessary, or take a link that does not lead to the target. This
package must not know of files: the caller creates the cables.
"""

from batprotocol.workloads.topologies.dragonfly import Dragonfly
from batprotocol.workloads.topologies.fat_tree import FatTree
from batprotocol.workloads.topologies.ranked import Cable, Connect, RankedZone
from batprotocol.workloads.topologies.shapes import (
    TOPOLOGIES,
    DragonflyShape,
    FatTreeShape,
    Shape,
    TorusShape,
    parse_shape,
)
from batprotocol.workloads.topologies.torus import Torus

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
