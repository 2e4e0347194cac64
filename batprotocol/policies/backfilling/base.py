"""Which of the jobs that wait start now: what all kinds of backfilling have in common, and the two simplest ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from batprotocol.policies.jobs import RunningJob, State, WaitingJob
from batprotocol.policies.orders import Order
from batprotocol.policies.queue import Gap, Queue

__all__ = ["Backfilling", "Greedy", "NoBackfilling"]


class Backfilling:
    """Which jobs start now, and in which order. To make one, derive, and write `starting`.

    >>> class OneAtATime(Backfilling):
    ...     def starting(self, queue, state):
    ...         job = queue.first()
    ...         if job and not state.running and job.size <= state.room:
    ...             yield job
    """

    name: ClassVar[str] = ""
    """What it is called on the command line."""
    sentence: ClassVar[str] = ""
    """What it does."""
    source: ClassVar[str] = ""
    """Where it comes from."""
    order: Order | None = None
    """The order in which jobs are looked at that start before their turn; None: the queue's own."""

    def begin(self, queue: Queue, state: State) -> None:
        """A simulation begins."""

    def wakes_at(self, state: State) -> float:
        """When jobs may start even if nothing happens until then; infinity: never."""
        return math.inf

    def starting(self, queue: Queue, state: State) -> Iterator[WaitingJob]:
        """The jobs that start now, each at most as large as `state.room`.

        Each has started before the next one is asked for: it is not in the queue any more, and its hosts are not free.
        """
        raise NotImplementedError

    def submitted(self, job: WaitingJob, queue: Queue, state: State) -> None:
        """A job waits: it is in the queue."""

    def started(self, job: RunningJob, state: State) -> None:
        """A job runs."""

    def ended(self, job: RunningJob, state: State) -> None:
        """A job does not run any more."""

    def extended(self, job: RunningJob, before: float, state: State) -> None:
        """A job runs for longer than was predicted: it is expected to end at `job.end`, and not as before."""

    def dropped(self, job: WaitingJob, state: State) -> None:
        """A job does not wait any more, and never started."""


def in_turn(queue: Queue, state: State) -> Iterator[WaitingJob]:
    """The first jobs of the queue, until one does not fit."""
    while (job := queue.first()) is not None and job.size <= state.room:
        yield job


class NoBackfilling(Backfilling):
    """The first job of the queue starts, or all wait."""

    name = "none"
    sentence = "The first job of the queue starts, or all wait."

    def starting(self, queue: Queue, state: State) -> Iterator[WaitingJob]:
        return in_turn(queue, state)


class Greedy(Backfilling):
    """Any job that fits starts, the first of them first. Large jobs may wait until all others are done.

    Args:
        order: the order in which those are tried that start before their turn; None: the queue's own.
    """

    name = "greedy"
    sentence = "Whatever fits starts, in the order of the queue; no job has a reservation."
    source = "Aida, Kasahara and Narita, JSSPP 1998 (fit processors first served)"

    def __init__(self, order: Order | None = None) -> None:
        self.order = order

    def begin(self, queue: Queue, state: State) -> None:
        self._ranking = queue.by(self.order)

    def starting(self, queue: Queue, state: State) -> Iterator[WaitingJob]:
        yield from in_turn(queue, state)
        while state.room and (job := self._ranking.first_in(Gap((state.room, math.inf)))) is not None:
            yield job
