"""The carbon intensity, the price and the cap of a run as series over its time.

This module must not know how they are drawn.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final

from batprotocol.recordings.timeline.values import Series, SeriesKind, TimelineData
from batprotocol.workloads.electricity import Trace

__all__ = ["add_electricity", "power_series"]

_SERIES: Final[tuple[tuple[str, SeriesKind], ...]] = (("carbon", "carbon"), ("price", "price"), ("cap", "power"))
"""Name and kind; series of the same kind share a lane."""
_MOST: Final = 100_000
"""The maximum number of values of a series: a trace that changes more often is drawn with values in between."""


def add_electricity(
    data: TimelineData, *, carbon: Trace | None = None, price: Trace | None = None, cap: Trace | float | None = None
) -> None:
    """Add the series of these traces to a run, from its start to its end, or to the end of the trace.

    Args:
        data: the run.
        carbon: the carbon intensity; None: none.
        price: the price; None: none.
        cap: the watts that are allowed, always or over time; it is drawn with the power; None: none.
    """
    for (name, kind), trace in zip(_SERIES, (carbon, price, cap), strict=True):
        if isinstance(trace, Trace):
            times, values = _steps(trace, data.start, data.end)
            data.given.append(Series(name, kind, times, values, unit=trace.unit, lane=kind))
        elif trace is not None:
            data.given.append(Series(name, kind, array("d", [data.start]), array("d", [trace]), unit="W", lane=kind))


def _steps(trace: Trace, start: float, end: float) -> tuple[array[float], array[float]]:
    """The values of a trace from their times on."""
    times, values = array("d"), array("d")
    time, shortest = start if trace.repeats else max(start, trace.begin), (end - start) / _MOST
    while time < end and (trace.repeats or time < trace.end):
        value = trace.at(time)
        if not values or values[-1] != value:
            times.append(time)
            values.append(value)
        time = max(trace.next_change(time), time + shortest)
    return times, values


def power_series(readings: Iterable[tuple[float, float]]) -> Series:
    """The power of all hosts in watts: the means between readings of the energy.

    Args:
        readings: times in ascending order, and the joules since time 0.
    """
    times, values = array("d"), array("d")
    before: tuple[float, float] = (0.0, 0.0)
    for time, joules in readings:
        if time > before[0]:
            watts = (joules - before[1]) / (time - before[0])
            if not values or values[-1] != watts:
                times.append(before[0])
                values.append(watts)
            before = time, joules
    return Series("power", "power", times, values, unit="W", lane="power")
