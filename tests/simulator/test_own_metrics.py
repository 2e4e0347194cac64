"""Metrics of one's own: of functions, of files, in parts of a run, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from batprotocol.errors import InputError
from batprotocol.policies import Policy
from batprotocol.simulator import (
    EXAMPLE_PLATFORM,
    EXAMPLE_WORKLOAD,
    MeasuredRun,
    load_metric,
    measured,
    metric,
    metric_named,
    simulate,
)

WITHOUT_ENGINE = True

LATE = """
from batprotocol.simulator import metric
import beside

@metric(label="late jobs", unit="jobs", better="less")
def late(jobs):
    "Jobs that waited for more than an hour."
    return sum(job.waiting_time is not None and job.waiting_time > beside.HOUR for job in jobs)

def hosts(jobs, run):
    return run.hosts

NUMBER = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "beside.py").write_text("HOUR = 3600")
    (tmp_path / "mine.py").write_text(LATE)
    return tmp_path / "mine.py"


def test_a_file_has_metrics(file: Path) -> None:
    late = load_metric("mine.py:late", str(file.parent))
    assert (late.name, late.label_with_unit, late.better) == ("late", "late jobs [jobs]", "less")
    assert late.definition == "Jobs that waited for more than an hour"
    assert late.target == f"{file}:late"
    assert metric_named(f"{file}:late") == late
    hosts = load_metric(f"{file}:hosts")
    result = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, Policy())
    found = result.metrics(own=[late, hosts]).flat()
    assert found["late"] == sum((job.waiting_time or 0) > 3600 for job in result.jobs) > 0
    assert found["hosts"] == result.host_count


def test_a_file_that_has_changed_is_loaded_again(file: Path) -> None:
    assert load_metric(f"{file}:late").label == "late jobs"
    file.write_text(LATE.replace("late jobs", "tardy jobs"))
    assert load_metric(f"{file}:late").label == "tardy jobs"


def test_functions_see_what_is_measured() -> None:
    result = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, Policy())
    seen: list[MeasuredRun] = []

    def count(jobs: object, run: MeasuredRun) -> float:
        seen.append(run)
        return len(jobs)  # type: ignore[arg-type]

    metrics = result.metrics(own=[count], warm_up=0.25, wide=4, long=100.0)
    assert metrics.own == {"count": metrics.nb_jobs + metrics.nb_rejected}
    assert {name: part.own["count"] for name, part in metrics.classes.items()} == {
        name: part.nb_jobs for name, part in metrics.classes.items()
    }
    (run,) = {id(each): each for each in seen}.values()
    assert run.metrics.waiting == metrics.waiting
    assert len(run.rows) == result.nb_jobs
    assert run.time[1] - run.time[0] == metrics.measured_time
    assert metrics.flat()["short_wide_count"] == metrics.classes["short wide"].nb_jobs


def test_what_is_not_known_is_left_out() -> None:
    own = [metric(nothing), metric(nan), metric(truth)]
    assert measured([], 4, own=own).own == {"truth": 1.0}


def nothing(jobs: object) -> None:
    return None


def nan(jobs: object) -> float:
    return math.nan


def truth(jobs: object) -> bool:
    return True


def test_names_of_classes_are_known() -> None:
    late = metric(truth)
    assert metric_named("long_wide_truth", {"truth": late}).label == "truth, long wide jobs"


def makespan(jobs: object) -> float:
    return 0.0


def three(jobs: object, run: object, more: object) -> float:
    return 0.0


def text(jobs: object) -> str:
    return "many"


def breaks(jobs: object) -> float:
    raise RuntimeError("no")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (makespan, "'makespan' is the name of a metric of this library"),
        (three, "the metric three takes .* it is called with the jobs, or with the jobs and the run"),
        (text, "the metric text is to return a number or None, and returned 'many'"),
        (breaks, "the metric breaks raised RuntimeError: no"),
        (lambda jobs: 1, "a metric is a function with a name"),
        (3, "expected a function of jobs, got 3"),
    ],
)
def test_what_is_no_metric_is_refused(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        measured([], 4, own=[given])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine.py", "expected FILE.py:FUNCTION"),
        ("none.py:late", "there is no such file"),
        ("mine.py:soon", "it defines no 'soon'"),
        ("mine.py:NUMBER", "expected a function of jobs, got 3"),
        ("broken.py:late", "it cannot be loaded: SyntaxError"),
        ("beside.py:", "expected FILE.py:FUNCTION"),
    ],
)
def test_what_a_file_does_not_define_is_refused(file: Path, name: str, message: str) -> None:
    (file.parent / "broken.py").write_text("def")
    with pytest.raises(InputError, match=message):
        load_metric(name, str(file.parent))
    with pytest.raises(InputError, match="expected less, more or None"):
        metric(better="most")(truth)  # type: ignore[call-overload]
