"""A cluster on this machine: a number of slots, and a process group for each job.

A leader (`_local_leader`) runs the jobs of a group one after the other, and records their ends in a folder. Only `tend`
starts leaders for jobs that wait for a slot.
"""

from __future__ import annotations

import marshal
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from batprotocol._util.files import reason_of
from batprotocol._util.requirements import refusal
from batprotocol.campaigns.managers.interface import (
    KILLED,
    LOST,
    NO_DIRECTORY,
    REFUSED,
    TIME_OVER,
    JobRequest,
    content_of,
    end_of_output,
    ended,
    open_file,
    write_file,
)
from batprotocol.campaigns.model import GridJobState, Observation, RemoteEvent, RemoteJob
from batprotocol.errors import ClusterError

with suppress(ImportError):  # where it is missing, there are no clusters on this machine
    import fcntl

__all__ = ["LocalProcesses"]


# Starts leaders by a small process that forks, as a new Python takes longer to start than a short job runs.


LEADER: Final = str(Path(__file__).with_name("_local_leader.py"))


class LeaderStarter:
    """A process that starts leaders while this process lives. The leaders survive it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, folder: Path) -> int | None:
        """Start the leader of the jobs in a folder; return its process, or None if there is one already."""
        if self._process is not None and self._process.poll() is not None:
            self.close()
        with suppress(BrokenPipeError):
            return self._ask(folder)
        self.close()  # somebody has killed it: start another one
        return self._ask(folder)

    def close(self) -> None:
        """Let it end."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            assert process.stdout is not None
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.stdout.close()
            process.wait()

    def _ask(self, folder: Path) -> int | None:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", LEADER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # it must not get Ctrl-C
                bufsize=0,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(os.fsencode(folder) + b"\0")
        answer = self._process.stdout.readline()
        if not answer:
            raise BrokenPipeError
        return int(answer) or None


# Jobs that run one after the other, and their folder.


NODE: Final = socket.gethostname()

IGNORED: Final = tuple(int(getattr(signal, name)) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name))
"""The signals that Python ignores."""

UNFINISHED: Final = ".unfinished"
"""The suffix of a folder that is being made or removed."""


class JobGroup:
    """Jobs that run one after the other.

    Args:
        folder: the folder of the group.
        output: the folder for the output of the jobs.
        requests: the jobs, in their order.
        submitted: the time of their submission.
    """

    def __init__(self, folder: Path, output: Path, requests: Sequence[JobRequest], submitted: float) -> None:
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

    def start(self, starter: LeaderStarter) -> bool:
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
            state = GridJobState.RUNNING if running else GridJobState.REMOTE_WAITING
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


def read_groups(folder: Path, output: Path) -> Iterator[JobGroup]:
    """The groups of a folder. Folders that were being made or removed are removed."""
    for path in folder.iterdir():
        if path.suffix == UNFINISHED:
            shutil.rmtree(path, ignore_errors=True)
            continue
        with suppress(OSError, msgspec.DecodeError):
            kind = tuple[list[JobRequest], float]
            requests, submitted = msgspec.json.decode(content_of(path / "jobs.json"), type=kind)
            yield JobGroup(path, output, requests, submitted)


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


NEEDED: Final = ("fcntl.flock", "os.fork", "os.pidfd_open", "os.posix_spawn")
"""The functions that leaders of jobs need, besides what each system with `os.fork` has."""


# The resource manager.


