"""How sure a mean is: confidence intervals by the bootstrap, bias-corrected and accelerated (BCa).

B. Efron, "Better bootstrap confidence intervals", Journal of the American Statistical Association 82, 1987. Chance
comes from a seed: the same numbers have the same interval, on every machine, and whether numpy is there or not, which
makes it faster only.
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Final

from batprotocol.errors import InputError, shown

__all__ = ["CONFIDENCE", "RESAMPLES", "interval"]

CONFIDENCE: Final = 0.95
"""How sure intervals are unless told otherwise."""
RESAMPLES: Final = 9999
"""How many resamples intervals are made of unless told otherwise."""
_MOST_RESAMPLES: Final = 1_000_000
_AT_ONCE: Final = 1 << 20
"""How many numbers are drawn at once, which bounds the memory."""
_KEPT: Final = 1 << 18
"""Draws of at most so many numbers are kept: tables have many means over equally many runs."""
_EQUAL: Final = 1e-12
"""Sums of the same numbers in another order differ by less than this part of them."""
_NORMAL: Final = NormalDist()


def interval(
    values: Sequence[float], *, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float] | None:
    """The interval in which the mean lies that these numbers are samples of; None where there are less than two.

    Args:
        values: the numbers, all finite.
        confidence: how often such intervals hold the mean, in (0, 1); with few numbers a little less often.
        resamples: how many samples are drawn from the numbers, with replacement, in [1, 1,000,000].
        seed: of chance.

    Raises:
        InputError: an argument is out of its range.

    >>> interval([1.0, 2.0, 3.0, 4.0])
    (1.5, 3.5)
    >>> interval([5.0, 5.0]), interval([5.0])
    ((5.0, 5.0), None)
    """
    if not 0 < confidence < 1 or not 1 <= resamples <= _MOST_RESAMPLES:
        expected = f"expected a confidence in (0, 1) and 1 to {_MOST_RESAMPLES} resamples"
        raise InputError(f"{expected}, got {shown((confidence, resamples))}")
    if not all(map(math.isfinite, values)):
        raise InputError(f"expected finite numbers, got {shown(list(values))}")
    if len(values) < 3:
        return None
    if min(values) == max(values):
        return values[0], values[0]
    means = sorted(_means(values, resamples, seed))
    tail = (1 - confidence) / 2
    low, high = _corrected(values, means, tail)
    return _quantile(means, low), _quantile(means, high)


def _corrected(values: Sequence[float], means: Sequence[float], tail: float) -> tuple[float, float]:
    """Which quantiles of the means to take: those of the tails, corrected for bias and skewness."""
    count = len(values)
    mean = math.fsum(values) / count
    margin = _EQUAL * max(map(abs, values))
    below = sum(each < mean - margin for each in means)
    equal = sum(each <= mean + margin for each in means) - below
    share = (below + equal / 2) / len(means)
    if not 0 < share < 1:  # as very few resamples may have it
        return tail, 1 - tail
    bias = _NORMAL.inv_cdf(share)
    # The mean without one of the numbers differs from the mean by the number's own difference over (count - 1).
    apart = [value - mean for value in values]
    scale = max(map(abs, apart))
    squares = math.fsum((each / scale) ** 2 for each in apart)
    acceleration = math.fsum((each / scale) ** 3 for each in apart) / (6 * squares**1.5)

    def corrected(part: float) -> float:
        moved = bias + _NORMAL.inv_cdf(part)
        return _NORMAL.cdf(bias + moved / (1 - acceleration * moved))

    return corrected(tail), corrected(1 - tail)


def _quantile(ordered: Sequence[float], part: float) -> float:
    place = part * (len(ordered) - 1)
    low = math.floor(place)
    below, above = ordered[low], ordered[min(low + 1, len(ordered) - 1)]
    return below + (above - below) * (place - low)


def _means(values: Sequence[float], resamples: int, seed: int) -> list[float]:
    """The means of samples drawn from the numbers."""
    count = len(values)
    draws = _kept_draws(count, resamples, seed) if count * resamples <= _KEPT else _draws(count, resamples, seed)
    found: list[float] = []
    numpy = _numpy()
    given: Any = numpy.asarray(values, dtype=float) if numpy is not None else None
    for drawn in draws:
        if numpy is not None:
            found += (given[drawn].sum(axis=1) / count).tolist()
        else:
            picked = [values[place] for place in drawn]
            found += [sum(picked[first : first + count]) / count for first in range(0, len(picked), count)]
    return found


@lru_cache(maxsize=4)
def _kept_draws(count: int, resamples: int, seed: int) -> tuple[Any, ...]:
    return tuple(_draws(count, resamples, seed))


def _draws(count: int, resamples: int, seed: int) -> Iterator[Any]:
    """Places of numbers out of `count`, for some resamples at a time: rows of numpy's, or one long array."""
    chance = random.Random(seed)
    numpy = _numpy()
    if numpy is not None:
        state = chance.getstate()[1]
        numbers = numpy.random.RandomState()  # the same generator, which makes the same numbers of the same state
        numbers.set_state(("MT19937", state[:-1], state[-1]))
    at_once = max(1, _AT_ONCE // count)
    for first in range(0, resamples, at_once):
        rows = min(at_once, resamples - first)
        if numpy is not None:
            yield (numbers.random_sample((rows, count)) * count).astype(numpy.intp)
        else:
            yield array("Q", [int(chance.random() * count) for _ in range(rows * count)])


def _numpy() -> Any:
    """numpy, or None where it is not installed."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def p_value(values, *, resamples=RESAMPLES, seed=0):
    if len(values) < 3:
        return None
    if min(values) == max(values):
        return 1.0 if values[0] == 0 else 0.0
    means = _means(values, resamples, seed)
    below = sum(m < 0 for m in means) / len(means)
    return min(1.0, 2 * min(below, 1 - below))


def holm(p_values):
    known = sorted((p, n) for n, p in enumerate(p_values) if p is not None)
    found = list(p_values)
    least = 0.0
    for place, (p, n) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - place)))
        found[n] = least
    return found
