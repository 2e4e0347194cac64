"""Hosts that are promised for a time: no plan meets a window, and jobs of reservations run in theirs."""

from __future__ import annotations

import dataclasses
import json
import logging
import math
from collections.abc import Iterable
from random import Random
from typing import Any

import msgspec
import pytest
from asked import host_of
from hypothesis import given, settings
from hypothesis import strategies as st
from lives import LATE
from promised import Promise, WindowCheck, Windowed, plain_of, promises_of, windowed_of
from test_independent import Counted, Reasons, simplified
from worlds import PARTS, World

from batprotocol.model import DelayProfile
from batprotocol.policies import SiteRules, named
from batprotocol.policies.availability import fits, reduced
from batprotocol.policies.jobs import SiteEntry
from batprotocol.simulator import ExternalEventList, Result, StaticJob, Workload, described_platform, simulate

WITHOUT_ENGINE = True

SEEDS = st.integers(0, 2**40)
COUNTS = st.integers(1, 14)


class Planned(Counted):
    """A policy that notes the first time that is reserved for each job, and lets somebody look after each decision."""

    look: Any = None

    def on_simulation_begins(self, event: Any) -> None:
        super().on_simulation_begins(event)
        self.promised: dict[str, float] = {}

    def decide(self) -> None:
        super().decide()
        if self.site is not None:
            if self.look is not None:
                self.look(self)
            for entry in self.site._planner.heads.values():  # the plan is no decision, and nothing else knows it
                self.promised.setdefault(entry.job.id, entry.start)


def run(windowed: Windowed, look: Any = None) -> tuple[Result, Planned, dict[str, str]]:
    """Simulate; the result, the policy, and the reasons of rejections."""
    world = windowed.world
    plain: Any = named(world.policy)()
    rules = SiteRules.of(world.tables) if world.tables else None
    parts = plain.order, plain.backfilling, plain.allocation
    policy = Planned(*parts, walltimes=plain.walltimes, site=rules, risk=windowed.risk)
    policy.look = look
    reasons, logger = Reasons(), logging.getLogger("batprotocol.policies")
    logger.addHandler(reasons)
    try:
        platform = described_platform(world.hosts)
        result = simulate(platform, Workload(world.jobs, {}), policy, external_events=windowed.events, corrected=True)
    finally:
        logger.removeHandler(reasons)
    assert result.is_complete
    return result, policy, reasons.found


def check_of(windowed: Windowed) -> WindowCheck:
    world = windowed.world
    result, policy, reasons = run(windowed)
    hosts = [host_of(host.name, host.cores, dict(host.properties)) for host in described_platform(world.hosts).hosts]
    contiguous = "contiguous" in world.policy
    check = WindowCheck(hosts, world.tables, world.jobs, result.jobs, policy.allocated, reasons, contiguous=contiguous)
    check.promises, check.risk, check.is_predicted = windowed.promises, windowed.risk, "predicted" in world.policy
    if not world.tables:
        check.opened = min([check.opened, *(each.announced for each in windowed.promises)])
    return check


# All that windows promise


@settings(max_examples=25)
@given(SEEDS, COUNTS)
def test_no_job_meets_a_window(seed: int, count: int) -> None:
    check_of(windowed_of(seed, count, None)).all()


@pytest.mark.minutes
@pytest.mark.parametrize("policy", [None, "easy", "none", "conservative", "reservations=2"])
def test_no_job_meets_a_window_in_many_simulations(policy: str | None) -> None:
    for seed in range(2_000):
        check_of(windowed_of(seed, seed % 14 + 1, policy)).all()


def test_the_check_sees_jobs_that_take_the_risk() -> None:
    seen = 0
    for seed in range(20):
        windowed = windowed_of(seed, 12, "easy")
        windowed.risk = True
        check = check_of(windowed)
        check.risk = False
        try:
            check.windows()
        except AssertionError:
            seen += 1
    assert seen > 2


# Windows and failures


def failures_of(random: Random, host_count: int) -> list[tuple[float, str]]:
    """Hosts that fail or are drained, and mostly come back."""
    found = []
    for host in range(host_count):
        time = float(random.randint(0, 30))
        for _ in range(random.randint(0, 3)):
            found.append((time, f'{{"hosts":"{host}","state":"{random.choice(["down", "drain"])}"}}'))
            time += random.randint(1, 25)
            if random.random() < 0.15:
                break
            found.append((time, f'{{"hosts":"{host}","state":"up"}}'))
            time += random.randint(1, 40)
    return found


