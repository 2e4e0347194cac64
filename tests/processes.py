"""Decision components as processes: `batproto run` with a recorded simulator, and schedulers for it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from replay import PATIENCE
from support import ROOT, runs

SOON = float(os.environ.get("BATPROTOCOL_TEST_SOON", "60"))
"""Seconds after which a signal must have ended a wait, or an exception the process. On a quiet machine, 1 will do."""

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]), "PYTHONUTF8": "1"}
BATPROTO = (sys.executable, "-m", "batprotocol")
FCFS = str(ROOT / "examples" / "fcfs.py") + ":FCFS"
REPLAY = (sys.executable, str(ROOT / "tests" / "replay.py"), "{endpoint}")

SCHEDULERS = """
import abc, os, sys, time
from batprotocol.edc import Scheduler

class Quiet(Scheduler):
    def on_init(self, text):
        print("init:", text, flush=True)

class Refused(Scheduler):
    def on_simulation_begins(self, event):
        self.reply.add_execute_job("w0!nobody", "0")  # this line

class Failing(Scheduler):
    def on_simulation_begins(self, event):
        raise LookupError("lost")

class Exiting(Scheduler):
    def on_simulation_begins(self, event):
        sys.exit(7)

class Endless(Scheduler):
    def on_simulation_begins(self, event):
        print("thinking", flush=True)
        while True:
            pass

class Core(Scheduler):
    def on_simulation_ends(self, event):
        print("scheduler", *os.sched_getaffinity(0), flush=True)

class NotAScheduler:
    pass

class WithArguments(Scheduler):
    def __init__(self, limit, *, width=2):
        pass

class Abstract(Scheduler, abc.ABC):
    @abc.abstractmethod
    def chosen(self):
        pass
"""


def archive(name: str) -> str:
    (found,) = [path for path in runs() if path.name == f"{name}.tar.xz"]
    return str(found)


BINARY = archive("exec1by1-custom-mapping__test_various_profile_types__binary")
JSON = archive("external-event-check__test_one_delay_job__json")


def batproto(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BATPROTO, *arguments], env=ENVIRONMENT, cwd=cwd, capture_output=True, text=True, check=False, timeout=PATIENCE
    )


@contextmanager
def started(command: Sequence[str], **options: object) -> Iterator[subprocess.Popen[str]]:
    """A process that has ended when the `with` ends."""
    process = subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )  # type: ignore[call-overload]  # options are Popen's own
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def lives(pid: int) -> bool:
    """Whether there is such a process. One that has ended is none, also where nobody asks how it ended."""
    try:
        if not os.path.isdir("/proc/self"):  # only Linux tells how a process is
            os.kill(pid, 0)
            return True
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def line_of(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().rstrip("\n")


def endpoint_of(process: subprocess.Popen[str]) -> str:
    """Where a `batproto run` without a command says that it waits."""
    line = line_of(process.stderr)
    assert line.startswith("batproto: waiting for a simulation at tcp://127.0.0.1:"), line
    return line.split()[-1]


def gone(pid: int) -> bool:
    """Whether a process has ended, or does so soon."""
    until = time.monotonic() + PATIENCE
    while lives(pid):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True
