"""Two runs compared, against what is drawn into them; and the command, on runs that were simulated."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import pytest
from commands import run_here
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.model import FinalJobState
from batprotocol.policies import named
from batprotocol.simulator import EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, JobRow, simulate
from batprotocol.studies import comparing
from batprotocol.studies.comparing import Schedule, compare, read_schedule

WITHOUT_ENGINE = True


def row(number: int, submission: float, start: float | None, runtime: float, hosts: str) -> JobRow:
    return JobRow(
        job_id=str(number),
        workload_name="w0",
        profile="w0!d",
        submission_time=submission,
        requested_number_of_resources=1,
        requested_time=None,
        final_state=FinalJobState.REJECTED if start is None else FinalJobState.COMPLETED_SUCCESSFULLY,
        starting_time=start,
        execution_time=None if start is None else runtime,
        allocated_resources="" if start is None else hosts,
    )


WAITS = st.none() | st.integers(0, 20).map(float)
JOBS = st.lists(st.tuples(WAITS, WAITS, st.sampled_from("01"), st.booleans()), min_size=1, max_size=12)


@given(JOBS)
def test_jobs_and_partings(jobs: list[tuple[float | None, float | None, str, bool]]) -> None:
    ones, others = [row(99, 0.0, 1.0, 5.0, "0")], [row(99, 0.0, 1.0, 5.0, "0")]
    gains: dict[str, float] = {}
    partings: dict[str, float] = {}
    for number, (wait, other_wait, host, is_there) in enumerate(jobs):
        submission, name = 3.0 * number, f"w0!{number}"
        start = None if wait is None else submission + wait
        other_start = None if other_wait is None else submission + other_wait
        ones.append(row(number, submission, start, 5.0, "0"))
        if not is_there:
            partings[name] = submission
            continue
        others.append(row(number, submission, other_start, 5.0, host))
        if wait is not None and other_wait is not None:
            gains[name] = wait - other_wait
            if wait != other_wait or host != "0":
                partings[name] = submission + min(wait, other_wait)
        elif wait is not other_wait:
            partings[name] = submission
    found = compare(
        Schedule(name="a", jobs=tuple(ones), hosts=2), Schedule(name="b", jobs=tuple(reversed(others)), hosts=2)
    )
    assert found.differing == len(partings)
    assert (found.parting is None) == (not partings)
    if found.parting is not None:
        assert found.parting.time == min(partings.values())
        assert partings[found.parting.pair.name] == found.parting.time
    assert [pair.gain for pair in found.gained_most(3)] == sorted((g for g in gains.values() if g > 0), reverse=True)[
        :3
    ]
    assert [pair.gain for pair in found.lost_most(3)] == sorted(g for g in gains.values() if g < 0)[:3]
    assert found.gained + found.lost == sum(gain != 0 for gain in gains.values())
    assert found.moved == 0
    same = compare(Schedule(name="a", jobs=tuple(ones), hosts=2), Schedule(name="b", jobs=tuple(ones), hosts=2))
    assert (same.parting, same.differing, same.gained, same.lost) == (None, 0, 0, 0)
    assert json.loads(msgspec.json.encode(found.record(2)))["jobs"] == len(jobs) + 1


def test_kinds_of_partings() -> None:
    usual = (row(0, 0.0, 0.0, 5.0, "0"), row(1, 1.0, 2.0, 5.0, "1"))

    def what(*jobs: JobRow) -> tuple[str, float] | None:
        found = compare(Schedule(name="a", jobs=usual, hosts=2), Schedule(name="b", jobs=jobs, hosts=2)).parting
        return None if found is None else (found.what, found.time)

    assert what(*usual) is None
    assert what(usual[0], row(1, 1.0, 2.0005, 5.0, "1")) is None  # a message took longer
    assert what(usual[0], row(1, 1.0, 4.0, 5.0, "1")) == ("start", 2.0)
    assert what(usual[0], row(1, 1.0, 2.0, 5.0, "0")) == ("hosts", 2.0)
    assert what(usual[0], row(1, 1.0, 2.0, 4.0, "1")) == ("end", 6.0)
    assert what(usual[0], row(1, 1.0, None, 4.0, "1")) == ("rejected", 1.0)
    assert what(usual[0]) == ("absent", 1.0)


def test_other_submissions_are_told() -> None:
    one = Schedule(name="a", jobs=(row(0, 0.0, 1.0, 5.0, "0"),), hosts=2)
    other = Schedule(name="b", jobs=(row(0, 1.0, 1.0, 5.0, "0"),), hosts=2)
    assert "1 jobs are submitted at other times: the workloads are not the same" in compare(one, other).facts()
    with pytest.raises(InputError, match="a and c have no job in common"):
        compare(one, Schedule(name="c", jobs=(row(7, 0.0, 1.0, 5.0, "0"),), hosts=2))
    with pytest.raises(InputError, match="expected a tolerance >= 0"):
        compare(one, other, tolerance=math.nan)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("runs")
    for name in ("fcfs", "easy"):
        simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, named(name)(), output=f"{made}/{name}/")
    return made


def test_read_again_they_are_as_they_were(folder: Path) -> None:
    result = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, named("easy")())
    read = read_schedule(folder / "easy")
    assert read.hosts == 32
    expected = result.metrics().flat()
    assert read.metrics().flat() == pytest.approx(expected, rel=1e-4)
    alone = folder / "alone.csv"
    alone.write_bytes((folder / "easy" / "jobs.csv").read_bytes())
    assert read_schedule(alone).hosts == 32  # the last one was used
    assert read_schedule(alone, hosts=64).hosts == 64


def test_the_command(folder: Path) -> None:
    done = run_here("compare", "-n", "2", str(folder / "fcfs"), str(folder / "easy" / "jobs.csv"))
    assert done.status == 0
    assert "mean waiting time [s]" in done.out
    assert "the first difference is at 6,318.3 s: w0!25 runs at 9657.5" in done.out
    assert done.out.count("w0!") == 5
    told = json.loads(run_here("compare", "--json", str(folder / "fcfs"), str(folder / "easy")).out)
    assert told["metrics"]["mean_waiting_time"]["one"] == pytest.approx(11209, rel=1e-3)
    assert told["parting"]["job"] == "w0!25"
    every = run_here("compare", "--metric", "all", str(folder / "fcfs"), str(folder / "easy"))
    assert "largest stretch" in every.out
    same = run_here("compare", str(folder / "fcfs"), str(folder / "fcfs"))
    assert "the schedules are the same" in same.out
    assert "gained most" not in same.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}/fcfs", "{}/nowhere"], "nowhere: no such file or directory"),
        (["{}/fcfs", "{}/fcfs/schedule.json"], "schedule.json: has no data about single jobs"),
        (["{}/fcfs", "{}/easy", "--metric", "mean_wait"], "there is no metric 'mean_wait'; did you mean"),
        (["{}/fcfs", "{}/easy", "--tau", "0"], "0.0 is not in the range x>0"),
    ],
)
def test_wrong_arguments(folder: Path, arguments: list[str], message: str) -> None:
    done = run_here("compare", *(each.format(folder) for each in arguments))
    assert done.status != 0
    assert message in done.err
    assert done.err.count("\n") == 1


def test_broken_files(tmp_path: Path, folder: Path) -> None:
    text = (folder / "easy" / "jobs.csv").read_text()
    for wrong, message in [
        (text.replace("COMPLETED_SUCCESSFULLY", "LOST", 1), ":2: it is not a jobs.csv: 'LOST'"),
        (text.replace("w0!delay60,", "w0!delay60,x", 1), "could not convert string to float"),
        (text[:400], "it is not a jobs.csv"),
        (text.replace(",17-24,", ",17_24,", 1), "expected hosts, got '17_24'"),
    ]:
        path = tmp_path / "jobs.csv"
        path.write_text(wrong)
        with pytest.raises(InputError, match=message):
            read_schedule(path)
    (tmp_path / "jobs.csv").write_text(text)
    (tmp_path / "schedule.json").write_text("[1]")
    with pytest.raises(InputError, match="expected a JSON object"):
        read_schedule(tmp_path)


def test_notebooks(folder: Path) -> None:
    shown = compare(read_schedule(folder / "fcfs", name="<b>"), read_schedule(folder / "easy", name="b"))._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b><" not in shown


LATE = """
from batprotocol.simulator import metric

