"""Workflows in WfCommons' WfFormat (JSON, versions 1.4 to 1.6) as workloads: jobs that wait for one another.

These keys are used; the others are ignored:

- `name`: the name of the workflow, the key `workflow` of the extra data of each job.
- `workflow.specification.tasks`, in version 1.4 `workflow.tasks`: the tasks. `parents` and `children` become a
  dependency `afterok:...` of the job that waits. One of both is enough.
- `workflow.execution.tasks`, in version 1.4 the same objects: `runtimeInSeconds` becomes a `DelayProfile`, `coreCount`
  (1.4: `cores`) the key `cores`, by default 1, and `memoryInBytes` the key `memory`, rounded up to KiB.

Files and their sizes are not used: the transfer of data takes no time.
"""

from __future__ import annotations

import gzip
import math
import os
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol.errors import InputError, hint, shown
from batprotocol.model import DelayProfile
from batprotocol.workloads.requests.dependencies import longest_paths
from batprotocol.workloads.workload import StaticJob, Workload
from batprotocol.workloads.workload_files import compact_json

__all__ = ["Workflow", "WorkflowTask", "read_workflow", "workflow_workload"]

_VERSIONS: Final = ("1.4", "1.5", "1.6")
_SHORTEST: Final = 1e-5
"""The shortest run time of a job, in seconds. Batsim has no delays of 0 s."""
_BEYOND: Final = 1e-6
"""Seconds by which a walltime is longer than the run time, so that it ends no job."""
_MOST_PARENTS: Final = 1000
"""The number of conditions that a dependency can have."""
_LONGEST: Final = 1e15
_UNSAFE: Final = re.compile(r"[^0-9A-Za-z_.-]")


class WorkflowTask(NamedTuple):
    """A task of a workflow.

    Attributes:
        id: its id.
        parents: the ids of the tasks that must end before.
        runtime: its run time in seconds, >= 0.
        cores: the number of cores that it takes.
        memory: the memory that it takes, in bytes; None if unknown.
    """

    id: str
    parents: tuple[str, ...]
    runtime: float
    cores: int = 1
    memory: int | None = None


class Workflow(msgspec.Struct, frozen=True):
    """A workflow: tasks that wait for one another.

    Args:
        name: its name.
        tasks: its tasks, with different ids, and without circles.
        filename: the file that it was read from, or "".
    """

    name: str
    tasks: tuple[WorkflowTask, ...]
    filename: str = ""

    @property
    def critical_path(self) -> float:
        """The seconds of its longest path: no run on machines of this speed is shorter."""
        lengths = {task.id: task.runtime for task in self.tasks}
        return max(longest_paths(lengths, {task.id: task.parents for task in self.tasks}).values(), default=0.0)

    @property
    def work(self) -> float:
        """The core-seconds of all tasks."""
        return math.fsum(task.cores * task.runtime for task in self.tasks)


def read_workflow(path: str | os.PathLike[str]) -> Workflow:
    """Read a workflow in WfFormat 1.4, 1.5 or 1.6, compressed by gzip or not.

    Raises:
        InputError: the file is not such a workflow. The error names the task and the key.
        OSError: the file cannot be read.
    """
    filename = os.fspath(path)
    try:
        return _workflow(_decoded(filename), filename)
    except InputError as error:
        raise InputError(error.reason, error.path, file=filename) from None


