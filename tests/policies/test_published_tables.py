"""Policies give the values of published tables, and those of a simulator that is not ours."""

from __future__ import annotations

import math
from functools import cache
from statistics import fmean

import pytest
from published import ALL_TABLES, ORDERS, Job, Row, jobs_of, published, rows, starts_of, workload_of

from batprotocol import model as batsim
from batprotocol.policies import State, WaitingJob
from batprotocol.simulator import Workload, platform_for, simulate

WITHOUT_ENGINE = True

ROWS = list(rows())
KINDS = {("UNI", False), ("F2", True), ("WFP3_fixed", False), ("WFP3_fixed", True)}
SOME = [row for row in ROWS if (row.policy, row.backfilling) in KINDS]


@cache
def workload(row: Row) -> Workload:
    return workload_of(row)


@cache
def slowdown(row: Row) -> float:
    """The mean bounded slowdown of a simulation."""
    jobs = workload(row._replace(policy="", backfilling=False, value=0.0))
    result = simulate(platform_for([jobs]), [jobs], published(ORDERS[row.policy](), row.backfilling))
    assert result.is_complete
    return result.metrics().bounded_slowdown.mean


@pytest.mark.slow
@pytest.mark.parametrize("row", SOME, ids=str)
def test_published_values_are_reproduced(row: Row) -> None:
    assert slowdown(row) == pytest.approx(row.value, rel=1e-6)


def whole_table() -> list[Row]:
    """All rows, where they are; else those of one sequence."""
    table = list(rows(ALL_TABLES)) if ALL_TABLES.is_dir() else ROWS
    assert len(table) in (22, 440)
    return table


@pytest.mark.minutes
def test_all_published_values_are_reproduced() -> None:
    for row in whole_table():
        assert slowdown(row) == pytest.approx(row.value, rel=1e-6), str(row)


@pytest.mark.parametrize("backfilling", [False, True])
def test_a_small_simulator_has_the_same_values(backfilling: bool) -> None:
    """What the tables' settings are, without Batsim: then whatever differs from Batsim is a fault of ours."""
    row = next(row for row in ROWS if row.policy == "SAF" and row.backfilling == backfilling)
    found = workload(row._replace(policy="", backfilling=False, value=0.0))
    jobs = jobs_of(found)

    def area(job: Job, now: float) -> float:
        return job.size * job.walltime

    starts = starts_of(jobs, found.resource_count, area, backfilling)
    times = [(starts[job.id] - job.submitted, job.runtime) for job in jobs]
    mean = math.fsum(max(1.0, (waited + ran) / max(ran, 10.0)) for waited, ran in times) / len(jobs)
    assert mean == pytest.approx(row.value, rel=1e-12)


PUBLISHED = {
    ("WFP3", False): 19753.53,
    ("UNI", False): 22274.74,
    ("WFP3", True): 133.87,
    ("UNI", True): 307.23,
    ("WFP3_fixed", False): 337.34,
    ("UNI_fixed", False): 370.56,
    ("WFP3_fixed", True): 126.50,
    ("UNI_fixed", True): 98.65,
}
"""Means of ten sequences of Lublin-1: what was published, and the same code with waiting times as they were meant."""


def mistaken(table: list[Row]) -> dict[tuple[str, bool], float]:
    """What we come to in the mean of the sequences, with the mistake and without."""
    return {
        kind: fmean(
            slowdown(row) for row in table if (row.policy, row.backfilling) == kind and "lublin_256" in row.workload
        )
        for kind in PUBLISHED
    }


@pytest.mark.minutes
def test_the_mistake_of_the_published_table_is_one() -> None:
    """With the waiting time as it was meant, WFP3 and UNICEP are far better than published, on all sequences."""
    table = whole_table()
    for kind, mean in mistaken(table).items():
        if len(table) > len(ROWS):
            assert mean == pytest.approx(PUBLISHED[kind], abs=0.005)
    found = {(row.workload, row.policy, row.backfilling): slowdown(row) for row in table if "lublin" in row.workload}
    for (workload, policy, backfilling), value in found.items():
        if policy in ("WFP3", "UNI") and not backfilling:
            assert value > 4 * found[workload, f"{policy}_fixed", backfilling]


@pytest.mark.parametrize("policy", ["WFP3", "UNI"])
def test_the_mistake_is_an_order_that_never_changes(policy: str) -> None:
    """It is negative, so that long jobs come before short ones, whenever it is asked."""
    jobs = [
        WaitingJob(str(number), batsim.Job(resource_request=4, walltime=100.0 * number, profile_id="p"), number, 9.0)
        for number in range(1, 4)
    ]
    firsts = []
    for order in (ORDERS[policy](), ORDERS[f"{policy}_fixed"]()):
        state = State()
        for state.now in (30.0, 3000.0):
            firsts.append([job.id for job in sorted(jobs, key=lambda job: order.key(job, state))])
    assert firsts == [["3", "2", "1"]] * 2 + [["1", "2", "3"]] * 2
