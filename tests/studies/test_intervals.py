"""Intervals and p-values of means: against scipy and numpy, and what they must not depend on."""

from __future__ import annotations

import math
import random
import statistics
import sys
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.studies.comparing import effective_number, holm, interval, means_of, p_value
from batprotocol.studies.comparing import intervals as student
from batprotocol.studies.comparing.intervals import ANY

WITHOUT_ENGINE = True

TIMES, SLOWDOWNS, SHARES = (0.0, math.inf), (1.0, math.inf), (0.0, 1.0)
QUARTERS = st.lists(st.integers(-400, 400).map(lambda each: each / 4), min_size=3, max_size=25)
"""Numbers of which sums are exact, in whatever order."""
POSITIVE = st.lists(st.integers(0, 400).map(lambda each: each / 4), min_size=5, max_size=25)
PARTS = st.lists(st.integers(0, 64).map(lambda each: each / 64), min_size=5, max_size=25)
CONFIDENCES = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])
ORDERED = st.booleans()

WORSE_BY_WEEK = (-0.02, -1.13, -0.54, -2.21, -3.9, -12.3, -7.7, -4.05, -3.1, -2.4)
"""Ten differences, all better."""


def known(found: tuple[float, float] | None) -> tuple[float, float]:
    assert found is not None
    return found


# Against other implementations


@given(POSITIVE, CONFIDENCES)
def test_times_have_students_interval_of_the_logarithm(values: list[float], confidence: float) -> None:
    """With scipy's t and skewness, and numpy's own means."""
    import numpy as np
    from scipy import stats

    found = known(interval(values, confidence=confidence, domain=TIMES))
    if len(set(values)) == 1:
        assert found == (values[0], values[0])
        return
    mean, error, reach = np.mean(values), stats.sem(values), max(0.8, 5 / len(values)) * np.ptp(values)
    telling = np.count_nonzero(values)
    wider = 1 + 0.9 * abs(stats.skew(values, bias=False)) / math.sqrt(len(values))
    step = wider * stats.t.ppf((1 + confidence) / 2, max(telling - 1, 1)) * error / mean
    ends = [max(mean * np.exp(-step), mean - reach), min(mean * np.exp(step), mean + reach)]
    if 2.0 ** (1 - telling) > 1 - confidence:
        own = stats.t.interval(confidence, len(values) - 1, mean, error)
        ends = [max(min(ends[0], own[0]), 0), max(ends[1], own[1])]
    assert found == pytest.approx(ends, rel=1e-6, abs=1e-9)
    moved = interval([value + 1 for value in values], confidence=confidence, domain=SLOWDOWNS)
    assert moved == pytest.approx([end + 1 for end in ends], rel=1e-6, abs=1e-9)


@given(PARTS, CONFIDENCES)
def test_shares_have_students_interval_of_the_logit(values: list[float], confidence: float) -> None:
    import numpy as np
    from scipy import special, stats

    found = known(interval(values, confidence=confidence, domain=SHARES))
    assert 0 <= found[0] <= np.mean(values) <= found[1] <= 1
    telling = np.count_nonzero(values)
    if len(set(values)) == 1 or 2.0 ** (1 - telling) > 1 - confidence:
        return
    mean, reach = np.mean(values), max(0.8, 5 / len(values)) * np.ptp(values)
    wider = 1 + 0.9 * abs(2 * mean - 1) * abs(stats.skew(values, bias=False)) / math.sqrt(len(values))
    step = wider * stats.t.ppf((1 + confidence) / 2, telling - 1) * stats.sem(values) / (mean * (1 - mean))
    ends = special.expit(special.logit(mean) + np.array([-step, step]))
    assert found == pytest.approx([max(ends[0], mean - reach), min(ends[1], mean + reach)], rel=1e-6, abs=1e-9)


