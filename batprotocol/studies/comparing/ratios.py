"""Ratios of sums over windows of a log, such as the mean waiting time over all jobs, and differences of two of them.

A mean over windows gives each window the same weight. A ratio of sums gives each job the same weight, so that it is the
mean of the whole log. Its standard error is that of the linearised ratio (W. G. Cochran, "Sampling techniques", Wiley,
1977, chapter 6), and its interval is made as that of a mean of windows (`intervals`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from batprotocol.errors import InputError, shown
from batprotocol.studies.comparing.intervals import ANY, CONFIDENCE, Fit, expect_confidence, words
from batprotocol.studies.comparing.series import FEWEST_WINDOWS

__all__ = ["Estimate", "difference_of_ratios", "ratio"]

_EQUAL: Final = 1e-12
"""The relative difference between sums of the same numbers is less than this."""


class Estimate(NamedTuple):
    """A ratio of sums over windows, or a difference of two, with its interval.

    Attributes:
        value: the ratio, or the difference.
        low: the lower end of the interval; None with fewer than five windows that have a denominator above 0.
        high: the upper end of the interval.
        p: the p-value of a difference, as that of `p_value`; None for a ratio, or without an interval.
        effective: the number of independent windows that these are worth, see `effective_number`.
    """

    value: float
    low: float | None
    high: float | None
    p: float | None
    effective: float


def ratio(
    numerators: Sequence[float],
    denominators: Sequence[float],
    *,
    domain: tuple[float, float] = (0.0, math.inf),
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The sum of the numerators over the sum of the denominators, such as the mean waiting time over all jobs.

    Each window has a numerator (the sum of its waiting times) and a denominator (its number of jobs). Windows with more
    jobs count more.

    Args:
        numerators: one for each window, in the order of time.
        denominators: one for each window, >= 0; at least one is above 0.
        domain: the lowest and the highest ratio that can be.
        confidence: the confidence of the interval, in (0, 1).

    Raises:
        InputError: an argument is out of its range, or the two have different lengths.

    >>> found = ratio([20.0, 90.0, 5.0, 40.0, 12.0, 60.0], [10, 30, 5, 20, 10, 20])
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 2)
    (2.39, 1.49, 3.82)
    """
    expect_confidence(confidence)
    values = _linearised(numerators, denominators)
    value = math.fsum(numerators) / math.fsum(denominators)
    own = [a / b if b else value for a, b in zip(numerators, denominators, strict=True)]
    if not all(domain[0] <= each <= domain[1] for each in own):
        raise InputError(f"expected ratios of {words(domain)}, got {shown(own)}")
    filled = sum(each > 0 for each in denominators)  # windows without jobs show nothing
    if filled < FEWEST_WINDOWS or min(values) == max(values):
        known = filled >= FEWEST_WINDOWS
        return Estimate(value, value if known else None, value if known else None, None, float(filled))
    fit = Fit(values, domain, True, mean=value)
    return Estimate(value, *fit.ends(confidence), None, fit.effective)


def difference_of_ratios(
    one: Sequence[tuple[float, float]], other: Sequence[tuple[float, float]], *, confidence: float = CONFIDENCE
) -> Estimate:
    """The difference between two ratios of sums over the same windows: that of the first minus that of the second.

    Such are the mean waiting times of two policies over the jobs of a log: each window has the sum of the waiting times
    and the number of jobs, by each policy. Chance that acts equally on both cancels out, window by window.

    Args:
        one: for each window in the order of time, a numerator and a denominator >= 0.
        other: the same for the second ratio.
        confidence: the confidence of the interval, in (0, 1).

    Raises:
        InputError: an argument is out of its range, or the two have different numbers of windows.

    >>> easy = [(20.0, 10), (90.0, 30), (5.0, 5), (40.0, 20), (12.0, 10), (60.0, 20)]
    >>> fcfs = [(35.0, 10), (150.0, 30), (6.0, 5), (70.0, 20), (20.0, 10), (130.0, 20)]
    >>> found = difference_of_ratios(easy, fcfs)
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 2), found.p < 0.05
    (-1.94, -4.18, -0.71, True)
    """
    expect_confidence(confidence)
    if len(one) != len(other):
        raise InputError(f"expected two ratios over the same windows, got {len(one):,} and {len(other):,} windows")
    firsts, seconds = (_linearised([a for a, _ in each], [b for _, b in each]) for each in (one, other))
    values = [first - second for first, second in zip(firsts, seconds, strict=True)]
    value = _quotient(one) - _quotient(other)
    filled = sum(n > 0 or m > 0 for (_, n), (_, m) in zip(one, other, strict=True))
    if filled < FEWEST_WINDOWS or max(values) - min(values) <= _EQUAL * max(map(abs, [*firsts, *seconds])):
        known = filled >= FEWEST_WINDOWS
        p = None if not known else 0.0 if value else 1.0
        return Estimate(value, value if known else None, value if known else None, p, float(filled))
    signs = [a / n - b / m for (a, n), (b, m) in zip(one, other, strict=True) if n and m]
    fit = Fit(values, ANY, True, mean=value, signs=signs)
    return Estimate(value, *fit.ends(confidence), fit.p(), fit.effective)


def _quotient(windows: Sequence[tuple[float, float]]) -> float:
    return math.fsum(a for a, _ in windows) / math.fsum(b for _, b in windows)


def _linearised(numerators: Sequence[float], denominators: Sequence[float]) -> list[float]:
    """Numbers whose mean is the ratio, and whose mean has the standard error of the ratio."""
    if len(numerators) != len(denominators):
        raise InputError(
            f"expected a denominator for each numerator, got {len(denominators):,} and {len(numerators):,}"
        )
    if not all(map(math.isfinite, [*numerators, *denominators])):
        raise InputError("expected finite numerators and denominators")
    total = math.fsum(denominators)
    if min(denominators, default=0.0) < 0 or not total > 0:
        raise InputError("expected denominators >= 0, of which one is above 0")
    value, size = math.fsum(numerators) / total, total / len(denominators)
    return [value + (a - value * b) / size for a, b in zip(numerators, denominators, strict=True)]
