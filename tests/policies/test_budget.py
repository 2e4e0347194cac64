"""The watts that jobs may draw and do draw over time, against naive ones that look at each time."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

from batprotocol.policies.site.watts import Allowance, Budget
from batprotocol.workloads.electricity import Trace

WITHOUT_ENGINE = True

MICRO = 1_000_000


def random_cap(random: Random) -> Trace:
    times = sorted(random.sample(range(12), random.randint(1, 5)))
    values = [float(random.randint(2, 9)) for _ in times]
    if random.random() < 0.5:
        return Trace(map(float, times), values, times[-1] + random.randint(1, 4), "W", repeats=True)
    return Trace(map(float, times), values, math.inf, "W")


class Naive:
    """The cap at each time."""

    def __init__(self, cap: Trace) -> None:
        self.cap = cap
        self.horizon = 60

    def at(self, time: float) -> int:
        cap = self.cap
        if cap.repeats:
            time = cap.begin + (time - cap.begin) % cap.period
        place = max((place for place, begin in enumerate(cap.times) if begin <= time), default=0)
        return int(cap.values[place] - 2) * MICRO

    def least(self, begin: int, end: float) -> int:
        return min(self.at(time) for time in range(begin, int(min(end, begin + self.horizon))))

    def lasts(self, amount: int, seconds: float, now: int) -> bool:
        return any(self.least(time, time + seconds) >= amount for time in range(now, now + self.horizon))


@pytest.mark.parametrize("seed", range(25))
def test_the_allowance_is_that_of_each_time(seed: int) -> None:
    random = Random(seed)
    cap = random_cap(random)
    allowance, naive = Allowance(cap, 2 * MICRO), Naive(cap)
    for _ in range(20):
        begin, end = sorted(random.sample(range(40), 2))
        end = random.choice([end, end, math.inf])
        assert allowance.at(begin + 0.5) == naive.at(begin + 0.5)
        assert allowance.least(begin, end) == naive.least(begin, end)
        assert allowance.most(begin) == max(map(naive.at, range(begin, begin + naive.horizon)))
        step = next((time for time in range(begin + 1, begin + 60) if time_of_step(cap, time)), math.inf)
        assert allowance.next_step(begin) == step
        rises = [time for time in range(begin + 1, 41) if naive.at(time) > naive.at(time - 0.5)]
        assert list(allowance.rises(begin, 40)) == rises
        amount, seconds = random.randint(0, 8) * MICRO, random.choice([1, 2, 5, 20, math.inf])
        assert allowance.lasts(amount, seconds, begin) == naive.lasts(amount, seconds, begin)
        longest = allowance.longest(amount, begin)
        assert longest == 0 or allowance.lasts(amount, longest, begin)
        assert longest == math.inf or not allowance.lasts(amount, longest + 1, begin)


def time_of_step(cap: Trace, time: int) -> bool:
    """Whether a value begins at a time."""
    if not cap.repeats:
        return time in cap.times
    return (time - cap.begin) % cap.period + cap.begin in cap.times


PACES = [{0: 5, 1: 3, 2: 0, 3: 7}, {0: 2, 1: 4, 2: 0, 3: 4}]  # host 1 draws more while it is slow


class NaiveBudget:
    """The jobs of each host at each time."""

    def __init__(self, cap: Trace) -> None:
        self.cap = Naive(cap)
        self.taken: list[tuple[Any, int, float, int]] = []

    def drawn(self, time: int, more: Any = ()) -> int:
        jobs = [each for each in [*self.taken, *more] if each[1] <= time < each[2]]
        return sum(
            max((PACES[pace][host] * MICRO for hosts, _, _, pace in jobs if host in hosts), default=0)
            for host in range(4)
        )

    def fits(self, hosts: Any, begin: int, end: float, pace: int) -> bool:
        more = [(hosts, begin, end, pace)]
        times = range(begin, int(min(end, 60)))
        return all(
            self.drawn(time, more) in (self.drawn(time), min(self.drawn(time, more), self.cap.at(time)))
            for time in times
        )


def check_begins(budget: Budget, random: Random, now: int) -> None:
    """The quick answers to when something may begin are those by the intervals in which nothing can."""
    need, seconds = random.randint(1, 8) * MICRO, random.randint(1, 20)
    more = [
        (random.choice([-3, -1, 2]) * MICRO, float(time), time + random.choice([1.0, 5.0, math.inf]))
        for time in random.sample(range(now, now + 15), random.randint(0, 2))
    ]
    at = now + random.randint(0, 15)
    assert budget.may_begin(need, at, seconds, more) == budget.is_open(
        budget.closed(need, at, at, seconds, more), at, at
    )
    closed = budget.closed(need, now, 60, seconds)
    first = budget.first_open(closed, now)
    assert first == math.inf or budget.is_open_at(closed, first)
    assert not any(budget.is_open_at(closed, time + 0.5) for time in range(now, int(min(first, 60))))


@pytest.mark.parametrize("seed", range(20))
def test_a_budget_is_that_of_each_time(seed: int) -> None:
    random = Random(seed)
    cap = random_cap(random)
    paces = [{host: more * MICRO for host, more in pace.items()} for pace in PACES]
    budget, naive = Budget(paces, Allowance(cap, 2 * MICRO), lambda time: time), NaiveBudget(cap)
    now = 0
    for _ in range(40):
        hosts = random.sample(range(4), random.randint(1, 3))
        begin = now + random.randint(0, 15)
        end, pace = random.choice([begin + random.randint(1, 20), math.inf]), random.randint(0, 1)
        action = random.choice(["take", "give_back", "fits", "fits", "advance"])
        if action == "take":
            budget.take(hosts, begin, end, pace)
            naive.taken.append((hosts, begin, end, pace))
        elif action == "give_back" and naive.taken:
            held = naive.taken.pop(random.randrange(len(naive.taken)))
            budget.give_back(*held)
        elif action == "advance":
            now += random.randint(0, 4)
            budget.advance(now)
        else:
            assert budget.fits(hosts, begin, end, pace) == naive.fits(hosts, begin, end, pace)
            cost = max(
                naive.drawn(time, [([hosts[0]], begin, end, pace)]) - naive.drawn(time)
                for time in range(begin, int(min(end, 60)))
            )
            assert budget.cost(hosts[0], begin, end, pace) == cost
        times = range(now, 60)
        assert [budget.taken_at(time) for time in times] == list(map(naive.drawn, times))
        assert budget.is_over(now, 60) == any(naive.drawn(time) > naive.cap.at(time) for time in times)
        check_begins(budget, random, now)
    for held in naive.taken:
        budget.give_back(*held)
    assert not any(budget.taken_at(time) for time in range(now, 60))
    assert not budget._jobs or all(set(jobs.values) == {0} for jobs in budget._jobs.values())


def test_what_is_drawn_now() -> None:
    budget = Budget([{0: 100, 1: 50}, {0: 60, 1: 20}], Allowance(Trace([0.0], [0.00015], math.inf, "W"), 0), float)
    budget.began([0])
    assert budget.rest(0.0) == 50
    assert budget.fits_now([1], 0.0)
    assert budget.fits_now([0, 1], 0.0)
    budget.began([0], 1)  # it draws what the faster job does
    assert budget.rest(0.0) == 50
    budget.ended([0])
    assert budget.rest(0.0) == 90
    budget.stands(1, 30)
    assert budget.rest(0.0) == 60
    assert budget.standing == 30
    assert budget.lacks([1], 0.0) == 50 - 30 - 60
    budget.stands(0, 10)  # it counts when it has no job
    assert budget.rest(0.0) == 60
    budget.ended([0], 1)
    assert budget.rest(0.0) == 110
    assert not budget.is_busy
    assert budget.lacks([0, 1], 0.0) == 150 - 40 - 110
    assert budget.smallest(1) == 50
    assert budget.smallest(2, 1) == 80
    assert budget.sum([0], 1) == 60
