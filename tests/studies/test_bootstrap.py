"""Bootstrap intervals, against those of scipy."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.studies.comparing import bootstrap, interval

WITHOUT_ENGINE = True

QUARTERS = st.lists(st.integers(-400, 400).map(lambda each: each / 4), min_size=2, max_size=25)
"""Numbers of which sums are exact, in whatever order."""


def samples(number: int) -> list[float]:
    """Numbers drawn by chance, of sizes and distributions as results have them."""
    chance = random.Random(number)
    count = chance.choice([5, 8, 10, 20, 40])
    draw = chance.choice(
        [
            lambda: chance.gauss(100, 15),
            lambda: chance.expovariate(0.01),
            lambda: chance.lognormvariate(3, 1),
            lambda: chance.uniform(-1, 1),
            lambda: float(chance.randrange(4)),
        ]
    )
    return [draw() for _ in range(count)]


def test_a_thousand_samples_have_the_intervals_of_scipy() -> None:
    """Of the same resamples, it is the same interval: bias, acceleration and quantiles are computed alike."""
    import warnings

    import numpy as np
    from scipy import stats

    class Drawn:
        """What scipy goes on from."""

        def __init__(self, means: object) -> None:
            self.bootstrap_distribution = means

    compared = 0
    for number in range(1000):
        values = [round(4 * value) / 4 for value in samples(number)]  # sums are exact then, in whatever order
        if min(values) == max(values):
            continue
        means = np.array(bootstrap._means(values, 99, number))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = stats.bootstrap(
                (np.array(values),), np.mean, n_resamples=0, bootstrap_result=Drawn(means), method="BCa"
            ).confidence_interval
        assert interval(values, resamples=99, seed=number) == pytest.approx(tuple(expected), rel=1e-9, abs=1e-9)
        compared += 1
    assert compared > 900


def test_resamples_are_as_those_that_scipy_draws() -> None:
    """With its own resamples, scipy's intervals are as near to ours as to those of another seed."""
    import numpy as np
    from scipy import stats

    ours, theirs = [], []
    for number in range(20):
        values = samples(number)
        if len(set(values)) == 1:
            continue
        found = interval(values)
        expected = stats.bootstrap((np.array(values),), np.mean, rng=np.random.default_rng(number)).confidence_interval
        again = stats.bootstrap(
            (np.array(values),), np.mean, rng=np.random.default_rng(-number + 99)
        ).confidence_interval
        assert found is not None
        width = expected.high - expected.low
        ours.append(max(abs(found[0] - expected.low), abs(found[1] - expected.high)) / width)
        theirs.append(max(abs(again.low - expected.low), abs(again.high - expected.high)) / width)
    assert sum(ours) / len(ours) < 1.3 * sum(theirs) / len(theirs)
    assert max(ours) < 0.1


@given(QUARTERS, st.integers(0, 2**32), st.sampled_from([1, 7, 200]))
def test_numpy_makes_no_difference(values: list[float], seed: int, resamples: int) -> None:
    found = interval(values, seed=seed, resamples=resamples)
    with pytest.MonkeyPatch.context() as patch:
        bootstrap._kept_draws.cache_clear()
        patch.setattr(bootstrap, "_numpy", lambda: None)
        assert interval(values, seed=seed, resamples=resamples) == found
        bootstrap._kept_draws.cache_clear()


@given(QUARTERS, st.sampled_from([0.5, 2.0, 1024.0]), st.integers(-50, 50))
def test_units_make_no_difference(values: list[float], factor: float, moved: int) -> None:
    found = interval(values, resamples=200)
    assert found is not None
    assert min(values) <= found[0] <= found[1] <= max(values)
    other = interval([factor * value + moved for value in values], resamples=200)
    assert other == pytest.approx([factor * each + moved for each in found])
    mirrored = interval([-value for value in values], resamples=200)
    assert mirrored == pytest.approx([-found[1], -found[0]])
    narrower = interval(values, resamples=200, confidence=0.5)
    assert narrower is not None
    assert found[0] <= narrower[0] <= narrower[1] <= found[1]


def test_intervals_hold_the_mean_as_often_as_they_say() -> None:
    """Nearly so, with 30 numbers of a skewed distribution, for which plain percentiles do worse."""
    chance = random.Random(1)
    held = 0
    for _ in range(300):
        found = interval([chance.expovariate(1.0) for _ in range(30)], resamples=200)
        assert found is not None
        held += found[0] <= 1.0 <= found[1]
    assert 0.90 < held / 300 < 0.97


def test_many_numbers_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(5)
    values = [chance.gauss(0, 1) for _ in range(100)]
    whole = interval(values, resamples=300)
    monkeypatch.setattr(bootstrap, "_AT_ONCE", 1000)
    monkeypatch.setattr(bootstrap, "_KEPT", 0)
    assert interval(values, resamples=300) == pytest.approx(whole)


def test_few_numbers() -> None:
    assert interval([]) is None
    assert interval([3.0]) is None
    assert interval([3.0] * 5) == (3.0, 3.0)
    assert interval([1.0, 2.0]) == (1.0, 2.0)
    assert interval([1.0, 2.0], resamples=1) in [(1.0, 1.0), (1.5, 1.5), (2.0, 2.0)]


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([1.0, math.nan], {}),
        ([1.0, math.inf], {}),
        ([1.0, 2.0], {"confidence": 1.0}),
        ([1.0, 2.0], {"confidence": math.nan}),
        ([1.0, 2.0], {"resamples": 0}),
        ([1.0, 2.0], {"resamples": 10**9}),
    ],
)
def test_wrong_arguments_are_refused(values: list[float], options: dict[str, float]) -> None:
    with pytest.raises(InputError, match="expected"):
        interval(values, **options)  # type: ignore[arg-type]
