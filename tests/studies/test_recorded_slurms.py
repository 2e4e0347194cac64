"""Recordings of a real Slurm are read, simulated again, and compared with their replays."""

from __future__ import annotations

import copy
import json
import lzma
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slurm_recordings import recording
from support import DATA

from batprotocol.cli.main import main
from batprotocol.errors import InputError
from batprotocol.model import FinalJobState
from batprotocol.studies.comparing.pairs import causes_of
from batprotocol.studies.recorded import recorded_schedule, replay, replayed, replayed_schedule, unfollowed_of
from batprotocol.studies.slurm_moments import phases_of
from batprotocol.studies.slurm_recordings import (
    SlurmRun,
    component_numbers,
    is_recorded,
    parts_of,
    read_recording,
    read_recordings,
)

WITHOUT_ENGINE = True

REPLAYS = DATA / "slurm" / "replays"
BACKFILL = REPLAYS / "b_backfill_00.json.xz"


def diff(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as left:
        main(["diff", *map(str, arguments)])
    return int(left.value.code or 0)


def kept(path: Path, run: Any) -> Path:
    path.write_text(json.dumps(run))
    return path


def changed(run: Any) -> dict[str, Any]:
    """A deep copy, to be changed."""
    return dict(copy.deepcopy(run))


def test_a_recording_is_like_its_replay(capsys: pytest.CaptureFixture[str]) -> None:
    assert diff(BACKFILL) == 0
    assert "36 of 36 starts within 3 s, 35 of 35 pairs in the same order, 36 starts on the same nodes" in (
        capsys.readouterr().out
    )


def test_the_last_full_run_before_the_first_job_is_known() -> None:
    """Other full runs follow it: before, one was due when the first job came, if that was after a full run."""
    run = changed(recording(BACKFILL))
    first = min(each["t_returned"] for each in run["submissions"])
    assert phases_of(run).full < 0
    full = [first - each for each in (1.9, 1.2, 0.7)]
    run["log"] = sorted(
        [*run["log"], *([time, "debug:  sched: Running job scheduler for full queue."] for time in full)]
    )
    assert phases_of(run).full == full[-1]


@pytest.mark.parametrize("speed", [5.0, 10.0, 20.0])
def test_nodes_are_clean_after_moments_of_the_recorded_clock(speed: float) -> None:
    assert phases_of(changed(recording(BACKFILL)) | {"speed": speed}).epilog == pytest.approx(0.0085 * speed)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["-n2", ":", "-n1", "--array=0-3"], "a heterogeneous job cannot be an array, and sbatch refuses it"),
        (["-n2", ":", "n1"], "expected an option of sbatch, got 'n1'"),
        (["-Z", "3"], "expected an option of sbatch, got '-Z'"),
        (["--no-such=1"], "the option --no-such of sbatch is not known"),
        (["-n2", "--mem"], "expected a value behind the option '--mem' of sbatch"),
        (["5"], "expected an option of sbatch, got '5'"),
        (["--gpus=v100:"], "expected a number of GPUs"),
    ],
)
def test_options_that_cannot_be_read_are_named(args: list[str], why: str, caplog: pytest.LogCaptureFixture) -> None:
    run = changed(recording(BACKFILL))
    run["submissions"][0]["args"] = args
    if "--gpus" in args[0]:  # as a job that sbatch refuses
        replay(run)
        assert why in caplog.text
    else:
        with pytest.raises(InputError, match=re.escape(why)):
            replay(run)


INHERITED: dict[str, tuple[str, list[str | None]]] = {
    "time=5 : nodes=1": ("time", ["5", "5"]),
    "nodes=1 : time=5": ("time", ["5", "5"]),
    "time=5 : time=3 : nodes=1": ("time", ["5", "3", "3"]),
    "time-min=1 : nodes=1": ("time-min", ["1", "1"]),
    "nice=7 : nice=9": ("nice", ["7", "9"]),
    "nodes=1 : nice=30": ("nice", ["30", "30"]),
    "nodes=1 : begin=now+9": ("begin", ["now+9", "now+9"]),
    "nodes=1 : no-requeue=": ("no-requeue", ["", ""]),
    "mem=100 : nodes=1": ("mem", ["100", "100"]),
    "exclude=n0 : nodes=1": ("exclude", ["n0", "n0"]),
    "nodelist=n1 : nodes=1": ("exclude", [None, "n1"]),
    "partition=p : nodes=1": ("partition", ["p", None]),
    "nodes=1 : partition=p": ("partition", [None, "p"]),
    "constraint=a : nodes=1": ("constraint", ["a", None]),
    "licenses=a : nodes=1": ("licenses", ["a", None]),
    "contiguous= : nodes=1": ("contiguous", ["", None]),
    "nodelist=n1 : nodelist=n2": ("nodelist", ["n1", "n2"]),
}
"""Options of components, and the values of one that `scontrol show job` had of each component in Slurm 22.05.8."""


