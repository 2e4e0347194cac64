"""Failures and repairs of hosts, drawn from laws and a seed.

Each group of hosts (a host, a rack, the machine) works for a random time, fails, is repaired in a random time, and
works again: an alternating renewal process. A host is down as long as any of its groups is. Events come one by one, in
memory for the groups alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from typing import Final

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.model.hosts import FrozenHosts
from batprotocol.workloads.host_events import HostEvent
from batprotocol.workloads.outages.groups import host_groups
from batprotocol.workloads.outages.laws import Law
from batprotocol.workloads.outages.merging import merged_outages
from batprotocol.workloads.outages.streams import RandomStream
from batprotocol.workloads.platform import Platform

__all__ = ["FailureModel", "drawn_failures"]

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

    >>> from batprotocol.workloads.outages import Exponential, Fixed
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
