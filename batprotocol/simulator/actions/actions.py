"""All actions of a simulation, in Python: sleeps, and work that shares hosts and links."""

from __future__ import annotations

from array import array
from bisect import insort
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from math import frexp, inf, ldexp
from typing import Any, Final, TypeAlias

from batprotocol._util.deprecation import OldName
from batprotocol.simulator.actions.demand import Path, PythonDemand, Transfers, amounts, usual
from batprotocol.simulator.actions.sharing import WORK_AMOUNT, Sharing, Work

__all__ = [
    "TIMING",
    "LimitedActions",
    "PythonActions",
    "Sleeps",
    "actions_for",
    "restored",
]


# Sleeps
#
# Each step is subtracted from the remaining time of each sleep, with the rounding of doubles. This need not be done
# one by one. Between two powers of two, all doubles are multiples of one unit, so a step takes the same whole number
# of units from each of them. Only a step in the middle between two multiples takes one unit more or less, which
# depends on their last bits. So sleeps are in groups by their exponents. Each group stores the units that it has lost
# in all, and the cost of a step depends on the number of groups, not on the number of sleeps. If a sleep comes near
# the lower end of its group, the step is subtracted from it alone, and it moves to another group.


TIMING: Final = 1e-9
"""A sleep or a latency ends when less than this remains, in seconds, by default."""
_DIGITS: Final = 52
_MANY_DEAD: Final = 64


class _SleepGroup:
    """The sleeps of which 2**exponent seconds or more remain, and less than twice as many.

    Attributes:
        unit: the unit of which they are multiples, in seconds.
        scale: the number of units in a second.
        least: a sleep of this number of units or fewer may leave the group.
        lost: the number of units that each sleep has lost since the group was made.
        heap: for each sleep its units at that time, and its number.
    """

    __slots__ = ("exponent", "heap", "least", "lost", "scale", "unit")

    def __init__(self, exponent: int, timing: float) -> None:
        self.exponent = exponent
        self.unit = ldexp(1.0, exponent - _DIGITS)
        self.scale = ldexp(1.0, _DIGITS - exponent)
        self.least = max(1 << _DIGITS, int(timing * self.scale) + 1)
        self.lost = 0
        self.heap: list[tuple[int, int]] = []

    def __lt__(self, other: _SleepGroup) -> bool:
        return self.exponent < other.exponent


