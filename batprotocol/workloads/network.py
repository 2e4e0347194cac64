"""The network of a platform: links, the routes that lead over them from host to host, and the zones that find routes.

A platform is a tree of zones. Each zone has the routes between its own members: hosts, routers and zones.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import msgspec

from batprotocol.errors import InputError, shown

__all__ = [
    "LOOPBACK",
    "NO_ROUTE",
    "ClusterZone",
    "DijkstraZone",
    "FloydZone",
    "FullZone",
    "Link",
    "LocalRoute",
    "Route",
    "VivaldiZone",
    "Zone",
    "ZoneMember",
    "find_route",
    "latency_after",
]


class Link(msgspec.Struct, frozen=True, gc=False):
    """A link in one direction, or one whose directions share the bandwidth.

    A SPLITDUPLEX link of a platform file is two of these, NAME_UP and NAME_DOWN.

    Args:
        name: its name, unique in the platform.
        bandwidth: bytes per second, > 0.
        latency: seconds, >= 0.
        fatpipe: whether every transfer gets the whole bandwidth (sharing policy FATPIPE).
    """

    name: str
    bandwidth: float
    latency: float
    fatpipe: bool = False


LOOPBACK = Link("__loopback__", 10e9, 0.0, True)
"""SimGrid's link between a host and itself where the platform does not define one."""


class Route(NamedTuple):
    """The route of bytes from one host to another.

    Args:
        links: the links in order; empty where there is no route.
        latency: the sum of their latencies in seconds, added up in SimGrid's order (the last bits depend on it).
    """

    links: tuple[Link, ...]
    latency: float

    @property
    def bandwidth(self) -> float:
        """The smallest bandwidth of the links in bytes per second; infinite without a link."""
        return min((link.bandwidth for link in self.links), default=float("inf"))

    @property
    def message_cost(self) -> float:
        """Seconds that a message of one byte takes; 0 where there is no route."""
        return self.latency + 1 / self.bandwidth if self.links else 0.0


NO_ROUTE = Route((), 0.0)
"""The route between hosts that are not connected. Messages take no time there."""


# Zones
#
# Where a route leads through another zone, it names the gateway through which it enters or leaves, and that zone
# finds the rest of the route. `find_route` puts the parts together as SimGrid does, and adds latencies in the same
# order.


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


# Zones that search for routes with as few links as possible
#
# Where two routes have the same number of links, they choose as SimGrid's algorithms of these names do. If members
# are zones, a route that crosses a zone goes from the gateway through which it enters to the one through which it
# leaves.

_LARGEST_TABLE = 256
"""Floyd's algorithm takes the cube of the number of members. Larger zones search from each source when needed."""


class _SearchingZone(Zone):
    """A zone with routes between neighbours, and for each source the predecessor of every member on its route."""

    def __init__(self, name: str, parent: Zone | None = None) -> None:
        super().__init__(name, parent)
        self.edges: dict[ZoneMember, dict[ZoneMember, LocalRoute]] = {}
        self._predecessors: dict[ZoneMember, dict[ZoneMember, ZoneMember]] = {}

    def add_route(self, source: ZoneMember, target: ZoneMember, route: LocalRoute) -> bool:
        self._predecessors.clear()
        neighbours = self.edges.setdefault(source, {})
        self.edges.setdefault(target, {})
        return neighbours.setdefault(target, route) is route

    def steps(self, source: ZoneMember, target: ZoneMember) -> list[LocalRoute] | None:
        """The routes between neighbours that lead from one member to another, or None."""
        if source is target:
            own = self.edges.get(source, {}).get(source)
            if own is None and self.has_zones:
                return None
            return [own or LocalRoute((self.default_loopback,))]
        predecessors = self._predecessors.get(source)
        if predecessors is None:
            predecessors = self._predecessors[source] = self.search(source)
        steps = []
        while target is not source:
            before = predecessors.get(target)
            if before is None:
                return None
            steps.append(self.edges[before][target])
            target = before
        return steps[::-1]

    def search(self, source: ZoneMember) -> dict[ZoneMember, ZoneMember]:
        """Every reachable member, with its predecessor on the route."""
        order = {member: number for number, member in enumerate(self.edges)}
        members = list(order)
        costs = {source: 0}
        predecessors: dict[ZoneMember, ZoneMember] = {}
        queue = [(0, order[source])] if source in order else []
        while queue:
            cost, number = heapq.heappop(queue)
            member = members[number]
            if cost > costs[member]:
                continue
            for neighbour, route in self.edges[member].items():
                longer = cost + len(route.links)
                if neighbour not in costs or longer < costs[neighbour]:
                    costs[neighbour] = longer
                    predecessors[neighbour] = member
                    heapq.heappush(queue, (longer, order[neighbour]))
        return predecessors

    def crossing(self, entered: ZoneMember | None, left: ZoneMember | None) -> tuple[Link, ...] | None:
        """The links inside a zone between the gateways of two steps; empty if both are the same."""
        if entered is None or left is None or entered is left:
            return ()
        inside = find_route(entered, left)
        return None if inside is None else inside.links


