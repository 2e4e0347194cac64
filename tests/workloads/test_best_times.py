"""The best times of a trace, against the trace's own search, and against all choices of pieces."""

from __future__ import annotations

import itertools
import math
import random
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.workloads.electricity import BestTimes, Trace

WITHOUT_ENGINE = True

values = st.lists(st.integers(-5, 20).map(float), min_size=1, max_size=12)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    numbers = draw(values)
    step = draw(st.sampled_from([1800.0, 60.1, 100.0]))
    begin = draw(st.sampled_from([0.0, -3 * step, -0.4 * step]))
    lengths = draw(st.lists(st.integers(1, 3), min_size=len(numbers), max_size=len(numbers)))
    if draw(st.booleans()):
        lengths = [1] * len(numbers)
    times = [begin + step * sum(lengths[:place]) for place in range(len(numbers) + 1)]
    return Trace(times[:-1], numbers, times[-1], "g/kWh", repeats=draw(st.booleans()))


share = st.integers(0, 24).map(lambda number: number / 8)


def begins(trace: Trace, latest: float) -> list[float]:
    """The begins of steps. If all are multiples of the shortest one, they are divided into such."""
    times = [*trace.times, trace.end]
    lengths = [two - one for one, two in pairwise(times)]
    shortest = min(lengths)
    if all(abs(length / shortest - round(length / shortest)) < 1e-6 for length in lengths):
        count = math.floor((latest - trace.begin) / shortest) if latest >= trace.begin else -1
        return [trace.begin + shortest * number for number in range(count + 1)]
    found = list(trace.times)
    while trace.repeats and found[-1] < latest:
        found += [time + trace.period for time in found[-len(trace.times) :]]
    return found


@given(trace=traces(), begin=share, slack=share, length=st.integers(1, 24).map(lambda number: number / 8))
def test_the_best_start_is_that_of_the_trace(trace: Trace, begin: float, slack: float, length: float) -> None:
    step = trace.period / len(trace.times)
    earliest = max(trace.begin, 0.0) + begin * step
    latest, seconds = earliest + slack * step * 2, length * step
    if not trace.repeats:
        latest = min(latest, trace.end - seconds)
    found = BestTimes(trace).start(earliest, latest, seconds)
    if latest < earliest:
        assert found == earliest
        return
    wanted = trace.best_start(earliest, latest, seconds, begins(trace, latest))
    assert earliest <= found <= max(latest, earliest)
    most = max(map(abs, trace.values)) * seconds
    assert trace.integral(found, found + seconds) <= trace.integral(wanted, wanted + seconds) + 1e-9 * most
    assert found <= wanted + 1e-6 * step


@pytest.mark.parametrize("repeats", [True, False])
def test_no_time_is_better_where_nothing_is_known(repeats: bool) -> None:
    best = BestTimes(Trace([10.0, 20.0], [2.0, 1.0], 30.0, "g/kWh", repeats=repeats))
    assert best.start(12.0, 50.0, 5.0) == 20.0
    assert best.start(25.0, 100.0, 20.0) == (30.0 if repeats else 25.0) - (5.0 if repeats else 0.0)
    assert best.start(0.0, 30.0, 5.0) == 0.0
    assert best.pieces(22.0, 60.0, 20.0)[0][0] == (22.0 if not repeats else best.pieces(22.0, 60.0, 20.0)[0][0])


def cost(trace: Trace, pieces: list[tuple[float, float]]) -> float:
    return sum(trace.integral(begin, end) for begin, end in pieces)


@given(trace=traces(), begin=share, window=st.integers(0, 8), length=st.integers(1, 24).map(lambda number: number / 8))
def test_pieces_are_the_cheapest(trace: Trace, begin: float, window: int, length: float) -> None:
    step = trace.period / len(trace.times)
    first = max(trace.begin, 0.0) + begin * step
    seconds, end = length * step, first + (length + window / 2) * step
    best = BestTimes(trace)
    pieces = best.pieces(first, end, seconds)
    assert math.isclose(sum(two - one for one, two in pieces), seconds, rel_tol=1e-9)
    assert all(one < two for one, two in pairwise([time for piece in pieces for time in piece]))
    assert first <= pieces[0][0]
    known = best.known(first, end)
    if known - first <= seconds:
        assert pieces == [(first, first + seconds)]
        return
    assert pieces[-1][1] <= end * (1 + 1e-12) + 1e-9
    # All other choices of parts of steps: whole ones, and one of them in part.
    steps = list(trace.steps(first, known))
    least = math.inf
    for count in range(min(len(steps), 6) + 1):
        for some in combinations(steps, count):
            rest = seconds - sum(each.end - each.begin for each in some)
            for other in steps:
                if other not in some and -1e-9 <= rest <= other.end - other.begin + 1e-9:
                    least = min(least, sum((each.end - each.begin) * each.value for each in some) + rest * other.value)
    assert cost(trace, pieces) <= least + 1e-6 * max(map(abs, trace.values)) * seconds
    start = best.start(first, known - seconds, seconds)
    assert cost(trace, pieces) <= trace.integral(start, start + seconds) + 1e-6 * step


