"""Tori: hosts on a grid that is closed in each dimension."""

from __future__ import annotations

from itertools import accumulate
from math import prod
from operator import mul

from batprotocol.workloads.network import Link
from batprotocol.workloads.topologies.ranked import Cable, Connect, RankedZone
from batprotocol.workloads.topologies.shapes import TorusShape
from batprotocol.workloads.zones import Zone

__all__ = ["Torus"]


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
