"""Backfilling while a chosen job waits for hosts: the kinds of backfilling of `policies`, on columns of numbers.

Those of `policies` search a queue of objects that a scheduler keeps. Here, a few operations of numpy check all waiting
jobs, at a tenth of the cost. A test compares both, job by job.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from batprotocol.errors import InputError, shown
from batprotocol.gym.log import Log
from batprotocol.gym.worlds.world import World
from batprotocol.policies import EASY, FCFS, Backfilling, Greedy, NoBackfilling, PolicyNameError, named

__all__ = ["Backfiller", "backfilling_of"]


def backfilling_of(given: Backfilling | str | None) -> EASY | Greedy | None:
    """The kind of backfilling with a name of `policies` (`easy=fcfs`), or a given one; None: no backfilling.

    Raises:
        InputError: there is none of this name, or it is not EASY, greedy or none.
    """
    kind: Any = given
    if isinstance(given, str):
        try:
            kind = named(given)().backfilling
        except PolicyNameError:
            raise InputError(f"there is no backfilling {shown(given)}; `batproto policies` lists all") from None
    if kind is None or isinstance(kind, NoBackfilling):
        return None
    if isinstance(kind, EASY | Greedy):
        return kind
    raise InputError(f"expected EASY or greedy backfilling, or none, got {shown(given)}")


class Backfiller:
    """Starts jobs before the turn of a job that waits for hosts.

    Args:
        kind: the kind of backfilling.
        log: the jobs.
        is_in_order: whether the queue is in the order in which jobs are tried.
    """

    def __init__(self, kind: EASY | Greedy, log: Log, is_in_order: bool) -> None:
        self.kind = kind
        self._log = log
        self._ranks = None if is_in_order or kind.order is None else _ranks(kind, log)
        self._easy = easy = kind if isinstance(kind, EASY) else None
        self.rules = (True, easy.spare, easy.strict, easy.once) if easy else (False, False, False, False)
        """Whether it is EASY, and its three options."""
        self._slack = log.resolution / 2

    def tried(self, first: int, count: int) -> npt.NDArray[np.int64] | None:
        """The order in which the jobs of an episode are tried, as ranks; None: the queue order."""
        return None if self._ranks is None else self._ranks[first : first + count]

    def begin(self, world: World, job: int) -> tuple[float, int]:
        """Start the jobs that may start now, as a chosen job begins to wait. Return the limits for `go_on`."""
        limits = self.limits(world, job)
        if world.queue and world.free:
            return self._start(world, limits)
        return limits

    def go_on(self, world: World, job: int, event: int, limits: tuple[float, int]) -> tuple[float, int]:
        """Start the jobs that may start now, after an event, as the chosen job still waits. Return the new limits."""
        easy = self._easy
        if easy is not None and not easy.once and event < 0:
            limits = self.limits(world, job)
        if not world.free or not world.queue:
            return limits
        if event >= 0:  # jobs that came before do not fit now if they did not fit before
            size = world.sizes[event]
            may = world.walltimes[event] <= limits[0] - world.now or size <= limits[1]
            if size > world.free or not may:
                return limits
        return self._start(world, limits)

    def limits(self, world: World, job: int) -> tuple[float, int]:
        """The time of the start of the job, before which others must end, and the number of hosts it leaves free."""
        if self._easy is None:
            return math.inf, 0
        free, size = world.free, world.sizes[job]
        latest, spare = math.inf, 0
        for end, other in zip(world.ends, world.end_jobs, strict=True):
            if end > latest:  # all that end together with the last one that it needs count
                break
            free += world.sizes[other]
            if free >= size and latest == math.inf:
                latest = max(end, world.now) + self._slack
        if self._easy.spare and latest < math.inf:
            spare = free - size
        return latest - self._slack + (-self._slack if self._easy.strict else self._slack), spare

    def may_start(self, world: World, limits: tuple[float, int]) -> npt.NDArray[np.int64]:
        """The places in the queue of the jobs that may start now, if only one of them starts."""
        numbers = world.head(world.count) + world.first
        sizes = self._log.sizes.take(numbers)
        fits: npt.NDArray[np.bool_] = sizes <= world.free
        if self._easy is not None:
            fits &= self._log.walltimes.take(numbers) <= limits[0] - world.now
            if limits[1]:
                fits |= sizes <= min(limits[1], world.free)
        return np.flatnonzero(fits)

    def _start(self, world: World, limits: tuple[float, int]) -> tuple[float, int]:
        """Start all jobs that may start, one after the other. Each leaves fewer hosts for those behind it."""
        places = self.may_start(world, limits)
        if not len(places):
            return limits
        jobs = [world.queue[place] for place in places.tolist()]
        if self._ranks is not None and len(jobs) > 1:
            jobs.sort(key=self._ranks[world.first : world.first + world.count].__getitem__)
        latest, spare = limits
        for job in jobs:
            size = world.sizes[job]
            if size > world.free:
                continue
            if world.walltimes[job] > latest - world.now:
                if size > spare:
                    continue
                spare -= size
            world.take(world.queue.index(job))
            world.start(job)
        return latest, spare


def _ranks(kind: EASY | Greedy, log: Log) -> npt.NDArray[np.int64]:
    order = kind.order
    if order is None or isinstance(order, FCFS):
        return np.arange(len(log))
    if order.changes:
        what = "expected an order of backfilling that does not change with time"
        raise InputError(f"{what}, got {order.name or shown(order)}")
    return log.ranks(order)
