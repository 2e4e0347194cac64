"""Workflows of WfCommons: read, checked, and run to their ends."""

from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from commands import run_here
from hypothesis import given
from hypothesis import strategies as st
from support import DATA

from batprotocol.errors import InputError
from batprotocol.policies import named
from batprotocol.simulator import (
    Workflow,
    WorkflowResult,
    WorkflowTask,
    described_platform,
    read_workflow,
    read_workload,
    simulate,
    workflow_results,
    workflow_workload,
)
from batprotocol.workloads.requests import longest_paths

WITHOUT_ENGINE = True
INSTANCES = DATA / "workflows"
PUBLISHED = {  # tasks, critical path and work, the last as published (sumTaskRuntimesInSeconds)
    "montage": (58, 21.385, 221.726),
    "epigenomics": (41, 104.822, 539.307),
    "1000genome": (52, 204.686, 2771.295),
}


def instance(**changes: Any) -> dict[str, Any]:
    """A small instance: a, b -> c."""
    tasks = [
        {"name": "a", "id": "a", "parents": [], "children": ["c"]},
        {"name": "b", "id": "b", "parents": [], "children": []},
        {"name": "c", "id": "c", "parents": ["b"], "children": []},
    ]
    runs = [{"id": each, "runtimeInSeconds": number} for number, each in enumerate("abc", 1)]
    inner = {"specification": {"tasks": tasks}, "execution": {"tasks": runs}}
    return {"name": "small", "schemaVersion": "1.5", "workflow": inner, **changes}


def written(folder: Path, data: Any) -> Path:
    path = folder / "w.json"
    path.write_text(json.dumps(data))
    return path


def test_parents_and_children_are_dependencies(tmp_path: Path) -> None:
    workflow = read_workflow(written(tmp_path, instance()))
    assert workflow.tasks[2] == WorkflowTask("c", ("a", "b"), 3.0)
    assert (workflow.name, workflow.critical_path, workflow.work) == ("small", 5.0, 6.0)


def test_version_1_4_names_tasks(tmp_path: Path) -> None:
    tasks = [
        {"name": "a_1", "id": "1", "runtimeInSeconds": 2, "cores": 4, "memoryInBytes": 1025},
        {"name": "b_2", "id": "2", "runtimeInSeconds": 3, "parents": ["a_1"]},
        {"name": "c_3", "id": "3", "runtimeInSeconds": 1, "parents": ["2"]},
    ]
    data = {"name": "old", "schemaVersion": "1.4", "workflow": {"tasks": tasks}}
    workflow = read_workflow(written(tmp_path, data))
    assert workflow.tasks == (
        WorkflowTask("a_1", (), 2.0, 4, 1025),
        WorkflowTask("b_2", ("a_1",), 3.0),
        WorkflowTask("c_3", ("b_2",), 1.0),
    )


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "w.json.gz"
    path.write_bytes(gzip.compress(json.dumps(instance()).encode()))
    assert len(read_workflow(path).tasks) == 3


def _wrong(change: Any) -> dict[str, Any]:
    data = instance()
    change(data["workflow"]["specification"]["tasks"], data["workflow"]["execution"]["tasks"])
    return data


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([], "expected an object with the key workflow"),
        (instance(schemaVersion="1.2"), "schemaVersion: expected WfFormat 1.4, 1.5, 1.6, got '1.2'"),
        (instance(name=""), "name: expected a text"),
        (instance(workflow={"specification": {"tasks": [{"id": "a"}]}}), "workflow.execution: the workflow has no run"),
        (instance(workflow={"specification": {"tasks": []}}), "workflow.specification.tasks: expected a list"),
        (
            _wrong(lambda t, r: t[2].update(parents=["bb"])),
            "tasks[2].parents: task 'c': there is no task 'bb'; did you",
        ),
        (_wrong(lambda t, r: t[0].update(children="c")), "tasks[0].children: task 'a': expected a list of ids"),
        (_wrong(lambda t, r: t[0].update(parents=["c"])), "tasks wait for one another in a circle: "),
        (_wrong(lambda t, r: t[0].update(parents=["a"])), "in a circle: a -> a"),
        (_wrong(lambda t, r: t[1].update(id="a")), "specification.tasks[1]: two tasks are called 'a'"),
        (_wrong(lambda t, r: t[1].pop("id")), "specification.tasks[1].id: expected a text"),
        (_wrong(lambda t, r: r.pop()), "workflow.execution.tasks: task 'c' has no run time"),
        (_wrong(lambda t, r: r[1].pop("runtimeInSeconds")), "runtimeInSeconds: task 'b' has no run time"),
        (_wrong(lambda t, r: r[1].update(runtimeInSeconds=-1)), "runtimeInSeconds: task 'b': expected a number >= 0"),
        (_wrong(lambda t, r: r[1].update(coreCount="two")), "coreCount: task 'b': expected a number >= 1"),
        (_wrong(lambda t, r: r[1].update(id="x")), "execution.tasks[1].id: there is no task 'x'"),
        (_wrong(lambda t, r: r[1].update(id="a")), "execution.tasks[1].id: task 'a' is there twice"),
    ],
)
def test_a_wrong_file_is_named_by_its_place(tmp_path: Path, data: Any, sentence: str) -> None:
    path = written(tmp_path, data)
    with pytest.raises(InputError) as caught:
        read_workflow(path)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("data", [b"{", b"\x1f\x8b\x08broken", b"\xff"])
