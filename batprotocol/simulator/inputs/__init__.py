"""The inputs of a simulation: workloads, a platform, external events.

The values are in `hosts`, `network`, `zones`, `graphs`, `platform`; `columns`, `workload`; `events`. They are plain and
immutable, and all copies of a simulation share them. The readers create them from files. They refuse a wrong file
before the simulation, with the place of the mistake:

- `read_platform`: `platform_xml` creates hosts and zones. It uses `xml`, `elements` and `units` to read the file,
  `topologies` for clusters, and a `configuration` for the settings. `machines` then selects the master, the computation
  hosts and the storage hosts, and numbers them.
- `described_platform`, in `described`: a platform from a few lines. `watts` adds typical watts to a platform.
- `read_workload`: jobs go into `columns`, or stay in a `job_file`. `workload_json` uses `json_stream`, `profiles_json`
  (with `older_profiles`, those of Batsim 1 to 4), `compact_json` and `traces`; `quick_floats` reads numbers as Batsim
  does. `swf` reads the archive's format. `reading` selects the reader for a file, and `names` reads the names of
  workloads. `lublin` draws random jobs, `windows` selects parts, and `changes` changes loads, weeks and walltimes.
  `workflows` makes jobs that wait for one another. `info` describes workloads, and `advice` warns of properties of a
  workload that affect its results.
- `read_external_events`: `event_lists`, in the order of `unstable` unless corrected. `outages` has those of hosts that
  fail or are promised: drawn, planned, checked. `power_traces` reads carbon intensities and prices over time.
- `workload_json`, `platform_xml`: `writing` writes workloads and platforms to files.
"""

from batprotocol.simulator.inputs.advice import advice_on
from batprotocol.simulator.inputs.changes import (
    WEEK,
    estimated_walltimes,
    exact_walltimes,
    offered_load,
    resampled_weeks,
    scaled_arrivals,
    scaled_walltimes,
    shuffled_weeks,
    with_offered_load,
)
from batprotocol.simulator.inputs.described import described_platform
from batprotocol.simulator.inputs.event_lists import read_external_events
from batprotocol.simulator.inputs.events import ExternalEventList, TimedEvent
from batprotocol.simulator.inputs.hosts import Host, Role, SleepPState, Watts
from batprotocol.simulator.inputs.info import WorkloadInfo, WorkloadRemark, WorkloadShare, WorkloadWeek, workload_info
from batprotocol.simulator.inputs.lublin import lublin_workload
from batprotocol.simulator.inputs.machines import HOST_LIMIT, platform_for
from batprotocol.simulator.inputs.names import named_workload, with_recordings
from batprotocol.simulator.inputs.network import LOOPBACK, NO_ROUTE, Link, Route
from batprotocol.simulator.inputs.outages import (
    FAILURE_PRESETS,
    Exponential,
    FailureModel,
    Fixed,
    Law,
    Lognormal,
    Weibull,
    drawn_failures,
    failure_preset,
    host_groups,
    parse_law,
    planned_windows,
    read_host_events,
    read_windows,
    repeated_windows,
    write_host_events,
)
from batprotocol.simulator.inputs.platform import Platform
from batprotocol.simulator.inputs.platform_xml import read_platform
from batprotocol.simulator.inputs.power_traces import trace_named
from batprotocol.simulator.inputs.reading import EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, read_workload
from batprotocol.simulator.inputs.swf import read_swf
from batprotocol.simulator.inputs.traces import read_traces
from batprotocol.simulator.inputs.watts import TypicalWatts, parse_watts, with_watts
from batprotocol.simulator.inputs.windows import window, window_with_margins
from batprotocol.simulator.inputs.workflows import Workflow, WorkflowTask, read_workflow, workflow_workload
from batprotocol.simulator.inputs.workload import StaticJob, Submission, Usage, Workload, WorkloadProfile
from batprotocol.simulator.inputs.writing import platform_xml, workload_json

__all__ = [
    "EXAMPLE_PLATFORM",
    "EXAMPLE_WORKLOAD",
    "FAILURE_PRESETS",
    "HOST_LIMIT",
    "LOOPBACK",
    "NO_ROUTE",
    "WEEK",
    "Exponential",
    "ExternalEventList",
    "FailureModel",
    "Fixed",
    "Host",
    "Law",
    "Link",
    "Lognormal",
    "Platform",
    "Role",
    "Route",
    "SleepPState",
    "StaticJob",
    "Submission",
    "TimedEvent",
    "TypicalWatts",
    "Usage",
    "Watts",
    "Weibull",
    "Workflow",
    "WorkflowTask",
    "Workload",
    "WorkloadInfo",
    "WorkloadProfile",
    "WorkloadRemark",
    "WorkloadShare",
    "WorkloadWeek",
    "advice_on",
    "described_platform",
    "drawn_failures",
    "estimated_walltimes",
    "exact_walltimes",
    "failure_preset",
    "host_groups",
    "lublin_workload",
    "named_workload",
    "offered_load",
    "parse_law",
    "parse_watts",
    "planned_windows",
    "platform_for",
    "platform_xml",
    "read_external_events",
    "read_host_events",
    "read_platform",
    "read_swf",
    "read_traces",
    "read_windows",
    "read_workflow",
    "read_workload",
    "repeated_windows",
    "resampled_weeks",
    "scaled_arrivals",
    "scaled_walltimes",
    "shuffled_weeks",
    "trace_named",
    "window",
    "window_with_margins",
    "with_offered_load",
    "with_recordings",
    "with_watts",
    "workflow_workload",
    "workload_info",
    "workload_json",
    "write_host_events",
]
