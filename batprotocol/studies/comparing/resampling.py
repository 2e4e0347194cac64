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

__all__ = ["draws", "numpy_or_none", "part_below", "quantile", "ratios"]

_AT_ONCE: Final = 1 << 20
"""The number of numbers that are drawn at once. It bounds the memory."""
_KEPT: Final = 1 << 18
"""Draws of up to this number of numbers are cached: tables have many means over equally many runs."""
_EQUAL: Final = 1e-12
"""The sum of squares up to which numbers of about 1 are equal."""


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


def ratios(values: Sequence[float], resamples: int, seed: int, size: int | None = None) -> list[float]:
    """The sum of each resample in units of its own standard error, sorted.

    A resample of equal numbers has no standard error, and is left out.

    Args:
        values: the numbers, as differences from their mean, of about 1.
        resamples: the number of resamples.
        seed: the seed of the draws.
        size: the number of draws of a resample; None: as many as there are numbers.
    """
    wanted = len(values) if size is None else size
    numpy = numpy_or_none()
    given: Any = numpy.asarray(values) if numpy is not None else None
    found: list[float] = []
    for drawn in draws(len(values), resamples, seed, wanted):
        if numpy is not None:
            picked = given[drawn]
            sums = picked.sum(axis=1)
            squares = (picked * picked).sum(axis=1) - sums * sums / wanted
            known = squares > _EQUAL
            errors = numpy.sqrt(squares[known] * wanted / (wanted - 1))
            found += (sums[known] / errors).tolist()
            continue
        chosen = [values[place] for place in drawn]
        for first in range(0, len(chosen), wanted):
            part = chosen[first : first + wanted]
            total = sum(part)
            squared = sum(each * each for each in part) - total * total / wanted
            if squared > _EQUAL:
                found.append(total / math.sqrt(squared * wanted / (wanted - 1)))
    found.sort()
    return found


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
