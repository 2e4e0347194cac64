"""`World`: who waits, who runs and what is free in one episode; what happens next is told by those that derive.

Jobs are numbers, from 0 on in the order of their submission within the episode. It must not know what is decided,
observed or rewarded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from batprotocol.errors import InputError
from batprotocol.gym.log import NEVER, Log
from batprotocol.model import FinalJobState
from batprotocol.policies import Order, State
from batprotocol.simulator import JobRow

__all__ = ["World"]

_Self = TypeVar("_Self", bound="World")


class Times(NamedTuple):
    """When the jobs of an episode are submitted, and how long they run if that is known beforehand (else NaN)."""

    submitted: npt.NDArray[np.float64]
    lasts: npt.NDArray[np.float64]


class Layout(NamedTuple):
    """Where what is seen is written; see `Sight`."""

    sizes: tuple[int, int, int, int, int, int]
    """max_queue, max_running, how many columns there are, how many of them are waiting times, how many are times until
    a start, and which one tells what fits (-1: none)."""
    columns: tuple[int, ...]
    """Which columns are times."""


class Filling(Protocol):
    """Who starts other jobs while one waits for hosts; see `Backfiller`."""

    rules: tuple[bool, bool, bool, bool]

    def begin(self, world: Any, job: int) -> tuple[float, int]: ...
    def go_on(self, world: Any, job: int, event: int, limits: tuple[float, int]) -> tuple[float, int]: ...


class World(ABC):
    """An episode: some jobs of a log on an empty machine, from the submission of the first one on.

    Args:
        log: the log.
        first: the number of its first job in the log.
        count: how many jobs it has.
        ranks: the order in which the queue is, as a rank for each of its jobs; None: by submission.
        tried: the order in which jobs are tried that start before their turn, likewise; None: that of the queue.

    Attributes:
        now: the time, in seconds.
        free: how many hosts no job has.
        next: how many jobs were submitted, which is the number of the next one.
        queue: the jobs that wait, in order.
        ends: when the jobs that run end at the latest, in seconds, sorted.
        end_jobs: which jobs those are.
        started: the jobs that have started, in that order.
        starts: when each job has started, in seconds; -1 if it has not.
        outcomes: the jobs whose start and run time are known, in the order in which that came to be known.
        finished: the jobs that have ended, in that order.
        sizes: how many hosts each job asks for.
        submitted: when each is submitted, in seconds.
        walltimes: seconds after which each is killed; `NEVER`: never.
        lasts: how many seconds each runs, once that is known.
        times: what of this is known beforehand, in columns.
    """

    __slots__ = (
        *("count", "end_jobs", "ends", "finished", "first", "free", "lasts", "log", "next", "now", "outcomes", "queue"),
        *("ranks", "sizes", "started", "starts", "submitted", "times", "tried", "walltimes"),
    )

    shared: ClassVar[tuple[str, ...]] = (
        *("count", "first", "lasts", "log", "ranks", "sizes", "submitted", "times", "tried", "walltimes"),
    )
    """What never changes, and is the same in copies."""
    numbers: ClassVar[tuple[str, ...]] = ("free", "next", "now")
    changing: ClassVar[tuple[str, ...]] = ("end_jobs", "ends", "finished", "outcomes", "queue", "started", "starts")
    """What copies have of their own."""

    def __init__(
        self,
        log: Log,
        first: int,
        count: int,
        ranks: npt.NDArray[np.int64] | None = None,
        tried: npt.NDArray[np.int64] | None = None,
    ) -> None:
        part = slice(first, first + count)
        self.log, self.first, self.count, self.ranks, self.tried = log, first, count, ranks, tried
        self.times = Times(log.submitted[part], log.lasts[part])
        self.sizes: list[int] = log.sizes[part].tolist()
        self.submitted: list[float] = log.submitted[part].tolist()
        self.walltimes: list[float] = log.walltimes[part].tolist()
        self.lasts: list[float] = log.lasts[part].tolist()
        self.settle()

    def settle(self) -> None:
        """Nobody has come yet."""
        self.now = self.submitted[0]
        self.free = self.log.hosts
        self.next = 0
        self.queue = array("q")
        self.ends = array("d")
        self.end_jobs = array("q")
        self.started = array("q")
        self.starts = array("d", [-1.0]) * self.count
        self.outcomes = array("q")
        self.finished = array("q")

    def copy(self: _Self) -> _Self:
        """A copy, which goes on alike, and shares what never changes."""
        made: _Self = self.__class__.__new__(self.__class__)
        for name in (*self.shared, *self.numbers):
            setattr(made, name, getattr(self, name))
        for name in self.changing:
            setattr(made, name, getattr(self, name)[:])
        return made

    # What happens

    @abstractmethod
    def advance(self) -> int | None:
        """Let the next thing happen: the number of the job that was submitted, -1 - number of the one that ended.

        Of what happens at one time, submissions come first. None if nothing will happen any more.
        """

    def begin(self, job: int) -> None:
        """A job starts on the machine: `start` asks for it. A world that has a `start` of its own may not need it."""
        raise NotImplementedError

    def finish(self) -> None:
        """All jobs have started: go on to the end."""
        while self.advance() is not None:
            pass

    def wait_for(self, job: int, filling: Filling | None = None) -> None:
        """Let time go on until a job that has left the queue fits, while others may start."""
        size = self.sizes[job]
        limits = None if filling is None else filling.begin(self, job)
        while size > self.free:
            event = self.advance()
            assert event is not None, "hosts become free as long as jobs run"
            if filling is not None and limits is not None and size > self.free:
                limits = filling.go_on(self, job, event, limits)

    @property
    def is_over(self) -> bool:
        """Whether all jobs have started."""
        return len(self.started) == self.count

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return len(self.queue)

    def head(self, limit: int) -> npt.NDArray[np.int64]:
        """The first jobs of the queue, so many at most."""
        return np.array(self.queue[:limit], np.int64)

    def running(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """When the jobs that run end at the latest, and which they are."""
        return np.array(self.ends, np.float64), np.array(self.end_jobs, np.int64)

    def take(self, place: int) -> int:
        """The job at a place of the queue, which leaves the queue."""
        return self.queue.pop(place)

    def start(self, job: int) -> None:
        """Start a job that has left the queue, and fits."""
        end = self.end_of(job, self.now)
        place = bisect_right(self.ends, end)
        self.ends.insert(place, end)
        self.end_jobs.insert(place, job)
        self.free -= self.sizes[job]
        self.starts[job] = self.now
        self.started.append(job)
        self.begin(job)

    def end_of(self, job: int, start: float) -> float:
        """When a job ends at the latest that starts then."""
        end = start + self.walltimes[job]
        return end if self.log.is_whole else self.log.rounded(end)

    def arrived(self) -> int:
        """The next job waits."""
        job = self.next
        self.next = job + 1
        if self.ranks is None:
            self.queue.append(job)
        else:
            ranks = self.ranks
            self.queue.insert(bisect_left(self.queue, int(ranks[job]), key=ranks.__getitem__), job)
        return job

    def ended(self, job: int) -> int:
        """A job has ended."""
        place = bisect_left(self.ends, self.end_of(job, self.starts[job]))
        while self.end_jobs[place] != job:
            place += 1
        del self.ends[place], self.end_jobs[place]
        self.free += self.sizes[job]
        self.finished.append(job)
        return -1 - job

    def joules(self) -> float:
        """What all hosts have consumed until now.

        Raises:
            InputError: energy is not measured here.
        """
        raise InputError("energy is measured in environments with energy only, as Power-v0 is")

    def see(self, row: Any, tables: tuple[Any, Any, Any], layout: Layout) -> bool:
        """Write what is seen into a row, if this world does so itself; see `Sight`."""
        return False

    # Orders that change with time

    def state(self) -> State:
        """The machine as orders of policies see it: the time and how many hosts are free."""
        state = State(resolution=self.log.resolution)
        state.now, state.size, state.room = self.now, self.log.hosts, self.free
        return state

    def sort(self, order: Order) -> None:
        """Put the queue into an order of policies as it is now."""
        self.queue = array("q", self.sorted_by(order, self.queue))

    def sorted_by(self, order: Order, jobs: Iterable[int]) -> list[int]:
        """Jobs that wait, in an order of policies as it is now."""
        state, log, first = self.state(), self.log, self.first
        return sorted(jobs, key=lambda job: (order.key(log.waiting(first + job), state), job))

    # What came of it

    def row(self, job: int) -> JobRow:
        """What became of a job that has ended."""
        name, asked = self.log.job(self.first + job)
        workload, _, id = name.partition("!")
        late = self.walltimes[job] <= self.lasts[job]
        return JobRow(
            job_id=id,
            workload_name=workload,
            profile=asked.profile_id,
            submission_time=self.submitted[job],
            requested_number_of_resources=self.sizes[job],
            requested_time=None if self.walltimes[job] == NEVER else self.walltimes[job],
            final_state=FinalJobState.COMPLETED_WALLTIME_REACHED if late else FinalJobState.COMPLETED_SUCCESSFULLY,
            starting_time=self.starts[job],
            execution_time=self.lasts[job],
        )

    def rows(self) -> list[JobRow]:
        """The rows of the jobs that have ended, in that order."""
        return [self.row(job) for job in self.finished]
