"""The code that runs in Dask: the register of jobs on the scheduler, and the function that runs a command on a worker.

It is sent by value, so that Dask does not need batprotocol, of which it imports nothing. Dask alone would run a task
again if its worker dies, even one with a result, and would drop all tasks of a client that has gone. The register
prevents both: each name is started once at most, the scheduler keeps the end of each job, and the register keeps its
tasks if no client is connected.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from distributed import get_worker
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.utils import sync

MARK = "batprotocol-campaigns"
"""The name of the register, and of the client that owns all its tasks."""

KEPT_BYTES = 10_000
"""How many bytes are kept of the output of a job that does not end well: the last ones."""


class Register(SchedulerPlugin):
    """The jobs that were submitted to this Dask cluster, by their names: their workers, their begins and ends."""

    name = MARK
    idempotent = True

    def __init__(self) -> None:
        self.life = uuid.uuid4().hex  # changes when the scheduler is restarted
        self.jobs: dict[str, dict[str, Any]] = {}
        self.announced: dict[str, list[str]] = {}

    async def start(self, scheduler: Any) -> None:
        self.scheduler = scheduler
        scheduler.handlers.update(
            {
                f"{MARK}-announce": self.announce,
                f"{MARK}-look": self.look,
                f"{MARK}-end": self.end,
                f"{MARK}-begin": self.begin,
                f"{MARK}-kill": self.kill,
                f"{MARK}-forget": self.forget,
            }
        )

    def announce(self, groups: dict[str, list[str]]) -> list[str]:
        """Expect groups of jobs, each as a task of Dask; return those that are new."""
        new = [task for task, names in groups.items() if not any(name in self.jobs for name in names)]
        self.announced.update({task: groups[task] for task in new})
        return new

    def update_graph(self, scheduler: Any, *, keys: set[Any], **rest: Any) -> None:
        """Keep the tasks that were announced and are submitted now, even if the client goes away."""
        ours = [key for key in keys if key in self.announced]
        for key in ours:
            for name in self.announced.pop(key):
                self.jobs.setdefault(name, {"name": name, "task": key, "submitted": time.time()})
        scheduler.client_desires_keys(keys=ours, client=MARK)

    def remove_worker(self, scheduler: Any, worker: str, **rest: Any) -> None:
        """A worker has gone: its jobs are lost."""
        for job in self.jobs.values():
            if job.get("worker") == worker and "ended" not in job:
                job.update(_end(None, job.get("killed", "EXTERMINATE")))

    async def begin(self, names: list[str], worker: str, node: str) -> bool:
        """Whether a worker may run these jobs, one after the other."""
        jobs = [self.jobs.get(name) for name in names]
        if all(job is None or "worker" in job or "ended" in job for job in jobs):
            return False
        for job in jobs:
            if job is not None and "ended" not in job:
                job.update(worker=worker, node=node)
        return True

    async def end(self, name: str, next: str | None = None, **how: Any) -> bool:
        """A worker reports how a job has ended, and asks for the next one.

        Args:
            name: of the job; "" of none.
            next: the job that the worker wants to begin now.
            how: the exit code, the cause, and the end of its output.

        Returns whether the next one may begin.
        """
        job = self.jobs.get(name)
        if job is not None and "ended" not in job:
            job.update(how, ended=time.time())
            if job["exit_code"] and "killed" in job:
                job.update(exit_code=None, cause=job["killed"])
        following = self.jobs.get(next or "")
        if following is None or "started" in following or "ended" in following:
            return False
        following.update(started=time.time())
        return True

    async def look(self, mark: str) -> dict[str, Any]:
        """The number of threads, the number of idle threads, and the jobs whose names begin with the mark."""
        workers = self.scheduler.workers.values()
        threads = sum(worker.nthreads for worker in workers)
        busy = sum(min(len(worker.processing), worker.nthreads) for worker in workers)
        jobs = [job for name, job in self.jobs.items() if name.startswith(mark)]
        return {"maximum": threads, "free": threads - busy, "jobs": jobs, "life": self.life}

    async def kill(self, names: list[str], cause: str) -> list[str]:
        """Kill these jobs: those that have not begun end now, all at once.

        Returns those that have begun, which their workers are to kill. Each of these ends when its worker reports it.
        """
        jobs = [job for name in names if (job := self.jobs.get(name)) is not None and "ended" not in job]
        for job in jobs:
            job.update({"killed": cause} if "started" in job else _end(None, cause))
        return [job["name"] for job in jobs if "started" in job]

    async def forget(self, names: list[str]) -> bool:
        """Drop these jobs: the client does not ask for them again."""
        gone = {self.jobs.pop(name)["task"] for name in names if name in self.jobs}
        kept = {job["task"] for job in self.jobs.values()}
        self.scheduler.client_releases_keys(keys=[task for task in gone if task not in kept], client=MARK)
        return True


def _end(exit_code: int | None, cause: str | None) -> dict[str, Any]:
    return {"ended": time.time(), "exit_code": exit_code, "cause": cause}


class _WorkerCommands:
    """The jobs that a worker runs, by name: each from before it begins until it has ended.

    The event loop of the worker kills them, and its threads start them, under one lock. A job is killed either
    before it begins, and never begins, or when its process is known.
    """

    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[bytes] | None] = {}
        self._killed: set[str] = set()
        self._lock = threading.Lock()

    def expect(self, names: list[str]) -> None:
        """These jobs are about to begin."""
        with self._lock:
            self._running.update(dict.fromkeys(names))

    def start(self, name: str, start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes] | None:
        """Start the process of a job, unless the job is killed: then there is none."""
        with self._lock:
            if name in self._killed:
                return None
            process = self._running[name] = start()
            return process

    def kill(self, name: str) -> None:
        """Kill a job, if it runs here or is about to."""
        with self._lock:
            if name in self._running:
                self._killed.add(name)
                process = self._running[name]
                if process is not None:
                    _kill(process)

    def ended(self, name: str) -> None:
        """A job does not run any more."""
        with self._lock:
            self._running.pop(name, None)
            self._killed.discard(name)


def _commands(worker: Any) -> _WorkerCommands:
    found: _WorkerCommands = vars(worker).setdefault("batprotocol_commands", _WorkerCommands())
    return found


def run_commands(jobs: list[dict[str, Any]]) -> None:
    """In a thread of a worker: run commands, one after the other, and report the end of each to the register."""
    worker = get_worker()

    def call(handler: str, **arguments: Any) -> Any:
        return sync(worker.loop, getattr(worker.scheduler, f"{MARK}-{handler}"), **arguments)

    commands = _commands(worker)
    names = [job["name"] for job in jobs]
    commands.expect(names)
    ended: dict[str, Any] = {"name": ""}
    try:
        if not call("begin", names=names, worker=worker.address, node=socket.gethostname()):
            return
        for job in jobs:
            may, ended = call("end", **ended, next=job["name"]), {"name": ""}
            if may:
                ended = {"name": job["name"], "exit_code": None, "cause": "EXTERMINATE"}
                ended.update(_run(commands, job))
            commands.ended(job["name"])
    finally:
        call("end", **ended)
        for name in names:
            commands.ended(name)


def _run(commands: _WorkerCommands, job: dict[str, Any]) -> dict[str, Any]:
    directory = os.path.expanduser(job["directory"].replace("$HOME", "~", 1))
    if not os.path.isdir(directory):
        return {"exit_code": None, "cause": "WORKING_DIRECTORY"}
    with tempfile.NamedTemporaryFile("w", prefix="cigri-nodes-") as nodes:
        nodes.write(f"{socket.gethostname()}\n")
        nodes.flush()
        known = {"{directory}": directory, "{nodes}": nodes.name}
        values = {key: known.get(value, value) for key, value in job["environment"].items()}
        # A command must die with its worker, whose jobs count as lost.
        before = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
        polite = ["nice", "-n", "19"] if job["best_effort"] else []

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                [*before, *polite, "sh", "-c", job["command"]],
                cwd=directory,
                env={**os.environ, **values},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )

        process = commands.start(job["name"], start)
        if process is None:
            return {"exit_code": None, "cause": "FRAG_JOB_REQUEST"}
        printed = {"output": _PipeEnd(process.stdout), "errors": _PipeEnd(process.stderr)}
        code = None
        with suppress(subprocess.TimeoutExpired):
            code = process.wait(job["walltime"])
        _kill(process)
        status = process.wait()
    tails = {name: tail.end() for name, tail in printed.items()}
    if code is None:
        return {"exit_code": None, "cause": "WALLTIME", **tails}
    exit_code = status << 8 if status >= 0 else -status
    return {"exit_code": exit_code, "cause": None, **(tails if exit_code else {})}


class _PipeEnd:
    """The last bytes that are written into a pipe. A thread reads all of it."""

    def __init__(self, pipe: Any) -> None:
        self._pipe = pipe
        self._kept = b""
        self._length = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._pipe:
            while piece := self._pipe.read1(1 << 16):
                self._length += len(piece)
                self._kept = (self._kept + piece)[-KEPT_BYTES:]

    def end(self) -> tuple[bytes, bool]:
        """The last bytes, and whether they are all. A process outside of the session of the command may write more."""
        self._thread.join(1.0)
        return self._kept, self._length <= KEPT_BYTES


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a command, if it runs, and the processes that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg") and hasattr(signal, "SIGKILL"):
            os.killpg(process.pid, signal.SIGKILL)
        else:  # no process groups: the command alone
            process.kill()


async def kill_commands(names: list[str], dask_worker: Any = None) -> None:
    """On each worker: kill the commands of these names that run on it."""
    for name in names:
        _commands(dask_worker).kill(name)
