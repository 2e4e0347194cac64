"""Many rounds at once are the same, to the last bit, as rounds that are walked one by one."""

from __future__ import annotations

import copy
import math
from itertools import count
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from batprotocol.simulator.actions import KINDS
from batprotocol.simulator.actions.sharing import ENOUGH, _falls_below, _Line, _sum_of_floors, jump

WITHOUT_ENGINE = True

each_kind = pytest.mark.parametrize("kind", KINDS)
AMOUNTS = st.one_of(st.floats(1e-3, 1e12), st.integers(1, 10**10).map(float), st.sampled_from([1.0, 3.0, 10.0, 1e3]))


def walked(left: float, loss: float, weight: float, rate: float, rounds: int) -> tuple[float, float]:
    for _ in range(rounds):
        rate += left / weight
        left -= loss
    return left, rate


@given(
    left=st.one_of(st.floats(1e4, 1e12), st.integers(10**4, 10**12).map(float)),
    part=st.sampled_from([0.0, 1e-18, 1e-6, 3e-5, 1e-4]),
    is_whole=st.booleans(),
    weight=AMOUNTS,
    larger=st.floats(1.0, 2.0),
    exponent=st.sampled_from([10, 11, 12, 20, 45, 48, 50, 51, 52, 53, 54, 60]),
)
@settings(max_examples=60)
def test_rounds_at_once(left: float, part: float, is_whole: bool, weight: float, larger: float, exponent: int) -> None:
    """Rates are from where the least bits of what is added count, to where hardly anything does."""
    loss = left * part
    loss = math.ceil(loss) if is_whole else loss
    rate = left / weight * larger * 2.0**exponent
    rounds, lefts, rates = jump([(left, loss)], [(0, weight, rate, math.inf)])
    if rounds < 0:
        assert walked(left, loss, weight, rate, 2) == (left, rate)
    elif 0 < rounds < 20_000:
        assert rounds >= ENOUGH
        assert (lefts[0], rates[0]) == walked(left, loss, weight, rate, rounds)


def test_no_jump_goes_over_a_bound() -> None:
    left, loss, rate = 1e6, 1.0, 2.2e9
    for bound in (1e10, rate + 1.5e9 + 0.1):
        rounds, lefts, rates = jump([(left, loss)], [(0, 1.0, rate, bound)])
        assert rounds > 0
        assert rates[0] + lefts[0] <= bound
        assert (lefts[0], rates[0]) == walked(left, loss, 1.0, rate, rounds)
    assert jump([(left, loss)], [(0, 1.0, rate, rate + 5e8)])[0] == 0


def test_several_go_on_together() -> None:
    pipes, works = [(1e8, 1.0), (3e7, 0.3)], [(0, 1.0, 6e11, math.inf), (1, 7.0, 2e10, math.inf), (1, 3.3, 6e11, 9e12)]
    rounds, lefts, rates = jump(pipes, works)
    assert rounds > ENOUGH
    for (pipe, weight, rate, _), raised in zip(works, rates, strict=True):
        assert (lefts[pipe], raised) == walked(*pipes[pipe], weight, rate, rounds)


