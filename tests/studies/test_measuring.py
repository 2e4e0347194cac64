"""Measuring is not running: other settings and metrics are computed of what is in the store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from batprotocol.errors import InputError, StudyError
from batprotocol.simulator import EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, load_metric
from batprotocol.studies import Progress, Store, Study, with_metrics
from batprotocol.studies import rows as kept_jobs
from batprotocol.studies import store as stores
from batprotocol.studies.comparing import table

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

LATE = """
from batprotocol.simulator import metric
from limits_of_measuring import LIMIT

@metric(label="late jobs", better="less")
def late(jobs, run):
    "Jobs that waited for too long."
    return sum(job.waiting_time is not None and job.waiting_time > LIMIT for job in jobs)
"""
SWF = "\n".join(
    f"{n} {n * 40} -1 {100 + n % 7} {1 + n % 8} -1 -1 -1 {300} -1 1 {n % 3} 1 -1 -1 -1 -1 -1" for n in range(60)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "limits_of_measuring.py").write_text("LIMIT = 100")
    (tmp_path / "mine.py").write_text(LATE)
    (tmp_path / "log.swf").write_text(SWF)
    return tmp_path


class Last:
    """What a study said last of its progress."""

    progress = Progress(total=0)

    def __call__(self, progress: Progress) -> None:
        self.progress = progress

    @property
    def counts(self) -> tuple[int, int]:
        return self.progress.done + self.progress.failed, self.progress.measured


def run(folder: Path, store: str = "store", **keys: Any) -> tuple[Any, tuple[int, int]]:
    last = Last()
    study = Study(**{"scheduler": ["fcfs", "easy"], "workload": "log.swf", "folder": str(folder), **keys})
    return study.run(folder / store, processes=1, on_progress=last), last.counts


@pytest.mark.parametrize("parquet", [True, False], ids=["parquet", "csv"])
def test_other_measures_run_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch, parquet: bool) -> None:
    if not parquet:
        monkeypatch.setattr(stores, "can_write_parquet", lambda: False)
    plain, counts = run(folder)
    assert counts == (2, 0)
    settings = {"warm_up": 0.25, "cool_down": 0.1, "tau": 60, "wide": 4, "long": 102.0}
    again, counts = run(folder, **settings)
    assert counts == (0, 2)
    assert again[0].metrics != plain[0].metrics
    fresh, counts = run(folder, "other", **settings)
    assert counts == (2, 0)
    assert [row.metrics for row in again] == [row.metrics for row in fresh]
    assert "fairness" in again[0].metrics
    assert {row.tau for row in again} == {60}
    assert [row.metrics for row in run(folder)[0]] == [row.metrics for row in plain]
    assert run(folder)[1] == run(folder, **settings)[1] == (0, 0)
    with Store(folder / "store") as store:
        assert [row.metrics for row in store.rows()] == [row.metrics for row in again]  # as it was wanted last
        assert len(store.rows(all=True)) == 4


def test_energy_is_measured_again_in_its_window(folder: Path) -> None:
    keys = {"workload": str(EXAMPLE_WORKLOAD), "platform": str(EXAMPLE_PLATFORM), "energy": True, "scheduler": "easy"}
    (whole,), _ = run(folder, **keys)
    (part,), counts = run(folder, warm_up=0.5, **keys)
    assert counts == (0, 1)
    (fresh,), _ = run(folder, "other", warm_up=0.5, **keys)
    assert part.metrics == fresh.metrics
    assert 0 < part.metrics["consumed_joules"] < whole.metrics["consumed_joules"]
    assert part.metrics["makespan"] == whole.metrics["makespan"] > part.metrics["measured_time"]


def test_a_warm_up_is_an_axis_of_one_simulation(folder: Path) -> None:
    rows, counts = run(folder, warm_up=[0, 0.2, 0.4])
    assert counts == (2, 0)
    assert len(rows) == 6
    assert len({row.key for row in rows}) == 2
    assert len({row.metrics["measured_time"] for row in rows if row.axes["scheduler"] == "easy"}) == 3


def test_metrics_of_ones_own(folder: Path) -> None:
    run(folder)
    rows, counts = run(folder, metrics=["mine.py:late"])
    assert counts == (0, 2)
    late = [float(sum((job.waiting_time or 0) > 100 for job in row.jobs())) for row in rows]
    assert [row.metrics["late"] for row in rows] == late
    assert any(late)
    found = table(rows, metric="late")
    assert found.metrics[0].label_with_unit == "late jobs"
    with Store(folder / "store") as store:  # which knows what it is without the file
        os.remove(folder / "mine.py")
        assert table(store.rows(), metric="late").metrics[0].better == "less"


def test_a_metric_that_has_changed_is_computed_anew(folder: Path) -> None:
    first, _ = run(folder, metrics="mine.py:late")
    (folder / "limits_of_measuring.py").write_text("LIMIT = 1_000_000_000")
    second, counts = run(folder, metrics="mine.py:late")
    assert counts == (0, 2)
    assert [row.metrics["late"] for row in second] == [0, 0] != [row.metrics["late"] for row in first]


def test_a_study_is_measured_when_its_rows_are_read(folder: Path) -> None:
    run(folder)
    study = Study(scheduler=["fcfs", "easy"], workload="log.swf", folder=str(folder), warm_up=0.5)
    first, second = study.rows(folder / "store"), study.rows(folder / "store")
    assert [row.metrics for row in first] == [row.metrics for row in second]
    assert "mean_waiting_time" in first[0].metrics
    assert first[0].metrics["nb_jobs"] < 60


def test_rows_take_metrics_of_ones_own(folder: Path) -> None:
    rows, _ = run(folder, warm_up=0.5)
    late = load_metric("mine.py:late", str(folder))
    found = with_metrics(rows, [late])
    assert all(row.metrics["late"] <= row.metrics["nb_jobs"] for row in found)
    assert {**found[0].metrics, "late": 0} == {**rows[0].metrics, "late": 0}
    assert table(found, metric=late).metrics[0].label == "late jobs"


def test_wrong_metrics_are_refused(folder: Path) -> None:
    (folder / "wrong.py").write_text("def breaks(jobs):\n    raise ValueError('no')\n")
    for given, message in (
        ("none.py:late", r"metrics: there is no file .none.py. with the metric .late."),
        (["mine.py:soon"], r"metrics: .*soon"),
        (["mine.py:late", "mine.py:late"], r"metrics\[1\]: 'late' is named twice"),
        (3, "metrics: expected FILE.py:FUNCTION"),
    ):
        with pytest.raises(StudyError, match=message):
            Study(scheduler="easy", workload="log.swf", folder=str(folder), metrics=given)
    (row, _), _ = run(folder, "other", metrics="wrong.py:breaks")
    assert (row.state, row.kind) == ("failed", "input")
    assert "the metric 'breaks' failed: ValueError: no" in row.error
    rows, _ = run(folder)
    with pytest.raises(StudyError, match="the metric 'breaks' failed: ValueError: no"):
        run(folder, metrics="wrong.py:breaks")
    with pytest.raises(InputError, match="the metric 'breaks' failed"):
        with_metrics(rows, [load_metric("wrong.py:breaks", str(folder))])


def test_users_are_kept(folder: Path) -> None:
    rows, _ = run(folder)
    users = kept_jobs.users_in(rows[0].folder)
    assert users == {f"w0!{n}": n % 3 for n in range(60)}


def test_logs_without_requested_times_are_reported_at_once(folder: Path) -> None:
    lines = [line.split() for line in SWF.splitlines()]
    for words in lines:
        words[8] = "-1"
    (folder / "bare.swf").write_text("\n".join(" ".join(words) for words in lines))
    for keys, said in (
        ({}, True),
        ({"estimates": "exact"}, False),
        ({"estimate_factor": 2.0}, False),
        ({"runtime_limits": True}, False),
    ):
        last = Last()
        study = Study(scheduler="easy", workload="bare.swf", folder=str(folder), **keys)
        study.run(folder / f"store {sorted(keys)}", processes=1, on_progress=last)
        assert any("60 of 60 jobs" in note for note in last.progress.notes) is said
