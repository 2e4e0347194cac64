"""Confidence intervals of means, differences, and ratios of sums over windows.

The values are independent draws, one number for each seed, or windows of a log, which follow one another.

Metrics are skewed: most weeks have a short queue, and a few have a long one. So the interval is not that of Student's t
around the mean, but one that is as far from the mean in each direction as the values allow:

- A mean of values with a lower bound (waiting times from 0, slowdowns from 1) has Student's interval on the scale of
  log(mean - bound), and a mean of shares on the scale of log(mean / (1 - mean)). So it stays between the bounds.
- A mean without bounds, such as that of differences, is the mean of the gains minus the mean of the losses. Each has an
  interval on the logarithmic scale, and the two are joined: G. Y. Zou and A. Donner, "Construction of confidence limits
  about effect measures: a general approach", Statistics in Medicine 27, 2008. If all differences have one sign, the
  whole interval has it.
- Skewed values hide their rare large ones. So the interval is wider by 0.9 * |skewness| / sqrt(n), and less so
  for differences, the more gains and losses balance: by |gains - losses| / (gains + losses) of that. The same holds for
  a share and the rest.
- Values at their bound, such as pairs that do not differ, say nothing about the size of the others. They do not count
  as degrees of freedom.
- If fewer than six values differ from their bound (at 95 %), their signs alone may be chance. Then the interval
  also contains Student's.
- An end is at most 0.8 times the range of the values off the mean (5 / n of it for fewer than 7), unless it is
  Student's.

The two constants were fitted to simulations with ten seeds. `tools/coverage.py` measures how often the intervals
contain the true mean. There are no random numbers: equal values have equal intervals on every machine.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from batprotocol.errors import InputError, shown

__all__ = [
    "ANY",
    "CONFIDENCE",
    "FEWEST",
    "FEWEST_WINDOWS",
    "Estimate",
    "Fit",
    "difference_of_ratios",
    "effective_number",
    "expect_confidence",
    "holm",
    "interval",
    "means_of",
    "p_value",
    "ratio",
    "student",
    "student_quantile",
    "warn_of_resamples",
    "words",
]


# Values that follow one another, such as those of the weeks of a log: how many independent values they are worth.


FEWEST_WINDOWS: Final = 5
"""The minimum number of consecutive values for an interval."""
_USUAL: Final = 0.06
"""The autocorrelation that is assumed of few values."""
_ENOUGH: Final = 32
"""Of this number of values, their own autocorrelation counts as much as the usual one."""
_MOST_ALIKE: Final = 0.9
"""The maximum autocorrelation that is assumed."""


def effective_number(values: Sequence[float]) -> float:
    """The number of independent values whose mean is known as well as the mean of these.

    It is at least 1 and at most their number. A negative autocorrelation counts as 0.

    Args:
        values: the values in their order, all finite; at least two, and not all equal.

    >>> round(effective_number([1.0, 2.0, 4.0, 5.0, 3.0, 4.0, 2.0, 1.0, 2.0, 4.0]), 1)
    8.4
    >>> round(effective_number([float(n // 20 % 2) for n in range(100)]), 1)
    7.8
    """
    count = len(values)
    mean = math.fsum(values) / count
    scale = max(abs(value - mean) for value in values)
    apart = [(value - mean) / scale for value in values]
    squares = math.fsum(each * each for each in apart)
    alike = math.fsum(one * other for one, other in pairwise(apart)) / squares
    own = count * count / (count * count + _ENOUGH * _ENOUGH)
    alike = own * (alike + (1 + 3 * alike) / count) + (1 - own) * _USUAL
    alike = min(max(alike, 0.0), _MOST_ALIKE)
    more = (1 + alike) / (1 - alike) - 2 * alike * (1 - alike**count) / (count * (1 - alike) ** 2)
    return count / max(more, 1.0)


# The distribution of Student's t.


def student(ratio: float, freedom: int) -> float:
    """The distribution function of Student's t for a whole number of degrees of freedom and a ratio >= 0.

    M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    angle = math.atan2(ratio, math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    term, total = 1.0, 0.0
    if freedom % 2:
        term = math.cos(angle)
        for step in range(2, freedom, 2):
            total += term
            term *= square * step / (step + 1)
        inside = 2 / math.pi * (angle + sine * total)
    else:
        for step in range(1, freedom, 2):
            total += term
            term *= square * step / (step + 1)
        inside = sine * total
    return 0.5 + inside / 2


@lru_cache(maxsize=64)
def student_quantile(part: float, freedom: int) -> float:
    """The quantile of Student's t for a probability > 1/2."""
    low, high = 0.0, 1.0
    while student(high, freedom) < part and high < 1e300:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if student(middle, freedom) < part:
            low = middle
        else:
            high = middle
    return high


CONFIDENCE: Final = 0.95
"""The default confidence of intervals."""
FEWEST: Final = 3
"""The minimum number of draws for an interval."""
ANY: Final = (-math.inf, math.inf)
"""The domain of values without bounds."""
_SKEWED: Final = 0.9
"""By this factor times |skewness| / sqrt(n), intervals are wider."""
_FARTHEST: Final = 0.8
"""An end is at most this part of the range of the values off the mean, or five n-ths of it if they are fewer than 7."""
_LARGEST: Final = 300.0
"""The largest exponent: the square of e^300 is still a number."""
_STEPS: Final = 200

Domain = tuple[float, float]
"""The lowest and the highest value that can be."""


def interval(
    values: Sequence[float],
    *,
    confidence: float = CONFIDENCE,
    domain: Domain = ANY,
    ordered: bool = False,
    resamples: int | None = None,
    seed: int | None = None,
) -> tuple[float, float] | None:
    """The confidence interval of the mean of the population of these numbers.

    It is None for fewer than three numbers, or five that are ordered. It contains the mean of the numbers.

    Args:
        values: the numbers, all finite, one for each draw.
        confidence: the probability that such an interval contains the mean of the population, in (0, 1).
        domain: the lowest and the highest number that can be, such as (0, inf) for times. No interval leaves it. The
            default is all numbers, as for differences.
        ordered: whether the numbers follow one another, such as those of windows of a log, so that neighbours may be
            alike.
        resamples: without effect, and deprecated.
        seed: without effect, and deprecated.

    Raises:
        InputError: an argument is out of its range, or a number is outside of the domain.

    >>> low, high = interval([1.0, 2.0, 3.0, 4.0])
    >>> low < 1.5 and high > 3.5
    True
    >>> interval([5.0, 5.0, 5.0]), interval([5.0, 6.0])
    ((5.0, 5.0), None)
    >>> [round(end, 1) for end in interval([3.0, 5.0, 4.0, 9.0, 3.0, 4.0, 30.0, 6.0], domain=(1, float("inf")))]
    [2.0, 29.6]
    """
    warn_of_resamples(resamples, seed)
    _expect(values, domain)
    expect_confidence(confidence)
    if len(values) < _fewest(ordered):
        return None
    if min(values) == max(values):
        return values[0], values[0]
    return Fit(values, domain, ordered).ends(confidence)


def p_value(
    values: Sequence[float], *, ordered: bool = False, resamples: int | None = None, seed: int | None = None
) -> float | None:
    """The two-sided p-value of these numbers: how little confidence it takes for an interval without 0.

    It agrees with `interval`: it is below 1 - confidence if 0 is outside of the interval.

    Args:
        values: the numbers, all finite, one for each draw; such as differences of pairs.
        ordered: as that of `interval`.
        resamples: without effect, and deprecated.
        seed: without effect, and deprecated.

    Returns:
        The probability; None for fewer than three numbers, or five that are ordered.

    Raises:
        InputError: a number is not finite.

    >>> p_value([1.0, 1.1, 0.9, 1.0]) < 0.01, p_value([1.0, -1.1, 0.9, -1.0]) > 0.5
    (True, True)
    """
    warn_of_resamples(resamples, seed)
    _expect(values, ANY)
    if len(values) < _fewest(ordered):
        return None
    if min(values) == max(values):
        return 0.0 if values[0] else 1.0
    return Fit(values, ANY, ordered).p()


def means_of(
    values: Sequence[float],
    *,
    domain: Domain = ANY,
    ordered: bool = False,
    resamples: int | None = None,
    seed: int | None = None,
) -> list[float]:
    """The distribution of the mean, as 199 sorted numbers: the ends of its intervals, from a confidence of 0 to 99 %.

    Without an interval, the only number is the mean.

    Args:
        values: the numbers, all finite, at least one.
        domain: as that of `interval`.
        ordered: as that of `interval`.
        resamples: without effect, and deprecated.
        seed: without effect, and deprecated.

    Raises:
        InputError: an argument is out of its range, or there is no number.
    """
    warn_of_resamples(resamples, seed)
    _expect(values, domain)
    if not values:
        raise InputError("expected at least one number, got none")
    if min(values) == max(values):
        return [values[0]]
    mean = math.fsum(value / len(values) for value in values)
    if len(values) < _fewest(ordered):
        return [mean]
    fit = Fit(values, domain, ordered)
    pairs = [fit.ends(confidence / 100) for confidence in range(1, 100)]
    return sorted([*(low for low, _ in pairs), mean, *(high for _, high in pairs)])


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """The same p-values, corrected for their number: at most 5 % of all tables have a wrong one below 0.05.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979.

    Args:
        p_values: the p-values of all comparisons. None, for a comparison that is not possible, does not count.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    found: list[float | None] = [None] * len(p_values)
    least = 0.0
    for rank, (p, place) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - rank)))
        found[place] = least
    return found


class Fit:
    """A mean with all that its intervals depend on.

    Args:
        values: the numbers, at least three, not all equal.
        domain: the lowest and the highest number.
        ordered: whether they follow one another.
        mean: their mean, if it is known better than by their sum.
        signs: numbers that have the signs of the values, if the values are approximations.
    """

    def __init__(
        self,
        values: Sequence[float],
        domain: Domain,
        ordered: bool,
        *,
        mean: float | None = None,
        signs: Sequence[float] | None = None,
    ) -> None:
        count = len(values)
        signs = signs or values
        self.scale = math.ldexp(1.0, math.frexp(max(map(abs, values)))[1] - 1)
        """A power of two, so that dividing by it is exact."""
        given = [value / self.scale for value in values]
        self.mean = math.fsum(given) / count if mean is None else mean / self.scale
        self.domain = domain[0] / self.scale, domain[1] / self.scale
        self.effective = effective_number(given) if ordered else float(count)
        self.reach = max(_FARTHEST, 5 / count) * (max(given) - min(given))
        bound = next((end for end in domain if math.isfinite(end)), 0.0)
        self.off_bound = sum(each != bound for each in signs)
        self.alone = count - 1
        """The degrees of freedom of Student's interval."""
        self.freedom = max(min(self.alone, self.off_bound - 1), 1)
        """The degrees of freedom of the interval."""
        centred = [value - math.fsum(given) / count for value in given]
        self.error = self._error(centred)
        self._parts = self._halves(given, signs) if self.domain == ANY else None
        self.wider = 1 + _SKEWED * self._lean() * abs(_skewness(centred)) / math.sqrt(count)

    def _error(self, centred: Sequence[float]) -> float:
        """The standard error of the mean of these, as differences from their mean."""
        largest = max(map(abs, centred))
        if not largest:
            return 0.0
        squares = math.fsum((each / largest) ** 2 for each in centred)
        return largest * math.sqrt(squares / (len(centred) - 1) / self.effective)

    def _halves(self, values: Sequence[float], signs: Sequence[float]) -> tuple[float, float, float, float, float]:
        """The means of gains and of losses, their standard errors, and their correlation."""
        if self.mean and all(sign * self.mean >= 0 for sign in signs):
            up = self.mean > 0
            return max(self.mean, 0.0), max(-self.mean, 0.0), self.error * up, self.error * (not up), 0.0
        count = len(values)
        gains, losses = [max(each, 0.0) for each in values], [max(-each, 0.0) for each in values]
        gain, loss = math.fsum(gains) / count, math.fsum(losses) / count
        ups, downs = [each - gain for each in gains], [each - loss for each in losses]
        product = math.fsum(a * b for a, b in zip(ups, downs, strict=True))
        squares = math.fsum(a * a for a in ups) * math.fsum(b * b for b in downs)
        return gain, loss, self._error(ups), self._error(downs), product / math.sqrt(squares) if squares else 0.0

    def _lean(self) -> float:
        """How far gains and losses, or a share and the rest, are from balance: 0 if both are equal, 1 without one."""
        if self._parts is not None:
            gain, loss, *_ = self._parts
        else:
            gain, loss = self.mean - self.domain[0], self.domain[1] - self.mean
        return abs(gain - loss) / (gain + loss) if math.isfinite(gain + loss) else 1.0

    def _joined(self, times: float) -> tuple[float, float]:
        """The ends of an interval of this number of standard errors, without bounds."""
        assert self._parts is not None
        gain, loss, gain_error, loss_error, alike = self._parts
        (gain_down, gain_up), (loss_down, loss_up) = (
            _around(each, error, times) for each, error in ((gain, gain_error), (loss, loss_error))
        )
        down = gain_down**2 + loss_up**2 - 2 * alike * gain_down * loss_up
        up = gain_up**2 + loss_down**2 - 2 * alike * gain_up * loss_down
        return self.mean - math.sqrt(max(down, 0.0)), self.mean + math.sqrt(max(up, 0.0))

    def _transformed(self, times: float) -> tuple[float, float]:
        """The ends of an interval of this number of standard errors, before limits."""
        low, high = self.domain
        if self._parts is not None:
            return self._joined(times)
        if not math.isfinite(high):
            down, up = _around(self.mean - low, self.error, times)
            return self.mean - down, self.mean + up
        if not math.isfinite(low):
            up, down = _around(high - self.mean, self.error, times)
            return self.mean - down, self.mean + up
        below, above = self.mean - low, high - self.mean
        if not below > 0 or not above > 0:
            return self.mean, self.mean
        step = min(times * self.error * (1 / below + 1 / above), _LARGEST)
        shares = [1 / (1 + above / below * math.exp(-each)) for each in (-step, step)]
        down, up = (low * (1 - share) + high * share for share in shares)
        return down, up

    def ends(self, confidence: float) -> tuple[float, float]:
        """The interval of a confidence."""
        part = (1 + confidence) / 2
        low, high = self._transformed(self.wider * student_quantile(part, self.freedom))
        low, high = max(low, self.mean - self.reach), min(high, self.mean + self.reach)
        if self._by_chance() > 1 - confidence:
            width = student_quantile(part, self.alone) * self.error
            low, high = min(low, self.mean - width), max(high, self.mean + width)
        low, high = max(min(low, self.mean), self.domain[0]), min(max(high, self.mean), self.domain[1])
        return low * self.scale, high * self.scale

    def _by_chance(self) -> float:
        """The probability that all values off their bound have one sign by chance."""
        return min(2.0 ** (1 - self.off_bound), 1.0)

    def p(self) -> float:
        """The smallest 1 - confidence of an interval without 0."""
        if not self.mean:
            return 1.0
        alone = 2 * (1 - student(abs(self.mean) / self.error, self.alone))
        times = self._times_to_zero()
        own = 2 * (1 - student(times / self.wider, self.freedom)) if math.isfinite(times) else 0.0
        return min(max(own, min(self._by_chance(), alone)), 1.0)

    def _times_to_zero(self) -> float:
        """The number of standard errors of the interval that ends at 0; inf if there is none."""
        if abs(self.mean) > self.reach:
            return math.inf

        def reaches(times: float) -> bool:
            low, high = self._joined(times)
            return low <= 0 <= high

        low, high = 0.0, 1.0
        while not reaches(high):
            low, high = high, 2 * high
            if high > _LARGEST:
                return math.inf
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            if reaches(middle):
                high = middle
            else:
                low = middle
        return high


def _around(mean: float, error: float, times: float) -> tuple[float, float]:
    """The distances of the ends of an interval of a positive mean, on the logarithmic scale."""
    if not mean > 0 or not error > 0:
        return 0.0, 0.0
    step = min(times * error / mean, _LARGEST)
    return -mean * math.expm1(-step), mean * math.expm1(step)


def _skewness(centred: Sequence[float]) -> float:
    """The skewness of a sample, unbiased for few values, of differences from their mean."""
    count = len(centred)
    largest = max(map(abs, centred))
    squares = math.fsum((each / largest) ** 2 for each in centred) / count
    cubes = math.fsum((each / largest) ** 3 for each in centred) / count
    return math.sqrt(count * (count - 1)) / (count - 2) * cubes / (squares * math.sqrt(squares))


def _fewest(ordered: bool) -> int:
    return FEWEST_WINDOWS if ordered else FEWEST


def warn_of_resamples(resamples: int | None = None, seed: int | None = None) -> None:
    """Warn of arguments that had an effect when intervals were those of a bootstrap."""
    if resamples is not None or seed is not None:
        warnings.warn("intervals draw no samples: leave out resamples and seed", DeprecationWarning, stacklevel=3)


def _expect(values: Sequence[float], domain: Domain) -> None:
    if not all(map(math.isfinite, values)):
        raise InputError(f"expected finite numbers, got {shown(list(values))}")
    if not domain[0] < domain[1]:
        raise InputError(f"expected a domain such as (0, 1), got {shown(domain)}")
    if values and not (domain[0] <= min(values) and max(values) <= domain[1]):
        raise InputError(f"expected numbers of {words(domain)}, got {shown(list(values))}")


def expect_confidence(confidence: float) -> None:
    """Raise an error for a confidence that is none."""
    if not 0 < confidence < 1:
        raise InputError(f"expected a confidence in (0, 1), got {shown(confidence)}")


def words(domain: Domain) -> str:
    """A domain in words: `0 to 1`."""
    return f"{domain[0]:g} to {domain[1]:g}"


# Ratios of sums over windows of a log, such as the mean waiting time over all jobs, and differences of two of them.


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
