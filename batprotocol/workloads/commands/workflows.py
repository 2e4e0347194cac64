"""`batproto workload workflows`: workflows as a workload."""

from __future__ import annotations

from collections.abc import Sequence

from batprotocol._util.files import naming
from batprotocol.cli.terminal import Output, number_of, printable
from batprotocol.simulator import read_workflow, workflow_workload, workload_json

__all__ = ["show"]


def show(
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
