"""Hosts of a site sleep when they are idle, and are on again for the jobs of its plan."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.model import DelayProfile, HostsTurnedOnOffEvent, Message, TurnOnOffHostsEvent
from batprotocol.policies import EASY, Conservative, Greedy, Policy, SiteRules, Wait, named
from batprotocol.simulator import EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, Result, StaticJob, Workload, simulate
from batprotocol.workloads.electricity import Trace

WITHOUT_ENGINE = True

BOOT, SHUTDOWN = 100.0, 0.0
RULES = SiteRules.of({"partitions": {"p": {"hosts": "ALL"}}})
LATE = 0.01


class Log:
    """The requests to switch hosts, and their ends, with their times."""

    def __init__(self) -> None:
        self.requests: list[tuple[float, int, str]] = []
        self.ends: list[tuple[float, int, str]] = []

    def __call__(self, message: Message, reply: Message) -> None:
        self.ends += [
            (event.timestamp, event.state, event.host_ids)
            for event in message.events
            if isinstance(event, HostsTurnedOnOffEvent)
        ]
        self.requests += [
            (event.timestamp, event.state, event.host_ids)
            for event in reply.events
            if isinstance(event, TurnOnOffHostsEvent)
        ]


def simulated(policy: Policy, jobs: Any = EXAMPLE_WORKLOAD) -> tuple[Result, Log]:
    log = Log()
    result = simulate(EXAMPLE_PLATFORM, jobs, policy, energy=True, on_turn=log)
    assert result.is_complete
    return result, log


@pytest.mark.slow
def test_hosts_of_a_site_sleep_and_all_jobs_run() -> None:
    joules = []
    for off, site in ((float("inf"), RULES), (60.0, RULES), (60.0, None)):
        result, log = simulated(Policy(backfilling=EASY(), off_after=off, site=site))
        joules.append(result.metrics().consumed_joules or 0.0)
        assert result.nb_jobs_finished == 250
        assert bool(log.ends) == (off == 60.0)
    always, asleep, whole = joules
    assert asleep < 0.9 * always
    assert abs(asleep - whole) < 0.02 * whole


def job(name: str, at: float, hosts: int, seconds: float, **options: Any) -> StaticJob:
    return StaticJob(name, at, hosts, DelayProfile(seconds), walltime=seconds + 1, **options)


def starts(result: Result) -> dict[str, float]:
    return {row.job_id: row.starting_time for row in result.jobs}


@pytest.mark.parametrize("backfilling", [EASY(), Conservative()])
def test_hosts_are_on_when_a_reservation_begins(backfilling: Any) -> None:
    """Half of the hosts sleep long before the job on the others ends: they are switched on ahead of that."""
    jobs = [job("half", 0.0, 16, 2000.0), job("all", 10.0, 32, 100.0)]
    result, log = simulated(Policy(backfilling=backfilling, off_after=30.0, site=RULES), Workload(jobs))
    assert abs(starts(result)["all"] - 2001.0) < LATE  # when the first job had to end
    on = [time for time, state, _ in log.requests if state == 0]
    assert on == [pytest.approx(2001.0 - BOOT, abs=LATE)]


def test_a_job_waits_for_hosts_that_sleep_if_it_must() -> None:
    result, log = simulated(Policy(off_after=30.0, site=RULES), Workload([job("late", 1000.0, 32, 100.0)]))
    assert abs(starts(result)["late"] - 1000.0 - BOOT) < LATE
    assert [state for _, state, _ in log.requests] == [2, 0]


def test_hosts_are_on_at_the_best_time() -> None:
    """With the part wait, a site plans from the beginning, and knows when the job starts."""
    trace = Trace([0.0, 3600.0], [2.0, 1.0], 7200.0, "g/kWh", repeats=True)
    policy = Policy(off_after=30.0, starts=Wait(trace, 7000.0))
    result, log = simulated(policy, Workload([job("waits", 0.0, 8, 600.0)]))
    assert abs(starts(result)["waits"] - 3600.0) < LATE
    assert [(state, hosts) for time, state, hosts in log.requests if state == 0 and time > 100] == [(0, "0-7")]


def test_awake_hosts_come_first_unless_another_allocation_is_named() -> None:
    jobs = Workload([job("long", 0.0, 2, 3000.0), job("short", 0.0, 2, 500.0), job("next", 600.0, 2, 10.0)])
    for name, began in (("off=200", 600.0), ("off=200+awake", 600.0), ("off=200+first", 600.0), ("off=50", 700.0)):
        policy: Any = named(name)()
        policy = Policy(allocation=policy.allocation, off_after=policy.switching.after, site=RULES)
        assert abs(starts(simulated(policy, jobs)[0])["next"] - began) < LATE


def test_a_policy_opens_a_site_while_hosts_sleep_or_are_switched() -> None:
    """A job that asks for cores opens a site: hosts sleep, are being switched off, and on for a job, at that time."""
    jobs = [job("0", 200.0, 20, 100.0), job("1", 220.0, 1, 50.0, extra_data='{"cores": 2}'), job("2", 800.0, 32, 50.0)]
    for offset in (0.0, 0.5, 30.0, 100.0, 150.0, 190.0):
        moved = [*jobs[:1], job("1", 200.0 + offset, 1, 50.0, extra_data='{"cores": 2}'), *jobs[2:]]
        result, _ = simulated(Policy(off_after=50.0), Workload(moved))
        assert abs(starts(result)["0"] - 300.0) < LATE
        assert starts(result)["1"] < 300.0 + offset + LATE
        assert abs(starts(result)["2"] - 900.0) < LATE


jobs_of = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 40), st.integers(1, 32), st.sampled_from([None, 4, 16])),
    min_size=1,
    max_size=14,
)


@settings(max_examples=40)
@given(
    made=jobs_of,
    off=st.sampled_from([0.0, 15.0, 120.0]),
    backfilling=st.sampled_from([None, EASY(), Conservative(), Greedy()]),
    at_once=st.booleans(),
    starts=st.sampled_from([None, {}, {"interruptible": True}, {"quantile": 0.3}]),
)
def test_random_jobs_run_on_hosts_that_sleep(
    made: Any, off: float, backfilling: Any, at_once: bool, starts: Any
) -> None:
    """The simulator aborts when a job is executed on a host that is not on."""
    numbers = itertools.count()
    jobs = [
        job(
            *(f"{next(numbers)}", 20.0 * at, hosts, 20.0 * length),
            extra_data=None if cores is None else f'{{"cores": {cores}}}',
        )
        for at, length, hosts, cores in made
    ]
    trace = Trace([0.0, 300.0, 600.0], [2.0, 3.0, 1.0], 900.0, "g/kWh", repeats=True)
    policy = Policy(
        backfilling=backfilling,
        off_after=off,
        site=RULES if at_once else None,
        starts=None if starts is None else Wait(trace, 500.0, **starts),
    )
    result, _ = simulated(policy, Workload(jobs))
    assert sum(row.final_state.name == "COMPLETED_SUCCESSFULLY" for row in result.jobs) == len(jobs)