@given(st.integers(1, 50), st.integers(0, 100), st.integers(-100, 100), st.integers(0, 40), st.integers(0, 49))
def test_sums_and_places(whole: int, rise: int, start: int, rounds: int, most: int) -> None:
    assert _sum_of_floors(rounds, whole, rise, start) == sum((start + i * rise) // whole for i in range(rounds))
    most %= whole
    places = (i for i in range(3 * whole) if (start - i * rise) % whole <= most)
    first = next(places, None)
    found = _falls_below(rise, whole, start, most)
    assert found == first if first is not None else found > 1 << 60


# In actions


def beside_a_slow_link(kind: str, pipe: float, weight: float, loss: float, *, corrected: bool = False) -> list[float]:
    """The loads of a FATPIPE and a slow link: one part grows on the FATPIPE alone, another on both, but slowly."""
    actions, demand = KINDS[kind]
    made: Any = actions([1.0], [1.0], corrected)
    fast, slow = made.add_link(pipe, True), made.add_link(1e3, False)
    made.work(demand({fast: (loss,), slow: (1e3,)}, {}, math.inf, 0.0), 1.0)
    made.work(demand({fast: (weight,)}, {}, math.inf, 0.0), 1.0)
    made.settle()
    return [made.load(fast), made.load(slow)]


def walked_to_the_end(pipe: float, weight: float, loss: float) -> float:
    rate, left = 0.0, pipe
    for number in count():
        rate += left / weight
        left -= min(loss * 1.0, left / weight * weight)
        if left < 1e-5:
            assert number > 2 * ENOUGH
            return weight * rate + loss * 1.0
    raise AssertionError


@each_kind
@pytest.mark.parametrize(
    ("pipe", "weight", "loss"), [(1e5, 1.0, 1.0), (12345.678, 3.7, 0.9), (1.25e6, 1e9, 100.0), (1e5, 1e-4, 7.3)]
)
def test_a_fatpipe_is_shared_until_it_is_used_up(kind: str, pipe: float, weight: float, loss: float) -> None:
    assert beside_a_slow_link(kind, pipe, weight, loss) == [walked_to_the_end(pipe, weight, loss), 1e3]


@each_kind
def test_of_more_rounds_than_can_be_walked(kind: str) -> None:
    """A million millions of them: the sum of what is left in each."""
    assert beside_a_slow_link(kind, 1e12, 1.0, 1.0) == pytest.approx([5e23, 1e3], rel=1e-4)


@each_kind
def test_rounds_that_change_nothing_are_the_last(kind: str) -> None:
    """What the FATPIPE loses is less than its last bit, and in the end, what the rate is raised by is, too."""
    assert beside_a_slow_link(kind, 1e6, 1.0, 1e-300) == [2.0**73, 1e3]


@each_kind
def test_corrected_a_fatpipe_gives_each_all_and_no_more(kind: str) -> None:
    assert beside_a_slow_link(kind, 1e6, 4.0, 1.0, corrected=True) == [1e6 + 1.0, 1e3]


@each_kind
def test_a_bound_of_0_is_none(kind: str) -> None:
    """As in SimGrid, not even that of what an executor computes."""
    tried = KINDS[kind][0]([10.0], [1.0], False)
    for bound, load in ((math.inf, 1.0), (0.5, 0.5), (0.0, 10.0)):
        number = tried.work(KINDS[kind][1]({0: (1.0,)}, {0: 1.0}, bound, 0.0), 1.0)
        tried.settle()
        assert tried.load(0) == load
        tried.cancel(number)


@each_kind
def test_what_is_near_to_its_end_is_over(kind: str) -> None:
    """As near as a platform says, in copies, too."""
    for timing, together in ((1e-9, 1), (1e-6, 2)):
        tried = copy.deepcopy(KINDS[kind][0]([1.0], [1.0], False, timing, 1e-3))
        tried.sleep(1.0)
        tried.sleep(1.0 + 5e-7)
        tried.work(KINDS[kind][1]({0: (1.0,)}, {0: 1.0}, math.inf, 1.0 + 5e-7), 1.0)
        assert len(tried.advance(tried.step(math.inf))) == together
        tried.settle()
        assert tried.load(0) == together - 1
    work = KINDS[kind][1]({0: (1.0,)}, {0: 1.0}, math.inf, 0.0)
    for amount, is_done in ((1e-5, False), (1e-3, True)):
        tried = KINDS[kind][0]([1.0], [1.0], False, 1e-6, amount)
        tried.work(work, 1.0)
        tried.settle()
        assert tried.advance(1 - 1e-10) == [1] * is_done


@each_kind
def test_what_is_nearly_used_up_is(kind: str) -> None:
    for amount, load in ((1e-5, 1.0), (0.2, 0.9)):
        tried = KINDS[kind][0]([1.0, 1.0], [1.0, 1.0], False, 1e-9, amount)
        tried.work(KINDS[kind][1]({0: (1.0,)}, {}, 0.4, 0.0), 1.0)
        tried.work(KINDS[kind][1]({0: (1.0,)}, {}, math.inf, 0.0), 1.0)
        tried.settle()
        assert tried.load(0) == pytest.approx(load)


@given(
    st.floats(1.0, 1e12),
    st.integers(0, 2**20),
    st.sampled_from([0.0, 0.25, 0.5, 0.75]),
    st.lists(st.integers(0, 300), min_size=1, max_size=5),
)
@example(1.0, 1, 0.0, [0])  # the first round leaves fewer units than a double has
def test_a_capacity_falls_as_it_does_in_doubles(left: float, units: int, part: float, counts: list[int]) -> None:
    """As far as it says: half a unit goes to the even number, so that the first rounds may differ."""
    loss = (units + part) * math.ulp(left)
    line = _Line(left, loss)
    for rounds in counts:
        expected = left
        for _ in range(min(rounds, line.rounds)):
            expected -= loss
        assert line.after(min(rounds, line.rounds)) == expected