class LocalProcesses:
    """Processes on this machine, each in a number of slots.

    Args:
        name: the name of the cluster.
        folder: the folder of the jobs; made if it is missing. Only one process at a time can use it.
        slots: how many slots there are; None: as many as the machine has processors.

    The complete output of the jobs is in `output/` in that folder.

    Raises:
        ClusterError: another process uses this folder, or it cannot be made; or this system cannot run such jobs.
    """

    def __init__(self, name: str, folder: str | os.PathLike[str], slots: int | None = None) -> None:
        if sentence := refusal("clusters on this machine", *NEEDED):
            raise ClusterError(sentence, name)
        self.name = name
        self.slots = slots or os.cpu_count() or 1
        self._folder = Path(folder).absolute()
        self._output = self._folder / "output"
        try:
            (self._folder / "jobs").mkdir(parents=True, exist_ok=True)
            self._output.mkdir(exist_ok=True)
            self._open = os.open(self._folder / "lock", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ClusterError(f"{error.filename}: {error.strerror}", name) from None
        try:
            fcntl.flock(self._open, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._open)
            raise ClusterError(f"{self._folder} is in use by another process", name) from None
        self._starter = LeaderStarter()
        self._of: dict[int, JobGroup] = {}  # the group of each job that is known
        self._waiting: dict[JobGroup, None] = {}
        self._running: dict[JobGroup, None] = {}
        self._find_again()

    # A resource manager

    def look(self) -> Observation:
        with self._files():
            self.tend()
        jobs: list[RemoteJob] = []
        for groups, running in ((self._waiting, False), (self._running, True)):
            for group in groups:
                jobs += group.jobs(running)
        going = {job.job for job in jobs}
        jobs += [group.ended[number] for number, group in self._of.items() if number not in going]
        jobs = [job for job in jobs if job.job in self._of]
        return Observation(
            cluster=self.name, time=time.time(), max=self.slots, free=max(self._free(), 0), jobs=tuple(jobs)
        )

    def submit(self, requests: Sequence[JobRequest]) -> None:
        groups: dict[tuple[str, int], list[JobRequest]] = {}
        for request in requests:
            if request.job not in self._of:
                key = ("alone", request.job) if request.group is None else ("group", request.group)
                groups.setdefault(key, []).append(request)
        with self._files():
            for together in groups.values():
                self._accept(list({each.job: each for each in together}.values()))

    def kill(self, jobs: Iterable[int]) -> None:
        doomed: dict[JobGroup, list[int]] = {}
        for number in jobs:
            group = self._of.get(number)
            if group is not None and number not in group.ended:
                doomed.setdefault(group, []).append(number)
        for group, numbers in doomed.items():
            with self._files():
                group.kill(numbers)
            if group in self._waiting and group.is_settled:
                del self._waiting[group]
                group.finish()

    def forget(self, jobs: Iterable[int]) -> None:
        forgotten = [number for number in jobs if number in self._of]
        groups = {id(group): group for number in forgotten if (group := self._of.pop(number))}
        for group in groups.values():
            if not any(number in self._of for number in group.requests):
                group.kill_all()
                self._waiting.pop(group, None)
                self._running.pop(group, None)
                group.clear()
                continue
            group.kill([number for number in group.requests if number not in self._of and number not in group.ended])

    def tend(self) -> None:
        for group in [group for group in self._running if not group.is_running()]:
            del self._running[group]
            self._end(group)
        free = self._free()
        for group in list(self._waiting):
            if free <= 0:
                break
            if group.weight <= free:
                del self._waiting[group]
                if group.start(self._starter):
                    free -= group.weight
                    self._running[group] = None
                else:
                    group.finish()

    @contextmanager
    def _files(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ClusterError(f"{error.filename or self._folder}: {reason_of(error)}", self.name) from None

    def close(self) -> None:
        self._starter.close()
        os.close(self._open)

    # Its jobs

    def _find_again(self) -> None:
        """Find the jobs of the process that used this folder before."""
        groups = read_groups(self._folder / "jobs", self._output)
        for group in sorted(groups, key=lambda group: (group.submitted, min(group.requests))):
            self._of.update(dict.fromkeys(group.requests, group))
            if group.is_running():
                self._running[group] = None
            else:
                self._end(group)

    def _free(self) -> int:
        return self.slots - sum(group.weight for group in self._running)

    def _accept(self, requests: list[JobRequest]) -> None:
        """Record jobs that run one after the other."""
        group = JobGroup(self._folder / "jobs" / str(requests[0].job), self._output, requests, time.time())
        group.write()
        self._of.update(dict.fromkeys(group.requests, group))
        if group.weight > self.slots:
            for number in group.requests:
                group.blame(number, REFUSED)
            group.finish()
        else:
            self._waiting[group] = None

    def _end(self, group: JobGroup) -> None:
        """A group does not run: it has ended, or somebody killed its leader before its first step."""
        if group.is_settled:
            group.finish()
        else:
            group.leader = None
            self._waiting[group] = None
