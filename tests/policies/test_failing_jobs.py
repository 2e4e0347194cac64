"""Jobs whose hosts fail: lost, or run again from the start or from checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from fates import Fate, checked, events_of, outages_of
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.model import DelayProfile
from batprotocol.policies import daly, lanl, named, young
from batprotocol.simulator import ExternalEventList, Platform, StaticJob, Workload, simulate

WITHOUT_ENGINE = True

FATES = [
    Fate(),
    Fate("requeue", math.inf),
    Fate("requeue=2,last", 2),
    Fate("checkpoint=3,0.5,restart=1", math.inf, 3, 0.5, 1),
    Fate("checkpoint=7,1,times=3", 3, 7, 1),
]
POLICIES = ["fcfs", "sjf", "greedy+saf", "easy", "wfp3+easy=sjf", "reservations=2", "conservative", "easy+spread"]


def outages_are(*times: tuple[float, float], host: str = "0") -> ExternalEventList:
    events = [(begin, f'{{"hosts":"{host}","state":"down"}}') for begin, _ in times]
    events += [(end, f'{{"hosts":"{host}","state":"up"}}') for _, end in times if end < math.inf]
    return ExternalEventList.of(events)


def finished(name: str, delay: float, events: ExternalEventList) -> tuple[float, list[str]]:
    """When a job on the only host has ended, and the ends of its runs."""
    policy = named(name)()
    result = simulate(
        Platform.homogeneous(1),
        Workload([StaticJob("1", 0.0, 1, DelayProfile(delay))]),
        policy,
        external_events=[events],
    )
    ends = [row.finish_time for row in result.jobs if row.finish_time is not None]
    return max(ends), [each.end for each in policy.attempts]


# Against others


MINUTE = 60.0


@pytest.mark.parametrize(
    ("name", "outages", "expected"),
    [
        ("requeue", [(5, 10)], 20 * MINUTE),
        ("requeue", [(500, 505)], 10 * MINUTE),
        ("requeue", [(5, 10), (17, 27)], 37 * MINUTE),
        ("requeue=9", [(5 + 10 * number, 10 + 10 * number) for number in range(10)], 95 * MINUTE),
        ("checkpoint=60,1", [], 10 * MINUTE + 9),
        ("checkpoint=60,1", [(5, 10)], 16 * MINUTE + 5),
        ("checkpoint=60,1", [(5 + 10 * number, 10 + 10 * number) for number in range(10)], 22 * MINUTE + 1),
    ],
)
def test_another_simulator_s_cases_take_as_long(name: str, outages: list[tuple[int, int]], expected: float) -> None:
    """The tests of OpenDC for failures and checkpoints: a job of ten minutes on one host."""
    events = outages_are(*((begin * MINUTE, end * MINUTE) for begin, end in outages))
    end, ends = finished(name, 10 * MINUTE, events)
    assert end == pytest.approx(expected, abs=0.01)
    assert ends[-1:] == (["failure"] if name == "requeue=9" else ["completed"] if outages != [(500, 505)] else [])


def direct(work: float, interval: float, cost: float, restart: float, outages: list[tuple[float, float]]) -> float:
    """When a job with checkpoints has ended on a host with these outages."""
    start, left, pause = 0.0, work, 0.0
    for down, up in [*outages, (math.inf, math.inf)]:
        checkpoints, taken, time = max(math.ceil(left / interval - 1e-9) - 1, 0), 0, start + pause
        while taken < checkpoints and time + interval + cost <= down:
            time, taken = time + interval + cost, taken + 1
        if taken == checkpoints and time + left - taken * interval <= down:
            return time + left - taken * interval
        left, start, pause = left - taken * interval, up, restart
    raise AssertionError


@given(
    work=st.floats(1, 1000),
    interval=st.floats(1, 300),
    cost=st.floats(0.1, 20),
    restart=st.one_of(st.just(0.0), st.floats(0.1, 20)),
    gaps=st.lists(st.tuples(st.floats(1, 200), st.floats(1, 50)), max_size=8),
)
@settings(max_examples=20, deadline=None)
def test_a_job_ends_when_a_recursion_of_its_pieces_does(
    work: float, interval: float, cost: float, restart: float, gaps: list[tuple[float, float]]
) -> None:
    work, interval, cost, restart = (round(each, 3) for each in (work, interval, cost, restart))
    time, outages = 0.0, []
    for until, repair in gaps:
        down = round(time + until, 2)
        time = round(down + repair, 2)
        outages.append((down + 0.005, time + 0.005))
    end, _ = finished(f"checkpoint={interval},{cost},restart={restart}", work, outages_are(*outages))
    expected = direct(work, interval, cost, restart, outages)
    others = [
        direct(work, interval, cost, restart, [(a + late, b + late) for a, b in outages]) for late in (-0.002, 0.002)
    ]
    assert any(abs(end - each) < 0.01 for each in (expected, *others))  # a checkpoint and a failure may meet


@pytest.mark.parametrize("formula", [young, daly, lanl])
def test_the_formulas_are_near_the_best_interval(formula: Callable[[float, float], float]) -> None:
    """Daly's exact expectation is least where his formula says, to half a percent of the interval."""
    cost, mtbf = 60.0, 86400.0
    taus = np.linspace(100, 20_000, 200_000)
    overhead = np.expm1((taus + cost) / mtbf) / taus
    best = float(taus[np.argmin(overhead)])
    known: dict[Callable[[float, float], float], float] = {young: 3220.0, daly: 3180.4, lanl: 8692.9}
    assert formula(cost, mtbf) == pytest.approx(known[formula], abs=0.5)
    assert daly(cost, mtbf) == pytest.approx(best, rel=5e-3)


