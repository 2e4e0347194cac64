"""Hosts that sleep, beside caps, failures, windows and preemption: no job starts where it may not, none is lost."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from random import Random
from typing import Any

import msgspec
import pytest
from asked import host_of
from capped import Capped, Outcome, capped_of, check_watts, run
from hypothesis import given, settings
from hypothesis import strategies as st
from lives import LATE
from promised import WindowCheck
from sleepers import sleepy
from test_watts_kept import COUNTS, POLICIES, SEEDS

from batprotocol.model import DelayProfile
from batprotocol.policies import EASY, Cap, Greedy, NoBackfilling, Policy, SiteRules
from batprotocol.policies.availability import reduced
from batprotocol.policies.site.capped import CappedPlanner
from batprotocol.simulator import (
    ExternalEventList,
    StaticJob,
    Workload,
    described_platform,
    simulate,
)
from batprotocol.workloads.electricity import Trace

WITHOUT_ENGINE = True


def preempting_of(capped: Capped, random: Random) -> None:
    """Jobs of one partition let those of the other one give way."""
    low: dict[str, Any] = {
        "hosts": "ALL",
        "default": True,
        "preempt": random.choice(["requeue", "cancel", "checkpoint"]),
    }
    if random.random() < 0.5:
        low["grace"] = random.choice([2.0, 5.0])
    world = capped.windowed.world
    world.tables = {"partitions": {"low": low, "high": {"hosts": "ALL", "tier": 2}}}
    jobs = []
    for job in world.jobs:
        asks = json.loads(job.extra_data or "{}")
        for key in ("partition", "qos", "account", "group"):
            asks.pop(key, None)
        if random.random() < 0.4:
            asks["partition"] = "high"
        jobs.append(msgspec.structs.replace(job, extra_data=json.dumps(asks)))
    world.jobs = jobs


def away_of(capped: Capped, host: int) -> tuple[list[tuple[float, float]], list[float]]:
    """When a host is down or drained, and when it fails."""
    found, fails, since = list[tuple[float, float]](), list[float](), math.inf
    for time, data in capped.failures:
        event = json.loads(data)
        if int(event["hosts"]) != host:
            continue
        if event["state"] == "up":
            found.append((since, time))
            since = math.inf
        else:
            since = min(since, time)
            fails += [time] if event["state"] == "down" else []
    return [*found, (since, math.inf)], fails


def check_hosts(capped: Capped, outcome: Outcome) -> None:
    """No job is on hosts that are away or promised to others, and hosts give no more than they have."""
    world = capped.windowed.world
    hosts = [host_of(host.name, host.cores, dict(host.properties)) for host in described_platform(world.hosts).hosts]
    others = {id: why for id, why in outcome.reasons.items() if not id.startswith("again!") and "the cap" not in why}
    reasons = defaultdict(lambda: "it would end at", others)  # lives that are too late, or that the cap forbids
    rows, contiguous = outcome.result.jobs, "contiguous" in world.policy
    check = WindowCheck(hosts, world.tables, world.jobs, rows, outcome.policy.allocated, reasons, contiguous=contiguous)
    check.promises, check.risk = capped.windowed.promises, capped.windowed.risk
    continued = [capped.policy, *(str(each.get("preempt")) for each in world.tables.get("partitions", {}).values())]
    check.is_predicted = any("predicted" in each or "checkpoint" in each for each in continued)  # a rest is shorter
    if not world.tables:
        check.opened = -math.inf
    for each in (check.amounts, check.limits, check.arrays, check.windows):
        each()
    for host in range(len(hosts)):
        away, fails = away_of(capped, host)
        for job in (each for each in check.runs if host in each.hosts):
            text = f"{job.first} runs from {job.start} to {job.end} on {host}"
            assert not any(begin + LATE < job.start < end - LATE for begin, end in away), f"{text}, away {away}"
            assert not any(job.start + LATE < time < job.end - LATE for time in fails), (
                f"{text}, which fails at {fails}"
            )


def check_nothing_is_lost(outcome: Outcome) -> None:
    """At the end, hosts are as free as failures and windows leave them, and no watts are taken."""
    site = outcome.policy.site
    if site is None:
        return
    pool, sleeping = site._pool, site.sleeping
    assert not site._planner.heads
    assert not site._waking
    for host in pool.hosts:
        is_leaving = sleeping is not None and host in sleeping.leaving
        free = pool.capacity[host]
        for _ in range((host in site._site.unavailable.hosts) + (host in site._windows._active) + is_leaving):
            free = reduced(free, pool.whole)
        assert pool.free[host] == free
    if isinstance(site._planner, CappedPlanner):
        budget = site._planner._budget
        assert not budget.is_busy
        assert budget._drawn == budget.standing
        now = outcome.policy.state.now
        assert not any(amount for _, _, amount in budget._total.within(now + 1e-3, math.inf))


def check(seed: int, count: int, policy: str | None, fails: bool, preempts: bool) -> Counter[str]:
    """Check a world whose hosts sleep; why its jobs ended early."""
    capped = capped_of(seed, count, policy, fails=fails, sleeps=True)
    if preempts:
        preempting_of(capped, Random(seed + 2))
    outcome = run(capped)
    check_watts(capped, outcome)
    check_hosts(capped, outcome)
    check_nothing_is_lost(outcome)
    return Counter(each.end for each in outcome.policy.attempts)


@settings(max_examples=25)
@given(SEEDS, COUNTS, st.sampled_from(POLICIES), st.booleans(), st.booleans())
def test_sleeping_hosts_keep_to_failures_windows_and_preemption(
    seed: int, count: int, policy: str | None, fails: bool, preempts: bool
) -> None:
    check(seed, count, policy, fails, preempts)


@pytest.mark.minutes
def test_sleeping_hosts_keep_to_failures_windows_and_preemption_in_many_simulations() -> None:
    seen = Counter[str]()
    for seed in range(2_000):
        seen += check(seed, seed % 14 + 1, POLICIES[seed % len(POLICIES)], seed % 3 != 0, seed % 2 == 0)
    assert min(seen[end] for end in ("failure", "window", "preempted")) > 100


# Single cases


@pytest.mark.parametrize("site", [None, SiteRules()])
@pytest.mark.parametrize(
    ("time", "event", "risk", "expected"),
    [
        pytest.param(25.0, {"state": "drain"}, False, [(35, "1")], id="drained"),
        pytest.param(25.0, {"window": {"begin": 25, "end": 90, "users": "ann"}}, False, [(35, "1")], id="reserved"),
        pytest.param(25.0, {"window": {"begin": 40, "end": 90}}, False, [(35, "1")], id="announced, and too early"),
        pytest.param(25.0, {"window": {"begin": 56, "end": 90}}, False, [(30, "0")], id="announced, and late enough"),
        pytest.param(0.0, {"hosts": "0-1", "window": {"begin": 30, "end": 90}}, True, [(90, "0")], id="at the risk"),
    ],
)
def test_a_job_that_waits_for_a_host_to_be_on_has_not_started(
    site: SiteRules | None, time: float, event: dict[str, Any], risk: bool, expected: list[tuple[int, str]]
) -> None:
    """The job is submitted at 20 s and gets a host that is on at 30 s. Meanwhile, something happens to it."""
    jobs = [StaticJob("1", 20.0, 1, DelayProfile(20.0), walltime=20.0)]
    policy = Policy(backfilling=EASY(), off_after=5.0, risk=risk, site=site)
    events = [ExternalEventList.of([(time, json.dumps({"hosts": "0"} | event))], corrected=True)]
    result = simulate(sleepy(2), Workload(jobs), policy, external_events=events, corrected=True)
    found = [(round(row.starting_time or 0.0), row.allocated_resources) for row in result.jobs]
    assert found[-1:] == expected
    assert len(found) == 1


@pytest.mark.parametrize("backfilling", [EASY(), Greedy(), NoBackfilling()])
@pytest.mark.parametrize(
    ("low", "off", "expected"),
    [
        pytest.param(350.0, False, [100, 200], id="switched on ahead"),
        pytest.param(350.0, True, [100, 100], id="switched on ahead, also if it was off for others"),
        pytest.param(25.0, True, [], id="cannot be switched on before"),
    ],
)
def test_a_job_that_lasts_as_long_as_the_cap_suffices_does_not_wait_for_ever(
    backfilling: Any, low: float, off: bool, expected: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    """Each 100 s, watts suffice for 50 s. The job comes while hosts are off, and can run for 50 s.

    Without a reservation, it was late once before its hosts are switched on ahead.
    """
    cap = Cap(Trace([0.0, 50.0], [440.0, low], 100.0, "W", repeats=True), off=off)
    policy = Policy(backfilling=backfilling, cap=cap, off_after=math.inf if off else 0.0)
    jobs = [StaticJob("1", 60.0, 2, DelayProfile(45.0), walltime=50.0)]
    result = simulate(sleepy(2), Workload(jobs), policy, corrected=True)
    starts = [round(row.starting_time) for row in result.jobs if row.starting_time is not None]
    assert starts == (expected[:1] if isinstance(backfilling, EASY) else expected[1:])
    if not expected:
        assert "can run for 50 s after 10 s to switch its hosts on, and the cap leaves that for 50 s" in caplog.text
