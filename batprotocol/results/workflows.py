"""The results of each workflow of a run: makespan, critical path, stretch and efficiency.

A workflow is the jobs of a workload whose extra data name the same `workflow`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.results.catalogue import Metric
from batprotocol.results.observing import JobRow
from batprotocol.results.times import joined_rows
from batprotocol.workloads.requests import Request, longest_paths, read_request
from batprotocol.workloads.requests.offers import needs_of
from batprotocol.workloads.workload import Workload

__all__ = ["WORKFLOW_METRICS", "WorkflowResult", "workflow_means", "workflow_results"]

_HEFT: Final = "H. Topcuoglu, S. Hariri and M.-Y. Wu, TPDS 13(3), 2002"

_METRICS: Final[tuple[tuple[str, str, str, str, Literal["less", "more"] | None], ...]] = (
    ("makespan", "last end of a task - arrival of the workflow", "s", "", "less"),
    (
        "critical_path",
        "the longest path through the tasks, by their run times in this run",
        "s",
        "J. E. Kelley and M. R. Walker, Eastern Joint Computer Conference 1959",
        None,
    ),
    ("stretch", "makespan / critical path, >= 1; the schedule length ratio on equal hosts", "", _HEFT, "less"),
    ("work", "core-seconds of all tasks", "core s", "", None),
    ("efficiency", "work / (cores * makespan): the speedup for each core", "", _HEFT, "more"),
)
"""Name, definition, unit, source, better direction."""
WORKFLOW_METRICS: Final = {
    name: Metric(name, name.replace("_", " "), definition, unit, source, better, name)
    for name, definition, unit, source, better in _METRICS
}
"""The metrics of a workflow by their names, which are fields of `WorkflowResult`."""


class WorkflowResult(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a workflow. `WORKFLOW_METRICS` has the definitions and sources.

    The numbers are None where a task was rejected, has failed or is missing.

    Args:
        name: its name.
        tasks: the number of its tasks.
        failed: the number of its tasks that did not succeed.
        arrival: the submission of its first task, in seconds.
        makespan: seconds from its arrival to the last end of a task.
        critical_path: the seconds of its longest path, by the run times of this run.
        stretch: makespan / critical path.
        work: the core-seconds of its tasks. A job that does not ask for cores counts one core for each of its hosts.
        efficiency: work / (cores * makespan); None also where the number of cores is not given.
    """

    name: str
    tasks: int
    failed: int
    arrival: float
    makespan: float | None = None
    critical_path: float | None = None
    stretch: float | None = None
    work: float | None = None
    efficiency: float | None = None


def workflow_results(
    rows: Iterable[JobRow], workload: Workload, *, cores: int | None = None
) -> dict[str, WorkflowResult]:
    """The results of the workflows of a workload by their names, in the order of their arrivals.

    Args:
        rows: the rows of jobs.csv.
        workload: the workload, under the name that it had in the run.
        cores: the number of cores of all hosts, > 0; None: efficiencies are not known.

    Raises:
        InputError: the number of cores is out of its range, an extra data of a job cannot be read, or jobs wait for
            one another in a circle.

    >>> from batprotocol.policies import named
    >>> from batprotocol.simulator import (
    ...     Workflow, WorkflowTask, described_platform, simulate, workflow_results, workflow_workload
    ... )
    >>> tasks = WorkflowTask("a", (), 10.0), WorkflowTask("b", (), 10.0), WorkflowTask("c", ("a", "b"), 5.0)
    >>> workload = workflow_workload([Workflow("small", tasks)])
    >>> result = simulate(described_platform("n0 cores=1"), workload, named("fcfs")())
    >>> found = workflow_results(result.jobs, workload, cores=1)["small"]
    >>> round(found.makespan, 3), found.critical_path, round(found.stretch, 3), round(found.efficiency, 3)
    (25.0, 15.0, 1.667, 1.0)
    """
    if cores is not None and cores < 1:
        raise InputError(f"expected a number of cores > 0, got {shown(cores)}")
    workflows: dict[str, dict[str, tuple[float, Request]]] = {}
    for time, name, job in workload:
        request = read_request(job.extra_data)
        if request.workflow is not None:
            workflows.setdefault(request.workflow, {})[name] = time, request
    known = {f"{row.workload_name}!{row.job_id}": row for row in joined_rows(rows)} if workflows else {}
    return {name: _result(name, tasks, known, cores) for name, tasks in workflows.items()}


def workflow_means(results: Iterable[WorkflowResult]) -> dict[str, float]:
    """The metrics of all workflows of a run by the names of `OF_WORKFLOWS`: means, and how many there are.

    Args:
        results: the results of the workflows. Without any, there are no metrics.

    >>> workflow_means([WorkflowResult(name="a", tasks=1, failed=0, arrival=0.0, makespan=4.0, stretch=2.0)])
    {'nb_workflows': 1.0, 'nb_failed_workflows': 0.0, 'mean_workflow_makespan': 4.0, 'mean_workflow_stretch': 2.0}
    """
    given = list(results)
    if not given:
        return {}
    found = {"nb_workflows": float(len(given)), "nb_failed_workflows": float(sum(each.failed > 0 for each in given))}
    for field in ("makespan", "stretch", "efficiency"):
        values = [value for each in given if (value := getattr(each, field)) is not None]
        if values:
            found[f"mean_workflow_{field}"] = math.fsum(values) / len(values)
    return found


def _result(
    name: str, tasks: Mapping[str, tuple[float, Request]], rows: Mapping[str, JobRow], cores: int | None
) -> WorkflowResult:
    arrival = min(time for time, _ in tasks.values())
    ran = {task: row for task in tasks if (row := rows.get(task)) is not None and row.success}
    found = WorkflowResult(name=name, tasks=len(tasks), failed=len(tasks) - len(ran), arrival=arrival)
    if found.failed:
        return found
    lengths = {task: row.shown_execution_time or 0.0 for task, row in ran.items()}
    path = max(longest_paths(lengths, {task: _parents(task, request) for task, (_, request) in tasks.items()}).values())
    makespan = max(row.finish_time or 0.0 for row in ran.values()) - arrival
    work = math.fsum(
        row.host_count * (needs_of(tasks[task][1], row.host_count).cores or 1) * lengths[task]
        for task, row in ran.items()
    )
    return msgspec.structs.replace(
        found,
        makespan=makespan,
        critical_path=path,
        stretch=makespan / path,
        work=work,
        efficiency=None if cores is None else work / (cores * makespan),
    )


def _parents(task: str, request: Request) -> list[str]:
    """The full names of the jobs for whose ends a job waits."""
    if request.dependency is None:
        return []
    workload = task.partition("!")[0]
    named = [each.job for each in request.dependency.conditions if each.kind not in ("after", "singleton")]
    return [each if "!" in each else f"{workload}!{each}" for each in named]
