"""Conservative backfilling decides as the plain one of `plain_conservative` does, to the last bit."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from plain_conservative import PlainConservative

from batprotocol.model import Job
from batprotocol.model.free_hosts import Hosts
from batprotocol.policies import (
    FCFS,
    LCFS,
    SAF,
    SJF,
    WFP3,
    Conservative,
    Contiguous,
    First,
    Order,
    RunningJob,
    State,
    WaitingJob,
    backfilling,
)
from batprotocol.policies.backfilling import PythonReservedJobs
from batprotocol.policies.queue import Queue

WITHOUT_ENGINE = True
ORDERS: list[Callable[[], Order]] = [FCFS, FCFS, LCFS, SJF, SAF, WFP3]
RESERVED = sorted({PythonReservedJobs, backfilling.ReservedJobs}, key=str)
each_kind = pytest.mark.parametrize("kind", RESERVED, ids=lambda kind: kind.__module__.rpartition(".")[2])


class World:
    """A machine and a queue, in which jobs are submitted, start, end early, in time or late, and are dropped."""

    def __init__(self, seed: int, kind: Callable[[int | None], Any]) -> None:
        self.random = random = Random(seed)
        hosts = random.choice([1, 3, 8, 40])
        self.walltimes = random.choice([[1.0, 7.5, 30.0], [float(each) for each in range(0, 90, 3)], []])
        self.crowd, self.some = random.choice([(0.5, 0.1), (0.8, 0.05), (0.95, 0.3)])
        self.part = kind(random.choice([None, None, None, 0, 1, 4, 30]))
        self.state = State(Hosts(range(hosts)), random.choice([0.0, 1e-3, 1e-3, 0.3, 1.0, 60.0]))
        self.queue = Queue(random.choice(ORDERS)(), self.state)
        self.allocation = random.choice([First, First, Contiguous])()
        self.numbers = self.starts = 0
        self.part.begin(self.queue, self.state)

    def _look(self) -> None:
        state = self.state
        state.room, state.vacant = self.allocation.room(state.free), self.allocation.vacant(state.free)

    def turn(self) -> tuple[object, ...]:
        """Something happens; what is decided then, and all reservations."""
        random, state = self.random, self.state
        state.now = state.rounded(state.now + random.choice([0.0, random.expovariate(0.2), random.expovariate(0.02)]))
        for running in list(state.running.values()):
            if running.end <= state.now:
                if random.random() < 0.9:
                    self._end(running)
                else:
                    before = running.end
                    state.move(running, state.now + random.choice([1.0, 40.0, math.inf]))
                    self.part.extended(running, before, state)
        if state.running and random.random() < 0.6:
            self._end(random.choice(list(state.running.values())))
        while random.random() < self.crowd:
            self._submit()
        if self.queue.jobs and random.random() < self.some:
            job = random.choice(list(self.queue.jobs.values()))
            self.queue.remove(job)
            self.part.dropped(job, state)
        started = list(self._start())
        waiting = [(job.number, self.part.reservation_of(job)) for job in self.queue.jobs.values()]
        return state.now, started, waiting, self.part.wakes_at(state)

    def _submit(self) -> None:
        random, state = self.random, self.state
        seconds = random.choice(self.walltimes) if self.walltimes else random.expovariate(0.02)
        walltime = None if random.random() < 0.01 else max(seconds, 1e-3)
        size = min(int(2 ** random.uniform(0, 6)), state.size)
        job = Job(resource_request=size, walltime=walltime, profile_id="w0!d")
        waiting = WaitingJob(f"w0!{self.numbers}", job, self.numbers, state.now)
        if random.random() < 0.2:
            waiting.expected = min(waiting.walltime, random.expovariate(0.02))
        self.numbers += 1
        self.queue.add(waiting)
        self.part.submitted(waiting, self.queue, state)

    def _end(self, running: RunningJob) -> None:
        state = self.state
        del state.running[running.waited.id]
        state.endings.remove(running.ending)
        self.allocation.give_back(running.hosts, state.free)
        self._look()
        self.part.ended(running, state)

    def _start(self) -> Iterator[int]:
        state = self.state
        for job in self.part.starting(self.queue, state):
            hosts = self.allocation.take(job.size, state.free, Hosts())
            self.queue.remove(job)
            running = state.running[job.id] = RunningJob(job, hosts, state.now, self.starts)
            self.starts += 1
            state.endings.add(running.ending)
            self._look()
            self.part.started(running, state)
            yield job.number


def check(seed: int, turns: int, kind: Callable[[int | None], Any] = Conservative) -> int:
    """Play a random workload with both; the number of jobs that started."""
    found, expected = World(seed, kind), World(seed, PlainConservative)
    for turn in range(turns):
        assert found.turn() == expected.turn(), (seed, turn)
    return found.starts


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_decisions_are_those_of_the_plain_one(first: int) -> None:
    assert sum(check(seed, 25) for seed in range(first, first + 20)) > 100


@pytest.mark.minutes
@pytest.mark.parametrize("first", range(0, 2000, 100))
def test_decisions_are_those_of_the_plain_one_for_long(first: int) -> None:
    assert sum(check(seed, 60) for seed in range(first, first + 100)) > 1000


@each_kind
def test_decisions_are_those_of_the_plain_one_with_each_kind(
    kind: type[PythonReservedJobs], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfilling, "ReservedJobs", kind)
    if kind is PythonReservedJobs:
        monkeypatch.setattr(backfilling, "Profile", backfilling.PythonProfile)
    assert sum(check(seed, 15) for seed in range(1000, 1030)) > 100


@pytest.mark.parametrize("seed", range(20))
def test_a_copy_in_the_middle_goes_on_alike(seed: int) -> None:
    """Copies know the reservations, their order, and which of them are due."""
    world = World(seed, Conservative)
    for _ in range(15):
        world.turn()
    other = copy.deepcopy(world)
    for _ in range(10):
        assert other.turn() == world.turn()
