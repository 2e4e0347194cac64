"""Plans under a cap: a reservation that stays is where it would be if it was made anew."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

from batprotocol.model import DelayProfile
from batprotocol.policies import Policy, named
from batprotocol.policies.caps import Cap
from batprotocol.policies.site.capped import CappedPlanner
from batprotocol.simulator import Platform, StaticJob, Workload, simulate
from batprotocol.workloads.electricity import Trace, Watts

WITHOUT_ENGINE = True

HOSTS = 8
POLICIES = ["conservative", "conservative=3", "reservations=2", "sjf+conservative", "wfp3+conservative"]


def workload_of(random: Random) -> Workload:
    """Jobs that wait for long, and end before their walltimes, or at them."""
    jobs, time = [], 0.0
    exact = random.random() < 0.5
    for number in range(random.randint(10, 40)):
        time += random.choice([0.0, 0.0, random.uniform(0, 20)])
        walltime = float(random.randint(1, 60)) if exact else round(random.uniform(0.1, 60), random.choice([1, 4, 9]))
        runtime = walltime * random.choice([1.0, 1.2, random.random()])
        size = min(random.randint(1, HOSTS), random.randint(1, HOSTS))
        jobs.append(StaticJob(f"{number}", time, size, DelayProfile(runtime), walltime=walltime))
    return Workload(jobs)


def cap_of(random: Random) -> Trace:
    """A cap under which some hosts have jobs, and sometimes all."""
    values = [HOSTS * 100.0 + 100 * random.uniform(1, HOSTS) for _ in range(random.choice([1, 1, 1, 3]))]
    times = [0.0, *sorted(random.uniform(1, 200) for _ in values[1:])]
    return Trace(times, values, math.inf, "W")


def starts(policy: str, workload: Workload, cap: Trace) -> list[tuple[Any, ...]]:
    """When and where each job starts."""
    plain: Any = named(policy)()
    capped = Policy(plain.order, plain.backfilling, plain.allocation, cap=Cap(cap))
    platform = Platform.homogeneous(HOSTS, watts=Watts(100.0, 100.0, 200.0))
    rows = simulate(platform, workload, capped).jobs
    return [(row.job_id, row.starting_time, row.allocated_resources) for row in rows]


def compare(seed: int, patch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Simulate with and without reservations that stay; how many were asked for, and how many stayed."""
    random = Random(seed)
    workload, cap, policy = workload_of(random), cap_of(random), random.choice(POLICIES)
    asked: list[bool] = []
    known = CappedPlanner._stays

    def stays(self: CappedPlanner, entry: Any) -> bool:
        asked.append(known(self, entry))
        return asked[-1]

    with patch.context() as here:
        here.setattr(CappedPlanner, "_stays", stays)
        found = starts(policy, workload, cap)
        here.setattr(CappedPlanner, "_stays", lambda self, entry: False)
        assert found == starts(policy, workload, cap), f"seed {seed}"
    return len(asked), sum(asked)


@pytest.mark.slow
def test_reservations_stay_where_they_would_be_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = [compare(seed, monkeypatch) for seed in range(25)]
    assert sum(stayed for _, stayed in counts) > 0.4 * sum(asked for asked, _ in counts)


@pytest.mark.minutes
@pytest.mark.parametrize("begin", range(0, 4_000, 100))
def test_reservations_stay_in_many_simulations(begin: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(begin, begin + 100):
        compare(seed, monkeypatch)
