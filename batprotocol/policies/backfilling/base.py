"""The base class of backfilling, and its two simplest kinds. Backfilling chooses the waiting jobs that start now."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from batprotocol.policies.jobs import RunningJob, State, WaitingJob
from batprotocol.policies.orders import Order
from batprotocol.policies.queue import Gap, Queue

__all__ = ["Backfilling", "Greedy", "NoBackfilling"]


class Backfilling:
    """Which jobs start now, and in which order. To make one, derive and write `starting`.

    >>> class OneAtATime(Backfilling):
    ...     def starting(self, queue, state):
    ...         job = queue.first()
    ...         if job and not state.running and job.size <= state.room:
    ...             yield job
    """

    name: ClassVar[str] = ""
    """Its name on the command line."""
    sentence: ClassVar[str] = ""
    """One sentence that describes it."""
    source: ClassVar[str] = ""
    """The publication or documentation that defines it."""
    order: Order | None = None
    """The order in which jobs are tried before their turn; None: the queue order."""

    def begin(self, queue: Queue, state: State) -> None:
        """A simulation begins."""

    def wakes_at(self, state: State) -> float:
        """The next time at which jobs may start even if nothing happens before; infinity: never."""
        return math.inf

    def starting(self, queue: Queue, state: State) -> Iterator[WaitingJob]:
        """Yield the jobs that start now, each at most as large as `state.room`.

        The policy starts each job before it asks for the next one: then the job is not in the queue any more, and its
        hosts are not free.
        """
        raise NotImplementedError

    def submitted(self, job: WaitingJob, queue: Queue, state: State) -> None:
        """A job was submitted, and is in the queue now."""

    def started(self, job: RunningJob, state: State) -> None:
        """A job was started."""

    def ended(self, job: RunningJob, state: State) -> None:
        """A job does not run any more."""

    def extended(self, job: RunningJob, before: float, state: State) -> None:
        """A job runs longer than predicted: its expected end is `job.end` now, and was `before`."""

    def dropped(self, job: WaitingJob, state: State) -> None:
        """A job does not wait any more, although it never started."""


def in_turn(queue: Queue, state: State) -> Iterator[WaitingJob]:
    """The first jobs of the queue, until one does not fit."""
    while (job := queue.first()) is not None and job.size <= state.room:
        yield job


class NoBackfilling(Backfilling):
    """The first job of the queue starts, or all jobs wait."""

    name = "none"
    sentence = "The first job of the queue starts, or all jobs wait."

    def starting(self, queue: Queue, state: State) -> Iterator[WaitingJob]:
        return in_turn(queue, state)


class Greedy(Backfilling):
    """Each job that fits starts, in queue order. Large jobs may wait until all other jobs have ended.

    Args:
        order: the order in which jobs are tried before their turn; None: the queue order.
    """

    name = "greedy"
    sentence = "Each job that fits starts, in queue order; no job has a reservation."
    source = "Aida, Kasahara and Narita, JSSPP 1998 (fit processors first served)"

    def __init__(self, order: Order | None = None) -> None:
        self.order = order

    def begin(self, queue: Queue, state: State) -> None:
        self._ranking = queue.by(self.order)

    def starting(self, queue: Queue, state: State) -> Iterator[WaitingJob]:
        yield from in_turn(queue, state)
        while state.room and (job := self._ranking.first_in(Gap((state.room, math.inf)))) is not None:
            yield job
