"""The limits of a call hold whatever a study or a scheduler asks for, and end with the server, also if it is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from mcp_clients import play, said
from patience import until
from processes import gone
from replay import PATIENCE

from batprotocol.cli.mcp_server import CommandLimits

anyio = pytest.importorskip("anyio")
mcp = pytest.importorskip("mcp")

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow


SCHEDULERS = """
import os, signal, subprocess, sys, time
from batprotocol.edc import Scheduler

class Hog(Scheduler):
    def on_simulation_begins(self, event):
        kept = []
        try:
            while True:
                kept.append(b"x" * (8 << 20))
        except MemoryError:
            del kept[-4:]  # room for the rest
            path = {folder!r} + f"/{{os.getpid()}}"
            open(path + ".full", "w").close()
            while not os.path.exists(path + ".seen"):
                time.sleep(0.01)
            raise

class Endless(Scheduler):
    def on_simulation_begins(self, event):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            pass

class Parent(Scheduler):
    def on_simulation_begins(self, event):
        words = [sys.executable, "-c", "import time; time.sleep(600)"]
        child = subprocess.Popen(words, start_new_session=True)
        with open({folder!r} + f"/{{os.getpid()}}.started", "w") as file:
            file.write(f"{{os.getpid()}} {{os.getppid()}} {{child.pid}}\\n")
        time.sleep(600)
"""


def schedulers(folder: Path) -> None:
    (folder / "mine.py").write_text(SCHEDULERS.format(folder=str(folder)))


def resident(parent: int) -> int:
    """The memory of all processes beneath one, in bytes."""
    found: dict[int, tuple[int, int]] = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                words = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        found[int(name)] = int(words[1]), int(words[21]) * os.sysconf("SC_PAGE_SIZE")
    total, beneath = 0, {parent}
    while beneath:
        beneath = {each for each, (above, _) in found.items() if above in beneath}
        total += sum(found[each][1] for each in beneath)
    return total


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_study_cannot_raise_the_limit_of_the_memory(tmp_path: Path) -> None:
    schedulers(tmp_path)
    limit, peak, over = 1 << 30, 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.01):
            full = list(tmp_path.glob("*.full"))
            peak = max(peak, resident(os.getpid()))
            for each in full:
                each.with_suffix(".seen").touch()

    async def acts(client: Any) -> None:
        study = 'scheduler = "mine.py:Hog"\nworkload = "lublin:8?jobs=5"\nseed = "0-3"\nmemory = "64GB"\n'
        failed, text = await said(client, "study", toml=study)
        assert failed
        assert "memory" in text, text

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        play(CommandLimits(str(tmp_path), memory=limit, runs_code=True), acts)
    finally:
        over.set()
        thread.join()
    assert limit / 4 < peak < 1.1 * limit, f"{peak:,}"


def test_a_study_cannot_raise_the_limit_of_the_time(tmp_path: Path) -> None:
    schedulers(tmp_path)

    async def acts(client: Any) -> None:
        study = 'scheduler = "mine.py:Endless"\nworkload = "lublin:8?jobs=5"\ntimeout = 1e9\n'
        for tool, given in (
            ("study", {"toml": study}),
            ("simulate", {"policy": "mine.py:Endless", "workloads": ["lublin:8?jobs=5"]}),
        ):
            began = time.monotonic()
            failed, text = await said(client, tool, **given)
            assert failed
            assert "it took more than 5 s" in text
            assert time.monotonic() - began < 5.0 + PATIENCE

    play(CommandLimits(str(tmp_path), seconds=5.0, runs_code=True), acts)


def test_too_many_runs_are_refused_before_they_are_made(tmp_path: Path) -> None:
    study = 'scheduler = ["fcfs", "easy"]\nworkload = "lublin:16?jobs=30"\nseed = "{seeds}"\n'

    async def acts(client: Any) -> None:
        for seeds in ("0-49999", "0-999999", "0-999999999"):
            began = time.monotonic()
            failed, text = await said(client, "study", toml=study.format(seeds=seeds))
            assert failed
            assert "more than 1,000 runs" in text or "seeds are too many" in text, text
            assert time.monotonic() - began < PATIENCE

    play(CommandLimits(str(tmp_path)), acts)
    assert not list(tmp_path.glob("*.runs"))


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, only processes that watch their parent end with it")
def test_all_that_a_killed_server_has_started_goes(tmp_path: Path) -> None:
    """Also the processes of a study, programs that these have started in sessions of their own, and temporary files."""
    folder, scratch = tmp_path / "folder", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    schedulers(folder)
    study = 'scheduler = "mine.py:Parent"\nworkload = "lublin:8?jobs=5"\n'
    words = [sys.executable, "-m", "batprotocol", "mcp", "--schedulers", str(folder)]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdin is not None
        for message in (
            {"id": 1, "method": "initialize", "params": HELLO},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": "study", "arguments": {"toml": study}}},
        ):
            print(json.dumps({"jsonrpc": "2.0", **message}), file=process.stdin, flush=True)
        until(lambda: any(each.read_text().endswith("\n") for each in folder.glob("*.started")), PATIENCE, 0.05)
        pids = [int(pid) for each in folder.glob("*.started") for pid in each.read_text().split()]
        assert len(pids) == 3
        assert len(os.listdir(scratch)) == 1
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
    assert all(map(gone, pids))
    until(lambda: not os.listdir(scratch), PATIENCE, 0.05)
