"""The results of a simulation.

`observing` has the values that a simulation reports while it runs, and the interface of observers. `files` writes
Batsim's result files; `allocations` what jobs took of shared hosts, and `attempts` the runs that were interrupted, with
the `reports` of schedulers; `beside` has the files of failures. `statistics` (with `series`, `extended` and `precise`
numbers) adds up important numbers. `usage` defines what jobs use of the machine, and `metrics` computes the metrics of
the field from the `times` of jobs, with the names of a `catalogue`: `failures` those of interruptions and of hosts that
were `away`, `electricity` those of watts, carbon and cost, `own` those of users, `workflows` those of each workflow,
and `grouping` those of groups of jobs, such as partitions. `result` has the results at the end: as text (`facts` in
`words`, and `steadiness`: whether the run was long enough), as a `summary` with charts, and as `frames` of other
libraries.
"""

from batprotocol.results.allocations import read_allocations, write_allocations
from batprotocol.results.attempts import read_attempts, write_attempts
from batprotocol.results.away import TimedHostEvent, host_events_of
from batprotocol.results.catalogue import METRICS, OF_FAILURES, OF_POWER, OF_WORKFLOWS, Metric
from batprotocol.results.electricity import Electricity, PowerMetrics
from batprotocol.results.failures import FailureMetrics
from batprotocol.results.files import ResultFiles, read_energy, read_jobs, write_real_execution
from batprotocol.results.grouping import GROUPINGS, grouped, job_groups
from batprotocol.results.metrics import (
    TAU,
    Distribution,
    MeasuredRun,
    Metrics,
    bounded_slowdown,
    jain_index,
    measured,
    per_processor_bounded_slowdown,
)
from batprotocol.results.observing import (
    EnergyRow,
    JobRow,
    MachineStatesRow,
    Observer,
    Observers,
    PStateRow,
    Totals,
)
from batprotocol.results.own import OwnMetric, load_metric, metric, metric_named, own_metrics
from batprotocol.results.result import EnergyPoints, JobRows, Result
from batprotocol.results.statistics import Statistics
from batprotocol.results.workflows import WORKFLOW_METRICS, WorkflowResult, workflow_means, workflow_results

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
    "JobRow",
    "JobRows",
    "MachineStatesRow",
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
