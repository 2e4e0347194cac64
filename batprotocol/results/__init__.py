"""The results of a simulation.

`observers` has the values that a simulation reports while it runs, the interface of observers, and the totals that
they add up, in the `arithmetic` of Batsim. `files` writes Batsim's result files, and reads them; `reports` those that
stand beside them: allocations, attempts, failures. `metrics` computes the metrics of the field from the `times` of
jobs, with the names of a `catalogue`, which has users' own metrics, too; `electricity` those of watts, carbon and cost;
`groups` those of groups of jobs, such as partitions and workflows. `result` has the results at the end, and `text`
writes them for readers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names

if TYPE_CHECKING:
    from batprotocol.results.catalogue import (
        METRICS,
        OF_FAILURES,
        OF_POWER,
        OF_WORKFLOWS,
        Metric,
        OwnMetric,
        load_metric,
        metric,
        metric_named,
        own_metrics,
    )
    from batprotocol.results.electricity import Electricity, PowerMetrics
    from batprotocol.results.files import ResultFiles, read_energy, read_jobs, write_real_execution
    from batprotocol.results.groups import (
        GROUPINGS,
        WORKFLOW_METRICS,
        WorkflowResult,
        grouped,
        job_groups,
        workflow_means,
        workflow_results,
    )
    from batprotocol.results.metrics import (
        Distribution,
        FailureMetrics,
        GroupOptions,
        MeasuredRun,
        MeasureOptions,
        Metrics,
        jain_index,
        measured,
    )
    from batprotocol.results.observers import (
        TAU,
        EnergyPoints,
        EnergyRow,
        JobRow,
        JobRows,
        MachineStatesRow,
        Observer,
        Observers,
        PStateRow,
        Statistics,
        Totals,
        bounded_slowdown,
        per_processor_bounded_slowdown,
    )
    from batprotocol.results.reports import read_allocations, read_attempts, write_allocations, write_attempts
    from batprotocol.results.result import Result
    from batprotocol.results.times import TimedHostEvent, host_events_of

__all__ = [
    "GROUPINGS",
    "METRICS",
    "OF_FAILURES",
    "OF_POWER",
    "OF_WORKFLOWS",
    "TAU",
    "WORKFLOW_METRICS",
    "Distribution",
    "Electricity",
    "EnergyPoints",
    "EnergyRow",
    "FailureMetrics",
    "GroupOptions",
    "JobRow",
    "JobRows",
    "MachineStatesRow",
    "MeasureOptions",
    "MeasuredRun",
    "Metric",
    "Metrics",
    "Observer",
    "Observers",
    "OwnMetric",
    "PStateRow",
    "PowerMetrics",
    "Result",
    "ResultFiles",
    "Statistics",
    "TimedHostEvent",
    "Totals",
    "WorkflowResult",
    "bounded_slowdown",
    "grouped",
    "host_events_of",
    "jain_index",
    "job_groups",
    "load_metric",
    "measured",
    "metric",
    "metric_named",
    "own_metrics",
    "per_processor_bounded_slowdown",
    "read_allocations",
    "read_attempts",
    "read_energy",
    "read_jobs",
    "workflow_means",
    "workflow_results",
    "write_allocations",
    "write_attempts",
    "write_real_execution",
]

# Whoever needs one of these modules does not wait for the others.
_MODULES = {
    "catalogue": (
        "METRICS",
        "Metric",
        "OF_FAILURES",
        "OF_POWER",
        "OF_WORKFLOWS",
        "OwnMetric",
        "load_metric",
        "metric",
        "metric_named",
        "own_metrics",
    ),
    "electricity": ("Electricity", "PowerMetrics"),
    "files": ("ResultFiles", "read_energy", "read_jobs", "write_real_execution"),
    "groups": (
        "GROUPINGS",
        "WORKFLOW_METRICS",
        "WorkflowResult",
        "grouped",
        "job_groups",
        "workflow_means",
        "workflow_results",
    ),
    "metrics": (
        "Distribution",
        "FailureMetrics",
        "GroupOptions",
        "MeasureOptions",
        "MeasuredRun",
        "Metrics",
        "jain_index",
        "measured",
    ),
    "observers": (
        "EnergyPoints",
        "EnergyRow",
        "JobRow",
        "JobRows",
        "MachineStatesRow",
        "Observer",
        "Observers",
        "PStateRow",
        "Statistics",
        "TAU",
        "Totals",
        "bounded_slowdown",
        "per_processor_bounded_slowdown",
    ),
    "reports": ("read_allocations", "read_attempts", "write_allocations", "write_attempts"),
    "result": ("Result",),
    "times": ("TimedHostEvent", "host_events_of"),
}

__getattr__ = old_names(__name__, {}, late={name: module for module, names in _MODULES.items() for name in names})