def workflow_workload(
    workflows: Iterable[Workflow | str | os.PathLike[str]],
    *,
    arrivals: Sequence[float] = (),
    every: float = 0.0,
    speed: float = 1.0,
    walltimes: float | None = None,
    name: str = "w0",
) -> Workload:
    """The workload of one or several workflows.

    Each task is a job for one host, with the id `WORKFLOW.TASK`. All jobs of a workflow are submitted at its arrival.
    Characters of ids that dependencies cannot have become `_`. A workflow that is given twice gets another name, with
    `-2`.

    Args:
        workflows: the workflows, as values or files.
        arrivals: the arrival of each workflow, in seconds; empty: `every` decides.
        every: the seconds between two arrivals, from 0 on.
        speed: the factor by which the machine is faster than the one of the instance: run times are divided by it.
        walltimes: walltimes are this factor times the run times, plus a microsecond, >= 1; None: jobs have none.
        name: the name of the workload.

    Raises:
        InputError: a file is not a workflow, or an argument is out of its range.
        OSError: a file cannot be read.

    >>> tasks = WorkflowTask("a", (), 10.0), WorkflowTask("b", ("a",), 5.0, cores=4)
    >>> workload = workflow_workload([Workflow("small", tasks)], walltimes=2)
    >>> [(each.id, each.job.extra_data) for each in workload][1]
    ('w0!small.b', '{"workflow":"small","cores":4,"dependency":"afterok:small.a"}')
    """
    given = [each if isinstance(each, Workflow) else read_workflow(each) for each in workflows]
    times = list(arrivals) or [every * number for number in range(len(given))]
    if len(times) != len(given):
        raise InputError(f"expected an arrival for each of {len(given)} workflows, got {len(times)}")
    if not all(0 <= time < math.inf for time in times):
        raise InputError(f"expected arrivals >= 0 in seconds, got {shown(times)}")
    if not 0 < speed < math.inf or not (walltimes is None or 1 <= walltimes < math.inf):
        raise InputError(f"expected a speed > 0 and a factor of walltimes >= 1, got {shown((speed, walltimes))}")
    jobs: list[StaticJob] = []
    taken: set[str] = set()
    for workflow, time in zip(given, times, strict=True):
        called = _free(_UNSAFE.sub("_", workflow.name), taken)
        ids: dict[str, str] = {}
        used: set[str] = set()
        for task in workflow.tasks:
            ids[task.id] = f"{called}.{_free(_UNSAFE.sub('_', task.id), used)}"
        for task in workflow.tasks:
            runtime = max(task.runtime / speed, _SHORTEST)
            limit = None if walltimes is None else runtime * walltimes + _BEYOND
            extra = _extra_data(task, called, ids)
            jobs.append(StaticJob(ids[task.id], time, 1, DelayProfile(runtime), limit, compact_json(extra)))
    return Workload(jobs, name=name)


def _extra_data(task: WorkflowTask, workflow: str, ids: Mapping[str, str]) -> dict[str, Any]:
    asked: dict[str, Any] = {"workflow": workflow, "cores": task.cores}
    if task.memory is not None:
        asked["memory"] = f"{math.ceil(task.memory / 1024)}K"
    if task.parents:
        asked["dependency"] = ":".join(["afterok", *(ids[parent] for parent in task.parents)])
    return asked


