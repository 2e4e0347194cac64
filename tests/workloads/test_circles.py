"""Circles of jobs that wait for each other: those that a search without memory finds, and in linear time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.model import FinalJobState
from batprotocol.workloads.requests import Dependencies, check_requests, read_request
from batprotocol.workloads.requests.dependencies import circle_through, circles_among

WITHOUT_ENGINE = True

NODES = st.integers(0, 7)


def is_circle(nodes: list[int], graph: Any) -> bool:
    return len(set(nodes)) == len(nodes) and all(
        graph.has_edge(one, other) for one, other in zip(nodes, [*nodes[1:], nodes[0]], strict=True)
    )


@given(st.sets(st.tuples(NODES, NODES), max_size=14), NODES)
def test_a_circle_through_a_node_is_one_of_the_graph(edges: set[tuple[int, int]], node: int) -> None:
    graph = networkx.DiGraph(edges)
    graph.add_nodes_from(range(8))
    found = circle_through(node, graph.successors, graph.predecessors)
    assert bool(found) == any(node in one for one in networkx.simple_cycles(graph))
    assert not found or (found[0] == node and is_circle(found, graph))


@given(st.dictionaries(NODES, st.tuples(st.lists(st.lists(NODES, max_size=2), min_size=1, max_size=3), st.booleans())))
def test_circles_are_among_what_can_never_be_had(needs: dict[int, tuple[list[list[int]], bool]]) -> None:
    had = set(range(8)) - needs.keys()
    for _ in needs:
        for node, (groups, needs_all) in needs.items():
            if (all if needs_all else any)(set(group) <= had for group in groups):
                had.add(node)
    graph = networkx.DiGraph(
        (node, one) for node, (groups, _) in needs.items() for group in groups for one in group if one not in had
    )
    graph.add_nodes_from(range(8))
    circles = circles_among(needs)
    assert all(is_circle(circle, graph) and not had.intersection(circle) for circle in circles)
    members = {node for circle in circles for node in circle}
    assert len(members) == sum(map(len, circles))
    for node in set(range(8)) - had:
        assert node in members or members & networkx.descendants(graph, node)


def submitted(*jobs: dict[str, Any]) -> Dependencies:
    waiting = Dependencies()
    for number, data in enumerate(jobs):
        waiting.submitted(f"w0!{number}", read_request(json.dumps(data)), float(number))
    return waiting


CIRCLES: list[tuple[list[dict[str, Any]], str]] = [
    (
        [{"name": "n", "dependency": "after:1"}, {"name": "n", "dependency": "singleton"}],
        "w0!0 -> w0!1 -> w0!0",
    ),
    (
        [
            {"name": "n", "dependency": "afterok:3"},
            {"name": "n"},
            {"name": "n", "dependency": "singleton,after:1"},
            {"dependency": "afterany:2"},
        ],
        "w0!0 -> w0!3 -> w0!2 -> w0!0",
    ),
    ([{"dependency": "after:1?after:2"}, {"dependency": "after:0"}, {"dependency": "after:0"}], "w0!0 -> w0!1 -> w0!0"),
]


@pytest.mark.parametrize(("jobs", "chain"), CIRCLES)
def test_a_circle_is_found_through_singletons_and_alternatives(jobs: list[dict[str, Any]], chain: str) -> None:
    waiting = submitted(*jobs)
    waiting.no_more()
    assert waiting.verdict("w0!0").never == f"it waits for itself: {chain}"
    with pytest.raises(InputError) as caught:
        check_requests((f"w0!{number}", json.dumps(data), "w.json") for number, data in enumerate(jobs))
    assert str(caught.value) == f"w.json: job 'w0!0': dependency: it waits for itself: {chain}"


@pytest.mark.parametrize(
    "jobs",
    [
        [{"dependency": "after:1"}, {"dependency": "singleton"}],  # without a name, it waits for none
        [{"name": "n", "dependency": "after:1"}, {"name": "m", "dependency": "singleton"}],
        [{"name": "n", "dependency": "after:1"}, {"name": "n", "user": 1, "dependency": "singleton"}],
        [{"dependency": "after:1?after:2"}, {"dependency": "after:0"}, {"name": "n"}],
    ],
)
def test_jobs_that_do_not_wait_for_themselves(jobs: list[dict[str, Any]]) -> None:
    check_requests((f"w0!{number}", json.dumps(data), "") for number, data in enumerate(jobs))
    waiting = submitted(*jobs)
    assert waiting.no_more() == []
    assert [waiting.verdict(f"w0!{number}").never for number in range(len(jobs))] == [None] * len(jobs)


def test_a_job_with_singleton_waits_for_all_before_it() -> None:
    single = {"name": "n", "user": 1, "dependency": "singleton"}
    waiting = submitted({"name": "n", "user": 1}, {"name": "n", "user": 1}, single, {"name": "n"}, single, single)
    done = FinalJobState.COMPLETED_SUCCESSFULLY
    assert waiting.ended("w0!1", done, 9.0) == []
    assert waiting.ended("w0!4", FinalJobState.REJECTED, 9.5) == []
    assert waiting.ended("w0!0", done, 7.0) == ["w0!2"]
    assert waiting.verdict("w0!2").since == 9.0
    assert waiting.verdict("w0!5").since == float("inf")
    assert waiting.ended("w0!2", done, 12.0) == ["w0!5"]
    assert waiting.verdict("w0!5").since == 12.0


def shapes(count: int) -> Iterator[list[dict[str, Any]]]:
    """Workloads in which a search of all that a job waits for, or of all that wait for it, is long."""
    yield [{"name": "n", "dependency": f"singleton,afterany:{number - 1}"} for number in range(count)]
    yield [{"name": "n", "dependency": f"singleton,afterany:{number}"} for number in range(count)]
    yield [{"name": "n", "dependency": f"after:{number + 1}"} for number in range(count)]
    yield [
        {"dependency": "afterok:a"},
        *({"name": "n", "dependency": "singleton", "array": f"a_{task}"} for task in range(count)),
    ]


@pytest.mark.parametrize("shape", range(4))
def test_the_search_takes_linear_time(shape: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps of the searches are counted: they are in proportion to the jobs."""
    steps = 0
    after = Dependencies._after

    def counted(self: Dependencies, node: Any) -> Iterator[Any]:
        nonlocal steps
        for each in after(self, node):
            steps += 1
            yield each

    monkeypatch.setattr(Dependencies, "_after", counted)
    count = 3_000
    jobs = list(shapes(count))[shape]
    waiting = submitted(*jobs)
    assert [waiting.verdict(f"w0!{n}").never is None for n in range(1, len(jobs))] == [shape != 1] * (len(jobs) - 1)
    for number in range(1, len(jobs)):
        waiting.ended(f"w0!{number}", FinalJobState.COMPLETED_SUCCESSFULLY, 1.0)
    assert steps <= 4 * count
