"""Hosts that are promised for a time: no plan meets a window, and jobs of reservations run in theirs."""

from __future__ import annotations

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
from batprotocol.policies.site.jobs import Entry
from batprotocol.policies.site.pool import fits, reduced
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


@settings(max_examples=60)
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
    for seed in range(60):
        windowed = windowed_of(seed, 12, "easy")
        windowed.risk = True
        check = check_of(windowed)
        check.risk = False
        try:
            check.windows()
        except AssertionError:
            seen += 1
    assert seen > 5


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


PLANS = ["easy", "easy=strict", "easy=no-spare", "easy+pack", "reservations=2", "reservations=3", "conservative"]


@settings(max_examples=40)
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

    def first(self, entry: Entry, now: float, taken: list[Any], capacity: Any) -> float:
        ends = {now, *(end for _, end, _, _ in taken), *(each.end for each in self.promises)}
        for start in sorted(time for time in ends if now <= time < math.inf):
            there = [host for host in entry.kind.hosts if self.is_free(entry, host, start, taken, capacity[host])]
            if len(there) >= entry.job.size:
                return start
        return math.inf

    def is_free(self, entry: Entry, host: int, start: float, taken: list[Any], free: Any) -> bool:
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
    assert sum(check_oracle(seed, policy) for seed in range(25)) > 25


@pytest.mark.minutes
@pytest.mark.parametrize("policy", ["fcfs+easy", "fcfs+conservative", "fcfs+reservations=3"])
def test_reservations_are_at_the_first_time_of_all_in_many_simulations(policy: str) -> None:
    assert sum(check_oracle(seed, policy) for seed in range(2_000)) > 2_000


# Windows that change nothing, and windows that are as a job


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


@settings(max_examples=20)
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


@settings(max_examples=20)
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


# One window


HOSTS = "n[0-3] cores=4"


def job(id: str, at: float, size: int, run: float, walltime: float | None = None, **asks: Any) -> StaticJob:
    data = json.dumps(asks) if asks else None
    return StaticJob(id, at, size, DelayProfile(run), walltime=run if walltime is None else walltime, extra_data=data)


def window(begin: float, end: float, hosts: str = "0-3", **keys: Any) -> tuple[float, str]:
    announced = keys.pop("announced", 0.0)
    return announced, json.dumps({"hosts": hosts, "window": {"begin": begin, "end": end} | keys})


def starts(policy: str, windows: list[tuple[float, str]], jobs: list[StaticJob], hosts: str = HOSTS) -> dict[str, Any]:
    """The first second of each job, with the last one and the hosts; the reason, of those that were rejected."""
    reasons, logger = Reasons(), logging.getLogger("batprotocol.policies")
    logger.addHandler(reasons)
    try:
        result = simulate(
            described_platform(hosts),
            Workload(jobs, {}),
            named(policy)(),
            external_events=[ExternalEventList.of(windows, corrected=True)],
            corrected=True,
        )
    finally:
        logger.removeHandler(reasons)
    assert result.is_complete
    found: dict[str, Any] = {}
    for row in result.jobs:
        why = reasons.found.get(f"w0!{row.job_id}")
        end = None if why else row.starting_time + row.execution_time
        found[row.job_id] = why or (row.starting_time, end, str(row.allocated_resources))
    return found


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "reservations=2", "greedy"])
def test_a_job_starts_before_a_window_if_it_ends_before(policy: str) -> None:
    jobs = [
        job("fits", 0, 4, 10),
        job("meets", 10, 1, 11),
        job("endless", 11, 1, 1, math.inf),
        job("elsewhere", 11, 1, 50),
    ]
    jobs[2] = msgspec.structs.replace(jobs[2], walltime=None)
    found = starts(policy, [window(20, 30, "0-2")], jobs[:3])
    assert found["fits"] == (0, 10, "0-3")
    assert found["meets"] == (10, 21, "3")
    assert found["endless"][0] == 21  # on the host without a window, when that is free


def test_a_job_that_fits_only_between_windows_runs_between_them() -> None:
    weeks = [window(70.0 * week, 70.0 * week + 20) for week in range(5)]
    found = starts("easy", weeks, [job("short", 0, 4, 45), job("long", 1, 4, 50), job("longer", 2, 4, 51)])
    assert found == {"short": (20, 65, "0-3"), "long": (90, 140, "0-3"), "longer": (300, 351, "0-3")}


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_the_risk_is_taken_if_it_is_said(policy: str) -> None:
    jobs = [job("a", 0, 4, 10, 30), job("b", 10, 4, 11, 30)]
    assert starts(f"{policy}+risk", [window(20, 30)], jobs) == {"a": (0, 10, "0-3"), "b": (10, 20, "0-3")}
    assert starts(policy, [window(20, 30)], jobs) == {"a": (30, 40, "0-3"), "b": (40, 51, "0-3")}


