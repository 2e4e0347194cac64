"""`SharedWorld`: the embedded Batsim simulates jobs that share hosts, with the rules of a site.

A site of `policies` has the only account of who has what. The queue has the jobs whose time and dependencies have come.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from batprotocol import MessageBuilder
from batprotocol.gym._simulated import OTHER, Execute, SimulatedWorld, named
from batprotocol.gym._world import WorldBackfilling
from batprotocol.gym.log import NEVER
from batprotocol.gym.machines import Machine
from batprotocol.model import (
    AllStaticJobsHaveBeenSubmittedEvent,
    Event,
    FinalJobState,
    OneShot,
    RequestedCallEvent,
    TimeUnit,
)
from batprotocol.policies import FCFS, Order, State
from batprotocol.policies.backfilling import PlanSettings, settings_of
from batprotocol.policies.jobs import SiteRunning
from batprotocol.policies.site.reservations import Start
from batprotocol.policies.site.rules import mapping_of
from batprotocol.policies.site.steering import Steered
from batprotocol.simulator import JobRow
from batprotocol.simulator.copies import copied
from batprotocol.workloads.requests import Allocated

_Self = TypeVar("_Self", bound="SharedWorld")

_ANY: Final = PlanSettings(backfills=True)
"""Each job that fits can start."""
_LATEST: Final = 1e15
"""No call is requested for a later time, in seconds."""


class SharedWorld(SimulatedWorld):
    """The world of this module.

    Args:
        machine: the hosts, and the rules of the site.
        order: the queue order; None: by submission.
        first: see `World`.
        count: see `World`.
        ranks: see `World`.

    Attributes:
        free: the number of hosts that no job has.
        machine: the hosts, and the rules of the site.
        site: the jobs and the free amounts of hosts.
        rejected: the jobs that were rejected.
        asked: for each job that was in the queue, the share of each resource that it takes of each host.
        partitions: the same with the partitions in which it can run, as 1 or 0 for each partition of the machine.
    """

    __slots__ = ("_call", "_entered", "_held", "_order", "_state", "asked", "machine", "partitions", "rejected", "site")

    shared: ClassVar[tuple[str, ...]] = (*SimulatedWorld.shared, "_order", "machine")
    numbers: ClassVar[tuple[str, ...]] = (*SimulatedWorld.numbers, "_call")
    changing: ClassVar[tuple[str, ...]] = (*SimulatedWorld.changing, "_held", "asked", "partitions", "rejected")

    def __init__(
        self,
        machine: Machine,
        order: Order | None,
        first: int,
        count: int,
        ranks: npt.NDArray[np.int64] | None = None,
    ) -> None:
        self.machine, self._order = machine, order or FCFS()
        super().__init__(machine.log, first, count, ranks, platform=machine.platform)

    def settle(self) -> None:
        super().settle()
        machine = self.machine
        self._state = State(resolution=self.log.resolution)
        self._state.now, self._state.size = self.now, self.log.hosts
        self.site = Steered(
            machine.hosts,
            machine.rules,
            self._state,
            self._order,
            ranking=machine.ranking,
            contiguous=machine.contiguous,
        )
        for number, request in machine.before(self.first, self.count):
            self.site.ended_before(named(self.log, number), request)
        self._call = math.inf
        self._entered: set[str] = set()
        self.rejected: list[int] = []
        self._held = array("d", bytes(8 * self.count))
        self.asked = np.zeros((self.count, len(machine.resources) - 1), np.float32)
        self.partitions = np.zeros((self.count, len(machine.partitions)), np.float32)

    def copy(self: _Self) -> _Self:
        made = super().copy()
        made.site, made._state = copied([self.site, self._state])
        made._entered = self._entered.copy()
        made.asked, made.partitions = self.asked.copy(), self.partitions.copy()
        return made

    # What happens

    def _take_event(self, event: Event) -> int | None:
        self._state.now = self.now
        happened = super()._take_event(event)
        if isinstance(event, AllStaticJobsHaveBeenSubmittedEvent):
            self.site.no_more()
            happened = OTHER
        elif isinstance(event, RequestedCallEvent):
            self._call, happened = math.inf, OTHER
        if happened is not None:
            self._look_around()
        return happened

    def arrived(self) -> int:
        job = self.next
        self.next = job + 1
        _, asked = self.log.job(self.first + job)
        profile = self.log.workload.profiles[asked.profile_id].profile
        self.site.submitted(self._name(job), asked, job, self.submitted[job], profile)
        return job

    def released(self, job: int, state: FinalJobState) -> None:
        self.site.ended(self._name(job), state)

    def ended(self, job: int) -> int:
        event = super().ended(job)
        self.free = self.site.unused
        return event

    def _look_around(self) -> None:
        """Let jobs enter the queue whose time has come, and remove those that were rejected."""
        self.site.passed()
        if self.site.over:
            self._decisions.append(_Kill(tuple(self.site.over)))
            self.site.over.clear()
        rejected = self.site.rejected
        if len(rejected) > len(self.rejected):
            for job in [self._names[id] for id in list(rejected)[len(self.rejected) :]]:
                self.rejected.append(job)
                self._decisions.append(_Reject(self._name(job)))
                if job in self.queue:
                    self.queue.remove(job)
        waiting = self.site.queue.jobs
        entering: list[str] = []
        for id in reversed(waiting):
            if id in self._entered:
                break
            entering.append(id)
        for id in reversed(entering):
            self._enter(id)
        time = self.site.wakes_at()
        if time < min(self._call, _LATEST):
            self._call = time
            self._decisions.append(_Call(time))

    def _enter(self, id: str) -> None:
        """A job enters the queue."""
        self._entered.add(id)
        job, entered = self._names[id], self.site.queue.jobs[id]
        self.asked[job] = self.machine.asked(entered.amount)
        own = {entry.partition for entry in entered.entries}
        self.partitions[job] = [name in own for name in self.machine.partitions]
        if self.ranks is None:
            self.queue.insert(bisect_left(self.queue, job), job)
        else:
            ranks = self.ranks
            self.queue.insert(bisect_left(self.queue, int(ranks[job]), key=ranks.__getitem__), job)

    @property
    def is_over(self) -> bool:
        return len(self.started) + len(self.rejected) == self.count

    @property
    def goes_on(self) -> bool:
        return super().goes_on or self._call < math.inf

    # Which jobs can start now

    def used(self, job: int) -> float:
        return self._held[job]

    @property
    def allocated(self) -> Sequence[Allocated]:
        return self.site.allocated

    def fits(self, job: int) -> bool:
        return self.site.has_space(self._name(job))

    def fit(self, jobs: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        return np.array([self.fits(job) for job in jobs.tolist()], np.bool_)

    @property
    def is_full(self) -> bool:
        return False

    def until_start(
        self, jobs: npt.NDArray[np.int64], remaining: npt.NDArray[np.float64], running: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        found = np.full(len(jobs), NEVER)
        hosts, times, free = zip(*self.site.moments(), strict=True)
        begins = np.flatnonzero(np.diff(np.array(hosts), prepend=-1))
        seconds, amounts = np.maximum(np.array(times) - self.now, 0.0), np.array(free)
        for place, job in enumerate(jobs.tolist()):
            waiting = self.site.queue.jobs[self._name(job)]
            for entry in waiting.entries:
                if waiting.request.takes_any:
                    # Until another job starts, what is free on a host only grows.
                    fits = (amounts >= entry.kind.amount).all(1)
                    soonest = np.minimum.reduceat(np.where(fits, seconds, NEVER), begins)
                    until = np.sort(soonest[self.machine.places(entry.kind.hosts)])[waiting.size - 1]
                else:
                    until = max(self.site.earliest(entry) - self.now, 0.0)
                found[place] = min(found[place], until)
        return found

    def wait_for(self, job: int, filling: WorldBackfilling | None = None) -> bool:
        name = self._name(job)
        while name in self.site.queue.jobs:
            if self.site.has_space(name):
                return True
            if filling is not None:
                for other in list(self.site.start_others(name, settings_of(filling.kind))):
                    self.queue.remove(self._names[other.waited.id])
                    self._begin(other)
            if self.advance() is None:
                break
        return False

    def overtaking(self, jobs: Sequence[int], filling: WorldBackfilling | None) -> list[int]:
        found = self._overtaking(jobs[0], filling)
        return [place for place, job in enumerate(jobs) if self._name(job) in found]

    def overtake(self, first: int, job: int, filling: WorldBackfilling | None) -> None:
        where = self._overtaking(first, filling)[self._name(job)]
        self._begin(self.site.start_job(self._name(job), where))

    def _overtaking(self, first: int, filling: WorldBackfilling | None) -> dict[str, Start]:
        return self.site.overtaking(self._name(first), _ANY if filling is None else settings_of(filling.kind))

    # Jobs start

    def start(self, job: int) -> None:
        self._begin(self.site.start_job(self._name(job)))

    def _begin(self, running: SiteRunning) -> None:
        """A job has started on the site."""
        job = self._names[running.waited.id]
        self.allocations[job] = running.hosts
        self._held[job] = self.site.allocated[-1].held or 0.0
        self.lasts[job] = min(self.lasts[job], running.entry.limit)  # NaN stays NaN
        mapping = mapping_of(running.entry.job, running.members)
        self._decisions.append(Execute(running.waited.id, running.hosts, None if mapping is None else tuple(mapping)))
        super().start(job)
        self.free = self.site.unused
        self._look_around()

    def begin(self, job: int) -> None:
        if not math.isnan(self.lasts[job]):
            self.outcomes.append(job)

    # Results

    def shares(self) -> npt.NDArray[np.float64]:
        """The free share of each resource, of all hosts and of each partition."""
        return self.machine.shares(self.site.free)

    def free_shares(self) -> dict[str, float]:
        return dict(zip(self.machine.resources[1:], self.shares()[0, 1:].tolist(), strict=True))

    def pending(self) -> npt.NDArray[np.int64]:
        return np.array([*self.queue, *(self._names[id] for id in self.site.held)], np.int64)

    @property
    def busy(self) -> int:
        return self.log.hosts - self.free

    @property
    def counted(self) -> int:
        return self.count - len(self.rejected)

    def rows(self) -> list[JobRow]:
        return [row for row in super().rows() if row.starting_time is not None]

    def reasons(self) -> dict[str, str]:
        """Why jobs were rejected, by their names in the log."""
        found = self.site.rejected
        return {self.log.job(self.first + job)[0]: found[self._name(job)] for job in self.rejected}


class _Call(NamedTuple):
    """A decision to be called at a time, in seconds."""

    time: float

    def add_to(self, builder: MessageBuilder) -> None:
        builder.add_call_me_later(f"gym-{self.time}", OneShot(math.ceil(self.time * 1000), TimeUnit.Millisecond))


class _Kill(NamedTuple):
    """A decision to kill jobs."""

    job_ids: tuple[str, ...]

    def add_to(self, builder: MessageBuilder) -> None:
        builder.add_kill_jobs(list(self.job_ids))


class _Reject(NamedTuple):
    """A decision to reject a job."""

    job_id: str

    def add_to(self, builder: MessageBuilder) -> None:
        builder.add_reject_job(self.job_id)