@pytest.mark.parametrize("text", INHERITED)
def test_components_inherit_as_with_a_real_sbatch(text: str) -> None:
    name, values = INHERITED[text]
    options = [(word.partition("=")[0], word.partition("=")[2]) for word in text.split()]
    assert [part.get(name) for part in parts_of(options)] == values


def test_a_component_has_the_number_that_commands_name() -> None:
    run = changed(recording(BACKFILL))
    run["submissions"][0] |= {"id": 5, "args": ["-n1", ":", "-n2", ":", "-n3"]}
    numbers = component_numbers(run)
    assert numbers == {"5": ("5+0", "5+1", "5+2"), "6": ("5+1",), "7": ("5+2",)}


OPTIONS = st.sampled_from(["--hint=multithread", "--overcommit", "--deadline=now+9", "--mincpus=1", "--signal=9@60"])


@settings(max_examples=10)
@given(st.sets(OPTIONS, min_size=1), st.integers(1, 5))
def test_options_that_are_not_followed_are_named_and_change_nothing(options: set[str], jobs: int) -> None:
    run = changed(recording(BACKFILL))
    before = replayed(run)
    for each in run["submissions"][:jobs]:
        each["args"] = [*each["args"], *options]
    told = unfollowed_of(run)
    assert [each.partition(" ")[0] for each in told] == sorted(each.partition("=")[0] for each in options)
    assert all(f"({jobs} job" in each for each in told)
    assert replayed(run) == before


def test_each_changed_start_is_reported_with_its_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = changed(recording(BACKFILL))
    late, moved = run["starts"][3], run["starts"][-1]
    late["t"] += 200.0
    moved["nodes"] = "n0" if moved["nodes"] != "n0" else "n1"
    assert diff("--jobs", kept(tmp_path / "run.json", run)) == 1
    lines = capsys.readouterr().out.splitlines()
    names = [line.partition(":")[0] for line in lines if line.startswith("w0!")]
    assert {f"w0!{late['job']}", f"w0!{moved['job']}"} <= set(names)
    causes = [line for line in lines if line.startswith("  ")]
    assert len(causes) >= 2
    assert lines[-1].startswith("Agreement: 35 of 36 starts within 3 s")


def test_the_loop_that_starts_a_job_is_named_if_it_differs() -> None:
    run = changed(recording(BACKFILL))
    start = run["starts"][5]
    start["t"] += 100.0
    start["by"] = "main" if start["by"] == "backfill" else "backfill"
    both = recorded_schedule(run, "recorded"), replayed_schedule(replay(run), "replay")
    cause = causes_of(*both, tolerance=3.0)[f"w0!{start['job']}"]
    other = both[1].by[f"w0!{start['job']}"]
    assert f"{start['by']} starts it in the first run, and {other} in the second one" in cause.sentence


def test_what_operators_did_is_read() -> None:
    """Reading keeps all that a replay takes of a recording: also the times of commands."""
    path = REPLAYS / "g_failures_04.json.xz"
    run = read_recording(str(path))
    assert run["events"]
    assert replayed(run) == replayed(recording(path))


@pytest.mark.parametrize("name", ["g_failures_04", "qospreempt_02", "e_depend_00"])
def test_schedules_have_each_start_of_each_job(name: str) -> None:
    run = read_recording(str(REPLAYS / f"{name}.json.xz"))
    found = recorded_schedule(run, name)
    assert [row.starting_time for row in found.jobs] == [start["t"] for start in run["starts"]]
    names = {f"{row.workload_name}!{row.job_id}" for row in found.jobs}
    assert len(names) == len(run["starts"])
    ends = [row.finish_time for row in found.jobs]
    last = max(time for time, _ in run["log"])
    records = [job["EndTime"] for job in run.get("jobcomp", ()) if isinstance(job["EndTime"], float)]
    assert all(end is not None and end <= max(last, *records, 0.0) for end in ends)


def test_ends_are_those_of_the_records_of_jobs() -> None:
    """The records of scontrol, which the schedule does not read, are the oracle for jobs that ran once."""
    run = read_recording(str(REPLAYS / "e_depend_00.json.xz"))
    records = {job["JobId"]: job for job in run["result_jobs"]}
    states = {"COMPLETED": FinalJobState.COMPLETED_SUCCESSFULLY, "FAILED": FinalJobState.COMPLETED_FAILED}
    compared = 0
    for row in recorded_schedule(run, "run").jobs:
        record = records.get(row.job_id)
        if record is not None and record["Restarts"] == "0" and isinstance(record["EndTime"], float):
            compared += 1
            assert row.finish_time == pytest.approx(record["EndTime"], abs=1.0)
            assert row.final_state == states.get(record["JobState"], row.final_state)
    assert compared > 20


