"""Backfilling: which of the waiting jobs start now, and how long jobs are expected to run.

Where jobs have their hosts for themselves, a kind of backfilling chooses the jobs itself. The plan of a site takes the
differences between the kinds as `PlanSettings`.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol

from batprotocol.errors import SchedulerError
from batprotocol.policies.availability import Profile, PythonProfile, rounded
from batprotocol.policies.jobs import RunningJob, State, WaitingJob
from batprotocol.policies.orders import Order
from batprotocol.policies.queue import Gap, Queue

__all__ = [
    "EASY",
    "AsRequested",
    "Backfilling",
    "Conservative",
    "Greedy",
    "MeanOfLast",
    "NoBackfilling",
    "Predicted",
    "Reservations",
    "Shadow",
    "Walltimes",
]


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

    def adopt(self, job: WaitingJob) -> None:
        """A job was submitted before, and is in the queue now. Another planner has decided until now."""

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


# EASY backfilling: the first job of the queue has a reservation that no other job delays.


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
        while (first := queue.first()) is not None and first.size <= state.room:
            yield first
        if first is None or (not self.once and (len(queue) == 1 or not state.room)):  # no other job can start
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
        wanted, free, latest = first.size, state.vacant, math.inf
        whole = free < wanted  # else it waits for hosts in a row, and it is not known which
        for end, _, size, _ in state.endings:
            if end > latest:  # all that end together with the last one that it needs count
                break
            free += size
            if free >= wanted and latest == math.inf:
                latest = max(end, state.now) + state.resolution / 2
        spare = free - wanted if self.spare and whole and latest < math.inf else 0
        return Shadow(latest - state.resolution / 2, spare)


# Backfilling with several reservations: for each waiting job (conservative), or for the first ones of the queue.


_FEW: Final = 64
"""Up to this number, reservations that are not valid any more stay in the heap."""


class PythonReservedJobs:
    """The reservations of the jobs that wait, in a profile.

    Args:
        profile: the profile. Its hosts are taken at the times of the reservations.
        resolution: times that differ by less count as equal, in seconds: ends are rounded to it.
    """

    def __init__(self, profile: PythonProfile, resolution: float) -> None:
        self._profile, self._resolution = profile, resolution
        self._jobs: dict[int, tuple[int, float]] = {}  # the size and the expected run time of each job that waits
        self._starts: dict[int, float] = {}
        self._ends: dict[int, float] = {}
        self._next: list[tuple[float, int]] = []  # a heap of starts, also of some that are not valid any more
        self._endless: set[int] = set()

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, number: int) -> bool:
        return number in self._jobs

    @property
    def is_endless(self) -> bool:
        """Whether a job waits for one without a walltime, and has no time to start."""
        return bool(self._endless)

    def add(self, number: int, rank: object, size: int, expected: float, start: float) -> None:
        """A job gets a reservation.

        Args:
            number: the number of the job.
            rank: its place in the order of the queue, which can be compared with other ranks; None: the order changes.
            size: the number of its hosts.
            expected: its expected run time, in seconds.
            start: the time from which on it has a reservation.
        """
        self._jobs[number] = size, expected
        self._put(number, start)

    def _put(self, number: int, start: float) -> None:
        size, expected = self._jobs[number]
        self._starts[number] = start
        if start == math.inf:
            self._endless.add(number)
        else:
            self._endless.discard(number)
        end = self._ends[number] = rounded(start + expected, self._resolution)
        heappush(self._next, (start, number))
        self._profile.change(start, end, -size)

    def _release(self, number: int, now: float) -> None:
        """Free the hosts of a reservation. The profile begins now."""
        self._profile.change(max(self._starts[number], now), self._ends[number], self._jobs[number][0])

    def start(self, number: int, now: float) -> None:
        """A job starts, and has no reservation any more."""
        size, expected = self._jobs[number]
        if self._starts[number] != now:
            self._release(number, now)
            self._profile.change(now, rounded(now + expected, self._resolution), -size)
        self._forget(number)

    def drop(self, number: int, now: float) -> None:
        """A job will not start, and has no reservation any more."""
        self._release(number, now)
        self._forget(number)

    def move(self, number: int, now: float) -> None:
        """Move the reservation of a job to now."""
        self._release(number, now)
        self._put(number, now)

    def _forget(self, number: int) -> None:
        del self._starts[number], self._ends[number], self._jobs[number]
        self._endless.discard(number)

    def start_of(self, number: int) -> float:
        """The time of a reservation.

        Raises:
            KeyError: no job with this number has one.
        """
        return self._starts[number]

    def next_start(self) -> float:
        """The time of the first reservation that is not due yet; infinity: there is none."""
        starts, heap = self._starts, self._next
        if len(heap) > 2 * len(starts) + _FEW:
            heap[:] = {(start, number) for start, number in heap if starts.get(number) == start}
            heapify(heap)
        while heap and starts.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else math.inf

    def due(self, until: float) -> list[int]:
        """The numbers of the jobs whose time has come since the last question, the first reservation first."""
        due: list[int] = []
        while self.next_start() <= until and self._next:
            due.append(heappop(self._next)[1])
        return due

    def by_starts(self) -> list[int]:
        """The numbers of all jobs, the first reservation first."""
        return [number for _, number in sorted((start, number) for number, start in self._starts.items())]

    def may_start(self, hosts: int, seconds: float, slack: float) -> bool:
        """Whether a job that waits may fit into a gap that begins at the first time of the profile: if not, none does.

        Args:
            hosts: the most hosts that it can have.
            seconds: for how long it can have them at most.
            slack: how much longer it can run than a gap lasts, in seconds.
        """
        gaps = [(most, min(length, seconds) + slack) for most, length in self._profile.gaps(hosts)]
        return any(size <= most and expected <= time for size, expected in self._jobs.values() for most, time in gaps)

    def compress(self, jobs: Iterable[Numbered], now: float, depth: int | None = None) -> bool:
        """Move each reservation to the first time at which it fits now, one after the other; never to a later time.

        Args:
            jobs: all jobs, in the order of the queue, in which their reservations move.
            now: the first time of the profile.
            depth: how many of the first jobs move; None: all.

        Returns:
            Whether one has moved.

        Raises:
            KeyError: one of the jobs has no reservation.
        """
        earliest, starts, has_moved = self._profile.earliest, self._starts, False
        for job in islice(jobs, depth):
            number = job.number
            before = starts[number]
            if before <= now:
                continue
            size, expected = self._jobs[number]
            start = earliest(size, expected - self._resolution / 2, before)
            if start < before:
                self._release(number, now)
                self._put(number, start)
                has_moved = True
        return has_moved


class Numbered(Protocol):
    """A job, which has a number."""

    number: int


ReservedJobs = PythonReservedJobs
if not TYPE_CHECKING:
    with suppress(ImportError):
        from batprotocol.policies._profile import ReservedJobs


class Conservative(Backfilling):
    """Each job gets a reservation when it is submitted: the first time at which it fits between all others.

    When a job ends early, the reservations are compressed: in queue order, each one moves to the first time at which it
    fits now. A reservation never moves to a later time, except when a job runs longer than predicted: then reservations
    cannot be kept, and all are made anew.

    Args:
        depth: the number of jobs at the head of the queue that are compressed, so that the time of a decision does not
            grow with the queue. The jobs behind them move only if they can start at once. By default, all jobs are.

    Attributes:
        profile: how many hosts will be free, beside those that run jobs and those of reservations.
        reserved: the reservations.
    """

    name = "conservative"
    sentence = "Each job gets a reservation when it is submitted. Jobs that come later do not delay it."
    source = "Mu'alem and Feitelson, TPDS 12, 2001"

    def __init__(self, depth: int | None = None) -> None:
        if depth is not None and depth < 0:
            raise ValueError(f"expected a depth >= 0, got {depth}")
        self.depth = depth

    def begin(self, queue: Queue, state: State) -> None:
        self._ranking = queue.by(None)
        self.profile = Profile(state.now, state.size)
        self.reserved = ReservedJobs(self.profile, state.resolution)
        self._overdue: list[int] = []  # the jobs that did not fit at the time of their reservations
        self._jobs: dict[int, WaitingJob] = {}
        self._ended_early = self._ended_late = False

    def reservation_of(self, job: WaitingJob) -> float:
        """The time of the reservation of a waiting job. It starts then at the latest."""
        return self.reserved.start_of(job.number)

    def take_over(self, overdue: list[int], ended_early: bool) -> None:
        """Go on with the profile and the reservations, which another planner has changed. `adopt` adds their jobs.

        Args:
            overdue: the numbers of the jobs that did not fit at the time of their reservations.
            ended_early: whether a job has ended early since they were compressed.
        """
        self._overdue, self._ended_early = overdue, ended_early

    def adopt(self, job: WaitingJob) -> None:
        self._jobs[job.number] = job

    def submitted(self, job: WaitingJob, queue: Queue, state: State) -> None:
        self.profile.advance(state.now)
        self._jobs[job.number] = job
        self._reserve(job, state)

    def starting(self, queue: Queue, state: State) -> Iterator[WaitingJob]:
        self.profile.advance(state.now)
        if self._ended_late:
            self._reserve_anew(state)
        early = self._ended_early
        if early and not self._ended_late:
            self.reserved.compress(queue, state.now, self.depth)
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
        start = self.reserved.next_start()
        ends = state.endings.irange((start - slack,), (start + slack, math.inf))
        return start if next(ends, None) is None else math.inf

    def started(self, job: RunningJob, state: State) -> None:
        self.reserved.start(job.waited.number, state.now)
        del self._jobs[job.waited.number]

    def ended(self, job: RunningJob, state: State) -> None:
        end = state.rounded(job.end)
        if end > state.now + state.resolution / 2:
            self.profile.advance(state.now)
            self.profile.change(state.now, end, job.size)
            self._ended_early = True
        elif self.reserved.is_endless:  # no time will come that starts them
            self._ended_early = True

    def extended(self, job: RunningJob, before: float, state: State) -> None:
        self._ended_late = True

    def dropped(self, job: WaitingJob, state: State) -> None:
        self.profile.advance(state.now)
        self.reserved.drop(job.number, state.now)
        del self._jobs[job.number]
        self._ended_early = True

    # Reservations

    def _reserve(self, job: WaitingJob, state: State) -> None:
        order, number, size, expected = self._ranking.order, job.number, job.size, job.expected
        rank = None if order.changes else (order.key(job, state), number)
        self.reserved.add(number, rank, size, expected, self.profile.earliest(size, expected - state.resolution / 2))

    def _due(self, state: State) -> list[int]:
        """The jobs whose reservations are due, the first reservation first."""
        due = [number for number in self._overdue if number in self.reserved]
        self._overdue = []
        known = set(due)  # those that have moved since then are due anew
        new = self.reserved.due(state.now + state.resolution / 2)
        return due + [number for number in new if number not in known]

    def _next_at_once(self, state: State, most: float) -> WaitingJob | None:
        """Move the reservation of the first job that can start at once and delays no other reservation.

        The job must end within `most` seconds.
        """
        slack = state.resolution / 2
        if not self.reserved.may_start(state.room, most, slack):  # mostly so, after all reservations have moved
            return None
        steps = [(size, min(seconds, most) + slack) for size, seconds in self.profile.gaps(state.room)]
        job = self._ranking.first_in(Gap(*steps)) if steps else None
        if job is not None:
            self.reserved.move(job.number, state.now)
        return job

    def _reserve_anew(self, state: State) -> None:
        endings = ((max(end, state.now), size) for end, _, size, _ in state.endings)
        before = self.reserved
        self.profile = Profile(state.now, state.vacant, endings)
        self.reserved = ReservedJobs(self.profile, state.resolution)
        self._overdue.clear()
        for number in before.by_starts():
            self._reserve(self._jobs[number], state)


class Reservations(Backfilling):
    """The first jobs of the queue have reservations that other jobs must not delay. Each event makes them anew.

    Args:
        count: the number of reservations, >= 1. With 1, it is EASY.
        order: the order in which the other jobs are tried; None: the queue order.
    """

    name = "reservations"
    sentence = "The first COUNT jobs of the queue have reservations, two by default; with 1, it is EASY."
    source = "PBS Professional, Implement Backfilling (backfill depth)"

    def __init__(self, count: int = 2, order: Order | None = None) -> None:
        if count < 1:
            raise ValueError(f"expected a count >= 1, got {count}")
        self.count = count
        self.order = order

    def begin(self, queue: Queue, state: State) -> None:
        self._ranking = queue.by(self.order)

    def starting(self, queue: Queue, state: State) -> Iterator[WaitingJob]:
        while True:
            yield from in_turn(queue, state)
            if not (queue and state.room):
                return
            job = self._next(queue, state)
            if job is None:
                return
            yield job

    def _next(self, queue: Queue, state: State) -> WaitingJob | None:
        """The next job to start before its turn."""
        slack = state.resolution / 2
        endings = ((max(end, state.now), size) for end, _, size, _ in state.endings)
        profile = Profile(state.now, state.vacant, endings)
        for job in islice(queue, self.count):
            start = profile.earliest(job.size, job.expected - slack)
            if start <= state.now and job.size <= state.room:
                return job
            profile.change(start, start + job.expected, -job.size)
        steps = [(size, seconds + slack) for size, seconds in profile.gaps(state.room)]
        return self._ranking.first_in(Gap(*steps)) if steps else None


# The expected run times of jobs, which backfilling uses: their walltimes, or predictions.


class Walltimes:
    """The expected run times of jobs. To make one, derive and write `expected`.

    When a job runs longer than expected, it is expected to use all of its walltime from then on.
    """

    name: ClassVar[str] = ""
    """Its name on the command line."""
    sentence: ClassVar[str] = ""
    """One sentence that describes it."""
    source: ClassVar[str] = ""
    """The publication or documentation that defines it."""

    def begin(self, state: State) -> None:
        """A simulation begins."""

    def expected(self, job: WaitingJob, state: State) -> float:
        """The expected run time in seconds, at most the walltime. The policy asks once, at the submission of the job.

        A larger number counts as the walltime.
        """
        raise NotImplementedError

    def ended(self, job: RunningJob, state: State) -> None:
        """A job has ended. It ran from `job.started` until `state.now`."""


class AsRequested(Walltimes):
    """The requested times."""

    name = "requested"
    sentence = "Jobs are expected to run for their walltimes."

    def expected(self, job: WaitingJob, state: State) -> float:
        return job.walltime


class MeanOfLast(Walltimes):
    """The mean run time of the last `count` jobs of the same user. Until that many have ended, it is the walltime.

    Args:
        count: the number of jobs, >= 1.
    """

    name = "predicted"
    sentence = "Jobs are expected to run for the mean of the last N jobs of their user, two by default."
    source = "Tsafrir, Etsion and Feitelson, TPDS 18, 2007"

    def __init__(self, count: int = 2) -> None:
        if count < 1:
            raise ValueError(f"expected a count >= 1, got {count}")
        self.count = count
        self.begin(State())

    def begin(self, state: State) -> None:
        self._last: dict[str | int, deque[float]] = {}

    def expected(self, job: WaitingJob, state: State) -> float:
        user = job.user
        last = None if user is None else self._last.get(user)
        return job.walltime if last is None or len(last) < self.count else sum(last) / self.count

    def ended(self, job: RunningJob, state: State) -> None:
        user = job.waited.user
        if user is not None:
            self._last.setdefault(user, deque(maxlen=self.count)).append(state.now - job.started)


class Predicted(Walltimes):
    """Predictions by a Python function.

    Args:
        function: takes a job and the state, and returns seconds.
    """

    def __init__(self, function: Callable[[WaitingJob, State], float]) -> None:
        self._function = function

    def expected(self, job: WaitingJob, state: State) -> float:
        return self._function(job, state)


# The kinds of backfilling, as settings of one plan


class PlanSettings(NamedTuple):
    """The differences between the kinds of backfilling.

    Attributes:
        depth: how many jobs of each partition have a reservation; infinity: all.
        backfills: whether jobs start before their turn.
        order: the order in which those are tried; None: the queue's own.
        spare: whether jobs may last beyond a reservation, on hosts that it does not need.
        moves: whether a reservation may move to other hosts at the same time, so that another job can start.
        strict: whether jobs must end before a reservation begins, and not just then.
        once: whether the time of a reservation is computed once.
    """

    depth: float = 0
    backfills: bool = False
    order: Order | None = None
    spare: bool = True
    moves: bool = False
    strict: bool = False
    once: bool = False


def settings_of(part: Backfilling) -> PlanSettings:
    """The settings of a kind of backfilling.

    Raises:
        SchedulerError: it is not one of the library's own.
    """
    if type(part) is EASY:
        return PlanSettings(1, True, part.order, part.spare, part.spare, part.strict, part.once)
    if type(part) is Reservations:
        return PlanSettings(part.count, True, part.order)
    if type(part) is Conservative:
        return PlanSettings(math.inf if part.depth is None else part.depth, True)
    if type(part) is Greedy:
        return PlanSettings(0, True, part.order)
    if type(part) is NoBackfilling:
        return PlanSettings()
    name = type(part).__name__
    raise SchedulerError(
        f"{name} cannot plan jobs that share hosts: use none, greedy, easy, reservations or conservative"
    )
