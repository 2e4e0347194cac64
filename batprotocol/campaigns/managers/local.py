"""A cluster that is this machine: so many slots, a process group for each job.

Each job has a folder. A small shell script, the job's leader, makes `started` in it before it does anything, which only
one of two can, and writes `exit` when the command is done; a lock is held by the leader and all that it starts. So
whoever comes later, after a crash too, reads from the folder whether a job waits, runs or has ended, and how. What
waits is started by `tend`, so nothing starts while nobody tends. It must not know why a job is run.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from batprotocol.campaigns.managers.interface import (
    KILLED,
    LOST,
    NO_DIRECTORY,
    REFUSED,
    TIME_OVER,
    Request,
    ended,
)
from batprotocol.campaigns.model import JobState, Observation, RemoteEvent, RemoteJob
from batprotocol.errors import ClusterError

__all__ = ["LocalProcesses"]

LEADER: Final = r"""
cd "$1" && mkdir started || exit 0
echo $$ >pid.new && mv pid.new pid
(cd "$2" && exec $5 timeout --foreground -k 5 "$3" sh -c "$4") 3<&0 </dev/null >>"$6.stdout" 2>>"$6.stderr"
echo $? >exit.new && mv exit.new exit
kill -KILL 0
"""
"""What starts a job: folder, directory, walltime, command, prefix, and where its output goes. Standard input is the
lock, which the command inherits as 3. What the job has left running when it ends is killed with the leader."""

TIMED_OUT: Final = frozenset([124, 137])
"""What timeout(1) exits with when time is up: by SIGTERM, by SIGKILL."""

SIGNALLED: Final = 128
"""What a shell adds to the signal that ended a command."""

NODE: Final = socket.gethostname()

UNFINISHED: Final = ".unfinished"
"""What the name of a folder ends with that is being made or thrown away."""


class _Job:
    """A job and its folder."""

    def __init__(self, folder: Path, request: Request, submitted: float) -> None:
        self.folder = folder
        self.request = request
        self.submitted = submitted
        self.leader: subprocess.Popen[bytes] | None = None  # None, too, if another process has started it

    def lock(self) -> int | None:
        """The lock of the job, or None while something of the job runs."""
        descriptor = os.open(self.folder / "lock", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return descriptor

    def is_running(self) -> bool:
        """Whether it has not written how it ended, and something of it runs."""
        if self.leader is not None and self.leader.poll() is None:
            return True
        if (self.folder / "exit").exists():
            return False
        descriptor = self.lock()
        if descriptor is None:
            return not (self.folder / "exit").exists()
        os.close(descriptor)
        return False

    def end(self) -> RemoteJob | None:
        """How it ended, None if it was never started and nothing keeps it from being."""
        blamed = self._blamed()
        started = _modified(self.folder / "started")
        if started is None and blamed is None:
            return None
        at = _modified(self.folder / "exit") or time.time()
        exit_code = _number(self.folder / "exit")
        if exit_code is not None:
            over = started is not None and at - started >= self.request.walltime and exit_code in TIMED_OUT
            blamed = TIME_OVER if over else None
        elif blamed is None:
            blamed = LOST
        status = None if exit_code is None or blamed is not None else _as_wait_gives(exit_code)
        number = self.request.job
        return ended(
            number,
            exit_code=status,
            because=blamed,
            start_time=started,
            stop_time=at,
            remote_id=self.folder.name,
            node=NODE,
        )

    def blame(self, event: RemoteEvent) -> None:
        """Write down why it ends, if it does not end by itself before."""
        (self.folder / "cause").write_text(event.type)

    def _blamed(self) -> RemoteEvent | None:
        try:
            type = (self.folder / "cause").read_text()
        except OSError:
            return None
        return next((event for event in (KILLED, NO_DIRECTORY, REFUSED) if event.type == type), None)

    def kill(self) -> None:
        """Kill the leader and all that it has started. As long as one of them is left, its number is not another's."""
        number = self.leader.pid if self.leader is not None else _number(self.folder / "pid")
        if number is not None and self.is_running():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(number, signal.SIGKILL)

    def told(self, state: JobState) -> RemoteJob:
        """It as the campaigns see it while it waits or runs."""
        started = _modified(self.folder / "started") if state is JobState.RUNNING else None
        return RemoteJob(job=self.request.job, state=state, remote_id=self.folder.name, start_time=started, node=NODE)


