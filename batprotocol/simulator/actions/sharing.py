"""How work shares hosts and links: the fair bottleneck of SimGrid's model of parallel tasks.

What changes concerns only the work that is connected with it over shared resources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from math import inf
from typing import Final

from batprotocol.simulator.actions.demand import PythonDemand
from batprotocol.simulator.actions.rounds import ENOUGH, jump
from batprotocol.steps.counting import step

__all__ = ["WORK_AMOUNT", "Sharing", "Work"]

WORK_AMOUNT: Final = 1e-5
"""A resource of which less is left is used up, unless a platform says otherwise."""
_VERSIONS: Final = count(1)
"""Of the speeds of all machines: a demand that several of them have knows for which its rate is."""


class Work:
    """Work of 1, which goes on at a rate after a latency.

    Attributes:
        number: its name; work that began later has a greater one.
        demand: what it takes.
        latency: seconds to wait before it begins.
        remains: what is still to do.
        rate: work per second now.
        joined: its place among all that use resources, in the order in which they began to; 0: it does not.
        growth: by how much its rate was raised last while it was shared out.
        bound: the greatest rate that it could have.
    """

    __slots__ = ("bound", "demand", "growth", "joined", "latency", "number", "rate", "remains")

    def __init__(self, number: int, demand: PythonDemand, remains: float) -> None:
        self.number = number
        self.demand = demand
        self.latency = demand.latency
        self.remains = remains
        self.rate = 0.0
        self.joined = 0
        self.growth = 0.0
        self.bound = inf


class _Resource:
    """Something that is shared: the cores of a host, or a link.

    Attributes:
        capacity: flops or bytes per second.
        is_fatpipe: whether every transfer gets all of it.
        users: the work that uses it, with what its parts need of it; the newest last.
        left: what nobody has got yet.
        offer: what each part is offered.
    """

    __slots__ = ("capacity", "is_fatpipe", "left", "offer", "users")

    def __init__(self, capacity: float, is_fatpipe: bool) -> None:
        self.capacity = capacity
        self.is_fatpipe = is_fatpipe
        self.users: dict[Work, tuple[float, ...]] = {}
        self.left = 0.0
        self.offer = 0.0


class Sharing:
    """Who uses which resource, and how fast all goes on.

    Args:
        corrected: whether a resource loses nothing for work that grows no more; in SimGrid, it goes on losing what such
            work got last.
        work_amount: a resource of which less is left is used up.

    Attributes:
        speeds: flops per second of a core of each host now.
        changed: the resources that have changed since `settle`.
    """

    __slots__ = ("_corrected", "_joined", "_resources", "_version", "changed", "speeds", "work_amount")

    def __init__(
        self, capacities: Sequence[float], speeds: Sequence[float], corrected: bool, work_amount: float
    ) -> None:
        self._corrected = corrected
        self._resources = [_Resource(capacity, False) for capacity in capacities]
        self._joined = 0
        self.work_amount = work_amount
        self._version = next(_VERSIONS)
        self.speeds = list(speeds)
        self.changed: dict[int, None] = {}

    def add_link(self, capacity: float, is_fatpipe: bool) -> int:
        """A new resource."""
        self._resources.append(_Resource(capacity, is_fatpipe))
        return len(self._resources) - 1

    def resources(self) -> list[tuple[float, bool]]:
        """Capacity and kind of all resources."""
        return [(resource.capacity, resource.is_fatpipe) for resource in self._resources]

    def capacity(self, resource: int) -> float:
        """What a resource gives in a second."""
        return self._resources[resource].capacity

    def is_fatpipe(self, resource: int) -> bool:
        """Whether every transfer over this link gets all of it."""
        return self._resources[resource].is_fatpipe

    def add(self, work: Work) -> None:
        """Work begins to use its resources."""
        self.begin(work)

    def begin(self, work: Work) -> None:
        """Work begins to use its resources, whatever others use."""
        work.rate = 0.0
        self._joined = work.joined = self._joined + 1
        for resource, weights in work.demand.weights.items():
            self._resources[resource].users[work] = weights
            self.changed[resource] = None

    def remove(self, work: Work) -> None:
        """Work uses no resource any more."""
        if work.joined:
            work.joined = 0
            for resource in work.demand.weights:
                del self._resources[resource].users[work]
                self.changed[resource] = None

    def change(self, host: int, speed: float, capacity: float) -> None:
        """The speed of a host has changed."""
        self.speeds[host] = speed
        self._resources[host].capacity = capacity
        self._version = next(_VERSIONS)
        self.changed[host] = None

    def load(self, resource: int) -> float:
        """What all together take of a resource in a second."""
        total = 0.0
        for work, weights in reversed(self._resources[resource].users.items()):  # as SimGrid adds
            for weight in reversed(weights):
                total += weight * work.rate
        return total

    def settle(self, before: Callable[[int], None] | None = None) -> None:
        """Find the rates anew of all work that a change can concern.

        Args:
            before: told the number of each work whose rate will change, before any does.
        """
        if not self.changed:
            return
        concerned = self._connected()
        if not concerned:
            return
        rates = [work.rate for work in concerned] if before is not None else []
        if len(concerned) == 1:
            self._alone(concerned[0])
        else:
            self._share_out(concerned)
        if before is not None:
            _tell(before, concerned, rates)

    def _connected(self) -> list[Work]:
        """The work that is connected with what has changed, in the order of numbers."""
        resources, seen = self._resources, self.changed
        todo, found = list(seen), set[Work]()
        while todo:
            users = resources[todo.pop()].users
            if users:
                for work in users:
                    if work not in found:
                        found.add(work)
                        for resource in work.demand.weights:
                            if resource not in seen:
                                seen[resource] = None
                                todo.append(resource)
        self.changed = {}
        return sorted(found, key=_number) if len(found) > 1 else list(found)

    def _alone(self, work: Work) -> None:
        """The rate of work that shares nothing: always the same, unless speeds change."""
        demand = work.demand
        version, work.rate = demand._alone
        if version != self._version:
            self._share_out([work])
            demand._alone = (self._version, work.rate)

    def _bound(self, demand: PythonDemand) -> float:
        """The greatest rate that there could be with all resources to oneself, as far as one part can tell."""
        bound = demand.network_bound
        if bound == 0.0:  # SimGrid takes a bound of 0 for none
            return inf
        for host, flops in demand.flops.items():
            bound = min(bound, self.speeds[host] / flops)
        if self._corrected:  # of a FATPIPE, all get all
            for number, weights in demand.weights.items():
                if self._resources[number].is_fatpipe:
                    bound = min(bound, self._resources[number].capacity / max(weights))
        return bound

    def _share_out(self, concerned: list[Work]) -> None:
        """Raise all rates together until each is stopped by its bound or by a resource that is used up."""
        resources = self._resources
        left = {number: resources[number] for work in concerned for number in work.demand.weights}
        if self._corrected:
            left = {number: resource for number, resource in left.items() if not resource.is_fatpipe}
        growing = dict.fromkeys(concerned)
        for work in concerned:
            work.bound = self._bound(work.demand)
            work.rate = work.growth = 0.0
        for resource in left.values():
            resource.left = resource.capacity
        walked = 0
        while True:
            step()
            self._raise_all(left, growing)
            if not growing:
                return
            if self._corrected:  # else a resource goes on losing what finished work took last
                for work in concerned:
                    if work not in growing:
                        work.growth = 0.0
            walked += 1
            if walked % ENOUGH == 0 and not self._jump(left, growing):
                return

    def _raise_all(self, left: dict[int, _Resource], growing: dict[Work, None]) -> None:
        """One round: all that grow are raised, and those that came to their bounds or used up something stop."""
        for resource in left.values():
            parts = sum([len(weights) for work, weights in resource.users.items() if work in growing])
            if parts == 0:
                resource.left = resource.offer = 0.0
            else:
                resource.offer = resource.left if resource.is_fatpipe else resource.left / parts
        for work in list(growing):
            self._grow(work)
            if work.rate == work.bound:
                del growing[work]
        for number in [number for number, resource in left.items() if _is_used_up(resource, self.work_amount)]:
            for user in left.pop(number).users:
                growing.pop(user, None)

    def _jump(self, left: dict[int, _Resource], growing: dict[Work, None]) -> bool:
        """Go over many rounds at once, where all that grow use a FATPIPE alone; whether there is an end of rounds."""
        pipes, places = list(left.values()), {number: place for place, number in enumerate(left)}
        if not all(pipe.is_fatpipe for pipe in pipes):
            return True
        works = []
        for work in growing:
            ((number, weights), *others) = work.demand.weights.items()
            pipe, most = self._resources[number], max(weights)
            if others or pipe.offer * ENOUGH > pipe.left * min(weights) / most:  # it may be the one who got least
                return True
            works.append((places[number], most, work.rate, work.bound))
        rounds, lefts, rates = jump([(pipe.left, pipe.offer) for pipe in pipes], works)
        if rounds > 0:
            for pipe, each in zip(pipes, lefts, strict=True):
                pipe.left = each
            for work, rate in zip(growing, rates, strict=True):
                work.rate = rate
        return rounds >= 0

    def _grow(self, work: Work) -> None:
        growth, bound = inf, work.bound
        for number, weights in work.demand.weights.items():
            resource = self._resources[number]
            if resource.is_fatpipe and self._corrected:
                continue
            for weight in weights:
                growth = min(growth, resource.offer / weight)
        if bound < inf:
            growth = min(growth, bound - work.rate)
        work.growth = growth
        work.rate += growth


def _number(work: Work) -> int:
    return work.number


def _is_used_up(resource: _Resource, least: float) -> bool:
    """Take what all have got from a resource; whether nothing is left of it."""
    users = resource.users
    if resource.is_fatpipe:
        for work, weights in users.items():
            for weight in weights:
                resource.offer = min(resource.offer, weight * work.growth)
        resource.left -= resource.offer
    else:
        for work in reversed(users):
            growth = work.growth
            for weight in reversed(users[work]):
                resource.left -= weight * growth
                if resource.left < least:
                    resource.left = 0.0
    if resource.left < least:
        resource.left = 0.0
    return resource.left <= 0.0


def _tell(before: Callable[[int], None], concerned: list[Work], rates: list[float]) -> None:
    """Tell of the work whose rate has changed, while all has the rates from before."""
    after = [work.rate for work in concerned]
    for work, rate in zip(concerned, rates, strict=True):
        work.rate = rate
    for work, rate in zip(concerned, after, strict=True):
        if work.rate != rate:
            before(work.number)
    for work, rate in zip(concerned, after, strict=True):
        work.rate = rate
