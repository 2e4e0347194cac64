"""Events of hosts as inputs of simulations: drawn from laws, planned, checked when they are read.

`laws` has the distributions of random times, and `presets` those of published studies. `groups` finds hosts that fail
together. `failures` draws failures from seeds, with the numbers of `streams`. `planned` has maintenance and
reservations, repeated or from a table. `merging` makes one sequence of several that overlap. `files` writes events, and
reads them with checks.
"""

from __future__ import annotations

from batprotocol.workloads.outages.failures import FailureModel, drawn_failures
from batprotocol.workloads.outages.files import read_host_events, write_host_events
from batprotocol.workloads.outages.groups import host_groups
from batprotocol.workloads.outages.laws import Exponential, Fixed, Law, Lognormal, Weibull, parse_law
from batprotocol.workloads.outages.planned import planned_windows, read_windows, repeated_windows
from batprotocol.workloads.outages.presets import FAILURE_PRESETS, failure_preset

__all__ = [
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
]
