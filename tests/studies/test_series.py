"""Effective numbers of windows that follow one another, and ratios of sums over windows."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.studies.comparing import difference_of_ratios, effective_number, interval, p_value, ratio

WITHOUT_ENGINE = True

VALUES = st.lists(st.integers(-400, 400).map(lambda n: n / 4), min_size=5, max_size=30)
WINDOWS = st.lists(st.tuples(st.integers(0, 400).map(lambda n: n / 4), st.integers(1, 50)), min_size=5, max_size=20)


def autoregressive(count: int, alike: float, chance: random.Random, *, skewed: bool = False) -> list[float]:
    """A stationary series of mean 0: each value is a part of the one before, and news."""
    value, found = 0.0, []
    for number in range(count + 60):
        value = alike * value + (chance.expovariate(1) - 1 if skewed else chance.gauss(0, 1))
        if number >= 60:
            found.append(value)
    return found


def coverage(count: int, alike: float, repetitions: int, *, skewed: bool = False) -> float:
    """The percentage of intervals that contain the true mean, 0."""
    chance = random.Random(f"{count} {alike} {skewed}")
    held = 0
    for _ in range(repetitions):
        found = interval(autoregressive(count, alike, chance, skewed=skewed), ordered=True)
        assert found is not None
        held += found[0] <= 0 <= found[1]
    return 100 * held / repetitions


@given(VALUES)
def test_the_effective_number_is_that_of_an_autoregression(values: list[float]) -> None:
    """By the whole sum of autocorrelations, with numpy."""
    import numpy as np

    if len(set(values)) == 1:
        return
    given_values, count = np.array(values), len(values)
    apart = given_values - given_values.mean()
    alike = (apart[1:] @ apart[:-1]) / (apart @ apart)
    alike += (1 + 3 * alike) / count
    own = count**2 / (count**2 + 32**2)
    alike = min(max(own * alike + (1 - own) * 0.06, 0), 0.9)
    lags = np.arange(1, count)
    expected = count / (1 + 2 * ((1 - lags / count) * alike**lags).sum())
    assert effective_number(values) == pytest.approx(min(expected, count), rel=1e-9)
    assert 1 <= effective_number(values) <= count
    assert effective_number([3 * value + 7 for value in values]) == pytest.approx(expected, rel=1e-6)
    assert effective_number(values[::-1]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("alike", [0.0, 0.3, 0.6])
def test_of_many_values_their_own_autocorrelation_counts(alike: float) -> None:
    chance = random.Random(3)
    found = [effective_number(autoregressive(400, alike, chance)) for _ in range(60)]
    assert statistics.median(found) == pytest.approx(400 * (1 - alike) / (1 + alike), rel=0.1)


def test_alike_neighbours_make_intervals_wider() -> None:
    chance = random.Random(5)
    widths = []
    for alike in (0.0, 0.4, 0.8):
        ends = [interval(autoregressive(60, alike, chance), ordered=True) for _ in range(60)]
        spread = math.sqrt(1 - alike * alike)  # for a variance of 1
        widths.append(statistics.median(high - low for low, high in ends) * spread)  # type: ignore[misc]
    assert widths[0] < 0.8 * widths[1] < 0.6 * widths[2]


@pytest.mark.parametrize(("count", "alike", "least"), [(10, 0.0, 95), (26, 0.3, 88), (52, 0.5, 87), (104, 0.5, 90)])
def test_intervals_contain_the_true_mean(count: int, alike: float, least: float) -> None:
    assert least <= coverage(count, alike, 400) <= 99


@pytest.mark.minutes
@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize(
    ("count", "alike", "least"),
    [
        *((10, 0.0, 95.5), (10, 0.3, 91), (10, 0.5, 83), (26, 0.0, 95.5), (26, 0.3, 92), (26, 0.5, 86)),
        *((52, 0.0, 95), (52, 0.3, 93), (52, 0.5, 90), (104, 0.0, 95), (104, 0.3, 94), (104, 0.5, 93)),
    ],
)
def test_of_10_000_intervals_as_many_as_the_page_says_contain_the_true_mean(
    count: int, alike: float, least: float, skewed: bool
) -> None:
    assert least <= coverage(count, alike, 10_000, skewed=skewed) <= 98.6


# Ratios


@given(WINDOWS)
def test_a_ratio_weighs_windows_by_their_jobs(windows: list[tuple[float, int]]) -> None:
    """The standard error is that of the jackknife, within the terms that it neglects."""
    sums, counts = [a for a, _ in windows], [n for _, n in windows]
    found = ratio(sums, counts)
    assert found.value == pytest.approx(sum(sums) / sum(counts))
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.value * (1 + 1e-12)
    assert found.high >= found.value * (1 - 1e-12)
    assert 1 <= found.effective <= len(windows)
    again = ratio([3 * a for a in sums], counts)
    assert (again.low, again.high) == (pytest.approx(3 * found.low), pytest.approx(3 * found.high))
    doubled = ratio(sums, [2 * n for n in counts])
    assert (doubled.low, doubled.high) == (pytest.approx(found.low / 2), pytest.approx(found.high / 2))


@given(WINDOWS)
def test_of_windows_with_equally_many_jobs_a_ratio_is_a_mean(windows: list[tuple[float, int]]) -> None:
    means = [a for a, _ in windows]
    found = ratio([8 * a for a in means], [8] * len(means))
    expected = interval(means, domain=(0, math.inf), ordered=True)
    assert (found.low, found.high) == pytest.approx(expected)
    if len(set(means)) > 1:
        assert found.effective == pytest.approx(effective_number(means))
    others = means[::-1]
    between = difference_of_ratios([(4 * a, 4) for a in means], [(4 * a, 4) for a in others])
    differences = [a - b for a, b in zip(means, others, strict=True)]
    assert (between.low, between.high) == pytest.approx(interval(differences, ordered=True), abs=1e-9)
    assert between.p == pytest.approx(p_value(differences, ordered=True), rel=1e-6, abs=1e-12)


@given(WINDOWS, st.randoms(use_true_random=False))
def test_differences_of_ratios(windows: list[tuple[float, int]], chance: random.Random) -> None:
    others = [(a * chance.choice([0.5, 1.0, 1.0, 2.0]), n) for a, n in windows]
    found, back = difference_of_ratios(windows, others), difference_of_ratios(others, windows)
    assert found.value == pytest.approx(
        sum(a for a, _ in windows) / sum(n for _, n in windows) - sum(a for a, _ in others) / sum(n for _, n in others)
    )
    assert back.value == pytest.approx(-found.value)
    assert None not in (found.low, found.high, back.low, back.high, found.p)
    assert (back.low, back.high) == (pytest.approx(-found.high, abs=1e-9), pytest.approx(-found.low, abs=1e-9))  # type: ignore[operator]
    assert found.low - 1e-9 <= found.value <= found.high + 1e-9  # type: ignore[operator]
    if abs(found.low) > 1e-9 and abs(found.high) > 1e-9 and found.p != pytest.approx(0.05):  # type: ignore[arg-type]
        assert (found.p < 0.05) == (not found.low <= 0 <= found.high)  # type: ignore[operator]


def test_the_error_of_a_ratio_is_that_of_its_jackknife() -> None:
    import numpy as np

    chance = np.random.default_rng(6)
    counts = chance.integers(20, 60, 200).astype(float)
    sums = counts * chance.exponential(1, 200)
    found = ratio(sums.tolist(), counts.tolist())
    without = (sums.sum() - sums) / (counts.sum() - counts)
    error = math.sqrt(199 / 200 * ((without - without.mean()) ** 2).sum())
    wider = (math.log(found.high) - math.log(found.low)) / 2 / (error / found.value)  # type: ignore[arg-type]
    assert 2.0 < wider < 2.6  # Student's 1.97, the autocorrelation and the skewness


def test_ten_of_ten_weeks_that_are_better_by_their_own_ratio() -> None:
    """Also if the weeks have very different numbers of jobs, so that linearised values have both signs."""
    counts = [10, 2000, 15, 900, 40, 3, 500, 70, 1200, 30]
    waits = [9.0, 2.0, 30.0, 1.5, 8.0, 90.0, 2.5, 4.0, 1.0, 12.0]
    before = [(wait * count * 1.2, count) for wait, count in zip(waits, counts, strict=True)]
    after = [(wait * count, count) for wait, count in zip(waits, counts, strict=True)]
    found = difference_of_ratios(after, before)
    assert found.high is not None
    assert found.high < 0
    assert found.p is not None
    assert found.p < 0.01


def test_a_whole_that_is_worse_than_each_part_is_not_called_better() -> None:
    """Simpson's paradox: each week is better, but the whole is worse, as the jobs are in other weeks."""
    before = [(1.0 * n, n) for n in (100, 100, 100)] + [(50.0 * n, n) for n in (1, 1, 1)]
    after = [(0.9 * n, n) for n in (1, 1, 1)] + [(49.0 * n, n) for n in (100, 100, 100)]
    found = difference_of_ratios(after, before)
    assert found.value > 20
    assert found.low is not None
    assert found.low < found.value


