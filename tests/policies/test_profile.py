"""The profile of free hosts, against one that has a number for each second."""

from __future__ import annotations

import copy
import math
from itertools import pairwise
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.policies import availability as profiles
from batprotocol.policies.availability import PythonProfile

WITHOUT_ENGINE = True
KINDS = sorted({PythonProfile, profiles.Profile}, key=str)
"""The one in Python, and the one in C where it was compiled."""
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__module__.rpartition(".")[2])
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


@each_kind
@given(st.data())
@settings(max_examples=35)
def test_the_profile_is_that_of_a_naive_one(kind: type[PythonProfile], data: st.DataObject) -> None:
    profile, naive = kind(0.0, SIZE), Naive()
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
        free = [number for _, number in profile]
        assert all(before != after for before, after in pairwise(free))  # no time for nothing


@each_kind
@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 400), st.integers(1, 3)), min_size=100, max_size=150))
@settings(max_examples=3)
def test_blocks_are_split(kind: type[PythonProfile], changes: list[tuple[int, int, int]]) -> None:
    """What is taken out and put back leaves nothing behind, however many blocks it takes."""
    profile = kind(0.0, 500)
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
    assert list(profile) == [(0.0, 500)]


@pytest.mark.skipif(len(KINDS) < 2, reason="the profile was not compiled when the package was installed")
@pytest.mark.parametrize("seed", range(3))
def test_what_is_in_c_does_the_same_to_the_last_bit(seed: int) -> None:
    """With thousands of times, none of them whole."""
    random = Random(seed)
    endings = sorted((random.uniform(-5, 2000), random.randint(1, 5)) for _ in range(random.randint(0, 300)))
    each = [kind(0.25, 40, endings) for kind in KINDS]
    now = 0.25
    for step in range(400):
        now += random.choice([0.0, 0.0, random.random()])
        begin, seconds, size = now + random.uniform(0, 2000), random.expovariate(1 / 50), random.randint(1, 40)
        end, by = random.choice([begin + seconds] * 9 + [math.inf]), random.choice([-size, size])
        for profile in each:
            profile.advance(now)
            profile.change(begin, end, by)
        asked = size, seconds, random.choice([math.inf, begin])
        assert each[0].earliest(*asked) == each[1].earliest(*asked)
        assert each[0].gaps(size) == each[1].gaps(size)
        if step == 200:
            each = [copy.deepcopy(profile) for profile in each]
    assert list(each[0]) == list(each[1])


class _Reserved(NamedTuple):
    number: int
    size: int
    expected: float


@pytest.mark.parametrize("seed", range(20))
def test_reservations_move_one_after_the_other(seed: int) -> None:
    """As if each were released and made anew at the first time at which it fits, by `earliest` and `change`."""
    random = Random(seed)
    resolution = random.choice([0.0, 1e-3, 0.3, 0.5, 1.0, 60.0])
    each = [kind(1.0, 40) for kind in KINDS]
    alone = PythonProfile(1.0, 40)
    starts, ends, jobs = {}, {}, []
    for number in range(random.choice([3, 200])):
        seconds = random.choice([0.0, 7.5, *[random.expovariate(1 / 50)] * 8, math.inf if number > 50 else 9.0])
        job = _Reserved(number, random.randint(1, 40), seconds)
        starts[number] = alone.earliest(job.size, job.expected)
        ends[number] = profiles.rounded(starts[number] + job.expected, resolution)
        jobs.append(job)
        for profile in [alone, *each]:
            profile.change(starts[number], ends[number], -job.size)
    for job in random.sample(jobs, len(jobs) // 3):  # they are no more, and what they had is free
        jobs.remove(job)
        for profile in [alone, *each]:
            profile.change(starts[job.number], ends[job.number], job.size)
    random.shuffle(jobs)
    found = []
    for profile in each:
        times = dict(starts), dict(ends)
        found.append((profile.compress(iter(jobs), *times, 1.0, resolution), *times, [*profile]))
    moved = []
    for job in jobs:
        before = starts[job.number]
        start = alone.earliest(job.size, job.expected - resolution / 2, before)
        if before > 1.0 and start < before:
            alone.change(before, ends[job.number], job.size)
            starts[job.number], ends[job.number] = start, profiles.rounded(start + job.expected, resolution)
            alone.change(start, ends[job.number], -job.size)
            moved.append((start, job.number))
    assert found == [(moved, starts, ends, list(alone))] * len(KINDS)
    assert len(jobs) < 9 or moved


@each_kind
def test_a_reservation_that_is_not_known_is_an_error(kind: type[PythonProfile]) -> None:
    with pytest.raises(KeyError, match="7"):
        kind(0.0, 4).compress([_Reserved(7, 1, 1.0)], {}, {}, 0.0, 0.0)
