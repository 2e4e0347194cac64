"""A small store of runs of a fixed study, made in this process: what is kept, and what is read again."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hypothesis
import msgspec
import pytest
from hypothesis import strategies as st

from batprotocol.errors import StudyError
from batprotocol.model import FinalJobState
from batprotocol.simulator import JobRow
from batprotocol.studies import Progress, Row, Rows, Store, Study
from batprotocol.studies import store as stores
from batprotocol.studies._measurement import measure_again, with_metrics
from batprotocol.studies._simulation import _in_time, execute
from batprotocol.studies.rows import as_parquet, jobs_in, rounded, users_in
from batprotocol.studies.runs import Measure, Outcome, OwnMetricFile, Run, RunLimits, Task, TimeOver
from batprotocol.studies.sources import digest_of_program, own_metrics, traces_of
from batprotocol.studies.store import Index, Wanted

WITHOUT_ENGINE = True

FAILING = """
from batprotocol.policies import FCFS, Policy

class Raises(Policy):
    def __init__(self, how=""):
        super().__init__(FCFS())
        self.how = how
        if how == "at once":
            raise ValueError("no such weather")

    def decide(self):
        print("deciding")
        if self.how == "late":
            raise KeyError("soon")
        if self.how == "loop":
            while True:
                pass

class Idle(Policy):
    def decide(self):
        pass
"""
LIMITS = RunLimits(30.0)
LATE = """
from batprotocol.simulator import metric

@metric(label="late jobs", better="less")
def late(jobs):
    return sum(job.waiting_time > 0 for job in jobs)
"""


def executed(folder: Path, run: Run, files: Mapping[str, Any], limits: RunLimits = LIMITS) -> Outcome:
    """A run, in this process."""
    scratch = folder / "place" / f"run{len(os.listdir(folder))}{run.key[:6]}"
    scratch.mkdir(parents=True)
    return execute((run.task, limits, (run.measure,)), files, str(scratch))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Run]]:
    """The folder of a store of four runs, and the runs."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "mine.py").write_text(LATE)
    study = Study(
        scheduler=["fcfs", "easy"],
        workload="lublin:16?jobs=30",
        seed="2-3",
        offered_load=0.9,
        tau=20.0,
        metrics="mine.py:late",
        folder=folder,
    )
    runs, files = study._description.runs()
    with Store(folder / "store", writes=True) as store:
        store.want(runs)
        store.add([(run, executed(folder, run, files)) for run in runs], {runs[0].measure.key: runs[0].measure})
    return folder, runs


def test_what_runs_came_to(small: tuple[Path, list[Run]]) -> None:
    folder, runs = small
    with Store(folder / "store") as store:
        rows = store.rows()
    assert [row.axes["scheduler"] for row in rows] == ["fcfs", "easy"] * 2
    assert [row.axes["seed"] for row in rows] == [2, 2, 3, 3]
    assert [(row.state, row.kind, row.error, row.hosts, row.is_model, row.drawn) for row in rows] == [
        ("done", "", "", 16, True, ("workload",))
    ] * 4
    assert [row.key for row in rows] == [run.key for run in runs]
    kept = {
        name: [round(row.metrics[name], 3) for row in rows]
        for name in ("makespan", "mean_waiting_time", "mean_bounded_slowdown", "utilisation", "offered_load", "late")
    }
    assert kept == KEPT
    assert {row.tau for row in rows} == {20.0}
    assert [(each.name, each.label, each.better) for each in rows[0].own_metrics] == [("late", "late jobs", "less")]
    assert all(row.seconds > 0 for row in rows)


KEPT = {
    "makespan": [62058.0, 65534.0, 40954.0, 30803.0],
    "mean_waiting_time": [7941.433, 2503.233, 11520.867, 3705.7],
    "mean_bounded_slowdown": [252.182, 70.49, 205.195, 39.178],
    "utilisation": [0.233, 0.221, 0.182, 0.242],
    "offered_load": [0.9] * 4,
    "late": [25.0, 7.0, 26.0, 9.0],
}