class Sleeps:
    """All sleeps, by number.

    Args:
        timing: a sleep ends when less than this remains, in seconds.
    """

    __slots__ = ("_awake", "_by_exponent", "_groups", "_numbers", "_short", "timing")

    def __init__(self, timing: float) -> None:
        self.timing = timing
        self._numbers: set[int] = set()
        self._groups: list[_SleepGroup] = []
        self._by_exponent: dict[int, _SleepGroup] = {}
        self._short: list[tuple[float, int]] = []
        self._awake = 0

    def __contains__(self, number: int) -> bool:
        return number in self._numbers

    def add(self, number: int, seconds: float) -> None:
        """Add a sleep of more than 0 seconds."""
        self._numbers.add(number)
        self._insert(number, seconds)

    def _insert(self, number: int, seconds: float) -> None:
        if seconds < self.timing:  # it ends with the next step, however short that is
            self._short.append((seconds, number))
            return
        if seconds == inf:
            return
        exponent = frexp(seconds)[1] - 1
        group = self._by_exponent.get(exponent)
        if group is None:
            group = self._by_exponent[exponent] = _SleepGroup(exponent, self.timing)
            insort(self._groups, group)
        heappush(group.heap, (int(seconds * group.scale) + group.lost, number))

    def remove(self, number: int) -> None:
        """Remove a sleep."""
        self._numbers.remove(number)
        self._awake += 1
        if self._awake > _MANY_DEAD and self._awake > len(self._numbers):
            self._forget()

    def _forget(self) -> None:
        """Drop the sleeps that were removed."""
        for group in self._groups:
            group.heap = [each for each in group.heap if each[1] in self._numbers]
            heapify(group.heap)
        self._short = [each for each in self._short if each[1] in self._numbers]
        self._drop_empty()
        self._awake = 0

    def _drop_empty(self) -> None:
        self._groups = [group for group in self._groups if group.heap]
        self._by_exponent = {group.exponent: group for group in self._groups}

    def earliest(self) -> float:
        """The smallest remaining time; infinite if there is no sleep."""
        numbers = self._numbers
        if self._short:
            self._short = [each for each in self._short if each[1] in numbers]
            if self._short:
                return min(self._short)[0]
        while self._groups:
            group = self._groups[0]
            heap = group.heap
            while heap and heap[0][1] not in numbers:
                heappop(heap)
                self._awake -= 1
            if heap:
                return (heap[0][0] - group.lost) * group.unit
            self._drop_empty()
        return inf

    def subtract(self, seconds: float) -> list[int]:
        """Advance time by at most `earliest`, and return the numbers of the sleeps that have ended."""
        ended: list[int] = []
        moved: list[tuple[float, int]] = []
        if self._short:
            ended = [number for _, number in self._short]
            self._short = []
        for group in self._groups if seconds > 0.0 else ():
            amount = seconds * group.scale
            whole = round(amount)
            before, heap, unit = group.lost, group.heap, group.unit
            if amount - whole == 0.5 or whole - amount == 0.5:  # the last bit of each decides
                moved += [((units - before) * unit - seconds, number) for units, number in heap]
                heap.clear()
                continue
            group.lost = lost = before + whole
            while heap and heap[0][0] - lost <= group.least:
                units, number = heappop(heap)
                moved.append(((units - before) * unit - seconds, number))
        if moved:
            for left, number in moved:
                if left < self.timing:
                    ended.append(number)
                elif number in self._numbers:
                    self._insert(number, left)
            self._drop_empty()
        if ended:
            ended = [number for number in ended if number in self._numbers]
            self._numbers.difference_update(ended)
        return ended

    left = OldName("remaining")

    def remaining(self) -> dict[int, float]:
        """The remaining seconds of each sleep."""
        found = dict.fromkeys(sorted(self._numbers), inf)
        for group in self._groups:
            for units, number in group.heap:
                if number in found:
                    found[number] = (units - group.lost) * group.unit
        found.update((number, seconds) for seconds, number in self._short if number in found)
        return found


_MOST_PATHS: Final = 1 << 20

_WorkState: TypeAlias = tuple[int, PythonDemand, float, float, float, int]
State: TypeAlias = tuple[int, bool, bytes, bytes, bytes, list[int], bytes, bytes, list[_WorkState], float, float]


