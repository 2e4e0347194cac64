"""EASY backfilling: the first job of the queue has a reservation that no other job delays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from batprotocol.policies.backfilling.base import Backfilling, in_turn
from batprotocol.policies.jobs import State, WaitingJob
from batprotocol.policies.orders import Order
from batprotocol.policies.queue import Gap, Queue

__all__ = ["EASY", "Shadow"]


class Shadow(NamedTuple):
    """The latest time at which the first job can start, and the number of hosts that it leaves free from then on."""

    time: float
    spare: int


class EASY(Backfilling):
    """The first job starts when enough running jobs have ended. Others may start now if they do not delay it.

    Args:
        order: the order in which the other jobs are tried; None: the queue order.
        spare: whether other jobs may still run when the first one starts, on hosts that it leaves free.
        strict: whether the other jobs must end before the start of the first one; by default, they may end at it.
        once: whether the start of the first job is computed only once, when it must wait for the first time. By
            default, it is computed after each event, so that the first job gains from jobs that end early.
    """

    name = "easy"
    sentence = "The first job has a reservation; others start before their turn if they do not delay it."
    source = "Lifka, JSSPP 1995; Mu'alem and Feitelson, TPDS 12, 2001"

    def __init__(
        self, order: Order | None = None, *, spare: bool = True, strict: bool = False, once: bool = False
    ) -> None:
        self.order = order
        self.spare, self.strict, self.once = spare, strict, once

    def begin(self, queue: Queue, state: State) -> None:
        self._ranking = queue.by(self.order)
        self._known: tuple[int, Shadow] | None = None

    def starting(self, queue: Queue, state: State) -> Iterator[WaitingJob]:
        yield from in_turn(queue, state)
        first = queue.first()
        if first is None:
            return
        shadow = self._shadow(first, state)
        spare = shadow.spare
        # Two rounded times never differ by half of the resolution.
        slack = state.resolution / 2
        seconds = shadow.time - state.now + (-slack if self.strict else slack)
        if self.strict and not slack:
            seconds = math.nextafter(seconds, -math.inf)
        while state.room:
            job = self._ranking.first_in(Gap((state.room, seconds), (min(spare, state.room), math.inf)))
            if job is None:
                return
            if job.expected > seconds:
                spare -= job.size
            yield job

    def _shadow(self, first: WaitingJob, state: State) -> Shadow:
        if not self.once:
            return self.shadow(first, state)
        if self._known is None or self._known[0] != first.number:
            self._known = first.number, self.shadow(first, state)
        return self._known[1]

    def shadow(self, first: WaitingJob, state: State) -> Shadow:
        """The time at which a job can start, from the expected ends of the running jobs."""
        free, latest = state.vacant, math.inf
        whole = free < first.size  # else it waits for hosts in a row, and it is not known which
        for end, _, size, _ in state.endings:
            if end > latest:  # all that end together with the last one that it needs count
                break
            free += size
            if free >= first.size and latest == math.inf:
                latest = max(end, state.now) + state.resolution / 2
        spare = free - first.size if self.spare and whole and latest < math.inf else 0
        return Shadow(latest - state.resolution / 2, spare)
