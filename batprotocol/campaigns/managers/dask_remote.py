"""What runs inside Dask: the register of jobs on the scheduler, and the running of a command on a worker.

It is sent there by value, so that they need nothing but Dask: it imports nothing of batprotocol. Dask itself would run
a task again whose worker has gone, even one whose result was there already, and would drop all tasks of a client that
has gone. The register prevents both: each name is started once at most, how it ended is kept on the scheduler, and
what is in the register is wanted whoever is there.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import Any

from distributed import get_worker
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.utils import sync

__all__ = ["MARK", "Register", "kill_commands", "run_command"]

MARK = "batprotocol-campaigns"
"""The name of the register, and the client that wants all that is in it."""


class Register(SchedulerPlugin):
    """The jobs that were given to this Dask cluster, by their names: what began where, and how it ended."""

    name = MARK
    idempotent = True

    def __init__(self) -> None:
        self.jobs: dict[str, dict[str, Any]] = {}
        self.announced: dict[str, float] = {}

    async def start(self, scheduler: Any) -> None:
        self.scheduler = scheduler
        scheduler.handlers.update(
            {
                f"{MARK}-announce": self.announce,
                f"{MARK}-look": self.look,
                f"{MARK}-end": self.end,
                f"{MARK}-begin": self.begin,
                f"{MARK}-forget": self.forget,
            }
        )

    def announce(self, names: list[str]) -> list[str]:
        """These jobs are about to be submitted. Which of them are new."""
        new = [name for name in names if name not in self.jobs]
        self.announced.update(dict.fromkeys(new, time.time()))
        return new

    def update_graph(self, scheduler: Any, *, keys: set[Any], **rest: Any) -> None:
        """Tasks were submitted; those that were announced stay, even if the client goes."""
        ours = [key for key in keys if key in self.announced]
        for key in ours:
            self.jobs.setdefault(key, {"name": key, "submitted": self.announced.pop(key)})
        scheduler.client_desires_keys(keys=ours, client=MARK)

    def remove_worker(self, scheduler: Any, worker: str, **rest: Any) -> None:
        """A worker has gone, and what it ran is lost."""
        for job in self.jobs.values():
            if job.get("worker") == worker and "ended" not in job:
                job.update(ended=time.time(), exit_code=None, cause="EXTERMINATE")

    async def begin(self, name: str, worker: str, node: str) -> bool:
        """A worker wants to start this job: whether it may."""
        job = self.jobs.get(name)
        if job is None or "started" in job or "ended" in job:
            return False
        job.update(started=time.time(), worker=worker, node=node)
        return True

    async def end(self, name: str, exit_code: int | None, cause: str | None) -> None:
        """A worker tells how a job has ended, or the client that one is to end: the first word counts."""
        job = self.jobs.get(name)
        if job is not None and "ended" not in job:
            job.update(ended=time.time(), exit_code=exit_code, cause=cause)

    async def look(self, mark: str) -> dict[str, Any]:
        """Threads, how many of them have nothing to do, and the jobs whose names begin so."""
        workers = self.scheduler.workers.values()
        threads = sum(worker.nthreads for worker in workers)
        busy = sum(min(len(worker.processing), worker.nthreads) for worker in workers)
        jobs = [job for name, job in self.jobs.items() if name.startswith(mark)]
        return {"maximum": threads, "free": threads - busy, "jobs": jobs}

    async def forget(self, names: list[str]) -> None:
        """Nobody will ask for these again."""
        self.scheduler.client_releases_keys(keys=[name for name in names if name in self.jobs], client=MARK)
        for name in names:
            self.jobs.pop(name, None)
            self.announced.pop(name, None)


class _Commands:
    """The jobs that a worker runs, by name: each from before it begins until it has ended.

    Whoever kills says so first and looks for the process then, whoever starts one does it the other way round: so it is
    killed, however these two meet.
    """

    def __init__(self) -> None:
        self.running: dict[str, subprocess.Popen[bytes] | None] = {}
        self.doomed: set[str] = set()

    def started(self, name: str, process: subprocess.Popen[bytes]) -> None:
        """Its process is this one."""
        self.running[name] = process
        if name in self.doomed:
            _kill(process)

    def kill(self, name: str) -> None:
        """Kill it, if it runs here."""
        if name in self.running:
            self.doomed.add(name)
            process = self.running.get(name)
            if process is not None:
                _kill(process)

    def ended(self, name: str) -> None:
        """It runs no more."""
        self.running.pop(name, None)
        self.doomed.discard(name)


def _commands(worker: Any) -> _Commands:
    if not hasattr(worker, "batprotocol_commands"):
        worker.batprotocol_commands = _Commands()
    found: _Commands = worker.batprotocol_commands
    return found


def run_command(
    name: str, command: str, directory: str, walltime: float, environment: dict[str, str], best_effort: bool
) -> None:
    """On a worker, in a thread of it: run a command, and tell the register how it ended."""
    worker = get_worker()

    def call(handler: str, **arguments: Any) -> Any:
        return sync(worker.loop, getattr(worker.scheduler, f"{MARK}-{handler}"), name=name, **arguments)

    commands = _commands(worker)
    commands.running[name] = None
    try:
        if not call("begin", worker=worker.address, node=socket.gethostname()):
            return
        exit_code, cause = None, "EXTERMINATE"
        try:
            exit_code, cause = _run(commands, name, command, directory, walltime, environment, best_effort)
        finally:
            call("end", exit_code=exit_code, cause=cause)
    finally:
        commands.ended(name)


def _run(
    commands: _Commands,
    name: str,
    command: str,
    directory: str,
    walltime: float,
    environment: dict[str, str],
    best_effort: bool,
) -> tuple[int | None, Any]:
    directory = os.path.expanduser(directory.replace("$HOME", "~", 1))
    if not os.path.isdir(directory):
        return None, "WORKING_DIRECTORY"
    with tempfile.NamedTemporaryFile("w", prefix="cigri-nodes-") as nodes:
        nodes.write(f"{socket.gethostname()}\n")
        nodes.flush()
        values = {key: directory if value == "{directory}" else value for key, value in environment.items()}
        values = {key: nodes.name if value == "{nodes}" else value for key, value in values.items()}
        # A command must not outlive its worker, whose jobs are given up as lost.
        before = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
        polite = ["nice", "-n", "19"] if best_effort else []
        process = subprocess.Popen(
            [*before, *polite, "sh", "-c", command],
            cwd=directory,
            env={**os.environ, **values},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        commands.started(name, process)
        try:
            code = process.wait(walltime)
        except subprocess.TimeoutExpired:
            return None, "WALLTIME"
        finally:
            _kill(process)
            process.wait()
    return (code << 8 if code >= 0 else -code), None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill what a command has started and left, and the command itself if it runs."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def kill_commands(names: list[str], dask_worker: Any = None) -> None:
    """On each worker: kill those of these commands that run here."""
    for name in names:
        _commands(dask_worker).kill(name)
