"""Timelines with carbon intensities, prices and caps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run_here

from batprotocol.model import ParallelTaskHomogeneousProfile
from batprotocol.policies import named
from batprotocol.recordings.timeline import TimelineData, TimelineJob, timeline
from batprotocol.recordings.timeline._figures import draw
from batprotocol.recordings.timeline.packing import all_series
from batprotocol.recordings.timeline.values import add_electricity, power_series
from batprotocol.simulator import Electricity, Platform, StaticJob, Workload, simulate, workload_json
from batprotocol.workloads import parse_watts, with_watts
from batprotocol.workloads.electricity import Trace

WITHOUT_ENGINE = True

CARBON = Trace([0.0, 50.0], [300.0, 200.0], 100.0, "g/kWh")
WORK = ParallelTaskHomogeneousProfile(1e9 * 100, 0.0)
JOBS = Workload([StaticJob("1", 10.0, 1, WORK), StaticJob("2", 30.0, 1, WORK)])


def data() -> TimelineData:
    return TimelineData(
        "run", [TimelineJob(job_id="w0!1", submitted=20.0, started=20.0, finished=150.0, hosts=((0, 0),))]
    )


def given(run: TimelineData) -> dict[str, tuple[list[float], list[float], str]]:
    return {each.name: (list(each.times), list(each.values), each.unit) for each in run.given}


def test_traces_are_series_over_the_time_of_the_run() -> None:
    run = data()
    price = Trace([0.0, 60.0], [0.2, -0.1], 120.0, "EUR/kWh", repeats=True)
    add_electricity(run, carbon=CARBON, price=price, cap=400.0)
    assert given(run) == {
        "carbon": ([0.0, 50.0], [300.0, 200.0], "g/kWh"),
        "price": ([0.0, 60.0, 120.0], [0.2, -0.1, 0.2], "EUR/kWh"),
        "cap": ([0.0], [400.0], "W"),
    }
    assert [each.name for each in all_series(run)] == ["jobs waiting", "free hosts", "cap", "carbon", "price"]


def test_a_trace_that_changes_often_has_many_values_only() -> None:
    run = TimelineData("run", [TimelineJob(job_id="w0!1", submitted=0.0, started=0.0, finished=1e9, hosts=((0, 0),))])
    add_electricity(run, carbon=Trace([0.0, 1.0], [1.0, 2.0], 2.0, "g/kWh", repeats=True))
    assert 0 < len(given(run)["carbon"][0]) <= 100_001


def test_the_power_of_readings() -> None:
    found = power_series([(10.0, 1000.0), (10.0, 1000.0), (20.0, 2000.0), (30.0, 5000.0)])
    assert (list(found.times), list(found.values)) == ([0.0, 20.0], [100.0, 300.0])
    assert len(power_series([]).times) == 0


def test_results_have_their_power_and_traces() -> None:
    platform = with_watts(Platform.homogeneous(1), parse_watts("idle=95,busy=250"))
    result = simulate(platform, JOBS, named("fcfs")(), energy=True)
    result.electricity = Electricity(carbon=CARBON, cap=200.0)
    (run,) = timeline(result).runs
    found = given(run)
    assert set(found) == {"power", "carbon", "cap"}
    assert max(found["power"][1]) == pytest.approx(250.0)
    (other,) = timeline(result, carbon=Trace([0.0], [1.0], 9.0, "g/kWh")).runs
    assert given(other)["carbon"][1] == [1.0]


@pytest.mark.slow
def test_figures_draw_the_cap_with_the_power() -> None:
    run = data()
    run.given.append(power_series([(150.0, 15000.0)]))
    add_electricity(run, cap=400.0, price=Trace([0.0], [-0.2], 200.0, "EUR/kWh"))
    figure = draw([run], "job")
    axes = {axis.get_ylabel(): axis for axis in figure.axes}
    assert [label.split("\n")[0] for label in axes] == ["hosts", "jobs", "free", "power (W)", "price"]
    power = axes["power (W)"]
    assert [line.get_linestyle() for line in power.lines] == ["-", "--"]
    assert power.get_ylim()[1] == pytest.approx(420.0)
    assert axes["price\n(EUR/kWh)"].get_ylim()[0] < -0.2


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "jobs.json").write_text(workload_json(JOBS))
    watts = ["--watts", "idle=95,busy=250"]
    assert run_here("simulate", "fcfs", "-w", tmp_path / "jobs.json", *watts, "-o", tmp_path / "out").status == 0
    page = tmp_path / "run.html"
    done = run_here("timeline", tmp_path / "out", "-o", page, "--carbon", "daily:300", "--cap", "400W")
    assert (done.status, page.stat().st_size > 10_000) == (0, True)
    refused = run_here("timeline", tmp_path / "out", "-o", page, "--price", "daily:1?unit=g/kWh")
    assert refused.status == 1
    assert "expected a unit of a price" in refused.err


@pytest.mark.slow
def test_runs_of_studies_have_their_traces(tmp_path: Path) -> None:
    (tmp_path / "jobs.json").write_text(workload_json(JOBS))
    text = 'scheduler = "fcfs"\nworkload = "jobs.json"\nwatts = "idle=95,busy=250"\ncarbon = "daily:300"\ncap = 400\n'
    (tmp_path / "study.toml").write_text(text)
    assert run_here("study", "run", tmp_path / "study.toml", "-j", "1").status == 0
    from batprotocol.recordings.commands.named_runs import named as run_named

    found = given(run_named(f"{tmp_path / 'study.toml'}").timeline())
    assert set(found) == {"power", "carbon", "cap"}
    assert json.loads(json.dumps(found["cap"][1])) == [400.0]
