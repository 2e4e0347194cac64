"""The base class of clusters whose hosts are numbered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from batprotocol.workloads.network import Link
from batprotocol.workloads.zones import LocalRoute, Zone, ZoneMember, latency_after

__all__ = ["Cable", "Connect", "RankedZone"]


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