@given(QUARTERS, CONFIDENCES)
def test_differences_join_the_intervals_of_gains_and_losses(values: list[float], confidence: float) -> None:
    """Zou and Donner's method, with numpy's means, errors and correlations."""
    import numpy as np
    from scipy import stats

    given_values = np.array(values)
    telling = np.count_nonzero(given_values)
    if np.ptp(given_values) == 0:
        return
    up, down = np.maximum(given_values, 0), np.maximum(-given_values, 0)
    mean, count = up.mean() - down.mean(), len(values)
    lean = abs(mean) / (up.mean() + down.mean())
    wider = 1 + 0.9 * lean * abs(stats.skew(given_values, bias=False)) / math.sqrt(count)
    times = wider * stats.t.ppf((1 + confidence) / 2, max(telling - 1, 1))

    def limits(part: np.ndarray) -> tuple[float, float]:
        if not part.any():
            return 0.0, 0.0
        step = min(times * stats.sem(part) / part.mean(), 300)
        return part.mean() * np.exp(-step), part.mean() * np.exp(step)

    (up_low, up_high), (down_low, down_high) = limits(up), limits(down)
    alike = np.corrcoef(up, down)[0, 1] if np.ptp(up) and np.ptp(down) else 0.0
    below, above = up.mean() - up_low, down_high - down.mean()
    low = mean - math.sqrt(below**2 + above**2 - 2 * alike * below * above)
    below, above = down.mean() - down_low, up_high - up.mean()
    high = mean + math.sqrt(below**2 + above**2 - 2 * alike * below * above)
    reach = max(0.8, 5 / count) * np.ptp(given_values)
    low, high = max(low, mean - reach), min(high, mean + reach)
    if 2.0 ** (1 - telling) > 1 - confidence:
        own = stats.t.interval(confidence, count - 1, mean, stats.sem(given_values))
        low, high = min(low, own[0]), max(high, own[1])
    assert interval(values, confidence=confidence) == pytest.approx((low, high), rel=1e-5, abs=1e-6)


@given(st.floats(0, 60), st.integers(1, 60), st.floats(0.6, 0.9999))
def test_students_distribution(ratio: float, freedom: int, part: float) -> None:
    from scipy import stats

    assert student.student(ratio, freedom) == pytest.approx(stats.t.cdf(ratio, freedom), abs=1e-12)
    assert student.student_quantile(part, freedom) == pytest.approx(stats.t.ppf(part, freedom), rel=1e-8)


@given(QUARTERS)
def test_few_values_and_their_p_value_are_students_at_least(values: list[float]) -> None:
    from scipy import stats

    values = values[:5]
    if len(set(values)) == 1:
        return
    low, high = known(interval(values))
    own = stats.t.interval(0.95, len(values) - 1, statistics.fmean(values), stats.sem(values))
    digits = 1e-9 * max(1.0, own[1] - own[0])  # scipy 1.11 has ten right digits of the quantile
    assert low <= own[0] + digits
    assert high >= own[1] - digits
    assert p_value(values) >= min(stats.ttest_1samp(values, 0).pvalue, 0.05) - 1e-9


@given(QUARTERS, ORDERED)
def test_the_p_value_is_the_least_of_all_intervals_without_0(values: list[float], ordered: bool) -> None:
    """By brute force, over many confidences."""
    found = p_value(values, ordered=ordered)
    if found is None or len(set(values)) == 1:
        assert found in (None, 0.0, 1.0)
        return
    for tail in (0.6, 0.3, 0.1, 0.05, 0.02, 0.004, 1e-4):
        low, high = known(interval(values, confidence=1 - tail, ordered=ordered))
        if abs(found - tail) > 1e-7 and min(abs(low), abs(high)) > 1e-9:
            assert (found < tail) == (not low <= 0 <= high), tail
    assert p_value([-value for value in values], ordered=ordered) == pytest.approx(found, rel=1e-6, abs=1e-12)


@given(st.lists(st.none() | st.floats(0, 1), max_size=12))
def test_holms_correction(values: list[float | None]) -> None:
    """Step down: the hypotheses that are rejected at a level are those whose corrected values are below it."""
    found = holm(values)
    pairs = [(p, corrected) for p, corrected in zip(values, found, strict=True) if p is not None]
    assert [each is None for each in values] == [each is None for each in found]
    for level in (0.001, 0.01, 0.05, 0.3):
        rejected = 0
        for rank, (p, _) in enumerate(sorted(pairs)):
            if p * (len(pairs) - rank) > level:
                break
            rejected += 1
        assert sum(corrected is not None and corrected <= level for _, corrected in pairs) == rejected


# What they must not depend on


@given(QUARTERS, st.sampled_from([0.5, 3.0, 1024.0]), ORDERED)
def test_units_make_no_difference(values: list[float], factor: float, ordered: bool) -> None:
    found = interval(values, ordered=ordered)
    other = interval([factor * value for value in values], ordered=ordered)
    mirrored = interval([-value for value in values], ordered=ordered)
    if found is None:
        assert (other, mirrored) == (None, None)
        return
    assert other == pytest.approx([factor * end for end in found])
    assert mirrored == pytest.approx([-found[1], -found[0]])
    narrower = known(interval(values, confidence=0.5, ordered=ordered))
    assert found[0] - 1e-9 <= narrower[0] <= narrower[1] <= found[1] + 1e-9


