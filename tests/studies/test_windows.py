"""Studies of windows of a log: which jobs count, with which arrivals, and how their tables compare them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import StudyError
from batprotocol.model import DelayProfile
from batprotocol.policies import named
from batprotocol.simulator import StaticJob, Workload, measured, named_workload, simulate
from batprotocol.studies import Study
from batprotocol.studies.comparing import PlainRow, interval, table
from batprotocol.studies.rows import rounded
from batprotocol.workloads import platform_for, window_with_margins

WITHOUT_ENGINE = True

LOG = "; MaxProcs: 8\n" + "".join(
    f"{n + 1} {100 * n} -1 {50 + 37 * n % 200} {1 + n % 8} -1 -1 {1 + n % 8} {400} -1 1 {n % 3} 1 1 -1 -1 -1 -1\n"
    for n in range(120)
)


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    return str(path)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40), st.integers(0, 900), st.integers(1, 300))
def test_a_window_has_its_jobs_and_those_of_its_margins(times: list[int], begin: int, length: int) -> None:
    whole = Workload([StaticJob(str(n), float(time), 1, DelayProfile(5.0)) for n, time in enumerate(times)])
    found = window_with_margins(whole, begin, begin + length, before=50, after=30)
    expected = sorted(time - begin + 50 for time in times if begin - 50 <= time < begin + length + 30)
    assert [each.time for each in found] == expected


@pytest.mark.parametrize("factor", [1.0, 0.9, 1.1])
def test_the_jobs_of_the_window_count_and_no_others(log: str, factor: float) -> None:
    study = Study(scheduler="easy", workload=log, arrival_factor=factor, window="3000-7000", before=1000, after=500)
    (run,) = study.runs()
    workload = named_workload(f"{log}?window=3000-7000&before=1000&after=500&arrival-factor={factor}")
    assert len(workload) == 55
    result = simulate(platform_for([workload]), workload, named("easy")())
    settings = dict(run.measure.settings)
    assert measured(rounded(result.jobs), 8, **settings).nb_jobs == 40
    assert settings == {"begin": round(1000 / factor, 6), "end": round(5000 / factor, 6)}


def test_windows_that_follow_one_another_count_each_job_once(log: str, tmp_path: Path) -> None:
    windows = [f"{begin}-{begin + 2000}" for begin in range(1000, 11000, 2000)]
    study = Study(scheduler=["fcfs", "easy"], workload=log, window=windows, before=1000, after=1000)
    rows = study.run(tmp_path / "runs", processes=1)
    assert [row.metrics["nb_jobs"] for row in rows if row.axes["scheduler"] == "easy"] == [20] * 5
    found = table(rows, metric="mean_waiting_time", baseline="fcfs")
    waits = {(row.axes["window"], row.axes["scheduler"]): row.metrics["mean_waiting_time"] for row in rows}
    differences = [waits[each, "easy"] - waits[each, "fcfs"] for each in windows]
    cell = found.cells[1][0]
    assert (cell.low, cell.high) == interval(differences, ordered=True)
    assert "over 5 windows of one log" in found.caption
    assert "windows follow one another: intervals are wider if neighbours are alike" in found.caption


def test_windows_are_in_the_order_of_time_however_rows_are_listed() -> None:
    values = {"0-9": 1.0, "10-19": 2.0, "20-29": 3.0, "30-39": 9.0, "100-109": 4.0, "40-49": 8.0}
    rows = [PlainRow({"scheduler": "easy", "window": each}, {"utilisation": value}) for each, value in values.items()]
    (cell,) = table(rows, metric="utilisation").cells[0]
    ordered = [1.0, 2.0, 3.0, 9.0, 8.0, 4.0]
    assert (cell.low, cell.high) == interval(ordered, domain=(0, math.inf), ordered=True)


def test_few_windows_have_no_interval() -> None:
    rows = [PlainRow({"scheduler": "easy", "window": f"{n}0-{n}9"}, {"utilisation": 0.5 + n}) for n in range(4)]
    found = table(rows, metric="utilisation")
    assert found.cells[0][0].low is None
    assert "no interval can be given for fewer than 5 windows" in found.caption


def test_several_axes_in_the_rows() -> None:
    rows = [
        PlainRow({"scheduler": name, "arrival_factor": load, "seed": seed}, {"utilisation": add + load + seed / 10})
        for add, name in enumerate(("fcfs", "easy"))
        for load in (0.9, 1.0)
        for seed in range(4)
    ]
    found = table(rows, rows=["scheduler", "arrival_factor"], metric="utilisation", baseline="fcfs,1")
    assert found.rows == ("fcfs, 0.9", "fcfs, 1", "easy, 0.9", "easy, 1")
    assert [cells[0].mean for cells in found.cells] == pytest.approx([-0.1, 1.15, 0.9, 1.0])


def test_a_scheduler_runs_with_its_values_only(log: str) -> None:
    keys = {"workload": log, "arrival_factor": [0.9, 1, 1.1], "estimates": ["asked", "exact"]}
    once = {"scheduler": "fcfs", "name": "once", "only": {"arrival_factor": 1, "estimates": "asked"}}
    study = Study(scheduler=[once, "easy"], **keys)
    runs = study.runs()
    assert study.count() == len(runs) == 7
    assert [dict(run.axes) for run in runs if run.axes["scheduler"] == "once"] == [
        {"workload": log, "arrival_factor": 1, "estimates": "asked", "scheduler": "once"}
    ]
    assert study.count(["arrival_factor=0.9"]) == len(study.runs(["arrival_factor=0.9"])) == 2
    with pytest.raises(StudyError, match=r"once runs with arrival_factor 2 only, but it has 0\.9, 1, 1\.1"):
        Study(scheduler={"scheduler": "fcfs", "name": "once", "only": {"arrival_factor": 2}}, **keys)


def test_estimates_as_asked_are_the_workload_as_it_is(log: str) -> None:
    plain = Study(scheduler="easy", workload=log).runs()[0]
    asked, exact, predicted = Study(scheduler="easy", workload=log, estimates=["asked", "exact", "predicted"]).runs()
    assert asked.key == plain.key
    assert exact.task.changes == {"estimates": "exact"}
    assert (predicted.task.scheduler, predicted.task.changes) == ("easy+predicted", {})


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"window": "0-9", "time": "0-9"}, "exclude one another"),
        ({"window": "0-9", "warm_up": 0.1}, "exclude one another"),
        ({"window": "x"}, "an interval"),
        ({"window": "5"}, "expected an interval such as 0-604800"),
        ({"estimates": "good"}, "asked"),
    ],
)
def test_mistakes(log: str, keys: dict[str, object], reason: str) -> None:
    with pytest.raises(StudyError, match=reason):
        Study(scheduler="easy", workload=log, **keys).runs()
