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
from batprotocol.policies import backfilling
from batprotocol.policies.availability import PythonProfile
from batprotocol.policies.backfilling import PythonReservedJobs

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


@pytest.mark.skipif(len(KINDS) < 2, reason="the profile was not compiled when the package was installed")
@pytest.mark.parametrize("seed", range(6))
def test_a_crowd_of_jobs_that_end_early_moves_alike(seed: int) -> None:
    """Gaps open and close in many blocks. What is known of them must stay right when they grow, and when blocks go."""
    random = Random(seed)
    hosts, resolution = random.choice([16, 64, 300]), random.choice([0.0, 1e-3, 30.0])
    lengths = random.choice([[10.0, 400.0], [round(random.uniform(10, 5000), 1) for _ in range(99)], [1e-3, 1.0, 1e5]])
    profile, other = PythonProfile(0.0, hosts), profiles.Profile(0.0, hosts)
    reserved, others = PythonReservedJobs(profile, resolution), backfilling.ReservedJobs(other, resolution)
    jobs: dict[int, _Job] = {}
    running: list[tuple[float, int]] = []
    now = 0.0
    for turn in range(20):
        for number in range(len(jobs) + turn * 10**6, len(jobs) + turn * 10**6 + random.choice([0, 1, 5, 100])):
            job = jobs[number] = _Job(number, min(int(2 ** random.uniform(0, 7)), hosts), random.choice(lengths))
            start = profile.earliest(job.size, job.expected - resolution / 2)
            assert start == other.earliest(job.size, job.expected - resolution / 2)
            for each in (reserved, others):
                each.add(number, (number, number), job.size, job.expected, start)
        due = reserved.due(now + resolution / 2)
        assert due == others.due(now + resolution / 2)
        for number in due:
            reserved.start(number, now)
            others.start(number, now)
            job = jobs.pop(number)
            running.append((now + job.expected, job.size))
        now = min(now + random.expovariate(1 / 500), reserved.next_start())
        profile.advance(now)
        other.advance(now)
        random.shuffle(running)
        for end, size in [running.pop() for _ in range(min(len(running), random.choice([0, 1, 3])))]:
            profile.change(now, max(end, now), size)
            other.change(now, max(end, now), size)
        assert reserved.compress(jobs.values(), now) == others.compress(jobs.values(), now)
        assert reserved.by_starts() == others.by_starts()
        assert [reserved.start_of(number) for number in jobs] == [others.start_of(number) for number in jobs]
        for _ in range(20):
            asked = random.randint(0, hosts + 1), random.choice([0.0, math.inf, random.choice(lengths)])
            before = random.choice([math.inf, now + random.uniform(0, 1e5), *map(reserved.start_of, jobs)])
            assert profile.earliest(*asked, before) == other.earliest(*asked, before)
    assert list(profile) == list(other)


@pytest.mark.skipif(len(KINDS) < 2, reason="the profile was not compiled when the package was installed")
@pytest.mark.parametrize("seed", range(8))
def test_gaps_over_many_blocks_open_and_close_alike(seed: int) -> None:
    """Few hosts are taken at most times, and all of them now and then: a gap has hundreds of times."""
    random = Random(seed)
    each = PythonProfile(0.0, 20), profiles.Profile(0.0, 20)
    closed: list[tuple[float, float]] = []
    now = 0.0
    for _ in range(1500):
        begin = now + random.uniform(0, 3000)
        chance = random.random()
        change = begin, begin + random.expovariate(1 / 3), random.choice([-1, -1, -2, 1])
        if chance < 0.2 and len(closed) > 4:
            first, last = closed.pop(random.randrange(len(closed)))
            change = max(first, now), last, 20
        elif chance < 0.2:
            closed.append(change[:2])
            change = *change[:2], -20
        elif chance < 0.25:
            now += random.expovariate(1 / 2)
        for profile in each:
            profile.advance(now)
            profile.change(max(change[0], now), *change[1:])
        for _ in range(random.choice([0, 0, 5])):
            asked = random.randint(1, 18), random.uniform(0, 3000)
            before = random.choice([math.inf, now + random.uniform(0, 3000), change[0]])
            assert each[0].earliest(*asked, before) == each[1].earliest(*asked, before)
    assert list(each[0]) == list(each[1])


class _Job(NamedTuple):
    number: int
    size: int
    expected: float