def test_a_run_of_an_archive_is_named_by_its_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = changed(recording(BACKFILL))
    archive = tmp_path / "two.json.xz"
    archive.write_bytes(lzma.compress(json.dumps([one | {"seed": 4}, one | {"seed": 7}]).encode()))
    assert [run["seed"] for run in read_recordings(archive)] == [4, 7]
    assert read_recording(f"{archive}?seed=7")["seed"] == 7
    assert diff(archive) == 2
    assert f"name one, such as '{archive}?seed=4'; its seeds are 4, 7" in capsys.readouterr().err
    assert diff(f"{archive}?seed=5") == 2
    assert "no run with the seed '5': its seeds are 4, 7" in capsys.readouterr().err


def test_a_recording_is_compared_with_another_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = changed(recording(BACKFILL))
    run["starts"][0]["t"] += 50.0
    assert diff(BACKFILL, kept(tmp_path / "other.json", run)) == 1
    assert f"w0!{run['starts'][0]['job']}: " in capsys.readouterr().out


def test_only_recordings_have_a_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "jobs.csv"
    table.write_text("job_id,submission_time,starting_time,finish_time,allocated_resources\n1,0,0,1,0\n")
    assert not is_recorded(str(table))
    assert diff(table) == 2
    assert "only a recording of a Slurm has a replay" in capsys.readouterr().err


SMALL: dict[str, Any] = {
    "config": "small",
    "seed": 1,
    "speed": 10,
    "t0_epoch_mod_86400": 0,
    "slurm_conf": {"SchedulerParameters": "bf_interval=10", "PriorityType": "priority/multifactor"},
    "dbd": False,
    "setup": [["sacctmgr -i add account a1 fairshare=2", ""]],
    "nodes": [{"count": 4, "conf": "CPUs=1"}],
    "partitions": ["PartitionName=all Nodes=ALL Default=YES"],
    "submissions": [
        {"id": 1, "t_returned": 2.0, "args": ["-N", "2", "-t", "1", "-d", "singleton"], "run": 20, "user": "u1"},
        {"id": 2, "t_returned": 3.0, "args": ["--array=0-1%1", "-N1", "--begin=now+5"], "runs": [5, 6], "exit": 1},
    ],
    "events": [{"t_sent": 4.0, "t_returned": 4.1, "cmd": ["scancel", "2"], "out": ""}],
    "starts": [{"t": 2.5, "by": "main", "job": "1", "nodes": "n[0-1]", "partition": "all"}],
    "log": [[1.0, "Running job scheduler"], [2.0, "_slurm_rpc_submit_batch_job: JobId=1 InitPrio=1"]],
}
VALUES = st.one_of(
    st.none(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "-N", "-t", "--array=0-999999999", "1-", "9" * 5000, "n[0-99999999]", "-d", "\ud800", "-Q"]),
    st.text(max_size=6),
    st.just([]),
    st.just({}),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, each in inside for found in places(each, (*path, key)))]


def test_the_recording_to_be_changed_is_simulated(tmp_path: Path) -> None:
    """Otherwise, the test below shows nothing."""
    found = read_recording(str(kept(tmp_path / "small.json", SMALL)))
    assert [start.job for start in replay(found).starts] == ["1"]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_changed_recording_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    run = copy.deepcopy(SMALL)
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(places(run)[1:]))
        inner: Any = run
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = data.draw(VALUES)
    file = kept(tmp_path_factory.getbasetemp() / "changed.json", run)
    with suppress(InputError):
        found: SlurmRun = read_recording(str(file))
        replayed_schedule(replay(found), "replay")
        recorded_schedule(found, "recorded")


@pytest.mark.parametrize(
    ("key", "value"), [("speed", 0), ("speed", 5e12), ("t0_epoch_mod_86400", -1), ("t0_epoch_mod_86400", 86_400)]
)
def test_clocks_that_no_machine_has_are_refused(tmp_path: Path, key: str, value: float) -> None:
    with pytest.raises(InputError, match=key):
        read_recording(str(kept(tmp_path / "changed.json", {**SMALL, key: value})))


RUBBISH = [b"", b"{", b"[1]", b'{"config": 3}', b"\xfd7zXZ\x00rubbish", lzma.compress(b"{}")[:-9]]


@pytest.mark.parametrize("content", RUBBISH)
def test_rubbish_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rubbish.json"
    path.write_bytes(content)
    assert not is_recorded(str(path)) or content.startswith(b"{")
    with pytest.raises(InputError):
        read_recording(str(path))


def test_a_node_that_returns_has_jobs_in_the_run_of_a_loop_of_the_same_millisecond() -> None:
    """The run had come because of a node that was clean then. Before, the job started 40 s later."""
    run = recording(REPLAYS / "returned_106.json.xz")
    (found,) = (start for start in replay(run).starts if start.job == "9_2")
    assert found.time == pytest.approx(134.755, abs=0.01)
    assert found.nodes == "n0,n2,n3"
