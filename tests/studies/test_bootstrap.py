"""Bootstrap intervals and p-values, against those of scipy, and how often they hold what they should."""

from __future__ import annotations

import math
import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.studies.comparing import bootstrap, holm, interval, means_of, p_value, resampling, student

WITHOUT_ENGINE = True

QUARTERS = st.lists(st.integers(-400, 400).map(lambda each: each / 4), min_size=3, max_size=25)
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


def test_samples_of_all_kinds_have_the_intervals_of_scipy() -> None:
    """Of the same resamples, it is the same interval: bias, acceleration and quantiles are computed alike."""
    import warnings

    import numpy as np
    from scipy import stats

    class Drawn:
        """What scipy goes on from."""

        def __init__(self, means: object) -> None:
            self.bootstrap_distribution = means

    compared = 0
    for number in range(300):
        values = [round(4 * value) / 4 for value in samples(number)]  # sums are exact then, in whatever order
        if min(values) == max(values):
            continue
        means = np.array(bootstrap._means(values, 99, number))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = stats.bootstrap(
                (np.array(values),), np.mean, n_resamples=0, bootstrap_result=Drawn(means), method="BCa"
            ).confidence_interval
        found = interval(values, resamples=99, seed=number, method="bca")
        assert found == pytest.approx(tuple(expected), rel=1e-9, abs=1e-9)
        compared += 1
    assert compared > 270


def test_resamples_are_as_those_that_scipy_draws() -> None:
    """With its own resamples, scipy's intervals are as near to ours as to those of another seed."""
    import numpy as np
    from scipy import stats

    ours, theirs = [], []
    for number in range(20):
        values = samples(number)
        if len(set(values)) == 1:
            continue
        found = interval(values, method="bca")
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
    p = p_value(values, seed=seed, resamples=resamples)
    with pytest.MonkeyPatch.context() as patch:
        resampling._kept.cache_clear()
        patch.setitem(sys.modules, "numpy", None)
        assert interval(values, seed=seed, resamples=resamples) == pytest.approx(found, rel=1e-9, abs=1e-9)
        assert p_value(values, seed=seed, resamples=resamples) == pytest.approx(p, rel=1e-6, abs=1e-9)
        resampling._kept.cache_clear()


@given(QUARTERS, st.sampled_from([0.5, 2.0, 1024.0]), st.integers(-50, 50))
def test_units_make_no_difference(values: list[float], factor: float, moved: int) -> None:
    found = interval(values, resamples=200)
    assert found is not None
    assert found[0] <= math.fsum(values) / len(values) <= found[1]
    other = interval([factor * value + moved for value in values], resamples=200)
    assert other == pytest.approx([factor * each + moved for each in found])
    mirrored = interval([-value for value in values], resamples=200)
    assert mirrored == pytest.approx([-found[1], -found[0]])
    narrower = interval(values, resamples=200, confidence=0.5)
    assert narrower is not None
    assert found[0] <= narrower[0] <= narrower[1] <= found[1]


@given(QUARTERS, st.sampled_from([0.5, 0.8, 0.95, 0.99]), st.integers(0, 5))
def test_the_studentized_bootstrap(values: list[float], confidence: float, seed: int) -> None:
    """By numpy's and scipy's own functions, of the same resamples."""
    import numpy as np
    from scipy import stats

    given = np.array(values)
    found = interval(values, confidence=confidence, resamples=300, seed=seed)
    if np.ptp(given) == 0:
        assert found == (values[0], values[0])
        return
    drawn = given[np.concatenate([np.asarray(each) for each in resampling._made(len(values), 300, seed, len(values))])]
    drawn = drawn[np.ptp(drawn, axis=1) > 0]
    ratios = (drawn.mean(axis=1) - given.mean()) / stats.sem(drawn, axis=1)
    tail = (1 - confidence) / 2
    student = stats.t.ppf(1 - tail, len(values) - 1)
    low, high = np.quantile(ratios, [tail, 1 - tail])
    expected = [
        given.mean() - max(high, student) * stats.sem(given),
        given.mean() - min(low, -student) * stats.sem(given),
    ]
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(st.floats(0, 60), st.integers(1, 60), st.floats(0.6, 0.9999))
def test_students_distribution(ratio: float, freedom: int, part: float) -> None:
    from scipy import stats

    assert student.student(ratio, freedom) == pytest.approx(stats.t.cdf(ratio, freedom), abs=1e-12)
    assert student.student_quantile(part, freedom) == pytest.approx(stats.t.ppf(part, freedom), rel=1e-8)


