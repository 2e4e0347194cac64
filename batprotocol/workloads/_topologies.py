"""Clusters whose hosts are connected as a torus, a fat tree or a dragonfly, and numbered from 0: their ranks.

`parse_shape` reads the shape of a topology from `topo_parameters`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, count
from math import prod
from operator import mul
from typing import Final, NamedTuple, TypeAlias

from batprotocol.errors import InputError, shown
from batprotocol.workloads.network import Link, LocalRoute, Zone, ZoneMember, latency_after

MOST_CABLES: Final = 1_000_000
"""The maximum number of cables of a topology."""

_LARGEST: Final = 2**31 - 1
_LONGEST: Final = 1000  # characters
_NUMBER: Final = re.compile(r"\s*([+-]?[0-9]{1,20})", re.ASCII)


class TorusShape(NamedTuple):
    """The lengths of a torus in each dimension. The first dimension changes fastest."""

    lengths: tuple[int, ...]

    @property
    def hosts(self) -> int:
        """The number of hosts."""
        return prod(self.lengths)

    @property
    def cables(self) -> int:
        """The number of cables."""
        return self.hosts * len(self.lengths)


class FatTreeShape(NamedTuple):
    """For each level, from the lowest to the highest: children of a switch, parents of a node below it, cables."""

    children: tuple[int, ...]
    parents: tuple[int, ...]
    parallel: tuple[int, ...]

    @property
    def hosts(self) -> int:
        """The number of hosts."""
        return prod(self.children)

    @property
    def cables(self) -> int:
        """The number of cables."""
        levels = range(len(self.children))
        return sum(self.nodes(level) * self.parents[level] * self.parallel[level] for level in levels)

    def bases(self, level: int) -> tuple[int, ...]:
        """The number of values of each digit of a node's label, for a node on this level."""
        return self.parents[:level] + self.children[level:]

    def nodes(self, level: int) -> int:
        """The number of nodes of a level. Level 0 has the hosts."""
        return prod(self.bases(level))


