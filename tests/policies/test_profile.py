"""The profile of free hosts, against one that has a number for each second."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.policies.profile import Profile

WITHOUT_ENGINE = True
HORIZON = 60
SIZE = 8


class Naive:
    """How many hosts are free in each second; the last number holds for ever."""

    def __init__(self) -> None:
        self.free = [SIZE] * (HORIZON + 1)
        self.now = 0

    def change(self, begin: int, end: float, by: int) -> None:
        for time in range(begin, HORIZON + 1 if end == math.inf else int(end)):
            self.free[time] += by

    def earliest(self, size: int, seconds: float, before: float) -> float:
        for begin in range(self.now, HORIZON + 1):
            if begin >= before:
                break
            end = min(begin + seconds, before)
            if all(self.free[min(time, HORIZON)] >= size for time in range(begin, int(min(end, 2 * HORIZON)))):
                return begin
        return math.inf


@given(st.data())
@settings(max_examples=100)
def test_the_profile_is_that_of_a_naive_one(data: st.DataObject) -> None:
    profile, naive = Profile(0.0, SIZE), Naive()
    times = st.integers(0, HORIZON)
    for _ in range(data.draw(st.integers(1, 30))):
        action = data.draw(st.sampled_from(["change", "earliest", "advance", "gaps"]))
        if action == "change":
            begin = max(data.draw(times), naive.now)
            end = data.draw(times | st.just(math.inf))
            by = data.draw(st.integers(-3, 3))
            profile.change(begin, end, by)
            naive.change(begin, end, by)
        elif action == "earliest":
            size, seconds = data.draw(st.integers(1, SIZE)), data.draw(st.integers(1, HORIZON) | st.just(math.inf))
            before = data.draw(times | st.just(math.inf))
            assert profile.earliest(size, seconds, before) == naive.earliest(size, seconds, before)
        elif action == "advance":
            naive.now = max(naive.now, data.draw(times))
            profile.advance(naive.now)
        else:
            for size, seconds in profile.gaps(SIZE):
                length = 0
                while length <= HORIZON - naive.now and naive.free[naive.now + length] >= size:
                    length += 1
                assert seconds == (math.inf if naive.now + length > HORIZON else length)


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 400), st.integers(1, 3)), min_size=100, max_size=150))
@settings(max_examples=3)
def test_blocks_are_split(changes: list[tuple[int, int, int]]) -> None:
    """What is taken out and put back leaves nothing behind, however many blocks it takes."""
    profile = Profile(0.0, 500)
    for begin, length, size in changes:
        profile.change(begin, begin + length, -size)
    expected = [500] * 5500
    for begin, length, size in changes:
        for time in range(begin, begin + length):
            expected[time] -= size
    found = dict(profile)
    number = 500
    for time in range(5500):
        number = found.get(time, number)
        assert number == expected[time]
    for begin, length, size in changes:
        profile.change(begin, begin + length, size)
    assert {free for _, free in profile} == {500}
