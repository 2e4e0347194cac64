"""What version 0.2 wrote is read: stores of studies and campaigns, recordings, and pickles of values.

`tests/data/version_0_2.tar.xz` has files of the release 0.2.0, and of a tree shortly before modules were moved: a
store of four runs, a store of campaigns with a campaign under way and one that waits, a recording in each form, values
of `kept_values.py`, and a simulation under way.
"""

from __future__ import annotations

import json
import pickle
import shutil
import tarfile
import warnings
from pathlib import Path

import kept_values
import pytest
from commands import run_here
from support import DATA

from batprotocol.policies import named
from batprotocol.recordings import Capture
from batprotocol.simulator import simulate
from batprotocol.studies import read_rows

WITHOUT_ENGINE = True

VERSIONS = ("0.2.0", "0.2.0-late")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    with tarfile.open(DATA / "version_0_2.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(params=VERSIONS)
def kept(request: pytest.FixtureRequest, unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a version, which is also the current one."""
    version: str = request.param
    folder = tmp_path / version
    shutil.copytree(unpacked / version, folder)
    monkeypatch.chdir(folder)
    return folder


def test_pickled_values_are_those_of_today(kept: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        then = pickle.loads((kept / "values.pickle").read_bytes())
    assert {warning.category for warning in caught} == {DeprecationWarning}
    now = kept_values.values(".")
    assert set(now) - set(then) == (set() if kept.name == "0.2.0-late" else {"metrics"}), "metrics were fewer"
    for name, value in then.items():
        if name == "rows":  # their metrics were computed by the version of then
            assert [row.axes for row in value] == [row.axes for row in now[name]]
        elif name in ("platform", "workload"):
            assert repr(value) == repr(now[name])
        elif name == "jobs" and kept.name == "0.2.0":  # the clock of then began later
            assert [job.job_id for job in value] == [job.job_id for job in now[name]]
        else:
            assert value == now[name], name
    simulated = simulate(then["platform"], [then["workload"]], named("easy")())
    assert tuple(simulated.jobs) == now["jobs"]


def test_a_simulation_under_way_is_refused_in_a_sentence(kept: Path) -> None:
    sentence = (
        r"No module named 'batprotocol\.simulator\.\S+': if a pickle has it, it is a simulation under way, which only"
        " the version of batprotocol that wrote it can read"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with pytest.raises(ModuleNotFoundError, match=sentence):
            pickle.loads((kept / "simulator.pickle").read_bytes())


@pytest.mark.slow
def test_the_store_of_a_study(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = read_rows("study.runs", all=True)
    assert sorted((row.axes["scheduler"], row.axes["seed"]) for row in rows) == [
        ("easy", 0),
        ("easy", 1),
        ("fcfs", 0),
        ("fcfs", 1),
    ]
    assert all(row.state == "done" and row.metrics["makespan"] > 0 for row in rows)
    listed = run_here("study", "list", "study.runs")
    assert [line.split()[1] for line in listed.out.splitlines()] == ["done"] * 4
    (kept / "study.runs" / "index.sqlite").unlink()
    monkeypatch.setattr("batprotocol.studies.runs.version", lambda: "0.2.0")
    known = run_here("study", "run", "study.toml", "-j", "1")
    # The simulations of the release are others than those of today: its runs stay, and new ones are added.
    there = "0 done, 0 failed, 4 were in the store" if kept.name == "0.2.0-late" else "4 done, 0 failed"
    assert known.out.startswith(f"4 runs: {there}; ")
    assert len(list((kept / "study.runs" / "runs").glob("*/*"))) == (4 if kept.name == "0.2.0-late" else 8)
    merged = run_here("study", "merge", "merged.runs", "study.runs")
    assert (merged.status, "runs copied" in merged.out) == (0, True)


def test_recordings(kept: Path) -> None:
    names = sorted(path.name for path in kept.iterdir() if "run" in path.name or path.name == "folder")
    names.remove("study.runs")
    texts = set()
    for name in names:
        with Capture(name) as capture:
            assert capture.is_whole
            assert len(tuple(capture.jobs())) == 12
            texts.add(json.dumps([str(entry.message) for entry in capture]))
        checked = run_here("check", name)
        assert checked.out == f"ok {name}: 56 messages, nothing wrong\n"
    assert len(texts) == 1, "each form has the same messages"
    checked = run_here("check", "old.tar.xz")
    assert (checked.status, checked.out) == (0, "ok old.tar.xz: 54 messages, nothing wrong\n")


@pytest.mark.slow
def test_the_store_of_campaigns(kept: Path) -> None:
    """The loop takes up both campaigns."""
    words = ("grid", "--store", "grid.db", "--user", "user")
    (kept / "here.cluster").mkdir()
    before = run_here(*words, "stat").out.splitlines()[2:]
    assert [line.split()[-2:] for line in before] == [["1/3", "(33%)"], ["0/3", "(0%)"]]
    assert run_here(*words, "events", "-g").status == 0
    submitted = run_here(*words, "stat", "--json")
    assert submitted.status == 0
