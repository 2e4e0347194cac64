"""Electricity: the watts of hosts, carbon intensities and prices over time, and the grams and money of a consumption.

`units` has the units of tables, `tables` reads the tables of publishers, and `trace` has the values over time. `events`
writes them as external events and reads them. `daily` makes a curve that repeats each day, and `best_times` finds the
best times of a trace. `accounts` measures a consumption. `hosts` has the watts of hosts, as their properties declare
them.

This package must not know files, schedulers, and how energy is simulated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names
from batprotocol.workloads.electricity.accounts import Consumption, consumption_of
from batprotocol.workloads.electricity.best_times import BestTimes
from batprotocol.workloads.electricity.daily import daily_trace
from batprotocol.workloads.electricity.events import PowerEvent, read_power_event
from batprotocol.workloads.electricity.hosts import HostWatts, SleepPState, Watts, host_watts
from batprotocol.workloads.electricity.trace import JOULES_PER_KWH, Step, Trace
from batprotocol.workloads.electricity.units import CARBON, POWER, PRICE, Kind, Unit, parse_power, parse_unit

if TYPE_CHECKING:
    from batprotocol.workloads.electricity.tables import FORMATS, Table, read_table

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
    "Table",
    "Trace",
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


# They need time zones, and most policies read no table.
__getattr__ = old_names(__name__, {}, late=dict.fromkeys(("FORMATS", "Table", "read_table"), "tables"))