@given(POSITIVE, st.integers(-50, 50), ORDERED)
def test_a_bound_moves_with_the_values(values: list[float], moved: int, ordered: bool) -> None:
    found = known(interval(values, domain=TIMES, ordered=ordered))
    other = interval([value + moved for value in values], domain=(moved, math.inf), ordered=ordered)
    assert other == pytest.approx([end + moved for end in found], abs=1e-9)
    mirrored = interval([moved - value for value in values], domain=(-math.inf, moved), ordered=ordered)
    assert mirrored == pytest.approx([moved - end for end in reversed(found)], abs=1e-9)


@given(QUARTERS, st.randoms(use_true_random=False))
def test_the_order_of_seeds_does_not_count(values: list[float], chance: random.Random) -> None:
    mixed = values[:]
    chance.shuffle(mixed)
    assert interval(mixed) == pytest.approx(interval(values), rel=1e-9, abs=1e-9)
    assert p_value(mixed) == pytest.approx(p_value(values), rel=1e-6, abs=1e-12)


@given(QUARTERS, QUARTERS, ORDERED)
def test_no_interval_leaves_the_domain_or_is_far_wider_than_the_values(
    values: list[float], others: list[float], ordered: bool
) -> None:
    values = [*values, *others]
    for domain, part in (
        (ANY, values),
        (TIMES, [abs(each) for each in values]),
        (SLOWDOWNS, [1 + abs(each) for each in values]),
        (SHARES, [abs(each) / 100 for each in values]),
    ):
        low, high = known(interval(part, domain=domain, ordered=ordered))
        assert domain[0] <= low <= statistics.fmean(part) * (1 + 1e-12) + 1e-12
        assert statistics.fmean(part) * (1 - 1e-12) - 1e-12 <= high <= domain[1]
        if sum(each != (0 if domain == ANY else domain[0]) for each in part) > 5:
            assert high - low <= 1.7 * (max(part) - min(part)) + 1e-9


@given(st.lists(st.floats(0.01, 100), min_size=6, max_size=20), ORDERED)
def test_six_of_six_weeks_that_are_better_are_no_chance(values: list[float], ordered: bool) -> None:
    low, high = known(interval([-value for value in values], ordered=ordered))
    assert high < 0
    assert low < 0
    assert p_value(values, ordered=ordered) < 0.05
    below = known(interval([-value for value in values[:5]]))[1]
    assert below >= -min(values[:5]) or below < 0  # of five, Student's decides


def test_ten_of_ten_weeks_that_are_better() -> None:
    chance = random.Random(1)
    for _ in range(50):
        low, high = known(interval(chance.sample(WORSE_BY_WEEK, 10), ordered=True))
        assert -12.3 < low < -6
        assert -2 < high < -0.4


def test_no_number_is_too_large_or_too_small() -> None:
    for values in (
        [1e308, 1e307, 3e307, 5e307, 9e307, 1e308],
        [5e-324, 0.0, 5e-324, 0.0, 0.0, 0.0],
        [1.0, math.nextafter(1, 2), 1.0, 1.0, 1.0],
        [1e308, 5e-324, 5e-324, 5e-324, 5e-324, 5e-324],
    ):
        for domain in (ANY, TIMES, (-1e308, math.inf), (-1e308, 1.7e308)):
            for ordered in (False, True):
                low, high = known(interval(values, domain=domain, ordered=ordered))
                assert math.isfinite(low)
                assert low <= max(values)
                assert high >= min(values)
        assert 0 <= p_value(values) <= 1
        assert len(means_of(values)) == 199


# How wide they are, and how often they contain the mean


def sets(draw: object, count: int, number: int) -> list[list[float]]:
    chance = random.Random(number)
    return [[draw(chance) for _ in range(count)] for _ in range(number)]  # type: ignore[operator]


def test_intervals_of_normal_values_are_hardly_wider_than_students() -> None:
    """Those of version 0.2 were up to 18 times as wide, and 12 of 60 were wider than the whole range of the values."""
    from scipy import stats

    ratios, wider = [], 0
    for values in sets(lambda chance: chance.gauss(0, 1), 10, 60):
        low, high = known(interval(values, ordered=True))
        assert high - low < 1.2 * (max(values) - min(values))
        wider += high - low > max(values) - min(values)
        ratios.append((high - low) / (2 * stats.t.ppf(0.975, 9) * stats.sem(values)))
    assert statistics.median(ratios) < 1.4
    assert sorted(ratios)[54] < 1.75
    assert max(ratios) < 2.5
    assert wider <= 1


