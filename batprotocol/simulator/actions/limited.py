"""SimGrid's `maxmin/concurrency-limit`: the maximum number of parts of work on a host or a link. Other work waits.

It is rare, so it exists only in Python, in subclasses of the classes without a limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from batprotocol.simulator.actions.actions import PythonActions
from batprotocol.simulator.actions.demand import Path, PythonDemand, Transfers
from batprotocol.simulator.actions.sharing import WORK_AMOUNT, Sharing, Work
from batprotocol.simulator.actions.sleeps import TIMING
from batprotocol.simulator.actions.usual import usual

__all__ = ["LimitedActions", "actions_for"]


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
