"""Events of hosts: they fail, come back or are drained, or are promised for a time.

Such events are external events of Batsim, and their data are a JSON object of a few keys. Names and meanings are
Slurm's where Slurm has one. `events` has the keys, the values, and the states of hosts, and needs no other module.
`failures` draws failures of hosts from the `laws` of random times. `files` reads and writes events of hosts, and the
windows of a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names

if TYPE_CHECKING:
    from batprotocol.workloads.host_events.events import (
        MAINT,
        HostChange,
        HostEvent,
        HostStates,
        Window,
        host_event_schema,
        read_host_event,
    )
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

__all__ = [
    "FAILURE_PRESETS",
    "MAINT",
    "Exponential",
    "FailureModel",
    "Fixed",
    "HostChange",
    "HostEvent",
    "HostStates",
    "Law",
    "Lognormal",
    "Weibull",
    "Window",
    "drawn_failures",
    "failure_preset",
    "host_event_schema",
    "host_groups",
    "parse_law",
    "planned_windows",
    "read_host_event",
    "read_host_events",
    "read_windows",
    "repeated_windows",
    "write_host_events",
]

# Whoever needs one of these modules does not wait for the others.
_MODULES = {
    "events": ("HostChange", "HostEvent", "HostStates", "MAINT", "Window", "host_event_schema", "read_host_event"),
    "failures": ("FAILURE_PRESETS", "FailureModel", "drawn_failures", "failure_preset", "host_groups"),
    "files": ("planned_windows", "read_host_events", "read_windows", "repeated_windows", "write_host_events"),
    "laws": ("Exponential", "Fixed", "Law", "Lognormal", "Weibull", "parse_law"),
}

__getattr__ = old_names(__name__, {}, late={name: module for module, names in _MODULES.items() for name in names})
