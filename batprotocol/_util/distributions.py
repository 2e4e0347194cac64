"""Distributions of numbers: means and percentiles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

__all__ = ["Distribution", "percentile"]


class Distribution(msgspec.Struct, frozen=True):
    """The distribution of a number, for example over jobs. All fields are NaN without values.

    Percentiles are interpolated linearly.

    Args:
        mean: the sum divided by the count.
        median: the 50th percentile: half of the values are at most this.
        p90: the 90th percentile.
        p95: the 95th percentile.
        p99: the 99th percentile.
        max: the largest value.
    """

    mean: float
    median: float
    p90: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Distribution:
        """The distribution of some numbers.

        >>> Distribution.of([4.0, 1.0, 3.0, 2.0]).median
        2.5
        """
        ordered = sorted(values)
        if not ordered:
            return cls(math.nan, math.nan, math.nan, math.nan, math.nan, math.nan)
        half, p90, p95, p99 = (percentile(ordered, part) for part in (0.5, 0.9, 0.95, 0.99))
        return cls(math.fsum(ordered) / len(ordered), half, p90, p95, p99, ordered[-1])


def percentile(ordered: Sequence[float], part: float) -> float:
    """A percentile of numbers in ascending order, interpolated linearly; NaN without numbers.

    Args:
        ordered: the numbers.
        part: the part of them that it is above, in [0, 1].
    """
    if not ordered:
        return math.nan
    place = part * (len(ordered) - 1)
    low = math.floor(place)
    below, above = ordered[low], ordered[min(low + 1, len(ordered) - 1)]
    return below + (above - below) * (place - low)
