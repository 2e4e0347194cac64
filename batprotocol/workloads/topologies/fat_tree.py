"""Fat trees: hosts below levels of switches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, count
from math import prod
from operator import mul

from batprotocol.workloads.network import Link
from batprotocol.workloads.topologies.ranked import Connect, RankedZone
from batprotocol.workloads.topologies.shapes import FatTreeShape
from batprotocol.workloads.zones import Zone

__all__ = ["FatTree"]


class _TreeNode:
    """A host or switch of a fat tree: its level and label, and the nodes at its ports."""

    __slots__ = ("children", "label", "level", "number", "parents")

    def __init__(self, number: int, level: int, label: tuple[int, ...], parents: int, children: int) -> None:
        self.number = number
        self.level = level
        self.label = label
        self.parents: list[tuple[Link, _TreeNode] | None] = [None] * parents
        self.children: list[tuple[Link, _TreeNode] | None] = [None] * children


class FatTree(RankedZone):
    """A fat tree.

    Args:
        name: the name of the cluster.
        parent: the zone around it.
        shape: its levels.
        position: the number of hosts of the fat trees before it. The choice between several routes depends on it.
    """

    def __init__(self, name: str, parent: Zone | None, shape: FatTreeShape, position: int) -> None:
        super().__init__(name, parent)
        self.shape = shape
        self.position = position
        self._levels: list[list[_TreeNode]] = []
        numbers = count(2 * shape.hosts - 1, -1)  # of switches; they may come down to those of hosts, and below 0
        for level in range(len(shape.children) + 1):
            bases = shape.bases(level)
            above = shape.parents[level] * shape.parallel[level] if level < len(bases) else 0
            below = shape.children[level - 1] * shape.parallel[level - 1] if level else 0
            self._levels.append(
                [
                    _TreeNode(next(numbers) if level else index, level, _digits(index, bases), above, below)
                    for index in range(prod(bases))
                ]
            )

    def inner_nodes(self) -> Iterable[int]:
        return (node.number for nodes in self._levels[1:] for node in nodes)

    def connect(self, connect: Connect, first: int) -> None:
        number = first
        for level, lower in enumerate(self._levels[:-1]):
            bases = self.shape.bases(level + 1)
            stride = prod(bases[:level])
            width, ports = self.shape.parents[level], self.shape.children[level]
            for node in lower:
                digit = node.label[level]
                lowest = sum(map(mul, node.label, accumulate((1, *bases[:-1]), mul))) - digit * stride
                for other in range(width):
                    above = self._levels[level + 1][lowest + other * stride]
                    for copy in range(self.shape.parallel[level]):
                        cable = connect(f"link_from_{node.number}_{above.number}_{number}", 1.0)
                        node.parents[other + copy * width] = (cable.up, above)
                        above.children[digit + copy * ports] = (cable.down, node)
                        number += 1

    def way(self, source: int, target: int) -> list[Link]:
        node, end = self._levels[0][source], self._levels[0][target]
        links: list[Link] = []
        above = self.position + target
        while not node.level or node.label[node.level :] != end.label[node.level :]:
            # SimGrid divides by the widths of the levels below, one after the other.
            width = self.shape.parents[node.level]
            port = node.parents[above % (width * self.shape.parallel[node.level])]
            above //= width
            assert port is not None
            self.limited(links, node.number)
            links.append(port[0])
            node = port[1]
        while node.level:
            self._down(links, node, self.position + source, end)
            node = end
        self.limited(links, target)
        return links

    def _down(self, links: list[Link], node: _TreeNode, position: int, end: _TreeNode) -> None:
        """The links from a switch down to a host below it.

        The ports of a switch are tried one after the other. At the next switch, the search continues with the same port
        number, as in SimGrid, and begins again only if there are no more ports.
        """
        while node is not end:
            level = node.level - 1
            place = position % self.shape.parallel[level] * self.shape.children[level]
            while place < len(node.children):
                level = node.level - 1
                if place % self.shape.children[level] == end.label[level]:
                    port = node.children[place]
                    assert port is not None
                    links.append(port[0])
                    self.limited(links, node.number)
                    node = port[1]
                place += 1


def _digits(index: int, bases: Sequence[int]) -> tuple[int, ...]:
    """The digits of a number, with the fastest-changing digit first."""
    digits = []
    for base in bases:
        index, digit = divmod(index, base)
        digits.append(digit)
    return tuple(digits)