def test_any_order_of_independent_values_has_an_interval_of_much_the_same_width() -> None:
    chance = random.Random(2)
    for count, most in ((10, 1.35), (12, 1.45), (26, 1.6), (52, 1.65)):
        for draw in (lambda: chance.gauss(-0.5, 1), lambda: -chance.expovariate(1)):
            for _ in range(6):
                values = [draw() for _ in range(count)]
                ends = [known(interval(chance.sample(values, count), ordered=True)) for _ in range(40)]
                widths = [high - low for low, high in ends]
                assert max(widths) < most * min(widths)
        values.sort()
        assert count > 12 or max(known(interval(values, ordered=True))) - min(known(interval(values, ordered=True))) < (
            1.5 * min(widths)
        )


def test_more_values_have_narrower_intervals() -> None:
    for domain, draw in (
        (ANY, lambda chance: chance.gauss(0, 1)),
        (ANY, lambda chance: -chance.expovariate(1)),
        (TIMES, lambda chance: chance.expovariate(1)),
        (SHARES, lambda chance: chance.random()),
    ):
        for ordered in (False, True):
            widths = []
            for count in (6, 12, 24, 48):
                ends = [known(interval(each, domain=domain, ordered=ordered)) for each in sets(draw, count, 150)]
                widths.append(statistics.fmean(high - low for low, high in ends))
            assert widths == sorted(widths, reverse=True)
            assert widths[-1] < 0.45 * widths[0]


@pytest.mark.parametrize(
    ("draw", "mean", "domain"),
    [
        (lambda chance: chance.gauss(0, 1), 0.0, ANY),
        (lambda chance: chance.gauss(1, 1), 1.0, ANY),
        (lambda chance: chance.expovariate(1.0) - 1, 0.0, ANY),
        (lambda chance: chance.expovariate(1.0), 1.0, TIMES),
        (lambda chance: 1 + chance.lognormvariate(0, 0.8), 1 + math.exp(0.32), SLOWDOWNS),
        (lambda chance: chance.random(), 0.5, SHARES),
    ],
)
@pytest.mark.parametrize("count", [10, 20])
def test_intervals_contain_the_mean_as_often_as_they_say(
    draw: object, mean: float, domain: tuple[float, float], count: int
) -> None:
    ends = [known(interval(each, domain=domain)) for each in sets(draw, count, 1000)]
    held = sum(low <= mean <= high for low, high in ends) / len(ends)
    assert 0.93 <= held <= 0.99  # normal and uniform values: 97 to 98 %


# Arguments


def test_few_numbers() -> None:
    for values in ([], [3.0], [1.0, 2.0]):
        assert interval(values) is None
        assert p_value(values) is None
    assert interval([1.0, 2.0, 3.0, 5.0], ordered=True) is None
    assert p_value([1.0, 2.0, 3.0, 5.0], ordered=True) is None
    assert interval([3.0] * 5) == interval([3.0] * 5, ordered=True) == (3.0, 3.0)
    assert (p_value([3.0] * 5), p_value([0.0] * 5)) == (0.0, 1.0)


def test_distributions_of_means_are_the_ends_of_intervals() -> None:
    values = [1.0, 4.0, 2.0, 8.0, 3.0, 2.0, 9.0]
    means = means_of(values, domain=TIMES)
    assert means == sorted(means)
    assert len(means) == 199
    assert means[99] == pytest.approx(statistics.fmean(values))
    assert (means[4], means[194]) == interval(values, confidence=0.95, domain=TIMES)
    assert means_of([1.0, 2.0]) == [1.5]
    assert means_of([4.0]) == means_of([4.0] * 3) == [4.0]
    with pytest.raises(InputError, match="expected at least one number"):
        means_of([])


def test_mistakes() -> None:
    for confidence in (0.0, 1.0, math.nan):
        with pytest.raises(InputError, match=r"expected a confidence in \(0, 1\)"):
            interval([1.0, 2.0, 3.0], confidence=confidence)
    for call in (interval, p_value, means_of):
        with pytest.raises(InputError, match="expected finite numbers"):
            call([1.0, math.inf, 2.0])
    with pytest.raises(InputError, match=r"expected numbers of 0 to 1, got \[0.5, 1.5, 0.5\]"):
        interval([0.5, 1.5, 0.5], domain=SHARES)
    with pytest.raises(InputError, match="expected a domain such as"):
        interval([0.5, 1.5, 0.5], domain=(1.0, 0.0))


def test_samples_are_not_drawn_any_more() -> None:
    values = [1.0, 2.0, 4.0]
    with pytest.warns(DeprecationWarning, match="intervals draw no samples: leave out resamples and seed"):
        assert interval(values, resamples=99, seed=1) == interval(values)
    with pytest.warns(DeprecationWarning, match="leave out resamples and seed"):
        assert p_value(values, seed=1) == p_value(values)
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("error")
        patch.setitem(sys.modules, "numpy", None)
        assert interval(values) is not None
        assert effective_number(values) > 1
