"""Runs that Batsim or a program like it simulates. The scheduler serves it over a socket, or it loads the scheduler."""

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
from batprotocol.errors import InputError, PeerGone
from batprotocol.results.files import expect_plain_names
from batprotocol.studies.outcomes import FAILED, RECORDING, Outcome
from batprotocol.studies.runs import Task
from batprotocol.workloads import Platform, Workload, platform_xml, workload_json

__all__ = ["WORDS", "simulate_with"]

WORDS: Final = ("{platform}", "{workload}", "{events}", "{output}", "{endpoint}", "{init}", "{library}", "{energy}")
"""The placeholders in a command. A word that begins with `{energy}` stays only where energy is measured, without it."""

_USUAL: Final = ("-p", "{platform}", "-w", "{workload}", "-e", "{output}", "{energy}--energy-host")
_SOCKET: Final = ("--edc-socket-str", "{endpoint}", "{init}")
_LIBRARY: Final = (OPTION, "{library}", "{init}")
_PATIENCE: Final = 10.0
"""The seconds in which Batsim must end when its scheduler is done."""

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
        """Start it. Its scheduler accepts connections at the endpoint."""
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
        # Its output goes to that of this process, which is kept for failed runs.
        self._process = subprocess.Popen(words, cwd=self._folder, stdin=subprocess.DEVNULL)

    def check(self) -> None:
        """Raise an exception if it has ended. The scheduler calls this while it waits."""
        if self._process is not None and self._process.poll() is not None:
            raise _Ended

    def status(self, timeout: float | None = _PATIENCE) -> int | None:
        """Wait for its end, and return its exit status; None if it does not end in time."""
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
    """Let Batsim simulate a run, with results in the folder `out` below `scratch`.

    Args:
        task: the run.
        scheduler: its scheduler.
        platform: its platform.
        workload: its workload.
        workload_path: the file of the workload, or "".
        root: the folder of the scheduler's file, or "".
        events: the files of external events.
        scratch: a folder that has nothing in it except `out`.

    Returns:
        The outcome if it failed, else None; and the consumed joules, or None if they were not measured.
    """
    if task.watts and platform.filename:
        raise InputError(
            "typical watts are for the embedded Batsim, and for platforms without a file: add the property "
            "wattage_per_state to the hosts",
            file=platform.filename,
        )
    for job in workload:
        expect_plain_names(job.id, job.job.profile_id)
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
    """The options of Batsim that set the roles of the platform's hosts."""
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
    found = Report.read(report)
    if status or found.state != "over":
        reason = found.reason or {"": "it has not loaded the scheduler", "begun": "the simulation was not over"}.get(
            found.state, ""
        )
        return _ended(batsim, status, f": {reason}" if reason else "")
    return None


def _ended(batsim: _Batsim, status: int | None, why: str) -> Outcome:
    how = "did not end" if status is None else f"ended with status {status}"
    name = os.path.basename(batsim._words[0])
    return Outcome(state=FAILED, kind="batsim", error=f"{name} {how}{why}")


def _workload_file(task: Task, workload: Workload, path: str, scratch: str) -> str:
    """The given file if the study does not change the workload and Batsim can read it; else a new file."""
    is_plain = path and "?" not in task.workload and not task.changes and not workload.is_older
    if is_plain and "swf" not in os.path.basename(path).lower().split(".")[-2:]:
        return path
    return _written(scratch, "workload.json", workload_json(workload))


def _written(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
