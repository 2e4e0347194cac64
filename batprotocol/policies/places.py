"""Which hosts a job gets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import ClassVar

from batprotocol.errors import HostsError
from batprotocol.hosts import FrozenHosts, Hosts
from batprotocol.model import Host, SimulationBeginsEvent
from batprotocol.model.hosts import frozen_hosts
from batprotocol.requests import read_offer

__all__ = [
    "AwakeFirst",
    "BestContiguous",
    "BestFit",
    "Contiguous",
    "Fastest",
    "First",
    "Last",
    "Pack",
    "Place",
    "Shared",
    "Slowest",
    "Spread",
    "Weight",
    "Zones",
]

_MOST_JOBS = 100
"""A host can be shared by so many: the more there may be, the longer it takes to find the one that has the fewest."""


class Place:
    """Which hosts a job gets. To make one, derive, and write `take`; `room` too, if not any hosts will do.

    Where jobs share hosts, `give_back` and `vacant` are written, too: see `Shared`.
    """

    name: ClassVar[str] = ""
    """What it is called on the command line."""
    sentence: ClassVar[str] = ""
    """What it does."""
    source: ClassVar[str] = ""
    """Where it comes from."""
    share: int = 1
    """How many jobs can have a host at a time."""
    ranking: ClassVar[str | None] = None
    """For jobs that share hosts by cores, memory and GPUs: the order of preference; None: not known."""
    contiguous: ClassVar[bool] = False
    """For these jobs: whether their hosts must have consecutive numbers."""

    def begin(self, event: SimulationBeginsEvent) -> None:
        """A simulation begins."""

    def vacant(self, free: Hosts) -> int:
        """How many hosts are free, each counted as often as jobs can still have it."""
        return len(free)

    def room(self, free: Hosts) -> int:
        """How many hosts a job can have at most."""
        return len(free)

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        """Take hosts out of those that are free.

        Args:
            count: how many; 1 to `room(free)`.
            free: the hosts that a job can have.
            asleep: those of them that must be switched on first. Not to be changed.
        """
        raise NotImplementedError

    def give_back(self, hosts: FrozenHosts, free: Hosts) -> FrozenHosts:
        """A job does not need these hosts any more; those of them that no job has now."""
        free.give_back(hosts)
        return hosts


class First(Place):
    """The first hosts that are free."""

    name = "first"
    ranking = "numbers"
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
    ranking = "numbers"
    contiguous = True
    sentence = "The first free hosts in a row; a job waits until there are enough."
    source = "Lucarelli, Mendonca, Trystram and Wagner, CCGrid 2015"

    def room(self, free: Hosts) -> int:
        return max((last + 1 - first for first, last in free.intervals), default=0)

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        return free.take_contiguous(count)


class BestContiguous(Contiguous):
    """The smallest row of free hosts that is large enough: large rows are left to large jobs."""

    name = "best-contiguous"
    sentence = "The smallest row of free hosts that is large enough."
    source = "Slurm, Topology Guide (best fit)"

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
    source = "Slurm, Topology Guide (tree topology); Lucarelli et al., CCGrid 2015 (locality)"

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


class BestFit(Place):
    """The smallest row of free hosts that is large enough; else the largest rows, one after the other."""

    name = "best-fit"
    sentence = "The smallest interval of free hosts that suffices; else the largest ones, one after the other."
    source = "Slurm, select/linear (best fit of consecutive nodes)"
    ranking = "best-fit"

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        rest = [(last + 1 - first, first) for first, last in free.intervals]
        chosen = Hosts()
        while len(chosen) < count:
            missing = count - len(chosen)
            row = min((row for row in rest if row[0] >= missing), default=None)
            if row is None:
                row = max(rest, key=lambda row: (row[0], -row[1]))
            rest.remove(row)
            chosen |= Hosts(range(row[1], row[1] + min(row[0], missing)))
        return free.take_these(chosen)


class Pack(First):
    """Of hosts that jobs share, those with the fewest free cores that suffice; of whole hosts the first ones."""

    name = "pack"
    sentence = "Of shared hosts, those with the fewest free cores that suffice, so that others stay empty."
    source = "Slurm, Consumable Resources (select/cons_tres)"
    ranking = "pack"


class Spread(First):
    """Of hosts that jobs share, those with the most free cores; of whole hosts the first ones."""

    name = "spread"
    sentence = "Of shared hosts, those with the most free cores, so that jobs disturb one another least."
    source = "Slurm, SelectTypeParameters (CR_LLN)"
    ranking = "spread"


class Weight(Place):
    """The hosts with the smallest weights, by their property `weight`; those without one weigh 1."""

    name = "weight"
    sentence = "The hosts with the smallest weights, by their property `weight`."
    source = "Slurm, slurm.conf (Weight)"
    ranking = "weight"

    def begin(self, event: SimulationBeginsEvent) -> None:
        groups: dict[int, list[int]] = defaultdict(list)
        for host in event.computation_hosts:
            groups[read_offer(host).weight].append(host.id)
        self._groups = [_all(groups[weight]) for weight in sorted(groups)]

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        return free.take_these(_out_of([free & group for group in self._groups], count))


class Shared(Place):
    """Hosts that several jobs have at a time: those with the fewest jobs first, and of these the first ones.

    What computes on one host slows down, so jobs may reach their walltimes that would not alone. How many hosts are
    free is counted by what jobs can still have of them. But a job never has a host twice, so it may find too few
    different ones when its time has come, and start later than at its reservation.

    Args:
        share: how many jobs can have a host, 1 to 100.
    """

    name = "shared"
    sentence = "Up to two jobs on a host, or as many as told; hosts with the fewest jobs first."
    source = "Slurm, Sharing Consumable Resources (OverSubscribe=FORCE)"

    def __init__(self, share: int = 2) -> None:
        if not 1 <= share <= _MOST_JOBS:
            raise ValueError(f"expected a share from 1 to {_MOST_JOBS}, got {share}")
        self.share = share
        self._having: list[Hosts] = []  # the hosts that no job has, those that one has, ...
        self._used = self._full = 0

    def begin(self, event: SimulationBeginsEvent) -> None:
        self._having = [Hosts(host.id for host in event.computation_hosts), *(Hosts() for _ in range(self.share))]
        self._used = self._full = 0

    def vacant(self, free: Hosts) -> int:
        return self.share * (len(free) + self._full) - self._used

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        chosen = _out_of([free & each for each in self._having[:-1]], count)
        hosts = chosen.take(count)
        for jobs in reversed(range(self.share)):
            filled = self._move(hosts, jobs, jobs + 1)
            if jobs + 1 == self.share:
                free.take_these(filled)
                self._full += filled.size
        self._used += count
        return hosts

    def give_back(self, hosts: FrozenHosts, free: Hosts) -> FrozenHosts:
        idle = frozen_hosts("")
        for jobs in range(1, self.share + 1):
            moved = self._move(hosts, jobs, jobs - 1)
            if jobs == 1:
                idle = moved
            if jobs == self.share:
                free.give_back(moved)
                self._full -= moved.size
        self._used -= hosts.size
        return idle

    def _move(self, hosts: FrozenHosts, before: int, after: int) -> FrozenHosts:
        """Those of these hosts that so many jobs have had; now others have them."""
        moved = hosts & self._having[before]
        self._having[before] -= moved
        self._having[after] |= moved
        return moved


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
