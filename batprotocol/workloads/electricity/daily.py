"""A value that repeats each day: a cosine with its greatest value at one time of the day, as steps."""

from __future__ import annotations

import math
from typing import Final

from batprotocol.errors import InputError
from batprotocol.workloads.electricity.trace import Trace
from batprotocol.workloads.electricity.units import NEVER_NEGATIVE, QUANTITIES, parse_unit

__all__ = ["daily_trace"]

_DAY: Final = 86400.0


def daily_trace(mean: float, swing: float, peak: float = 19 * 3600.0, *, step: float = 1800.0, unit: str) -> Trace:
    """A trace that repeats each day. Each step has the value of the cosine at its middle.

    Args:
        mean: the mean value.
        swing: how much more the greatest value is.
        peak: the time of the day with the greatest value, in seconds since midnight, from 0 to 86,400.
        step: how long a value holds, in seconds; a part of a day.
        unit: the unit of the values.

    Raises:
        InputError: a number is out of its range, the unit is no unit, or carbon intensities would be less than 0.

    >>> trace = daily_trace(300.0, 100.0, unit="g/kWh")
    >>> round(trace.at(19 * 3600)), round(trace.at(7 * 3600)), round(trace.mean(0, 86400), 9)
    (400, 200, 300.0)
    """
    count = round(_DAY / step) if 1 <= step <= _DAY else 0
    if not count or abs(count * step - _DAY) > 1e-6:
        raise InputError(f"expected a step that divides a day, from 1 to 86,400 s, got {step:g}")
    if not (math.isfinite(mean) and math.isfinite(swing) and swing >= 0):
        raise InputError(f"expected a finite mean, and a swing >= 0, got {mean:g} and {swing:g}")
    kind = parse_unit(unit).kind
    if mean < swing and kind in NEVER_NEGATIVE:
        raise InputError(
            f"expected {QUANTITIES[kind]} >= 0 at all times, got a mean of {mean:g} and a swing of {swing:g}"
        )
    if not 0 <= peak <= _DAY:
        raise InputError(f"expected a time of the day from 0 to 86,400 s, got {peak:g}")
    times = [place * step for place in range(count)]
    cosines = (math.cos(2 * math.pi * (time + step / 2 - peak) / _DAY) for time in times)
    values = [float(f"{mean + swing * cosine:.12g}") for cosine in cosines]  # the same on all machines
    return Trace(times, values, _DAY, unit, repeats=True)
