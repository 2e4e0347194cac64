"""Dragonflies: groups of chassis, which have routers, which have hosts."""

from __future__ import annotations

from collections.abc import Iterable

from batprotocol.errors import InputError, shown
from batprotocol.workloads.network import Link
from batprotocol.workloads.topologies.ranked import Cable, Connect, RankedZone
from batprotocol.workloads.topologies.shapes import DragonflyShape
from batprotocol.workloads.zones import Zone

__all__ = ["Dragonfly"]


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