@metric(label="late jobs", better="less")
def late(jobs, run):
    return 100 * sum(job.waiting_time > 60 for job in jobs) / run.metrics.nb_jobs
"""


def test_metrics_of_ones_own(folder: Path) -> None:
    (folder / "late_of_tests.py").write_text(LATE)
    name = f"{folder}/late_of_tests.py:late"
    one, other = (read_schedule(folder / each) for each in ("fcfs", "easy"))
    found = compare(one, other, metrics=[name])
    expected = []
    for schedule in (one, other):
        waits = [job.waiting_time for job in schedule.jobs if job.waiting_time is not None]
        expected.append(100 * sum(wait > 60 for wait in waits) / len(waits))
    assert found.metrics["late"] == tuple(expected)
    assert found.record(0)["metrics"]["late"] == {"one": expected[0], "other": expected[1]}
    assert found.metrics_grid().rows[-1][0].text == "late jobs"
    assert "late jobs" in run_here("compare", str(folder / "fcfs"), str(folder / "easy"), "--metric", name).out
    everything = run_here(
        "compare", str(folder / "fcfs"), str(folder / "easy"), "--metric", "all", "--metric", name
    ).out
    assert "late jobs" in everything
    assert "offered load" in everything
    told = json.loads(run_here("compare", "--json", str(folder / "fcfs"), str(folder / "easy"), "--metric", name).out)
    assert told["metrics"]["late"]["one"] == pytest.approx(expected[0])


def test_labels_tell_of_tau(folder: Path) -> None:
    runs = str(folder / "fcfs"), str(folder / "easy")
    options = ("--metric", "mean_bounded_slowdown", "--metric", "mean_slowdown")
    assert "tau" not in run_here("compare", *runs, *options).out
    lines = run_here("compare", *runs, *options, "--tau", "60").out.splitlines()
    assert [line.split("  ")[0] for line in lines[:4] if "slowdown" in line] == [
        "mean bounded slowdown (tau = 60 s)",
        "mean slowdown",
    ]


def test_old_names_of_reported_schedules_warn() -> None:
    with pytest.warns(DeprecationWarning, match=r"TOLD_TOLERANCE is deprecated: use .*\.REPORTED_TOLERANCE instead"):
        assert comparing.TOLD_TOLERANCE == comparing.REPORTED_TOLERANCE
    schedule = Schedule(name="a", jobs=(), hosts=1, is_reported=True)
    with pytest.warns(DeprecationWarning, match=r"Schedule\.is_told is deprecated: use Schedule\.is_reported instead"):
        assert schedule.is_told


def test_parts_of_simulations_are_told(tmp_path: Path, folder: Path) -> None:
    """An interrupted simulation leaves its files without a schedule.json."""
    for each in (folder / "easy").iterdir():
        if each.name != "schedule.json":
            (tmp_path / each.name).write_bytes(each.read_bytes())
    rows = (tmp_path / "jobs.csv").read_text().splitlines()
    (tmp_path / "jobs.csv").write_text("\n".join(rows[:100]) + "\n")
    part = read_schedule(tmp_path, name="part")
    assert "it may be a part of a simulation" in part.remarks[1]
    assert part.remarks[0] == "its number of hosts is not known: 32, up to the last one that a job had"
    assert (
        "151 jobs are not in part: the metrics of the two runs are over other jobs"
        in compare(part, read_schedule(folder / "easy")).facts()
    )
    assert read_schedule(folder / "easy").remarks == ()
    assert read_schedule(tmp_path, hosts=32).remarks == part.remarks[1:]
    done = run_here("compare", str(tmp_path), str(folder / "easy"))
    assert "it has no schedule.json" in done.err
    (tmp_path / "machine_states.csv").unlink()  # a table alone is no folder of Batsim's
    assert read_schedule(tmp_path).remarks == part.remarks[:1]
