"""Temporal triggers: when a call is due or a probe takes its measures."""

from __future__ import annotations

from typing import TypeAlias

from batprotocol.model.enums import TimeUnit
from batprotocol.model.value import Value

__all__ = ["FinitePeriodNumber", "Infinite", "OneShot", "Periodic", "PeriodicMode", "TemporalTrigger"]


class OneShot(Value, frozen=True):
    """A trigger that fires once, at a given time.

    Args:
        time: when, counted from the start of the simulation, in `time_unit`; uint64. One in the past fires at once.
        time_unit: seconds unless told otherwise.

    >>> OneShot(42)
    OneShot(time=42, time_unit=<TimeUnit.Second: 0>)
    """

    time: int
    time_unit: TimeUnit = TimeUnit.Second


class Infinite(Value, frozen=True):
    """Periods without end, until the call or the probe is stopped."""


class FinitePeriodNumber(Value, frozen=True):
    """A fixed number of periods.

    Args:
        nb_periods: how many times a call comes, or a probe emits; uint32. Batsim refuses 0.
    """

    nb_periods: int


PeriodicMode: TypeAlias = Infinite | FinitePeriodNumber


class Periodic(Value, frozen=True):
    """A trigger that fires again and again: at the multiples of its period, counted from time 0.

    Args:
        period: the time between two firings, in `time_unit`; uint64. Batsim refuses 0, and the periods of running
            calls and probes must divide one another.
        offset: how firings are shifted from time 0, in `time_unit`; uint64. Batsim refuses any but 0.
        time_unit: seconds unless told otherwise.
        mode: `Infinite()` unless told otherwise, or `FinitePeriodNumber(n)`.

    >>> Periodic(10, mode=FinitePeriodNumber(3)).mode
    FinitePeriodNumber(nb_periods=3)
    """

    period: int
    offset: int = 0
    time_unit: TimeUnit = TimeUnit.Second
    mode: PeriodicMode = Infinite()


TemporalTrigger: TypeAlias = OneShot | Periodic
