"""`batproto study`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest
from commands import run_here
from disks import kinds, small_disk
from gates import Gate
from processes import BATPROTO, ENVIRONMENT, batproto
from support import ROOT

from batprotocol.errors import StudyError
from batprotocol.studies import Store, Study

WITHOUT_ENGINE = True

STUDY = """
scheduler = ["fcfs", "easy"]
workload = "lublin:16?jobs=15"
seed = "0-2"
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.mark.slow
@pytest.mark.long
def test_a_study_on_the_command_line(study: Path) -> None:
    path = str(study)
    dry = run_here("study", "run", path, "--dry-run", "--only", "scheduler=easy")
    assert [line.split()[1:3] for line in dry.out.splitlines()] == [["to", "run"]] * 3
    assert not study.with_name("study.runs").exists()
    done = batproto("study", "run", path, "--only", "seed=0,1", "-j", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("4 runs: 4 done, 0 failed; ")
    again = run_here("study", "run", path, "-j", "1")
    assert again.out.startswith("6 runs: 2 done, 0 failed, 4 were in the store; ")
    said, load, warning = run_here("study", "run", path).out.splitlines()
    assert said == "6 runs: 0 done, 0 failed, 6 were in the store; nothing to do"
    assert re.fullmatch(r"workload=lublin:16\?jobs=15: offered load [\d.]+ to [\d.]+", load)
    assert warning.startswith("in 4 of 6 runs the offered load is above 1 (up to 1.62)")
    dry = run_here("study", "run", path, "-n")
    assert [line.split()[1] for line in dry.out.splitlines()] == ["done"] * 6
    store = str(study.with_name("study.runs"))
    listed = [json.loads(line) for line in run_here("study", "list", store, "--json").out.splitlines()]
    assert [each["axes"]["scheduler"] for each in listed] == ["fcfs", "easy"] * 3
    assert len(run_here("study", "list", path, "--only", "scheduler=fcfs").out.splitlines()) == 3
    shown = run_here("study", "show", path, listed[0]["key"][:8])
    mean = f"{listed[0]['metrics']['mean_waiting_time']:g}"
    assert re.search(rf"^mean_waiting_time +{re.escape(mean)}$", shown.out, re.MULTILINE)
    merged = run_here("study", "merge", str(study.with_name("other.runs")), store)
    assert merged.out == f"{store}: 6 runs copied\n"
    assert len(run_here("study", "list", str(study.with_name("other.runs"))).out.splitlines()) == 6


@pytest.mark.slow
@pytest.mark.long
def test_failures_are_told_once(study: Path) -> None:
    study.with_name("own.py").write_text(
        "from batprotocol.edc import Scheduler\nclass Own(Scheduler):\n    def decide(self): raise KeyError('no')\n"
    )
    study.write_text(STUDY.replace('"easy"', '"own.py:Own"'))
    done = run_here("study", "run", str(study), "-j", "1")
    assert done.status == 1
    assert done.out.startswith("6 runs: 3 done, 3 failed; ")
    first, again, hint = done.err.splitlines()
    assert "scheduler=own.py:Own: KeyError: 'no', at simulated time " in first
    assert "3 x KeyError" in again
    assert hint.endswith("lists failed runs, and batproto study show prints the reasons")
    listed = run_here("study", "list", str(study), "--failed").out
    assert listed.count("KeyError") == 3
    shown = run_here("study", "show", str(study), listed.split()[0]).out
    assert "raise KeyError('no')" in shown
    recording = re.search(r"^recording +(.*)$", shown, re.MULTILINE)
    assert recording
    assert "SimulationBeginsEvent" in run_here("dump", recording[1]).out


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["run", "nowhere.toml"], 1, "batproto: nowhere.toml: no such file or directory"),
        (["run", "{}", "--only", "seed=9"], 1, "batproto: seed has no value '9'; it has 0, 1, 2"),
        (["run", "{}", "--only", "what=9"], 1, "batproto: expected AXIS=VALUE with one of the axes"),
        (["run", "{}", "--in-process"], 2, "batproto study run: --in-process is for a real Batsim: give --batsim, too"),
        (["run", "{}", "--batsim", "no-such-program"], 1, "batproto: batsim: there is no program 'no-such-program'"),
        (["run", "{}", "--batsim", "'"], 2, "batproto study run: --batsim: no closing quotation"),
        (["run", "{}", "--dask", "tcp://x", "-j", "2"], 2, "batproto study run: --processes is for this machine"),
        (["list", "nothing.runs"], 1, "batproto: nothing.runs: there is no such store"),
        (["show", "{}", "0"], 1, "study.runs: there is no such store"),
        (["merge", "here.runs", "nothing"], 1, "batproto: nothing: there is no such store"),
    ],
)
def test_mistakes_are_one_sentence(
    arguments: list[str], status: int, sentence: str, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study.parent)
    done = run_here("study", *(each.replace("{}", str(study)) for each in arguments))
    assert (done.status, done.out) == (status, "")
    assert sentence in done.err
    assert done.err.count("\n") == 1