def test_what_is_no_json(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "w.json"
    path.write_bytes(data)
    with pytest.raises(InputError):
        read_workflow(path)


def test_too_many_parents(tmp_path: Path) -> None:
    names = [f"t{number}" for number in range(1001)]
    tasks = [{"name": each, "id": each, "parents": [], "children": ["end"]} for each in names]
    tasks.append({"name": "end", "id": "end", "parents": [], "children": []})
    runs = [{"id": each, "runtimeInSeconds": 1} for each in (*names, "end")]
    data = instance(workflow={"specification": {"tasks": tasks}, "execution": {"tasks": runs}})
    with pytest.raises(InputError, match=r"task 'end' has 1,001 parents, and a job can wait for 1,000 at most"):
        read_workflow(written(tmp_path, data))


def test_jobs_of_several_workflows() -> None:
    tasks = (WorkflowTask("a:1", (), 10.0, memory=1500), WorkflowTask("a,1", ("a:1",), 4.0, 2))
    workload = workflow_workload([Workflow("x", tasks)] * 2, arrivals=[5, 90], speed=2, walltimes=3)
    found = [(each.time, each.id, each.job.walltime, each.job.extra_data) for each in workload]
    assert found == [
        (5.0, "w0!x.a_1", 15.000001, '{"workflow":"x","cores":1,"memory":"2K"}'),
        (5.0, "w0!x.a_1-2", 6.000001, '{"workflow":"x","cores":2,"dependency":"afterok:x.a_1"}'),
        (90.0, "w0!x-2.a_1", 15.000001, '{"workflow":"x-2","cores":1,"memory":"2K"}'),
        (90.0, "w0!x-2.a_1-2", 6.000001, '{"workflow":"x-2","cores":2,"dependency":"afterok:x-2.a_1"}'),
    ]
    assert [each.time for each in workflow_workload([Workflow("x", tasks)] * 2, every=7)] == [0.0, 0.0, 7.0, 7.0]


@pytest.mark.parametrize("wrong", [{"arrivals": [1.0]}, {"arrivals": [1, -1]}, {"speed": 0}, {"walltimes": 0.5}])
def test_wrong_arguments(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        workflow_workload([Workflow("x", (WorkflowTask("a", (), 1.0),))] * 2, **wrong)


@st.composite
def dags(draw: st.DrawFn) -> Workflow:
    """A random workflow, whose tasks are in any order."""
    count = draw(st.integers(1, 12))
    names = draw(st.permutations([f"t{number}" for number in range(count)]))
    tasks = []
    for number, name in enumerate(names):
        parents = draw(st.sets(st.sampled_from(names[:number]), max_size=4)) if number else set()
        runtime = draw(st.integers(0, 50)) / 2
        tasks.append(WorkflowTask(name, tuple(sorted(parents)), runtime, draw(st.integers(1, 3))))
    return Workflow("random", tuple(draw(st.permutations(tasks))))


@given(dags())
def test_the_critical_path_is_that_of_networkx(workflow: Workflow) -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph()
    lengths = {task.id: task.runtime for task in workflow.tasks}
    for task in workflow.tasks:
        graph.add_edge("begin", task.id, weight=task.runtime)
        for parent in task.parents:
            graph.add_edge(parent, task.id, weight=task.runtime)
    assert workflow.critical_path == pytest.approx(networkx.dag_longest_path_length(graph))
    following = {name: list(graph.successors(name)) for name in lengths}
    ranks = longest_paths(lengths, following)
    assert max(ranks.values()) == pytest.approx(workflow.critical_path)


def jobs_in_time(workflows: list[Workflow], result: Any) -> None:
    """Each job succeeded, and started after its parents had ended."""
    rows = {row.job_id: row for row in result.jobs}
    for workflow in workflows:
        for task in workflow.tasks:
            row = rows[f"{workflow.name}.{task.id}"]
            assert row.success
            for parent in task.parents:
                assert row.starting_time >= rows[f"{workflow.name}.{parent}"].finish_time


@given(dags(), st.sampled_from(["fcfs", "easy", "conservative+sjf"]), st.none() | st.just(1.5))
def test_no_task_starts_before_its_parents_end(workflow: Workflow, policy: str, walltimes: float | None) -> None:
    workload = workflow_workload([workflow], walltimes=walltimes)
    result = simulate(described_platform("n[0-1] cores=3"), workload, named(policy)())
    assert result.is_complete
    jobs_in_time([workflow], result)
    found = workflow_results(result.jobs, workload, cores=6)[workflow.name]
    assert found.stretch is not None
    assert found.efficiency is not None
    assert found.stretch >= 1 - 1e-9
    assert found.efficiency <= 1 + 1e-9
    assert found.critical_path == pytest.approx(workflow.critical_path, abs=1e-3)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_instance_runs_to_its_end(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    workflow = read_workflow(INSTANCES / f"{name}.json")
    tasks, path, work = PUBLISHED[name]
    assert len(workflow.tasks) == tasks
    assert workflow.critical_path == pytest.approx(path)
    assert workflow.work == pytest.approx(work)
    workload = workflow_workload([workflow], walltimes=2)
    result = simulate(described_platform("n0 cores=48"), workload, named("easy")())
    jobs_in_time([workflow], result)
    found = workflow_results(result.jobs, workload, cores=48)[workflow.name]
    assert (found.tasks, found.failed, found.arrival) == (tasks, 0, 0.0)
    assert found.makespan == pytest.approx(path, rel=0.01)  # with as many cores as it needs
    assert found.critical_path == pytest.approx(path)
    assert found.stretch is not None
    assert 1 <= found.stretch < 1.01
    assert found.work == pytest.approx(work)
    assert found.efficiency == pytest.approx(work / (48 * path), rel=0.01)


def test_a_workflow_that_failed_is_not_measured() -> None:
    tasks = (WorkflowTask("a", (), 5.0), WorkflowTask("b", ("a",), 5.0, cores=9))
    workload = workflow_workload([Workflow("x", tasks), Workflow("y", tasks[:1])], every=50)
    result = simulate(described_platform("n0 cores=2"), workload, named("fcfs")())
    found = workflow_results(result.jobs, workload)
    assert found["x"] == WorkflowResult(name="x", tasks=2, failed=1, arrival=0.0)
    assert (found["y"].arrival, found["y"].efficiency) == (50.0, None)
    assert found["y"].makespan == pytest.approx(5.0, abs=0.1)
    with pytest.raises(InputError):
        workflow_results([], workload, cores=0)


def test_the_command(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    files = [str(INSTANCES / f"{name}.json") for name in ("montage", "epigenomics")]
    done = run_here("workload", "workflows", *files, "--every", "60", "--walltimes", "2", "-o", str(target))
    assert done.status == 0, done.err
    assert done.out.splitlines()[:2] == [
        "montage: 58 tasks, critical path 21.385 s, work 221.726 core s",
        "genome-dax-0: 41 tasks, critical path 104.822 s, work 539.307 core s",
    ]
    assert len(read_workload(target)) == 99
    printed = run_here("workload", "workflows", *files)
    assert printed.out.startswith("{")
    assert run_here("workload", "workflows", *files, "-o", "-") == printed
    wrong = run_here("workload", "workflows", str(written(tmp_path, {})))
    assert wrong.status == 1
    assert "expected an object with the key workflow" in wrong.err


def test_the_command_measures_a_run(tmp_path: Path) -> None:
    target, out = tmp_path / "w.json", tmp_path / "out"
    files = [str(INSTANCES / f"{name}.json") for name in ("montage", "epigenomics")]
    run_here("workload", "workflows", *files, "--walltimes", "2", "-o", target)
    assert run_here("simulate", "easy", "--hosts", "n[0-1] cores=4", "-w", target, "-o", out).status == 0
    lines = run_here("workload", "measure", out, "-w", target, "--cores", "8").out.splitlines()
    assert [line.split()[0] for line in lines] == ["workflow", "genome-dax-0", "montage"]
    assert "stretch" in lines[0]
    found = json.loads(run_here("workload", "measure", out / "jobs.csv", "-w", target, "--json").out)
    assert [(each["tasks"], each["failed"], each["efficiency"]) for each in found] == [(41, 0, None), (58, 0, None)]
    other = run_here("workload", "measure", out, "-w", target, "--name", "w1")
    assert other.out.splitlines()[1].split()[2] == "41"
