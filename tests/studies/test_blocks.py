"""Intervals of means of consecutive windows: how often they contain the true mean, and what they must not depend on."""

from __future__ import annotations

import math
import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.studies.comparing import interval, p_value, resampling
from batprotocol.studies.comparing.blocks import series_of
from batprotocol.studies.comparing.student import student_quantile

WITHOUT_ENGINE = True

VALUES = st.lists(st.integers(-400, 400).map(lambda n: n / 4), min_size=5, max_size=30)


def autoregressive(count: int, alike: float, chance: random.Random, *, skewed: bool = False) -> list[float]:
    """A stationary series of mean 0: each value is a part of the one before, and news."""
    value, found = 0.0, []
    for number in range(count + 60):
        value = alike * value + (chance.expovariate(1) - 1 if skewed else chance.gauss(0, 1))
        if number >= 60:
            found.append(value)
    return found


def coverage(count: int, alike: float, repetitions: int, *, skewed: bool = False, resamples: int = 299) -> float:
    """The percentage of intervals that contain the true mean, 0."""
    chance = random.Random(f"{count} {alike} {skewed}")
    held = 0
    for _ in range(repetitions):
        values = autoregressive(count, alike, chance, skewed=skewed)
        found = interval(values, method="blocks", resamples=resamples)
        assert found is not None
        held += found[0] <= 0 <= found[1]
    return 100 * held / repetitions


@pytest.mark.parametrize("alike", [0.0, 0.5])
def test_intervals_contain_the_true_mean(alike: float) -> None:
    assert 91 <= coverage(40, alike, 200) <= 99


def test_intervals_for_independent_values_would_be_too_narrow() -> None:
    chance = random.Random(1)
    held = 0
    for _ in range(100):
        found = interval(autoregressive(40, 0.5, chance), resamples=299)
        assert found is not None
        held += found[0] <= 0 <= found[1]
    assert held < 88


@pytest.mark.minutes
@pytest.mark.parametrize("count", [26, 52, 104])
@pytest.mark.parametrize("alike", [0.0, 0.3, 0.5])
def test_95_of_100_intervals_contain_the_true_mean(count: int, alike: float) -> None:
    assert 93 <= coverage(count, alike, 2000, resamples=999) <= 97.5


@pytest.mark.minutes
@pytest.mark.parametrize("count", [26, 52, 104])
@pytest.mark.parametrize("alike", [0.0, 0.3, 0.5])
def test_93_of_100_intervals_of_skewed_values_contain_the_true_mean(count: int, alike: float) -> None:
    assert coverage(count, alike, 2000, skewed=True, resamples=999) >= 93


@pytest.mark.parametrize("alike", [0.0, 0.5, 0.7])
def test_the_standard_error_is_that_of_the_mean_of_such_a_series(alike: float) -> None:
    chance = random.Random(3)
    found = [series_of(autoregressive(400, alike, chance)).error for _ in range(60)]
    true = 1 / (1 - alike) / math.sqrt(400)
    assert sum(found) / len(found) == pytest.approx(true, rel=0.06)


def test_blocks_are_as_long_as_the_published_rule_says() -> None:
    # Politis and White: (2 G^2 / D)^(1/3) n^(1/3), with G = 2 r / (1 - r^2) and D = 4/3 relative to the spectrum at 0
    chance = random.Random(4)
    for alike in (0.2, 0.5, 0.8):
        series = series_of(autoregressive(300, alike, chance))
        known = series.autocorrelation
        expected = (2 * (2 * known / (1 - known**2)) ** 2 / (4 / 3)) ** (1 / 3) * 300 ** (1 / 3)
        assert series.length == round(expected)
    assert series_of([float(n) for n in range(12)]).length == 4


@given(VALUES, st.sampled_from([0.5, 2.0, 1024.0]), st.integers(-50, 50))
def test_units_and_origins_do_not_count(values: list[float], factor: float, moved: int) -> None:
    found = interval(values, method="blocks", resamples=99)
    again = interval([factor * (value + moved) for value in values], method="blocks", resamples=99)
    assert found is not None
    assert again == pytest.approx([factor * (end + moved) for end in found], rel=1e-6, abs=1e-6 * factor)


@given(VALUES)
def test_the_interval_is_never_narrower_than_students_for_independent_values(values: list[float]) -> None:
    found = interval(values, method="blocks", resamples=99)
    assert found is not None
    mean = sum(values) / len(values)
    squares = sum((value - mean) ** 2 for value in values)
    width = student_quantile(0.975, len(values) - 1) * math.sqrt(squares / len(values) / (len(values) - 1))
    assert found[0] - 1e-9 <= mean <= found[1] + 1e-9
    assert found[1] - found[0] >= 2 * width * (1 - 1e-9)


@given(VALUES)
def test_the_p_value_agrees_with_the_interval(values: list[float]) -> None:
    found, p = interval(values, method="blocks", resamples=99), p_value(values, method="blocks", resamples=99)
    assert found is not None
    assert p is not None
    margin = 1e-6 * max(map(abs, values), default=0.0)
    if found[0] > margin or found[1] < -margin:
        assert p < 0.05 + 1e-9
    elif found[0] < -margin and found[1] > margin:
        assert p > 0.05 - 1e-9


@given(VALUES, st.integers(0, 2**32))
def test_numpy_makes_no_difference(values: list[float], seed: int) -> None:
    found = interval(values, method="blocks", seed=seed, resamples=99)
    with pytest.MonkeyPatch.context() as patch:
        resampling._kept.cache_clear()
        patch.setitem(sys.modules, "numpy", None)
        assert interval(values, method="blocks", seed=seed, resamples=99) == pytest.approx(found, rel=1e-9, abs=1e-9)
        resampling._kept.cache_clear()


def test_fewer_than_five_windows_have_no_interval() -> None:
    assert interval([1.0, 2.0, 3.0, 5.0], method="blocks") is None
    assert p_value([1.0, 2.0, 3.0, 5.0], method="blocks") is None
    assert interval([4.0] * 5, method="blocks") == (4.0, 4.0)


def test_the_seed_decides() -> None:
    values = [1.0, 5.0, 2.0, 40.0, 3.0, 7.0, 1.0]
    assert interval(values, method="blocks", seed=1) == interval(values, method="blocks", seed=1)
    with pytest.raises(InputError, match="studentized, blocks or bca"):
        interval(values, method="windows")  # type: ignore[arg-type]
