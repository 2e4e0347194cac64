"""Temporal triggers: the times at which Batsim calls the decision component, or a probe measures."""

from __future__ import annotations

from typing import TypeAlias

from batprotocol.model.enums import TimeUnit
from batprotocol.model.value import Value

__all__ = ["FinitePeriodNumber", "Infinite", "OneShot", "Periodic", "PeriodicMode", "TemporalTrigger"]


class OneShot(Value, frozen=True):
    """A trigger that fires once, at a given time.

    Args:
        time: the time since the start of the simulation, in `time_unit`; uint64. A trigger in the past fires at once.
        time_unit: the unit of `time`; seconds by default.

    >>> OneShot(42)
    OneShot(time=42, time_unit=<TimeUnit.Second: 0>)
    """

    time: int
    time_unit: TimeUnit = TimeUnit.Second


class Infinite(Value, frozen=True):
    """Periods without end, until the decision component stops the call or the probe."""


class FinitePeriodNumber(Value, frozen=True):
    """A fixed number of periods.

    Args:
        nb_periods: the number of calls, or of emissions of a probe; uint32. Batsim refuses 0.
    """

    nb_periods: int


PeriodicMode: TypeAlias = Infinite | FinitePeriodNumber


class Periodic(Value, frozen=True):
    """A trigger that fires at each multiple of its period, counted from time 0.

    Args:
        period: the time between two firings, in `time_unit`; uint64. Batsim refuses 0. Of any two periods of calls and
            probes that run at the same time, one must divide the other.
        offset: the time by which the firings are shifted, in `time_unit`; uint64, 0 by default. Batsim refuses all
            other values.
        time_unit: the unit of `period` and `offset`; seconds by default.
        mode: `Infinite()` by default, or `FinitePeriodNumber(n)`.

    >>> Periodic(10, mode=FinitePeriodNumber(3)).mode
    FinitePeriodNumber(nb_periods=3)
    """

    period: int
    offset: int = 0
    time_unit: TimeUnit = TimeUnit.Second
    mode: PeriodicMode = Infinite()


TemporalTrigger: TypeAlias = OneShot | Periodic
