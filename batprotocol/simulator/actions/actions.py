"""All that is under way, in Python."""

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
    """All that is under way, and the hosts and links that it uses.

    Args:
        capacities: flops per second of all cores of each host now.
        speeds: flops per second of one core of each host now.
        corrected: whether a resource loses nothing for work that grows no more; in SimGrid, it goes on losing what such
            work got last.
        timing: a sleep or a latency with less left, in seconds, is over (SimGrid's `precision/timing`).
        work_amount: a resource of which less is left is used up (`precision/work-amount`). Work is done with less left,
            of 1, than the product of both.

    Hosts are resources, and have the numbers that they have in `capacities`; links follow. Each action has a number, by
    which it is known until it has ended or was cancelled; one that began later has a greater one.
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
        """A new link: its number. Of a fatpipe, each transfer gets all."""
        return self._sharing.add_link(capacity, is_fatpipe)

    def capacity(self, resource: int) -> float:
        """What a resource gives in a second, in flops or bytes."""
        return self._sharing.capacity(resource)

    def change(self, host: int, speed: float, capacity: float) -> None:
        """A core of a host has another speed now, and all its cores together this one."""
        self._sharing.change(host, speed, capacity)

    def load(self, resource: int) -> float:
        """What all together take of a resource in a second, at the rates that were found last."""
        return self._sharing.load(resource)

    def demand(
        self,
        executors: Sequence[int],
        flops: Sequence[float],
        transfers: Transfers,
        under_way: float,
        path: Path,
    ) -> PythonDemand:
        """What work takes.

        Args:
            executors: the host of each; -1 stands for the master, which computes nothing.
            flops: what each computes.
            transfers: what they send to one another; a single executor has nobody to send anything to.
            under_way: how many bytes of a transfer can be under way at most.
            path: tells the ways, each of which is asked for only once.
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
        """Somebody sleeps for so many seconds, more than 0: its number."""
        self._next = number = self._next + 1
        self._sleeps.add(number, seconds)
        return number

    def work(self, demand: PythonDemand, remains: float) -> int:
        """Work begins, of which so much of 1 is to do: its number."""
        self._next = number = self._next + 1
        work = self._works[number] = Work(number, demand, remains)
        if work.latency <= 0.0:
            self._sharing.add(work)
            if not demand.weights:
                work.rate = 1.0
        return number

    def cancel(self, number: int) -> None:
        """An action ends now, without having come to its end."""
        work = self._works.pop(number, None)
        if work is not None:
            self._sharing.remove(work)
        else:
            self._sleeps.remove(number)

    def remains(self, number: int) -> float:
        """The part of some work that is still to do, in [0,1]."""
        return self._works[number].remains

    # Time

    @property
    def is_settled(self) -> bool:
        """Whether nothing has changed since `settle`."""
        return not self._sharing.changed

    def settle(self, before: Callable[[int], None] | None = None) -> None:
        """Find the rates anew of all work that a change can concern.

        Args:
            before: told the number of each work whose rate will change, before any does.
        """
        self._sharing.settle(before)

    def step(self, most: float) -> float:
        """The seconds until the next step, in which an action or a latency ends: no more than `most`.

        Rates must have been settled.
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
        """Make a step: the numbers of all actions that have come to their ends, in order.

        Work that has ended uses its resources until `retire`.
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
        """What has ended in the last step uses no resources any more."""
        for work in self._ended:
            self._sharing.remove(work)
        self._ended.clear()

    def go_on(self, most: float) -> tuple[float, list[int]]:
        """Settle, and make a step of no more than `most`: its seconds, and the numbers of what has ended, in order.

        What has ended uses no resources any more. A step that would never end is not made.
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
        """The state as both kinds of actions have it, between two steps."""
        resources = self._sharing.resources()
        left = self._sleeps.left()
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
    """Actions of the kind that is usual here, which get their state next."""
    made: PythonActions = usual.Actions((), (), False)
    return made


def _number(joined: tuple[int, float, Work]) -> int:
    return joined[2].number


def _place(joined: tuple[int, float, Work]) -> int:
    return joined[0]
