"""The inputs of runs: each is read once, and what cannot run is refused before."""

from __future__ import annotations

import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from batprotocol._util.tables import LeftOut
from batprotocol.conversation import DEFAULT_RULE_SET
from batprotocol.errors import InputError, StudyError
from batprotocol.results.groups import GROUPINGS, JobGroups, job_groups
from batprotocol.studies._changes import made_events
from batprotocol.studies._sources import Files, is_policy
from batprotocol.studies.runs import Run, Task
from batprotocol.studies.traces import electricity_of
from batprotocol.workloads import Platform, Workload, advice_on, named_workload, platform_for, read_platform
from batprotocol.workloads.described import parse_watts, with_watts
from batprotocol.workloads.platform import DEFAULT_MASTER
from batprotocol.workloads.requests import check_requests

# The workloads and platforms in a process that executes runs: each is read once, and kept for the next runs.


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


def checked(runs: Iterable[Run], files: Mapping[str, Files]) -> tuple[str, ...]:
    """Check the inputs of these runs, with their events of hosts, and return advice on them as sentences.

    Args:
        runs: the runs.
        files: the files that they read, by their digests.

    Raises:
        StudyError: a workload or a platform cannot be used.
        OSError: a file cannot be read.
    """
    notes: dict[str, None] = {}
    with tempfile.TemporaryDirectory() as folder:
        inputs = Inputs(folder)
        workloads: dict[object, None] = {}
        platforms: dict[object, None] = {}
        asking: dict[object, None] = {}
        events: dict[object, None] = {}
        traces: dict[object, None] = {}
        for run in runs:
            task = run.task
            key = task.workload, task.workload_files, *(word for word in task.changes if word != "seed")
            if key not in workloads:
                workloads[key] = None
                for note in _of_workload(run, inputs, files):
                    notes[note] = None
            if is_policy(task.scheduler) and key not in asking:  # other schedulers may read other keys
                asking[key] = None
                _expect_requests(run, inputs, files)
            machine = task.platform_files, task.master, task.mmax, tuple(task.roles.items()), task.energy, task.watts
            if (task.platform_files or task.watts) and machine not in platforms:
                platforms[machine] = None
                _expect(run, "platform", inputs, files)
            known = run.measure.traces, key
            if run.measure.traces and known not in traces:
                traces[known] = None
                _expect_traces(run, inputs, files)
            laws = tuple(each for each in task.drawn_failures.items() if each[0] != "seed")
            failing = task.events_files, task.failures_files, laws, is_policy(task.scheduler), task.platform, *machine
            if any(failing[:3]) and failing not in events:
                events[failing] = None
                for note in _of_events(run, inputs, files):
                    notes[note] = None
    return tuple(notes)


def _of_workload(run: Run, inputs: Inputs, files: Mapping[str, Files]) -> Iterable[str]:
    _expect(run, "workload", inputs, files)
    workload = inputs.workload(run.task, files).workload
    label = str(run.axes.get("workload", run.task.workload))
    return [f"{label}: {each}" for each in advice_on(workload)]


def _expect_requests(run: Run, inputs: Inputs, files: Mapping[str, Files]) -> None:
    """Check what the jobs of a run ask for.

    Raises:
        StudyError: a value cannot be read, or jobs wait for each other in a circle.
    """
    workload = inputs.workload(run.task, files).workload
    try:
        check_requests((job_id, extra_data, "") for job_id, extra_data in workload.extra_data())
    except InputError as error:
        raise StudyError(f"{run}: {error}", "workload") from None


def _of_events(run: Run, inputs: Inputs, files: Mapping[str, Files]) -> Iterable[str]:
    """Check the external events of a run, and the laws of its failures; sentences on what is left out of a trace."""
    task, left_out = run.task, LeftOut()
    try:
        made_events(
            task,
            inputs.platform(task, files),
            inputs.workload(task, files).workload,
            lambda digest: inputs.path(digest, files),
            left_out,
        )
    except InputError as error:
        key = "mtbf" if task.drawn_failures else "failures" if task.failures_files else "events"
        raise StudyError(f"{run}: {error}", key) from None
    for reason in left_out:
        what = "outages are left out" if reason.is_row else "values of outages are left out"
        yield f"{task.failures}: {reason.count:,} {what}: {reason.reason}"


def _expect_traces(run: Run, inputs: Inputs, files: Mapping[str, Files]) -> None:
    """Check that no trace ends before the last submission. Whether it reaches to the end of the run is known then.

    Raises:
        StudyError: one does, or it cannot be used.
    """
    workload = inputs.workload(run.task, files).workload
    roots = {each.files: inputs.root(each.files, files) for each in run.measure.traces if each.files}
    last = workload[len(workload) - 1].time if len(workload) else 0.0
    try:
        electricity_of(run.measure, roots).expect_until(last)
    except InputError as error:
        raise StudyError(f"{run}: {error.reason}", error.path or "carbon") from None


def _expect(run: Run, what: str, inputs: Inputs, files: Mapping[str, Files]) -> None:
    """Check that an input of a run can be used.

    Raises:
        StudyError: it cannot be used.
    """
    try:
        inputs.workload(run.task, files) if what == "workload" else inputs.platform(run.task, files)
    except InputError as error:
        raise StudyError(f"{run}: {error}", what) from None