def test_windows_without_jobs() -> None:
    windows = [(20.0, 10), (0.0, 0), (90.0, 30), (5.0, 5), (0.0, 0), (40.0, 20), (12.0, 10)]
    found = ratio([a for a, _ in windows], [n for _, n in windows])
    assert found.value == pytest.approx(167 / 75)
    assert found.low is not None
    between = difference_of_ratios(windows, [(2 * a, n) for a, n in windows])
    assert between.high is not None
    apart = difference_of_ratios([(1.0, 1), (0.0, 0)] * 3, [(0.0, 0), (2.0, 1)] * 3)
    assert apart.value == -1.0


def test_few_windows_and_mistakes() -> None:
    assert ratio([1.0, 2.0], [1, 2]) == (1.0, None, None, None, 2.0)
    assert ratio([2.0] * 5, [1] * 5) == (2.0, 2.0, 2.0, None, 5.0)
    assert difference_of_ratios([(1.0, 1)] * 4, [(2.0, 1)] * 4) == (-1.0, None, None, None, 4.0)
    assert difference_of_ratios([(1.0, 1)] * 5, [(2.0, 1)] * 5) == (-1.0, -1.0, -1.0, 0.0, 5.0)
    assert difference_of_ratios([(1.0, 1)] * 5, [(1.0, 1)] * 5).p == 1.0
    with pytest.raises(InputError, match="expected a denominator for each numerator"):
        ratio([1.0], [1, 2])
    for denominators in ([0.0, 0.0], [-1.0, 3.0], []):
        with pytest.raises(InputError, match="expected denominators >= 0, of which one is above 0"):
            ratio([1.0, 2.0][: len(denominators)], denominators)
    with pytest.raises(InputError, match="expected finite"):
        ratio([math.nan, 2.0], [1, 2])
    with pytest.raises(InputError, match=r"expected ratios of 0 to 1, got \[1.0, 2.0\]"):
        ratio([1.0, 4.0], [1, 2], domain=(0.0, 1.0))
    with pytest.raises(InputError, match="expected two ratios over the same windows, got 1 and 2 windows"):
        difference_of_ratios([(1.0, 1)], [(1.0, 1), (2.0, 1)])
    with pytest.raises(InputError, match="expected a confidence"):
        ratio([1.0, 2.0], [1, 2], confidence=95)


def test_windows_without_jobs_show_nothing() -> None:
    """One job in ten windows has no interval."""
    parts = [(0.0, 0.0)] * 9 + [(5.0, 1.0)]
    found = ratio([over for over, _ in parts], [under for _, under in parts])
    assert (found.value, found.low, found.high) == (5.0, None, None)
    apart = difference_of_ratios(parts, [(2 * over, under) for over, under in parts])
    assert (apart.value, apart.low, apart.high, apart.p) == (-5.0, None, None, None)
