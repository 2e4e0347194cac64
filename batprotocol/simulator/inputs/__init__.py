"""The inputs of a simulation: workloads, a platform, external events.

Values first (`hosts`, `network`, `zones`, `platform`; `columns`, `workload`; `events`): plain, unchanging, shared by
all copies of a simulation. The readers make them of files, and refuse a wrong file with the place of the fault before
anything runs.
"""

from batprotocol.simulator.inputs.events import ExternalEventList, TimedEvent
from batprotocol.simulator.inputs.hosts import Host, Role, SleepPState, Watts
from batprotocol.simulator.inputs.network import LOOPBACK, NO_ROUTE, Link, Route
from batprotocol.simulator.inputs.platform import Platform
from batprotocol.simulator.inputs.workload import StaticJob, Submission, Usage, Workload, WorkloadProfile

__all__ = [
    "LOOPBACK",
    "NO_ROUTE",
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
]
