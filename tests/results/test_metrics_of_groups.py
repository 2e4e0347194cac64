"""Metrics of groups of jobs: against those of the whole run, and against sums that are made from the rows alone."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from commands import run_here
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, FinalJobState
from batprotocol.model.hosts import parse_hosts
from batprotocol.policies import EASY, Policy, SiteRules
from batprotocol.results.groups import size_class
from batprotocol.simulator import (
    GROUPINGS,
    JobRow,
    StaticJob,
    Workload,
    described_platform,
    grouped,
    job_groups,
    measured,
    simulate,
    workload_json,
)

WITHOUT_ENGINE = True

HOSTS = 4


def row(number: int, submission: float, waiting: float, runtime: float, hosts: int, ran: bool) -> JobRow:
    return JobRow(
        job_id=str(number),
        workload_name="w0",
        profile="w0!p",
        submission_time=submission,
        requested_number_of_resources=hosts,
        requested_time=None,
        final_state=FinalJobState.COMPLETED_SUCCESSFULLY if ran else FinalJobState.REJECTED,
        starting_time=submission + waiting if ran else None,
        execution_time=runtime if ran else None,
        allocated_resources=("0" if hosts == 1 else f"0-{hosts - 1}") if ran else "",
    )


times = st.integers(0, 20).map(float)
runs = st.lists(
    st.tuples(times, times, times.map(lambda time: time + 1), st.integers(1, HOSTS), st.integers(0, 4).map(bool)),
    max_size=8,
).map(lambda given: [row(number, *each) for number, each in enumerate(given)])
labels = st.dictionaries(st.integers(0, 7).map(lambda number: f"w0!{number}"), st.sampled_from(["a", "b"]))
shares = st.sampled_from([0.0, 0.2])


def lost(rows: Sequence[JobRow], waiting: Sequence[JobRow], begin: float, end: float) -> float:
    """The host-seconds that nobody used while a job was waiting: all times are whole, so each second is alike."""
    total = 0.0
    edges = sorted(
        {
            begin,
            end,
            *(
                time
                for each in rows
                for time in (each.submission_time, each.starting_time, each.finish_time)
                if time is not None and begin < time < end
            ),
        }
    )
    for since, until in itertools.pairwise(edges):
        running = [each for each in rows if _covers(each.starting_time, each.finish_time, since)]
        busy = len({host for each in running for host in parse_hosts(each.allocated_resources)})
        if any(_covers(each.submission_time, each.starting_time, since) for each in waiting):
            total += max(HOSTS - busy, 0) * (until - since)
    return total


def _covers(since: float | None, until: float | None, time: float) -> bool:
    return since is not None and until is not None and since <= time < until


@given(runs, labels, shares, shares)
def test_groups_add_up_to_the_whole_run(
    rows: list[JobRow], named: Mapping[str, str], warm_up: float, cool_down: float
) -> None:
    whole = measured(rows, HOSTS, warm_up=warm_up, cool_down=cool_down)
    found = grouped(rows, HOSTS, "qos", {"qos": named}, warm_up=warm_up, cool_down=cool_down)
    assert list(found) == sorted(
        {named.get(f"w0!{each.job_id}", "-") for each in rows}, key=lambda name: (name == "-", name)
    )
    assert sum(each.nb_jobs for each in found.values()) == whole.nb_jobs
    assert sum(each.nb_rejected for each in found.values()) == whole.nb_rejected
    assert {each.counted for each in found.values()} <= {whole.counted}
    together = math.fsum(each.utilisation for each in found.values())
    if whole.counted == "hosts":
        assert together == pytest.approx(whole.utilisation)
    else:  # of hosts that groups share, each counts all
        assert all(each.utilisation <= whole.utilisation + 1e-9 for each in found.values())
        assert whole.utilisation <= together + 1e-9
    assert math.fsum(each.throughput for each in found.values()) == pytest.approx(whole.throughput)
    assert {each.measured_time for each in found.values()} <= {whole.measured_time}
    ran = [each for each in rows if each.starting_time is not None]
    for name, metrics in found.items():
        own = [each for each in rows if named.get(f"w0!{each.job_id}", "-") == name]
        alone = measured(own, HOSTS)
        if not warm_up and not cool_down:
            assert metrics.waiting == alone.waiting
            assert metrics.bounded_slowdown == alone.bounded_slowdown
            assert metrics.makespan == pytest.approx(alone.makespan)
        if ran and not warm_up and not cool_down:
            begin = min(each.submission_time for each in ran)
            expected = lost(
                ran, [each for each in own if each.starting_time is not None], begin, begin + whole.measured_time
            )
            assert metrics.loss_of_capacity == pytest.approx(expected / (HOSTS * whole.measured_time))


@given(runs)
def test_one_group_of_all_jobs_is_the_whole_run(rows: list[JobRow]) -> None:
    found = grouped(rows, HOSTS, "account", {}, own=[count])
    assert [*found] == ["-"] * bool(rows)
    for metrics in found.values():
        assert metrics.flat() == pytest.approx(measured(rows, HOSTS, own=[count]).flat())


def count(jobs: Sequence[JobRow]) -> float:
    """The number of jobs."""
    return len(jobs)


@given(st.integers(1, 10**9))
def test_a_size_class_reaches_from_one_power_of_two_to_the_next(number: int) -> None:
    least, _, most = size_class(number).partition(" ")[0].partition("-")
    first, last = int(least), int(most or least)
    assert first <= number <= last
    assert last & (last - 1) == 0
    assert last == 1 or 2 * (first - 1) == last


def test_what_jobs_ask_for_and_where_they_ran() -> None:
    nap = DelayProfile(30.0)

    def job(name: str, at: float, **data: object) -> StaticJob:
        return StaticJob(name, at, 1, nap, walltime=40.0, extra_data=json.dumps(data) if data else None)

    workload = Workload(
        [
            job("low", 0.0, cores=4, qos="q", account="a", user=7, workflow="f"),
            job("high", 10.0, cores=4, partition="high"),
            job("never", 11.0, cores=4, partition="nowhere"),
            job("odd", 12.0, qos=3),
            job("plain", 13.0),
        ],
        {},
    )
    tables = {"low": {"hosts": "ALL", "default": True, "preempt": "requeue"}, "high": {"hosts": "ALL", "tier": 2}}
    policy = Policy(backfilling=EASY(), site=SiteRules.of({"partitions": tables}))
    result = simulate(described_platform("n0 cores=4"), workload, policy)
    assert result.is_complete

    def jobs(by: str) -> dict[str, tuple[int, int]]:
        found = result.grouped(by, workload, policy.allocated)
        return {name: (each.nb_jobs, each.nb_rejected) for name, each in found.items()}

    assert jobs("partition") == {"high": (1, 0), "low": (2, 0), "nowhere": (0, 1), "-": (0, 1)}
    assert jobs("qos") == {"q": (1, 0), "-": (2, 2)}, "both lives are one job"
    assert jobs("account") == {"a": (1, 0), "-": (2, 2)}
    assert jobs("user") == {"7": (1, 0), "-": (2, 2)}
    assert jobs("workflow") == {"f": (1, 0), "-": (2, 2)}
    assert jobs("size") == {"1 host": (1, 1), "3-4 cores": (2, 1)}
    assert set(job_groups([workload])) == set(GROUPINGS)


def test_what_cannot_be_grouped() -> None:
    with pytest.raises(InputError, match="expected one of partition, qos, account, size, user, workflow, got 'colour'"):
        grouped([], HOSTS, "colour", {})
    with pytest.raises(InputError, match="warm-up"):
        grouped([], HOSTS, "size", {}, warm_up=0.6, cool_down=0.6)


def test_simulate_prints_groups(tmp_path: Path) -> None:
    data = [{"workflow": "f"}, {"workflow": "f", "dependency": "afterok:0"}, {}]
    jobs = [
        StaticJob(str(number), 0.0, 1, DelayProfile(10.0), walltime=20.0, extra_data=json.dumps(each))
        for number, each in enumerate(data)
    ]
    (tmp_path / "w.json").write_text(workload_json(Workload(jobs, {})))
    given = ["simulate", "fcfs", "--hosts", "n[0-1]", "-w", str(tmp_path / "w.json"), "--by", "workflow"]
    lines = [line.split() for line in run_here(*given).out.splitlines()]
    (head,) = [line for line in lines if line[:1] == ["workflow"]]
    assert "stretch" in head
    (found,) = [line for line in lines if line[:1] == ["f"]]
    assert found[1:3] == ["2", "0"]
    printed = json.loads(run_here(*given, "--json").out)
    assert list(printed["groups"]) == ["f", "-"]
    assert printed["groups"]["f"]["mean_workflow_stretch"] == pytest.approx(1.0, abs=0.01)
    assert "mean_workflow_stretch" not in printed["groups"]["-"]
    assert printed["groups"]["-"]["nb_jobs"] == 1
