"""All actions of a simulation, in Python."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final, TypeAlias

from batprotocol.simulator.actions.demand import Path, PythonDemand, Transfers, amounts
from batprotocol.simulator.actions.sharing import WORK_AMOUNT, Sharing, Work
from batprotocol.simulator.actions.sleeps import TIMING, Sleeps
from batprotocol.simulator.actions.usual import usual

__all__ = ["PythonActions", "restored"]

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