class DijkstraZone(_SearchingZone):
    """A zone that searches the shortest routes from each source (routing "Dijkstra" and "DijkstraCache")."""

    def local_route(self, source: ZoneMember, target: ZoneMember, latency: float) -> tuple[LocalRoute, float] | None:
        steps = self.steps(source, target)
        if steps is None:
            return None
        # The latencies are added from the target back to the source, each step's from its first link on.
        links: tuple[Link, ...] = ()
        after: LocalRoute | None = None
        for step in reversed(steps):
            if after is not None:
                inside = self.crossing(step.target_gateway, after.source_gateway)
                if inside is None:
                    return None
                links = inside + links
                latency = latency_after(latency, inside)
            links = step.links + links
            latency = latency_after(latency, step.links)
            after = step
        return LocalRoute(links, steps[0].source_gateway, steps[-1].target_gateway), latency


class FloydZone(_SearchingZone):
    """A zone that computes the shortest routes between all its members (routing "Floyd")."""

    def __init__(self, name: str, parent: Zone | None = None) -> None:
        super().__init__(name, parent)
        self._table: dict[ZoneMember, dict[ZoneMember, ZoneMember]] | None = None

    def add_route(self, source: ZoneMember, target: ZoneMember, route: LocalRoute) -> bool:
        self._table = None
        return super().add_route(source, target, route)

    def search(self, source: ZoneMember) -> dict[ZoneMember, ZoneMember]:
        if len(self.members) > _LARGEST_TABLE:
            return super().search(source)
        if self._table is None:
            self._table = self._all_ways()
        return self._table[source]

    def _all_ways(self) -> dict[ZoneMember, dict[ZoneMember, ZoneMember]]:
        members = self.members
        costs: dict[ZoneMember, dict[ZoneMember, int]] = {member: {} for member in members}
        before: dict[ZoneMember, dict[ZoneMember, ZoneMember]] = {member: {} for member in members}
        for source, neighbours in self.edges.items():
            for target, route in neighbours.items():
                costs[source][target] = len(route.links)
                before[source][target] = source
        if not self.has_zones:
            for member in members:
                costs[member].setdefault(member, 1)
                before[member].setdefault(member, member)
        for middle in members:
            onwards = list(costs[middle].items())
            for source in members:
                reached = costs[source].get(middle)
                if reached is None:
                    continue
                known, ways, last = costs[source], before[source], before[middle]
                for target, cost in onwards:
                    if target not in known or reached + cost < known[target]:
                        known[target] = reached + cost
                        ways[target] = last[target]
        return before

    def local_route(self, source: ZoneMember, target: ZoneMember, latency: float) -> tuple[LocalRoute, float] | None:
        steps = self.steps(source, target)
        if steps is None:
            return None
        links: tuple[Link, ...] = ()
        before: LocalRoute | None = None
        for step in steps:
            inside = self.crossing(before.target_gateway, step.source_gateway) if before is not None else ()
            if inside is None:
                return None
            links += inside + step.links
            latency = latency_after(latency_after(latency, inside), step.links)
            before = step
        return LocalRoute(links, steps[0].source_gateway, steps[-1].target_gateway), latency
