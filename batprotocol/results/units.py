"""Units of printed numbers: the units that users ask for, and prefixes that shorten numbers of joules, watts and grams.

Numbers in stores, CSV and JSON stay in the unit of the metric.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.results.catalogue import Metric

__all__ = ["UNITS", "in_unit", "usual_unit"]

_JOULES: Final = {
    "J": 1.0,
    "kJ": 1e3,
    "MJ": 1e6,
    "GJ": 1e9,
    "TJ": 1e12,
    "Wh": 3.6e3,
    "kWh": 3.6e6,
    "MWh": 3.6e9,
    "GWh": 3.6e12,
}
_GRAMS: Final = {"g": 1.0, "kg": 1e3, "t": 1e6}
UNITS: Final = {
    "J": _JOULES,
    "J/core h": {f"{unit}/core h": size for unit, size in _JOULES.items()},
    "W": {"W": 1.0, "kW": 1e3, "MW": 1e6, "GW": 1e9},
    "g": _GRAMS,
    "g/core h": {f"{unit}/core h": size for unit, size in _GRAMS.items()},
    "s": {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0},
}
"""The units in which each unit of metrics can be shown, with their sizes."""
_USUAL: Final = {
    "J": ("TJ", "GJ", "MJ", "kJ"),
    "J/core h": ("MJ/core h", "kJ/core h"),
    "W": ("GW", "MW", "kW"),
    "g": ("t", "kg"),
    "g/core h": ("kg/core h",),
}
"""The units that shorten large numbers, the largest first."""


def in_unit(metric: Metric, unit: str) -> tuple[Metric, float]:
    """A metric in another unit, and the divisor of its numbers.

    Args:
        metric: the metric.
        unit: one of `UNITS`, such as `kWh` or `h`.

    Raises:
        InputError: the metric has no such unit.

    >>> from batprotocol.results import METRICS
    >>> metric, divisor = in_unit(METRICS["mean_waiting_time"], "h")
    >>> metric.label_with_unit, divisor
    ('mean waiting time [h]', 3600.0)
    """
    known = UNITS.get(metric.unit, {})
    if unit not in known:
        hint = f"expected {', '.join(known)}" if known else "it has one unit only; leave out the unit"
        raise InputError(f"{metric.label_with_unit} cannot be shown in {shown(unit)}: {hint}")
    return msgspec.structs.replace(metric, unit=unit), known[unit]


def usual_unit(metric: Metric, values: Iterable[float | None]) -> tuple[Metric, float]:
    """A metric in its usual unit, with a prefix for large numbers, and the divisor of its numbers.

    >>> from batprotocol.results import METRICS
    >>> usual_unit(METRICS["consumed_joules"], [3.2e9, 1.5e9])[0].label_with_unit
    'energy [GJ]'
    """
    if metric.unit in _USUAL:
        most = max((abs(value) for value in values if value is not None), default=0.0)
        for unit in _USUAL[metric.unit]:
            if most >= UNITS[metric.unit][unit]:
                return in_unit(metric, unit)
    return metric, 1.0
