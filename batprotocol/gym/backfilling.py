"""Which jobs start while a chosen one waits for hosts: the kinds of backfilling of `policies`, on columns of numbers.

Those of `policies` ask a queue of objects that a scheduler keeps; here, all jobs that wait are looked at in a few
operations of numpy, which costs a tenth. A test compares both, job by job.
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
    """A kind of backfilling, or its name as in policies (`easy=fcfs`); None stands for none.

    Raises:
        InputError: there is none of this name, or it is one that needs a scheduler: of those with reservations, EASY.
    """
    kind: Any = given
    if isinstance(given, str):
        try:
            kind = named(given)().backfilling
        except PolicyNameError:
            raise InputError(f"there is no backfilling {shown(given)}; see batproto policies") from None
    if kind is None or isinstance(kind, NoBackfilling):
        return None
    if isinstance(kind, EASY | Greedy):
        return kind
    raise InputError(f"expected EASY or greedy backfilling, or none, got {shown(given)}")


class Backfiller:
    """Starts jobs before the turn of one that waits for hosts.

    Args:
        kind: how.
        log: the jobs.
        shown: whether the queue itself is in the order in which jobs are tried.
    """

    def __init__(self, kind: EASY | Greedy, log: Log, is_in_order: bool) -> None:
        self.kind = kind
        self._log = log
        self._ranks = None if is_in_order or kind.order is None else _ranks(kind, log)
        self._easy = easy = kind if isinstance(kind, EASY) else None
        self.rules = (True, easy.spare, easy.strict, easy.once) if easy else (False, False, False, False)
        """How, in four words: whether it is EASY, and its options."""
        self._slack = log.resolution / 2

    def tried(self, first: int, count: int) -> npt.NDArray[np.int64] | None:
        """The order in which the jobs of an episode are tried, as ranks; None: that of the queue."""
        return None if self._ranks is None else self._ranks[first : first + count]

    def begin(self, world: World, job: int) -> tuple[float, int]:
        """A job begins to wait: start what may start now. What `go_on` is to be given next."""
        limits = self.limits(world, job)
        if world.queue and world.free:
            return self._start(world, limits)
        return limits

    def go_on(self, world: World, job: int, event: int, limits: tuple[float, int]) -> tuple[float, int]:
        """Something has happened, and the job still waits: start what may start now."""
        easy = self._easy
        if easy is not None and not easy.once and event < 0:
            limits = self.limits(world, job)
        if not world.free or not world.queue:
            return limits
        if event >= 0:  # of those that came before, none fits that did not fit already
            size = world.sizes[event]
            may = world.walltimes[event] <= limits[0] - world.now or size <= limits[1]
            if size > world.free or not may:
                return limits
        return self._start(world, limits)

    def limits(self, world: World, job: int) -> tuple[float, int]:
        """By when others must have ended as the job is to start then, and how many hosts it leaves free."""
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
        """The places in the queue of the jobs that may start now, each if it is the only one."""
        numbers = world.head(world.count) + world.first
        sizes = self._log.sizes.take(numbers)
        fits: npt.NDArray[np.bool_] = sizes <= world.free
        if self._easy is not None:
            fits &= self._log.walltimes.take(numbers) <= limits[0] - world.now
            if limits[1]:
                fits |= sizes <= min(limits[1], world.free)
        return np.flatnonzero(fits)

    def _start(self, world: World, limits: tuple[float, int]) -> tuple[float, int]:
        """Start all that may, one after the other: each leaves less room to those behind it."""
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
        what = "jobs that start before their turn are tried in an order that does not change with time"
        raise InputError(f"{what}, not {order.name or shown(order)}")
    return log.ranks(order)
