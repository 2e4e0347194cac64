"""`World`: the waiting jobs, the running jobs and the free hosts of an episode. Derived classes define the next events.

Jobs are numbers, from 0 on in the order of their submission within the episode. `Direct` is a machine of equal hosts,
and of jobs that only take time.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from batprotocol.errors import InputError
from batprotocol.gym.log import NEVER, LogArrays
from batprotocol.model import FinalJobState
from batprotocol.model.free_hosts import FrozenHosts
from batprotocol.model.hosts import frozen_hosts
from batprotocol.policies import Backfilling, Order, State
from batprotocol.simulator import TAU, JobRow
from batprotocol.workloads.electricity import Kind
from batprotocol.workloads.requests import Allocated

if TYPE_CHECKING:
    from batprotocol.gym._play import Play


_Self = TypeVar("_Self", bound="World")


class Times(NamedTuple):
    """The submission times of the jobs of an episode, and their run times if these are known beforehand (else NaN)."""

    submitted: npt.NDArray[np.float64]
    lasts: npt.NDArray[np.float64]


class HostLayout(NamedTuple):
    """The positions of values in an observation; see `Sight`."""

    sizes: tuple[int, int, int, int, int, int]
    """max_queue, max_running, the number of columns, of waiting times among them, and of times until a start; and the
    column that shows whether a job fits (-1: none)."""
    columns: tuple[int, ...]
    """The columns of times."""


class WorldBackfilling(Protocol):
    """An object that starts other jobs while one waits for hosts; see `Backfiller`."""

    rules: tuple[bool, bool, bool, bool]

    @property
    def kind(self) -> Backfilling: ...

    def limits(self, world: Any, job: int) -> tuple[float, int]: ...
    def begin(self, world: Any, job: int) -> tuple[float, int]: ...
    def go_on(self, world: Any, job: int, event: int, limits: tuple[float, int]) -> tuple[float, int]: ...


class World(ABC):
    """An episode: some jobs of a log on an empty machine, from the submission of the first one on.

    Args:
        log: the log.
        first: the number of its first job in the log.
        count: the number of its jobs.
        ranks: the queue order, as a rank for each of its jobs; None: by submission.
        tried: the order in which jobs are tried before their turn, as ranks; None: the queue order.

    Attributes:
        now: the time, in seconds.
        free: the number of free hosts.
        next: the number of submitted jobs, which is the number of the next one.
        queue: the waiting jobs, in queue order.
        ends: the latest ends of the running jobs, in seconds, sorted.
        end_jobs: the running jobs, in the order of `ends`.
        started: the jobs that have started, in the order of their starts.
        starts: the start of each job, in seconds; -1 if it has not started.
        outcomes: the jobs whose start and run time are known, in the order in which these became known.
        finished: the jobs that have ended, in the order of their ends.
        sizes: the number of hosts that each job requests.
        submitted: the submission time of each job, in seconds.
        walltimes: the seconds after which each job is killed; `NEVER`: never.
        lasts: the run time of each job in seconds, once it is known.
        times: the times that are known beforehand, in columns.
    """

    __slots__ = (
        *("count", "end_jobs", "ends", "finished", "first", "free", "lasts", "log", "next", "now", "outcomes", "queue"),
        *("ranks", "sizes", "started", "starts", "submitted", "times", "tried", "walltimes"),
    )

    shared: ClassVar[tuple[str, ...]] = (
        *("count", "first", "lasts", "log", "ranks", "sizes", "submitted", "times", "tried", "walltimes"),
    )
    """The attributes that never change. Copies share them."""
    numbers: ClassVar[tuple[str, ...]] = ("free", "next", "now")
    changing: ClassVar[tuple[str, ...]] = ("end_jobs", "ends", "finished", "outcomes", "queue", "started", "starts")
    """The attributes that each copy has for itself."""

    def __init__(
        self,
        log: LogArrays,
        first: int,
        count: int,
        ranks: npt.NDArray[np.int64] | None = None,
        tried: npt.NDArray[np.int64] | None = None,
    ) -> None:
        part = slice(first, first + count)
        self.log, self.first, self.count, self.ranks, self.tried = log, first, count, ranks, tried
        self.times = Times(log.submitted[part], log.lasts[part])
        self.list_jobs(part)
        self.settle()

    def list_jobs(self, part: slice) -> None:
        """Make lists of what is known of the jobs."""
        self.sizes: list[int] = self.log.sizes[part].tolist()
        self.submitted: list[float] = self.log.submitted[part].tolist()
        self.walltimes: list[float] = self.log.walltimes[part].tolist()
        self.lasts: list[float] = self.log.lasts[part].tolist()

    def settle(self) -> None:
        """Set the state before the first submission."""
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
        """A copy that continues in the same way. It shares the attributes that never change."""
        made: _Self = self.__class__.__new__(self.__class__)
        for name in (*self.shared, *self.numbers):
            setattr(made, name, getattr(self, name))
        for name in self.changing:
            setattr(made, name, getattr(self, name)[:])
        return made

    # Events

    @abstractmethod
    def advance(self) -> int | None:
        """Go on to the next event, and return it: the number of a submitted job, or -1 - number of a job that ended.

        At one time, submissions come first. None: there are no more events.
        """

    def begin(self, job: int) -> None:
        """Start a job on the machine. `start` calls it. A world with its own `start` may not need it."""
        raise NotImplementedError

    def finish(self) -> None:
        """Go on to the end, once all jobs have started."""
        while self.advance() is not None:
            pass

    def wait_for(self, job: int, filling: WorldBackfilling | None = None) -> bool:
        """Let time go on until a job that has left the queue fits, while others may start.

        Returns:
            Whether it fits now. Otherwise, it was rejected.
        """
        size = self.sizes[job]
        limits = None if filling is None else filling.begin(self, job)
        while size > self.free:
            event = self.advance()
            assert event is not None, "hosts become free as long as jobs run"
            if filling is not None and limits is not None and size > self.free:
                limits = filling.go_on(self, job, event, limits)
        return True

    @property
    def is_over(self) -> bool:
        """Whether all jobs have started."""
        return len(self.started) == self.count

    @property
    def goes_on(self) -> bool:
        """Whether anything will happen even if no job starts."""
        return self.next < self.count or bool(self.ends)

    # Which jobs can start now

    def fits(self, job: int) -> bool:
        """Whether a waiting job can start now."""
        return self.sizes[job] <= self.free

    def fit(self, jobs: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether each of these waiting jobs can start now."""
        found: npt.NDArray[np.bool_] = self.log.sizes.take(jobs + self.first) <= self.free
        return found

    @property
    def is_full(self) -> bool:
        """Whether no job can start now, whatever it asks for."""
        return not self.free

    def until_start(
        self, jobs: npt.NDArray[np.int64], remaining: npt.NDArray[np.float64], running: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """The seconds until each of these waiting jobs can start at the latest, if it is the next one.

        Args:
            jobs: the jobs.
            remaining: the seconds until the walltimes of the running jobs end, sorted.
            running: the running jobs in the same order.
        """
        sizes = self.log.sizes
        free = np.empty(len(running) + 1)
        free[0] = self.free
        free[1:] = sizes.take(running + self.first)
        places = np.add.accumulate(free).searchsorted(sizes.take(jobs + self.first))
        return np.concatenate((_NOW, remaining, _NOT_AT_ALL)).take(places)

    def overtaking(self, jobs: Sequence[int], filling: WorldBackfilling | None) -> list[int]:
        """The places of the jobs that can start now while the first one of them waits, if only one of them starts.

        Args:
            jobs: waiting jobs, at least one.
            filling: the kind of backfilling; None: each job that fits can start.
        """
        seconds, spare = filling.limits(self, jobs[0]) if filling else (float("inf"), 0)
        sizes, walltimes, free, lasting = self.sizes, self.walltimes, self.free, seconds - self.now
        return [
            place
            for place, job in enumerate(jobs)
            if place and sizes[job] <= free and (walltimes[job] <= lasting or sizes[job] <= spare)
        ]

    def overtake(self, first: int, job: int, filling: WorldBackfilling | None) -> None:
        """Start a job that has left the queue, and that `overtaking` found, while another one waits."""
        self.start(job)

    @property
    def waiting(self) -> int:
        """The number of waiting jobs."""
        return len(self.queue)

    def head(self, limit: int) -> npt.NDArray[np.int64]:
        """The first jobs of the queue, at most `limit` of them."""
        return np.array(self.queue[:limit], np.int64)

    def running(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """The latest ends of the running jobs, and the jobs."""
        return np.array(self.ends, np.float64), np.array(self.end_jobs, np.int64)

    def outcome_numbers(self) -> npt.NDArray[np.int64]:
        """`outcomes` as an array."""
        return np.array(self.outcomes, np.int64)

    def start_times(self) -> npt.NDArray[np.float64]:
        """`starts` as an array."""
        return np.array(self.starts, np.float64)

    def pending(self) -> npt.NDArray[np.int64]:
        """The submitted jobs that have not started."""
        return self.head(self.count)

    def shares(self) -> npt.NDArray[np.float64]:
        """The free share of each resource, where jobs share hosts."""
        raise NotImplementedError

    def free_shares(self) -> dict[str, float]:
        """The free share of each resource of the machine, by its name; empty where jobs do not share hosts."""
        return {}

    @property
    def busy(self) -> int:
        """The number of hosts that jobs have."""
        return sum(self.sizes[job] for job in self.end_jobs)

    @property
    def away(self) -> int:
        """The number of hosts that are down or drained."""
        return 0

    @property
    def knows_ends(self) -> bool:
        """Whether the run times of all jobs are known beforehand."""
        return self.log.is_plain

    lost: int = 0
    """The number of jobs that were lost because a host failed."""

    @property
    def counted(self) -> int:
        """The number of jobs of the episode that have run or can run."""
        return self.count

    def hosts_of(self, job: int) -> FrozenHosts | None:
        """The hosts of a job that has started; None in worlds that only know their number."""
        return None

    def sleeping(self) -> FrozenHosts:
        """The hosts that are off."""
        return frozen_hosts("")

    def take(self, place: int) -> int:
        """Remove the job at a place of the queue, and return it."""
        return self.queue.pop(place)

    def start(self, job: int) -> None:
        """Start a job that has left the queue and fits."""
        end = self.end_of(job, self.now)
        place = bisect_right(self.ends, end)
        self.ends.insert(place, end)
        self.end_jobs.insert(place, job)
        self.free -= self.sizes[job]
        self.starts[job] = self.now
        self.started.append(job)
        self.begin(job)

    def end_of(self, job: int, start: float) -> float:
        """The latest end of a job that starts at this time."""
        end = start + self.walltimes[job]
        return end if self.log.is_whole else self.log.rounded(end)

    def arrived(self) -> int:
        """Add the next job to the queue."""
        job = self.next
        self.next = job + 1
        if self.ranks is None:
            self.queue.append(job)
        else:
            ranks = self.ranks
            self.queue.insert(bisect_left(self.queue, int(ranks[job]), key=ranks.__getitem__), job)
        return job

    def ended(self, job: int) -> int:
        """Free the hosts of a job that has ended."""
        place = bisect_left(self.ends, self.end_of(job, self.starts[job]))
        while self.end_jobs[place] != job:
            place += 1
        del self.ends[place], self.end_jobs[place]
        self.free += self.sizes[job]
        self.finished.append(job)
        return -1 - job

    def joules(self) -> float:
        """The energy of all hosts until now, in joules.

        Raises:
            InputError: energy is not measured here.
        """
        raise InputError("this environment does not measure energy: use one that does, such as batprotocol/Power-v0")

    def weighted(self, kind: Kind) -> float:
        """The grams of CO2eq, or the money, of the energy since the first submission.

        Args:
            kind: `carbon` or `price`.

        Raises:
            InputError: it is not known here.
        """
        raise InputError(f"this environment does not know the {kind}: use the option electricity with a {kind}")

    def electricity(self) -> npt.NDArray[np.float64]:
        """The numbers about electricity that agents see, in environments that know it."""
        raise NotImplementedError

    def see(self, row: Any, tables: tuple[Any, Any, Any], layout: HostLayout) -> bool:
        """Write the observation into a row, if this world can do so itself, and return whether it did; see `Sight`."""
        return False

    # Orders that change with time

    def state(self) -> State:
        """The state that queue orders read: the time, and the number of free hosts."""
        state = State(resolution=self.log.resolution)
        state.now, state.size, state.room = self.now, self.log.hosts, self.free
        return state

    def sort(self, order: Order) -> None:
        """Sort the queue by a queue order, with its present keys."""
        self.queue = array("q", self.sorted_by(order, self.queue))

    def sorted_by(self, order: Order, jobs: Iterable[int]) -> list[int]:
        """Some waiting jobs, sorted by a queue order, with its present keys."""
        state, log, first = self.state(), self.log, self.first
        return sorted(jobs, key=lambda job: (order.key(log.waiting(first + job), state), job))

    # Results

    def row(self, job: int) -> JobRow:
        """The row of a job that has ended."""
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

    def used(self, job: int) -> float:
        """The hosts that a job that has started uses: its share of their cores, where jobs share hosts."""
        return self.sizes[job]

    def sums(self) -> tuple[float, float, float, float]:
        """The sums of bounded slowdowns, waiting times, and hosts times seconds, of all outcomes; and the last end.

        Each sum is rounded once.
        """
        slowdowns, waits, areas, end = [], [], [], 0.0
        for job in self.outcomes:
            start, last = self.starts[job], self.lasts[job]
            wait = start - self.submitted[job]
            slowdowns.append(max(1.0, (wait + last) / max(last, TAU)))
            waits.append(wait)
            areas.append(self.used(job) * last)
            end = max(end, start + last)
        return math.fsum(slowdowns), math.fsum(waits), math.fsum(areas), end

    @property
    def allocated(self) -> Sequence[Allocated]:
        """The amounts that started jobs take of shared hosts; none, if jobs have whole hosts."""
        return ()

    def rows(self) -> list[JobRow]:
        """The rows of the jobs that have ended, in the order of their ends."""
        return [self.row(job) for job in self.finished]


_NOW = np.zeros(1)
_NOT_AT_ALL = np.array([NEVER])  # hosts are asleep


# A machine of equal hosts, and jobs that only take time: the end of a job is known when it starts


class PythonDirect(World):
    """The world of this module, in Python."""

    __slots__ = ("_running",)

    changing: ClassVar[tuple[str, ...]] = (*World.changing, "_running")

    def settle(self) -> None:
        super().settle()
        self._running: list[tuple[float, int, int]] = []
        self.arrived()

    def advance(self) -> int | None:
        running, job = self._running, self.next
        if job < self.count:
            time = self.submitted[job]
            if not running or time <= running[0][0]:
                self.now = time
                return self.arrived()
        elif not running:
            return None
        self.now, _, job = heappop(running)
        return self.ended(job)

    def begin(self, job: int) -> None:
        end = self.now + self.lasts[job]
        if not self.log.is_whole:
            end = self.log.rounded(end)
        heappush(self._running, (end, len(self.started), job))
        self.outcomes.append(job)


class NativeDirect(World):
    """The same with its state and steps in C. Its attributes return copies. Those of `vector` step many in one call."""

    __slots__ = ("_play",)

    def list_jobs(self, part: slice) -> None:
        """They are made when somebody reads them, see `__getattr__`: steps in C need none."""

    def __getattr__(self, name: str) -> Any:
        if name not in _LISTS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        super().list_jobs(slice(self.first, self.first + self.count))
        return getattr(self, name)

    def settle(self) -> None:
        log, part = self.log, slice(self.first, self.first + self.count)
        columns = (log.submitted[part], log.walltimes[part], log.lasts[part], log.sizes[part], self.ranks, self.tried)
        times = (log.resolution, log.per_second, log.is_whole)
        self._play = _Play(columns, self.first, self.count, log.hosts, *times)
        self._play.advance()

    @property
    def play(self) -> Play:
        """The state in C."""
        return self._play

    def copy(self) -> NativeDirect:
        made = self.__class__.__new__(self.__class__)
        for name in self.shared:
            setattr(made, name, getattr(self, name))
        made._play = self._play.copy()
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.log, self.first, self.count, self.ranks, self.tried, self._play.state())

    def advance(self) -> int | None:
        return self._play.advance()

    def take(self, place: int) -> int:
        return self._play.take(place)

    def start(self, job: int) -> None:
        self._play.start(job)

    def wait_for(self, job: int, filling: WorldBackfilling | None = None) -> bool:
        self._play.wait_for(job, None if filling is None else filling.rules)
        return True

    def see(self, row: Any, tables: tuple[Any, Any, Any], layout: HostLayout) -> bool:
        self._play.see(row, *tables, *layout)
        return True

    def sums(self) -> tuple[float, float, float, float]:
        return self._play.sums()

    def head(self, limit: int) -> npt.NDArray[np.int64]:
        return np.frombuffer(self._play.queue(limit), np.int64)

    def outcome_numbers(self) -> npt.NDArray[np.int64]:
        return np.frombuffer(self._play.started, np.int64)

    def start_times(self) -> npt.NDArray[np.float64]:
        return np.frombuffer(self._play.starts)

    def running(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        return np.frombuffer(self._play.ends), np.frombuffer(self._play.end_jobs, np.int64)

    @property
    def is_over(self) -> bool:
        return self._play.begun == self.count

    @property
    def waiting(self) -> int:
        return self._play.waiting

    if not TYPE_CHECKING:  # in place of attributes, this world has properties that read the state in C
        now = property(lambda self: self._play.now)
        free = property(lambda self: self._play.free)
        next = property(lambda self: self._play.next)
        queue = property(
            lambda self: array("q", self._play.queue(-1)), lambda self, jobs: self._play.set_queue(jobs.tobytes())
        )
        ends = property(lambda self: array("d", self._play.ends))
        end_jobs = property(lambda self: array("q", self._play.end_jobs))
        started = outcomes = property(lambda self: array("q", self._play.started))
        starts = property(lambda self: array("d", self._play.starts))
        finished = property(lambda self: array("q", self._play.finished))


_LISTS = frozenset(("sizes", "submitted", "walltimes", "lasts"))


def _restored(
    log: LogArrays,
    first: int,
    count: int,
    ranks: npt.NDArray[np.int64] | None,
    tried: npt.NDArray[np.int64] | None,
    state: tuple[Any, ...],
) -> World:
    world = Direct(log, first, count, ranks, tried)
    if not isinstance(world, NativeDirect):
        raise TypeError(
            "this moment was pickled where the steps of environments are compiled, and here they are not: "
            "install batprotocol with a C compiler"
        )
    world._play.set_state(state)
    return world


_Play: type[Play]
Direct: type[World] = PythonDirect
if not TYPE_CHECKING:
    with suppress(ImportError):
        from batprotocol.gym._play import Play as _Play

        Direct = NativeDirect
