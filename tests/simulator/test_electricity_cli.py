"""`batproto simulate` with traces, caps and typical watts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Result, run_here

from batprotocol.model import ParallelTaskHomogeneousProfile
from batprotocol.simulator import StaticJob, Workload, workload_json

WITHOUT_ENGINE = True

WATTS = "idle=95,busy=250"
HEAD = "Time,Carbon Intensity\n2020-01-01 00:00,100\n2020-01-01 00:{},300\n"


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    work = ParallelTaskHomogeneousProfile(1e9 * 900, 0.0)
    found = [
        StaticJob(f"{number}", 300.0 * number, 2, work, extra_data=json.dumps({"user": "ab"[number % 2]}))
        for number in range(4)
    ]
    path = tmp_path / "jobs.json"
    path.write_text(workload_json(Workload(found)))
    return path


def simulate(jobs: Path, *words: str | Path) -> Result:
    return run_here("simulate", "fcfs", "-w", jobs, *words)


def facts(result: Result) -> dict[str, str]:
    return {line[:17].strip(): line[18:] for line in result.out.splitlines() if line[:1].strip()}


def test_all_is_printed(jobs: Path, tmp_path: Path) -> None:
    (tmp_path / "carbon.csv").write_text(HEAD.format(30))
    carbon = f"{tmp_path}/carbon.csv?repeat=yes"
    found = simulate(jobs, "--watts", WATTS, "--carbon", carbon, "--price", "daily:0.2", "--cap", "300")
    assert (found.status, found.err) == (0, "")
    shown = facts(found)
    assert shown["energy"] == "1.8 MJ (500 Wh) consumed"
    assert shown["power"] == "500 W mean, 500 W peak"
    assert "CO2eq" in shown["carbon"]
    assert shown["cost"].endswith("EUR")
    assert shown["cap"].startswith("above it for ")
    assert found.out.startswith("cap "), "a cap that was not kept comes first"
    assert shown["watts"] == f"typical ones: {WATTS}"


def test_json_and_groups(jobs: Path, tmp_path: Path) -> None:
    words = ["--watts", WATTS, "--carbon", "daily:300?swing=0", "--price", "daily:0.2", "--by", "user"]
    found = json.loads(simulate(jobs, *words, "--json").out)
    metrics, groups = found["metrics"], found["groups"]
    assert (found["watts"], found["currency"]) == (WATTS, "EUR")
    assert metrics["carbon_grams"] == pytest.approx(metrics["mean_watts"] * metrics["makespan"] / 3.6e6 * 300)
    assert sum(each["job_joules"] for each in groups.values()) == pytest.approx(metrics["job_joules"])
    text = simulate(jobs, *words).out
    assert "carbon of jobs [g]" in text
    assert "cost of jobs [EUR]" in text


def test_the_cap_of_a_policy_is_measured(jobs: Path) -> None:
    found = run_here("simulate", "easy+cap=2kW", "-w", jobs, "--watts", WATTS)
    assert facts(found)["cap"] == "never above it"
    found = run_here("simulate", "easy+cap=2kW", "-w", jobs, "--watts", WATTS, "--cap", "200")
    assert facts(found)["cap"].startswith("above it for ")


@pytest.mark.parametrize("machine", [["--hosts", "n[0-3]"], ["--mmax", "3"], []])
def test_typical_watts_are_for_any_hosts(jobs: Path, machine: list[str]) -> None:
    found = simulate(jobs, *machine, "--watts", WATTS)
    assert (found.status, found.err) == (0, "")
    assert "consumed" in facts(found)["energy"]


def test_a_trace_that_ends_before_the_simulation(jobs: Path, tmp_path: Path) -> None:
    path = tmp_path / "carbon.csv"
    path.write_text(HEAD.format("05"))
    early = simulate(jobs, "--watts", WATTS, "--carbon", path)
    assert early.status == 1
    assert "the carbon is known until 600 s, and jobs are submitted until 900 s: use a longer trace" in early.err
    assert early.out == "", "nothing was simulated"
    path.write_text(HEAD.format("15"))
    late = simulate(jobs, "--watts", WATTS, "--carbon", path)
    assert late.status == 1
    assert "the carbon is known until 1,800 s, and the measured time ends at 3,600 s" in late.err
    assert "consumed" in facts(late)["energy"], "all else is known"
    assert "carbon" not in facts(late)
    assert simulate(jobs, "--watts", WATTS, "--carbon", f"{path}?repeat=yes").status == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--hosts", "n[0-3]", "--energy"], "the hosts of --hosts declare no watts: give --watts"),
        (["--hosts", "n[0-3]", "--carbon", "daily:300"], "the hosts of --hosts declare no watts: give --watts"),
        (["--carbon", "daily:300"], "name a platform with --platform, or give --watts"),
        (["--watts", "idle=95"], "expected idle and busy"),
        (["--watts", WATTS, "--cap", "4 litres"], "expected a number of watts"),
        (["--watts", WATTS, "--carbon", "none.csv"], "none.csv"),
        (["--watts", WATTS, "--price", "daily:1?unit=g/kWh"], "expected a unit of a price"),
        (["--watts", WATTS, "--carbon", "daily:1?unit=EUR/kWh"], "expected a unit of a carbon intensity"),
    ],
)
def test_words_that_are_refused(jobs: Path, words: list[str], expected: str) -> None:
    found = simulate(jobs, *words)
    assert found.status != 0
    assert expected in " ".join(found.err.split())
