"""Runs that Batsim simulates, or another program like it, which the scheduler serves, or which loads it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from batprotocol.edc import run
from batprotocol.edc.embedded.options import OPTION, Report, carried, library
from batprotocol.edc.scheduler import Scheduler
from batprotocol.errors import PeerGone
from batprotocol.simulator.inputs import Platform, Workload, platform_xml, workload_json
from batprotocol.studies.outcomes import FAILED, RECORDING, Outcome
from batprotocol.studies.runs import Task

__all__ = ["WORDS", "simulate_with"]

WORDS: Final = ("{platform}", "{workload}", "{events}", "{output}", "{endpoint}", "{init}", "{library}", "{energy}")
"""What is filled in; a word that begins with `{energy}` is the rest of it where energy is measured, else nothing."""

_USUAL: Final = ("-p", "{platform}", "-w", "{workload}", "-e", "{output}", "{energy}--energy-host")
_SOCKET: Final = ("--edc-socket-str", "{endpoint}", "{init}")
_LIBRARY: Final = (OPTION, "{library}", "{init}")
_PATIENCE: Final = 10.0
"""Seconds that Batsim has to end when its scheduler is done."""

_LOADED: Final = """
from batprotocol.studies.schedulers import Shelf

ARGUMENTS = {arguments!r}


class Chosen(Shelf().loaded({target!r}, ARGUMENTS, {root!r})):
    def __init__(self):
        super().__init__(**ARGUMENTS)
"""


class _Ended(Exception):
    """Batsim has ended while its scheduler waited for it."""


class _Batsim:
    """The program that simulates."""

    def __init__(self, words: Sequence[str], values: dict[str, str], energy: bool, folder: str) -> None:
        self._words, self._values, self._energy = words, values, energy
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, endpoint: str = "") -> None:
        """Start it, now that it can connect."""
        values = {**self._values, "{endpoint}": endpoint}
        words = []
        for word in self._words:
            if word.startswith("{energy}"):
                if not self._energy:
                    continue
                word = word.removeprefix("{energy}")
            for name, value in values.items():
                word = word.replace(name, value)
            words.append(word)
        # Its output goes where that of this process goes, which is kept of runs that fail.
        self._process = subprocess.Popen(words, cwd=self._folder, stdin=subprocess.DEVNULL)

    def check(self) -> None:
        """Called while its scheduler waits for it."""
        if self._process is not None and self._process.poll() is not None:
            raise _Ended

    def status(self, timeout: float | None = _PATIENCE) -> int | None:
        """Its exit status in the end; None if it does not end."""
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout)
        return None

    def stop(self) -> None:
        """End it, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def simulate_with(
    task: Task,
    scheduler: Scheduler,
    platform: Platform,
    workload: Workload,
    workload_path: str,
    root: str,
    events: Sequence[str],
    scratch: str,
) -> tuple[Outcome | None, float | None]:
    """Have Batsim simulate a run, into the folder `out` below `scratch`.

    Args:
        task: the run.
        scheduler: its scheduler.
        platform: its platform.
        workload: its workload.
        workload_path: the file of that, or "".
        root: the folder of the scheduler's file, or "".
        events: the files of external events.
        scratch: an empty folder but for `out`.

    Returns:
        How it failed, or None; and the joules that were consumed, or None if they were not measured.
    """
    output = os.path.join(scratch, "out", "")
    words = list(task.batsim)
    if not any(word.startswith(each) or each in word for word in words for each in WORDS):
        words += [*_USUAL, *(["--events", "{events}"] if events else []), *(_LIBRARY if task.in_process else _SOCKET)]
    words += _machine(task)
    values = {
        "{platform}": platform.filename or _written(scratch, "platform.xml", platform_xml(platform)),
        "{workload}": _workload_file(task, workload, workload_path, scratch),
        "{output}": output,
        "{events}": events[0] if events else "",
        "{init}": task.init,
    }
    batsim = _Batsim(words, values, task.energy, scratch)
    try:
        fault = (
            _inside(task, batsim, values, root, scratch)
            if task.in_process
            else _over_socket(scheduler, batsim, scratch)
        )
    finally:
        batsim.stop()
    if fault is None and not os.path.isfile(f"{output}jobs.csv"):
        fault = Outcome(state=FAILED, kind="batsim", error=f"{words[0]} has written no {{output}}jobs.csv")
    joules = None
    if fault is None and task.energy:
        with open(f"{output}schedule.json", encoding="utf-8") as file:
            joules = float(json.loads(file.read().replace("-nan", "NaN"))["consumed_joules"])
    return fault, joules


def _machine(task: Task) -> list[str]:
    """What Batsim is to do with the hosts of the platform, as its options."""
    words = ["-m", task.master] if task.master else []
    words += ["--mmax", str(task.mmax)] if task.mmax else []
    for host, role in task.roles.items():
        words += ["-r", host, role]
    return words


def _over_socket(scheduler: Scheduler, batsim: _Batsim, scratch: str) -> Outcome | None:
    endpoint = f"ipc://{scratch}/edc.sock"
    record = os.path.join(scratch, RECORDING)
    try:
        run(scheduler, endpoint, record=record, on_bound=batsim.start, on_wait=batsim.check)
    except (_Ended, PeerGone):
        status = batsim.status()
        return _ended(batsim, status, " before the simulation was over")
    status = batsim.status()
    return _ended(batsim, status, "") if status != 0 else None


def _inside(task: Task, batsim: _Batsim, values: dict[str, str], root: str, scratch: str) -> Outcome | None:
    target = _written(
        scratch, "study_scheduler.py", _LOADED.format(target=task.scheduler, arguments=task.arguments, root=root)
    )
    report = os.path.join(scratch, "report")
    open(report, "w").close()
    values["{library}"] = library()
    values["{init}"] = carried(
        f"{target}:Chosen", init=task.init, record=os.path.join(scratch, RECORDING), report=report
    )
    batsim.start()
    status = batsim.status(None)
    told = Report.read(report)
    if status or told.state != "over":
        reason = told.reason or {"": "it has not loaded the scheduler", "begun": "the simulation was not over"}.get(
            told.state, ""
        )
        return _ended(batsim, status, f": {reason}" if reason else "")
    return None


def _ended(batsim: _Batsim, status: int | None, why: str) -> Outcome:
    how = "did not end" if status is None else f"ended with status {status}"
    name = os.path.basename(batsim._words[0])
    return Outcome(state=FAILED, kind="batsim", error=f"{name} {how}{why}")


def _workload_file(task: Task, workload: Workload, path: str, scratch: str) -> str:
    """The file itself where nothing is made of it, and Batsim can read it."""
    is_plain = path and "?" not in task.workload and not task.changes and not workload.is_older
    if is_plain and "swf" not in os.path.basename(path).lower().split(".")[-2:]:
        return path
    return _written(scratch, "workload.json", workload_json(workload))


def _written(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