class PythonActions:
    """All actions, and the hosts and links that they use.

    Args:
        capacities: current flops per second of all cores of each host.
        speeds: current flops per second of one core of each host.
        corrected: whether a resource loses nothing for work that no longer grows. In SimGrid, it continues to lose the
            last amount of such work.
        timing: a sleep or a latency ends when less than this remains, in seconds (SimGrid's `precision/timing`).
        work_amount: a resource is used up when less than this remains (`precision/work-amount`). Work ends when less
            than the product of both remains of 1.

    Hosts are resources with the same numbers as in `capacities`. Links follow. Each action has a number, which is valid
    until the action ends or is cancelled. Later actions have greater numbers.
    """

    __slots__ = ("_corrected", "_ended", "_next", "_paths", "_sharing", "_sleeps", "_work_left", "_works")

    def __init__(
        self,
        capacities: Sequence[float],
        speeds: Sequence[float],
        corrected: bool,
        timing: float = TIMING,
        work_amount: float = WORK_AMOUNT,
    ) -> None:
        self._corrected = corrected
        self._next = 0
        self._sleeps = Sleeps(timing)
        self._work_left = work_amount * timing
        self._works: dict[int, Work] = {}
        self._ended: list[Work] = []
        self._paths: dict[tuple[int, int], tuple[float, Sequence[int]]] = {}
        self._sharing = self._new_sharing(capacities, speeds, work_amount)

    def _new_sharing(self, capacities: Sequence[float], speeds: Sequence[float], work_amount: float) -> Sharing:
        return Sharing(capacities, speeds, self._corrected, work_amount)

    # Resources

    def add_link(self, capacity: float, is_fatpipe: bool) -> int:
        """Add a link, and return its number. Each transfer gets the whole capacity of a fatpipe."""
        return self._sharing.add_link(capacity, is_fatpipe)

    def capacity(self, resource: int) -> float:
        """The capacity of a resource, in flops or bytes per second."""
        return self._sharing.capacity(resource)

    def change(self, host: int, speed: float, capacity: float) -> None:
        """Change the speed of a core of a host, and the capacity of all its cores."""
        self._sharing.change(host, speed, capacity)

    def load(self, resource: int) -> float:
        """The total use of a resource per second, at the current rates."""
        return self._sharing.load(resource)

    def demand(
        self,
        executors: Sequence[int],
        flops: Sequence[float],
        transfers: Transfers,
        under_way: float,
        path: Path,
    ) -> PythonDemand:
        """The demand of work.

        Args:
            executors: the host of each executor; -1 stands for the master, which computes nothing.
            flops: the flops of each executor.
            transfers: the transfers between executors. A single executor has none.
            under_way: the maximum number of bytes of a transfer that can be under way.
            path: returns the latency and the links of a route. Each route is requested only once.
        """
        paths = self._paths

        def known(source: int, target: int) -> tuple[float, Sequence[int]]:
            found = paths.get((source, target))
            if found is None:
                if len(paths) >= _MOST_PATHS:
                    paths.clear()
                found = paths[source, target] = path(source, target)
            return found

        return PythonDemand(*amounts(executors, flops, transfers, under_way, known, self._sharing.is_fatpipe))

    # Actions

    def sleep(self, seconds: float) -> int:
        """Begin a sleep of more than 0 seconds, and return its number."""
        self._next = number = self._next + 1
        self._sleeps.add(number, seconds)
        return number

    def work(self, demand: PythonDemand, remains: float) -> int:
        """Begin work of which `remains` of 1 is to be done, and return its number."""
        self._next = number = self._next + 1
        work = self._works[number] = Work(number, demand, remains)
        if work.latency <= 0.0:
            self._sharing.add(work)
            if not demand.weights:
                work.rate = 1.0
        return number

    def cancel(self, number: int) -> None:
        """Stop an action before its end."""
        work = self._works.pop(number, None)
        if work is not None:
            self._sharing.remove(work)
        else:
            self._sleeps.remove(number)

    def remains(self, number: int) -> float:
        """The remaining part of work, in [0,1]."""
        return self._works[number].remains

    # Time

    @property
    def is_settled(self) -> bool:
        """Whether nothing has changed since `settle`."""
        return not self._sharing.changed

    def settle(self, before: Callable[[int], None] | None = None) -> None:
        """Compute again the rates of all work that a change can affect.

        Args:
            before: called with the number of each work whose rate will change, before any rate changes.
        """
        self._sharing.settle(before)

    def step(self, most: float) -> float:
        """The seconds until the next end of an action or a latency, at most `most`.

        Call `settle` first.
        """
        step = min(most, self._sleeps.earliest())
        for work in self._works.values():
            rate, latency = work.rate, work.latency
            if rate > 0.0:
                step = min(step, work.remains / rate)
            if 0.0 < latency < step:
                step = latency
        return step

    def advance(self, seconds: float) -> list[int]:
        """Make a step, and return the numbers of all actions that have ended, in order.

        Ended work uses its resources until `retire`.
        """
        ended = self._sleeps.subtract(seconds)
        for work in self._works.values():
            rate, latency = work.rate, work.latency
            if latency > 0.0:
                latency = latency - seconds if latency > seconds else 0.0
                if latency < self._sleeps.timing:
                    latency = 0.0
                    self._sharing.add(work)
                work.latency = latency
            work.remains -= rate * seconds
            if work.remains < self._work_left:
                work.remains = 0.0
                if latency <= 0.0:
                    self._ended.append(work)
        for work in self._ended:
            del self._works[work.number]
            ended.append(work.number)
        if len(ended) > 1:
            ended.sort()
        return ended

    def retire(self) -> None:
        """Release the resources of the work that ended in the last step."""
        for work in self._ended:
            self._sharing.remove(work)
        self._ended.clear()

    def go_on(self, most: float) -> tuple[float, list[int]]:
        """Settle, and make a step of at most `most`. Return its seconds, and the numbers of ended actions, in order.

        The resources of ended work are released. A step that would never end is not made.
        """
        self._sharing.settle()
        seconds = self.step(most)
        if seconds == inf:
            return inf, []
        ended = self.advance(seconds)
        if self._ended:
            self.retire()
        return seconds, ended

    # Copies

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (), self.__getstate__()

    def __copy__(self) -> PythonActions:
        made = PythonActions((), (), False)
        made.__setstate__(self.__getstate__())
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> PythonActions:
        return self.__copy__()

    def __getstate__(self) -> State:
        """The state between two steps, in the format of both kinds of actions."""
        resources = self._sharing.resources()
        left = self._sleeps.remaining()
        return (
            self._next,
            self._corrected,
            array("d", [capacity for capacity, _ in resources]).tobytes(),
            bytes(is_fatpipe for _, is_fatpipe in resources),
            array("d", self._sharing.speeds).tobytes(),
            list(self._sharing.changed),
            array("q", left).tobytes(),
            array("d", left.values()).tobytes(),
            [
                (work.number, work.demand, work.latency, work.remains, work.rate, work.joined)
                for work in self._works.values()
            ],
            self._sleeps.timing,
            self._sharing.work_amount,
        )

    def __setstate__(self, state: State) -> None:
        following, corrected, capacities, fatpipes, speeds, changed, numbers, seconds, works, timing, amount = state
        speed_of = array("d", speeds)
        PythonActions.__init__(self, (), speed_of, corrected, timing, amount)
        self._next = following
        for capacity, is_fatpipe in zip(array("d", capacities), fatpipes, strict=True):
            self._sharing.add_link(capacity, bool(is_fatpipe))
        for number, left in zip(array("q", numbers), array("d", seconds), strict=True):
            self._sleeps.add(number, left)
        joined = []
        for number, demand, latency, remains, rate, place in works:
            work = self._works[number] = Work(number, demand, remains)
            work.latency = latency
            joined.append((place, rate, work))
        for place, rate, work in sorted(joined, key=_place):
            if place:
                self._sharing.begin(work)
            work.rate = rate
        for _, _, work in sorted(joined, key=_number):
            if not work.joined and work.latency <= 0.0 and work.demand.weights:
                self._sharing.add(work)  # it waits
        self._sharing.changed = dict.fromkeys(changed)