def test_the_files_of_a_run(small: tuple[Path, list[Run]]) -> None:
    folder, runs = small
    with Store(folder / "store") as store:
        row = store.rows()[0]
        assert store.has(row.key)
        assert not store.has("0" * 32)
    assert row.folder == str(folder / "store" / "runs" / row.key[:2] / row.key)
    found = json.loads(Path(row.folder, "run.json").read_text())
    assert {key: found[key] for key in ("format", "key", "state", "kind", "error", "axes", "facts")} == {
        "format": 2,
        "key": row.key,
        "state": "done",
        "kind": "",
        "error": "",
        "axes": dict(row.axes),
        "facts": {"drawn": ["workload"], "model": True, "hosts": 16},
    }
    whole = json.loads(msgspec.json.encode(runs[0].task))
    assert found["task"] == {
        name: value for name, value in whole.items() if "failures" not in name and name != "watts"
    }, "it has none"
    ((measure),) = found["measured"]
    assert (measure["measure"], measure["metrics"]) == (runs[0].measure.key, dict(row.metrics))
    assert measure["how"]["settings"] == {"tau": 20.0}
    names = set(os.listdir(row.folder))
    assert {"run.json", "jobs.parquet", "schedule.json"} <= names
    assert not {"jobs.csv", "real_exec_info.json", "recording.tar.xz", "traceback.txt", "printed.txt"} & names
    jobs = list(row.jobs())
    assert len(jobs) == 30
    assert sum((job.waiting_time or 0) > 0 for job in jobs) == row.metrics["late"]


def test_the_same_run_is_the_same_bytes(small: tuple[Path, list[Run]], tmp_path: Path) -> None:
    folder, runs = small
    _, files = Study(scheduler="fcfs", metrics="mine.py:late", folder=folder)._description.runs()
    one = executed(tmp_path, runs[0], files)
    other = executed(tmp_path, runs[0], files)
    assert (one.files, one.measured, one.hosts) == (other.files, other.measured, other.hosts)


def test_an_index_is_made_anew(small: tuple[Path, list[Run]], tmp_path: Path) -> None:
    folder, runs = small
    with Store(folder / "store") as store, Store(tmp_path / "other", writes=True) as other:
        before = {row.key: row.metrics for row in store.rows(all=True)}
        assert (other.merge(store), other.merge(store)) == (4, 0)
        assert [row.key for row in other.rows()] == [row.key for row in store.rows()]
    (tmp_path / "other" / "index.sqlite").unlink()
    with Store(tmp_path / "other", writes=True) as other:
        assert {row.key: row.metrics for row in other.rows(all=True)} == before
        assert len(other.rows()) == 0  # what studies want is known to the index alone
        assert [row.axes["scheduler"] for row in other.rows_of(runs[1:])] == ["easy", "fcfs", "easy"]
        assert other.measured() == {(run.key, run.measure.key) for run in runs}


def test_runs_are_measured_again(small: tuple[Path, list[Run]], tmp_path: Path) -> None:
    folder, runs = small
    with Store(folder / "store") as store:
        row = store.rows()[0]
    (tmp_path / "scratch").mkdir()
    again = Measure({"tau": 20.0})
    found = measure_again((row.folder, 16, (again,)), {}, str(tmp_path / "scratch"))
    assert isinstance(found, dict)
    assert found[again.key] == pytest.approx({name: value for name, value in row.metrics.items() if name != "late"})
    (tmp_path / "jobs.csv").write_text("rubbish\n")
    said = measure_again((str(tmp_path), 16, (again,)), {}, str(tmp_path / "scratch"))
    assert isinstance(said, str)
    (tmp_path / "jobs.csv").unlink()
    assert measure_again((str(tmp_path), 16, (again,)), {}, str(tmp_path / "scratch")) == "the run has no jobs"
    from batprotocol.simulator import load_metric

    more = with_metrics(Rows([row]), [load_metric("mine.py:late", str(folder))])[0]
    assert more.metrics["late"] == row.metrics["late"]
    assert with_metrics(Rows([row]), [])[0] is row
    assert [each.name for each in more.own_metrics] == ["late", "late"]
    assert runs[0].measure.own == row.measure.own


