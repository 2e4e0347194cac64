"""The resource manager of this machine.

Only `tend` starts jobs that wait for a slot. This module must not know why a job is run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from batprotocol._util.files import reason_of
from batprotocol._util.systems import refusal
from batprotocol.campaigns.managers.interface import REFUSED, Request
from batprotocol.campaigns.managers.local.group import Group, read_groups
from batprotocol.campaigns.managers.local.starter import Starter
from batprotocol.campaigns.model import Observation, RemoteJob
from batprotocol.errors import ClusterError

with suppress(ImportError):  # where it is missing, there are no clusters on this machine
    import fcntl

__all__ = ["LocalProcesses"]

NEEDED: Final = ("fcntl.flock", "os.fork", "os.pidfd_open", "os.posix_spawn")
"""What leaders of jobs need, besides what each system with `os.fork` has."""


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
        self._starter = Starter()
        self._of: dict[int, Group] = {}  # the group of each job that is known
        self._waiting: dict[Group, None] = {}
        self._running: dict[Group, None] = {}
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

    def submit(self, requests: Sequence[Request]) -> None:
        groups: dict[tuple[str, int], list[Request]] = {}
        for request in requests:
            if request.job not in self._of:
                key = ("alone", request.job) if request.group is None else ("group", request.group)
                groups.setdefault(key, []).append(request)
        with self._files():
            for together in groups.values():
                self._accept(list({each.job: each for each in together}.values()))

    def kill(self, jobs: Iterable[int]) -> None:
        doomed: dict[Group, list[int]] = {}
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

    def _accept(self, requests: list[Request]) -> None:
        """Record jobs that run one after the other."""
        group = Group(self._folder / "jobs" / str(requests[0].job), self._output, requests, time.time())
        group.write()
        self._of.update(dict.fromkeys(group.requests, group))
        if group.weight > self.slots:
            for number in group.requests:
                group.blame(number, REFUSED)
            group.finish()
        else:
            self._waiting[group] = None

    def _end(self, group: Group) -> None:
        """A group does not run: it has ended, or somebody killed its leader before its first step."""
        if group.is_settled:
            group.finish()
        else:
            group.leader = None
            self._waiting[group] = None
