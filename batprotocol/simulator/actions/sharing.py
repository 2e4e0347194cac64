"""How work shares hosts and links: the fair bottleneck of SimGrid's model of parallel tasks.

A change affects only the work that is connected with it over shared resources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count
from math import gcd, inf, ulp
from typing import Final

from batprotocol._util.counting import step
from batprotocol.simulator.actions.demand import PythonDemand

__all__ = [
    "ENOUGH",
    "WORK_AMOUNT",
    "Sharing",
    "Work",
    "jump",
]


# Many rounds at once, equal to single rounds to the last bit
#
# A FATPIPE loses the same amount in each round: the smallest use of a user that no longer grows. Work that grows on
# that FATPIPE alone is raised by the remaining capacity, divided by a weight. So the remaining capacity falls on a
# straight line, as long as the exponent of the double stays the same. A rate, in units of its last bit, is a sum of
# rounded points of a line. Such a sum takes logarithmic time. A round is computed alone if rounding the quotient
# could change the rounding of the sum.


ENOUGH: Final = 1024
"""The number of single rounds before a jump is tried, and the smallest number of rounds for a jump."""
_LEAST: Final = 1 << 52
_MOST: Final = 1 << 53
"""Integer parts of a double, in units of its last bit, are between these."""
_SPARSE: Final = 256
"""A jump is made only if at most one in this number of rounds is computed alone."""
_ENDLESS: Final = 1 << 62


def jump(
    pipes: Sequence[tuple[float, float]], works: Sequence[tuple[int, float, float, float]]
) -> tuple[int, list[float], list[float]]:
    """Advance by many rounds in which no work reaches its bound.

    Args:
        pipes: the remaining capacity of each FATPIPE, and its loss in a round.
        works: for all work that grows: the index of its FATPIPE, the weight on it, rate, and bound (or infinity).

    Returns:
        The number of rounds, the remaining capacity of each FATPIPE, and the rate of each work. 0 rounds: no jump is
        possible. -1: nothing would ever change.
    """
    lines = [_Line(left, loss) for left, loss in pipes]
    sums = [_Sum(lines[pipe], weight, rate, bound) for pipe, weight, rate, bound in works]
    if not any(each.moves for each in sums):
        return -1, [], []
    rounds = min([*[line.rounds for line in lines], *[each.rounds for each in sums]])
    if rounds < ENOUGH or not all(each.is_sparse(rounds) for each in sums):
        return 0, [], []
    return rounds, [line.after(rounds) for line in lines], [each.after(rounds) for each in sums]


class _Line:
    """The remaining capacity of a FATPIPE in units of its last bit, which falls by the same number in each round."""

    __slots__ = ("left", "loss", "rounds", "unit")

    def __init__(self, left: float, loss: float) -> None:
        self.unit = unit = ulp(left)
        self.left = int(left / unit)
        lost = loss / unit
        self.loss = round(lost) if lost < _LEAST else _LEAST
        is_odd = lost - int(lost) == 0.5 and self.left % 2 == 1  # of the two nearest, the even one: the other, at first
        self.rounds = max((self.left - _LEAST) // self.loss - 1, 0) if self.loss else _ENDLESS
        if is_odd:
            self.rounds = 0

    def after(self, rounds: int) -> float:
        return (self.left - rounds * self.loss) * self.unit


class _Sum:
    """A rate in units of its last bit, to which quotients of a line are added.

    Their number of units, before it is rounded, is (first - round * fall) / whole, less a half.
    """

    __slots__ = ("fall", "first", "line", "moves", "rate", "rounds", "slack", "unit", "weight", "whole")

    def __init__(self, line: _Line, weight: float, rate: float, bound: float) -> None:
        self.line = line
        self.weight = weight
        self.unit = unit = ulp(rate)
        self.rate = int(rate / unit)
        growth = line.left * line.unit / weight  # it becomes no greater
        self.moves = line.loss > 0 or rate + growth != rate
        highest = min(unit * _MOST, bound)
        is_small = growth * ENOUGH <= rate and highest < inf
        self.rounds = int((highest - rate) / (growth + unit / 2) * (1 - 1e-9)) - 2 if is_small else 0
        ratio = Fraction(line.unit) / Fraction(weight) / Fraction(unit)
        self.whole = 2 * ratio.denominator
        self.first = 2 * line.left * ratio.numerator + ratio.denominator
        self.fall = 2 * line.loss * ratio.numerator
        self.slack = 0
        if ratio.denominator & (ratio.denominator - 1):  # else quotients are doubles
            error = Fraction(ulp(growth)) / Fraction(unit)  # twice as much as a quotient can be rounded by
            self.slack = ratio.denominator * error.numerator // error.denominator

    def is_sparse(self, rounds: int) -> bool:
        """Whether few of these rounds are computed alone."""
        if self.slack == 0:
            return True
        last = self.first - (rounds - 1) * self.fall
        unsure = _sum_of_floors(rounds, self.whole, self.fall, last + self.slack)
        unsure -= _sum_of_floors(rounds, self.whole, self.fall, last - self.slack - 1)
        return unsure * _SPARSE <= rounds

    def after(self, rounds: int) -> float:
        """The rate after these rounds."""
        rate, done = self.rate, 0
        while True:
            step()
            start = self.first - done * self.fall
            sure = _falls_below(self.fall, self.whole, start + self.slack, 2 * self.slack)
            sure = min(sure, rounds - done)
            rate += self._rise(done, sure)
            done += sure
            if done == rounds:
                return rate * self.unit
            rate = int((rate * self.unit + self.line.after(done) / self.weight) / self.unit)
            done += 1
            if self.slack == 0:
                up, walked = self._to_even(done, rounds - done)
                rate += up
                done += walked

    def _rise(self, done: int, rounds: int) -> int:
        """The total rise of these rounds, with halves rounded up."""
        last = self.first - (done + rounds - 1) * self.fall
        return _sum_of_floors(rounds, self.whole, self.fall, last)

    def _to_even(self, done: int, rounds: int) -> tuple[int, int]:
        """The rise and the number of the rounds up to the last sum in the middle between two doubles.

        It begins after such a sum, which was rounded to the even one.

        They are a period apart. The rise in a period is odd if its last sum is rounded down: to the even one, again.
        """
        period = self.whole // gcd(self.fall, self.whole)
        periods = rounds // period
        is_odd = self._rise(done, period) % 2
        changes = period * (self.fall * period // self.whole) % 2
        down = (periods + is_odd) // 2 if changes else periods * is_odd
        return self._rise(done, periods * period) - down, periods * period


def _sum_of_floors(count: int, whole: int, rise: int, start: int) -> int:
    """The sum of (start + i * rise) // whole for i in [0, count)."""
    total = 0
    while count > 0:
        total += count * (count - 1) // 2 * (rise // whole) + count * (start // whole)
        rise %= whole
        start %= whole
        count, start = divmod(count * rise + start, whole)  # the same points, by columns
        whole, rise = rise, whole
    return total


