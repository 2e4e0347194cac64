"""Electricity over time: its carbon intensity and its price, and the grams and the money of a consumption.

`units` has the units of tables, `tables` reads the tables of publishers, and `trace` has the values over time. `events`
writes them as external events and reads them. `daily` makes a curve that repeats each day, and `best_times` finds the
best times of a trace. `accounts` measures a consumption.

This package must not know files, schedulers, and how energy is simulated.
"""

from __future__ import annotations

from batprotocol.power.accounts import Consumption, consumption_of
from batprotocol.power.best_times import BestTimes
from batprotocol.power.daily import daily_trace
from batprotocol.power.events import PowerEvent, read_power_event
from batprotocol.power.tables import FORMATS, Table, read_table
from batprotocol.power.trace import JOULES_PER_KWH, Step, Trace
from batprotocol.power.units import CARBON, PRICE, Kind, Unit, parse_unit

__all__ = [
    "CARBON",
    "FORMATS",
    "JOULES_PER_KWH",
    "PRICE",
    "BestTimes",
    "Consumption",
    "Kind",
    "PowerEvent",
    "Step",
    "Table",
    "Trace",
    "Unit",
    "consumption_of",
    "daily_trace",
    "parse_unit",
    "read_power_event",
    "read_table",
]