@given(QUARTERS, st.sampled_from([0.5, 0.9, 0.95, 0.99]), st.integers(-40, 40))
def test_p_values_go_with_intervals(values: list[float], confidence: float, moved: int) -> None:
    values = [value + moved for value in values]
    found, p = interval(values, confidence=confidence, resamples=300), p_value(values, resamples=300)
    assert found is not None
    assert p is not None
    assert 0 <= p <= 1
    width = 1e-6 * max(found[1] - found[0], 1.0)
    if min(abs(found[0]), abs(found[1])) > width:  # at the very end of the interval, it may be either
        assert (p < 1 - confidence) is not (found[0] <= 0 <= found[1])
    assert p_value([-value for value in values], resamples=300) == pytest.approx(p, abs=1e-9)


@given(st.lists(st.none() | st.floats(0, 1), max_size=12))
def test_holms_correction(values: list[float | None]) -> None:
    """Step down: the hypotheses that are rejected at a level are those whose corrected values are below it."""
    found = holm(values)
    known = [(p, corrected) for p, corrected in zip(values, found, strict=True) if p is not None]
    assert [each is None for each in values] == [each is None for each in found]
    for level in (0.001, 0.01, 0.05, 0.3):
        rejected = 0
        for rank, (p, _) in enumerate(sorted(known)):
            if p * (len(known) - rank) > level:
                break
            rejected += 1
        assert sum(corrected is not None and corrected <= level for _, corrected in known) == rejected


@pytest.mark.parametrize(
    ("draw", "mean", "least"),
    [
        (lambda chance: chance.gauss(5, 1), 5.0, 0.93),
        (lambda chance: chance.expovariate(1.0), 1.0, 0.92),
        (lambda chance: chance.lognormvariate(0, 0.8), math.exp(0.32), 0.92),
    ],
    ids=["normal", "exponential", "lognormal"],
)
def test_ten_draws_hold_the_mean_as_often_as_they_say(draw: object, mean: float, least: float) -> None:
    """Nearly so, of skewed distributions too, for which the usual bootstrap does much worse."""
    chance = random.Random(1)
    held = usual = 0
    for _ in range(400):
        values = [draw(chance) for _ in range(10)]  # type: ignore[operator]
        found, bca = interval(values, resamples=399), interval(values, resamples=399, method="bca")
        assert found is not None
        assert bca is not None
        held += found[0] <= mean <= found[1]
        usual += bca[0] <= mean <= bca[1]
    assert least <= held / 400 < 0.98
    assert usual < held


def test_means_are_those_of_resamples() -> None:
    means = means_of([1.0, 2.0, 6.0], resamples=2000)
    assert means == sorted(means)
    assert len(means) == 2000
    assert sum(means) / 2000 == pytest.approx(3.0, abs=0.1)
    assert set(means) <= {n / 3 for n in range(3, 19)}
    with pytest.raises(InputError, match="expected at least one number"):
        means_of([])


def test_many_numbers_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(5)
    values = [chance.gauss(0, 1) for _ in range(100)]
    whole = interval(values, resamples=300)
    monkeypatch.setattr(resampling, "_AT_ONCE", 1000)
    monkeypatch.setattr(resampling, "_KEPT", 0)
    assert interval(values, resamples=300) == pytest.approx(whole)


def test_few_numbers() -> None:
    for values in ([], [3.0], [1.0, 2.0]):
        assert interval(values) is None
        assert p_value(values) is None
    assert interval([3.0] * 5) == (3.0, 3.0)
    assert (p_value([3.0] * 5), p_value([0.0] * 5)) == (0.0, 1.0)
    found = interval([1.0, 1.0, 2.0], resamples=1)
    assert found is not None
    assert found[0] < 0.5 < 2.5 < found[1]  # Student's, whatever is drawn


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([1.0, math.nan], {}),
        ([1.0, math.inf], {}),
        ([1.0, 2.0], {"confidence": 1.0}),
        ([1.0, 2.0], {"confidence": math.nan}),
        ([1.0, 2.0], {"resamples": 0}),
        ([1.0, 2.0], {"resamples": 10**9}),
        ([1.0, 2.0], {"method": "percentile"}),
    ],
)
def test_wrong_arguments_are_refused(values: list[float], options: dict[str, float]) -> None:
    with pytest.raises(InputError, match="expected"):
        interval(values, **options)  # type: ignore[arg-type]
