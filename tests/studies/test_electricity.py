"""Studies of carbon, costs and caps: they are axes, and no run is simulated twice to be measured with another trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import run_here

from batprotocol.errors import StudyError
from batprotocol.model import ParallelTaskHomogeneousProfile
from batprotocol.simulator import OF_POWER, StaticJob, Workload, workload_json
from batprotocol.studies import Rows, Study, with_groups
from batprotocol.studies.comparing import table

WITHOUT_ENGINE = True

WATTS = "idle=95,busy=250"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a workload and two traces."""
    jobs = [
        StaticJob(
            str(number),
            600.0 * number,
            1 + number % 3,
            ParallelTaskHomogeneousProfile(1e9 * (300 + 100 * number), 0.0),
            walltime=7200.0,
            extra_data=json.dumps({"user": "ab"[number % 2]}),
        )
        for number in range(6)
    ]
    (tmp_path / "jobs.json").write_text(workload_json(Workload(jobs)))
    (tmp_path / "a.csv").write_text("Time,Carbon Intensity\n2020-01-01 00:00,100\n2020-01-01 06:00,300\n")
    (tmp_path / "b.csv").write_text("Time,Price (EUR/MWh)\n2020-01-01 00:00,50\n2020-01-01 00:30,-20\n")
    return tmp_path


def study(folder: Path, **keys: Any) -> Study:
    given = {"scheduler": "easy", "workload": "jobs.json", "platform": 4, "watts": WATTS, **keys}
    return Study(folder=folder, **given)


def run(folder: Path, **keys: Any) -> Rows:
    rows = study(folder, **keys).run(folder / "runs", processes=1)
    assert [row.error for row in rows.failed] == []
    return rows


@pytest.mark.slow
def test_carbon_and_price_are_measured(folder: Path) -> None:
    carbon = ["a.csv", {"carbon": "daily:250?swing=0", "name": "flat"}]
    rows = run(folder, carbon=carbon, price="b.csv?repeat=yes")
    assert rows.axes["carbon"] == ("a.csv", "flat")
    one, flat = rows
    assert one.key == flat.key, "a run is simulated once"
    assert set(OF_POWER) - set(one.metrics) == {"seconds_above_cap", "joules_above_cap"}
    assert flat.metrics["carbon_grams"] == pytest.approx(
        flat.metrics["mean_watts"] * flat.metrics["makespan"] / 3.6e6 * 250
    )
    assert one.metrics["carbon_grams"] == pytest.approx(flat.metrics["carbon_grams"] / 2.5), "the first value holds on"
    assert one.metrics["cost"] == flat.metrics["cost"]
    assert "[EUR]" in str(table(rows, metric="cost", columns="carbon"))
    assert json.loads(Path(one.folder, "power.json").read_text()) == {"cores": 4, "watts": WATTS}
    again = study(folder, carbon=carbon, price="b.csv?repeat=yes").rows(folder / "runs")
    assert [row.metrics for row in again] == [row.metrics for row in rows]


@pytest.mark.slow
def test_another_trace_runs_nothing_again(folder: Path) -> None:
    (first,) = run(folder, carbon="a.csv")
    (other,) = study(folder, carbon="daily:100?swing=0").rows(folder / "runs")
    assert (other.key, other.seconds) == (first.key, first.seconds)
    assert other.metrics["carbon_grams"] == pytest.approx(first.metrics["carbon_grams"])
    (folder / "a.csv").write_text("Time,Carbon Intensity\n2020-01-01 00:00,200\n2020-01-01 06:00,300\n")
    (twice,) = study(folder, carbon="a.csv").rows(folder / "runs")
    assert twice.metrics["carbon_grams"] == pytest.approx(2 * first.metrics["carbon_grams"])