def check_with_failures(seed: int) -> None:
    """Each job ends, and nothing of the hosts is lost, whatever happens to them."""
    random = Random(seed)
    windowed = windowed_of(seed, seed % 14 + 1, None, endless=seed % 5 == 0)
    world = windowed.world
    part = random.choice(["", "+requeue", "+requeue=1,last", "+checkpoint=5,1", "+checkpoint=4,1,last"])
    plain: Any = named(world.policy + part)()
    policy = Planned(
        *(plain.order, plain.backfilling, plain.allocation),
        walltimes=plain.walltimes,
        site=SiteRules.of(world.tables) if world.tables else None,
        risk=windowed.risk,
        failures=plain.failures,
    )
    platform = described_platform(world.hosts)
    windows = [(each.announced, each.data) for each in windowed.promises]
    events = ExternalEventList.of(windows + failures_of(random, len(platform.hosts)), corrected=True)
    result = simulate(platform, Workload(world.jobs, {}), policy, external_events=[events], corrected=True)
    assert result.is_complete
    ends = [(row.workload_name, row.job_id) for row in result.jobs]
    assert len(set(ends)) == len(ends)
    assert {id for name, id in ends if name == "w0"} == {job.id for job in world.jobs}
    site = policy.site
    if site is not None:
        pool = site._pool
        assert site.is_idle
        assert not site._planner.heads
        for host in pool.hosts:
            reasons = (host in site._site.unavailable.hosts) + (host in site._windows._active)
            free, whole = pool.capacity[host], pool.whole
            for _ in range(reasons):
                free = reduced(free, whole)
            assert pool.free[host] == free


def test_windows_and_failures_together_lose_no_job() -> None:
    for seed in range(15):
        check_with_failures(seed)


@pytest.mark.minutes
def test_windows_and_failures_together_lose_no_job_in_many_simulations() -> None:
    for seed in range(2_000):
        check_with_failures(seed)


# What plans promise


def known_at_first(seed: int, count: int, policy: str) -> Windowed:
    """A world whose windows are known from the beginning, and whose jobs have walltimes and one order."""
    windowed = windowed_of(seed, count, policy, endless=False)
    windowed.world, windowed.risk = simplified(windowed.world), False
    windowed.world.jobs = [
        msgspec.structs.replace(job, submission_time=job.submission_time + 1) for job in windowed.world.jobs
    ]
    for promise in windowed.promises:
        promise.announced = 0.0
    return windowed


def check_promises(seed: int, count: int, policy: str) -> None:
    result, planned, _ = run(known_at_first(seed, count, policy))
    for row in result.jobs:
        promised = planned.promised.get(f"w0!{row.job_id}")
        if promised is not None:
            assert row.starting_time <= promised + LATE, f"{row.job_id} is late"


# Not `strict`: a reservation in another partition may begin just when the job would end, so that it is late.
PLANS = ["easy", "easy=no-spare", "easy+pack", "reservations=2", "reservations=3", "conservative"]


@settings(max_examples=15)
@given(SEEDS, COUNTS, st.sampled_from(PLANS))
def test_no_promise_is_late_around_windows(seed: int, count: int, policy: str) -> None:
    check_promises(seed, count, policy)


@pytest.mark.minutes
@pytest.mark.parametrize("policy", PLANS)
def test_no_promise_is_late_around_windows_in_many_simulations(policy: str) -> None:
    for seed in range(1_000):
        check_promises(seed, seed % 14 + 1, policy)


class Oracle:
    """Finds the first time at which a job can start by trying all times at which something ends."""

    def __init__(self, promises: Iterable[Promise]) -> None:
        self.promises = list(promises)
        self.asked = 0

    def look(self, policy: Planned) -> None:
        site = policy.site
        assert site is not None
        heads = sorted(site._planner.heads.values(), key=lambda entry: entry.job.number)
        now = policy.state.now
        taken = [(now, job.end, job.members, job.entry.kind.amount) for job in policy.state.running.values()]
        taken = [(begin, end, members, amount) for begin, end, members, amount in taken if end > now]
        for head in heads:
            if head.job.id not in policy.promised:
                first = self.first(head, now, taken, site._pool.capacity)
                assert head.start == pytest.approx(first, abs=1e-3), f"{head.job.id} at {now}"
                self.asked += 1
            taken.append((head.start, head.start + head.expected, head.reserved, head.kind.amount))

    def first(self, entry: SiteEntry, now: float, taken: list[Any], capacity: Any) -> float:
        ends = {now, *(end for _, end, _, _ in taken), *(each.end for each in self.promises)}
        for start in sorted(time for time in ends if now <= time < math.inf):
            there = [host for host in entry.kind.hosts if self.is_free(entry, host, start, taken, capacity[host])]
            if len(there) >= entry.job.size:
                return start
        return math.inf

    def is_free(self, entry: SiteEntry, host: int, start: float, taken: list[Any], free: Any) -> bool:
        end = start + entry.expected - 5e-4
        if any(host in each.hosts and each.begin < end and start < each.end for each in self.promises):
            return False
        during = [each for each in taken if host in each[2] and each[0] < end and start < each[1] - 5e-4]
        moments = {start, *(begin for begin, _, _, _ in during if begin > start)}
        for moment in moments:
            left = free
            for begin, until, _, amount in during:
                if begin <= moment < until:
                    left = reduced(left, amount)
            if not fits(entry.kind.amount, left):
                return False
        return True


