"""Caps that fall while jobs run and hosts sleep: what Batsim reports is never more than the cap of that time."""

from __future__ import annotations

import math
from itertools import pairwise
from random import Random

import pytest
from capped import Rows, most
from lives import LATE

from batprotocol.model import DelayProfile, ParallelTaskHomogeneousProfile
from batprotocol.policies import EASY, Policy, named
from batprotocol.policies.caps import Cap
from batprotocol.simulator import Platform, SleepPState, StaticJob, Workload, simulate
from batprotocol.workloads.electricity import Trace, Watts

WITHOUT_ENGINE = True

POLICIES = ["none", "greedy", "easy", "easy=no-spare", "reservations=2", "conservative", "sjf+easy"]


def machine(hosts: int, off: float, on: float, watts: Watts, sleeping: tuple[float, float, float]) -> Platform:
    """Equal hosts with two slower power states: `sleeping` is what one draws while it sleeps, leaves and wakes."""
    more = watts.max - watts.idle
    states = [watts, *(Watts(watts.idle, watts.idle, watts.idle + share * more) for share in (105 / 155, 65 / 155))]
    states += [Watts(each, each, each) for each in sleeping]
    return Platform.homogeneous(
        hosts,
        speeds=(1e9, 0.75e9, 0.5e9, 1.0, 1 / off, 1 / on),
        watts=tuple(states),
        sleep_pstates=(SleepPState(3, 4, 5),),
    )


def above(platform: Platform, jobs: list[StaticJob], policy: Policy, cap: Trace) -> list[str]:
    """When more was drawn than the cap allowed, as far as the energy that Batsim reports tells."""
    rows, found = Rows(), []
    result = simulate(platform, Workload(jobs), policy, energy=True, corrected=True, observers=[rows])
    assert result.is_complete
    for (begin, before), (end, after) in pairwise(rows.points):
        if end - begin > 1e-3:
            watts = (after - before) / (end - begin)
            # Energy is read where power states and jobs change, and not where the cap does.
            edges = [begin, *(time for time in steps_of(cap, end) if begin + LATE < time < end - LATE)]
            allowed = min(cap.at(time + LATE) for time in edges)
            if watts > allowed + 1e-3:
                found.append(f"{watts:g} W from {begin:g} to {end:g} s, {allowed:g} W are allowed")
    return found


def steps_of(cap: Trace, end: float) -> list[float]:
    turns = range(int(end / cap.period) + 2) if cap.repeats else [0]
    return [time + turn * (cap.period if cap.repeats else 0.0) for turn in turns for time in cap.times]


def world_of(seed: int) -> tuple[Platform, list[StaticJob], Policy, Trace]:
    """A machine of hosts that sleep, jobs, and a cap that can be kept: all hosts but one may have to sleep for it."""
    random = Random(seed)
    size = random.choice([1, 2, 2, 2, 3, 4, 6])
    idle = random.choice([50.0, 95.0, 100.0])
    watts = Watts(idle, idle, idle + random.choice([10.0, 100.0, 155.0]))
    off, on = random.choice([1.0, 10.0, 50.0, 120.0]), random.choice([1.0, 10.0, 100.0, 300.0])
    asleep = random.choice([5.0, 10.0])
    leaving, waking = random.choice([idle, 0.8 * idle]), random.choice([idle, 0.9 * idle, 1.5 * idle])
    platform = machine(size, off, on, watts, (asleep, leaving, waking))
    least = size * asleep + max(most(watts), waking) - asleep
    peak = size * max(most(watts), waking)
    start = size * idle  # all are on at first
    times, values = [0.0], [max(start, least + random.random() * (peak - least))]
    for _ in range(random.choice([1, 2, 2, 3, 5])):
        times.append(times[-1] + random.choice([off + 5.0, float(random.randint(5, 1200))]) + off + 1.0)
        values.append(least + random.random() ** 2 * (peak - least))
    repeats = random.random() < 0.3
    cap = Trace(times, values, times[-1] + off + random.randint(10, 600) if repeats else math.inf, "W", repeats=repeats)
    jobs, time = [], 0.0
    for number in range(random.randint(1, 10)):
        time += random.choice([0.0, 1.0, float(random.randint(0, 400))])
        seconds = float(random.choice([random.randint(5, 80), random.randint(50, 1500)]))
        profile = random.choice([ParallelTaskHomogeneousProfile(seconds * 1e9, 0.0), DelayProfile(seconds)])
        walltime = random.choice([round(seconds * 1.5), round(seconds * 3), seconds + 10])
        jobs.append(StaticJob(str(number), time, random.randint(1, size), profile, walltime=float(walltime)))
    plain = named(random.choice(POLICIES))()
    policy = Policy(
        *(plain.order, plain.backfilling, plain.allocation),
        cap=Cap(cap, slow=random.random() < 0.5, off=True),
    )
    return platform, jobs, policy, cap