class DragonflyShape(NamedTuple):
    """The numbers of groups, of chassis per group, routers per chassis and hosts per router; factors of bandwidths."""

    groups: int
    chassis: int
    blades: int
    nodes: int
    blue: int
    black: int
    green: int

    @property
    def hosts(self) -> int:
        """The number of hosts."""
        return self.groups * self.chassis * self.blades * self.nodes

    @property
    def cables(self) -> int:
        """The number of cables."""
        green = self.groups * self.chassis * (self.blades * (self.blades - 1) // 2)
        black = self.groups * (self.chassis * (self.chassis - 1) // 2) * self.blades
        return self.hosts + green + black + self.groups * (self.groups - 1) // 2


Shape: TypeAlias = TorusShape | FatTreeShape | DragonflyShape


def parse_shape(topology: str, text: str) -> Shape:
    """Read the `topo_parameters` of a topology.

    Numbers are read as C's `stoi` reads them: text after the digits does not count.

    Raises:
        InputError: these are not parameters, or they are for more than `MOST_CABLES` cables.

    >>> parse_shape("TORUS", "4,2,2").hosts
    16
    >>> parse_shape("FAT_TREE", "2;4,4;1,2;1,2").hosts
    16
    >>> parse_shape("DRAGONFLY", "3,4;4,3;5,1;2").hosts
    120
    """
    if len(text) > _LONGEST:
        raise InputError(f"expected at most {_LONGEST} characters, got {len(text)}")
    shape = _SHAPES[topology](text)
    if shape.cables > MOST_CABLES:
        raise InputError(f"{shown(text)} describes {shape.cables} cables, more than {MOST_CABLES}; use smaller numbers")
    return shape


def _number(text: str, meaning: str) -> int:
    found = _NUMBER.match(text)
    number = int(found[1]) if found is not None else 0
    if not 0 < number <= _LARGEST:
        raise InputError(f"expected {meaning}, a number > 0, got {shown(text)}")
    return number


def _torus(text: str) -> TorusShape:
    return TorusShape(tuple(_number(part, "the length of a torus") for part in text.split(",")))


def _fat_tree(text: str) -> FatTreeShape:
    fields = text.split(";")
    if len(fields) != 4:
        raise InputError(f"expected levels;children;parents;cables, such as 2;4,4;1,2;1,1, got {shown(text)}")
    levels = _number(fields[0], "the number of levels")
    meanings = ("children", "parents", "cables")
    vectors = []
    for meaning, field in zip(meanings, fields[1:], strict=True):
        vectors.append(tuple(_number(part, f"{meaning} of a level") for part in field.split(",")))
        if len(vectors[-1]) != levels:
            raise InputError(f"expected {meaning} of {levels} levels, got those of {len(vectors[-1])}")
    return FatTreeShape(*vectors)


def _dragonfly(text: str) -> DragonflyShape:
    fields = [field.split(",") for field in text.split(";")]
    if len(fields) != 4 or any(len(field) != 2 for field in fields[:3]):
        raise InputError(
            f"expected groups,blue;chassis,black;blades,green;nodes, such as 3,4;4,3;5,1;2, got {shown(text)}"
        )
    meanings = ("groups", "chassis", "blades", "nodes")
    counts = [_number(field[0], f"a number of {meaning}") for field, meaning in zip(fields, meanings, strict=True)]
    factors = [_number(field[1], "a factor of a bandwidth") for field in fields[:3]]
    shape = DragonflyShape(*counts, *factors)
    most = 2 * shape.chassis * shape.blades
    if shape.groups > most:
        raise InputError(
            f"expected at most {most} groups, twice the routers of a group, got {shape.groups}: SimGrid would write "
            "past the end of its table of routers"
        )
    return shape


_SHAPES: Final[dict[str, Callable[[str], Shape]]] = {
    "TORUS": _torus,
    "FAT_TREE": _fat_tree,
    "DRAGONFLY": _dragonfly,
}

TOPOLOGIES: Final = tuple(_SHAPES)
"""The topologies that have parameters."""


# Clusters of numbered hosts


class Cable(NamedTuple):
    """A cable, as the link of each direction. If both directions share a link, both are the same."""

    up: Link
    down: Link


Connect: TypeAlias = Callable[[str, float], Cable]
"""A function that creates the cable of this name, with this factor for the bandwidth of the cluster."""


class RankedZone(Zone, ABC):
    """A zone whose hosts are numbered. It derives routes from the numbers.

    Attributes:
        loopbacks: the link of a host to itself, by rank; without one, the route of a host to itself is a normal route.
        limiters: the link that all bytes through a node also take, by the node's number: ranks, then the numbers of
            `inner_nodes`.
    """

    def __init__(self, name: str, parent: Zone | None = None) -> None:
        super().__init__(name, parent)
        self.ranks: dict[ZoneMember, int] = {}
        self.loopbacks: dict[int, Link] = {}
        self.limiters: dict[int, Link] = {}

    def add(self, name: str) -> ZoneMember:
        member = super().add(name)
        self.ranks[member] = len(self.ranks)
        return member

    def inner_nodes(self) -> Iterable[int]:
        """The numbers of switches or routers."""
        return ()

    def local_route(self, source: ZoneMember, target: ZoneMember, latency: float) -> tuple[LocalRoute, float] | None:
        first, last = self.ranks[source], self.ranks[target]
        loopback = self.loopbacks.get(first) if first == last else None
        found = LocalRoute(tuple(self.way(first, last)) if loopback is None else (loopback,))
        return found, latency_after(latency, found.links)

    @abstractmethod
    def connect(self, connect: Connect, first: int) -> None:
        """Create all cables. The numbers in their names begin at `first`."""

    @abstractmethod
    def way(self, source: int, target: int) -> list[Link]:
        """The links from one rank to another, or to itself where it has no loopback."""

    def limited(self, links: list[Link], node: int) -> None:
        """Add the limiter of a node to the route."""
        limiter = self.limiters.get(node)
        if limiter is not None:
            links.append(limiter)


# Tori: hosts on a grid that is closed in each dimension


class Torus(RankedZone):
    """A torus: from each rank, a cable to the next one in each dimension."""

    def __init__(self, name: str, parent: Zone | None, shape: TorusShape) -> None:
        super().__init__(name, parent)
        self.lengths = shape.lengths
        self._strides: tuple[int, ...] = tuple(accumulate((1, *shape.lengths[:-1]), mul))
        self._cables: list[tuple[Cable, ...]] = []

    def connect(self, connect: Connect, first: int) -> None:
        for rank in range(prod(self.lengths)):
            nexts = [self._next(rank, dimension, 1) for dimension in range(len(self.lengths))]
            self._cables.append(tuple(connect(f"{self.name}_link_from_{rank}_to_{next}", 1.0) for next in nexts))

    def _next(self, rank: int, dimension: int, step: int) -> int:
        length, stride = self.lengths[dimension], self._strides[dimension]
        place = rank // stride % length
        return rank + ((place + step) % length - place) * stride

    def way(self, source: int, target: int) -> list[Link]:
        links: list[Link] = []
        here = source
        for dimension, (length, stride) in enumerate(zip(self.lengths, self._strides, strict=True)):
            first, last, half = source // stride % length, target // stride % length, length // 2
            rightwards = first < last <= first + half or (first > half and (first + half) % length >= last)
            while here // stride % length != last:
                self.limited(links, here)
                if rightwards:
                    links.append(self._cables[here][dimension].up)
                    here = self._next(here, dimension, 1)
                else:
                    here = self._next(here, dimension, -1)
                    links.append(self._cables[here][dimension].down)
        self.limited(links, target)
        return links


# Fat trees: hosts below levels of switches


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


# Dragonflies: groups of chassis, which have routers, which have hosts


class Dragonfly(RankedZone):
    """A dragonfly."""

    def __init__(self, name: str, parent: Zone | None, shape: DragonflyShape) -> None:
        super().__init__(name, parent)
        self.shape = shape
        self._local: list[Cable] = []
        self._green: dict[tuple[int, int, int], Cable] = {}
        self._black: dict[tuple[int, int, int, int], Cable] = {}
        self._blue: dict[int, Link] = {}

    def inner_nodes(self) -> Iterable[int]:
        return (self._limiter(router) for router in range(self.shape.hosts // self.shape.nodes))

    def _limiter(self, router: int) -> int:
        return 2 * self.shape.hosts - 1 - router

    def connect(self, connect: Connect, first: int) -> None:
        groups, chassis, blades, nodes, blue, black, green = self.shape
        routers = chassis * blades
        number = first

        def cable(name: str, factor: float) -> Cable:
            nonlocal number
            number += 1
            return connect(f"{name}_{number - 1}", factor)

        for rank in range(self.shape.hosts):
            self._local.append(cable(f"local_link_from_router_{rank // nodes}_to_node_{rank % nodes}", 1.0))
        for place in range(groups * chassis):
            for low, high in _pairs(blades):
                name = f"green_link_in_chassis_{place % chassis}_between_routers_{low}_and_{high}"
                self._green[place, low, high] = cable(name, green)
        for group in range(groups):
            for low, high in _pairs(chassis):
                for blade in range(blades):
                    name = f"black_link_in_group_{group}_between_chassis_{low}_and_{high}_blade_{blade}"
                    self._black[group, low, high, blade] = cable(name, black)
        for low, high in _pairs(groups):
            ends = f"{low * routers + high}_and_{high * routers + low}"
            up, down = cable(f"blue_link_between_group_{low}_and_{high}_routers_{ends}", blue)
            # As in SimGrid, a later cable replaces an earlier one of the same router, if there are very many groups.
            self._blue[low * routers + high] = up
            self._blue[high * routers + low] = down

    def _place(self, rank: int) -> tuple[int, int, int]:
        """The group, chassis and blade of a host."""
        router = rank // self.shape.nodes
        return *divmod(router // self.shape.blades, self.shape.chassis), router % self.shape.blades

    def _pass(self, links: list[Link], group: int, chassis: int, blade: int) -> None:
        """Add a router's limiter to the route."""
        self.limited(links, self._limiter((group * self.shape.chassis + chassis) * self.shape.blades + blade))

    def _along_green(self, links: list[Link], place: tuple[int, int, int], blade: int) -> None:
        """Add the cable within a chassis, to another blade."""
        self._pass(links, *place)
        row = place[0] * self.shape.chassis + place[1]
        low, high = sorted((place[2], blade))
        cable = self._green[row, low, high]
        links.append(cable.up if place[2] == low else cable.down)

    def _along_black(self, links: list[Link], place: tuple[int, int, int], chassis: int) -> None:
        """Add the cable within a group, to the same blade of another chassis."""
        self._pass(links, *place)
        low, high = sorted((place[1], chassis))
        cable = self._black[place[0], low, high, place[2]]
        links.append(cable.up if place[1] == low else cable.down)

    def way(self, source: int, target: int) -> list[Link]:
        links: list[Link] = []
        self.limited(links, source)
        links.append(self._local[source].up)
        here, there = self._place(source), self._place(target)
        if here != there:
            if here[0] != there[0]:
                here = self._to_group(links, here, there[0])
            if here[2] != there[2]:
                self._along_green(links, here, there[2])
                here = (there[0], 0, there[2])  # as in SimGrid, in every chassis
            if here[1] != there[1]:
                self._along_black(links, here, there[1])
        self._pass(links, *there)
        links.append(self._local[target].down)
        self.limited(links, target)
        return links

    def _to_group(self, links: list[Link], here: tuple[int, int, int], group: int) -> tuple[int, int, int]:
        """Add the cable to another group; the place of the router at its end.

        Router n of a group leads to group n. SimGrid takes the router of the own chassis for it, and for the way in
        the router of this number in the whole group.
        """
        own, chassis, blade = here
        blades = self.shape.blades
        if group >= blades or own >= self.shape.chassis * blades:
            many = f"{blades} router{'s' if blades != 1 else ''}"
            raise InputError(
                f"the dragonfly {shown(self.name)} has no way from group {own} to group {group}: each chassis has "
                f"{many}, and SimGrid needs one for each group; use {self.shape.groups} blades"
            )
        if blade != group:
            self._along_green(links, here, group)
        if chassis != 0:
            self._along_black(links, (own, chassis, group), 0)
        links.append(self._blue[own * self.shape.chassis * blades + group])
        self._pass(links, own, 0, group)
        return group, *divmod(own, blades)


def _pairs(count: int) -> Iterable[tuple[int, int]]:
    return ((low, high) for low in range(count) for high in range(low + 1, count))
