"""Means of values that follow one another, such as those of the weeks of a log: their standard errors, and resamples.

A week with a long queue is often followed by another one. Such values are not independent, and an interval for
independent values is too narrow. So whole blocks of consecutive values are resampled: H. R. Künsch, "The jackknife and
the bootstrap for general stationary observations", Annals of Statistics 17, 1989. Blocks are circular, so that each
value is in equally many: D. N. Politis and J. P. Romano, "A circular block-resampling procedure for stationary data",
in "Exploring the limits of bootstrap", Wiley, 1992.

The length of blocks is that of D. N. Politis and H. White, "Automatic block-length selection for the dependent
bootstrap", Econometric Reviews 23, 2004, for a series with the autocorrelation of the values: 1 for independent values,
and at most a third of the values. The standard error is prewhitened: D. W. K. Andrews and J. C. Monahan, "An improved
heteroskedasticity and autocorrelation consistent covariance matrix estimator", Econometrica 60, 1992. The
autocorrelation of few values is too small on average, and is corrected: F. H. C. Marriott and J. A. Pope, "Bias in the
estimation of autocorrelations", Biometrika 41, 1954. A negative one
counts as 0. The standard error is never smaller than that of independent values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from batprotocol.studies.comparing.resampling import ratios

__all__ = ["FEWEST_WINDOWS", "Series", "block_ratios", "series_of"]

FEWEST_WINDOWS: Final = 5
"""The minimum number of values for an interval: the autocorrelation of fewer is not known at all."""
_MOST_ALIKE: Final = 0.9
"""The maximum autocorrelation that is assumed."""
_FEWEST_BLOCKS: Final = 5
"""Resamples of fewer blocks say nothing about the skewness: most of their errors come from equal blocks."""


class Series(NamedTuple):
    """The mean of consecutive values, and what its interval is made of.

    Attributes:
        mean: the mean.
        error: its standard error.
        freedom: the degrees of freedom of the standard error: those of as many independent values, and fewer than the
            number of blocks if there are few.
        autocorrelation: that of neighbours, corrected for the number of values, in [0, 0.9].
        length: the length of the blocks.
    """

    mean: float
    error: float
    freedom: int
    autocorrelation: float
    length: int


def series_of(values: Sequence[float]) -> Series:
    """The mean of consecutive values and its standard error.

    Args:
        values: the values in their order, all finite; at least three, and not all equal.

    >>> series_of([1.0, -1.0, 1.0, -1.0]).length
    1
    >>> found = series_of([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0, 1.0])
    >>> found.length, found.freedom, round(found.autocorrelation, 2)
    (4, 1, 0.9)
    """
    count = len(values)
    mean = math.fsum(values) / count
    scale = max(abs(value - mean) for value in values)
    apart = [(value - mean) / scale for value in values]
    squares = math.fsum(each * each for each in apart)
    alike = math.fsum(one * other for one, other in pairwise(apart)) / squares
    alike = min(max(alike + (1 + 3 * alike) / count, 0.0), _MOST_ALIKE)
    if not alike:
        return Series(mean, scale * math.sqrt(squares / (count * (count - 1))), count - 1, 0.0, 1)
    news = [other - alike * one for one, other in pairwise(apart)]
    variance = math.fsum(each * each for each in news) / (count - 2)
    alone = math.sqrt(squares / (count * (count - 1)))
    error = scale * max(math.sqrt(variance / count) / (1 - alike), alone)
    independent = count * (1 - alike) / (1 + alike)
    ideal = (1.5 * count * (2 * alike / (1 - alike * alike)) ** 2) ** (1 / 3)
    length = min(max(round(ideal), 1), max(count // 3, 1))
    blocks = count // length
    freedom = math.floor(independent - 1) if blocks >= _FEWEST_BLOCKS else min(math.floor(independent), blocks) - 1
    return Series(mean, error, max(freedom, 1), alike, length)


def block_ratios(values: Sequence[float], resamples: int, seed: int) -> list[float]:
    """The error of the mean of each resample of blocks in units of its own standard error, sorted.

    A resample of equal blocks has no standard error, and is left out. Fewer than five blocks are not resampled.

    Args:
        values: the values in their order, all finite, not all equal.
        resamples: the number of resamples.
        seed: the seed of the draws.
    """
    count = len(values)
    mean, _, _, _, length = series_of(values)
    scale = max(abs(value - mean) for value in values)
    apart = [(value - mean) / scale for value in values]
    around = [*apart, *apart[: length - 1]]
    means = [math.fsum(around[first : first + length]) / length for first in range(count)]
    blocks = count // length
    if blocks < _FEWEST_BLOCKS:
        return []
    return ratios(means, resamples, seed, blocks)