def test_groups_of_jobs_have_carbon(folder: Path) -> None:
    rows = run(folder, carbon="a.csv")
    groups = with_groups(rows, "user")
    assert [row.axes["user"] for row in groups] == ["a", "b"]
    total = sum(row.metrics["job_carbon_grams"] for row in groups)
    assert total == pytest.approx(rows[0].metrics["job_carbon_grams"])
    assert "carbon_grams" not in groups[0].metrics
    (folder / "a.csv").write_text("changed")
    groups = with_groups(rows, "user")
    assert "job_carbon_grams" not in groups[0].metrics, "the trace has changed since"
    assert groups[0].metrics["job_joules"] > 0
    (folder / "a.csv").write_text("Time,Carbon Intensity\n2020-01-01 00:00,200\n2020-01-01 06:00,300\n")
    groups = with_groups(study(folder, carbon="a.csv").rows(folder / "runs"), "user")
    twice = sum(row.metrics["job_carbon_grams"] for row in groups)
    assert twice == pytest.approx(2 * total), "this process has read the file before it changed"


def test_a_cap_of_other_schedulers_is_measured(folder: Path) -> None:
    (folder / "own.py").write_text("from batprotocol.policies import named\n\nOwn = named('fcfs')\n")
    rows = run(folder, scheduler="own.py:Own", cap=["none", 400, "1kW"])
    none, low, high = rows
    assert none.key == low.key == high.key
    assert "seconds_above_cap" not in none.metrics
    assert low.metrics["seconds_above_cap"] > 0 == high.metrics["seconds_above_cap"]


def test_policies_keep_the_cap(folder: Path) -> None:
    (folder / "cap.csv").write_text("time,watts\n0,850\n1000,1200\n")
    rows = run(folder, scheduler=["easy", "fcfs"], cap=["none", 850, "cap.csv"])
    assert len({row.key for row in rows}) == 6
    for row in rows:
        above = row.metrics.get("seconds_above_cap")
        assert above == (None if row.axes["cap"] == "none" else 0), str(row)
        assert row.metrics["nb_rejected"] == 0
        assert row.metrics["peak_watts"] <= (850 if row.axes["cap"] == 850 else 1000)


def test_caps_of_policies_in_any_folder(folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "Night-cap.csv").write_text("time,watts\n0,700\n")
    rows = run(folder, scheduler=["easy+cap=more/Night-cap.csv", "easy+cap=700"])
    one, other = rows
    assert one.metrics == other.metrics
    assert one.key != other.key


def test_policies_have_the_traces_of_their_runs(folder: Path) -> None:
    (folder / "late.csv").write_text("Time,Carbon Intensity\n2020-01-01 00:00,300\n2020-01-01 02:00,100\n")
    schedulers = ["easy", "easy+wait={carbon},slack=4h", "easy+wait={carbon},slack=4h,error=5%,seed={seed}"]
    carbon = ["late.csv?repeat=yes", "daily:300?swing=0"]
    rows = run(folder, scheduler=schedulers, carbon=carbon, seed=[1, 2])
    plain, waiting, guessing = (rows.where(scheduler=each) for each in schedulers)
    assert [len({row.key for row in each}) for each in (plain, waiting, guessing)] == [1, 2, 4]
    for seed in (1, 2):
        late, flat = (waiting.where(seed=seed, carbon=each)[0].metrics for each in carbon)
        assert late["mean_waiting_time"] > 3600 > flat["mean_waiting_time"]
        assert late["job_carbon_grams"] < plain.where(seed=seed, carbon=carbon[0])[0].metrics["job_carbon_grams"]