def check(seed: int) -> None:
    assert not above(*world_of(seed)), seed


def test_no_cap_that_falls_is_exceeded() -> None:
    for seed in range(60):
        check(seed)


@pytest.mark.minutes
@pytest.mark.parametrize("first", range(0, 20_000, 1_000))
def test_no_cap_that_falls_is_exceeded_in_20000_simulations(first: int) -> None:
    for seed in range(first, first + 1_000):
        check(seed)


def test_the_check_sees_hosts_that_stay_on() -> None:
    platform, jobs, _, cap = pair(10.0)
    assert above(platform, jobs, Policy(backfilling=EASY()), cap)


def pair(off: float) -> tuple[Platform, list[StaticJob], Policy, Trace]:
    """Two hosts, of which one is reserved for the time when the cap rises again, and is on when it falls."""
    platform = machine(2, off, 100.0, Watts(95.0, 95.0, 250.0), (10.0, 95.0, 95.0))
    jobs = [
        StaticJob("1", 342.0, 1, ParallelTaskHomogeneousProfile(1176e9, 0.0), walltime=1764.0),
        StaticJob("2", 363.0, 1, ParallelTaskHomogeneousProfile(45e9, 0.0), walltime=67.0),
    ]
    cap = Trace([0.0, 772.0, 905.0], [364.0, 216.0, 452.0], math.inf, "W")
    return platform, jobs, Policy(backfilling=EASY(), cap=Cap(cap, slow=True, off=True)), cap


@pytest.mark.parametrize("off", [1.0, 10.0, 60.0])
def test_hosts_of_reservations_leave_where_the_cap_falls_before(off: float) -> None:
    assert not above(*pair(off))


def test_hosts_leave_before_the_second_of_two_steps() -> None:
    """The second step is sooner after the first one than a host can be switched off."""
    cap = Trace([0.0, 200.0, 210.0], [400.0, 390.0, 120.0], math.inf, "W")
    policy = Policy(backfilling=EASY(), cap=Cap(cap, off=True))
    platform = machine(2, 60.0, 10.0, Watts(95.0, 95.0, 250.0), (10.0, 95.0, 95.0))
    assert not above(platform, [StaticJob("1", 300.0, 1, DelayProfile(5.0), walltime=9.0)], policy, cap)


def test_a_job_whose_hosts_can_never_be_off_in_time_is_rejected(caplog: pytest.LogCaptureFixture) -> None:
    """Each 200 s, watts suffice for 100 s: a job of 60 s leaves no time to switch its hosts off again."""
    cap = Trace([0.0, 100.0], [600.0, 150.0], 200.0, "W", repeats=True)
    policy = Policy(backfilling=EASY(), cap=Cap(cap, off=True))
    platform = machine(2, 50.0, 10.0, Watts(95.0, 95.0, 250.0), (10.0, 95.0, 95.0))
    assert not above(platform, [StaticJob("1", 300.0, 2, DelayProfile(60.0), walltime=60.0)], policy, cap)
    assert "after 10 s to switch its hosts on and before 50.06 s to switch them off" in caplog.text