def restored() -> PythonActions:
    """Actions of the default kind, whose state is set next."""
    made: PythonActions = usual.Actions((), (), False)
    return made


def _number(joined: tuple[int, float, Work]) -> int:
    return joined[2].number


def _place(joined: tuple[int, float, Work]) -> int:
    return joined[0]


# Limits of concurrency
#
# SimGrid's `maxmin/concurrency-limit` is the maximum number of parts of work on a host or a link. Other work waits.
# It is rare, so it exists only in Python, in subclasses of the classes without a limit.


def actions_for(
    capacities: Sequence[float], speeds: Sequence[float], corrected: bool, timing: float, work_amount: float, limit: int
) -> Any:
    """Actions of the kind for a limit; 0: no limit."""
    if limit:
        return LimitedActions(capacities, speeds, corrected, timing, work_amount, limit)
    return usual.Actions(capacities, speeds, corrected, timing, work_amount)


class _LimitedDemand(PythonDemand):
    """The demand of work, and the hosts of all its executors. The limit also holds for those that compute nothing."""

    __slots__ = ("hosts",)

    def __init__(
        self,
        weights: dict[int, tuple[float, ...]],
        flops: dict[int, float],
        network_bound: float,
        latency: float,
        hosts: tuple[int, ...],
    ) -> None:
        super().__init__(weights, flops, network_bound, latency)
        self.hosts = hosts

    def __reduce__(self) -> tuple[Any, ...]:
        return _LimitedDemand, (self.weights, self.flops, self.network_bound, self.latency, self.hosts)


