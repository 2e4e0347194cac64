"""Limits of a site that depend on where a job runs: the time that a partition gives it, and the cores of its hosts."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.model import DelayProfile, FinalJobState, Host, HostProperty
from batprotocol.policies import EASY, Conservative, Greedy, NoBackfilling, Policy, SiteRules
from batprotocol.policies.allocations import Chooser
from batprotocol.policies.availability import Pool
from batprotocol.simulator import JobRow, StaticJob, Workload, described_platform, simulate
from batprotocol.workloads.requests import read_request
from batprotocol.workloads.requests.offers import read_offer

WITHOUT_ENGINE = True

KINDS = [NoBackfilling, Greedy, EASY, Conservative]


def job(name: str, at: float, size: int, time: float, walltime: float | None = None, **data: Any) -> StaticJob:
    return StaticJob(name, at, size, DelayProfile(time), walltime=walltime, extra_data=json.dumps(data))


def run(jobs: list[StaticJob], tables: dict[str, Any], hosts: str, backfilling: Any = EASY) -> dict[str, JobRow]:
    policy = Policy(backfilling=backfilling(), site=SiteRules.of(tables))
    result = simulate(described_platform(hosts), Workload(jobs, {}), policy)
    assert result.is_complete
    return {row.job_id: row for row in result.jobs}


def spans(rows: dict[str, JobRow]) -> dict[str, tuple[int, int] | None]:
    """The seconds of the start and the end of each job; None if it was rejected."""
    return {
        name: None
        if row.starting_time is None
        else (int(row.starting_time), int(row.starting_time + row.execution_time))
        for name, row in rows.items()
    }


# Times


@pytest.mark.parametrize("backfilling", KINDS)
@pytest.mark.parametrize(
    ("partition", "qos", "ends"),
    [
        ({"max_time": 30}, {}, 30),
        ({"max_time": 30, "default_time": 20}, {}, 20),
        ({"default_time": 20}, {}, 20),
        ({}, {"max_time": 25}, 25),
        ({"max_time": 30}, {"max_time": 25}, 25),
        ({"max_time": 30, "default_time": 20}, {"max_time": 25}, 20),
        ({"default_time": 40}, {"max_time": 25}, 25),
        ({}, {}, 100),
    ],
)
def test_a_job_without_a_walltime_is_killed_when_its_time_in_the_partition_is_over(
    backfilling: Any, partition: dict[str, Any], qos: dict[str, Any], ends: int
) -> None:
    tables = {"partitions": {"p": {"hosts": "ALL", "default": True} | partition}, "qos": {"q": qos}}
    jobs = [
        job("long", 0, 1, 100, qos="q"),
        job("next", 1, 1, 5, 5, qos="q"),
        job("not", 2, 1, 1, 1, dependency="afternotok:long"),
        job("short", 3, 1, 4, qos="q"),
    ]
    rows = run(jobs, tables, "n0 cores=2", backfilling)
    killed = ends < 100
    assert spans(rows)["long"] == (0, ends)
    assert rows["long"].final_state is (
        FinalJobState.COMPLETED_KILLED if killed else FinalJobState.COMPLETED_SUCCESSFULLY
    )
    assert spans(rows)["next"] == (ends, ends + 5)
    assert (rows["not"].starting_time is not None) == killed
    assert rows["short"].final_state is FinalJobState.COMPLETED_SUCCESSFULLY


def test_the_time_of_the_partition_counts_in_which_a_job_runs() -> None:
    tables = {"partitions": {"short": {"hosts": "n0", "max_time": 10}, "long": {"hosts": "n1", "max_time": 50}}}
    jobs = [job(str(number), 0, 1, 100, partition="short,long") for number in range(2)]
    assert sorted(spans(run(jobs, tables, "n[0-1] cores=2")).values()) == [(0, 10), (0, 50)]


def test_a_job_that_lasts_as_long_as_it_may_is_not_killed() -> None:
    tables = {"partitions": {"p": {"hosts": "ALL", "max_time": 10}}}
    rows = run([job("just", 0, 1, 10), job("over", 0, 1, 10.5)], tables, "n[0-1]")
    assert [rows[name].final_state for name in ("just", "over")] == [
        FinalJobState.COMPLETED_SUCCESSFULLY,
        FinalJobState.COMPLETED_KILLED,
    ]


@pytest.mark.parametrize(("grace", "ends", "runs_again"), [(0, 5, True), (3, 8, True), (40, 30, False)])
def test_a_job_that_gives_way_is_killed_at_its_limit_at_the_latest_and_is_over_then(
    grace: int, ends: int, runs_again: bool
) -> None:
    tables = {
        "partitions": {
            "low": {"hosts": "ALL", "default": True, "preempt": "requeue", "grace": grace, "max_time": 30},
            "high": {"hosts": "ALL", "tier": 2},
        }
    }
    jobs = [job("first", 0, 1, 100), job("urgent", 5, 1, 10, 10, partition="high")]
    rows = spans(run(jobs, tables, "n0"))
    assert rows["first"] == (0, ends)
    assert rows["urgent"] == (ends, ends + 10)
    assert rows.get("w0-first~1") == ((ends + 10, ends + 40) if runs_again else None)


def test_nothing_is_planned_for_a_job_that_has_ended() -> None:
    decided: list[float] = []

    class Counted(Policy):
        def decide(self) -> None:
            decided.append(self.now)
            super().decide()

    rules = SiteRules.of({"partitions": {"p": {"hosts": "ALL", "max_time": "1-0"}}})
    jobs = [job("1", 0, 1, 10), job("2", 20, 1, 10), job("3", 50, 1, 10)]
    simulate(described_platform("n0"), Workload(jobs, {}), Counted(site=rules))
    assert sum(time > 60 for time in decided) <= 1  # the call that was asked for while the first one ran


# Cores

UNEQUAL = "a0 cores=2; b0 cores=8; c0 cores=4"


@pytest.mark.parametrize("backfilling", KINDS)
def test_whole_hosts_count_with_the_cores_that_they_have(backfilling: Any) -> None:
    """Two jobs on the largest hosts have more than the limit, on others not."""
    hosts = {"limits": {"cores": 10}}
    jobs = [job(str(number), 0, 1, 10, 10, exclusive=True) for number in range(3)]
    assert sorted(spans(run(jobs, hosts, UNEQUAL, backfilling)).values()) == [(0, 10), (0, 10), (10, 20)]
    rows = run(jobs, hosts, "a0 cores=8; b0 cores=4; c0 cores=2", backfilling)  # the second one may get the host with 4
    assert sorted(spans(rows).values()) == [(0, 10), (10, 20), (20, 30)]
    jobs = [job(str(number), 0, 1, 10, 10, constraint="s") for number in range(3)]
    rows = run(jobs, hosts, "a[0-2] cores=4 features=s; b0 cores=8", backfilling)
    assert sorted(spans(rows).values()) == [(0, 10), (0, 10), (10, 20)]


@pytest.mark.parametrize("backfilling", KINDS)
def test_a_running_job_counts_with_the_hosts_that_it_has(backfilling: Any) -> None:
    jobs = [job("small", 0, 1, 100, 100, exclusive=True), job("large", 1, 1, 10, 10, constraint="l")]
    rows = run(jobs, {"limits": {"cores": 10}}, "a0 cores=2; b0 cores=8 features=l", backfilling)
    assert spans(rows) == {"small": (0, 100), "large": (1, 11)}


@pytest.mark.parametrize(
    ("limit", "size", "data", "hosts"),
    [
        (7, 2, {}, "0 2"),  # the host with 8 cores is left out
        (5, 2, {}, None),
        (1, 1, {}, None),
        (3, 1, {}, "0"),
        (6, 2, {"contiguous": True}, None),
        (10, 2, {"contiguous": True}, "0-1"),
        (12, 2, {"contiguous": True}, "0-1"),
        (2, 1, {"constraint": "l*1"}, None),
        (10, 2, {"constraint": "l*1"}, "0-1"),
    ],
)
def test_a_job_gets_whole_hosts_that_its_limit_allows(
    limit: int, size: int, data: dict[str, Any], hosts: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    machine = "a0 cores=2; b0 cores=8 features=l; c0 cores=4"
    row = run([job("1", 0, size, 5, 5, exclusive=True, **data)], {"per_user": {"cores": limit}}, machine)["1"]
    if hosts is None:
        assert row.final_state is FinalJobState.REJECTED
        sentence = f"it asks for {size} whole hosts, which have more cores than the {limit} that user None can have"
        assert sentence in caplog.text
    else:
        assert str(row.allocated_resources) == hosts


def test_jobs_of_an_exclusive_partition_count_with_whole_hosts() -> None:
    tables = {"partitions": {"p": {"hosts": "ALL", "exclusive": True}}, "limits": {"cores": 8}}
    jobs = [job(str(number), 0, 1, 10, 10, cores=1) for number in range(3)]
    assert sorted(spans(run(jobs, tables, "n[0-2] cores=4")).values()) == [(0, 10), (0, 10), (10, 20)]


CORES = st.lists(st.integers(1, 6), min_size=2, max_size=6)
ASKED = [{}, {"contiguous": True}, {"constraint": "x*1"}, {"constraint": "[x|y]"}, {"constraint": "x*1&y*1"}]


@settings(max_examples=60)
@given(
    CORES, st.lists(st.sampled_from(["x", "y", "x,y"]), min_size=6, max_size=6), st.integers(1, 3), st.integers(1, 20)
)
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_hosts_within_a_limit_are_those_of_a_search_of_all_sets(
    asked: dict[str, Any], cores: list[int], features: list[str], size: int, most: int
) -> None:
    """There are some if any set of hosts is possible, and whichever the job gets of them, it stays within its limit."""
    offers = []
    for number, own in enumerate(cores):
        properties = [HostProperty("cores", str(own)), HostProperty("features", features[number])]
        host = Host(id=number, name=f"n{number}", core_count=1, properties=properties, computation_speed=[1.0])
        offers.append(read_offer(host))
    pool, request = Pool(offers), read_request(json.dumps(asked))
    chooser = Chooser("numbers", {offer.id: offer for offer in offers})

    def is_possible(group: tuple[int, ...]) -> bool:
        return chooser.choose(group, size, request, pool.capacity) is not None

    possible = [group for group in itertools.combinations(range(len(cores)), size) if is_possible(group)]
    found = chooser.within(range(len(cores)), size, request, pool.capacity, most)
    assert (found is not None) == any(sum(cores[host] for host in group) <= most for group in possible)
    if found is not None:
        groups = [group for group in itertools.combinations(sorted(found), size) if is_possible(group)]
        assert groups
        assert all(sum(cores[host] for host in group) <= most for group in groups)


@pytest.mark.parametrize("where", ["a,b", "b,a"])
def test_a_job_that_starts_in_one_partition_leaves_its_hosts_in_the_other_one_at_once(where: str) -> None:
    """`both` waits first in `a`, and starts behind `wide` in `b`: `small` gets the host that was kept in `a`."""
    tables = {"partitions": {"a": {"hosts": "n[0-1]"}, "b": {"hosts": "n[2-4]"}}}
    jobs = [
        job("a", 0, 1, 100, 100, partition="a"),
        job("b", 0, 1, 100, 100, partition="b"),
        job("wide", 1, 3, 10, 10, partition="b"),
        job("both", 1, 2, 50, 50, partition=where),
        job("small", 1, 1, 200, 200, partition="a"),
    ]
    found = spans(run(jobs, tables, "n[0-4]"))
    assert found == {"a": (0, 100), "b": (0, 100), "wide": (100, 110), "both": (1, 51), "small": (1, 201)}
