"""Changes of carbon intensities and prices as external events: their data, written and read.

A scheduler that hears of them needs no file of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.workloads.electricity.trace import Trace
from batprotocol.workloads.electricity.units import CARBON, NEVER_NEGATIVE, PRICE, QUANTITIES, Kind, parse_unit

__all__ = ["PowerEvent", "power_events", "read_power_event"]

_MOST_TEXT: Final = 1 << 16
_MINE: Final = re.compile(r'"(?:carbon|price)"')


class PowerEvent(msgspec.Struct, frozen=True):
    """The carbon intensity or the price of electricity from the time of the event on.

    Args:
        kind: `carbon` or `price`.
        value: the value, in `unit`.
        unit: `g/kWh`, or a currency for each kilowatt hour.

    >>> PowerEvent("carbon", 212.5, "g/kWh").to_data()
    '{"carbon":212.5,"unit":"g/kWh"}'
    """

    kind: Kind
    value: float
    unit: str

    def to_data(self) -> str:
        """The data of the external event."""
        return msgspec.json.encode({self.kind: self.value, "unit": self.unit}).decode()


def power_events(trace: Trace, kind: Kind, until: float) -> Iterator[tuple[float, PowerEvent]]:
    """The events of a trace from time 0 on: the value at time 0, and each change before a time.

    Args:
        trace: the values. Time 0 is the begin of the simulation.
        kind: what they are.
        until: the end, in seconds.

    Raises:
        InputError: the trace does not reach over the whole time.
    """
    before: float | None = None
    for step in trace.steps(0.0, until):
        if step.value != before:
            yield step.begin, PowerEvent(kind, step.value, trace.unit)
        before = step.value


def read_power_event(data: str) -> PowerEvent | None:
    """The change that the data of an external event describe.

    Args:
        data: the data of a `GenericExternalEvent`.

    Returns:
        None if the data are about something else: they are no JSON object with `carbon` or `price`.

    Raises:
        InputError: a key has a value that it cannot have, and `path` is the key.

    >>> read_power_event('{"price": 52.1, "unit": "EUR/MWh"}')
    PowerEvent(kind='price', value=0.0521, unit='EUR/kWh')
    """
    if len(data) > _MOST_TEXT or not _MINE.search(data):
        return None
    try:
        given: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if not isinstance(given, dict):
        return None
    kind: Kind | None = CARBON if CARBON in given else PRICE if PRICE in given else None
    if kind is None:
        return None
    value, name = given[kind], given.get("unit", "g/kWh" if kind == CARBON else None)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"expected a number, got {shown(value)}", kind)
    if kind in NEVER_NEGATIVE and value < 0:
        raise InputError(f"expected {QUANTITIES[kind]} >= 0, got {shown(value)}", kind)
    try:
        unit = parse_unit(name) if isinstance(name, str) else None
    except InputError:
        unit = None
    if unit is None or unit.kind != kind:
        expected = "g/kWh" if kind == CARBON else "EUR/MWh"
        raise InputError(f"expected a unit such as {expected}, got {shown(name)}", "unit")
    return PowerEvent(kind, value * unit.factor, unit.name)