def test_equal_values_are_not_interrupted() -> None:
    best = BestTimes(Trace([0.0, 10.0, 20.0, 30.0], [3.0, 1.0, 2.0, 1.0], 40.0, "g/kWh", repeats=True))
    assert best.pieces(0.0, 40.0, 20.0) == [(10.0, 20.0), (30.0, 40.0)]
    assert best.pieces(0.0, 40.0, 25.0) == [(10.0, 25.0), (30.0, 40.0)]
    assert best.pieces(0.0, 40.0, 30.0) == [(10.0, 40.0)]


def test_low_values() -> None:
    hours = [float(hour % 24) for hour in range(48)]
    best = BestTimes(Trace([3600.0 * hour for hour in range(48)], hours, 48 * 3600.0, "g/kWh", repeats=True))
    assert best.is_low(0.0, 0.0)
    assert not best.is_low(3600.0, 0.0)
    assert best.is_low(6 * 3600.0, 0.25)
    assert not best.is_low(6.5 * 3600.0 + 1800, 0.25)
    assert best.low_from(7 * 3600.0, 1e6, 0.25) == 24 * 3600.0
    assert best.low_from(7 * 3600.0, 8 * 3600.0, 0.25) == 8 * 3600.0
    assert best.high_from(0.0, 1e6, 0.25) == 7 * 3600.0
    assert best.high_from(0.0, 6 * 3600.0, 0.25) == math.inf


@pytest.mark.parametrize("seed", range(40))
def test_low_values_are_those_of_each_hour(seed: int) -> None:
    """A value is low if at most this share of the hours of the day from it on has smaller ones."""
    chance = random.Random(seed)
    lengths = [chance.randint(1, 9) for _ in range(chance.randint(2, 9))]
    numbers = [float(chance.randint(0, 5)) for _ in lengths]
    times = [3600.0 * sum(lengths[:place]) for place in range(len(lengths))]
    repeats = seed % 2 == 0
    best = BestTimes(Trace(times, numbers, 3600.0 * sum(lengths), "g/kWh", repeats=repeats))
    hours = [number for number, length in zip(numbers, lengths, strict=True) for _ in range(length)]

    even = min(lengths) if all(length % min(lengths) == 0 for length in lengths) else 1
    starts = {sum(lengths[:place]) for place in range(len(lengths) + 1)}

    def is_low(hour: int, quantile: float) -> bool:
        if not repeats and hour >= len(hours):
            return True
        first = hour // even * even
        day = [hours[each % len(hours)] for each in range(first, first + 24) if repeats or each < len(hours)]
        return sum(value < day[0] for value in day) <= quantile * len(day)

    for quantile in (0.0, 0.25, 1 / 3, 0.5, 1.0):
        for hour in range(len(hours) + 5):
            assert best.is_low(3600.0 * hour, quantile) is is_low(hour, quantile)
            latest = hour + chance.randint(0, 12)
            changes = (each % len(hours) in starts if repeats else each in starts for each in range(hour + 1, latest))
            tried = [hour, *itertools.compress(range(hour + 1, latest), changes)][: latest - hour]
            low = next((each for each in tried if is_low(each, quantile)), latest)
            high = next((each for each in tried if not is_low(each, quantile)), math.inf)
            assert best.low_from(3600.0 * hour, 3600.0 * latest, quantile) == 3600.0 * low
            assert best.high_from(3600.0 * hour, 3600.0 * latest, quantile) == 3600.0 * high


def test_many_random_years() -> None:
    chance = random.Random(1)
    trace = Trace([1800.0 * place for place in range(2000)], [chance.random() for _ in range(2000)], 3.6e6, "g/kWh")
    best = BestTimes(trace)
    for _ in range(200):
        earliest, seconds = chance.uniform(0, 3.4e6), chance.uniform(1, 40000)
        latest = min(earliest + 28800, 3.6e6 - seconds)
        grid = [each.begin for each in trace.steps(earliest, latest)]
        wanted = trace.best_start(earliest, latest, seconds, grid)
        assert best.start(earliest, earliest + 28800, seconds) == wanted