def test_typical_watts_decide_the_result(folder: Path) -> None:
    rows = run(folder, watts=[WATTS, "idle=10,busy=20"])
    one, other = rows
    assert one.key != other.key
    assert one.metrics["consumed_joules"] > 5 * other.metrics["consumed_joules"]
    assert "idle=10" in str(table(rows, metric="mean_watts", rows="watts"))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"carbon": "none.csv"}, "none.csv"),
        ({"carbon": "b.csv"}, "expected a column of intensities or prices"),
        ({"price": "a.csv"}, "expected a column of intensities or prices"),
        ({"carbon": "daily:-1"}, "expected a carbon intensity >= 0"),
        ({"cap": "4 litres"}, "expected a number of watts"),
        ({"watts": "idle=95"}, "expected watts such as"),
        ({"cap": "400W", "scheduler": "easy+cap=500"}, "easy\\+cap=500 has a cap of its own"),
        ({"scheduler": "easy+cap=none.csv"}, "none.csv"),
        ({"scheduler": "easy+wait={carbon},slack=8h"}, "waits for the carbon, and there is none: set carbon"),
        ({"scheduler": "easy+wait={carbon},slack=soon", "carbon": "a.csv"}, "soon"),
        ({"carbon": "a.csv", "energy": False}, "carbon, price and cap are measured with the energy"),
        ({"carbon": ["a.csv", "a.csv"]}, "is named twice; give one of them a name"),
        ({"watts": [WATTS, WATTS]}, "is named twice; remove one of them"),
        ({"watts": {"name": "usual", "watts": WATTS}}, "expected watts such as .*, got {'name'"),
    ],
)
def test_descriptions_that_are_refused(folder: Path, keys: dict[str, Any], words: str) -> None:
    with pytest.raises((StudyError, OSError), match=words):
        study(folder, **keys)


def test_a_platform_without_watts_needs_typical_ones(folder: Path) -> None:
    with pytest.raises(StudyError, match='set watts, such as watts = "idle=95,busy=250"'):
        Study(folder=folder, scheduler="easy", workload="jobs.json", platform=4, carbon="a.csv")


def test_a_trace_that_is_too_short(folder: Path) -> None:
    (folder / "short.csv").write_text("Time,Price (EUR/MWh)\n2020-01-01 00:00,50\n2020-01-01 00:20,-20\n")
    early = study(folder, price="short.csv")
    with pytest.raises(StudyError, match="the price is known until 2,400 s, and jobs are submitted until 3,000 s"):
        early.run(folder / "runs", processes=1)
    late = study(folder, price="b.csv")
    with pytest.raises(StudyError, match="the price is known until 3,600 s, and the measured time ends at 3,9"):
        late.run(folder / "runs", processes=1)
    (row,) = study(folder, price="b.csv?repeat=yes").rows(folder / "runs")  # the simulation is in the store
    assert row.metrics["cost"] != 0


def test_the_command(folder: Path) -> None:
    text = f'scheduler = "easy"\nworkload = "jobs.json"\nplatform = 4\nwatts = "{WATTS}"\ncarbon = "a.csv"\n'
    (folder / "study.toml").write_text(text)
    assert run_here("study", "run", folder / "study.toml", "-j", "1").status == 0
    found = run_here("study", "table", folder / "study.toml", "--metric", "carbon_grams", "--metric", "peak_watts")
    assert "carbon [g]" in found.out


def test_runs_are_compared(folder: Path) -> None:
    for name, watts in (("one", WATTS), ("two", "idle=10,busy=250")):
        assert (
            run_here("simulate", "fcfs", "-w", folder / "jobs.json", "--watts", watts, "-o", folder / name).status == 0
        )
    runs = (folder / "one", folder / "two")
    found = run_here("compare", *runs, "--carbon", "daily:300", "--price", "daily:0.2?unit=GBP/kWh", "--cap", "400W")
    assert found.status == 0
    assert "typical ones: idle=10,busy=250" in found.err
    for label in ("carbon [g]", "cost [GBP]", "time above the cap [s]", "energy per useful core hour"):
        assert label in found.out
    assert "peak power [W]" in run_here("compare", *runs).out
    (folder / "one" / "power.json").write_text('{"cores": 0}')
    refused = run_here("compare", *runs)
    assert refused.status == 1
    assert "power.json: cores: expected a number of cores > 0, got 0" in refused.err
    (folder / "one" / "power.json").write_text("[")
    assert "it is not a power.json" in run_here("compare", *runs).err
    (folder / "one" / "consumed_energy.csv").unlink()
    found = run_here("compare", *runs, "--carbon", "daily:300")
    assert (found.status, "it needs a consumed_energy.csv" in found.err) == (0, True)
