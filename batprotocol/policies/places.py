"""Which hosts a job gets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import ClassVar

from batprotocol.errors import HostsError
from batprotocol.hosts import FrozenHosts, Hosts
from batprotocol.model import Host, SimulationBeginsEvent

__all__ = ["AwakeFirst", "BestContiguous", "Contiguous", "Fastest", "First", "Last", "Place", "Slowest", "Zones"]


class Place:
    """Which hosts a job gets. To make one, derive, and write `take`; `room` too, if not any hosts will do."""

    name: ClassVar[str] = ""
    """What it is called on the command line."""
    sentence: ClassVar[str] = ""
    """What it does."""
    source: ClassVar[str] = ""
    """Where it comes from."""

    def begin(self, event: SimulationBeginsEvent) -> None:
        """A simulation begins."""

    def room(self, free: Hosts) -> int:
        """How many hosts a job can have at most."""
        return len(free)

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        """Take hosts out of those that are free.

        Args:
            count: how many; 1 to `room(free)`.
            free: the hosts that no job has.
            asleep: those of them that must be switched on first. Not to be changed.
        """
        raise NotImplementedError


class First(Place):
    """The first hosts that are free."""

    name = "first"
    sentence = "The free hosts with the lowest numbers."

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        return free.take(count)


class Last(Place):
    """The last hosts that are free."""

    name = "last"
    sentence = "The free hosts with the highest numbers."

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        return free.take_these(_out_of([_row(row) for row in reversed(free.intervals)], count, last=True))


class Contiguous(Place):
    """The first hosts in a row. A job waits until there are so many in a row."""

    name = "contiguous"
    sentence = "The first free hosts in a row; a job waits until there are enough."
    source = "Lucarelli, Mendonca, Trystram and Wagner, ICPP Workshops 2015"

    def room(self, free: Hosts) -> int:
        return max((last + 1 - first for first, last in free.intervals), default=0)

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        return free.take_contiguous(count)


class BestContiguous(Contiguous):
    """The smallest row of free hosts that is large enough: large rows are left to large jobs."""

    name = "best-contiguous"
    sentence = "The smallest row of free hosts that is large enough."
    source = "Knuth, The Art of Computer Programming 1, 2.5 (best fit)"

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        rows = ((last + 1 - first, first) for first, last in free.intervals)
        best = min((row for row in rows if row[0] >= count), default=None)
        if best is None:
            raise HostsError(f"expected {count} free hosts in a row")
        return free.take_these(range(best[1], best[1] + count))


class Zones(Place):
    """Hosts of one zone of the platform if they fit into one, the fullest of those; else of as few as possible.

    A zone is what hosts say of it: those with equal properties of their zone belong together, and where there are none,
    those whose names differ in their number only.
    """

    name = "zones"
    sentence = "Hosts of one zone of the platform, or of as few as possible."
    source = "Georgiou et al., SLURM Topology plugins; Lucarelli et al., 2015 (locality)"

    def begin(self, event: SimulationBeginsEvent) -> None:
        members: dict[object, list[int]] = defaultdict(list)
        for host in event.computation_hosts:
            members[_zone_of(host)].append(host.id)
        self._zones = [_all(each) for each in members.values()]

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        parts = [part for zone in self._zones if (part := free & zone)]
        fitting = [part for part in parts if len(part) >= count]
        if fitting:
            return free.take_these(_out_of([min(fitting, key=len)], count))
        return free.take_these(_out_of(sorted(parts, key=len, reverse=True), count))


class _BySpeed(Place):
    """By computation speed, in the power state that hosts have when the simulation begins."""

    _sign = -1

    def begin(self, event: SimulationBeginsEvent) -> None:
        groups: dict[float, list[int]] = defaultdict(list)
        for host in event.computation_hosts:
            speeds = host.computation_speed
            groups[speeds[host.pstate] if host.pstate < len(speeds) else 0.0].append(host.id)
        self._groups = [_all(groups[speed]) for speed in sorted(groups, key=lambda speed: self._sign * speed)]

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        if len(self._groups) == 1:
            return free.take(count)
        return free.take_these(_out_of([free & group for group in self._groups], count))


class Fastest(_BySpeed):
    """The fastest hosts that are free."""

    name = "fastest"
    sentence = "The fastest free hosts."


class Slowest(_BySpeed):
    """The slowest hosts that are free: the fast ones are left to others."""

    name = "slowest"
    sentence = "The slowest free hosts."
    _sign = 1


class AwakeFirst(Place):
    """Hosts that are awake before those that must be switched on first."""

    name = "awake"
    sentence = "Free hosts that are awake before those that sleep."

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        if not asleep:
            return free.take(count)
        return free.take_these(_out_of([free - asleep, free & asleep], count))


def _zone_of(host: Host) -> object:
    if host.zone_properties:
        return tuple((each.key, each.value) for each in host.zone_properties)
    return host.name.rstrip("0123456789")


def _all(hosts: list[int]) -> FrozenHosts:
    return Hosts(hosts).take(len(hosts))


def _row(interval: tuple[int, int]) -> FrozenHosts:
    return FrozenHosts((interval,), interval[1] + 1 - interval[0])


def _out_of(sets: Iterable[FrozenHosts], count: int, last: bool = False) -> Hosts:
    """So many hosts: all of the first sets, and of the one that has more than are missing, its first or last ones."""
    chosen = Hosts()
    for each in sets:
        missing = count - len(chosen)
        if len(each) > missing:
            rest = Hosts(each)
            kept = rest.take(len(each) - missing if last else missing)
            chosen |= rest if last else kept
            break
        chosen |= each
    return chosen
