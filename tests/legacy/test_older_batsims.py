"""What commands do with Batsims and schedulers that speak text, and with workloads of their time."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from commands import run_here
from old_runs import TextRun, text_run
from support import ROOT

from batprotocol.errors import PeerGone
from batprotocol.legacy.text.runtime import UnixLine
from batprotocol.simulator import read_workload

WITHOUT_ENGINE = True
FCFS = f"{ROOT / 'examples' / 'fcfs.py'}:FCFS"
OLD = {
    "nb_res": 4,
    "jobs": [{"id": 1, "subtime": 0, "res": 1, "profile": "d"}],
    "profiles": {"d": {"type": "delay", "delay": 3}},
}


def batsim(run: TextRun, path: str) -> threading.Thread:
    """A Batsim that says what it said, whatever it hears."""

    def speak() -> None:
        line = UnixLine(path, listens=True, timeout=20)
        for said in run.said("batsim"):
            line.exchange(said)
        line.close()

    thread = threading.Thread(target=speak, daemon=True)
    thread.start()
    return thread


def scheduler(path: str, version: int) -> threading.Thread:
    """A scheduler of old that executes each job on machine 0 as soon as it is submitted."""

    def speak() -> None:
        line = UnixLine(path, listens=False, timeout=20)
        while True:
            try:
                received = line.receive()
            except PeerGone:
                return
            head, *events = received.decode().split("|")
            now = head.partition(":")[2]
            said = [f"{now}:J:{event.split(':')[2]}=0" for event in events if event.split(":")[1] == "S"]
            line.send("|".join([f"{version}:{now}", *(said or [f"{now}:N"])]).encode())

    thread = threading.Thread(target=speak, daemon=True)
    thread.start()
    return thread


def workload(run: TextRun, folder: Path) -> str:
    path = folder / "workload.json"
    path.write_bytes(
        next(data for name, data in run.files.items() if name.startswith("in/") and name.endswith(".json"))
    )
    return str(path)


@pytest.mark.parametrize("name", ["text-0__filler_sched__pair", "text-1__own_reject__precise"])
def test_a_scheduler_of_today_is_run_for_batsims_that_speak_text(name: str, tmp_path: Path) -> None:
    run, path = text_run(name), str(tmp_path / "socket")
    thread = batsim(run, path)
    options = ("--protocol", f"text-{run.version}", "--endpoint", f"unix:{path}", "--timeout", "20")
    told = run_here("run", *options, "--jobs", workload(run, tmp_path), FCFS)
    assert told.status == 0, told.err
    thread.join(20)


@pytest.mark.parametrize("version", [0, 1])
def test_the_embedded_batsim_speaks_text(version: int, tmp_path: Path) -> None:
    path, file = str(tmp_path / "socket"), tmp_path / "workload.json"
    file.write_text(json.dumps(OLD))
    scheduler(path, version)
    options = ("--protocol", f"text-{version}", "--endpoint", f"unix:{path}", "--timeout", "20")
    told = run_here("simulate", *options, "-w", str(file))
    assert told.status == 0, told.err
    assert "profiles of Batsim 1 to 4" in told.err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--protocol", "text-1", "--endpoint", "unix:/tmp/nobody"), "add its workload, --jobs FILE"),
        (("--protocol", "text-3", "--endpoint", "unix:/tmp/nobody"), "add --redis HOST:PORT"),
        (("--protocol", "text-3", "--endpoint", "tcp://127.0.0.1:*"), "text needs a Unix socket"),
        (("--protocol", "text", "--endpoint", "unix:/tmp/nobody"), "give a version of text"),
        (("--protocol", "text-4", "--endpoint", "unix:/tmp/nobody"), "'text-0' to 'text-3'"),
        (("--jobs", "x.json"), "give --protocol, too"),
    ],
)
def test_what_cannot_be_had_is_refused_in_a_sentence(options: tuple[str, ...], sentence: str) -> None:
    told = run_here("run", *options, FCFS)
    assert told.status == 2
    assert sentence in told.err


def test_a_workload_of_old_is_converted(tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps(OLD))
    told = run_here("convert", str(old), str(new))
    assert told.status == 0, told.err
    assert json.loads(new.read_text())["profiles"] == {"d": {"type": "DelayProfile", "delay": 3}}
    assert not read_workload(new).is_older
    assert read_workload(new).profiles == read_workload(old).profiles
    old.write_text(json.dumps({**OLD, "profiles": {"d": {"type": "send"}}}))
    assert "profiles.d.type: 'send' is not supported: in Batsim 5" in run_here("convert", str(old), str(new)).err
