"""Zones: they find the route from one host to another.

A platform is a tree of zones. Each zone has the routes between its own members: hosts, routers and the zones directly
inside it. Where a route leads through another zone, it names the gateway through which it enters or leaves, and that
zone finds the rest of the route. `find_route` puts the parts together as SimGrid does, and adds latencies in the same
order. Zones that search for routes are in `graphs`. This module must not know of files.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from batprotocol.errors import InputError, shown
from batprotocol.workloads.network import LOOPBACK, Link, Route

__all__ = ["ClusterZone", "FullZone", "LocalRoute", "VivaldiZone", "Zone", "ZoneMember", "find_route", "latency_after"]


class ZoneMember:
    """A host, a router or a zone, as a point of the network inside its zone."""

    __slots__ = ("is_zone", "name", "zone")

    def __init__(self, name: str, zone: Zone | None, *, is_zone: bool = False) -> None:
        self.name = name
        self.zone = zone
        self.is_zone = is_zone

    def __repr__(self) -> str:
        return f"Member({self.name!r})"


class LocalRoute(NamedTuple):
    """A route between two members of one zone.

    Args:
        links: the links in order.
        source_gateway: the gateway where it leaves the source, if the source is a zone; else None.
        target_gateway: the gateway where it enters the target, if the target is a zone; else None.
    """

    links: tuple[Link, ...]
    source_gateway: ZoneMember | None = None
    target_gateway: ZoneMember | None = None


class Zone:
    """A zone without routes of its own (routing "None"), and the base class of all zones."""

    def __init__(self, name: str, parent: Zone | None = None) -> None:
        self.name = name
        self.parent = parent
        self.member = ZoneMember(name, parent, is_zone=True)
        self.members: list[ZoneMember] = []
        self.has_zones = False
        self.properties: dict[str, str] = {}
        self.bypasses: dict[tuple[ZoneMember, ZoneMember], LocalRoute] = {}
        self.default_loopback: Link = LOOPBACK if parent is None else parent.default_loopback
        if parent is not None:
            parent.members.append(self.member)
            parent.has_zones = True

    def add(self, name: str) -> ZoneMember:
        """Add a host or router to this zone."""
        member = ZoneMember(name, self)
        self.members.append(member)
        return member

    def path(self) -> list[Zone]:
        """The zones from the outermost one to this one."""
        zones: list[Zone] = []
        zone: Zone | None = self
        while zone is not None:
            zones.append(zone)
            zone = zone.parent
        return zones[::-1]

    def add_route(self, source: ZoneMember, target: ZoneMember, route: LocalRoute) -> bool:
        """Add a route; False if there is one already."""
        return False

    def local_route(self, source: ZoneMember, target: ZoneMember, latency: float) -> tuple[LocalRoute, float] | None:
        """The route between two members, and `latency` plus its own latency; None if there is no route.

        Between hosts and routers of this zone, or of one with the routing Full, an undefined route has no links.
        """
        return None if source.is_zone else (LocalRoute(()), latency)


class FullZone(Zone):
    """A zone that defines each route (routing "Full")."""

    def __init__(self, name: str, parent: Zone | None = None) -> None:
        super().__init__(name, parent)
        self.routes: dict[tuple[ZoneMember, ZoneMember], LocalRoute] = {}

    def add_route(self, source: ZoneMember, target: ZoneMember, route: LocalRoute) -> bool:
        return self.routes.setdefault((source, target), route) is route

    def local_route(self, source: ZoneMember, target: ZoneMember, latency: float) -> tuple[LocalRoute, float] | None:
        found = self.routes.get((source, target))
        if found is None:
            if source is not target or self.has_zones:
                return super().local_route(source, target, latency)
            found = LocalRoute((self.default_loopback,))
        return found, latency_after(latency, found.links)


class ClusterZone(Zone):
    """A zone in which each member has links of its own (`<cluster>`, routing "Cluster").

    A route goes up from its source and down to its target. A link of both parts, the backbone, counts once.
    """

    def __init__(self, name: str, parent: Zone | None = None) -> None:
        super().__init__(name, parent)
        self.up: dict[ZoneMember, tuple[Link, ...]] = {}
        self.down: dict[ZoneMember, tuple[Link, ...]] = {}
        self.loopback: dict[ZoneMember, LocalRoute] = {}

    def add_route(self, source: ZoneMember, target: ZoneMember, route: LocalRoute) -> bool:
        return source is target and self.loopback.setdefault(source, route) is route

    def local_route(self, source: ZoneMember, target: ZoneMember, latency: float) -> tuple[LocalRoute, float] | None:
        found = self.loopback.get(source) if source is target else None
        if found is None:
            found = LocalRoute(tuple(dict.fromkeys(self.up.get(source, ()) + self.down.get(target, ()))))
        return found, latency_after(latency, found.links)


class VivaldiZone(Zone):
    """A zone in which hosts and routers have places, and no links between them (routing "Vivaldi").

    A route takes as many milliseconds as their distance in the plane, plus the height of each of them above it. As in
    SimGrid, a missing place matters only on a route that needs it, and zones never have one.
    """

    def __init__(self, name: str, parent: Zone | None = None) -> None:
        super().__init__(name, parent)
        self.places: dict[ZoneMember, tuple[float, float, float]] = {}

    def local_route(self, source: ZoneMember, target: ZoneMember, latency: float) -> tuple[LocalRoute, float] | None:
        for end in (source, target):
            if end not in self.places:
                what = "the zone" if end.is_zone else "the host or router"
                text = (
                    f"{what} {shown(end.name)} has no coordinates in {shown(self.name)}, which has the routing Vivaldi"
                )
                raise InputError(f"{text}: SimGrid aborts on a route that needs them")
        (x, y, up), (other_x, other_y, down) = self.places[source], self.places[target]
        distance = math.hypot(x - other_x, y - other_y) + abs(up) + abs(down)
        return LocalRoute(()), latency + distance / 1000


def latency_after(latency: float, links: tuple[Link, ...]) -> float:
    """`latency` plus the latencies of the links, added one after the other."""
    for link in links:
        latency += link.latency
    return latency


def find_route(source: ZoneMember, target: ZoneMember) -> Route | None:
    """The route from one host or router to another, or None if there is none."""
    found = _search(source, target, 0.0)
    return None if found is None else Route(*found)


def _search(source: ZoneMember, target: ZoneMember, latency: float) -> tuple[tuple[Link, ...], float] | None:
    """The links between two members, and `latency` plus their latencies."""
    assert source.zone is not None
    assert target.zone is not None
    common, ours, theirs = _meeting(source.zone, target.zone)
    if common.bypasses:
        bypass = _bypass(common, source, target, ours, theirs)
        if bypass is not None:
            (key_source, key_target), route = bypass
            if source is key_source and target is key_target:
                return route.links, latency_after(latency, route.links)
            return _joined(source, route, target, latency, before=True)
    found = common.local_route(ours[-1].member if ours else source, theirs[-1].member if theirs else target, latency)
    if found is None:
        return None
    route, latency = found
    if not ours and not theirs:
        return route.links, latency
    return _joined(source, route, target, latency, before=False)


def _joined(
    source: ZoneMember, route: LocalRoute, target: ZoneMember, latency: float, *, before: bool
) -> tuple[tuple[Link, ...], float] | None:
    """The links to a route, the route, and the links from it.

    For a bypass, latencies are added from start to end (`before`). Otherwise `latency` includes those of the route.
    """
    first = route.source_gateway or source
    last = route.target_gateway or target
    head: tuple[Link, ...] = ()
    tail: tuple[Link, ...] = ()
    if first is not source:
        found = _search(source, first, latency)
        if found is None:
            return None
        head, latency = found
    if before:
        latency = latency_after(latency, route.links)
    if last is not target:
        found = _search(last, target, latency)
        if found is None:
            return None
        tail, latency = found
    return head + route.links + tail, latency


def _meeting(source: Zone, target: Zone) -> tuple[Zone, list[Zone], list[Zone]]:
    """The innermost zone around both, and the zones from each of them up to it (excluded), innermost first."""
    ours, theirs = source.path(), target.path()
    depth = 0
    while depth < min(len(ours), len(theirs)) and ours[depth] is theirs[depth]:
        depth += 1
    return ours[depth - 1], ours[: depth - 1 : -1], theirs[: depth - 1 : -1]


def _bypass(
    zone: Zone, source: ZoneMember, target: ZoneMember, ours: list[Zone], theirs: list[Zone]
) -> tuple[tuple[ZoneMember, ZoneMember], LocalRoute] | None:
    """The bypass of a zone from one member, or a zone around it, to the other, innermost pairs first."""
    if not ours and not theirs:
        found = zone.bypasses.get((source, target))
        return None if found is None else ((source, target), found)
    above = [each.member for each in ours] or [zone.member]
    below = [each.member for each in theirs] or [zone.member]
    for most in range(max(len(above), len(below))):
        pairs = [pair for less in range(most) for pair in ((less, most), (most, less))]
        for left, right in (*pairs, (most, most)):
            if left < len(above) and right < len(below):
                found = zone.bypasses.get((above[left], below[right]))
                if found is not None:
                    return (above[left], below[right]), found
    return None
