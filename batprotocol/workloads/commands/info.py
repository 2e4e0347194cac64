"""`batproto workload info`: the description of a workload, as tables or JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence

import msgspec

from batprotocol._util.distributions import Distribution
from batprotocol._util.files import naming
from batprotocol._util.grids import Grid, GridEntry
from batprotocol.cli.terminal import Output, number_of, print_grid, printable
from batprotocol.errors import InputError
from batprotocol.results.text import duration, percent, ratio
from batprotocol.simulator import (
    WEEK,
    WORKFLOW_METRICS,
    WorkloadInfo,
    WorkloadShare,
    named_workload,
    read_jobs,
    read_workflow,
    read_workload,
    with_recordings,
    workflow_results,
    workflow_workload,
    workload_info,
    workload_json,
)

__all__ = [
    "show_info",
    "show_workflow_results",
    "write_workflows",
]


_COLUMNS = ("mean", "median", "p95", "max")
_WIDTH = 15
DAY = 86_400.0


def show_info(name: str, *, hosts: int | None, as_json: bool) -> None:
    """Print the description of a workload."""
    info = _info_of_log(name, hosts) or workload_info(named_workload(with_recordings(name)), hosts)
    output = Output()
    if as_json:
        output.json(json.dumps(msgspec.to_builtins(info), indent=2))
        return
    for title, text in _facts(info):
        output.line(("heading", title.ljust(_WIDTH)), ("", f" {text}"))
    for grid in _grids(info):
        output.line(("", ""))
        print_grid(output, grid)
    if info.remarks:
        output.line(("", ""))
    for remark in info.remarks:
        jobs = f" ({', '.join(map(printable, remark.jobs))}{', ...' if remark.count > len(remark.jobs) else ''})"
        output.line(("heading", "note".ljust(_WIDTH)), ("", f" {remark.text}{jobs if remark.jobs else ''}"))


def _info_of_log(name: str, hosts: int | None) -> WorkloadInfo | None:
    """The description of the log of a resource manager; None for others, and without the package that reads logs."""
    try:
        from batprotocol.sites.logs.formats import is_logged, read_log
        from batprotocol.sites.logs.imports import Import
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("batprotocol.sites"):
            raise
        return None
    if not is_logged(name):
        return None
    with read_log(name) as log:
        made = Import(log)
        return workload_info(made.workload(), hosts or len(made.hosts) or None)


def _facts(info: WorkloadInfo) -> Iterable[tuple[str, str]]:
    left_out = f", and {info.left_out:,} left out" if info.left_out else ""
    yield "jobs", f"{info.jobs:,}{left_out}"
    if info.begin is not None and info.end is not None:
        yield "submissions", f"in {duration(info.end - info.begin)}, from {info.begin:,.0f} s on"
    yield "hosts", f"{info.hosts:,}"
    yield "users", "-" if info.users is None else f"{info.users:,}"
    yield "offered load", "-" if info.offered_load is None else percent(info.offered_load)
    estimates = info.jobs - info.without_walltime
    if estimates:
        exact = f", {info.exact_walltimes:,} of them exact" if info.exact_walltimes else ""
        yield "walltimes", f"{number_of(estimates, 'job')}{exact}; {info.without_walltime:,} without"


def _grids(info: WorkloadInfo) -> Iterable[Grid]:
    rows = [
        [GridEntry(title), *(GridEntry(write(getattr(values, column))) for column in _COLUMNS)]
        for title, write, values in _distributions(info)
        if values is not None
    ]
    if rows:
        yield Grid(["", "mean", "median", "95th percentile", "largest"], rows)
    for title, shares in (("user", info.heaviest), ("partition", info.partitions)):
        if shares:
            yield _shares(title, shares)
    if info.weeks:
        begin = info.weeks[0].begin
        weeks = [
            [
                GridEntry(f"{round((week.begin - begin) / WEEK) + 1}"),
                GridEntry(f"{week.begin:,.0f}"),
                GridEntry(f"{week.seconds / DAY:.3g}"),
                GridEntry(f"{week.jobs:,}"),
                GridEntry(
                    "-" if week.offered_load is None else percent(week.offered_load), (week.offered_load or 0) > 1
                ),
            ]
            for week in info.weeks
        ]
        yield Grid(["week", "begin [s]", "days", "jobs", "offered load"], weeks, texts=0)


def _distributions(info: WorkloadInfo) -> Iterable[tuple[str, Callable[[float], str], Distribution | None]]:
    return (
        ("hosts", ratio, info.sizes),
        ("run time", duration, info.runtimes),
        ("walltime", duration, info.walltimes),
        ("run time / walltime", ratio, info.accuracy),
        ("between submissions", duration, info.gaps),
        ("recorded waiting time", duration, info.waits),
    )


def _shares(title: str, shares: Iterable[WorkloadShare]) -> Grid:
    rows = [
        [
            GridEntry(printable(share.name)),
            GridEntry(f"{share.jobs:,}"),
            GridEntry(percent(share.job_share)),
            GridEntry("-" if share.work_share is None else percent(share.work_share)),
        ]
        for share in shares
    ]
    return Grid([title, "jobs", "of the jobs", "of the work"], rows)


# `batproto workload workflows`: workflows as a workload.


def write_workflows(
    files: Sequence[str],
    *,
    output: str | None,
    arrivals: Sequence[float],
    every: float,
    speed: float,
    walltimes: float | None,
) -> None:
    """Write the workload of workflows."""
    found = [read_workflow(file) for file in files]
    made = workflow_workload(found, arrivals=arrivals, every=every, speed=speed, walltimes=walltimes)
    text = workload_json(made)
    screen = Output()
    if output is None:
        screen.raw(text.encode())
        return
    with naming(output), open(output, "w", encoding="utf-8") as file:
        file.write(text)
    for workflow in found:
        tasks = number_of(len(workflow.tasks), "task")
        path, work = workflow.critical_path / speed, workflow.work / speed
        screen.line(("", f"{printable(workflow.name)}: {tasks}, critical path {path:.6g} s, work {work:.6g} core s"))
    screen.line(("", f"wrote {printable(output)}"))


# `batproto workload measure`: the results of each workflow of a run, as a table or JSON.


def show_workflow_results(jobs: str, *, workload: str, name: str, cores: int | None, as_json: bool) -> None:
    """Print the results of each workflow."""
    path = os.path.join(jobs, "jobs.csv") if os.path.isdir(jobs) else jobs
    found = workflow_results(read_jobs(path), read_workload(workload, name=name), cores=cores)
    if not found:
        raise InputError("no job names a workflow in its extra data", file=workload)
    output = Output()
    if as_json:
        output.json(json.dumps([msgspec.to_builtins(each) for each in found.values()], indent=2))
        return
    shown = [each for each in WORKFLOW_METRICS.values() if each.name != "efficiency" or cores is not None]
    rows = []
    for each in found.values():
        values = [getattr(each, metric.name) for metric in shown]
        counts = [f"{each.tasks}", f"{each.failed}", f"{each.arrival:g}"]
        numbers = ["-" if value is None else f"{value:.4g}" for value in values]
        rows.append([GridEntry(text) for text in (printable(each.name), *counts, *numbers)])
    header = ["workflow", "tasks", "failed", "arrival [s]", *(each.label_with_unit for each in shown)]
    print_grid(output, Grid(header, rows))
