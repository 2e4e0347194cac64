"""Known answers of studies: files that travel, outcomes, and the command lines of Batsim."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from batprotocol.edc.embedded.options import library
from batprotocol.edc.scheduler import LoadError
from batprotocol.errors import InputError, SchedulerError, StudyError
from batprotocol.model import DelayProfile, Message
from batprotocol.policies.names import named
from batprotocol.simulator import Platform, StaticJob, Workload
from batprotocol.studies import Progress
from batprotocol.studies._inputs import _Recent
from batprotocol.studies._simulation import _LOADED, Keeper, simulate_with
from batprotocol.studies.execution import _count, _in_turn, is_study
from batprotocol.studies.runs import KINDS, Run, Task, TimeOver, failed, is_full
from batprotocol.studies.sources import StudyFiles
from batprotocol.workloads import EXAMPLE_PLATFORM, read_platform

WITHOUT_ENGINE = True

SMALL = "lublin:16?jobs=15"
NAN, INF = math.nan, math.inf


# Files


def test_files_travel(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b").write_bytes(b"22")
    files = StudyFiles.read(str(tmp_path), ["a", "sub/b"])
    digests = [hashlib.sha256(each).hexdigest() for each in (b"1", b"22")]
    assert files.digests == tuple(digests)
    assert files.digest == hashlib.sha256(f"a\0{digests[0]}\0sub/b\0{digests[1]}\0".encode()).hexdigest()
    assert StudyFiles.read(str(tmp_path), ["sub/b", "a"]).digest == files.digest
    assert files.located("unused") == str(tmp_path)
    packed = files.packed()
    assert packed.contents == (b"1", b"22")
    (tmp_path / "a").write_bytes(b"changed")
    other = packed.located(str(tmp_path / "other"))
    assert other == str(tmp_path / "other" / files.digest)
    assert Path(other, "sub/b").read_bytes() == b"22"
    assert packed.located(str(tmp_path / "other")) == other
    for use in (files.packed, lambda: files.located("unused")):
        with pytest.raises(StudyError, match="it has changed since the study began: run the study again"):
            use()
    (tmp_path / "a").unlink()
    assert files._missing() == "a"


def test_inputs_that_were_used_last_are_kept() -> None:
    made: list[str] = []

    def want(name: str) -> str:
        return recent.wanted(name, lambda: made.append(name) or name.upper())  # type: ignore[func-returns-value]

    recent = _Recent(2)
    assert [want(name) for name in "abacab"] == list("ABACAB")
    assert made == list("abcb")
    assert list(recent) == ["a", "b"]


# Outcomes


def test_kinds_of_failures() -> None:
    found = {
        "time": TimeOver(),
        "memory": MemoryError(),
        "input": InputError("no file"),
        "scheduler": LoadError("no class"),
        "disk": OSError(errno.ENOSPC, "full"),
        "exception": ValueError("a\nb"),
    }
    outcomes = {kind: failed(error, 2.5) for kind, error in found.items()}
    assert {kind: (each.state, each.kind) for kind, each in outcomes.items()} == {
        kind: ("failed", kind) for kind in found
    }
    assert [each.error for each in outcomes.values()] == [
        "it took more than 2.5 s: raise `timeout`",
        "it took more memory than the study allows: raise `memory`",
        "no file",
        "no class",
        "[Errno 28] full",
        "ValueError: a b",
    ]
    assert outcomes["exception"].traceback == "ValueError: a\nb\n"
    assert len(KINDS) == 11
    full = [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG]
    assert [is_full(OSError(number, "")) for number in (*full, errno.ENOENT)] == [True] * 4 + [False]
    assert not is_full(ValueError())


def test_progress() -> None:
    progress = Progress(total=10, completed=2, done=3, failed=1, seconds=2.0)
    assert (progress.remaining, progress.rate) == (4, 2.0)
    assert Progress(total=10, done=3).rate == 0.0
    listed = [Run.of({"seed": seed}, Task(scheduler="a", workload="w", init=str(seed))) for seed in range(3)]
    assert (_in_turn(list(listed), 0), _in_turn(list(listed), 1)) == (listed, listed[::-1])
    assert {run.key for run in _in_turn(list(listed), 2)} == {run.key for run in listed}
    assert (_count(4, 2), _count(2, 4), _count(1, 0)) == (2, 2, 0)
    with pytest.raises(StudyError, match="expected at least one process, got 0; use 1 or more"):
        _count(0, 4)
    assert is_study("nowhere/A.TOML")
    assert not is_study("nowhere/a.runs")


# Batsim's command lines

RECORDER = (sys.executable, "-S", "-c", "import json, sys; json.dump(sys.argv[1:], open('words', 'w'))")


def words(folder: Path, *more: str, platform: Platform | None = None, **keys: Any) -> tuple[list[str], str, list[str]]:
    """The words that a program is started with in the place of Batsim, how its run ended, and the files made for it."""
    scratch = Path(tempfile.mkdtemp(dir=folder))
    (scratch / "out").mkdir()
    events = keys.pop("event_files", [])
    path = keys.pop("workload_path", "")
    command = (*RECORDER, *more)
    task = Task(**{"scheduler": "easy", "workload": "w.json", "batsim": command, **keys})
    workload = Workload([StaticJob("1", 0.0, 1, DelayProfile(1.0))])
    machine = platform or Platform.homogeneous(2)
    outcome, joules = simulate_with(task, named("easy")(), machine, workload, path, "", events, str(scratch))
    assert outcome is not None
    assert (outcome.state, outcome.kind, joules) == ("failed", "batsim", None)
    found = json.loads((scratch / "words").read_text())
    texts = [path.read_text() for path in sorted(scratch.iterdir()) if path.suffix in (".py", ".xml", ".json")]
    return [word.replace(str(scratch), "HERE") for word in found], outcome.error, texts


def test_the_options_of_batsim(tmp_path: Path) -> None:
    usual = ["-p", "HERE/platform.xml", "-w", "HERE/workload.json", "-e", "HERE/out/"]
    socket = ["--edc-socket-str", "ipc://HERE/edc.sock"]
    found, error, (platform, workload) = words(tmp_path, init="some text")
    assert found == [*usual, *socket, "some text"]
    name = Path(sys.executable).name
    assert error == f"{name} ended with status 0 before the simulation was over"
    assert platform.startswith("<?xml")
    assert [job["res"] for job in json.loads(workload)["jobs"]] == [1]
    machine: dict[str, Any] = {"master": "m", "mmax": 3, "roles": {"h": "storage", "i": "master"}}
    found, *_ = words(tmp_path, energy=True, **machine)
    ends = ["-m", "m", "--mmax", "3", "-r", "h", "storage", "-r", "i", "master"]
    assert found == [*usual, "--energy-host", *socket, "", *ends]
    found, *_ = words(tmp_path, event_files=["e.txt", "f.txt"])
    assert found == [*usual, "--events", "e.txt", *socket, ""]


def test_placeholders_of_a_command(tmp_path: Path) -> None:
    given = ["x", "--at={endpoint}", "{energy}--watts", "{energy}", "{platform}{init}", "{events}", "{library}"]
    assert words(tmp_path, *given, init="I")[0] == [
        *("x", "--at=ipc://HERE/edc.sock", "HERE/platform.xmlI", "", "{library}")
    ]
    assert words(tmp_path, *given, energy=True)[0][2:4] == ["--watts", ""]


def test_files_that_batsim_reads(tmp_path: Path) -> None:
    command = ["{platform}", "{workload}"]
    platform = read_platform(EXAMPLE_PLATFORM)
    for workload, expected in (
        ("w.json", "w.json"),
        ("w.swf", "HERE/workload.json"),
        ("w.swf.gz", "HERE/workload.json"),
    ):
        found, *_ = words(tmp_path, *command, platform=platform, workload=workload, workload_path=workload)
        assert found == [EXAMPLE_PLATFORM, expected]
    changed: list[dict[str, Any]] = [{"changes": {"arrival-factor": "2"}}, {"workload": "w.json?jobs=0-1"}]
    for keys in changed:
        assert words(tmp_path, *command, workload_path="w.json", **keys)[0][1] == "HERE/workload.json"


def test_schedulers_that_batsim_loads(tmp_path: Path) -> None:
    try:
        path = library()
    except SchedulerError:
        pytest.skip("it was not compiled")
    found, error, texts = words(tmp_path, in_process=True, init="mine", arguments={"a": 1})
    assert found[:8] == [
        *("-p", "HERE/platform.xml", "-w", "HERE/workload.json", "-e", "HERE/out/", "--edc-library-str", path)
    ]
    about = json.loads(found[8])
    assert (about["init"], about["scheduler"]) == ("mine", "HERE/study_scheduler.py:Chosen")
    assert (about["record"], about["report"]) == ("HERE/recording.tar.xz", "HERE/report")
    assert error == f"{Path(sys.executable).name} ended with status 0: it has not loaded the scheduler"
    assert texts[1] == _LOADED.format(target="easy", arguments={"a": 1}, root="")


def test_a_keeper_writes_nothing_before_the_hello(tmp_path: Path) -> None:
    keeper = Keeper(str(tmp_path))
    keeper.sent(Message(0.0, []))
    keeper.save()
    assert os.listdir(tmp_path) == []
