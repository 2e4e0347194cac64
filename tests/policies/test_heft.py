"""The order `heft`: its ranks are the longest paths to the end, and jobs start by them."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import DATA

from batprotocol.model import DelayProfile, Job
from batprotocol.policies import HEFT, PARTS, Policy, State, WaitingJob, named
from batprotocol.simulator import (
    StaticJob,
    Workload,
    described_platform,
    read_workflow,
    simulate,
    workflow_results,
    workflow_workload,
)

WITHOUT_ENGINE = True


def job(walltime: float | None, **extra: Any) -> Job:
    return Job(resource_request=1, walltime=walltime, profile_id="p", extra_data=json.dumps(extra) if extra else None)


def submitted(jobs: dict[str, Job]) -> HEFT:
    order = HEFT()
    for name, each in jobs.items():
        order.submitted(f"w0!{name}", each, State())
    return order


def ranks(order: HEFT, names: str) -> list[float]:
    return [order.rank(f"w0!{name}") for name in names.split()]


def test_the_rank_is_the_longest_path_to_the_end() -> None:
    order = submitted(
        {
            "end": job(2.0, dependency="afterok:left:right"),
            "left": job(3.0, dependency="afterok:start"),
            "right": job(9.0, dependency="afterany:start,after:alone"),
            "start": job(1.0),
            "alone": job(4.0),
        }
    )
    assert ranks(order, "start left right end alone") == [12.0, 5.0, 11.0, 2.0, 4.0]


def test_jobs_that_come_later_count_from_then_on() -> None:
    order = submitted({"a": job(1.0), "b": job(1.0, dependency="afterok:a")})
    assert ranks(order, "a b") == [2.0, 1.0]
    order.submitted("w0!c", job(5.0, dependency="afterok:b"), State())
    assert ranks(order, "a b c") == [7.0, 6.0, 5.0]
    order.submitted("w1!d", job(7.0, dependency="afterok:w0!c"), State())
    assert ranks(order, "a") == [14.0]


def test_arrays_circles_unknown_walltimes_and_wrong_requests() -> None:
    order = submitted(
        {
            "7a": job(1.0, array="7_1"),
            "7b": job(2.0, array="7_2"),
            "after": job(4.0, dependency="afterok:7"),
            "x": job(1.0, dependency="afterok:y"),
            "y": job(2.0, dependency="afterok:x"),
            "endless": job(None),
            "wrong": job(3.0, dependency=5),
            "missing": job(6.0, dependency="afterok:nobody"),
        }
    )
    assert ranks(order, "7a 7b after x y endless wrong missing") == [5.0, 6.0, 4.0, 1.0, 2.0, 1e9, 3.0, 6.0]
    unknown = WaitingJob("w0!new", job(8.0), 0, 1.0)
    assert order.key(unknown, State()) == (-8.0, 1.0)


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, tuple[float, list[str]]]:
    """Jobs with whole walltimes and parents, in any order."""
    names = draw(st.permutations([f"j{number}" for number in range(draw(st.integers(1, 10)))]))
    found = {}
    for number, name in enumerate(names):
        parents = sorted(draw(st.sets(st.sampled_from(names[:number]), max_size=3))) if number else []
        found[name] = (float(draw(st.integers(1, 20))), parents)
    return {name: found[name] for name in draw(st.permutations(names))}


def dependent(walltime: float, parents: list[str]) -> Job:
    return job(walltime, cores=1, **({"dependency": "afterok:" + ":".join(parents)} if parents else {}))


@given(graphs())
def test_ranks_are_those_of_networkx(graph: dict[str, tuple[float, list[str]]]) -> None:
    networkx = pytest.importorskip("networkx")
    order = HEFT()
    for name, (walltime, parents) in graph.items():
        order.submitted(f"w0!{name}", dependent(walltime, parents), State())
        order.rank(f"w0!{name}")  # what is known so far must not stay
    drawn = networkx.DiGraph()
    drawn.add_nodes_from(graph)
    drawn.add_edges_from((parent, name) for name, (_, parents) in graph.items() for parent in parents)
    for name in graph:
        below = drawn.subgraph({name, *networkx.descendants(drawn, name)}).copy()
        for one, other in below.edges:
            below.edges[one, other]["weight"] = graph[other][0]
        longest = graph[name][0] + networkx.dag_longest_path_length(below)
        assert order.rank(f"w0!{name}") == pytest.approx(longest)


@given(graphs(), st.sampled_from(["heft", "heft+easy", "easy=heft", "heft+conservative", "heft+reservations=3"]))
def test_of_the_ready_jobs_the_one_with_the_highest_rank_starts(
    graph: dict[str, tuple[float, list[str]]], name: str
) -> None:
    jobs = [
        StaticJob(each, 0.0, 1, DelayProfile(walltime - 0.5), walltime, dependent(walltime, parents).extra_data)
        for each, (walltime, parents) in graph.items()
    ]
    result = simulate(described_platform("n0 cores=1"), Workload(jobs), named(name)())
    assert result.is_complete
    rows = {row.job_id: row for row in result.jobs}
    assert all(row.success for row in rows.values())
    starts = {each: row.starting_time or 0.0 for each, row in rows.items()}
    order = HEFT()
    for each, (walltime, parents) in graph.items():
        order.submitted(f"w0!{each}", dependent(walltime, parents), State())
    for each, (_, parents) in graph.items():
        assert all(starts[each] >= (rows[parent].finish_time or 0.0) for parent in parents)
        if name != "heft":
            continue
        ready = max((rows[parent].finish_time or 0.0 for parent in parents), default=0.0)
        for other, start in starts.items():
            if ready + 0.01 < start < starts[each]:  # it waited, and the other one was chosen
                assert order.rank(f"w0!{other}") >= order.rank(f"w0!{each}")


FIGURES = {  # makespans in seconds on 8 cores: of easy, of heft
    "montage": (38.58, 36.09),
    "epigenomics": (130.59, 131.11),
    "1000genome": (372.67, 365.39),
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_makespans_of_published_workflows_are_known(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    workload = workflow_workload([read_workflow(DATA / "workflows" / f"{name}.json")], walltimes=2)
    found = []
    for policy in ("easy", "heft"):
        result = simulate(described_platform("n0 cores=8"), workload, named(policy)())
        (measured,) = workflow_results(result.jobs, workload, cores=8).values()
        assert measured.makespan is not None
        found.append(measured.makespan)
    assert found == pytest.approx(FIGURES[name], abs=0.02)


@pytest.mark.parametrize("name", ["easy", "easy=once", "reservations=3"])
def test_a_job_that_becomes_ready_before_the_first_one_starts_in_its_place(name: str) -> None:
    jobs = [
        StaticJob(each, 0.0, 1, DelayProfile(5.0), 10.0, dependent(10.0, ["1"] if each == "2" else []).extra_data)
        for each in ("1", "2", "3", "4", "5")
    ]
    result = simulate(described_platform("n0 cores=1"), Workload(jobs), named(name)())
    assert [row.job_id for row in result.jobs] == ["1", "2", "3", "4", "5"]


def test_it_is_a_part_of_names() -> None:
    assert PARTS["heft"].kind == "order"
    assert "Topcuoglu" in PARTS["heft"].source
    policy = named("heft+easy")()
    assert isinstance(policy, Policy)
    assert isinstance(policy.order, HEFT)