BEFOREHAND = 4  # runs a process that may be under way: they can be kept together, and are counted when all are kept


@pytest.mark.slow
@pytest.mark.long
def test_ctrl_c_ends_at_once_and_loses_nothing(study: Path) -> None:
    runs, some = study.with_name("study.runs") / "runs", 3 + 2 * BEFOREHAND
    gate = Gate(study.parent, runs)
    gate.allow(some)
    study.write_text(STUDY.replace('"fcfs", "easy"', '"{}", "{}"'.format(*gate.schedulers)).replace("0-2", "0-99"))
    command = [*BATPROTO, "study", "run", str(study), "-j", "2"]
    with subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        while not runs.is_dir() or len(list(runs.glob("*/*"))) < some:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    found = re.search(r"interrupted; (\d+) of 200 runs are in the store, and the same command goes on\n$", said)
    assert found, said
    assert 3 <= int(found[1]) < 200
    with Store(study.with_name("study.runs"), writes=True) as store:
        assert int(found[1]) <= len(store.rows()) == len(list(runs.glob("*/*")))
    assert list((study.with_name("study.runs") / "unfinished").iterdir()) == []


@pytest.mark.slow
@pytest.mark.long
def test_a_full_disk_is_one_sentence_and_nothing_is_lost(study: Path) -> None:
    kind = kinds()[-1]
    study.write_text(STUDY.replace("jobs=15", "jobs=60"))
    with small_disk(kind, study.parent, 65536 if kind == "mounted" else 16384) as folder:
        done = batproto("study", "run", str(study), "-s", str(folder / "store"), "-j", "1")
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1, done.stderr
        assert "no space left" in done.stderr or "too large" in done.stderr or "full" in done.stderr
        if kind == "mounted":
            with Store(folder / "store") as store:
                kept = store.rows(all=True)
            whole = {row.key: row for row in Study.read(study).run(study.with_name("whole"), processes=1)}
            assert 0 < len(kept) < len(whole)
            for row in kept:
                for path in Path(row.folder).iterdir():
                    assert path.read_bytes() == (Path(whole[row.key].folder) / path.name).read_bytes()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(os.geteuid() == 0 and "mounted" not in kinds(), reason="root may write everywhere")
def test_a_store_that_is_read_only(study: Path) -> None:
    with small_disk("mounted", study.parent, 1 << 20) if os.geteuid() == 0 else nullcontext(study.parent) as folder:
        rows = Study.read(study).run(folder / "store", only=["seed=0"], processes=1)
        if os.geteuid() == 0:
            subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        else:
            for path in (folder / "store", *(folder / "store").glob("**/")):
                path.chmod(0o555)
        done = batproto("study", "run", str(study), "-s", str(folder / "store"), "-j", "1")
        assert done.returncode == 1
        assert "readonly" in done.stderr or "permission denied" in done.stderr
        assert done.stderr.count("\n") == 1
        assert list(Study.read(study).rows(folder / "store")) == list(rows)


