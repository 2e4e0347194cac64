"""Allocations: which hosts a job gets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, TypeVar

from batprotocol.errors import HostsError
from batprotocol.model import Host, SimulationBeginsEvent
from batprotocol.model.free_hosts import FrozenHosts, Hosts
from batprotocol.model.hosts import frozen_hosts
from batprotocol.workloads.requests import read_offer

__all__ = [
    "Allocation",
    "AwakeFirst",
    "BestContiguous",
    "BestFit",
    "Contiguous",
    "Fastest",
    "First",
    "Last",
    "Pack",
    "Shared",
    "Slowest",
    "Spread",
    "Weight",
    "Zones",
    "best_fitting",
]

Row = TypeVar("Row", bound=Sequence[int])

_MOST_JOBS = 100
"""The maximum number of jobs on a host. A larger number makes it slower to find the host with the fewest jobs."""


class Allocation:
    """Which hosts a job gets. To make one, derive and write `take`; write `room`, too, if a job needs certain hosts.

    Where jobs share hosts, write `give_back` and `vacant`, too: see `Shared`.
    """

    name: ClassVar[str] = ""
    """Its name on the command line."""
    sentence: ClassVar[str] = ""
    """One sentence that describes it."""
    source: ClassVar[str] = ""
    """The publication or documentation that defines it."""
    ranking: ClassVar[str | None] = None
    """For jobs that share hosts by cores, memory and GPUs: the order of preference; None: not known."""
    awake_first: ClassVar[bool] = False
    """For these jobs: whether hosts that are on come before those that sleep."""
    contiguous: ClassVar[bool] = False
    """For these jobs: whether their hosts must have consecutive numbers."""
    share: int = 1
    """The maximum number of jobs on a host at a time."""

    def begin(self, event: SimulationBeginsEvent) -> None:
        """A simulation begins."""

    def vacant(self, free: Hosts) -> int:
        """The number of free hosts. Each counts once for each job that it can still take."""
        return len(free)

    def room(self, free: Hosts) -> int:
        """The maximum number of hosts that a job can have."""
        return len(free)

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        """Take hosts out of those that are free.

        Args:
            count: the number of hosts, from 1 to `room(free)`.
            free: the hosts that a job can have.
            asleep: the free hosts that must be switched on first. Do not change this set.
        """
        raise NotImplementedError

    def give_back(self, hosts: FrozenHosts, free: Hosts) -> FrozenHosts:
        """Take back the hosts of a job that has ended. Return the hosts among them that no job has now."""
        free.give_back(hosts)
        return hosts


class First(Allocation):
    """The first hosts that are free."""

    name = "first"
    ranking = "numbers"
    sentence = "The free hosts with the lowest numbers."

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        return free.take(count)


class Last(Allocation):
    """The last hosts that are free."""

    name = "last"
    sentence = "The free hosts with the highest numbers."

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        return free.take_these(_out_of([_row(row) for row in reversed(free.intervals)], count, last=True))


class Contiguous(Allocation):
    """The first free hosts in a row. A job waits until enough hosts in a row are free."""

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
    """The smallest row of free hosts that is large enough. Large rows stay free for large jobs."""

    name = "best-contiguous"
    sentence = "The smallest row of free hosts that is large enough."
    source = "Slurm, Topology Guide (best fit)"

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        rows = ((last + 1 - first, first) for first, last in free.intervals)
        best = min((row for row in rows if row[0] >= count), default=None)
        if best is None:
            raise HostsError(f"expected {count} free hosts in a row")
        return free.take_these(range(best[1], best[1] + count))


class Zones(Allocation):
    """Hosts of one zone of the platform if the job fits into one. Else, hosts of as few zones as possible.

    If the job fits into several zones, it gets hosts of the fullest one. Hosts with equal zone properties are in one
    zone. If hosts have no zone properties, those whose names differ only in their number are in one zone.
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


class _BySpeed(Allocation):
    """By computation speed, in the power state of the hosts at the beginning of the simulation."""

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
    """The slowest hosts that are free. Fast hosts stay free for other jobs."""

    name = "slowest"
    sentence = "The slowest free hosts."
    _sign = 1


class AwakeFirst(Allocation):
    """Hosts that are awake before those that must be switched on first."""

    name = "awake"
    ranking = "numbers"
    awake_first = True
    sentence = "Free hosts that are awake before those that sleep."

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        if not asleep:
            return free.take(count)
        return free.take_these(_out_of([free - asleep, free & asleep], count))


class BestFit(Allocation):
    """The smallest row of free hosts that is large enough; else the largest rows, one after the other."""

    name = "best-fit"
    sentence = "The smallest interval of free hosts that suffices; else the largest ones, one after the other."
    source = "Slurm, select/linear (best fit of consecutive nodes)"
    ranking = "best-fit"

    def take(self, count: int, free: Hosts, asleep: Hosts) -> FrozenHosts:
        chosen = Hosts()
        for row in best_fitting((range(first, last + 1) for first, last in free.intervals), count):
            chosen |= Hosts(row[: count - len(chosen)])
            if len(chosen) == count:
                return free.take_these(chosen)
        raise HostsError(f"expected {count} free hosts")


def best_fitting(rows: Iterable[Row], count: int) -> Iterator[Row]:
    """Rows of hosts in the order of best fit, from which a job takes its hosts until it has enough.

    Args:
        rows: the rows, the one with the lowest numbers first.
        count: how many hosts the job needs.

    Yields:
        The smallest row that has all that is still missing, or else the largest row; of equal rows the first one.

    >>> [list(row) for row in best_fitting([range(0, 3), range(5, 7), range(9, 10)], 4)]
    [[0, 1, 2], [9], [5, 6]]
    """
    rest = list(rows)
    while rest:
        enough = [row for row in rest if len(row) >= count] if count > 0 else []
        row = min(enough, key=len) if enough else max(rest, key=len)
        rest.remove(row)
        count -= len(row)
        yield row


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


class Weight(Allocation):
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


class Shared(Allocation):
    """Hosts that several jobs have at a time. Hosts with the fewest jobs come first, then those with low numbers.

    Jobs that compute on one host slow one another down, so a job may reach a walltime that it would not reach alone.
    Each free host counts once for each job that it can still take. But a job never has a host twice: it may find too
    few different hosts at the time of its reservation, and start later.

    Args:
        share: the maximum number of jobs on a host, 1 to 100.
    """

    name = "shared"
    sentence = "Up to two jobs on a host, or up to JOBS; hosts with the fewest jobs come first."
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
        """Of these hosts, move those with `before` jobs to those with `after` jobs, and return them."""
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
    """`count` hosts: all of the first sets, and the first or last hosts of the set that has more than are missing."""
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
