"""`batproto simulate --by`: the metrics of each group of jobs, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from batprotocol._util.grids import Grid, GridEntry
from batprotocol.cli.terminal import Output, print_grid, printable
from batprotocol.results.units import usual_unit
from batprotocol.simulator import Platform, Result, Workload, metric_named, workflow_means, workflow_results
from batprotocol.workloads.requests import Allocated

__all__ = ["groups_of", "print_groups"]

_SHOWN: Final = (
    *("nb_jobs", "nb_rejected", "mean_waiting_time", "mean_bounded_slowdown", "mean_turnaround_time", "utilisation"),
    *("memory_utilisation", "gpu_utilisation"),
    *("job_joules", "job_carbon_grams", "job_cost", "joules_per_core_hour", "grams_per_core_hour"),
    *("mean_workflow_makespan", "mean_workflow_stretch", "mean_workflow_efficiency"),
)


def groups_of(
    result: Result,
    by: str,
    workloads: Sequence[Workload],
    allocations: Iterable[Allocated],
    platform: Platform,
    *,
    warm_up: float,
    cool_down: float,
) -> dict[str, dict[str, float]]:
    """The metrics of each group by their names, and of each workflow those of workflows."""
    groups = result.grouped(by, workloads, allocations, warm_up=warm_up, cool_down=cool_down)
    found = {name: metrics.flat() for name, metrics in groups.items()}
    cores = platform.core_count
    for workload in workloads if by == "workflow" else ():
        for name, each in workflow_results(result.jobs, workload, cores=cores).items():
            if name in found:
                found[name] |= workflow_means([each])
    return found


def print_groups(output: Output, by: str, groups: Mapping[str, Mapping[str, float]], currency: str = "") -> None:
    """Print a row for each group."""
    shown = {
        name: usual_unit(metric_named(name, currency=currency), (metrics.get(name) for metrics in groups.values()))
        for name in _SHOWN
        if any(name in metrics for metrics in groups.values())
    }
    header = [by, *(metric.label_with_unit for metric, _ in shown.values())]
    rows = [
        [
            GridEntry(printable(name)),
            *(
                GridEntry(f"{metrics[each] / size:.4g}" if each in metrics else "-")
                for each, (_, size) in shown.items()
            ),
        ]
        for name, metrics in groups.items()
    ]
    output.line()
    print_grid(output, Grid(header, rows))