@pytest.mark.slow
@pytest.mark.long
def test_the_example_has_150_runs_and_one_of_them_runs(tmp_path: Path) -> None:
    study = Study.read(ROOT / "examples" / "study.toml")
    assert len(study.runs()) == 150
    rows = study.run(tmp_path / "runs", only=["scheduler=easy", "arrival_factor=1.0", "seed=3"], processes=1)
    assert [row.state for row in rows] == ["done"]


@pytest.mark.slow
@pytest.mark.long
def test_schedulers_and_workloads_with_names_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine.py", "learned.py", "weights.bin", "KTH-SP2-1996-2.1-cln.swf.gz"):
        (tmp_path / name).write_text("")
    study = """
        scheduler = [
            "fcfs",
            "reservations=4",
            { scheduler = "mine.py:Mine", name = "careful", arguments = { depth = 10 } },
            { scheduler = "learned.py:Learned", files = ["weights.bin"], arguments = { seed = "{seed}" } },
        ]
        workload = { workload = "KTH-SP2-1996-2.1-cln.swf.gz", name = "KTH" }
        seed = [3]
    """
    runs = Study(**msgspec.toml.decode(study)).runs()
    assert [run.axes["scheduler"] for run in runs][2] == "careful"
    assert runs[3].task.arguments == {"seed": 3}
    assert {run.axes["workload"] for run in runs} == {"KTH"}


def test_a_name_that_is_no_file() -> None:
    with pytest.raises(StudyError, match="name: expected a text that can be the name of a file"):
        Study(scheduler="fcfs", name="../elsewhere")


@pytest.mark.slow
@pytest.mark.long
def test_a_log_says_how_far_a_study_is(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from batprotocol.studies.commands import _study_work as work

    monkeypatch.setattr(work, "_BETWEEN_SECONDS", 0.0)
    lines = run_here("study", "run", str(study), "-j", "1").out.splitlines()
    assert re.fullmatch(
        r"\d of 6 runs, [\d.e-]+/s, (less than a minute left|some \d+ min left|no run has ended yet)", lines[0]
    )
    assert lines[-3].startswith("6 runs: 6 done, 0 failed; ")


def test_a_dry_run_of_very_many_runs_prints_their_number(study: Path) -> None:
    study.write_text(STUDY.replace("0-2", "0-999999") + f"offered_load = {[n / 1000 for n in range(1, 501)]}")
    dry = run_here("study", "run", str(study), "--dry-run")
    assert dry.out == "1,000,000,000 runs: too many to list; --only AXIS=VALUE lists some\n"
    assert (
        run_here("study", "run", str(study), "-n", "--only", "seed=7", "--only", "offered_load=0.5").out.count("\n")
        == 2
    )
    refused = run_here("study", "run", str(study))
    assert refused.status == 1
    assert "it has 1,000,000,000 runs, and 10,000,000 is the maximum" in refused.err


@pytest.mark.slow
@pytest.mark.long
def test_tables_take_metrics_of_ones_own_and_corrections(study: Path) -> None:
    (study.parent / "mine.py").write_text("def jobs(rows, run):\n    'Jobs.'\n    return len(rows) / run.hosts\n")
    run_here("study", "run", str(study), "-j", "1")
    own = f"{study.parent / 'mine.py'}:jobs"
    lines = run_here("study", "table", str(study), "--metric", own, "--metric", "makespan").out.splitlines()
    assert lines[0].split() == ["scheduler", "jobs", "makespan", "[s]"]
    assert [line.split()[1:3] for line in lines[1:3]] == [["0.9375", "[0.9375,"]] * 2
    holm = run_here("study", "table", str(study), "--baseline", "fcfs", "--columns", "seed", "--holm", "--json")
    assert json.loads(holm.out)["correction"] == "holm"
    wrong = run_here("study", "table", str(study), "--metric", "none.py:jobs")
    assert (wrong.status, wrong.err.endswith("none.py' with the metric 'jobs'\n")) == (1, True)


def test_a_file_in_place_of_a_command(study: Path) -> None:
    found = run_here("study", str(study))
    assert (found.status, found.out) == (2, "")
    assert f"{study} is a file: type batproto study run {study}" in found.err
    assert "no such command 'runs'" in run_here("study", "runs").err.lower()
