"""Jobs that run one after the other, and their folder.

First, the leader of a group makes `started` in its folder, which only one leader can. It writes a line into `log` when
a job begins or ends. The leader and the processes that it starts hold the lock `lock`. So another process, also after a
crash, can read from the folder whether the jobs wait, run or have ended. This module must not know why they are run.
"""

from __future__ import annotations

import marshal
import os
import select
import shutil
import signal
import socket
import time
from collections.abc import Collection, Iterator, Sequence
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
from batprotocol.campaigns.managers.local.starter import Starter
from batprotocol.campaigns.managers.outputs import content_of, end_of_output, open_file, write_file
from batprotocol.campaigns.model import JobState, RemoteEvent, RemoteJob

with suppress(ImportError):  # where it is missing, there are no clusters on this machine
    import fcntl

__all__ = ["Group", "read_groups"]

NODE: Final = socket.gethostname()

IGNORED: Final = tuple(int(getattr(signal, name)) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name))
"""The signals that Python ignores."""

UNFINISHED: Final = ".unfinished"
"""The suffix of a folder that is being made or removed."""


class Group:
    """Jobs that run one after the other.

    Args:
        folder: the folder of the group.
        output: the folder for the output of the jobs.
        requests: the jobs, in their order.
        submitted: the time of their submission.
    """

    def __init__(self, folder: Path, output: Path, requests: Sequence[Request], submitted: float) -> None:
        self.folder = folder
        self.requests = {each.job: each for each in requests}
        self.submitted = submitted
        self.weight = max(each.weight for each in requests)
        self.leader: int | None = None  # None also if another process has started it
        self._watched: int | None = None  # a descriptor that is readable when the leader has ended
        self.ended: dict[int, RemoteJob] = {}
        self._output = output
        self._begun: dict[int, tuple[float, int]] = {}
        self._over: dict[int, tuple[float, int | None, bool]] = {}  # time, status, whether it was late
        self._read = 0
        self._why = {number: event for number in self.requests if (event := self._blamed(number)) is not None}

    def write(self) -> None:
        """Write the jobs to their folder, all of them or none."""
        unfinished = self.folder.with_name(f"{self.folder.name}{UNFINISHED}")
        unfinished.mkdir(exist_ok=True)
        jobs = msgspec.json.encode([list(self.requests.values()), self.submitted])
        (unfinished / "jobs.json").write_bytes(jobs)
        unfinished.rename(self.folder)

    def clear(self) -> None:
        """Remove their folder. It is renamed first, as a part of it could look like jobs that have not started."""
        gone = self.folder.with_name(f"{self.folder.name}{UNFINISHED}")
        with suppress(FileNotFoundError):
            self.folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    # Whether they run

    @property
    def is_settled(self) -> bool:
        """Whether the group needs no new leader: it has had one, each job ends without one, or its folder is gone."""
        return (
            (self.folder / "started").exists() or not self.folder.is_dir() or self._why.keys() >= self.requests.keys()
        )

    def start(self, starter: Starter) -> bool:
        """Start the jobs, unless another process has; return whether they may run: not if their folder is gone."""
        first = next(iter(self.requests.values()))
        directory = os.path.expanduser(first.directory.replace("$HOME", "~", 1))
        if not os.path.isdir(directory):
            for number in self.requests:
                self.blame(number, NO_DIRECTORY)
            return False
        nodes = self.folder / "nodes"
        jobs = [
            (
                number,
                each.command,
                each.walltime,
                each.variables(directory=directory, nodes=str(nodes)),
                self._out(number),
            )
            for number, each in self.requests.items()
        ]
        plan = {"directory": directory, "polite": first.best_effort, "ignored": IGNORED, "jobs": jobs}
        try:
            write_file(nodes, f"{NODE}\n".encode() * self.weight)
            write_file(self.folder / "plan", marshal.dumps(plan))
        except OSError:
            return False
        self.leader = starter.start(self.folder)
        with suppress(AttributeError, OSError):  # not on every system, or it has ended already
            self._watched = None if self.leader is None else os.pidfd_open(self.leader)
        return True

    def is_running(self) -> bool:
        """Whether its leader runs. If somebody has killed the leader, the processes of its job are killed, too."""
        if self._watched is not None:
            poll = select.poll()
            poll.register(self._watched, select.POLLIN)
            if not poll.poll(0):
                return True
            os.close(self._watched)
            self._watched = None
        elif self._is_locked() and _is_leader(self._leader()):
            return True
        return self._is_locked() and not self._kill_rest()

    def _is_locked(self) -> bool:
        """Whether a process of the jobs runs."""
        try:
            lock = self._lock()
        except OSError:  # their folder is gone
            return False
        if lock is not None:
            os.close(lock)
        return lock is None

    def _lock(self) -> int | None:
        """The lock of the jobs, or None while a process of them runs."""
        descriptor = open_file(self.folder / "lock", os.O_RDONLY | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return descriptor

    # Their states

    def jobs(self, running: bool) -> Iterator[RemoteJob]:
        """The jobs as `RemoteJob`, while the group waits or runs."""
        self._read_log()
        for number in self.requests:
            if number not in self.ended and (number in self._over or (not running and number in self._why)):
                self.ended[number] = self._end(number)
            if number in self.ended:
                yield self.ended[number]
                continue
            started = self._begun[number][0] if number in self._begun else None
            state = JobState.RUNNING if running else JobState.REMOTE_WAITING
            yield RemoteJob(job=number, state=state, remote_id=str(number), start_time=started, node=NODE)

    def finish(self) -> None:
        """Record that the group does not run any more: all jobs have ended."""
        self._read_log()
        for number in self.requests:
            if number not in self.ended:
                self.ended[number] = self._end(number)

    def _end(self, number: int) -> RemoteJob:
        begun = self._begun.get(number)
        at, status, late = self._over.get(number, (time.time(), None, False))
        blamed = TIME_OVER if late else self._why.get(number)
        if status == 0 and not late:
            blamed = None
        elif status is None and blamed is None:
            blamed = LOST
        well = status == 0 and blamed is None
        return ended(
            number,
            exit_code=status if blamed is None else None,
            because=blamed,
            start_time=None if begun is None else begun[0],
            stop_time=at,
            remote_id=str(number),
            node=NODE,
            output="" if well else end_of_output(Path(f"{self._out(number)}.stdout")),
            errors="" if well else end_of_output(Path(f"{self._out(number)}.stderr")),
        )

    def _read_log(self) -> None:
        """Read the lines that the leader has written since the last time."""
        try:
            lines, newline, _ = content_of(self.folder / "log", self._read).rpartition(b"\n")
        except OSError:
            return
        self._read += len(lines) + len(newline)
        for line in lines.decode("utf-8", "replace").splitlines():
            with suppress(ValueError):  # the leader did not write it
                word, job, at, what, *more = line.split()
                if word == "begin":
                    self._begun[int(job)] = float(at), int(what)
                else:
                    status = None if what == "-" else int(what)
                    self._over[int(job)] = float(at), status, more == [TIME_OVER.type]

    def _out(self, number: int) -> str:
        return str(self._output / str(number))

    # Killing them

    def blame(self, number: int, event: RemoteEvent) -> None:
        """Record why a job ends if it does not end alone before. The leader does not start it any more."""
        why = self._why.setdefault(number, event)
        write_file(self.folder / f"cause-{number}", why.type.encode())

    def _blamed(self, number: int) -> RemoteEvent | None:
        try:
            type = content_of(self.folder / f"cause-{number}").decode("utf-8", "replace")
        except OSError:
            return None
        return next((event for event in (KILLED, NO_DIRECTORY, REFUSED) if event.type == type), None)

    def kill(self, numbers: Collection[int]) -> None:
        """Kill jobs and all that they have started. The others go on.

        The leader checks for a mark, starts a job and records its process under the lock of the log. The marks are made
        under the same lock. So a job either is marked before it begins, and never begins, or it is found in the log.
        """
        lock = open_file(self.folder / "log", os.O_RDONLY | os.O_CREAT)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._read_log()
            for number in numbers:
                if number not in self._over:  # if it has ended, it keeps its exit code
                    self.blame(number, KILLED)
        finally:
            os.close(lock)
        for number in numbers:
            if number in self._begun and number not in self._over:
                _kill_group(self._begun[number][1], self._leader())

    def _leader(self) -> int | None:
        return _number(self.folder / "pid") if self.leader is None else self.leader

    def kill_all(self) -> None:
        """Kill the leader first, so that it starts no other job, and then the processes that it has started."""
        leader = self._leader()
        if leader is not None and self.is_running():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(leader, signal.SIGKILL)
            self._kill_rest()

    def _kill_rest(self) -> bool:
        """Kill the processes of the job that ran when its leader was killed; return whether all are dead."""
        self._read_log()
        leader = self._leader()
        if leader is None:
            return False
        for process in _session(leader):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        for number, (_, process) in self._begun.items():
            if number not in self._over:
                _kill_group(process, leader)
        return not self._is_locked()


def read_groups(folder: Path, output: Path) -> Iterator[Group]:
    """The groups of a folder. Folders that were being made or removed are removed."""
    for path in folder.iterdir():
        if path.suffix == UNFINISHED:
            shutil.rmtree(path, ignore_errors=True)
            continue
        with suppress(OSError, msgspec.DecodeError):
            kind = tuple[list[Request], float]
            requests, submitted = msgspec.json.decode(content_of(path / "jobs.json"), type=kind)
            yield Group(path, output, requests, submitted)


def _is_leader(process: int | None) -> bool:
    """Whether the process of this number is a leader: it leads a session."""
    try:
        return process is not None and os.getsid(process) == process
    except OSError:
        return False


def _kill_group(process: int, leader: int | None) -> None:
    """Kill a command and the processes that it has started, if it still belongs to that leader."""
    with suppress(ProcessLookupError, PermissionError):
        if process > 0 and os.getsid(process) == leader:
            os.killpg(process, signal.SIGKILL)


def _session(leader: int) -> Iterator[int]:
    """All processes in the session of a leader, on systems that list them."""
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with suppress(OSError):
                    if os.getsid(int(name)) == leader:
                        yield int(name)


def _number(path: Path) -> int | None:
    """The number in a file, or None."""
    try:
        return int(content_of(path))
    except (OSError, ValueError):
        return None