def test_a_study_runs_what_is_missing(small: tuple[Path, list[Run]], tmp_path: Path) -> None:
    folder, runs = small
    study = Study(
        scheduler=["fcfs", "easy"],
        workload="lublin:16?jobs=30",
        seed="1-2",
        offered_load=0.9,
        tau=20.0,
        metrics="mine.py:late",
        folder=folder,
    )
    seen: list[tuple[int, int, int, int, int]] = []
    with Store(folder / "store") as store, Store(tmp_path / "copy", writes=True) as copy:
        copy.merge(store)

    def note(at: Progress) -> None:
        seen.append((at.total, at.completed, at.done, at.failed, at.measured))

    rows = study.run(tmp_path / "copy", processes=1, on_progress=note)
    assert (seen[0], seen[-1]) == ((4, 2, 0, 0, 0), (4, 2, 2, 0, 0))
    assert [(row.axes["seed"], row.axes["scheduler"], row.state) for row in rows] == [
        (seed, name, "done") for seed in (1, 2) for name in ("fcfs", "easy")
    ]
    assert [row.key for row in rows[2:]] == [run.key for run in runs[:2]]
    assert list(study.run(tmp_path / "copy", on_progress=note)) == list(rows)
    assert seen[-1] == (4, 4, 0, 0, 0)
    assert [row.key for row in study.rows(tmp_path / "copy")] == [row.key for row in rows]


# Failures


@pytest.mark.parametrize(
    ("target", "arguments", "kind", "error"),
    [
        ("own.py:Raises", {"how": "late"}, "exception", "KeyError: 'soon'"),
        (
            "own.py:Raises",
            {"how": "at once"},
            "scheduler",
            "the scheduler own.py:Raises cannot be loaded: ValueError: no",
        ),
        ("own.py:Nobody", {}, "scheduler", "the scheduler own.py:Nobody cannot be loaded: "),
        ("own.py:Idle", {}, "deadlock", "message 15: deadlock: nothing can happen any more, and 5 jobs"),
        ("own.py:Raises", {"how": "loop"}, "time", "it took more than 0.5 s: raise `timeout`"),
    ],
)
def test_failures(target: str, arguments: dict[str, Any], kind: str, error: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(FAILING)
    scheduler = {"scheduler": target, "arguments": arguments}
    study = Study(scheduler=scheduler, workload="lublin:16?jobs=5", folder=tmp_path)
    runs, files = study._description.runs()
    outcome = executed(tmp_path, runs[0], files, RunLimits(0.5 if kind == "time" else 30.0))
    assert (outcome.state, outcome.kind) == ("failed", kind)
    assert outcome.error.startswith(error)
    assert bool(outcome.traceback) is True
    assert ("recording.tar.xz" in outcome.files) is (kind in ("exception", "time", "deadlock"))
    assert outcome.measured == {}


def test_a_workload_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text("1 2 three\n")
    study = Study(scheduler="fcfs", workload="log.swf", folder=tmp_path)
    runs, files = study._description.runs()
    outcome = executed(tmp_path, runs[0], files)
    assert (outcome.kind, outcome.files) == ("input", {})
    assert "log.swf:1" in outcome.error


def test_a_failed_run_is_replaced_and_another_one_stays(tmp_path: Path) -> None:
    run = Run.of({"scheduler": "a"}, Task(scheduler="a", workload="w"))
    measure = {run.measure.key: run.measure}

    def outcome(value: float) -> Outcome:
        return Outcome(
            state="done", measured={run.measure.key: {"makespan": value}}, files={"jobs.csv": b"job_id\n1\n"}
        )

    with Store(tmp_path / "s", writes=True) as store:
        store.want([run])
        store.add([(run, Outcome(state="failed", kind="died", error="it died", traceback="trace"))], {})
        (row,) = store.rows()
        assert (row.state, row.kind, row.error, row.traceback, row.recording) == (
            "failed",
            "died",
            "it died",
            "trace",
            None,
        )
        assert (row.hosts, row.is_model, row.drawn, row.metrics) == (0, False, (), {})
        assert store.states() == {run.key: "failed"}
        for value in (1.0, 2.0):
            store.add([(run, outcome(value))], measure)
            (row,) = store.rows()
            assert (row.state, row.metrics, row.traceback) == ("done", {"makespan": 1.0}, "")
        assert len(store.rows().failed) == 0
    with pytest.raises(StudyError, match="there is no such store"):
        Store(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="it is not a folder"):
        Store(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StudyError, match=r"it is not a store of runs: there is no index.sqlite in it"):
        Store(tmp_path / "empty")
    Store(tmp_path / "empty", writes=True).close()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "photo.png").write_text("")
    with pytest.raises(StudyError, match="it is not a store of runs"):
        Store(tmp_path / "full", writes=True)


def test_two_programs_see_one_another(tmp_path: Path) -> None:
    with Store(tmp_path / "s", writes=True) as one:
        assert one.others == 0
        with Store(tmp_path / "s", writes=True) as other:
            assert (one.others, other.others) == (0, 1)
            assert len(os.listdir(tmp_path / "s" / "unfinished")) == 2
    assert os.listdir(tmp_path / "s" / "unfinished") == []


