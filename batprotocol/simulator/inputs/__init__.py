"""The inputs of a simulation: workloads, a platform, external events.

Values first (`hosts`, `network`, `zones`, `graphs`, `platform`; `columns`, `workload`; `events`): plain, unchanging,
shared by all copies of a simulation. The readers make them of files, and refuse a wrong file with the place of the
fault before anything runs:

- `read_platform`: `xml`, `elements` and `units` give what `platform_xml` makes hosts and zones of, those of clusters
  with `topologies`, under the settings of a `configuration`; `machines` then tells the master, computation and storage
  hosts apart and numbers them.
- `described_platform`, in `described`: a platform from a few lines.
- `read_workload`: jobs go into `columns`, or stay in a `job_file`; `json_stream`, `profiles_json` (with
  `older_profiles`, those of Batsim 1 to 4), `compact_json` and `traces` serve `workload_json`, and `quick_floats` read
  numbers as Batsim does; `swf` reads the archive's format. `reading` finds out which of them a file needs, and what
  `names` stand for; `lublin` draws jobs by chance, `windows` cuts parts out, and `changes` makes other loads, weeks and
  walltimes. `advice` says what to know of a workload before its results are used.
- `read_external_events`: `event_lists`, in the order of `unstable` unless corrected.
- `workload_json`, `platform_xml`: the way back, of what was made here (`writing`).
"""

from batprotocol.simulator.inputs.advice import advice_on
from batprotocol.simulator.inputs.changes import (
    WEEK,
    estimated_walltimes,
    exact_walltimes,
    offered_load,
    resampled_weeks,
    scaled_load,
    scaled_walltimes,
    shuffled_weeks,
    with_offered_load,
)
from batprotocol.simulator.inputs.described import described_platform
from batprotocol.simulator.inputs.event_lists import read_external_events
from batprotocol.simulator.inputs.events import ExternalEventList, TimedEvent
from batprotocol.simulator.inputs.hosts import Host, Role, SleepPState, Watts
from batprotocol.simulator.inputs.lublin import lublin_workload
from batprotocol.simulator.inputs.machines import HOST_LIMIT, platform_for
from batprotocol.simulator.inputs.names import named_workload
from batprotocol.simulator.inputs.network import LOOPBACK, NO_ROUTE, Link, Route
from batprotocol.simulator.inputs.platform import Platform
from batprotocol.simulator.inputs.platform_xml import read_platform
from batprotocol.simulator.inputs.reading import EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, read_workload
from batprotocol.simulator.inputs.swf import read_swf
from batprotocol.simulator.inputs.traces import read_traces
from batprotocol.simulator.inputs.windows import window
from batprotocol.simulator.inputs.workload import StaticJob, Submission, Usage, Workload, WorkloadProfile
from batprotocol.simulator.inputs.writing import platform_xml, workload_json

__all__ = [
    "EXAMPLE_PLATFORM",
    "EXAMPLE_WORKLOAD",
    "HOST_LIMIT",
    "LOOPBACK",
    "NO_ROUTE",
    "WEEK",
    "ExternalEventList",
    "Host",
    "Link",
    "Platform",
    "Role",
    "Route",
    "SleepPState",
    "StaticJob",
    "Submission",
    "TimedEvent",
    "Usage",
    "Watts",
    "Workload",
    "WorkloadProfile",
    "advice_on",
    "described_platform",
    "estimated_walltimes",
    "exact_walltimes",
    "lublin_workload",
    "named_workload",
    "offered_load",
    "platform_for",
    "platform_xml",
    "read_external_events",
    "read_platform",
    "read_swf",
    "read_traces",
    "read_workload",
    "resampled_weeks",
    "scaled_load",
    "scaled_walltimes",
    "shuffled_weeks",
    "window",
    "with_offered_load",
    "workload_json",
]
