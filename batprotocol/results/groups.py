"""The metrics of groups of jobs: by partition, QOS, account, user, workflow and size class; and those of workflows.

Each group is measured on the whole machine and in the same time, so utilisations add up, unless groups share hosts
and the cores of their jobs are not known. A workflow is the jobs of a workload whose extra data name the same
`workflow`.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from batprotocol.errors import InputError, expect_options, shown
from batprotocol.results.catalogue import Metric, own_metrics
from batprotocol.results.electricity import CoreTimes, Electricity, power_of_jobs
from batprotocol.results.metrics import GroupOptions, MeasuredRun, Metrics, expect_usable, joined_run, metrics_of
from batprotocol.results.observers import TAU, JobRow
from batprotocol.results.times import HostUse, JobTimes, MeasuredTime, RunRows, WholeJob, joined_rows
from batprotocol.workloads.requests import Allocated, Request, longest_paths, read_request
from batprotocol.workloads.requests.offers import needs_of
from batprotocol.workloads.workload import Workload

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "GROUPINGS",
    "WORKFLOW_METRICS",
    "JobGroups",
    "WorkflowResult",
    "grouped",
    "job_groups",
    "size_class",
    "with_allocations",
    "workflow_means",
    "workflow_results",
]


GROUPINGS: Final[Mapping[str, str]] = {
    "partition": "The partition that a job ran in, if allocations are known; else the partitions that it asks for.",
    "qos": "The QOS that it asks for.",
    "account": "The account that it asks for.",
    "size": "Its size class: its hosts, or the cores of a job that shares hosts, up to the next power of two.",
    "user": "Its user.",
    "workflow": "Its workflow.",
}
"""The ways to group jobs, with their meanings. Jobs without a value are in the group `-`."""

JobGroups: TypeAlias = Mapping[str, Mapping[str, str]]
"""The group of each job by its full name, for each of `GROUPINGS`. Sizes are only those of jobs that share hosts."""

_NOBODY: Final = "-"
_UNKNOWN: Final = Electricity()
_DIGITS: Final = re.compile("([0-9]{1,18})", re.ASCII)


def size_class(number: int, unit: str = "host") -> str:
    """The size class of a job: up to the next power of two.

    Args:
        number: the number of its hosts or cores.
        unit: `host` or `core`.

    >>> size_class(1), size_class(2), size_class(3), size_class(8, "core"), size_class(9, "core")
    ('1 host', '2 hosts', '3-4 hosts', '5-8 cores', '9-16 cores')
    """
    most = 1 << max(number - 1, 0).bit_length()
    least = most // 2 + 1
    return f"{least}-{most} {unit}s" if least < most else f"{most} {unit}{'s' * (most > 1)}"


def job_groups(
    workloads: Iterable[Workload], allocations: Iterable[Allocated] = (), keys: Iterable[str] = GROUPINGS
) -> JobGroups:
    """The groups that the jobs of a run belong to.

    Args:
        workloads: the workloads, in the order in which they were simulated.
        allocations: the amounts that started jobs took of their hosts, such as `Policy.allocated`: partitions are then
            those in which jobs ran, and jobs that ran again after a preemption are in the groups of the first run.
        keys: the groupings that matter; the others are empty.

    A request that cannot be read groups nothing; built-in policies reject such a job.
    """
    found: dict[str, dict[str, str]] = {key: {} for key in GROUPINGS}
    wanted = frozenset(keys)
    for number, each in enumerate(workloads):
        workload = each.named(f"w{number}")
        known: dict[str, list[tuple[str, str]]] = {}  # many jobs ask for the same
        sharing = False
        for name, text in workload.extra_data():
            if text not in known:
                request = _request(text)
                sharing = sharing or not request.is_whole
                known[text] = [(key, label) for key, label in _labels(request).items() if key in wanted]
            for key, label in known[text]:
                found[key][name] = label
        for _, name, job in workload if sharing and "size" in wanted else ():
            request = _request(job.extra_data)
            if not request.is_whole:
                cores = needs_of(request, max(job.resource_request, 1)).cores or 1
                found["size"][name] = size_class(job.resource_request * cores, "core")
    return with_allocations(found, allocations)


def with_allocations(groups: JobGroups, allocations: Iterable[Allocated]) -> JobGroups:
    """The groups of jobs, with the partitions that they ran in, and also of jobs that ran again after a preemption.

    Args:
        groups: the groups of jobs by what they ask for.
        allocations: the amounts that started jobs took of their hosts, such as `Policy.allocated`.
    """
    taken_hosts = list(allocations)
    if not taken_hosts:
        return groups
    found = {key: dict(groups.get(key, {})) for key in GROUPINGS}
    for taken in taken_hosts:
        if taken.first_id != taken.job_id:
            for labels in found.values():
                if taken.first_id in labels:
                    labels[taken.job_id] = labels[taken.first_id]
        if taken.partition:
            found["partition"][taken.job_id] = taken.partition
        if taken.whole:
            found["size"].pop(taken.job_id, None)
    return found


def _request(extra_data: str | None) -> Request:
    try:
        return read_request(extra_data)
    except InputError:
        return read_request(None)


def _labels(request: Request) -> dict[str, str]:
    """The groups of a job that asks for this, without its size class."""
    given = {
        "partition": ",".join(request.partition) or None,
        "qos": request.qos,
        "account": request.account,
        "user": request.user,
        "workflow": request.workflow,
    }
    return {key: str(value) for key, value in given.items() if value is not None}


def grouped(
    rows: Iterable[JobRow],
    hosts: int,
    by: str,
    groups: JobGroups,
    **options: Unpack[GroupOptions],
) -> dict[str, Metrics]:
    """The metrics of each group of jobs, by the names of the groups. Those of failures are only for the whole machine.

    All groups have the measured time of the whole run. The utilisation of a group is that of all hosts by its jobs. Its
    loss of capacity counts the hosts that no job of any group used while its jobs were waiting. All groups
    count the same, see `Metrics.counted`. Its makespan is from its own first
    submission to its own last end. Its energy, carbon and cost are those of the hosts of its jobs while they ran, if
    energy was measured.

    Args:
        rows: the rows of all jobs.
        hosts: the number of computation hosts, > 0.
        by: one of `GROUPINGS`.
        groups: the groups of the jobs, see `job_groups`.
        options: as for `measured`, see `GroupOptions`.

    Raises:
        InputError: an argument is out of its range, a trace does not reach over the measured time, or one of your own
            metrics cannot be measured.
    """
    if by not in GROUPINGS:
        raise InputError(f"expected one of {', '.join(GROUPINGS)}, got {shown(by)}")
    expect_options("grouped", options, GroupOptions)
    tau, users, cores = options.get("tau", TAU), options.get("users"), options.get("cores")
    warm_up, cool_down = options.get("warm_up", 0.0), options.get("cool_down", 0.0)
    electricity = options.get("electricity", _UNKNOWN)
    expect_usable(hosts, tau, warm_up, cool_down)
    every, chosen, labels = list(rows), own_metrics(options.get("own", ())), groups.get(by, {})
    seen = RunRows(every)
    if seen.runs_again:
        joined = joined_run(seen, options.get("attempts", ()), (), hosts)
        whole, jobs, rejected = joined.whole, joined.jobs, joined.rejected
    else:
        joined = None
        whole = [WholeJob(name, time, ()) for time, name in seen.rejected]
        whole += [WholeJob(job.name, job.submission, (job,)) for job in seen.jobs]
        jobs, rejected = seen.jobs, [time for time, _ in seen.rejected]
    counting = MeasuredTime.between(jobs, rejected, warm_up, cool_down).within(options.get("begin"), options.get("end"))
    begin, end = counting.of([job for job in jobs if counting.has(job.submission)])
    time = MeasuredTime(begin, end, counting.is_window)
    taken_hosts = list(options.get("allocations", ()))
    usage = HostUse.of(seen.jobs, taken_hosts)
    idle = _Idle(usage.changes([job.within(begin, end) for job in seen.jobs]), hosts, begin, end)
    taken = CoreTimes.of(cores, hosts, taken_hosts)
    has_energy = any(job.joules is not None for job in seen.jobs)
    is_shared = has_energy and usage.counted != "hosts"
    parts = _parts(every, whole, {job.name: job for job in jobs}, by, labels)
    found: dict[str, Metrics] = {}
    for label in sorted(parts, key=_natural):
        part = parts[label]
        counted = [job for job in part.jobs if counting.has(job.submission)]
        metrics = replace(
            metrics_of(counted, part.running, time, hosts, tau, users, usage, part.jobs),
            nb_rejected=sum(map(counting.has, part.rejected)),
            loss_of_capacity=idle.while_waiting(part.running) / (hosts * (end - begin)) if end > begin else 0.0,
        )
        if has_energy:
            useful = 1.0 if joined is None else joined.useful_share(part.running, begin, end)
            power = power_of_jobs(part.running, electricity, taken, useful, begin, end, is_shared=is_shared)
            metrics = replace(metrics, power=power)
        if chosen:
            run = MeasuredRun(hosts=hosts, begin=begin, end=end, metrics=metrics, rows=every, users=users)
            given = [row for row in part.rows if row.starting_time is not None and counting.has(row.submission_time)]
            metrics = replace(metrics, own={each.name: each.value(given, run) for each in chosen})
        found[label] = metrics
    return found


class _JobGroup:
    """The jobs of a group: those that ran, all times that they ran, the others, and all rows."""

    def __init__(self) -> None:
        self.jobs: list[JobTimes] = []
        self.running: list[JobTimes] = []
        self.rejected: list[float] = []
        self.rows: list[JobRow] = []


def _parts(
    rows: Sequence[JobRow],
    whole: Iterable[WholeJob],
    jobs: Mapping[str, JobTimes],
    by: str,
    labels: Mapping[str, str],
) -> dict[str, _JobGroup]:
    """The groups of jobs by their names. A job that ran several times is in the group of its first run."""
    own = {f"{row.workload_name}!{row.job_id}": row for row in rows}
    found: dict[str, _JobGroup] = {}
    for job in whole:
        names = [attempt.name for attempt in job.attempts] or [job.name]
        label = next((labels[name] for name in (*names, job.name) if name in labels), None)
        if label is None:
            label = size_class(own[names[0]].requested_number_of_resources) if by == "size" else _NOBODY
        part = found.setdefault(label, _JobGroup())
        part.rows += [own[name] for name in names]
        if job.attempts:
            part.jobs.append(jobs[job.name])
            part.running += job.attempts
        else:
            part.rejected.append(job.submission)
    return found


def _natural(label: str) -> tuple[bool, bool, list[tuple[int, int | str]]]:
    """A key by which 9 comes before 10, hosts before cores, and jobs without a group last."""
    parts = _DIGITS.split(label)
    return (
        label == _NOBODY,
        label.endswith((" core", " cores")),
        [(0, int(part)) if number % 2 else (1, part) for number, part in enumerate(parts) if part],
    )


class _Idle:
    """The host-seconds that no job used, over time.

    Args:
        used: times, and by how much the hosts in use change there, inside the measured time.
        hosts: the number of hosts.
        begin: the beginning of the measured time.
        end: its end.
    """

    def __init__(self, used: Iterable[tuple[float, float]], hosts: int, begin: float, end: float) -> None:
        self._begin, self._end = begin, end
        changes: dict[float, float] = {begin: 0.0, end: 0.0}
        for time, change in used:
            changes[time] = changes.get(time, 0.0) + change
        self._times = sorted(changes)
        self._idle: list[float] = []  # from each time on
        self._sums: list[float] = []  # host-seconds before each time
        busy, total, last = 0.0, 0.0, begin
        for time in self._times:
            total += max(hosts - busy, 0.0) * (time - last)
            self._sums.append(total)
            busy += changes[time]
            self._idle.append(max(hosts - busy, 0.0))
            last = time

    def _until(self, time: float) -> float:
        place = bisect_right(self._times, time) - 1
        return self._sums[place] + self._idle[place] * (time - self._times[place])

    def while_waiting(self, jobs: Sequence[JobTimes]) -> float:
        """The idle host-seconds while one of these jobs was waiting."""
        found: list[float] = []
        last = self._begin
        for submission, start in sorted(job.within(self._begin, self._end)[:2] for job in jobs):
            if start > last:
                found.append(self._until(start) - self._until(max(submission, last)))
                last = start
        return math.fsum(found)


# Workflows


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
