"""Allocations: which hosts a job gets, by the numbers of free hosts, or by the amounts that are free on each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Any, ClassVar, Final, TypeVar

import msgspec

from batprotocol.errors import HostsError
from batprotocol.model import Host, SimulationBeginsEvent
from batprotocol.model.free_hosts import FrozenHosts, Hosts
from batprotocol.model.hosts import frozen_hosts
from batprotocol.policies.availability import Amount
from batprotocol.workloads.requests import Request, read_offer
from batprotocol.workloads.requests.notation import Expression, matches
from batprotocol.workloads.requests.offers import Offer

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


Place = Allocation
"""The name that `batprotocol.policies.places` had for it."""


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


# Choosing hosts for a job among those with enough free: by preference, and by conditions on all of them together.


Rank = Callable[[Offer, Amount], Any]
"""The key of a host by what it offers and what is free: the smallest first."""

RANKINGS: Final[dict[str, Rank]] = {
    "pack": lambda offer, free: (free[1], offer.id),
    "spread": lambda offer, free: (-free[1], offer.id),
    "weight": lambda offer, free: (offer.weight, free[1], offer.id),
    "numbers": lambda offer, free: offer.id,
}
"""The orders of preference, by name. `batprotocol.policies.allocations` describes them."""

_MOST_TRIES: Final = 10_000


class Chooser:
    """Chooses hosts among those with enough free amounts.

    Args:
        ranking: a name of `RANKINGS`, or `best-fit`: the smallest interval of host numbers that suffices.
        offers: what each host offers, by its number.
    """

    def __init__(self, ranking: str, offers: Mapping[int, Offer]) -> None:
        if ranking not in RANKINGS and ranking != "best-fit":
            raise ValueError(f"there is no allocation {ranking!r}; there are best-fit, {', '.join(RANKINGS)}")
        self.ranking = ranking
        self.offers = dict(offers)
        self._numbers = {offer.name: host for host, offer in self.offers.items()}
        self.is_late: Callable[[int], bool] | None = None
        """Whether a host is not on, as others are preferred; None: that does not matter."""

    def is_by_number(self, request: Request) -> bool:
        """Whether a job gets the hosts with the smallest numbers, whatever is free on them."""
        return self.ranking == "numbers" and request.takes_any and self.is_late is None

    def choose(
        self,
        hosts: Sequence[int],
        count: int,
        request: Request,
        free: Mapping[int, Amount],
        first: Callable[[int], Any] | None = None,
    ) -> list[int] | None:
        """Hosts for a job, sorted by number; None if those with enough free do not do.

        Args:
            hosts: the hosts with enough free for it.
            count: how many it asks for.
            request: what it asks for.
            free: what is free on each host.
            first: a key by which hosts are preferred before all else; the smallest first.
        """
        if len(hosts) < count:
            return None
        constraint = request.constraint
        if constraint is not None and constraint.same:
            for alternative in constraint.same:
                fitting = [host for host in hosts if matches(alternative, self.offers[host].features)]
                chosen = self._counted(fitting, count, request, free, first)
                if chosen is not None:
                    return chosen
            return None
        return self._counted(hosts, count, request, free, first)

    def within(
        self, hosts: Iterable[int], count: int, request: Request, capacity: Mapping[int, Amount], most: float
    ) -> list[int] | None:
        """Of the hosts that a job can have for itself, some of which any have together so many cores at most.

        The largest ones are left out, as few as is enough. If the job asks for something of all hosts together that the
        rest does not have, these are hosts for it alone. Of large machines, not all sets of hosts are tried.

        Args:
            hosts: the hosts that have what it asks for.
            count: how many it asks for.
            request: what it asks for.
            capacity: what there is on each host.
            most: the most cores.

        Returns:
            The hosts, or None if there are none.
        """
        ordered = sorted(hosts, key=lambda host: (capacity[host][1], host))
        cores = [capacity[host][1] for host in ordered]
        rest = len(ordered)
        while rest >= count and sum(cores[rest - count : rest]) > most:
            rest -= 1
        if self.choose(sorted(ordered[:rest]), count, request, capacity) is not None:
            return ordered[:rest]
        groups: Iterable[Sequence[int]] = combinations(ordered, count)
        if request.contiguous:
            groups = (run[place : place + count] for run in runs(ordered) for place in range(len(run) - count + 1))
        for group in islice(groups, _MOST_TRIES):
            if sum(capacity[host][1] for host in group) <= most:
                chosen = self.choose(sorted(group), count, request, capacity)
                if chosen is not None:
                    return chosen
        return None

    def _counted(
        self,
        hosts: Sequence[int],
        count: int,
        request: Request,
        free: Mapping[int, Amount],
        first: Callable[[int], Any] | None,
    ) -> list[int] | None:
        if len(hosts) < count:
            return None
        if request.nodelist:
            return self._with_named(hosts, count, request, free, first)
        counts = () if request.constraint is None else request.constraint.counts
        if request.contiguous:
            return self._contiguous(hosts, count, request)
        if first is None and not counts and self.ranking == "numbers" and self.is_late is None:
            return [min(hosts)] if count == 1 else sorted(hosts)[:count]  # they mostly are in order
        ranked = self._ranked(hosts, count, free)
        if self.is_late is not None:
            ranked.sort(key=self.is_late)
        if first is not None:
            ranked.sort(key=first)
        if not counts:
            return sorted(ranked[:count])
        chosen: list[int] = []
        for number, expression in counts:
            members = [host for host in ranked if matches(expression, self.offers[host].features)]
            missing = number - sum(host in members for host in chosen)
            # Those that no other condition needs first.
            members.sort(key=lambda host: sum(matches(other, self.offers[host].features) for _, other in counts))
            chosen += [host for host in members if host not in chosen][: max(missing, 0)]
        chosen += [host for host in ranked if host not in chosen][: max(count - len(chosen), 0)]
        if len(chosen) == count and self._satisfies(chosen, request):
            return sorted(chosen)
        return self._covering(ranked, count, counts)

    def _with_named(
        self,
        hosts: Sequence[int],
        count: int,
        request: Request,
        free: Mapping[int, Amount],
        first: Callable[[int], Any] | None,
    ) -> list[int] | None:
        """Hosts with those that a job must have; the others are chosen as if it did not ask for these."""
        named = {self._numbers[name] for name in request.nodelist if name in self._numbers}
        if len(named) < len(request.nodelist) or len(named) > count or not named.issubset(hosts):
            return None
        rest = msgspec.structs.replace(request, nodelist=())
        if request.contiguous:
            low, high = min(named), max(named)
            near = [host for host in hosts if high - count < host < low + count]
            fitting = (each for each in rows(near, count) if named.issubset(each) and self._satisfies(each, rest))
            return next(fitting, None)
        constraint = request.constraint
        if constraint is not None and constraint.counts:  # what the named hosts satisfy is not asked of the others
            counts = [(number - self._matching(named, each), each) for number, each in constraint.counts]
            left = tuple((number, each) for number, each in counts if number > 0)
            rest = msgspec.structs.replace(rest, constraint=constraint._replace(counts=left))
            if left and len(named) == count:
                return None
        if len(named) == count:
            return sorted(named)
        others = self._counted([host for host in hosts if host not in named], count - len(named), rest, free, first)
        return None if others is None else sorted([*named, *others])

    def _covering(
        self, ranked: Sequence[int], count: int, counts: Sequence[tuple[int, Expression]]
    ) -> list[int] | None:
        """Hosts that satisfy several counts together, found by trying; None if there are none.

        Hosts that satisfy the same counts are alike, so that only their numbers are tried, the largest first. The
        number of tries is limited.
        """
        alike: dict[tuple[bool, ...], list[int]] = {}
        for host in ranked:
            features = self.offers[host].features
            alike.setdefault(tuple(matches(expression, features) for _, expression in counts), []).append(host)
        classes = sorted((key for key in alike if any(key)), key=lambda key: -sum(key))
        missing = tuple(number for number, _ in counts)
        tries: list[tuple[int, tuple[int, ...], int, tuple[int, ...]]] = [(0, missing, count, ())]
        for _ in range(_MOST_TRIES):
            if not tries:
                return None
            place, missing, rest, taken = tries.pop()
            if max(missing) <= 0:
                chosen = [host for key, number in zip(classes, taken, strict=False) for host in alike[key][:number]]
                return sorted(chosen + [host for host in ranked if host not in chosen][:rest])
            if place == len(classes) or max(missing) > rest:
                continue
            key = classes[place]
            useful = max(number for number, does in zip(missing, key, strict=True) if does)
            for number in range(max(min(useful, rest, len(alike[key])), 0) + 1):  # the last one is tried first
                left = tuple(need - number * does for need, does in zip(missing, key, strict=True))
                tries.append((place + 1, left, rest - number, (*taken, number)))
        return None

    def _satisfies(self, hosts: Sequence[int], request: Request) -> bool:
        counts = () if request.constraint is None else request.constraint.counts
        return all(self._matching(hosts, expression) >= number for number, expression in counts)

    def _matching(self, hosts: Iterable[int], expression: Expression) -> int:
        """How many hosts match an expression."""
        return sum(matches(expression, self.offers[host].features) for host in hosts)

    def _ranked(self, hosts: Sequence[int], count: int, free: Mapping[int, Amount]) -> list[int]:
        if self.ranking == "best-fit":
            return best_fit(hosts, count)
        rank = RANKINGS[self.ranking]
        return sorted(hosts, key=lambda host: rank(self.offers[host], free[host]))

    def _contiguous(self, hosts: Sequence[int], count: int, request: Request) -> list[int] | None:
        fitting = [
            run[place : place + count]
            for run in sorted(runs(hosts), key=len)
            for place in range(max(len(run) - count + 1, 0))
        ]
        return next((each for each in fitting[:_MOST_TRIES] if self._satisfies(each, request)), None)


def runs(hosts: Sequence[int]) -> list[list[int]]:
    """Hosts in intervals of consecutive numbers.

    >>> runs([1, 2, 5])
    [[1, 2], [5]]
    """
    found: list[list[int]] = []
    for host in sorted(hosts):
        if found and found[-1][-1] == host - 1:
            found[-1].append(host)
        else:
            found.append([host])
    return found


def rows(hosts: Sequence[int], size: int) -> Iterator[list[int]]:
    """All rows of hosts with consecutive numbers of a size.

    >>> list(rows([1, 2, 3, 5], 2))
    [[1, 2], [2, 3]]
    """
    for row in runs(hosts):
        for place in range(len(row) - size + 1):
            yield row[place : place + size]


def best_fit(hosts: Sequence[int], count: int) -> list[int]:
    """Hosts by the smallest interval that suffices; if none does, from the largest one, and so on with what is missing.

    >>> best_fit([0, 1, 2, 5, 6, 9], 2)[:2], best_fit([0, 1, 2, 5, 6, 9], 4)[:4]
    ([5, 6], [0, 1, 2, 9])
    """
    return [host for run in best_fitting(runs(hosts), count) for host in run]
