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
from batprotocol.policies.site import futures, watts

WITHOUT_ENGINE = True
HOSTS = range(8)


def random_time(random: Random) -> float:
    return random.choice([float(random.randint(0, 40)), random.uniform(0, 40)])


def interval(random: Random, now: float) -> tuple[float, float]:
    begin = random.choice([now, now + random_time(random)])
    return begin, random.choice([begin + 0.5 + random_time(random)] * 4 + [math.inf])


def amounts(random: Random) -> dict[int, Steps[tuple[int, ...]]]:
    """The free amounts of hosts, which some jobs have taken."""
    whole: tuple[int, ...] = (1 << 40, 4, 1 << 62, 2)
    steps = {host: Steps(0.0, whole) for host in HOSTS}
    for _ in range(random.randint(0, 60)):
        begin, end = interval(random, 0.0)
        by = random.choice([(-(1 << 40), 0, 0, 0), (-1, -random.randint(1, 4), -(1 << 30), -1), (-1, 0, -(1 << 61), 0)])
        futures.python_change_amounts(steps, random.sample(HOSTS, 3), begin, end, by, 0.0)
    return steps


def content(steps: dict[int, Steps[Any]]) -> dict[int, tuple[list[float], list[Any]]]:
    return {host: (each.times, each.values) for host, each in steps.items()}


@pytest.mark.parametrize("seed", range(60))
def test_amounts_change_as_in_python(seed: int) -> None:
    random = Random(seed)
    steps, now = amounts(random), 0.0
    others = copy.deepcopy(steps)
    for _ in range(30):
        now += random.choice([0.0, 0.0, random.random()])
        begin, end = interval(random, now)
        by = random.choice([(1, 1, 1 << 62, 0), (-1, 0, 0, -1), (1 << 80, 0, 0, 0)])
        asked = random.sample(HOSTS, 4), begin, end, by, now
        assert futures.change_amounts(steps, *asked) == futures.python_change_amounts(others, *asked)
        assert content(steps) == content(others)
    with pytest.raises(KeyError, match="99"):
        futures.change_amounts(steps, [99], 1.0, 2.0, (1, 1, 1, 1), now)


@pytest.mark.parametrize("seed", range(60))
def test_questions_are_answered_as_in_python(seed: int) -> None:
    random = Random(seed)
    steps = amounts(random)
    for _ in range(30):
        begin, end = interval(random, 0.0)
        hosts = frozenset(random.sample(HOSTS, random.randint(0, 8)))
        least = futures.leasts(steps, hosts, begin, end)
        assert list(least.items()) == list(futures.python_leasts(steps, hosts, begin, end).items())
        wanted = random.choice([(1 << 40, 0, 0, 0), (1, 2, 1 << 61, 0), (1, 1, 1 << 63, 0), (1, 4, 0, 2)])
        also = [random_time(random) for _ in range(random.randint(0, 5))]
        taken = frozenset(random.sample(HOSTS, random.randint(0, 8))), *interval(random, 0.0)
        without = random.choice([None, taken])
        found = []
        for function in (futures.first_time, futures.python_first_time):
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
            answer = function(
                *(steps, hosts, random.__class__(seed).randint(0, 5), wanted, end - begin, begin),
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
    random = Random(seed)
    steps, job = amounts(random), (1 << 40, 0, 0, 0)
    for _ in range(30):
        hosts, begin, end = random.sample(HOSTS, 4), *interval(random, 0.0)
        others = copy.deepcopy(steps)
        futures.change_amounts(steps, hosts, begin, end, tuple(-each for each in job), 0.0)
        asked = HOSTS, random.randint(1, 8), job, random_time(random), 0.0, None, random.choice([begin, math.inf])
        answer = futures.first_time(others, *asked, [], None)
        assert futures.first_time(steps, *asked, [], None, (set(hosts), begin, end)) == answer


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
        assert content(jobs) == content(others)


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
