"""`batproto workload measure`: the results of each workflow of a run, as a table or JSON."""

from __future__ import annotations

import json
import os

import msgspec

from batprotocol._util.grids import Grid, GridEntry
from batprotocol.cli.terminal import Output, print_grid, printable
from batprotocol.errors import InputError
from batprotocol.simulator import WORKFLOW_METRICS, read_jobs, read_workload, workflow_results

__all__ = ["show"]


def show(jobs: str, *, workload: str, name: str, cores: int | None, as_json: bool) -> None:
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