class _LimitedSharing(Sharing):
    """The work that uses each resource, and the work that waits for a resource.

    As in SimGrid, only parts that need 1 or more of a resource count.
    """

    __slots__ = ("_limit", "_used", "_waiting")

    def __init__(
        self, capacities: Sequence[float], speeds: Sequence[float], corrected: bool, work_amount: float, limit: int
    ) -> None:
        super().__init__(capacities, speeds, corrected, work_amount)
        self._limit = limit
        self._used: dict[int, int] = {}
        self._waiting: dict[int, Work] = {}

    def add(self, work: Work) -> None:
        """Let work use its resources, or wait for them."""
        if self._has_room(work) if work.demand.latency > 0.0 else self._fits(work):
            self.begin(work)
        else:
            work.rate = 0.0
            self._waiting[work.number] = work

    def remove(self, work: Work) -> None:
        """Release the resources of work. Work that waited for them begins, in the order of creation."""
        self._waiting.pop(work.number, None)
        if work.joined:
            super().remove(work)
            for number in _all_of(work.demand):
                self._used[number] = self._used.get(number, 0) - _parts(work.demand.weights.get(number, ()))
                self._admit(number)

    def begin(self, work: Work) -> None:
        """Let work use its resources, without a check of the limit."""
        for number, weights in work.demand.weights.items():
            self._used[number] = self._used.get(number, 0) + _parts(weights)
        super().begin(work)

    def _fits(self, work: Work) -> bool:
        weights = work.demand.weights
        return all(self._used.get(number, 0) + _parts(weights[number]) <= self._limit for number in weights)

    def _has_room(self, work: Work) -> bool:
        """SimGrid's test for work that did not begin at once. Its further parts may exceed the limit: Batsim aborts."""
        return all(self._used.get(number, 0) < self._limit for number in _all_of(work.demand))

    def _admit(self, resource: int) -> None:
        for number in sorted(self._waiting):
            work = self._waiting[number]
            if resource in _all_of(work.demand) and self._has_room(work):
                del self._waiting[number]
                self.begin(work)
                if self._used[resource] == self._limit:
                    return


class LimitedActions(PythonActions):
    """All actions, if at most `limit` parts can use a host or a link at the same time."""

    __slots__ = ("_limit",)

    def __init__(
        self,
        capacities: Sequence[float],
        speeds: Sequence[float],
        corrected: bool,
        timing: float,
        work_amount: float,
        limit: int,
    ) -> None:
        self._limit = limit
        super().__init__(capacities, speeds, corrected, timing, work_amount)

    def _new_sharing(self, capacities: Sequence[float], speeds: Sequence[float], work_amount: float) -> Sharing:
        return _LimitedSharing(capacities, speeds, self._corrected, work_amount, self._limit)

    def demand(
        self, executors: Sequence[int], flops: Sequence[float], transfers: Transfers, under_way: float, path: Path
    ) -> PythonDemand:
        """The demand of work."""
        found = super().demand(executors, flops, transfers, under_way, path)
        hosts = tuple(dict.fromkeys(host for host in executors if host >= 0))
        return _LimitedDemand(found.weights, found.flops, found.network_bound, found.latency, hosts)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._limit,), self.__getstate__()

    def __copy__(self) -> PythonActions:
        made = _restored(self._limit)
        made.__setstate__(self.__getstate__())
        return made


def _restored(limit: int) -> LimitedActions:
    return LimitedActions((), (), False, TIMING, WORK_AMOUNT, limit)


def _parts(weights: Sequence[float]) -> int:
    return sum([weight >= 1.0 for weight in weights])


def _all_of(demand: PythonDemand) -> dict[int, None]:
    """The resources of a demand, in the order in which SimGrid has them."""
    hosts = demand.hosts if isinstance(demand, _LimitedDemand) else ()
    return dict.fromkeys((*hosts, *demand.weights))
