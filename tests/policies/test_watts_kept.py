"""Caps of watts: what Batsim reports is never more, plans find the first time, and caps out of reach change nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from capped import Capped, Outcome, cap_of, capped_of, check_watts, most, run, watts_of
from hypothesis import given, settings
from hypothesis import strategies as st
from lives import LATE, REJECTED
from promised import Windowed, plain_of, windowed_of
from test_independent import simplified
from test_promised import Planned
from worlds import World

from batprotocol.errors import SchedulerError
from batprotocol.model import DelayProfile, ParallelTaskHomogeneousProfile
from batprotocol.policies import EASY, Policy
from batprotocol.policies.caps import Cap
from batprotocol.policies.jobs import SiteEntry
from batprotocol.results.observers import Observer, PStateRow
from batprotocol.simulator import Platform, StaticJob, Workload, described_platform, simulate
from batprotocol.wire import binary
from batprotocol.workloads.electricity import Trace, Watts

WITHOUT_ENGINE = True

SEEDS = st.integers(0, 2**40)
COUNTS = st.integers(1, 14)
POLICIES = ["none", "greedy", "easy", "easy=no-spare", "reservations=2", "conservative", "conservative=2", None]


def check(seed: int, count: int, policy: str | None, corrected: bool = True, **kinds: bool) -> None:
    capped = capped_of(seed, count, policy, **kinds)
    check_watts(capped, run(capped, corrected=corrected))


@settings(max_examples=30)
@given(SEEDS, COUNTS, st.sampled_from(POLICIES), st.booleans(), st.booleans())
def test_the_watts_never_exceed_the_cap_and_all_jobs_end(
    seed: int, count: int, policy: str | None, fails: bool, sleeps: bool
) -> None:
    check(seed, count, policy, fails=fails, sleeps=sleeps)


@pytest.mark.minutes
@settings(max_examples=2_000, deadline=None)
@given(SEEDS, COUNTS, st.sampled_from(POLICIES), st.booleans(), st.booleans(), st.booleans())
def test_the_watts_never_exceed_the_cap_in_2000_simulations(
    seed: int, count: int, policy: str | None, fails: bool, sleeps: bool, corrected: bool
) -> None:
    check(seed, count, policy, corrected, fails=fails, sleeps=sleeps)


def test_the_check_sees_jobs_that_no_cap_holds_back() -> None:
    seen = 0
    for seed in range(30):
        capped = capped_of(seed, 12, "easy")
        try:
            check_watts(capped, run(capped, cap=False))
        except AssertionError:
            seen += 1
    assert seen > 10


# A cap that is never reached


def table(outcome: Outcome) -> list[Any]:
    return [
        (row.job_id, row.final_state, row.starting_time, row.execution_time, row.allocated_resources)
        for row in outcome.result.jobs
    ]


@settings(max_examples=15)
@given(SEEDS, COUNTS)
def test_a_cap_above_the_peak_changes_nothing(seed: int, count: int) -> None:
    capped = capped_of(seed, count, None, fails=seed % 2 == 0)
    capped.cap = Trace([0.0, 10.0], [capped.peak, capped.peak + 5], math.inf, "W")
    assert table(run(capped)) == table(run(capped, cap=False))


def turns(platform: Platform, workload: Workload, policy: Policy, output: Path) -> list[bytes]:
    """All bytes of a conversation; the files of the results are written, too."""
    found: list[bytes] = []
    policy.name = "policy"
    simulate(
        *(platform, workload, policy),
        energy=True,
        output=f"{output}/",
        on_turn=lambda sent, reply: found.extend((binary.encode(sent), binary.encode(reply))),
    )
    return found


@pytest.mark.parametrize("watts", [800.0, 5000.0])
def test_a_cap_above_the_peak_changes_no_byte(watts: float, tmp_path: Path) -> None:
    platform = Platform.homogeneous(4, watts=Watts(95.0, 100.0, 200.0))
    jobs = [
        StaticJob(str(number), float(number), 1 + number % 4, DelayProfile(10.0 + number), walltime=60.0)
        for number in range(30)
    ]
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    one = turns(platform, Workload(jobs), Policy(cap=Cap(watts)), tmp_path / "with")
    assert one == turns(platform, Workload(jobs), Policy(), tmp_path / "without")
    for path in (tmp_path / "with").iterdir():
        if path.name != "schedule.csv":  # it has the seconds that the scheduler took
            assert path.read_bytes() == (tmp_path / "without" / path.name).read_bytes(), path.name


# Plans


def promised_of(seed: int, count: int, policy: str) -> Capped:
    """A world without windows whose jobs have walltimes and one order, under a cap that never falls."""
    random = Random(seed)
    windowed = windowed_of(seed, count, policy)
    windowed.promises, windowed.risk, windowed.world = [], False, simplified(windowed.world)
    windowed.world.jobs = [
        msgspec.structs.replace(job, submission_time=job.submission_time + 1) for job in windowed.world.jobs
    ]
    size = len(described_platform(windowed.world.hosts).hosts)
    watts = watts_of(random, size)
    cap = cap_of(random, watts)
    return Capped(windowed, watts, cap, [], windowed.world.policy)


def check_promises(seed: int, count: int, policy: str) -> None:
    outcome = run(promised_of(seed, count, policy), make=Planned)
    for row in outcome.result.jobs:
        promised = getattr(outcome.policy, "promised", {}).get(f"w0!{row.job_id}")
        if promised is not None:
            assert row.starting_time <= promised + LATE, f"{row.job_id} is late"


PLANS = ["easy", "easy=no-spare", "easy+pack", "reservations=2", "reservations=3", "conservative"]


@settings(max_examples=15)
@given(SEEDS, COUNTS, st.sampled_from(PLANS))
def test_no_promise_is_late_under_a_cap(seed: int, count: int, policy: str) -> None:
    check_promises(seed, count, policy)


@pytest.mark.minutes
@pytest.mark.parametrize("policy", PLANS)
def test_no_promise_is_late_under_a_cap_in_many_simulations(policy: str) -> None:
    for seed in range(1_000):
        check_promises(seed, seed % 14 + 1, policy)


class Oracle:
    """Finds the first time at which a job can start by trying all times and all hosts."""

    def __init__(self, capped: Capped) -> None:
        self.capped = capped
        self.more = [most(watts) - watts.idle for watts in capped.watts]
        self.asked = 0

    def look(self, policy: Planned) -> None:
        site = policy.site
        if site is None:
            return
        now = policy.state.now
        taken = [
            (now, job.started + job.entry.limit, job.members, job.entry.kind.amount[0] > 1)
            for job in policy.state.running.values()
            if job.started + job.entry.limit > now
        ]
        for head in sorted(site._planner.heads.values(), key=lambda entry: entry.job.number):
            if head.job.id not in policy.promised:
                first = self.first(head, now, taken)
                assert head.start == pytest.approx(first, abs=1e-3), f"{head.job.id} at {now}"
                self.asked += 1
            taken.append((head.start, head.start + head.limit, head.reserved, True))

    def first(self, entry: SiteEntry, now: float, taken: list[Any]) -> float:
        times = {now, *(end for _, end, _, _ in taken)}
        until = max(times) + 200
        cap = self.capped.cap
        turns = range(int(until / cap.period) + 1) if cap.repeats else [0]
        times |= {time + turn * (cap.period if cap.repeats else 0.0) for time in cap.times for turn in turns}
        for start in sorted(time for time in times if now <= time < until):
            end = start + entry.limit
            during = [each for each in taken if each[0] < end - 5e-4 and start < each[1] - 5e-4]
            free = [host for host in entry.kind.hosts if not any(host in each[2] for each in during)]
            if any(self.fits(hosts, start, end, during) for hosts in combinations(free, entry.job.size)):
                return start
        return math.inf

    def fits(self, hosts: Iterable[int], start: float, end: float, during: list[Any]) -> bool:
        moments = {start, *(each[0] for each in during if start < each[0] < end)}
        cap = self.capped.cap
        turns = range(int(end / cap.period) + 1) if cap.repeats else [0]
        steps = (time + turn * (cap.period if cap.repeats else 0.0) for time in cap.times for turn in turns)
        moments |= {time for time in steps if start < time < end - 5e-4}
        own = self.capped.idle + sum(self.more[host] for host in hosts)
        return all(
            own + sum(self.more[host] for begin, until, others, _ in during if begin <= time < until for host in others)
            <= self.capped.cap_at(time) + 1e-6
            for time in moments
        )


def oracle_of(seed: int, policy: str) -> Capped:
    """Whole hosts that draw different watts, and jobs with walltimes."""
    random = Random(seed)
    world = plain_of(random, random.randint(2, 10), policy)
    jobs = [
        msgspec.structs.replace(
            job,
            submission_time=job.submission_time + 1,
            walltime=job.walltime or 25.0,
            extra_data=None,
            resource_request=random.choice([job.resource_request, 1, 2]),
        )
        for job in world.jobs
    ]
    world = World(world.hosts, {}, jobs, world.policy)
    watts = watts_of(random, len(described_platform(world.hosts).hosts))
    cap, idle = cap_of(random, watts), sum(each.idle for each in watts)
    least = max(job.resource_request for job in jobs) * max(most(each) - each.idle for each in watts)
    if seed % 3:  # so that most jobs can run, though not beside all others
        values = [max(value, idle + least * random.choice([1.0, 1.0, 1.3])) for value in cap.values]
        cap = Trace(cap.times, values, cap.end, "W", repeats=cap.repeats)
    return Capped(Windowed(world, [], False), watts, cap, [], world.policy)


def check_oracle(seed: int, policy: str) -> int:
    capped = oracle_of(seed, policy)
    oracle = Oracle(capped)
    outcome = run(capped, make=Planned, look=oracle.look)
    check_watts(capped, outcome)
    for id, why in outcome.reasons.items():
        if "the cap leaves" in why:
            job = next(job for job in capped.windowed.world.jobs if f"w0!{job.id}" == id)
            need = sum(sorted(oracle.more)[: job.resource_request])
            is_less = need > min(capped.cap.values) - capped.idle + 1e-6
            assert is_less, f"{id} is rejected: {why}"
    return oracle.asked


ORACLE = ["fcfs+easy", "fcfs+conservative", "fcfs+reservations=3"]


@pytest.mark.parametrize("policy", ORACLE)
def test_reservations_are_at_the_first_time_that_the_cap_allows(policy: str) -> None:
    assert sum(check_oracle(seed, policy) for seed in range(12)) > 10


@pytest.mark.minutes
@pytest.mark.parametrize("policy", ORACLE)
def test_reservations_are_at_the_first_time_that_the_cap_allows_in_many_simulations(policy: str) -> None:
    assert sum(check_oracle(seed, policy) for seed in range(1_500)) > 1_400


# Slower power states


def slow_run(cap: float, *walltimes: float | None, hosts: int = 1) -> list[tuple[str, float, float]]:
    """Tasks of 50 s on equal hosts, which compute at half the speed for half the watts: id, start and time."""
    platform = Platform.homogeneous(
        4, speeds=(1e9, 0.5e9), watts=(Watts(100.0, 100.0, 200.0), Watts(100.0, 100.0, 150.0))
    )
    jobs = [
        StaticJob(str(number), 0.0, hosts, ParallelTaskHomogeneousProfile(50e9, 0.0), walltime=walltime)
        for number, walltime in enumerate(walltimes)
    ]
    policy = Policy(backfilling=EASY(), cap=Cap(cap, slow=True))
    pstates = Pstates()
    result = simulate(platform, Workload(jobs), policy, energy=True, corrected=True, observers=[pstates])
    assert all(row.new_pstate == 0 for row in pstates.rows[-1:]), "hosts do not go back"
    rows = [row for row in result.jobs if row.final_state is not REJECTED]
    return sorted((row.job_id, round(row.starting_time), round(row.execution_time)) for row in rows)


class Pstates(Observer):
    def __init__(self) -> None:
        self.rows: list[PStateRow] = []

    def pstates_changed(self, row: PStateRow) -> None:
        self.rows.append(row)


def test_jobs_start_in_the_fastest_power_state_that_the_cap_allows() -> None:
    assert slow_run(650.0, 120.0, 120.0, 120.0) == [("0", 0, 50), ("1", 0, 50), ("2", 0, 100)]
    assert slow_run(800.0, 120.0, 120.0, 120.0) == [("0", 0, 50), ("1", 0, 50), ("2", 0, 50)]
    assert slow_run(699.0, None, None, None) == [("0", 0, 50), ("1", 0, 50), ("2", 0, 100)]


def test_jobs_wait_that_may_not_end_in_time_in_a_slower_power_state() -> None:
    assert slow_run(650.0, 120.0, 120.0, 99.0) == [("0", 0, 50), ("1", 0, 50), ("2", 50, 50)]
    assert slow_run(650.0, 60.0, 60.0, 60.0, 120.0) == [("0", 0, 50), ("1", 0, 50), ("2", 50, 50), ("3", 0, 100)]


def test_jobs_that_only_fit_in_a_slower_power_state_run_in_it() -> None:
    assert slow_run(450.0, 120.0, 120.0) == [("0", 0, 100), ("1", 100, 100)]
    assert slow_run(600.0, 120.0, 120.0, hosts=4) == [("0", 0, 100), ("1", 100, 100)]
    assert slow_run(600.0, 60.0, 120.0, hosts=4) == [("1", 0, 100)]  # the other one is rejected


# What a cap needs


@pytest.mark.parametrize(
    ("platform", "cap", "why"),
    [
        (Platform.homogeneous(2), Cap(500.0), "cap needs the watts of host host0: add the property wattage_per_state"),
        (
            Platform.homogeneous(2, watts=Watts(100.0, 100.0, 200.0)),
            Cap(Trace([0.0, 60.0], [300.0, 199.0], math.inf, "W")),
            "hosts without jobs draw 200 W, and the cap is 199 W from 60 s on",
        ),
    ],
)
def test_a_cap_that_cannot_be_kept_is_an_error(platform: Platform, cap: Cap, why: str) -> None:
    with pytest.raises(SchedulerError, match=why):
        simulate(platform, Workload([StaticJob("1", 0.0, 1, DelayProfile(1.0))]), Policy(cap=cap))


@pytest.mark.parametrize("watts", [-1.0, math.nan, math.inf])
def test_a_cap_is_a_number_of_watts(watts: float) -> None:
    with pytest.raises(ValueError, match="expected a number of watts"):
        Cap(watts)
