"""The inputs of a simulation: workloads, a platform, external events.

The values are plain and immutable, and all copies of a simulation share them: `workload` with the jobs in `columns`,
`platform` with the links and zones of `network`, `events`. The readers create them from files. They refuse a wrong file
before the simulation, with the place of the mistake:

- `read_platform` and `platform_xml` (`platform_files`): SimGrid's XML, with the units and settings of `simgrid`.
  `described` has platforms from a few lines, and typical watts.
- `read_workload` and `named_workload` (`names`): Batsim's JSON (`workload_files`), the archive's format (`swf`), the
  random jobs of `lublin`; `changes` selects parts, and changes loads, weeks and walltimes. `workflows` makes jobs that
  wait for one another. `info` describes workloads.
- `read_external_events` (`events`); `host_events` has those of hosts.

`requests` is the vocabulary of what jobs ask for, and `electricity` has watts, carbon intensities and prices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names

if TYPE_CHECKING:
    from batprotocol.workloads.changes import (
        WEEK,
        estimated_walltimes,
        exact_walltimes,
        offered_load,
        resampled_weeks,
        scaled_arrivals,
        scaled_walltimes,
        shuffled_weeks,
        window,
        window_with_margins,
        with_offered_load,
    )
    from batprotocol.workloads.described import TypicalWatts, described_platform, parse_watts, with_watts
    from batprotocol.workloads.electricity.hosts import SleepPState, Watts
    from batprotocol.workloads.electricity.tables import trace_named
    from batprotocol.workloads.events import ExternalEventList, TimedEvent, read_external_events
    from batprotocol.workloads.host_events.failures import (
        FAILURE_PRESETS,
        FailureModel,
        drawn_failures,
        failure_preset,
        host_groups,
    )
    from batprotocol.workloads.host_events.files import (
        planned_windows,
        read_host_events,
        read_windows,
        repeated_windows,
        write_host_events,
    )
    from batprotocol.workloads.host_events.laws import Exponential, Fixed, Law, Lognormal, Weibull, parse_law
    from batprotocol.workloads.info import WorkloadInfo, WorkloadRemark, WorkloadShare, WorkloadWeek, workload_info
    from batprotocol.workloads.lublin import lublin_workload
    from batprotocol.workloads.names import (
        EXAMPLE_PLATFORM,
        EXAMPLE_WORKLOAD,
        advice_on,
        named_workload,
        read_workload,
        with_recordings,
    )
    from batprotocol.workloads.network import LOOPBACK, NO_ROUTE, Link, Route
    from batprotocol.workloads.platform import HOST_LIMIT, Platform, PlatformHost, Role, platform_for
    from batprotocol.workloads.platform_files import platform_xml, read_platform
    from batprotocol.workloads.swf import read_swf
    from batprotocol.workloads.workflows import Workflow, WorkflowTask, read_workflow, workflow_workload
    from batprotocol.workloads.workload import StaticJob, Submission, Usage, Workload, WorkloadProfile
    from batprotocol.workloads.workload_files import read_traces, workload_json

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
    "Law",
    "Link",
    "Lognormal",
    "Platform",
    "PlatformHost",
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

# Whoever needs one of these modules does not wait for the others.
_MODULES = {
    "changes": (
        "WEEK",
        "estimated_walltimes",
        "exact_walltimes",
        "offered_load",
        "resampled_weeks",
        "scaled_arrivals",
        "scaled_walltimes",
        "shuffled_weeks",
        "window",
        "window_with_margins",
        "with_offered_load",
    ),
    "described": ("TypicalWatts", "described_platform", "parse_watts", "with_watts"),
    "electricity.hosts": ("SleepPState", "Watts"),
    "electricity.tables": ("trace_named",),
    "events": ("ExternalEventList", "TimedEvent", "read_external_events"),
    "host_events.failures": ("FAILURE_PRESETS", "FailureModel", "drawn_failures", "failure_preset", "host_groups"),
    "host_events.files": (
        "planned_windows",
        "read_host_events",
        "read_windows",
        "repeated_windows",
        "write_host_events",
    ),
    "host_events.laws": ("Exponential", "Fixed", "Law", "Lognormal", "Weibull", "parse_law"),
    "info": ("WorkloadInfo", "WorkloadRemark", "WorkloadShare", "WorkloadWeek", "workload_info"),
    "lublin": ("lublin_workload",),
    "names": (
        "EXAMPLE_PLATFORM",
        "EXAMPLE_WORKLOAD",
        "advice_on",
        "named_workload",
        "read_workload",
        "with_recordings",
    ),
    "network": ("LOOPBACK", "Link", "NO_ROUTE", "Route"),
    "platform": ("HOST_LIMIT", "PlatformHost", "Platform", "Role", "platform_for"),
    "platform_files": ("platform_xml", "read_platform"),
    "swf": ("read_swf",),
    "workflows": ("Workflow", "WorkflowTask", "read_workflow", "workflow_workload"),
    "workload": ("StaticJob", "Submission", "Usage", "Workload", "WorkloadProfile"),
    "workload_files": ("read_traces", "workload_json"),
}

__getattr__ = old_names(
    __name__, {"Host": "PlatformHost"}, late={name: module for module, names in _MODULES.items() for name in names}
)