def check_oracle(seed: int, policy: str) -> int:
    """Compare the first reservation of each job with the one of the oracle; how many were compared."""
    random = Random(seed)
    world = plain_of(random, random.randint(2, 12), policy)
    world.jobs = [
        msgspec.structs.replace(job, submission_time=job.submission_time + 1, walltime=job.walltime or 25.0)
        for job in world.jobs
    ]
    size = len(described_platform(world.hosts).hosts)
    promises = promises_of(random, size, 5, endless=False)
    for promise in promises:
        promise.announced, promise.users, promise.accounts = 0.0, [], []
    oracle = Oracle(promises)
    run(Windowed(world, promises, False), oracle.look)
    return oracle.asked


@pytest.mark.parametrize("policy", ["fcfs+easy", "fcfs+conservative", "fcfs+reservations=3"])
def test_reservations_are_at_the_first_time_of_all(policy: str) -> None:
    assert sum(check_oracle(seed, policy) for seed in range(10)) > 10


@pytest.mark.minutes
@pytest.mark.parametrize("policy", ["fcfs+easy", "fcfs+conservative", "fcfs+reservations=3"])
def test_reservations_are_at_the_first_time_of_all_in_many_simulations(policy: str) -> None:
    assert sum(check_oracle(seed, policy) for seed in range(2_000)) > 2_000


# Windows that change nothing, and windows that are as a job


@settings(max_examples=15)
@given(SEEDS, COUNTS)
def test_reservations_of_a_site_are_as_windows_of_events(seed: int, count: int) -> None:
    windowed = known_at_first(seed, count, "easy")
    tables: dict[str, Any] = {}
    names = [host.name for host in described_platform(windowed.world.hosts).hosts]
    for number, promise in enumerate(windowed.promises):
        promise.name = "rst"[number] if number < 3 else f"r{number}"
        tables[promise.name] = {
            "hosts": ",".join(names[host] for host in promise.hosts),
            **{key: getattr(promise, key) for key in ("begin", "end", "users", "accounts")},
        }
    by_events, _, reasons = run(windowed)
    world = dataclasses.replace(windowed.world, tables=windowed.world.tables | {"reservations": tables})
    by_rules, _, other_reasons = run(Windowed(world, [], windowed.risk))
    assert table(by_rules) == table(by_events)
    assert other_reasons == reasons


def table(result: Result, without: str = "") -> list[Any]:
    return [
        (row.job_id, row.final_state, row.starting_time, row.execution_time, row.allocated_resources)
        for row in result.jobs
        if row.job_id != without
    ]


def in_part(random: Random, size: int, policy: str) -> World:
    """Jobs that run on the first hosts alone, of twice as many."""
    world = plain_of(random, 12, policy)
    hosts = f"n[0-{size - 1}] cores=4 features=x; m[0-{size - 1}] cores=4 features=y"
    jobs = []
    for job in world.jobs:
        asks = json.loads(job.extra_data or "{}") | {"constraint": "x"}
        wanted = min(job.resource_request, size)
        jobs.append(msgspec.structs.replace(job, resource_request=wanted, extra_data=json.dumps(asks)))
    return World(hosts, {}, jobs, world.policy)


@settings(max_examples=8)
@given(SEEDS)
def test_windows_on_other_hosts_change_nothing(seed: int) -> None:
    random = Random(seed)
    size = random.randint(1, 4)
    parts = [random.choice(PARTS[key]) for key in ("order", "backfilling", "allocation", "walltimes")]
    world = in_part(random, size, "+".join(parts))
    promises = promises_of(random, size, 5)
    for promise in promises:
        promise.hosts = [host + size for host in promise.hosts]
        promise.users, promise.accounts = ["nobody"] * bool(promise.users), []
    with_windows, _, _ = run(Windowed(world, promises, False))
    without, _, _ = run(Windowed(world, [], False))
    assert table(with_windows) == table(without)


SIMPLE_ORDERS = [order for order in PARTS["order"] if order not in ("heft", "multifactor")]


@settings(max_examples=10)
@given(SEEDS)
def test_a_closed_window_is_as_a_job_of_somebody_else_on_its_hosts(seed: int) -> None:
    random = Random(seed)
    own, others = random.randint(1, 3), random.randint(1, 3)
    backfilling = random.choice([each for each in PARTS["backfilling"] if "once" not in each])
    policy = f"{random.choice(SIMPLE_ORDERS)}+{backfilling}+{random.choice(['first', 'pack', 'best-fit'])}"
    world = plain_of(random, 10, policy)
    world.hosts = f"n[0-{own - 1}] cores=4 features=x; m[0-{others - 1}] cores=4"
    world.jobs = [
        msgspec.structs.replace(
            job,
            submission_time=job.submission_time + 1,
            resource_request=min(job.resource_request, own + others),
            extra_data=job.extra_data or '{"cores": 1}',
        )
        for job in world.jobs
    ]
    end = float(random.randint(5, 60))
    closed, _, _ = run(Windowed(world, [Promise(0.0, list(range(own)), 0.0, end)], False))
    data = '{"constraint": "x", "user": "else"}'
    blocking = StaticJob("else", 0.0, own, DelayProfile(end), walltime=end, extra_data=data)
    world.jobs = [blocking, *world.jobs]
    taken, _, _ = run(Windowed(world, [], False))
    assert sorted(table(closed)) == sorted(table(taken, without="else"))
