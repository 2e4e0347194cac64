"""Values over time, and what is free on hosts: in C, where the library is compiled, the same as in Python."""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from batprotocol.policies import availability
from batprotocol.policies.availability import Steps
from batprotocol.policies.site import watts
from batprotocol.policies.site.futures import HostSteps, HostTimeline, PythonHostSteps

WITHOUT_ENGINE = True
HOSTS = range(8)


def random_time(random: Random) -> float:
    return random.choice([float(random.randint(0, 40)), random.uniform(0, 40)])


def interval(random: Random, now: float) -> tuple[float, float]:
    begin = random.choice([now, now + random_time(random)])
    return begin, random.choice([begin + 0.5 + random_time(random)] * 4 + [math.inf])


def amounts(random: Random, make: type[PythonHostSteps]) -> PythonHostSteps:
    """The free amounts of hosts, which some jobs have taken."""
    whole: tuple[int, ...] = (1 << 40, 4, 1 << 62, 2)
    steps = make()
    for host in HOSTS:
        steps.open(host, [0.0], [whole])
    for _ in range(random.randint(0, 60)):
        begin, end = interval(random, 0.0)
        by = random.choice([(-(1 << 40), 0, 0, 0), (-1, -random.randint(1, 4), -(1 << 30), -1), (-1, 0, -(1 << 57), 0)])
        steps.change(random.sample(HOSTS, 3), begin, end, by, 0.0)
    return steps


def both(seed: int) -> list[PythonHostSteps]:
    return [amounts(Random(seed), kind) for kind in (HostSteps, PythonHostSteps)]


def content(steps: PythonHostSteps) -> dict[int, tuple[list[float], list[Any]]]:
    return {host: steps.following(host, -1.0) for host in steps}


@pytest.mark.parametrize("seed", range(60))
def test_amounts_change_as_in_python(seed: int) -> None:
    random, (steps, others), now = Random(seed), both(seed), 0.0
    assert content(steps) == content(others)
    for _ in range(30):
        now += random.choice([0.0, 0.0, random.random()])
        begin, end = interval(random, now)
        by = random.choice([(1, 1, 1 << 50, 0), (-1, 0, 0, -1), (-(1 << 40), 0, 0, 0)])
        asked = random.sample(HOSTS, 4), begin, end, by, now
        assert steps.change(*asked) == others.change(*asked)
        assert content(steps) == content(others)
        if random.random() < 0.2:
            steps, others = copy.deepcopy(steps), copy.deepcopy(others)
        if random.random() < 0.2:
            host = random.choice(HOSTS)
            times, free = others.following(random.choice(HOSTS), now)
            for each in (steps, others):
                if random.random() < 0.5 and len({*steps}) == len({*others}) == len(HOSTS):
                    each.close(host)
                each.open(host, times, free)
            assert content(steps) == content(others)
    for each in (steps, others):
        with pytest.raises(KeyError, match="99"):
            each.change([99], 1.0, 2.0, (1, 1, 1, 1), now)
        with pytest.raises(KeyError):
            each.close(99)
    assert len(steps) == len(HOSTS)


@pytest.mark.parametrize("seed", range(60))
def test_questions_are_answered_as_in_python(seed: int) -> None:
    random, (steps, others) = Random(seed), both(seed)
    for _ in range(30):
        begin, end = interval(random, 0.0)
        hosts = frozenset(random.sample(HOSTS, random.randint(0, 8)))
        least = steps.leasts(hosts, begin, end)
        assert list(least.items()) == list(others.leasts(hosts, begin, end).items())
        wanted = random.choice([(1 << 40, 0, 0, 0), (1, 2, 1 << 61, 0), (1, 1, 1 << 63, 0), (1, 4, 0, 2)])
        host, time = random.choice(HOSTS), random_time(random)
        for each in HOSTS:
            assert steps.until(each, wanted, begin) == others.until(each, wanted, begin)
            assert steps.fits_before(each, wanted, time) == others.fits_before(each, wanted, time)
        window = host, wanted, end - begin, begin, random.choice([math.inf, begin, begin + time])
        assert steps.first_window(*window) == others.first_window(*window)
        assert steps.following(host, time) == others.following(host, time)
        also = [random_time(random) for _ in range(random.randint(0, 5))]
        taken = frozenset(random.sample(HOSTS, random.randint(0, 8))), *interval(random, 0.0)
        without = random.choice([None, taken])
        found = []
        for asked in (steps, others):
            heard: list[object] = []
            chance = Random(seed)

            def choose(
                those: Any, time: float, heard: list[object] = heard, chance: Random = chance
            ) -> list[int] | None:
                heard.append((list(those), time))
                return list(those) if chance.random() < 0.3 else None

            def may(time: float, heard: list[object] = heard, chance: Random = chance) -> bool:
                heard.append(time)
                return chance.random() < 0.7

            with_choice, with_may = Random(seed + len(also)).choices([True, False], k=2)
            answer = asked.first_time(
                *(hosts, random.__class__(seed).randint(0, 5), wanted, end - begin, begin),
                *(
                    choose if with_choice else None,
                    math.inf if seed % 2 else begin + 9.0,
                    also,
                    may if with_may else None,
                    without,
                ),
            )
            found.append((answer, heard))
        assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(60))