RESERVED = sorted({PythonReservedJobs, backfilling.ReservedJobs}, key=str)


@pytest.mark.parametrize("ranked", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_reservations_move_one_after_the_other(seed: int, ranked: bool) -> None:
    """As if each were released and made anew at the first time at which it fits, by `earliest` and `change`."""
    random = Random(seed)
    resolution = random.choice([0.0, 1e-3, 0.3, 0.5, 1.0, 60.0])
    kinds = {PythonReservedJobs: PythonProfile, backfilling.ReservedJobs: profiles.Profile}
    each = [kind(kinds[kind](1.0, 40), resolution) for kind in RESERVED]
    alone = PythonProfile(1.0, 40)
    starts, ends, jobs = {}, {}, []
    ranks = random.sample(range(1000), 200)
    for number in range(random.choice([3, 200])):
        seconds = random.choice([0.0, 7.5, *[random.expovariate(1 / 50)] * 8, math.inf if number > 50 else 9.0])
        job = _Job(number, random.randint(1, 40), seconds)
        starts[number] = alone.earliest(job.size, job.expected)
        ends[number] = profiles.rounded(starts[number] + job.expected, resolution)
        jobs.append(job)
        alone.change(starts[number], ends[number], -job.size)
        for reserved in each:
            rank = (ranks[number], number) if ranked else None
            reserved.add(number, rank, job.size, job.expected, starts[number])
    for job in random.sample(jobs, len(jobs) // 3):  # they are no more, and what they had is free
        jobs.remove(job)
        alone.change(starts[job.number], ends[job.number], job.size)
        for reserved in each:
            reserved.drop(job.number, 1.0)
            assert job.number not in reserved
    if ranked:
        jobs.sort(key=lambda job: ranks[job.number])
    else:
        random.shuffle(jobs)
    found = []
    for reserved in each:
        has_moved = reserved.compress(iter(jobs), 1.0)
        times = {job.number: reserved.start_of(job.number) for job in jobs}
        profile = [*reserved._profile] if isinstance(reserved, PythonReservedJobs) else [*reserved.__reduce__()[1][0]]
        found.append((has_moved, times, profile, reserved.by_starts(), reserved.next_start(), reserved.is_endless))
    moved = False
    for job in jobs:
        before = starts[job.number]
        start = alone.earliest(job.size, job.expected - resolution / 2, before)
        if before > 1.0 and start < before:
            alone.change(before, ends[job.number], job.size)
            starts[job.number], ends[job.number] = start, profiles.rounded(start + job.expected, resolution)
            alone.change(start, ends[job.number], -job.size)
            moved = True
    times = {job.number: starts[job.number] for job in jobs}
    in_order = sorted((start, number) for number, start in times.items())
    endless = math.inf in times.values()
    expected = moved, times, list(alone), [number for _, number in in_order], in_order[0][0], endless
    assert found == [expected] * len(RESERVED)
    assert len(jobs) < 9 or moved
    for reserved in each:
        assert reserved.due(in_order[1][0]) == [number for start, number in in_order if start <= in_order[1][0]]
        assert reserved.next_start() > in_order[1][0]
    for _ in range(30):
        hosts, seconds, slack = random.randint(0, 40), random.choice([math.inf, 5.0, 50.0]), random.choice([0.0, 0.5])
        gaps = [(most, min(length, seconds) + slack) for most, length in alone.gaps(hosts)]
        may = any(job.size <= most and job.expected <= length for job in jobs for most, length in gaps)
        assert [reserved.may_start(hosts, seconds, slack) for reserved in each] == [may] * len(each)


@pytest.mark.parametrize("kind", RESERVED, ids=str)
def test_a_reservation_that_is_not_known_is_an_error(kind: type[PythonReservedJobs]) -> None:
    profile = PythonProfile if kind is PythonReservedJobs else profiles.Profile
    reserved = kind(profile(0.0, 4), 0.0)
    reserved.add(1, None, 1, 5.0, 0.0)
    with pytest.raises(KeyError, match="7"):
        reserved.compress([_Job(7, 1, 1.0)], 0.0)
    for asked in (lambda: reserved.start(7, 0.0), lambda: reserved.drop(7, 0.0), lambda: reserved.start_of(7)):
        with pytest.raises(KeyError, match="7"):
            asked()
    assert (1 in reserved, 7 in reserved, len(reserved)) == (True, False, 1)