# The index


def test_the_index(tmp_path: Path) -> None:
    index = Index(str(tmp_path), writes=True)
    index.want([({"a": 1}, "k1", "m"), ({"a": 2}, "k2", "m")])
    index.want([({"a": 3}, "k1", "n")])  # a run is wanted once
    assert index.wanted() == [Wanted('{"a": 3}', "k1", "n", 0), Wanted('{"a": 2}', "k2", "m", 1)]
    index.add_wanted([Wanted('{"a": 3}', "other", "m", 5), Wanted('{"a": 4}', "k4", "m", 7)])
    assert [(each.key, each.place) for each in index.wanted()] == [("k1", 0), ("k2", 1), ("k4", 7)]
    index.add_measured([("k1", "m", {"x": 1.0}), ("k2", "m", {"x": 2.0})], {"m": {"tau": 3}})
    assert index.measured(["k2"]) == {("k2", "m"): {"x": 2.0}}
    assert len(index.measured()) == 2
    assert index.measures() == {"m": {"tau": 3}}
    index.drop(["k1"])
    assert set(index.measured()) == {("k2", "m")}
    index.close()
    database = sqlite3.connect(tmp_path / "index.sqlite")
    assert database.execute("PRAGMA application_id").fetchone() == (0x62617473,)
    assert database.execute("PRAGMA user_version").fetchone() == (2,)
    database.execute("PRAGMA user_version=3")
    database.commit()
    with pytest.raises(StudyError, match="a newer batprotocol has made it: its format is 3, and this version reads 2;"):
        Index(str(tmp_path), writes=True)
    database.execute("PRAGMA application_id=7")
    database.commit()
    database.close()
    with pytest.raises(StudyError, match="it is not an index of runs: use another folder as the store"):
        Index(str(tmp_path), writes=False)


def test_a_damaged_index(tmp_path: Path) -> None:
    (tmp_path / "index.sqlite").write_bytes(b"rubbish" * 1000)
    with pytest.raises(StudyError, match="; run a study with this store: that makes the index anew"):
        Index(str(tmp_path), writes=False)
    index = Index(str(tmp_path), writes=True)
    assert index.keys() == {}
    index.close()


# Jobs


def job(**fields: Any) -> JobRow:
    usual: dict[str, Any] = {
        "job_id": "1",
        "workload_name": "w0",
        "profile": "w0!p",
        "submission_time": 1.23456789,
        "requested_number_of_resources": 2,
        "requested_time": None,
        "final_state": FinalJobState.COMPLETED_SUCCESSFULLY,
        "starting_time": 2.0000004,
        "execution_time": 1.0000006,
        "allocated_resources": "0-1",
    }
    return JobRow(**{**usual, **fields})


def test_jobs_have_six_decimals() -> None:
    (one, other) = rounded([job(), job(starting_time=None, execution_time=None, requested_time=3.14159265)])
    assert (one.submission_time, one.starting_time, one.execution_time) == (1.234568, 2.0, 1.000001)
    assert (one.requested_time, one.consumed_energy, one.job_id, one.allocated_resources) == (None, None, "1", "0-1")
    assert (other.requested_time, other.starting_time, other.execution_time) == (3.141593, None, None)


CSV = (
    b"job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_state,"
    b"starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,"
    b"consumed_energy,metadata\n"
    b'a,w0,p,0.5,2,-1,1,COMPLETED_SUCCESSFULLY,1,4,5,0.5,4.5,1.125,0-1,7.25,""\n'
    b'b,w0,p,1.5,2,60,0,REJECTED,,,,,,,,,""\n'
)