def test_hosts_count_as_free_as_if_they_were_given_back(seed: int) -> None:
    random, steps, job = Random(seed), amounts(Random(seed), HostSteps), (1 << 40, 0, 0, 0)
    for _ in range(30):
        hosts, begin, end = random.sample(HOSTS, 4), *interval(random, 0.0)
        others = copy.deepcopy(steps)
        steps.change(hosts, begin, end, tuple(-each for each in job), 0.0)
        asked = HOSTS, random.randint(1, 8), job, random_time(random), 0.0, None, random.choice([begin, math.inf])
        answer = others.first_time(*asked, [], None)
        assert steps.first_time(*asked, [], None, (set(hosts), begin, end)) == answer


def test_amounts_of_more_than_64_bits_are_kept_in_python() -> None:
    timeline = HostTimeline({0: (1 << 70, 1), 1: (1 << 71, 1)})
    timeline.take([0], 5.0, 9.0, (1 << 69, 0))
    assert timeline.least(0, 0.0, 9.0) == (1 << 69, 1)
    assert timeline.earliest([0, 1], 2, (1 << 70, 1), 2.0, 4.0) == (9.0, [0, 1])
    other = HostTimeline({})
    other.restart_as(timeline, 1.0)
    assert [*other.moments()] == [*timeline.moments()]
    steps = HostSteps()
    steps.open(0, [0.0], [(1 << 62, 1)])
    if HostSteps is not PythonHostSteps:
        with pytest.raises(OverflowError, match="64 bits"):
            steps.change([0], 1.0, 2.0, (1 << 63, 0), 0.0)
        with pytest.raises(TypeError, match="dimensions"):
            steps.change([0], 1.0, 2.0, (1,), 0.0)
        with pytest.raises(TypeError, match="times"):
            steps.open(1, [], [])


@pytest.mark.parametrize("seed", range(60))
def test_times_are_closed_as_in_python(seed: int) -> None:
    random = Random(seed)
    steps = Steps(-math.inf, 0)
    for _ in range(random.randint(0, 30)):
        steps.change(*interval(random, 0.0), random.randint(-50, 100))
    for _ in range(30):
        after, before = interval(random, 0.0)
        asked = steps, random.randint(-50, 300), after, before, random.choice([0.0, 0.5, random_time(random)])
        assert watts.closed_times(*asked) == watts.python_closed_times(*asked)


@pytest.mark.parametrize("seed", range(60))
def test_watts_of_jobs_are_those_of_python(seed: int) -> None:
    random = Random(seed)
    digit = 1 << 20
    increments = [{host: random.choice([0, 90, 100]) for host in HOSTS} for _ in range(3)]

    def draws(host: int, jobs: int) -> int:
        if jobs < digit:
            return increments[0][host] if jobs else 0
        return max(increments[pace][host] for pace in range(3) if jobs // digit**pace % digit)

    jobs: defaultdict[int, Steps[int]] = defaultdict(lambda: Steps(-math.inf, 0))
    others, now = copy.deepcopy(jobs), 0.0
    known: list[tuple[Any, ...]] = []
    for _ in range(40):
        now += random.choice([0.0, random.random()])
        asked = (random.sample(HOSTS, 5), *interval(random, now), digit ** random.choice([0, 0, 1, 2]))
        if known and random.random() < 0.3:
            hosts, begin, end, by = known.pop(random.randrange(len(known)))
            asked = hosts, begin, end, -by
        else:
            known.append(asked)
        more = watts.pieces(jobs, *asked, increments[0], draws)
        assert list(more.items()) == list(watts.python_pieces(others, *asked, increments[0], draws).items())
        watts.change_jobs(jobs, *asked, now)
        watts.python_change_jobs(others, *asked, now)
        every = [{host: (each.times, each.values) for host, each in which.items()} for which in (jobs, others)]
        assert every[0] == every[1]


def test_steps_of_both_kinds_are_changed_alike() -> None:
    change: Callable[..., None]
    for change in (availability.change_steps, availability.python_change_steps):
        numbers = Steps(0.0, 0)
        change(numbers, 1.0, 3.0, 5)
        change(numbers, 2.0, math.inf, -5)
        change(numbers, 2.0, 3.0, 5)
        assert (numbers.times, numbers.values) == ([0.0, 1.0, 3.0], [0, 5, -5])
        pairs = Steps(0.0, (1, 2))
        change(pairs, 1.0, 2.0, (1, -2))
        assert (pairs.times, pairs.values) == ([0.0, 1.0, 2.0], [(1, 2), (2, 0), (1, 2)])