class LocalProcesses:
    """Processes on this machine, up to so many at a time.

    Args:
        name: of the cluster.
        folder: where the jobs are kept; made if it is missing. One process at a time has it open.
        slots: how many resources there are; None: as many as the machine has processors.

    What a job writes is in `output/` in that folder.

    Raises:
        ClusterError: another process has this folder open, or there is no timeout(1), or no such folder can be made.
    """

    def __init__(self, name: str, folder: str | os.PathLike[str], slots: int | None = None) -> None:
        self.name = name
        self.slots = slots or os.cpu_count() or 1
        self._folder = Path(folder).absolute()
        if shutil.which("timeout") is None:
            raise ClusterError("timeout (of the GNU coreutils) is not on the PATH", name)
        try:
            (self._folder / "jobs").mkdir(parents=True, exist_ok=True)
            (self._folder / "output").mkdir(exist_ok=True)
            self._open = os.open(self._folder / "lock", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ClusterError(f"{error.filename}: {error.strerror}", name) from None
        try:
            fcntl.flock(self._open, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._open)
            raise ClusterError(f"{self._folder} is in use by another process", name) from None
        self._waiting: dict[int, _Job] = {}
        self._running: dict[int, _Job] = {}
        self._ended: dict[int, RemoteJob] = {}
        self._find_again()

    # A resource manager

    def look(self) -> Observation:
        self.tend()
        jobs = (
            *(job.told(JobState.REMOTE_WAITING) for job in self._waiting.values()),
            *(job.told(JobState.RUNNING) for job in self._running.values()),
            *self._ended.values(),
        )
        return Observation(cluster=self.name, time=time.time(), max=self.slots, free=max(self._free(), 0), jobs=jobs)

    def submit(self, requests: Sequence[Request]) -> None:
        for request in requests:
            if not self._knows(request.job):
                self._accept(request)

    def kill(self, jobs: Iterable[int]) -> None:
        for number in jobs:
            if number in self._waiting:
                self._end(self._waiting.pop(number), KILLED)
            elif number in self._running:
                self._running[number].blame(KILLED)
                self._running[number].kill()

    def forget(self, jobs: Iterable[int]) -> None:
        for number in jobs:
            job = self._waiting.pop(number, None) or self._running.pop(number, None)
            if job is not None:
                job.kill()
            if job is not None or self._ended.pop(number, None) is not None:
                self._clear(number)

    def tend(self) -> None:
        for number in [number for number, job in self._running.items() if not job.is_running()]:
            self._end(self._running.pop(number))
        free = self._free()
        for number, job in list(self._waiting.items()):
            if free <= 0:
                break
            if job.request.weight <= free:
                free -= job.request.weight
                self._start(self._waiting.pop(number))

    def close(self) -> None:
        os.close(self._open)

    # Its jobs

    def _find_again(self) -> None:
        """The jobs of whoever had this folder before."""
        for job in sorted(_read_jobs(self._folder / "jobs"), key=lambda job: (job.submitted, job.request.job)):
            number = job.request.job
            if job.is_running() and (job.folder / "started").exists():
                self._running[number] = job
            elif (end := job.end()) is not None:
                self._ended[number] = end
            else:
                self._waiting[number] = job

    def _knows(self, job: int) -> bool:
        return job in self._waiting or job in self._running or job in self._ended

    def _free(self) -> int:
        return self.slots - sum(job.request.weight for job in self._running.values())

    def _accept(self, request: Request) -> None:
        """Write the job down. It is there as a whole or not at all."""
        folder, now = self._folder / "jobs" / str(request.job), time.time()
        unfinished = folder.with_name(f"{folder.name}{UNFINISHED}")
        unfinished.mkdir(exist_ok=True)
        (unfinished / "job.json").write_bytes(msgspec.json.encode([request, now]))
        unfinished.rename(folder)
        job = _Job(folder, request, now)
        if request.weight > self.slots:
            self._end(job, REFUSED)
        else:
            self._waiting[request.job] = job

    def _start(self, job: _Job) -> None:
        request = job.request
        directory = os.path.expanduser(request.directory.replace("$HOME", "~", 1))
        if not os.path.isdir(directory):
            self._end(job, NO_DIRECTORY)
            return
        nodes = job.folder / "nodes"
        nodes.write_text(f"{NODE}\n" * request.weight)
        values = request.variables(directory=directory, nodes=str(nodes))
        polite = "nice -n 19" if request.best_effort else ""
        output = self._folder / "output" / str(request.job)
        arguments: list[str | Path] = [
            job.folder,
            directory,
            f"{request.walltime:.3f}",
            request.command,
            polite,
            output,
        ]
        lock = job.lock()
        if lock is not None:  # else it was started a moment ago by whoever had this folder before
            try:
                job.leader = subprocess.Popen(
                    ["sh", "-c", LEADER, "sh", *arguments],
                    stdin=lock,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, **values},
                    start_new_session=True,
                )
            finally:
                os.close(lock)
        self._running[request.job] = job

    def _end(self, job: _Job, because: RemoteEvent | None = None) -> None:
        if because is not None:
            job.blame(because)
        end = job.end()
        if end is None:  # its leader was killed before it had done anything
            job.leader = None
            self._waiting[job.request.job] = job
        else:
            self._ended[job.request.job] = end

    def _clear(self, job: int) -> None:
        """Throw a job's folder away: at once, as half of one could look like a job that has not been started."""
        folder = self._folder / "jobs" / str(job)
        gone = folder.with_name(f"{folder.name}{UNFINISHED}")
        with suppress(FileNotFoundError):
            folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
        for path in (self._folder / "output" / f"{job}.{kind}" for kind in ("stdout", "stderr")):
            with suppress(OSError):
                if path.stat().st_size == 0:
                    path.unlink()


def _read_jobs(folder: Path) -> Iterator[_Job]:
    for path in folder.iterdir():
        if path.suffix == UNFINISHED:
            shutil.rmtree(path, ignore_errors=True)
            continue
        with suppress(OSError, msgspec.DecodeError):
            request, submitted = msgspec.json.decode((path / "job.json").read_bytes(), type=tuple[Request, float])
            yield _Job(path, request, submitted)


def _as_wait_gives(exit_code: int) -> int:
    """The exit code of a shell as wait(2) has it."""
    return exit_code - SIGNALLED if SIGNALLED < exit_code < SIGNALLED + 65 else exit_code << 8


def _modified(path: Path) -> float | None:
    """When this was made, None if it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def _number(path: Path) -> int | None:
    """The number in a file, None if there is none."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
