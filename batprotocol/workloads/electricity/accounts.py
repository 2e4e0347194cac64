"""The kilowatt hours, grams and money of a consumption of energy, and its watts.

The consumption is a table of the joules since the beginning, as Batsim writes it, so this holds for a real Batsim, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import msgspec

from batprotocol.errors import InputError
from batprotocol.workloads.electricity.trace import JOULES_PER_KWH, Trace

__all__ = ["Consumption", "consumption_of"]

_SHORTEST = 1e-3
"""Readings that are nearer to one another, in seconds, are one: their mean watts are mostly errors of rounding."""


class Consumption(msgspec.Struct, frozen=True, kw_only=True):
    """The consumption of a time.

    Attributes:
        joules: the energy, in joules.
        seconds: the time.
        peak_watts: the greatest mean watts between two readings at different times; 0 without such readings.
        grams: the carbon dioxide of it, in grams; None without a carbon intensity.
        cost: the money; None without a price.
        currency: the currency of `cost`, or "".
        seconds_above: the time in which mean watts between readings were above the cap; None without a cap.
        joules_above: the energy above the cap in this time; None without a cap.
    """

    joules: float
    seconds: float
    peak_watts: float
    grams: float | None = None
    cost: float | None = None
    currency: str = ""
    seconds_above: float | None = None
    joules_above: float | None = None

    @property
    def kilowatt_hours(self) -> float:
        """The energy, in kWh."""
        return self.joules / JOULES_PER_KWH

    @property
    def mean_watts(self) -> float:
        """The mean watts; 0 if no time passed."""
        return self.joules / self.seconds if self.seconds > 0 else 0.0


def consumption_of(
    points: Iterable[tuple[float, float]],
    begin: float,
    end: float,
    *,
    carbon: Trace | None = None,
    price: Trace | None = None,
    cap: Trace | float | None = None,
) -> Consumption:
    """The consumption in a time.

    Args:
        points: times in ascending order, and the joules since the beginning, as `read_energy` returns them. Energy
            grows evenly in between.
        begin: the begin of the time, in seconds.
        end: its end.
        carbon: the carbon intensity, in g/kWh (location based: GHG Protocol, Scope 2 Guidance, 2015).
        price: the price, in a currency for each kWh.
        cap: the power that is allowed, in watts.

    Raises:
        InputError: the readings or a trace do not reach over the whole time.

    >>> used = consumption_of([(0.0, 0.0), (3600.0, 3.6e6), (7200.0, 5.4e6)], 0.0, 7200.0, cap=800.0)
    >>> used.kilowatt_hours, used.peak_watts, used.mean_watts, used.seconds_above, used.joules_above
    (1.5, 1000.0, 750.0, 3600.0, 720000.0)
    """
    cut = _cut(points, begin, end)
    intervals = [
        ((more - joules) / (after - time), time, after) for (time, joules), (after, more) in pairwise(_thinned(cut))
    ]
    above, excess = (0.0, 0.0) if cap is None else _above(intervals, cap)
    return Consumption(
        joules=cut[-1][1] - cut[0][1],
        seconds=end - begin,
        peak_watts=max((watts for watts, _, _ in intervals), default=0.0),
        grams=None if carbon is None else carbon.weighted(cut) / JOULES_PER_KWH,
        cost=None if price is None else price.weighted(cut) / JOULES_PER_KWH,
        currency="" if price is None else price.unit.partition("/")[0],
        seconds_above=None if cap is None else above,
        joules_above=None if cap is None else excess,
    )


def _above(intervals: Iterable[tuple[float, float, float]], cap: Trace | float) -> tuple[float, float]:
    """The time in which watts are above a cap, and the energy above it.

    Args:
        intervals: watts, and the times from which and until which the machine draws them, in ascending order.
        cap: the watts that are allowed.
    """
    above = excess = 0.0
    until, most = (math.inf, cap) if not isinstance(cap, Trace) else (-math.inf, 0.0)
    for watts, begin, end in intervals:
        while begin < end:
            if begin >= until:
                assert isinstance(cap, Trace)
                until, most = cap.next_change(begin), cap.at(begin)
            after = min(end, until)
            if watts > most * (1 + 1e-9) + 1e-6:
                above += after - begin
                excess += (watts - most) * (after - begin)
            begin = after
    return above, excess


def _cut(points: Iterable[tuple[float, float]], begin: float, end: float) -> list[tuple[float, float]]:
    """The readings in a time, with its begin and its end."""
    inside: list[tuple[float, float]] = []
    before: tuple[float, float] | None = None
    for time, joules in points:
        if before is None and time > begin:
            raise InputError(f"the readings of energy begin at {time:g} s, later than {begin:g} s")
        if time >= begin:
            if not inside:
                inside.append((begin, joules if before is None else _between(before, (time, joules), begin)))
            if time > end:
                assert before is not None
                inside.append((end, _between(before, (time, joules), end)))
                return inside
            inside.append((time, joules))
        before = time, joules
    if not inside or inside[-1][0] < end - 1e-6 * max(1.0, abs(end)):
        last = "there are none" if before is None else f"the last one is at {before[0]:g} s"
        raise InputError(f"the readings of energy do not reach to {end:g} s: {last}")
    return inside


def _between(one: tuple[float, float], two: tuple[float, float], time: float) -> float:
    if two[0] <= one[0]:
        return two[1]
    return one[1] + (two[1] - one[1]) * (time - one[0]) / (two[0] - one[0])


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The readings with some time between them; of those that are near to one another, the first."""
    kept: list[tuple[float, float]] = []
    for point in points:
        if not kept or point[0] - kept[-1][0] >= _SHORTEST:
            kept.append(point)
    return kept
