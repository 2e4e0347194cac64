"""`batproto workload info`: the description of a workload, as tables or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

import msgspec

from batprotocol._util.distributions import Distribution
from batprotocol._util.grids import Grid, GridEntry
from batprotocol.cli.terminal import Output, number_of, print_grid, printable
from batprotocol.results.text import duration, percent, ratio
from batprotocol.simulator import WEEK, WorkloadInfo, WorkloadShare, named_workload, with_recordings, workload_info
from batprotocol.sites.logs.formats import is_logged, read_log
from batprotocol.sites.logs.imports import Import

__all__ = ["show"]

_COLUMNS = ("mean", "median", "p95", "max")
_WIDTH = 15
DAY = 86_400.0


def show(name: str, *, hosts: int | None, as_json: bool) -> None:
    """Print the description of a workload."""
    if is_logged(name):
        with read_log(name) as log:
            made = Import(log)
            info = workload_info(made.workload(), hosts or len(made.hosts) or None)
    else:
        info = workload_info(named_workload(with_recordings(name)), hosts)
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
