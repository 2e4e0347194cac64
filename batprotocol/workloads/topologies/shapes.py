"""The shape of a topology, read from `topo_parameters`."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Final, NamedTuple, TypeAlias

from batprotocol.errors import InputError, shown

__all__ = ["MOST_CABLES", "TOPOLOGIES", "DragonflyShape", "FatTreeShape", "Shape", "TorusShape", "parse_shape"]

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