@pytest.mark.parametrize(
    ("ratio", "interval"), [(0.02, 2 * (1 + 1 / 30 + 1 / 900) - 0.2), (0.5, 2 * (1 + 1 / 6 + 1 / 36) - 1.0)]
)
def test_daly_s_interval_is_his_series(ratio: float, interval: float) -> None:
    """In units of the root of half the product of cost and mean time: their ratio is twice the square of 1/10, 1/2."""
    mtbf = 7200.0
    cost = ratio * mtbf
    unit = (cost * mtbf / 2) ** 0.5
    assert daly(cost, mtbf) == pytest.approx(interval * unit)
    assert daly(2 * mtbf, mtbf) == mtbf
    assert daly(1.99 * mtbf, mtbf) != mtbf


# Random simulations


def random_simulation(seed: int) -> int:
    random = Random(seed)
    hosts, fate, policy = random.randint(1, 6), random.choice(FATES), random.choice(POLICIES)
    outages = outages_of(random, range(hosts), 60.0, endless=random.choice([0.0, 0.1]))
    jobs, delays, sizes = [], {}, {}
    for number in range(random.randint(1, 10)):
        size, delay = random.randint(1, hosts), float(random.choice([1, 4, 10, 30]))
        walltime = random.choice([None, delay + 1, delay * 3])
        jobs.append(StaticJob(str(number), float(random.choice([0, 0, 1, 7, 20])), size, DelayProfile(delay), walltime))
        delays[f"w0!{number}"], sizes[f"w0!{number}"] = delay, size
    result = simulate(
        Platform.homogeneous(hosts),
        Workload(jobs),
        named(policy + fate.part)(),
        external_events=[events_of(outages)],
        corrected=True,
    )
    return checked(hosts, sizes, outages, result.jobs, fate, delays)


def test_each_job_ends_once_or_is_given_up_and_none_runs_on_a_host_that_is_away() -> None:
    killed = sum(random_simulation(seed) for seed in range(24))
    assert killed > 10


@pytest.mark.minutes
@pytest.mark.timeout(3600)
@given(seed=st.integers(0, 2**40))
@settings(max_examples=2000, deadline=None)
def test_no_job_is_lost_in_2000_random_workloads(seed: int) -> None:
    random_simulation(seed)
