"""What policies promise: reservations are kept, all jobs run, no host has two jobs at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.model import DelayProfile, FinalJobState, parse_hosts
from batprotocol.policies import (
    EASY,
    FCFS,
    PARTS,
    Backfilling,
    Conservative,
    Order,
    Policy,
    Queue,
    Reservations,
    Shadow,
    State,
    WaitingJob,
    named,
)
from batprotocol.simulator import JobRow, Platform, StaticJob, Workload, platform_for, simulate

WITHOUT_ENGINE = True
SIZE = 8
ORDERS = [name for name, part in PARTS.items() if part.kind == "order"]
BACKFILLINGS = [name for name, part in PARTS.items() if part.kind == "backfilling"]


@st.composite
def workloads(draw: st.DrawFn, exact: bool = True) -> Workload:
    """Jobs that come in bursts, and run for as long as their walltimes or less."""
    jobs = []
    time = 0
    for number in range(draw(st.integers(1, 15))):
        time += draw(st.sampled_from([0, 0, 0, 1, 3, 20]))
        runtime = draw(st.integers(1, 12))
        walltime = runtime + (0 if exact else draw(st.sampled_from([0, 0, 1, 30])))
        user = draw(st.sampled_from(['{"user":1}', '{"user":2}', None]))
        size = draw(st.integers(1, SIZE))
        jobs.append(StaticJob(str(number), time, size, DelayProfile(float(runtime)), walltime, user))
    workload = Workload(jobs)
    workload.resource_count = SIZE
    return workload


def rows_of(workload: Workload, policy: Policy, platform: Platform | None = None) -> list[JobRow]:
    result = simulate(platform or platform_for([workload]), [workload], policy)
    assert result.is_complete
    rows = list(result.jobs)
    assert len(rows) == len(workload)  # nobody starves
    return rows


def most_on_a_host(rows: list[JobRow]) -> int:
    """How many jobs a host has had at a time, at most."""
    changes: dict[int, list[tuple[float, int]]] = {}
    for row in rows:
        hosts = parse_hosts(row.allocated_resources)
        assert len(hosts) == row.requested_number_of_resources
        for host in hosts:
            changes.setdefault(host, []).extend([(row.starting_time, 1), (row.finish_time - 1e-9, -1)])
    return max(max(accumulate(change for _, change in sorted(each))) for each in changes.values())


class RememberingConservative(Conservative):
    """Remembers the first reservation of each job."""

    def __init__(self, depth: int | None) -> None:
        super().__init__(depth)
        self.first: dict[str, float] = {}

    def submitted(self, job: WaitingJob, queue: Queue, state: State) -> None:
        super().submitted(job, queue, state)
        self.first[job.id] = self.reservation_of(job)


class RememberingEASY(EASY):
    """Remembers the first reservation of each job that has had one."""

    def __init__(self, order: Order | None = None) -> None:
        super().__init__(order)
        self.first: dict[str, float] = {}

    def shadow(self, first: WaitingJob, state: State) -> Shadow:
        shadow = super().shadow(first, state)
        self.first.setdefault(first.id, shadow.time)
        return shadow


def promises(examples: int) -> None:
    def kept(workload: Workload, policy: Policy) -> None:
        backfilling = policy.backfilling
        assert isinstance(backfilling, RememberingConservative | RememberingEASY)
        for row in rows_of(workload, policy):
            first = backfilling.first.get(f"{row.workload_name}!{row.job_id}")
            assert first is None or row.starting_time <= first + 1e-6

    @given(workloads(), st.sampled_from([None, 0, 3]))
    @settings(max_examples=examples, deadline=None)
    def run(workload: Workload, depth: int | None) -> None:
        for name in ORDERS:
            kept(workload, Policy(named(name)().order, RememberingConservative(depth)))
            kept(workload, Policy(FCFS(), RememberingEASY(named(name)().order)))
            kept(workload, Policy(named(name)().order, RememberingEASY(), keeps=True))

    run()


@pytest.mark.slow
def test_reservations_are_kept() -> None:
    promises(3)


@pytest.mark.minutes
def test_reservations_are_kept_in_2000_workloads() -> None:
    """With each order: 96,000 simulations."""
    promises(2000)


def combinations() -> Iterator[str]:
    """Each part with some others."""
    hosts = [name for name, part in PARTS.items() if part.kind == "allocation"]
    hosts.remove("shared")
    for number, order in enumerate(ORDERS):
        yield f"{order}+{BACKFILLINGS[number % len(BACKFILLINGS)]}+{hosts[number % len(hosts)]}"
        yield f"{order}+{BACKFILLINGS[(number + 2) % len(BACKFILLINGS)]}+predicted+keep+each"


def runs(examples: int) -> None:
    @given(workloads(exact=False), st.sampled_from(list(combinations())), st.booleans())
    @settings(max_examples=examples, deadline=None)
    def run(workload: Workload, name: str, with_latency: bool) -> None:
        platform = Platform.homogeneous(SIZE) if with_latency else None
        assert most_on_a_host(rows_of(workload, named(name)(), platform)) == 1

    run()


def shares(examples: int) -> None:
    @given(workloads(exact=False), st.sampled_from(ORDERS), st.sampled_from(BACKFILLINGS), st.integers(1, 3))
    @settings(max_examples=examples, deadline=None)
    def run(workload: Workload, order: str, backfilling: str, share: int) -> None:
        rows = rows_of(workload, named(f"{order}+{backfilling}+shared={share}")())
        assert most_on_a_host(rows) <= share
        if share == 1:
            usual = rows_of(workload, named(f"{order}+{backfilling}")())
            assert [(row.job_id, row.starting_time) for row in rows] == [(r.job_id, r.starting_time) for r in usual]

    run()


@pytest.mark.slow
def test_as_many_jobs_share_a_host_as_may() -> None:
    shares(25)


@pytest.mark.minutes
def test_as_many_jobs_share_a_host_as_may_in_2000_workloads() -> None:
    shares(2000)


def test_hosts_are_shared_only_when_none_is_idle() -> None:
    jobs = [StaticJob(str(number), number, 3, DelayProfile(10.0), 20) for number in range(6)]
    workload = Workload(jobs)
    workload.resource_count = 4
    rows = rows_of(workload, named("shared")())
    assert [row.allocated_resources for row in rows] == ["0-2", "0-1 3", "0-2", "0-1 3", "0-2", "0-1 3"]
    assert [math.floor(row.starting_time) for row in rows] == [0, 1, 10, 11, 20, 21]


@pytest.mark.slow
def test_all_jobs_run_and_no_host_has_two() -> None:
    runs(50)


@pytest.mark.minutes
def test_all_jobs_run_and_no_host_has_two_in_2000_workloads() -> None:
    runs(2000)


@given(workloads(exact=False), st.sampled_from(ORDERS))
@settings(max_examples=15, deadline=None)
def test_one_reservation_is_easy(workload: Workload, order: str) -> None:
    kinds: list[Backfilling] = [EASY(), Reservations(1)]
    rows = [rows_of(workload, Policy(named(order)().order, each)) for each in kinds]
    starts = [{row.job_id: row.starting_time for row in each} for each in rows]
    assert starts[0] == starts[1]


def test_a_job_whose_time_has_come_is_not_overtaken_for_ever() -> None:
    """At 10 s, two hosts are free, but not in a row; and many small jobs wait that could have them from 11 s on."""
    times = [10.0, 15.0, 10.0, 15.0]
    jobs = [StaticJob(str(number), 0, 1, DelayProfile(time), time) for number, time in enumerate(times)]
    jobs.append(StaticJob("wide", 1, 2, DelayProfile(1.0), 1))
    jobs += [StaticJob(f"more{number}", 2, 1, DelayProfile(10.0), 10) for number in range(20)]
    workload = Workload(jobs)
    workload.resource_count = len(times)
    starts = {row.job_id: row.starting_time for row in rows_of(workload, named("conservative+contiguous")())}
    assert starts["wide"] == pytest.approx(15, abs=1e-3)


@pytest.mark.parametrize(("name", "most"), [("easy", 4), ("conservative+contiguous", 4), ("shared=3", 4)])
def test_jobs_that_can_never_run_are_rejected(name: str, most: int, caplog: pytest.LogCaptureFixture) -> None:
    jobs = [StaticJob(str(size), 0.0, size, DelayProfile(10.0), 20) for size in (0, 1, most, most + 1)]
    result = simulate(Platform.homogeneous(4), Workload(jobs), named(name)())
    states = {row.job_id: row.final_state is FinalJobState.REJECTED for row in result.jobs}
    assert states == {"0": True, "1": False, str(most): False, str(most + 1): True}
    for size in (0, most + 1):
        assert f"it requests {size} hosts, and can have 1 to {most}" in caplog.text
