"""Conservative backfilling as plainly as it can be written: the oracle of the library's own.

Each reservation is looked for in a profile in Python, from now on, after each early end, and nothing is remembered.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import islice

from batprotocol.policies.availability import PythonProfile
from batprotocol.policies.backfilling import Backfilling
from batprotocol.policies.jobs import RunningJob, State, WaitingJob
from batprotocol.policies.queue import Gap, Queue

_FEW = 64


class PlainConservative(Backfilling):
    """Each job gets a reservation when it is submitted; after an early end, all are tried in queue order."""

    def __init__(self, depth: int | None = None) -> None:
        if depth is not None and depth < 0:
            raise ValueError(f"expected a depth >= 0, got {depth}")
        self.depth = depth

    def begin(self, queue: Queue, state: State) -> None:
        self._ranking = queue.by(None)
        self._profile = PythonProfile(state.now, state.size)
        self._starts: dict[int, float] = {}  # of each job that waits
        self._ends: dict[int, float] = {}
        self._next: list[tuple[float, int]] = []  # a heap of starts, also of some that are not valid any more
        self._overdue: list[int] = []  # the jobs that did not fit at the time of their reservations
        self._jobs: dict[int, WaitingJob] = {}
        self._endless: set[int] = set()  # the jobs that wait for one without a walltime, and have no time to start
        self._ended_early = self._ended_late = False

    def reservation_of(self, job: WaitingJob) -> float:
        """The time of the reservation of a waiting job. It starts then at the latest."""
        return self._starts[job.number]

    def submitted(self, job: WaitingJob, queue: Queue, state: State) -> None:
        self._profile.advance(state.now)
        self._jobs[job.number] = job
        self._reserve(job, self._profile.earliest(job.size, job.expected - state.resolution / 2), state)

    def starting(self, queue: Queue, state: State) -> Iterator[WaitingJob]:
        self._profile.advance(state.now)
        if self._ended_late:
            self._reserve_anew(queue, state)
        early = self._ended_early
        if early and not self._ended_late:
            self._compress(queue, state)
        self._ended_early = self._ended_late = False
        due = self._due(state)
        most = math.inf
        for place, number in enumerate(due):
            job = self._jobs[number]
            if job.size > state.room:  # too few free hosts are in a row: other jobs must not delay this one further
                self._overdue = due[place:]
                most = state.endings[0][0] - state.now if state.endings else 0.0
                break
            yield job
        while early and state.room and (next_one := self._next_at_once(state, most)) is not None:
            yield next_one

    def wakes_at(self, state: State) -> float:
        slack = state.resolution / 2
        start = self._next_start()
        ends = state.endings.irange((start - slack,), (start + slack, math.inf))
        return start if next(ends, None) is None else math.inf

    def started(self, job: RunningJob, state: State) -> None:
        waited = job.waited
        if self._starts[waited.number] != state.now:
            self._release(waited, state)
            self._profile.change(state.now, state.rounded(state.now + waited.expected), -waited.size)
        self._forget(waited)

    def ended(self, job: RunningJob, state: State) -> None:
        end = state.rounded(job.end)
        if end > state.now + state.resolution / 2:
            self._profile.advance(state.now)
            self._profile.change(state.now, end, job.size)
            self._ended_early = True
        elif self._endless:  # no time will come that starts them
            self._ended_early = True

    def extended(self, job: RunningJob, before: float, state: State) -> None:
        self._ended_late = True

    def dropped(self, job: WaitingJob, state: State) -> None:
        self._profile.advance(state.now)
        self._release(job, state)
        self._forget(job)
        self._ended_early = True

    # Reservations

    def _reserve(self, job: WaitingJob, start: float, state: State) -> None:
        number = job.number
        self._starts[number] = start
        if start == math.inf:
            self._endless.add(number)
        else:
            self._endless.discard(number)
        end = self._ends[number] = state.rounded(start + job.expected)
        heappush(self._next, (start, number))
        self._profile.change(start, end, -job.size)

    def _release(self, job: WaitingJob, state: State) -> None:
        """Free the hosts of a reservation. The profile begins now."""
        number = job.number
        self._profile.change(max(self._starts[number], state.now), self._ends[number], job.size)

    def _move(self, job: WaitingJob, start: float, state: State) -> None:
        self._release(job, state)
        self._reserve(job, start, state)

    def _forget(self, job: WaitingJob) -> None:
        del self._starts[job.number], self._ends[job.number], self._jobs[job.number]
        self._endless.discard(job.number)

    def _next_start(self) -> float:
        """The time of the first reservation to come."""
        starts, heap = self._starts, self._next
        if len(heap) > 2 * len(starts) + _FEW:
            heap[:] = {(start, number) for start, number in heap if starts.get(number) == start}
            heapify(heap)
        while heap and starts.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else math.inf

    def _due(self, state: State) -> list[int]:
        """The jobs whose reservations are due, the first reservation first."""
        due = [number for number in self._overdue if number in self._starts]
        self._overdue = []
        while self._next_start() <= state.now + state.resolution / 2:
            number = heappop(self._next)[1]
            if number not in due:
                due.append(number)
        return due

    def _next_at_once(self, state: State, most: float) -> WaitingJob | None:
        """Move the reservation of the first job that can start at once and delays no other reservation.

        The job must end within `most` seconds.
        """
        slack = state.resolution / 2
        steps = [(size, min(seconds, most) + slack) for size, seconds in self._profile.gaps(state.room)]
        job = self._ranking.first_in(Gap(*steps)) if steps else None
        if job is not None:
            self._move(job, state.now, state)
        return job

    def _compress(self, queue: Queue, state: State) -> None:
        now = state.now
        for job in islice(queue, self.depth):
            before = self._starts[job.number]
            if before > now:
                start = self._profile.earliest(job.size, job.expected - state.resolution / 2, before)
                if start < before:
                    self._move(job, start, state)

    def _reserve_anew(self, queue: Queue, state: State) -> None:
        endings = ((max(end, state.now), size) for end, _, size, _ in state.endings)
        self._profile = PythonProfile(state.now, state.vacant, endings)
        in_order = sorted((start, number) for number, start in self._starts.items())
        self._next.clear()
        self._overdue.clear()
        for job in (self._jobs[number] for _, number in in_order):
            self._reserve(job, self._profile.earliest(job.size, job.expected - state.resolution / 2), state)
