"""Electricity: the watts of hosts, carbon intensities and prices over time, and the grams and money of a consumption.

`trace` has the units, the values over time, and the external events that report them. `tables` reads the tables of
publishers, and the names of traces. `best_times` finds the best times of a trace. `accounts` measures a consumption.
`hosts` has the watts of hosts, as their properties declare them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names

if TYPE_CHECKING:
    from batprotocol.workloads.electricity.accounts import Consumption, consumption_of
    from batprotocol.workloads.electricity.best_times import BestTimes
    from batprotocol.workloads.electricity.hosts import HostWatts, SleepPState, Watts, host_watts
    from batprotocol.workloads.electricity.tables import FORMATS, TraceTable, read_table
    from batprotocol.workloads.electricity.trace import (
        CARBON,
        JOULES_PER_KWH,
        POWER,
        PRICE,
        Kind,
        PowerEvent,
        Step,
        Trace,
        Unit,
        daily_trace,
        parse_power,
        parse_unit,
        read_power_event,
    )

__all__ = [
    "CARBON",
    "FORMATS",
    "JOULES_PER_KWH",
    "POWER",
    "PRICE",
    "BestTimes",
    "Consumption",
    "HostWatts",
    "Kind",
    "PowerEvent",
    "SleepPState",
    "Step",
    "Trace",
    "TraceTable",
    "Unit",
    "Watts",
    "consumption_of",
    "daily_trace",
    "host_watts",
    "parse_power",
    "parse_unit",
    "read_power_event",
    "read_table",
]

# Whoever needs one of these modules does not wait for the others.
_MODULES = {
    "accounts": ("Consumption", "consumption_of"),
    "best_times": ("BestTimes",),
    "hosts": ("HostWatts", "SleepPState", "Watts", "host_watts"),
    "tables": ("FORMATS", "TraceTable", "read_table"),
    "trace": (
        "CARBON",
        "JOULES_PER_KWH",
        "Kind",
        "POWER",
        "PRICE",
        "PowerEvent",
        "Step",
        "Trace",
        "Unit",
        "daily_trace",
        "parse_power",
        "parse_unit",
        "read_power_event",
    ),
}

__getattr__ = old_names(
    __name__, {"Table": "TraceTable"}, late={name: module for module, names in _MODULES.items() for name in names}
)