def test_jobs_that_run_when_a_window_is_announced_are_killed_at_its_begin() -> None:
    late = window(20, 30, "0-1", announced=15)
    found = starts("easy", [late], [job("a", 0, 2, 40), job("b", 0, 2, 40), job("c", 1, 2, 10)])
    assert found == {"a": (0, 20, "0-1"), "b": (0, 40, "2-3"), "c": (30, 40, "0-1")}


def test_jobs_run_on_when_a_reservation_begins() -> None:
    late = window(20, 60, "0-1", announced=15, users="ann", name="r")
    jobs = [job("a", 0, 1, 30, 40), job("b", 0, 3, 40), job("c", 16, 2, 10, reservation="r", user="ann")]
    assert starts("easy", [late], jobs) == {"a": (0, 30, "0"), "b": (0, 40, "1-3"), "c": (40, 50, "0-1")}


def test_a_reservation_is_for_the_jobs_that_ask_for_it_in_its_time() -> None:
    jobs = [
        job("in", 0, 2, 5, reservation="r", user="ann"),
        job("other", 0, 4, 5, user="eve"),
        job("besides", 6, 2, 20, user="ann"),
        job("more", 7, 4, 5, user="eve"),
        job("last", 13, 2, 5, reservation="r", user="ann"),
        job("late", 14, 2, 8, reservation="r", user="ann"),
        job("stranger", 8, 2, 5, reservation="r", user="eve"),
    ]
    found = starts("easy", [window(10, 20, "0-1", users=["ann"], name="r")], jobs)
    assert found.pop("stranger") == "the reservation 'r' is for users ann, and it is of user eve and account None"
    assert found.pop("late") == "the windows of the reservation 'r' are over"
    assert found == {
        "in": (10, 15, "0-1"),
        "other": (0, 5, "0-3"),
        "besides": (6, 26, "2-3"),
        "more": (26, 31, "0-3"),
        "last": (15, 20, "0-1"),
    }


def test_a_reservation_without_a_name_is_for_all_jobs_of_its_users() -> None:
    jobs = [job("a", 0, 3, 15, user="ann"), job("b", 1, 2, 15, user="eve"), job("c", 10, 2, 15, user="ann")]
    found = starts("conservative", [window(10, 40, "0-1", users="ann")], jobs)
    assert found == {"a": (40, 55, "0-2"), "b": (1, 16, "2-3"), "c": (10, 25, "0-1")}


def test_a_job_without_a_walltime_has_its_reservation_until_that_is_over() -> None:
    jobs = [
        msgspec.structs.replace(job("a", 0, 1, 50, reservation="r", user=1), walltime=None),
        job("b", 15, 1, 20, reservation="r", user=1),
        job("c", 0, 1, 12),
    ]
    found = starts("easy", [window(10, 40, "0", users=[1], name="r")], jobs, "n0 cores=4")
    assert found["a"] == (10, 40, "0")
    assert found["b"] == "the windows of the reservation 'r' are over"
    assert found["c"] == (40, 52, "0")


@pytest.mark.parametrize(
    ("windows", "why"),
    [
        ([], "it asks for the reservation 'r', and there is none of that name"),
        (
            [window(5, 9, "0-1", users="eve", name="r")],
            "the reservation 'r' is for users eve, and it is of user ann and account None",
        ),
        (
            [window(5, 9, "0-1", accounts="a,b", name="r")],
            "the reservation 'r' is for accounts a, b, and it is of user ann and account None",
        ),
        ([window(5, 9, "0-1", name="r")], "the window 'r' is closed to all jobs"),
        ([window(5, 9, "0", users="ann", name="r")], "it asks for 2 hosts, and the reservation 'r' does not have them"),
        (
            [window(5, 9, "0-1", users="ann", name="r"), window(90, 91, announced=80)],
            "the windows of the reservation 'r' are over",
        ),
    ],
)
def test_jobs_that_can_have_no_reservation_are_rejected(windows: list[tuple[float, str]], why: str) -> None:
    assert starts("easy", windows, [job("a", 0, 2, 5, user="ann", reservation="r")])["a"] == why


def test_a_job_waits_for_a_reservation_that_is_not_known() -> None:
    windows = [window(10, 20, "0-1", users="ann", name="r", announced=8), window(90, 91, announced=80)]
    assert starts("easy", windows, [job("a", 0, 2, 5, user="ann", reservation="r")]) == {"a": (10, 15, "0-1")}


def test_hosts_that_are_promised_without_an_end_are_not_waited_for() -> None:
    forever = window(50, 2.0**52, "0-2")
    jobs = [job("first", 0, 4, 40), job("too-late", 1, 2, 15), job("last", 2, 1, 15), job("never", 60, 2, 1)]
    found = starts("fcfs", [forever], jobs)
    why = "it asks for 2 hosts, and of those that it can have, too few will ever be free again"
    assert found == {"first": (0, 40, "0-3"), "too-late": why, "last": (50, 65, "3"), "never": why}