def _free(name: str, taken: set[str]) -> str:
    """This name, or with a number if it is taken; from now on, it is taken."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    taken.add(free)
    return free


# The file


def _decoded(filename: str) -> Any:
    with open(filename, "rb") as file:
        data = file.read()
    try:
        return msgspec.json.decode(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"the compressed file is damaged: {error}") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError(f"the file is not JSON: {error}") from None


def _workflow(data: Any, filename: str) -> Workflow:
    if not isinstance(data, dict) or not isinstance(data.get("workflow"), dict):
        raise InputError("expected an object with the key workflow, as WfFormat has it")
    version = data.get("schemaVersion")
    if version not in _VERSIONS:
        raise InputError(f"expected WfFormat {', '.join(_VERSIONS)}, got {shown(version)}", "schemaVersion")
    name = data.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > 200:
        raise InputError(f"expected a text that is not empty, got {shown(name)}", "name")
    inner = data["workflow"]
    if version == "1.4":
        place = "workflow.tasks"
        tasks = _objects(inner, "tasks", place)
        keys = [str(task.get("name", task.get("id", ""))) for task in tasks]
    else:
        place = "workflow.specification.tasks"
        tasks = _objects(_object(inner, "specification", "workflow.specification"), "tasks", place)
        keys = [task["id"] if isinstance(task.get("id"), str) else "" for task in tasks]
    known = _known(tasks, keys, place, version)
    runs = dict(zip(keys, tasks, strict=True)) if version == "1.4" else _runs(inner, set(keys))
    parents = _parents(tasks, keys, known, place)
    try:
        longest_paths(dict.fromkeys(keys, 0.0), parents)
    except InputError as error:
        raise InputError(error.reason.replace("jobs", "tasks", 1), place) from None
    return Workflow(name, tuple(_task(key, tuple(parents[key]), runs[key], version) for key in keys), filename)


def _object(given: Mapping[str, Any], key: str, place: str) -> dict[str, Any]:
    found = given.get(key)
    if not isinstance(found, dict):
        raise InputError(f"expected an object, got {shown(found)}", place)
    return found


def _objects(given: Mapping[str, Any], key: str, place: str) -> list[dict[str, Any]]:
    found = given.get(key)
    if not isinstance(found, list) or not found:
        raise InputError(f"expected a list of tasks that is not empty, got {shown(found)}", place)
    for number, task in enumerate(found):
        if not isinstance(task, dict):
            raise InputError(f"expected an object, got {shown(task)}", f"{place}[{number}]")
    return found


def _runs(inner: Mapping[str, Any], keys: set[str]) -> dict[str, dict[str, Any]]:
    """The entries of the execution by the ids of their tasks, with one for each task."""
    place = "workflow.execution.tasks"
    if "execution" not in inner:
        raise InputError("the workflow has no run times: use an instance of an execution", "workflow.execution")
    found: dict[str, dict[str, Any]] = {}
    for number, run in enumerate(_objects(_object(inner, "execution", "workflow.execution"), "tasks", place)):
        key = run.get("id")
        if key not in keys:
            raise InputError(f"there is no task {shown(key)}{hint(str(key), keys)}", f"{place}[{number}].id")
        if key in found:
            raise InputError(f"task {shown(key)} is there twice", f"{place}[{number}].id")
        found[key] = run
    for key in sorted(keys - found.keys()):
        raise InputError(f"task {shown(key)} has no run time: the list has no entry for it", place)
    return found


def _known(tasks: Sequence[dict[str, Any]], keys: Sequence[str], place: str, version: str) -> dict[str, str]:
    """The keys of tasks by what other tasks call them."""
    known: dict[str, str] = {}
    for number, key in enumerate(keys):
        if not key or len(key) > 200:
            what = "name" if version == "1.4" else "id"
            raise InputError(
                f"expected a text that is not empty, got {shown(tasks[number].get(what))}", f"{place}[{number}].{what}"
            )
        if key in known:
            raise InputError(f"two tasks are called {shown(key)}", f"{place}[{number}]")
        known[key] = key
    if version == "1.4":  # some instances name tasks by their ids
        for task, key in zip(tasks, keys, strict=True):
            known.setdefault(str(task.get("id", key)), key)
    return known


def _parents(
    tasks: Sequence[dict[str, Any]], keys: Sequence[str], known: Mapping[str, str], place: str
) -> dict[str, list[str]]:
    """The parents of each task, from both of its lists."""
    found: dict[str, dict[str, None]] = {key: {} for key in keys}
    for number, (task, key) in enumerate(zip(tasks, keys, strict=True)):
        for what in ("parents", "children"):
            named = task.get(what, [])
            where = f"{place}[{number}].{what}"
            if not isinstance(named, list):
                raise InputError(f"task {shown(key)}: expected a list of ids, got {shown(named)}", where)
            for each in named:
                if not isinstance(each, str) or each not in known:
                    near = hint(str(each), known)
                    raise InputError(f"task {shown(key)}: there is no task {shown(each)}{near}", where)
                child, parent = (key, known[each]) if what == "parents" else (known[each], key)
                found[child][parent] = None
    for key, parents in found.items():
        if len(parents) > _MOST_PARENTS:
            raise InputError(
                f"task {shown(key)} has {len(parents):,} parents, and a job can wait for {_MOST_PARENTS:,} at most",
                place,
            )
    return {key: list(parents) for key, parents in found.items()}


def _task(key: str, parents: tuple[str, ...], run: Mapping[str, Any], version: str) -> WorkflowTask:
    runtime = _number(key, run, "runtimeInSeconds", 0.0)
    if runtime is None:
        raise InputError(f"task {shown(key)} has no run time", "runtimeInSeconds")
    cores = _number(key, run, "cores" if version == "1.4" else "coreCount", 1.0)
    memory = _number(key, run, "memoryInBytes", 0.0)
    return WorkflowTask(
        key, parents, runtime, 1 if cores is None else math.ceil(cores), None if not memory else math.ceil(memory)
    )


def _number(key: str, run: Mapping[str, Any], what: str, least: float) -> float | None:
    value = run.get(what)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= _LONGEST:
        raise InputError(f"task {shown(key)}: expected a number >= {least:g}, got {shown(value)}", what)
    return float(value)
