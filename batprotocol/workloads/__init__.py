"""The inputs of a simulation: workloads, a platform, external events.

The values are in `hosts`, `network`, `zones`, `graphs`, `platform`; `columns`, `workload`; `events`. They are plain and
immutable, and all copies of a simulation share them. The readers create them from files. They refuse a wrong file
before the simulation, with the place of the mistake:

- `read_platform`: `platform_files` creates hosts and zones. It uses `xml`, `elements` and `units` to read the file,
  `topologies` for clusters, and a `configuration` for the settings. `machines` then selects the master, the computation
  hosts and the storage hosts, and numbers them.
- `described_platform`, in `described`: a platform from a few lines. `watts` adds typical watts to a platform.
- `read_workload`: jobs go into `columns`, or stay in a `job_file`. `workload_files` uses `json_stream`, `profiles_json`
  (with `older_profiles`, those of Batsim 1 to 4), `compact_json` and `traces`; `quick_floats` reads numbers as Batsim
  does. `swf` reads the archive's format. `reading` selects the reader for a file, and `names` reads the names of
  workloads. `lublin` draws random jobs, `windows` selects parts, and `changes` changes loads, weeks and walltimes.
  `workflows` makes jobs that wait for one another. `info` describes workloads, and `advice` warns of properties of a
  workload that affect its results.
- `read_external_events`: `event_lists`, in the order of `unstable` unless corrected. `outages` has those of hosts that
  fail or are promised: drawn, planned, checked. `power_traces` reads carbon intensities and prices over time.
- `writing` writes workloads and platforms to files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names

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

if TYPE_CHECKING:
    from batprotocol.workloads.advice import advice_on
    from batprotocol.workloads.changes import (
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
    from batprotocol.workloads.described import described_platform
    from batprotocol.workloads.event_lists import read_external_events
    from batprotocol.workloads.events import ExternalEventList, TimedEvent
    from batprotocol.workloads.hosts import Host, Role, SleepPState, Watts
    from batprotocol.workloads.info import WorkloadInfo, WorkloadRemark, WorkloadShare, WorkloadWeek, workload_info
    from batprotocol.workloads.lublin import lublin_workload
    from batprotocol.workloads.machines import HOST_LIMIT, platform_for
    from batprotocol.workloads.names import named_workload, with_recordings
    from batprotocol.workloads.network import LOOPBACK, NO_ROUTE, Link, Route
    from batprotocol.workloads.outages import (
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
    from batprotocol.workloads.platform import Platform
    from batprotocol.workloads.platform_files import read_platform
    from batprotocol.workloads.power_traces import trace_named
    from batprotocol.workloads.reading import EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, read_workload
    from batprotocol.workloads.swf import read_swf
    from batprotocol.workloads.traces import read_traces
    from batprotocol.workloads.watts import TypicalWatts, parse_watts, with_watts
    from batprotocol.workloads.windows import window, window_with_margins
    from batprotocol.workloads.workflows import Workflow, WorkflowTask, read_workflow, workflow_workload
    from batprotocol.workloads.workload import StaticJob, Submission, Usage, Workload, WorkloadProfile
    from batprotocol.workloads.writing import platform_xml, workload_json

# Whoever needs one of these modules does not wait for the others.
_MODULES = {
    "advice": ("advice_on",),
    "changes": (
        "WEEK",
        "estimated_walltimes",
        "exact_walltimes",
        "offered_load",
        "resampled_weeks",
        "scaled_arrivals",
        "scaled_walltimes",
        "shuffled_weeks",
        "with_offered_load",
    ),
    "described": ("described_platform",),
    "event_lists": ("read_external_events",),
    "events": (
        "ExternalEventList",
        "TimedEvent",
    ),
    "hosts": (
        "Host",
        "Role",
        "SleepPState",
        "Watts",
    ),
    "info": (
        "WorkloadInfo",
        "WorkloadRemark",
        "WorkloadShare",
        "WorkloadWeek",
        "workload_info",
    ),
    "lublin": ("lublin_workload",),
    "machines": (
        "HOST_LIMIT",
        "platform_for",
    ),
    "names": (
        "named_workload",
        "with_recordings",
    ),
    "network": (
        "LOOPBACK",
        "NO_ROUTE",
        "Link",
        "Route",
    ),
    "outages": (
        "FAILURE_PRESETS",
        "Exponential",
        "FailureModel",
        "Fixed",
        "Law",
        "Lognormal",
        "Weibull",
        "drawn_failures",
        "failure_preset",
        "host_groups",
        "parse_law",
        "planned_windows",
        "read_host_events",
        "read_windows",
        "repeated_windows",
        "write_host_events",
    ),
    "platform": ("Platform",),
    "platform_files": ("read_platform",),
    "power_traces": ("trace_named",),
    "reading": (
        "EXAMPLE_PLATFORM",
        "EXAMPLE_WORKLOAD",
        "read_workload",
    ),
    "swf": ("read_swf",),
    "traces": ("read_traces",),
    "watts": (
        "TypicalWatts",
        "parse_watts",
        "with_watts",
    ),
    "windows": (
        "window",
        "window_with_margins",
    ),
    "workflows": (
        "Workflow",
        "WorkflowTask",
        "read_workflow",
        "workflow_workload",
    ),
    "workload": (
        "StaticJob",
        "Submission",
        "Usage",
        "Workload",
        "WorkloadProfile",
    ),
    "writing": (
        "platform_xml",
        "workload_json",
    ),
}
__getattr__ = old_names(__name__, {}, late={name: module for module, names in _MODULES.items() for name in names})
