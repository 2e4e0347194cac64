"""The workloads and platforms in a process that executes runs: each is read once, and kept for the next runs."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from batprotocol.conversation import DEFAULT_RULE_SET
from batprotocol.results.grouping import GROUPINGS, JobGroups, job_groups
from batprotocol.studies.files import Files
from batprotocol.studies.runs import Task
from batprotocol.workloads import Platform, Workload, named_workload, platform_for, read_platform
from batprotocol.workloads.described import parse_watts, with_watts
from batprotocol.workloads.platform import DEFAULT_MASTER

__all__ = ["Inputs", "Submitted"]

Kept = TypeVar("Kept")

_WORKLOADS: Final = 16
_PLATFORMS: Final = 16
_FILES: Final = 8
"""The numbers of inputs that are kept. Runs that share them follow one another."""
_OFFERED: Final = "offered-load"
"""This change of a workload depends on the platform."""


class Submitted(NamedTuple):
    """A workload, the users who submitted its jobs (None if no user is known), and the other groups of its jobs."""

    workload: Workload
    users: Mapping[str, Any] | None
    groups: JobGroups


class _Recent(OrderedDict[Any, Any]):
    """The values that were used last, up to a maximum number."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def __setitem__(self, name: Any, value: Any) -> None:
        super().__setitem__(name, value)
        self.move_to_end(name)
        while len(self) > self._count:
            self.popitem(last=False)

    def wanted(self, name: Any, make: Callable[[], Kept]) -> Kept:
        """The value of this name. It is made if it is missing."""
        if name not in self:
            self[name] = make()
        self.move_to_end(name)
        found: Kept = self[name]
        return found


class Inputs:
    """The inputs that a process has read.

    Args:
        folder: the folder for files from another machine.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._roots: dict[str, str] = {}
        self._read = _Recent(_FILES)
        self._workloads = _Recent(_WORKLOADS)
        self._platforms = _Recent(_PLATFORMS)

    def root(self, digest: str, shared: Mapping[str, Files]) -> str:
        """The folder of files on this machine; "" if the digest is empty."""
        if digest and digest not in self._roots:
            self._roots[digest] = shared[digest].located(self._folder)
        return self._roots[digest] if digest else ""

    def path(self, digest: str, shared: Mapping[str, Files]) -> str:
        """The path of the file that the study named."""
        return os.path.join(self.root(digest, shared), shared[digest].names[0])

    def workload(self, task: Task, shared: Mapping[str, Files]) -> Submitted:
        """The workload of a run.

        Raises:
            InputError: it cannot be read.
            OSError: a file cannot be read.
        """
        rules = task.rules or DEFAULT_RULE_SET
        beyond = rules != DEFAULT_RULE_SET
        corrected = task.corrected or beyond
        changes = tuple(task.changes.items())

        def made() -> Submitted:
            path = self.path(task.workload_files, shared) if task.workload_files else task.workload.partition("?")[0]
            own = task.workload.partition("?")[2]
            query = "&".join(filter(None, (own, *(f"{word}={value}" for word, value in changes))))
            name = f"{path}?{query}" if query else path
            hosts = self._hosts(task, shared) if task.changes.keys() & {_OFFERED} else None
            found = named_workload(name, compositions=beyond, corrected=corrected, kept=self._read, hosts=hosts)
            return Submitted(found, found.users() or None, job_groups([found], keys=GROUPINGS.keys() - {"user"}))

        machine = (task.platform, *_machine(task)) if _OFFERED in task.changes else None
        own = (task.workload, task.workload_files, changes, beyond, corrected, machine)
        return self._workloads.wanted(own, made)

    def _hosts(self, task: Task, shared: Mapping[str, Files]) -> int | None:
        """The number of hosts of a run's platform; None if the workload decides it."""
        if task.platform_files:
            return len(self.platform(task, shared).computation_hosts)
        found = None if task.platform is None else int(task.platform)
        return found if not task.mmax else min(task.mmax, found or task.mmax)

    def platform(self, task: Task, shared: Mapping[str, Files]) -> Platform:
        """The platform of a run.

        Raises:
            InputError: it cannot be read.
            OSError: a file cannot be read.
        """

        def made() -> Platform:
            if task.platform_files:
                found = read_platform(
                    self.path(task.platform_files, shared),
                    energy=task.energy and not task.watts,
                    roles=tuple(task.roles.items()),
                    master=task.master or DEFAULT_MASTER,
                    mmax=task.mmax or None,
                )
            else:
                workload = self.workload(task, shared).workload
                hosts = None if task.platform is None else int(task.platform)
                found = platform_for([workload], hosts=hosts, mmax=task.mmax or None)
            return with_watts(found, parse_watts(task.watts)) if task.watts else found

        own = (task.workload, task.workload_files, tuple(task.changes.items()), task.rules)
        return self._platforms.wanted((*_machine(task), *(() if task.platform_files else (task.platform, *own))), made)


def _machine(task: Task) -> tuple[Any, ...]:
    """The values of a task that decide its platform, beside the workload that it may be made for."""
    return task.platform_files, task.energy, task.watts, task.master, task.mmax, tuple(task.roles.items())
