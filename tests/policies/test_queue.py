"""The first job that fits, as found among jobs that lie together, is the first one of all that fit."""

from __future__ import annotations

import math
from random import Random

import pytest

from batprotocol.model import Job
from batprotocol.policies import PARTS, Gap, Queue, State, WaitingJob, named

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
