"""Zones that search for routes with as few links as possible: routing "Dijkstra" and "Floyd".

Where two routes have the same number of links, they choose as SimGrid's algorithms of these names do. If members are
zones, a route that crosses a zone goes from the gateway through which it enters to the one through which it leaves.
"""

from __future__ import annotations

import heapq

from batprotocol.workloads.network import Link
from batprotocol.workloads.zones import LocalRoute, Zone, ZoneMember, find_route, latency_after

__all__ = ["DijkstraZone", "FloydZone"]

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
