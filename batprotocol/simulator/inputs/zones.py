"""Zones: how a platform finds the route from one host to another.

A platform is a tree of zones. Each zone knows the ways between its own members, which are hosts, routers and the zones
directly inside it; where a way leads through another zone, it names the gateway through which it enters or leaves, and
the rest of the way is that zone's business. `find_route` puts the parts together as SimGrid does, order of additions
included. This module must not know of files.
"""

from __future__ import annotations

from typing import NamedTuple

from batprotocol.simulator.inputs.network import LOOPBACK, Link, Route

__all__ = ["ClusterZone", "FullZone", "LocalRoute", "Member", "Zone", "find_route"]


class Member:
    """A host, a router or a zone, as a point of the network inside the zone that holds it."""

    __slots__ = ("is_zone", "name", "zone")

    def __init__(self, name: str, zone: Zone | None, *, is_zone: bool = False) -> None:
        self.name = name
        self.zone = zone
        self.is_zone = is_zone

    def __repr__(self) -> str:
        return f"Member({self.name!r})"


class LocalRoute(NamedTuple):
    """A way between two members of one zone.

    Args:
        links: the links in order.
        source_gateway: where it leaves the source if that is a zone, else None.
        target_gateway: where it enters the target if that is a zone, else None.
    """

    links: tuple[Link, ...]
    source_gateway: Member | None = None
    target_gateway: Member | None = None


class Zone:
    """A zone without any routes of its own (routing "None"), and what all zones have in common."""

    def __init__(self, name: str, parent: Zone | None = None) -> None:
        self.name = name
        self.parent = parent
        self.member = Member(name, parent, is_zone=True)
        self.members: list[Member] = []
        self.properties: dict[str, str] = {}
        if parent is not None:
            parent.members.append(self.member)

    def add(self, name: str) -> Member:
        """A new host or router of this zone."""
        member = Member(name, self)
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

    def local_route(self, source: Member, target: Member) -> LocalRoute | None:
        """The way between two members, or None if there is no way."""
        return None


class FullZone(Zone):
    """A zone in which each route is given as it is (routing "Full")."""

    def __init__(self, name: str, parent: Zone | None = None) -> None:
        super().__init__(name, parent)
        self.routes: dict[tuple[Member, Member], LocalRoute] = {}

    def local_route(self, source: Member, target: Member) -> LocalRoute | None:
        found = self.routes.get((source, target))
        if found is None and source is target and not any(member.is_zone for member in self.members):
            return LocalRoute((LOOPBACK,))
        return found


class ClusterZone(Zone):
    """A zone whose members each hang on links of their own (`<cluster>`, routing "Cluster").

    A way goes up from its source and down to its target; a link that both have, the backbone, counts once.
    """

    def __init__(self, name: str, parent: Zone | None = None) -> None:
        super().__init__(name, parent)
        self.up: dict[Member, tuple[Link, ...]] = {}
        self.down: dict[Member, tuple[Link, ...]] = {}
        self.loopback: dict[Member, tuple[Link, ...]] = {}

    def local_route(self, source: Member, target: Member) -> LocalRoute | None:
        if source is target and source in self.loopback:
            return LocalRoute(self.loopback[source])
        up, down = self.up.get(source), self.down.get(target)
        if up is None or down is None:
            return None
        return LocalRoute(tuple(dict.fromkeys(up + down)))


def find_route(source: Member, target: Member) -> Route | None:
    """The route from one host or router to another, or None if there is none."""
    links: list[Link] = []
    latency = 0.0

    def walk(source: Member, target: Member) -> bool:
        nonlocal latency
        above, below = source.zone, target.zone
        assert above is not None
        assert below is not None
        if above is below:
            local = above.local_route(source, target)
            if local is None:
                return False
            for link in local.links:
                latency += link.latency
            links.extend(local.links)
            return True
        common, ours, theirs = _meeting(above, below)
        local = common.local_route(ours or source, theirs or target)
        if local is None:
            return False
        # The latencies of the middle count first, then those of the way to it, then those of the way from it.
        for link in local.links:
            latency += link.latency
        first = local.source_gateway or source
        last = local.target_gateway or target
        if first is not source and not walk(source, first):
            return False
        links.extend(local.links)
        return last is target or walk(last, target)

    return Route(tuple(links), latency) if walk(source, target) else None


def _meeting(source: Zone, target: Zone) -> tuple[Zone, Member | None, Member | None]:
    """The innermost zone that holds both, and its members that hold the two (None: the zone itself)."""
    ours, theirs = source.path(), target.path()
    depth = 0
    while depth < min(len(ours), len(theirs)) and ours[depth] is theirs[depth]:
        depth += 1
    return (
        ours[depth - 1],
        ours[depth].member if depth < len(ours) else None,
        theirs[depth].member if depth < len(theirs) else None,
    )
