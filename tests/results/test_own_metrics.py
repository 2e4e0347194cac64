"""Metrics of one's own: what they are given, how they are found, and what is said of those that cannot be measured."""

from __future__ import annotations

import copy
import functools
import math
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.model import FinalJobState
from batprotocol.policies import Policy
from batprotocol.simulator import (
    EXAMPLE_PLATFORM,
    EXAMPLE_WORKLOAD,
    JobRow,
    MeasuredRun,
    OwnMetric,
    load_metric,
    measured,
    metric,
    metric_named,
    own_metrics,
    simulate,
)

WITHOUT_ENGINE = True

MINE = '''
"""Metrics."""
from beside_of_tests import LIMIT
from batprotocol.simulator import metric

@metric(label="late jobs", unit="jobs", better="less", source="somebody, 2026")
def late(jobs):
    """Jobs that waited for more than ten seconds."""
    return sum(job.waiting_time > LIMIT for job in jobs)

def plain_share(jobs, run):
    return len(jobs) / len(run.rows)

other_name = late
number = 3

def fails(jobs):
    return 1 / 0

def three(jobs, run, more):
    return 0

def none_at_all():
    return 0

def keyword(jobs, *, needed):
    return 0

def makespan(jobs):
    return 0

def short_wide_jobs(jobs):
    return 0

nameless = lambda jobs: 7.0
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine_of_tests.py").write_text(MINE)
    (tmp_path / "beside_of_tests.py").write_text("LIMIT = 10\n")
    return tmp_path


def row(number: int, submission: float, waiting: float | None, runtime: float, hosts: int) -> JobRow:
    return JobRow(
        job_id=str(number),
        workload_name="w0",
        profile="w0!d",
        submission_time=submission,
        requested_number_of_resources=hosts,
        requested_time=None,
        final_state=FinalJobState.REJECTED if waiting is None else FinalJobState.COMPLETED_SUCCESSFULLY,
        starting_time=None if waiting is None else submission + waiting,
        execution_time=None if waiting is None else runtime,
        allocated_resources="" if waiting is None else f"0-{hosts - 1}",
    )


ROWS = st.lists(
    st.tuples(
        st.integers(0, 50),
        st.none() | st.integers(0, 50),
        st.sampled_from([0.5, 3.0, 10.0, 40.0]),
        st.integers(1, 4),
    ),
    max_size=20,
).map(lambda jobs: [row(number, *each) for number, each in enumerate(jobs)])


@metric
def longest(jobs: Sequence[JobRow]) -> float:
    return max(job.execution_time or 0.0 for job in jobs)


@metric(unit="s", better="less")
def delay_a_host(jobs: Sequence[JobRow], run: MeasuredRun) -> float:
    """Waiting time over hosts."""
    return sum(job.waiting_time or 0.0 for job in jobs) / run.hosts


@given(ROWS, st.sampled_from([0.0, 0.3]), st.sampled_from([0.0, 0.3]))
def test_own_metrics_are_of_the_measured_jobs(rows: list[JobRow], warm_up: float, cool_down: float) -> None:
    runs: list[MeasuredRun] = []

    def seen(jobs: Sequence[JobRow], run: MeasuredRun) -> None:
        assert len(jobs) == run.metrics.nb_jobs
        runs.append(run)

    options: dict[str, Any] = {"warm_up": warm_up, "cool_down": cool_down, "wide": 2, "long": 5.0}
    ours = measured(iter(rows), 8, own=[longest, delay_a_host, seen], **options)
    plain = measured(rows, 8, **options)
    assert {name: value for name, value in ours.flat().items() if "longest" not in name and "delay" not in name} == (
        plain.flat()
    )
    assert math.isnan(ours.own["seen"])
    for part in (ours, *ours.classes.values()):
        assert part.own.keys() == {"longest", "delay_a_host", "seen"}
        if part.nb_jobs:
            assert part.own["delay_a_host"] == pytest.approx(part.waiting.mean * part.nb_jobs / 8)
            assert part.own["longest"] in (0.5, 3.0, 10.0, 40.0)
        else:
            assert all(map(math.isnan, part.own.values()))
    if ours.nb_jobs:
        assert ours.flat()["longest"] == max(part.own["longest"] for part in ours.classes.values() if part.nb_jobs)
        (whole,) = [run for run in runs if run.metrics.nb_jobs == ours.nb_jobs][-1:]
        assert (whole.hosts, list(whole.rows), whole.users) == (8, rows, None)
        assert whole.end - whole.begin == ours.measured_time
    for name, part in ours.classes.items():
        if part.nb_jobs:
            assert ours.flat()[f"{name.replace(' ', '_')}_longest"] == part.own["longest"]


def test_a_metric_says_what_it_is(folder: Path) -> None:
    late = load_metric("mine_of_tests.py:late", str(folder))
    assert (late.name, late.label_with_unit, late.better) == ("late", "late jobs [jobs]", "less")
    assert (late.definition, late.source) == ("Jobs that waited for more than ten seconds.", "somebody, 2026")
    assert late.target == f"{folder / 'mine_of_tests.py'}:late"
    assert late([row(0, 0, 11, 1, 1), row(1, 0, 9, 1, 1)]) == 1
    plain = load_metric(f"{folder}/mine_of_tests.py:plain_share")
    assert (plain.label, plain.unit, plain.better, plain.definition) == ("plain share", "", None, "")
    assert measured([row(0, 0, 1, 1, 1), row(1, 0, None, 1, 1)], 4, own=[plain]).own == {"plain_share": 0.5}
    assert (longest.name, longest.better, delay_a_host.definition) == ("longest", None, "Waiting time over hosts.")
    assert delay_a_host.target == f"{Path(__file__).resolve()}:delay_a_host"
    renamed = load_metric(f"{folder}/mine_of_tests.py:other_name")
    assert (renamed.name, renamed.label) == ("other_name", "late jobs")
    assert measured([row(0, 0, 1, 1, 1)], 4, own=[f"{folder}/mine_of_tests.py:nameless"]).own == {"nameless": 7.0}


def test_a_file_that_has_changed_is_read_again(folder: Path) -> None:
    name = f"{folder}/mine_of_tests.py:late"
    before = load_metric(name)
    assert load_metric(name) == before
    (folder / "mine_of_tests.py").write_text(MINE.replace("late jobs", "jobs that were late"))
    assert load_metric(name).label == "jobs that were late"


WRONG = [
    ("mine_of_tests.py", "expected a metric of your own as FILE:NAME"),
    ("nowhere.py:late", "there is no file 'nowhere.py' with the metric 'late'"),
    ("mine_of_tests:late", r"there is no file .*; did you mean mine_of_tests.py:late\?"),
    ("mine_of_tests.py:lat", "^mine_of_tests.py: it has no metric 'lat'; it has late and other_name$"),
    ("mine_of_tests.py:number", "^mine_of_tests.py: expected a function of the jobs, got 3"),
    (
        "mine_of_tests.py:three",
        r"the metric 'three' takes \(jobs, run, more\): expected the jobs, or the jobs and the run",
    ),
    ("mine_of_tests.py:none_at_all", r"takes \(\): expected the jobs"),
    ("mine_of_tests.py:keyword", r"takes \(jobs, \*, needed\): expected the jobs"),
    ("mine_of_tests.py:makespan", "cannot be called 'makespan': the library has a metric of this name"),
    (
        "mine_of_tests.py:short_wide_jobs",
        "cannot be called 'short_wide_jobs': metrics of short wide .* begin like this",
    ),
    ("broken.py:late", "^broken.py: it cannot be loaded: ZeroDivisionError"),
    ("json.py:late", "would hide the module json"),
]


@pytest.mark.parametrize(("text", "words"), WRONG, ids=lambda text: text.split()[0])
def test_what_is_no_metric_is_refused(text: str, words: str, folder: Path) -> None:
    (folder / "broken.py").write_text("1 / 0\n")
    (folder / "json.py").write_text("")
    with pytest.raises(InputError, match=words):
        load_metric(text, str(folder))


def test_a_metric_that_fails_is_named_with_its_line(folder: Path) -> None:
    rows = [row(0, 0, 1, 1, 1)]
    line = 1 + MINE.splitlines().index("    return 1 / 0")
    words = rf"mine_of_tests.py:{line}: the metric 'fails' failed: ZeroDivisionError: division by zero$"
    with pytest.raises(InputError, match=words):
        measured(rows, 4, own=[f"{folder}/mine_of_tests.py:fails"])


VALUES = [(None, None), (math.nan, None), (True, 1.0), (3, 3.0), (0.5, 0.5), (np.int64(4), 4.0), (np.float32(0.5), 0.5)]


@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_numbers_that_metrics_return(value: object, expected: float | None) -> None:
    def returned(jobs: Sequence[JobRow]) -> object:
        return value

    found = measured([row(0, 0, 1, 1, 1)], 4, own=[returned]).flat().get("returned")
    assert found == expected
    assert found is None or type(found) is float


@pytest.mark.parametrize("value", ["1.0", [1.0], math.inf, 10**400, 1j, np.zeros(2)], ids=str)
def test_what_is_no_number_is_refused(value: object) -> None:
    def returned(jobs: Sequence[JobRow]) -> object:
        return value

    with pytest.raises(InputError, match=r"the metric 'returned' returned .*: return a finite number, or None"):
        measured([row(0, 0, 1, 1, 1)], 4, own=[returned])


def test_what_has_no_name_and_what_has_that_of_another_is_refused(folder: Path) -> None:
    rows = [row(0, 0, 1, 1, 1)]
    for nameless in (lambda jobs: 1.0, functools.partial(sum, start=0)):
        with pytest.raises(InputError, match=r"expected a function with a name, got .*: define it with def"):
            measured(rows, 4, own=[nameless])
    with pytest.raises(InputError, match="expected a function of the jobs"):
        metric(JobRow)
    with pytest.raises(InputError, match="expected 'less', 'more' or None for better"):
        metric(better="fewer")  # type: ignore[call-overload]

    def late(jobs: Sequence[JobRow]) -> float:
        return 0.0

    name = f"{folder}/mine_of_tests.py:late"
    with pytest.raises(InputError, match="two metrics are called 'late'"):
        own_metrics([name, late])
    assert len(own_metrics([name, load_metric(name)])) == 1
    with pytest.raises(InputError, match="put it into a list"):
        own_metrics(name)


def test_a_second_parameter_with_a_default_is_no_run() -> None:
    def later(jobs: Sequence[JobRow], than: float = 10.0) -> float:
        return sum((job.waiting_time or 0.0) > than for job in jobs)

    def of_all(jobs: Sequence[JobRow], run: MeasuredRun | None = None) -> float:
        assert run is not None
        return run.metrics.waiting.max

    rows = [row(0, 0, 11, 1, 1), row(1, 0, 9, 1, 1)]
    assert measured(rows, 4, own=[later, of_all]).own == {"later": 1.0, "of_all": 11.0}


def test_metrics_of_ones_own_by_name(folder: Path) -> None:
    name = f"{folder}/mine_of_tests.py:late"
    late = load_metric(name)
    assert metric_named(name) == metric_named(late) == late
    assert metric_named("late", own=[late]) == late
    wide = metric_named("short_wide_late", own=[late])
    assert (wide.name, wide.label) == ("short_wide_late", "late jobs, short wide jobs")
    assert metric_named(lambda_free).name == "lambda_free"
    with pytest.raises(InputError, match=r"there is no metric 'late'; name a metric of your own .*FILE.py:late"):
        metric_named("late")


def lambda_free(jobs: Sequence[JobRow]) -> float:
    return 1.0


def test_metrics_go_to_other_processes(folder: Path) -> None:
    late = load_metric(f"{folder}/mine_of_tests.py:late")
    for each in (late, metric_named("short_wide_late", own=[late]), delay_a_host, metric(lambda_free)):
        assert isinstance(each, OwnMetric)
        again = pickle.loads(pickle.dumps(each))
        assert again == each == copy.deepcopy(each)
    (folder / "late.pickle").write_bytes(pickle.dumps(late))
    program = "import pickle, sys; late = pickle.load(open(sys.argv[1], 'rb')); print(late.label, late.value([]))"
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder / "late.pickle")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "late jobs nan\n"


def test_a_result_measures_them() -> None:
    result = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, Policy())
    found = result.metrics(own=[longest], warm_up=0.1)
    assert found.own["longest"] == found.flat()["longest"] > 0


def test_tau_is_told_where_it_is_another() -> None:
    assert "tau = 10 s" in metric_named("mean_bounded_slowdown").definition
    other = metric_named("short_wide_p95_per_processor_bounded_slowdown", tau=60.0)
    assert "tau = 60 s" in other.definition
    assert "tau = 10 s" not in other.definition
    assert other.label == "per-processor bounded slowdown, 95th percentile, short wide jobs (tau = 60 s)"
    assert metric_named("mean_slowdown", tau=60.0) == metric_named("mean_slowdown")
