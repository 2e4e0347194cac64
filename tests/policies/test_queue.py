"""The first job that fits, as found among jobs that lie together, is the first one of all that fit."""

from __future__ import annotations

import math
from random import Random

import pytest

from batprotocol.model import Job
from batprotocol.model.free_hosts import Hosts
from batprotocol.policies import PARTS, Gap, Multifactor, Queue, RunningJob, State, WaitingJob, named

WITHOUT_ENGINE = True
ORDERS = [name for name, part in PARTS.items() if part.kind == "order"]


def waiting(random: Random, number: int, now: float, shapes: int) -> WaitingJob:
    walltime = random.choice([None, *[float(30 * random.randint(1, shapes))] * 9])
    job = Job(resource_request=random.randint(1, 40), walltime=walltime, profile_id="p")
    made = WaitingJob(str(number), job, number, now)
    made.expected = min(made.walltime, random.choice([math.inf, random.uniform(0, 100)]))
    return made


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("shapes", [3, 1000])  # equal ones lie together, or only those that are alike
def test_the_first_job_that_fits_is_found(name: str, shapes: int) -> None:
    random = Random(shapes)
    order, state = named(name)().order, State()
    state.size = 40
    order.begin(state)
    queue = Queue(order, state)
    ranking = queue.by(None)
    for number in range(700):
        state.now += random.choice([0.0, 0.0, 1.0, 70.0])
        queue.add(waiting(random, number, state.now, shapes))
    for _ in range(6):
        state.now += random.choice([0.0, 10.0, 5000.0])
        hosts, seconds = random.randint(0, 40), random.choice([math.inf, random.uniform(0, 20_000)])
        gap = Gap((hosts, seconds), (hosts // 3, math.inf))
        by_key = sorted(queue.jobs.values(), key=lambda job: (order.key(job, state), job.number))
        fitting = [job for job in by_key if gap.takes(job.size, job.expected)]
        assert list(queue) == by_key
        assert queue.first() is by_key[0]
        found = ranking.first_in(gap)
        assert found is (fitting[0] if fitting else None)
        for job in random.sample(by_key, 20) + ([found] if found else []):
            if job.id in queue.jobs:
                queue.remove(job)


@pytest.mark.parametrize("name", ORDERS)
def test_the_first_job_that_fits_is_found_as_a_queue_grows_and_empties(name: str) -> None:
    """Few jobs are tried one by one, and many lie together."""
    random = Random(name)
    order, state = named(name)().order, State()
    state.size = 40
    order.begin(state)
    queue = Queue(order, state)
    ranking, number = queue.by(None), 0
    for length in (5, 40, 30, 60, 0, 70, 20, 34, 0, 10):
        while len(queue) != length:
            state.now += random.choice([0.0, 1.0, 70.0])
            if len(queue) < length:
                number += 1
                queue.add(waiting(random, number, state.now, 1000))
            else:
                queue.remove(random.choice(list(queue.jobs.values())))
            hosts, seconds = random.randint(0, 40), random.choice([math.inf, random.uniform(0, 20_000)])
            steps = [(hosts, seconds), (hosts // 3, math.inf)][: random.randint(1, 2)]
            gap = Gap(*steps)
            by_key = sorted(queue.jobs.values(), key=lambda job: (order.key(job, state), job.number))
            assert ranking.first_in(gap) is next((job for job in by_key if gap.takes(job.size, job.expected)), None)
            assert ranking.first() is next(iter(by_key), None)


def _user_waits(random: Random, number: int, now: float, users: int) -> WaitingJob:
    shape = random.choice([(1, 60.0), (8, 600.0), (40, 6e4), (random.randint(1, 40), random.uniform(1, 1e5))])
    data = f'{{"user": {random.randrange(users)}}}' if users else ""
    return WaitingJob(
        str(number), Job(resource_request=shape[0], walltime=shape[1], profile_id="p", extra_data=data), number, now
    )


@pytest.mark.parametrize("seed", range(60))
def test_the_first_job_of_a_multifactor_order_is_found_to_the_last_bit(seed: int) -> None:
    """Jobs end and get old, levels change, and many keys are equal or almost equal."""
    random = Random(seed)
    order = Multifactor(
        age=random.choice([0.0, 1.0, 1000.0, 1e5, 1e308]),
        size=random.choice([0.0, 1000.0, -1000.0]),
        share=random.choice([0.0, 1.0, 1000.0]),
        oldest=random.choice([1e-300, 50.0, 5000.0, 604800.0]),
        half_life=random.choice([1.0, 5000.0, 604800.0]),
        shares={0: 3.0} if random.random() < 0.5 else None,
    )
    state, users = State(), random.choice([0, 1, 5, 40])
    state.size, state.now = 40, random.choice([0.0, 1.6e9])
    order.begin(state)
    queue = Queue(order, state)
    ranking = queue.by(None)
    number, pause = 0, random.choice([0.0, 0.001, 20.0, 3000.0])
    for _ in range(60):
        for _ in range(random.choice([0, 1, 1, 2, 12])):
            queue.add(_user_waits(random, number, state.now, users))
            number += 1
        state.now += random.choice([0.0, pause, pause * random.random()])
        gap = Gap((random.randint(0, 40), random.choice([math.inf, random.uniform(0, 1e5)])), (5, math.inf))
        by_key = sorted(queue.jobs.values(), key=lambda job: (order.key(job, state), job.number))
        fitting = [job for job in by_key if gap.takes(job.size, job.expected)]
        first, found = queue.first(), ranking.first_in(gap)
        assert first is (by_key[0] if by_key else None)
        assert found is (fitting[0] if fitting else None)
        for job in {job.id: job for job in (first, found) if job is not None}.values():
            if random.random() < 0.7:
                queue.remove(job)
                run = RunningJob(job, Hosts(range(job.size)).take(job.size), state.now - random.choice([0.0, 5.0, 1e4]))
                order.ended(run, state)


def test_a_multifactor_order_computes_few_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of keys does not grow with the queue."""
    computed = []
    key_of = Multifactor.key_of
    monkeypatch.setattr(Multifactor, "key_of", lambda *given: computed.append(given) or key_of(*given))
    counts = []
    for jobs in (200, 2000):
        order, state, random = Multifactor(), State(), Random(jobs)
        state.size = 40
        queue = Queue(order, state)
        for number in range(jobs):
            state.now += 5.0
            queue.add(_user_waits(random, number, state.now, 5))
        computed.clear()
        for _ in range(100):
            job = queue.first()
            assert job is not None
            queue.remove(job)
            order.ended(RunningJob(job, Hosts([0]).take(1), state.now - 10.0), state)
        counts.append(len(computed))
    assert counts[1] < 2 * counts[0]


@pytest.mark.parametrize("backfills", [False, True])
def test_a_multifactor_order_computes_few_levels(monkeypatch: pytest.MonkeyPatch, backfills: bool) -> None:
    """Most of the 100 users, each with jobs of many shapes, are not looked at in a search."""
    computed = []
    level = Multifactor.level
    monkeypatch.setattr(Multifactor, "level", lambda *given: computed.append(given) or level(*given))
    order, state, random = Multifactor(), State(), Random(8000)
    state.size = 40
    queue = Queue(order, state)
    for number in range(8000):
        queue.add(_user_waits(random, number, state.now, 100))
    for place in range(200):
        if place == 100:
            computed.clear()
        job = queue.by(None).first_in(Gap((40, 5e4), (5, math.inf))) if backfills else queue.first()
        assert job is not None
        queue.remove(job)
        state.now += 10.0
        order.ended(RunningJob(job, Hosts([0]).take(1), state.now - 10.0), state)
    assert len(computed) < 100 * (120 if backfills else 60)
