"""Failures and repairs of hosts, drawn from laws and a seed.

Each group of hosts (a host, a rack, the machine) works for a random time, fails, is repaired in a random time, and
works again: an alternating renewal process. A host is down as long as any of its groups is. Events come one by one, in
memory for the groups alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from heapq import heapify, heappop, heapreplace
from typing import Final, NamedTuple

import msgspec

from batprotocol.errors import InputError, hint, shown
from batprotocol.model.hosts import FrozenHosts, frozen_hosts
from batprotocol.workloads.host_events import HostChange, HostEvent
from batprotocol.workloads.host_events.laws import Law, Lognormal, Weibull
from batprotocol.workloads.platform import Platform

__all__ = [
    "FAILURE_PRESETS",
    "FailureModel",
    "RandomStream",
    "drawn_failures",
    "failure_preset",
    "host_groups",
    "merged_outages",
]


# Groups of hosts that fail together

_EXPECTED: Final = "host, machine, rack=SIZE, property=NAME or zone"


def host_groups(platform: Platform | int, each: str) -> list[tuple[str, FrozenHosts]]:
    """The groups of computation hosts of a platform, with a name for each.

    Args:
        platform: the platform, or the number of its computation hosts.
        each: the members of a group: `host` (one host), `machine` (all hosts), `rack=SIZE` (so many hosts with
            consecutive numbers), `property=NAME` (hosts with equal values of a property; hosts without it are in no
            group) or `zone` (the hosts of an innermost zone).

    >>> [(name, hosts.text) for name, hosts in host_groups(10, "rack=4")]
    [('0', '0-3'), ('1', '4-7'), ('2', '8-9')]

    Raises:
        InputError: `each` has another value, or the platform has no such group.
    """
    count = platform if isinstance(platform, int) else len(platform.computation_hosts)
    kind, _, value = each.partition("=")
    if each == "host":
        return [(str(host), frozen_hosts(host)) for host in range(count)]
    if each == "machine":
        return [("machine", frozen_hosts(range(count)))] if count else []
    if kind == "rack" and value.isascii() and value.isdigit() and len(value) < 10 and int(value) > 0:
        size = int(value)
        racks = range(0, count, size)
        return [(str(first // size), frozen_hosts(range(first, min(first + size, count)))) for first in racks]
    if (kind == "property" and value) or each == "zone":
        if isinstance(platform, int):
            raise InputError(
                f"expected a platform with hosts for {shown(each)}, got only a number of hosts: name a file"
            )
        return _named(_values(platform, value), each)
    raise InputError(f"expected {_EXPECTED}, got {shown(each)}")


def _values(platform: Platform, key: str) -> Iterable[tuple[str | None, int]]:
    """The name of the group of each host: the value of the property, or without a key the innermost zone."""
    for host in platform.computation_hosts:
        if key:
            yield {**dict(host.zone_properties), **dict(host.properties)}.get(key), host.id
        else:
            zones = platform.zones(host)
            yield "/".join(zones) if zones else None, host.id


def _named(members: Iterable[tuple[str | None, int]], each: str) -> list[tuple[str, FrozenHosts]]:
    groups: dict[str, list[int]] = {}
    for name, host in members:
        if name is not None:
            groups.setdefault(name, []).append(host)
    if not groups:
        raise InputError(f"expected a platform with hosts for {shown(each)}, got one where no host has this")
    return [(name, frozen_hosts(hosts)) for name, hosts in groups.items()]


# Outages that overlap


def merged_outages(
    changes: Iterable[tuple[float, FrozenHosts, bool]], host_count: int, *, since: float = 0.0
) -> Iterator[tuple[float, HostEvent]]:
    """The events of hosts, from the beginnings and ends of outages.

    All changes of one time become at most two events: hosts that come back, and hosts that fail.

    Args:
        changes: the time, the hosts, and whether an outage begins, by time.
        host_count: the number of hosts.
        since: the time of the first events; hosts that are down at this time fail then.

    >>> rack, other = frozen_hosts("0-1"), frozen_hosts("1-2")
    >>> outages = [(1.0, rack, True), (2.0, other, True), (3.0, rack, False)]
    >>> [(time, event.state.value, event.hosts.text) for time, event in merged_outages(outages, 4)]
    [(1.0, 'down', '0-1'), (2.0, 'down', '2'), (3.0, 'up', '0')]
    """
    lasting = [0] * host_count
    waiting: list[tuple[FrozenHosts, bool]] = []
    now = since
    for time, hosts, begins in changes:
        if time > now:
            if waiting:
                yield from _events(now, waiting, lasting)
                waiting.clear()
            now = time
        waiting.append((hosts, begins))
    yield from _events(now, waiting, lasting)


def _events(
    time: float, changes: list[tuple[FrozenHosts, bool]], lasting: list[int]
) -> Iterator[tuple[float, HostEvent]]:
    """The events of one time. They take over the sets of hosts as they are, if they can: their texts are known."""
    if len(changes) == 1 and len(changes[0][0]) == 1:  # by far the most frequent
        ((hosts, begins),) = changes
        host = hosts.intervals[0][0]
        lasting[host] += 1 if begins else -1
        if lasting[host] == begins:
            yield time, HostEvent(hosts, HostChange.DOWN if begins else HostChange.UP)
        return
    before: dict[int, int] = {}
    for hosts, begins in changes:
        step = 1 if begins else -1
        for first, last in hosts.intervals:
            for host in range(first, last + 1):
                before.setdefault(host, lasting[host])
                lasting[host] += step
    up = [host for host, count in before.items() if count and not lasting[host]]
    down = [host for host, count in before.items() if not count and lasting[host]]
    whole = changes[0][0] if len(changes) == 1 else None
    for found, change in ((up, HostChange.UP), (down, HostChange.DOWN)):
        if found:
            taken = whole if whole is not None and len(whole) == len(found) else frozen_hosts(found)
            yield time, HostEvent(taken, change)


# Random numbers
#
# The generator is SplitMix64: G. L. Steele Jr., D. Lea and C. H. Flood, "Fast splittable pseudorandom number
# generators", OOPSLA 2014. The seed and the name of a stream are hashed, so that streams are independent, and each is
# the same however many there are.

_MASK: Final = 2**64 - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB
_UNIT: Final = 2.0**-53


class RandomStream:
    """A stream of random numbers.

    Args:
        seed: the seed, which all streams share.
        name: the name of the stream.
    """

    __slots__ = ("_state",)

    def __init__(self, seed: int, name: str) -> None:
        self._state = int.from_bytes(blake2b(f"{seed} {name}".encode(), digest_size=8).digest(), "big")

    def chance(self) -> float:
        """The next number: uniform in (0, 1), never 0 or 1."""
        self._state = state = (self._state + _GOLDEN) & _MASK
        state = ((state ^ (state >> 30)) * _FIRST) & _MASK
        state = ((state ^ (state >> 27)) * _SECOND) & _MASK
        return ((state ^ (state >> 31)) >> 12) * 2 * _UNIT + _UNIT


_DIGITS: Final = 3
_SHORTEST: Final = 1e-3
"""Times are whole milliseconds, and no time is shorter than one."""
_LARGEST: Final = 2.0**43
"""Seconds. Later, a double does not have all milliseconds."""


class FailureModel(msgspec.Struct, frozen=True):
    """A kind of failures: the hosts that fail together, how long they work, and how long their repair takes.

    Args:
        between: the law of the times from a repair (or the beginning) to the next failure.
        repair: the law of the times from a failure to its repair.
        each: the hosts that fail together, as for `host_groups`: `host`, `machine`, `rack=SIZE`, `property=NAME` or
            `zone`.
    """

    between: Law
    repair: Law
    each: str = "host"


def drawn_failures(
    platform: Platform | int,
    models: Sequence[FailureModel] | FailureModel,
    *,
    until: float,
    seed: int = 0,
    age: float = 0.0,
) -> Iterator[tuple[float, HostEvent]]:
    """The events of hosts that fail and are repaired, by their times.

    The same arguments give the same events, on every machine. The failures of a group depend on the seed, on the place
    of its model, and on the name of the group: host 7 fails at the same times whatever the number of hosts is.

    Args:
        platform: the platform, or the number of its computation hosts.
        models: the kinds of failures. A host of several groups is down as long as any of them is.
        until: no group fails at this time or later, in seconds; repairs may come later.
        seed: the seed of the random numbers.
        age: how long the hosts have worked and failed before the simulation begins, in seconds. With 0, all hosts are
            new. New hosts of a Weibull distribution with a shape below 1 fail more often than old ones, all at the
            beginning. With an age, some hosts may be down at time 0.

    Raises:
        InputError: an argument is out of its range, or the platform has no such groups.

    >>> from batprotocol.workloads.host_events import Exponential, Fixed
    >>> model = FailureModel(Exponential(1000.0), Fixed(60.0))
    >>> [(time, event.state.value, event.hosts.text) for time, event in drawn_failures(2, model, until=500.0, seed=5)]
    []
    """
    if not 0 <= until <= _LARGEST or not 0 <= age <= _LARGEST:
        raise InputError(f"expected 0 <= until, age <= {_LARGEST:.0f} seconds, got {shown((until, age))}")
    kinds = [models] if isinstance(models, FailureModel) else list(models)
    sources = [
        _FailureSource(hosts, model, RandomStream(seed, f"{place} {model.each} {name}"))
        for place, model in enumerate(kinds)
        for name, hosts in host_groups(platform, model.each)
    ]
    count = platform if isinstance(platform, int) else len(platform.computation_hosts)
    return merged_outages(_changes(sources, until, -age), count)


class _FailureSource:
    """A group of hosts, which works and is repaired in turns."""

    __slots__ = ("_between", "_chance", "_repair", "hosts", "works")

    def __init__(self, hosts: FrozenHosts, model: FailureModel, stream: RandomStream) -> None:
        self.hosts = hosts
        self.works = True
        self._between = model.between.time
        self._repair = model.repair.time
        self._chance = stream.chance

    def next_change(self, now: float) -> float:
        """When the group changes next: it fails if it works, else it is repaired."""
        drawn = (self._between if self.works else self._repair)(self._chance())
        return round(now + (drawn if drawn > _SHORTEST else _SHORTEST), _DIGITS)


def _changes(
    sources: Sequence[_FailureSource], until: float, begin: float
) -> Iterator[tuple[float, FrozenHosts, bool]]:
    queue = [(source.next_change(begin), place) for place, source in enumerate(sources)]
    heapify(queue)
    while queue:
        time, place = queue[0]
        source = sources[place]
        if source.works and time >= until:  # no group fails any more: those that are down will be repaired
            heappop(queue)
            continue
        if time < math.inf:
            yield max(time, 0.0), source.hosts, source.works
        source.works = not source.works
        following = source.next_change(time)
        heapreplace(queue, (following, place)) if following <= _LARGEST else heappop(queue)


# Laws of published studies

_MINUTE: Final = 60.0
_HOUR: Final = 3600.0


class Preset(NamedTuple):
    """A published model.

    Attributes:
        meaning: the laws.
        source: where they are published.
        repair: the law of repairs.
        between: the law of the times between failures; a function of their mean where the study has none.
    """

    meaning: str
    source: str
    repair: Law
    between: Law | Callable[[float], Law]


def _lanl(mean: float) -> Law:
    return Weibull.of_mean(0.7, mean)


FAILURE_PRESETS: Final[dict[str, Preset]] = {
    "lanl": Preset(
        "The machines of Los Alamos National Laboratory, 1996 to 2005: Weibull with a shape of 0.7 (they found 0.7 to "
        "0.8) and the mean that you give; repairs lognormal, with a mean of 355 minutes and a median of 54 minutes.",
        "B. Schroeder and G. A. Gibson, 'A large-scale study of failures in high-performance computing systems', "
        "DSN 2006",
        Lognormal.of_mean(355 * _MINUTE, 54 * _MINUTE),
        _lanl,
    ),
    "opendc": Preset(
        "The same machines in the Failure Trace Archive, as OpenDC's `Lanl05Wbl`: Weibull with a shape of 0.48 and a "
        "scale of 816.6 hours; repairs Weibull with a shape of 0.58 and a scale of 2.18 hours.",
        "B. Javadi, D. Kondo, A. Iosup and D. Epema, 'The Failure Trace Archive: enabling the comparison of failure "
        "measurements and models of distributed systems', JPDC 73(8), 2013",
        Weibull(0.58, 2.18 * _HOUR),
        Weibull(0.48, 816.6 * _HOUR),
    ),
}
"""The published models, by their names."""


def failure_preset(name: str, *, mtbf: float | None = None, each: str = "host") -> FailureModel:
    """The model of a preset.

    Args:
        name: its name, one of `FAILURE_PRESETS`.
        mtbf: the mean time between failures of a group, in seconds; needed for `lanl`, and only there.
        each: the hosts that fail together, as for `host_groups`.

    Raises:
        InputError: there is no such preset, or it has a mean of its own, or needs one.

    >>> failure_preset("lanl", mtbf=86400.0).between.mean
    86400.0
    """
    found = FAILURE_PRESETS.get(name)
    if found is None:
        raise InputError(f"expected {', '.join(FAILURE_PRESETS)}, got {shown(name)}{hint(name, FAILURE_PRESETS)}")
    if callable(found.between):
        if mtbf is None:
            raise InputError(f"{name} has no mean time between failures: give one")
        return FailureModel(found.between(mtbf), found.repair, each)
    if mtbf is not None:
        raise InputError(f"{name} has a mean time between failures of its own: leave yours out")
    return FailureModel(found.between, found.repair, each)