def test_jobs_as_parquet(tmp_path: Path) -> None:
    (tmp_path / "jobs.parquet").write_bytes(as_parquet(CSV, b'{"w0!a": "ann"}'))
    one, other = jobs_in(str(tmp_path))
    assert (one.job_id, one.submission_time, one.requested_time, one.starting_time, one.execution_time) == (
        *("a", 0.5, None, 1.0, 4.0),
    )
    assert (one.consumed_energy, one.allocated_resources, one.final_state.name) == (
        7.25,
        "0-1",
        "COMPLETED_SUCCESSFULLY",
    )
    assert (other.requested_time, other.starting_time, other.execution_time) == (60.0, None, None)
    assert other.final_state is FinalJobState.REJECTED
    assert users_in(str(tmp_path)) == {"w0!a": "ann"}
    (tmp_path / "plain").mkdir()
    assert users_in(str(tmp_path / "plain")) is None
    (tmp_path / "plain" / "jobs.csv").write_bytes(CSV)
    (tmp_path / "plain" / "users.json").write_text('{"w0!b": 3}')
    assert users_in(str(tmp_path / "plain")) == {"w0!b": 3}
    assert list(jobs_in(str(tmp_path / "plain"))) == [one, other]
    (tmp_path / "nobody").mkdir()
    (tmp_path / "nobody" / "jobs.parquet").write_bytes(as_parquet(CSV))
    assert users_in(str(tmp_path / "nobody")) is None
    (tmp_path / "empty").mkdir()
    with pytest.raises(StudyError, match="the run has no jobs"):
        jobs_in(str(tmp_path / "empty"))


# Rows


def row(number: int, **fields: Any) -> Row:
    axes = {"scheduler": "ab"[number % 2], "seed": number}
    return Row(**{"key": str(number), "axes": axes, "state": "done", "metrics": {"makespan": float(number)}, **fields})


def test_rows() -> None:
    rows = Rows([row(0), row(1), row(2, state="failed", metrics={})])
    assert repr(rows) == "<3 runs, 1 of them failed>"
    assert repr(rows.done) == "<2 runs>"
    assert rows.axes == {"scheduler": ("a", "b"), "seed": (0, 1, 2)}
    assert [each.key for each in rows.where(scheduler="a")] == ["0", "2"]
    assert [each.key for each in rows.where(scheduler="a", seed=2)] == [each.key for each in rows.failed] == ["2"]
    assert rows.columns() == {
        "scheduler": ["a", "b", "a"],
        "seed": [0, 1, 2],
        "state": ["done", "done", "failed"],
        "makespan": [0.0, 1.0, None],
    }
    assert [each.key for each in rows[1:]] == ["1", "2"]
    changed = rows.measured_as({("1", Measure().key): {"makespan": 9.0}})
    assert [dict(each.metrics) for each in changed] == [{"makespan": 0.0}, {"makespan": 9.0}, {}]
    text = rows._repr_html_()
    assert text.count("<tr>") == 4
    assert '<td style="text-align: left">failed</td><td style="text-align: right"></td></tr>' in text
    many = Rows([row(number) for number in range(23)])._repr_html_()
    assert (many.count("<tr>"), "3 more</caption>" in many) == (21, True)
    assert "more" not in Rows([row(number) for number in range(20)])._repr_html_()


# Other things that a run needs


def test_metrics_of_files(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(LATE)
    (own,), (files,) = own_metrics("mine.py:late", str(tmp_path))
    assert own == OwnMetricFile("mine.py:late", files.digest, "late", "late jobs", own.definition, "", "less")
    assert files.names == ("mine.py",)
    assert own_metrics([], str(tmp_path)) == ((), [])
    for given, message in (
        (7, "metrics: expected FILE.py:FUNCTION, or a metric that a file defines, got 7"),
        (
            ["mine.py:late", "mine.py"],
            "metrics[1]: expected FILE.py:FUNCTION, or a metric that a file defines, got 'mine.",
        ),
        (["mine.py:late", "mine.py:late"], "metrics[1]: 'late' is named twice: remove one of them"),
    ):
        with pytest.raises(StudyError) as refused:
            own_metrics(given, str(tmp_path))
        assert str(refused.value).startswith(message)


def test_traces(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text('{"nb_res": 1, "jobs": [], "profiles": {}}')
    assert traces_of(str(tmp_path / "w.json")) == []


def test_programs() -> None:
    assert digest_of_program(()) == ""
    assert digest_of_program(["sh", "-c"]) == digest_of_program(["sh"])
    assert len(digest_of_program(["sh"])) == 64
    with pytest.raises(StudyError, match=r"^batsim: there is no program 'batsim-that-is-nowhere'$"):
        digest_of_program(["batsim-that-is-nowhere"])


def test_time_is_over_in_the_main_thread_only() -> None:
    def wait() -> None:
        with _in_time(0.01):
            threading.Event().wait(0.05)
        seen.append("ended")

    seen: list[str] = []
    with pytest.raises(TimeOver):
        wait()
    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    assert seen == ["ended"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@hypothesis.given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_runs_are_described_in_json_as_python_indents_it(value: dict[str, Any]) -> None:
    expected = json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace")
    assert stores._indented(value) == expected