def _falls_below(fall: int, whole: int, start: int, most: int) -> int:
    """The first i >= 0 for which (start - i * fall) % whole <= most."""
    start %= whole
    return 0 if start <= most else _first_between(fall % whole, whole, start - most, start)


def _first_between(rise: int, whole: int, low: int, high: int) -> int:
    """The first i >= 0 for which low <= i * rise % whole <= high, with 0 < low <= high < whole."""
    if 2 * rise > whole:
        rise, low, high = whole - rise, whole - high, whole - low
    if rise == 0:
        return _ENDLESS
    first = -(-low // rise)
    if first * rise <= high:
        return first
    turns = _first_between(-whole % rise, rise, low % rise, high % rise)
    return _ENDLESS if turns == _ENDLESS else -(-(low + whole * turns) // rise)


WORK_AMOUNT: Final = 1e-5
"""A resource is used up when less than this remains, by default."""
_VERSIONS: Final = count(1)
"""The number of the next set of speeds, over all machines. A demand of several machines stores the set of its rate."""


class Work:
    """Work of 1, which advances at a rate after a latency.

    Attributes:
        number: its number; later work has a greater one.
        demand: its demand.
        latency: seconds to wait before it begins.
        remains: the remaining part.
        rate: current work per second.
        joined: its place among all work that uses resources, in the order of their beginnings; 0: it uses none.
        growth: the last increase of its rate while capacity was shared out.
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


class _SharedResource:
    """A shared resource: the cores of a host, or a link.

    Attributes:
        capacity: flops or bytes per second.
        is_fatpipe: whether every transfer gets the whole capacity.
        users: the work that uses it, with the needs of its parts; the newest last.
        left: the remaining capacity while capacity is shared out.
        offer: the capacity that each part is offered.
    """

    __slots__ = ("capacity", "is_fatpipe", "left", "offer", "users")

    def __init__(self, capacity: float, is_fatpipe: bool) -> None:
        self.capacity = capacity
        self.is_fatpipe = is_fatpipe
        self.users: dict[Work, tuple[float, ...]] = {}
        self.left = 0.0
        self.offer = 0.0


class Sharing:
    """The work that uses each resource, and the rates of all work.

    Args:
        corrected: whether a resource loses nothing for work that no longer grows. In SimGrid, it continues to lose the
            last amount of such work.
        work_amount: a resource is used up when less than this remains.

    Attributes:
        speeds: current flops per second of a core of each host.
        changed: the resources that have changed since `settle`.
    """

    __slots__ = ("_corrected", "_joined", "_resources", "_version", "changed", "speeds", "work_amount")

    def __init__(
        self, capacities: Sequence[float], speeds: Sequence[float], corrected: bool, work_amount: float
    ) -> None:
        self._corrected = corrected
        self._resources = [_SharedResource(capacity, False) for capacity in capacities]
        self._joined = 0
        self.work_amount = work_amount
        self._version = next(_VERSIONS)
        self.speeds = list(speeds)
        self.changed: dict[int, None] = {}

    def add_link(self, capacity: float, is_fatpipe: bool) -> int:
        """Add a resource."""
        self._resources.append(_SharedResource(capacity, is_fatpipe))
        return len(self._resources) - 1

    def resources(self) -> list[tuple[float, bool]]:
        """Capacity and kind of all resources."""
        return [(resource.capacity, resource.is_fatpipe) for resource in self._resources]

    def capacity(self, resource: int) -> float:
        """The capacity of a resource, per second."""
        return self._resources[resource].capacity

    def is_fatpipe(self, resource: int) -> bool:
        """Whether every transfer over this link gets the whole capacity."""
        return self._resources[resource].is_fatpipe

    def add(self, work: Work) -> None:
        """Let work use its resources."""
        self.begin(work)

    def begin(self, work: Work) -> None:
        """Let work use its resources, without a check of the limit."""
        work.rate = 0.0
        self._joined = work.joined = self._joined + 1
        for resource, weights in work.demand.weights.items():
            self._resources[resource].users[work] = weights
            self.changed[resource] = None

    def remove(self, work: Work) -> None:
        """Release the resources of work."""
        if work.joined:
            work.joined = 0
            for resource in work.demand.weights:
                del self._resources[resource].users[work]
                self.changed[resource] = None

    def change(self, host: int, speed: float, capacity: float) -> None:
        """Change the speed of a host."""
        self.speeds[host] = speed
        self._resources[host].capacity = capacity
        self._version = next(_VERSIONS)
        self.changed[host] = None

    def load(self, resource: int) -> float:
        """The total use of a resource per second."""
        total = 0.0
        for work, weights in reversed(self._resources[resource].users.items()):  # as SimGrid adds
            for weight in reversed(weights):
                total += weight * work.rate
        return total

    def settle(self, before: Callable[[int], None] | None = None) -> None:
        """Compute again the rates of all work that a change can affect.

        Args:
            before: called with the number of each work whose rate will change, before any rate changes.
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
            _announce(before, concerned, rates)

    def _connected(self) -> list[Work]:
        """The work that is connected with a change, in the order of numbers."""
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
        """Set the rate of work that shares no resource: it only changes with speeds."""
        demand = work.demand
        version, work.rate = demand._alone
        if version != self._version:
            self._share_out([work])
            demand._alone = (self._version, work.rate)

    def _bound(self, demand: PythonDemand) -> float:
        """The greatest rate of work that has all resources alone, as seen from a single part."""
        bound = demand.network_bound
        if bound == 0.0:  # SimGrid treats a bound of 0 as no bound
            return inf
        for host, flops in demand.flops.items():
            bound = min(bound, self.speeds[host] / flops)
        if self._corrected:  # each user gets the whole FATPIPE
            for number, weights in demand.weights.items():
                if self._resources[number].is_fatpipe:
                    bound = min(bound, self._resources[number].capacity / max(weights))
        return bound

    def _share_out(self, concerned: list[Work]) -> None:
        """Raise all rates together until each stops at its bound or at a resource that is used up."""
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

    def _raise_all(self, left: dict[int, _SharedResource], growing: dict[Work, None]) -> None:
        """One round: raise all work that grows, and stop work at its bound or at a resource that is used up."""
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

    def _jump(self, left: dict[int, _SharedResource], growing: dict[Work, None]) -> bool:
        """Skip many rounds at once if all work that grows uses only a FATPIPE; whether the rounds end."""
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


def _is_used_up(resource: _SharedResource, least: float) -> bool:
    """Subtract the shares of all work from a resource; whether the resource is used up."""
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


def _announce(before: Callable[[int], None], concerned: list[Work], rates: list[float]) -> None:
    """Call `before` for the work whose rate will change, while all work has the old rates."""
    after = [work.rate for work in concerned]
    for work, rate in zip(concerned, rates, strict=True):
        work.rate = rate
    for work, rate in zip(concerned, after, strict=True):
        if work.rate != rate:
            before(work.number)
    for work, rate in zip(concerned, after, strict=True):
        work.rate = rate
