"""Random draws for the bootstrap, equal on every machine, with or without numpy; and quantiles of what they make.

It must not know what is resampled.
"""

from __future__ import annotations

import math
import random
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

__all__ = ["draws", "numpy_or_none", "part_below", "quantile"]

_AT_ONCE: Final = 1 << 20
"""The number of numbers that are drawn at once. It bounds the memory."""
_KEPT: Final = 1 << 18
"""Draws of up to this number of numbers are cached: tables have many means over equally many runs."""


def draws(count: int, resamples: int, seed: int, size: int | None = None) -> Iterator[Any]:
    """The draws of all resamples: places of numbers, some resamples at a time: rows of numpy, or one long array.

    Args:
        count: the number of numbers to draw from.
        resamples: the number of resamples.
        seed: the seed.
        size: the number of draws of a resample; None: as many as there are numbers.
    """
    wanted = count if size is None else size
    is_small = wanted * resamples <= _KEPT
    return iter(_kept(count, resamples, seed, wanted)) if is_small else _made(count, resamples, seed, wanted)


@lru_cache(maxsize=4)
def _kept(count: int, resamples: int, seed: int, size: int) -> tuple[Any, ...]:
    return tuple(_made(count, resamples, seed, size))


def _made(count: int, resamples: int, seed: int, size: int) -> Iterator[Any]:
    chance = random.Random(seed)
    numpy = numpy_or_none()
    if numpy is not None:
        state = chance.getstate()[1]
        numbers = numpy.random.RandomState()  # the same generator, which makes the same numbers of the same state
        numbers.set_state(("MT19937", state[:-1], state[-1]))
    at_once = max(1, _AT_ONCE // size)
    for first in range(0, resamples, at_once):
        rows = min(at_once, resamples - first)
        if numpy is not None:
            yield (numbers.random_sample((rows, size)) * count).astype(numpy.intp)
        else:
            yield array("Q", [int(chance.random() * count) for _ in range(rows * size)])


def quantile(ordered: Sequence[float], part: float) -> float:
    """The quantile of sorted numbers, interpolated."""
    place = part * (len(ordered) - 1)
    low = math.floor(place)
    below, above = ordered[low], ordered[min(low + 1, len(ordered) - 1)]
    return below + (above - below) * (place - low)


def part_below(ordered: Sequence[float], value: float) -> float:
    """The fraction of the numbers below a value: the inverse of `quantile`."""
    if value <= ordered[0]:
        return 0.0
    if value >= ordered[-1]:
        return 1.0
    high = bisect_left(ordered, value)
    below, above = ordered[high - 1], ordered[high]
    return (high - 1 + (value - below) / (above - below)) / (len(ordered) - 1)


def numpy_or_none() -> Any:
    """numpy, or None if it is not installed."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy
