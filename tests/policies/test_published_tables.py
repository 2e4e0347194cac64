"""Policies give the values of published tables, and those of a simulator that is not ours."""

from __future__ import annotations

import math
from functools import cache

import pytest
from published import ALL_TABLES, ORDERS, Job, Row, jobs_of, published, rows, starts_of, workload_of

from batprotocol.simulator import Workload, platform_for, simulate

WITHOUT_ENGINE = True

ROWS = list(rows())
SOME = [row for row in ROWS if row.policy in ("FCFS", "WFP3", "SJF", "F2", "WFP3_fixed")]


@cache
def workload(row: Row) -> Workload:
    return workload_of(row)


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


@pytest.mark.minutes
def test_all_published_values_are_reproduced() -> None:
    table = list(rows(ALL_TABLES)) if ALL_TABLES.is_dir() else ROWS
    assert len(table) in (22, 440)
    for row in table:
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


def test_the_mistake_of_the_published_table_is_one() -> None:
    """With the waiting time as it was meant, WFP3 and UNICEP are far better than published."""
    values = {(row.policy, row.backfilling): row.value for row in ROWS}
    for policy in ("WFP3", "UNI"):
        assert values[policy, False] > 10 * values[f"{policy}_fixed", False]
