"""Workloads of other simulators: their rigid jobs are read, and the others are counted by reason."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from commands import run_here
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from batprotocol.errors import InputError
from batprotocol.sites.logs import LeftOut, LoggedJob
from batprotocol.sites.logs.formats import format_of, read_log
from batprotocol.sites.logs.managers.elastisim import NotKnown, read_elastisim, runtime_of, value_of
from batprotocol.sites.logs.workloads import logged_workload

WITHOUT_ENGINE = True

WAIT = {"type": "busy_wait", "delay": "steps*2", "pattern": "uniform"}
MODEL = {
    "on_init": {"tasks": [{"type": "idle", "delay": 5}]},
    "phases": [
        {
            "iterations": "rounds",
            "tasks": [WAIT, {"type": "sequence", "iterations": 2, "tasks": [{**WAIT, "delay": 1.5}]}],
        },
        {"tasks": [{"type": "idle", "iterations": "8/num_nodes", "delay": "num_gpus"}]},
    ],
}
JOB: dict[str, Any] = {
    "type": "rigid",
    "submit_time": 7,
    "num_nodes": 4,
    "application_model": "models/wait.json",
    "arguments": {"rounds": 3, "steps": "2.5", "label": "x y"},
}


def written(folder: Path, jobs: list[Any]) -> Path:
    (folder / "models").mkdir(exist_ok=True)
    (folder / "models" / "wait.json").write_text(json.dumps(MODEL))
    path = folder / "jobs.json"
    path.write_text(json.dumps({"jobs": jobs}))
    return path


def read(path: Path) -> tuple[list[LoggedJob], dict[str, int]]:
    left_out = LeftOut()
    found = list(read_elastisim(path, left_out))
    return found, {reason.reason: reason.count for reason in left_out}


def test_rigid_jobs_of_elastisim(tmp_path: Path) -> None:
    same = {"type": "moldable", "num_nodes_min": 2, "num_nodes_max": 2, "num_gpus_per_node_min": 3}
    other = {key: value for key, value in JOB.items() if key != "num_nodes"}
    jobs = [
        {**JOB, "walltime": 60, "attributes": {"user": "ada", "priority": 9, "odd": [1]}},
        {**other, **same, "num_gpus_per_node_max": 3},
        {**JOB, "walltime": -1, "application_model": {"phases": [{"tasks": [{"type": "idle", "delay": 9}]}]}},
    ]
    (first, second, third), reasons = read(written(tmp_path, jobs))
    # 5 + 3 x (2 x 2.5 + 2 x 1.5) + 2 x 0
    assert (first.first.submitted, first.first.started, first.first.ended) == (7.0, 7.0, 7.0 + 5 + 3 * 8)
    assert (first.id, first.host_count, first.walltime, first.user, first.priority, first.line) == (
        "0",
        4,
        60.0,
        "ada",
        9,
        1,
    )
    # 5 + 3 x 8 + 4 x 6
    assert (second.id, second.host_count, second.gres, second.first.ended) == ("1", 2, (("gpu", 6),), 7.0 + 29 + 24)
    assert (third.first.ended, third.walltime) == (16.0, None)
    assert reasons == {"its walltime cannot be read": 1}


def test_jobs_without_a_known_run_time_are_counted(tmp_path: Path) -> None:
    def of(*tasks: Any, **more: Any) -> dict[str, Any]:
        return {**JOB, "application_model": {"phases": [{"tasks": list(tasks)}]}, **more}

    jobs: dict[str, list[Any]] = {
        "its application computes, communicates or reads files: its run time depends on the platform": [
            of({"type": "cpu", "flops": 1e9}),
            of({"type": "pfs_write", "bytes": 5}),
        ],
        "a formula of its application model cannot be computed": [
            of({"type": "idle", "delay": "unknown*2"}),
            of({"type": "idle", "delay": "1/0"}),
            of({"type": "idle", "delay": "__import__('os')"}),
        ],
        "its application has delays that differ between hosts": [
            of({"type": "idle", "delay": [1, 2], "pattern": "vector"})
        ],
        "its application model cannot be read": [
            of("task"),
            of({"type": "idle", "delay": None}),
            {**JOB, "application_model": 5},
        ],
        "its application model is not found: put its file beside the workload, or into a folder above it": [
            {**JOB, "application_model": "none.json"}
        ],
        "the number of its hosts is not fixed": [{**JOB, "type": "malleable", "num_nodes_min": 1, "num_nodes_max": 2}],
        "it lacks the hosts or the submission of a job of ElastiSim": [
            {**JOB, "num_nodes": 0},
            {**JOB, "submit_time": "x"},
            {"type": "rigid"},
        ],
    }
    found, reasons = read(written(tmp_path, [each for part in jobs.values() for each in part]))
    assert found == []
    assert reasons == {reason: len(part) for reason, part in jobs.items()}


def test_what_is_no_object_does_not_end_the_jobs(tmp_path: Path) -> None:
    found, reasons = read(written(tmp_path, [JOB, None, JOB, [{"a": ["]"]}], 'a "text", [', -1.5e9, JOB]))
    assert [job.line for job in found] == [1, 3, 7]
    assert reasons == {"it lacks the hosts or the submission of a job of ElastiSim": 4}


def test_a_file_that_ends_is_read_so_far(tmp_path: Path) -> None:
    path = written(tmp_path, [JOB, JOB])
    path.write_text(path.read_text()[:-30])
    found, reasons = read(path)
    assert (len(found), reasons) == (1, {"the file ends, or is damaged, within the jobs": 1})
    path.write_text('{"tasks": []}')
    with pytest.raises(InputError, match='an array "jobs"'):
        read(path)


@settings(max_examples=60)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=9)
        | st.sampled_from(["idle", "2^999999"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["phases", "tasks", "type", "delay", "iterations", "on_init"]), inner, max_size=4
            )
        ),
        max_leaves=12,
    )
)
def test_any_model_has_a_run_time_or_a_reason(model: Any) -> None:
    with suppress(NotKnown):
        assert math.isfinite(runtime_of(model, {"x": 2.0}, 3, 1))


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("1+2*3", 7),
        ("-(2^3)^2", -64),
        ("a/b", 2.5),
        ("max(a, b, 7) % 4", 3),
        ("floor(a/b)+sqrt(16)", 6),
        (" 2e3 ", 2000),
    ],
)
def test_formulas(formula: str, value: float) -> None:
    assert value_of(formula, {"a": 5, "b": 2}) == value


@pytest.mark.parametrize(
    "formula",
    ["", "c", "a.b", "a[0]", "lambda: 1", "10^400", "log(0)", "max()", "'x'", "True", "1;2", "(" * 900, "1" * 1001],
)
def test_formulas_that_are_refused(formula: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        value_of(formula, {"a": 5})


def test_tasks_of_opendc(tmp_path: Path) -> None:
    path = tmp_path / "tasks.parquet"
    columns = {
        "id": ["1", "2"],
        "submission_time": pyarrow.array([1_000, 61_500], pyarrow.int64()),
        "duration": pyarrow.array([60_000, 1_500], pyarrow.int64()),
        "cpu_count": pyarrow.array([4, 1], pyarrow.int32()),
        "cpu_capacity": [11_000.0, 2_500.0],
        "mem_capacity": pyarrow.array([2_000, 0], pyarrow.int64()),
    }
    parquet.write_table(pyarrow.table(columns), path)
    assert format_of(path) == "opendc"
    with read_log(path) as log:
        first, second = log
    assert (first.id, first.cores, first.memory, first.first.started, first.first.ended) == (
        "1",
        4,
        2 * 10**9,
        1.0,
        61.0,
    )
    assert (second.first.submitted, second.first.ended, second.first.is_planned) == (61.5, 63.0, True)
    times = pyarrow.array([1_000_000, 61_500_000], pyarrow.timestamp("us"))
    parquet.write_table(pyarrow.table({**columns, "submission_time": times}), path)
    with read_log(path) as log:
        assert [job.first for job in log] == [first.first, second.first]


def test_planned_jobs_have_no_recorded_start(tmp_path: Path) -> None:
    path = written(tmp_path, [JOB, {**JOB, "submit_time": 9}])
    assert format_of(path) == "elastisim"
    with read_log(path) as log:
        made = logged_workload(list(log))
    assert [(each.time, each.job.resource_request, each.job.extra_data) for each in made] == [
        (0.0, 4, "{}"),
        (2.0, 4, "{}"),
    ]
    done = run_here("import", path, "-o", tmp_path / "w.json", "--check", "--policies", "fcfs")
    assert done.status == 0
    assert "0 of 0 jobs start as in the log" in done.out
    table = tmp_path / "log.csv"
    assert run_here("import", path, "-o", table).status == 0
    with read_log(table) as log:
        assert all(job.first.is_planned for job in log)
