"""What is under way: both kinds of actions do what doubles do one by one, and the same as the other, copied or not."""

from __future__ import annotations

import copy
import math
import pickle
import random
import tracemalloc
from array import array
from collections.abc import Callable
from typing import Any

import pytest
from conversations import FCFS
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import use_actions

from batprotocol.errors import RuleViolation
from batprotocol.simulator import JobRow, simulate
from batprotocol.simulator.actions import KINDS
from batprotocol.simulator.actions.actions import PythonActions
from batprotocol.testing import simulations

WITHOUT_ENGINE = True
HUGE = 1e300

each_kind = pytest.mark.parametrize("kind", KINDS)


def made(kind: str, capacities: list[float] | None = None, *, corrected: bool = False) -> PythonActions:
    """Actions on so many hosts of one core."""
    given = [1e9] if capacities is None else capacities
    return KINDS[kind][0](given, given, corrected)


def demand(kind: str, weights: dict[int, tuple[float, ...]], latency: float = 0.0, bound: float = math.inf) -> Any:
    return KINDS[kind][1](weights, {}, bound, latency)


def pickled(value: Any) -> Any:
    """Restored with what is of the same kind."""
    kind = next(name for name, classes in KINDS.items() if type(value) in classes)
    with pytest.MonkeyPatch.context() as monkeypatch:
        use_actions(kind, monkeypatch)
        return pickle.loads(pickle.dumps(value))


# Sleeps


class Naive:
    """Sleeps as SimGrid has them: each step is subtracted from each."""

    def __init__(self) -> None:
        self.left: dict[int, float] = {}

    def step(self) -> float:
        return min(self.left.values(), default=math.inf)

    def advance(self, seconds: float) -> list[int]:
        self.left = {number: left - seconds for number, left in self.left.items()}
        ended = sorted(number for number, left in self.left.items() if left < 1e-9)
        for number in ended:
            del self.left[number]
        return ended


ROUND = st.sampled_from([0.5, 0.25, 1.0, 3.0, 7.5, 1.5 - 2**-50, 1.0 + 2**-52, 2.0**-30, 2.0**-29, 1e-9, 5e-10, 4096.0])
TIMES = st.one_of(ROUND, st.floats(1e-10, 1e4), st.floats(1e-6, 1e-3), st.floats(1e-12, HUGE))


@pytest.mark.slow
@each_kind
@given(st.data())
def test_sleeps_are_what_subtracting_one_by_one_leaves(kind: str, data: st.DataObject) -> None:
    """Durations with few digits make steps lie in the middle between two multiples, where the last bit decides."""
    naive, tried = Naive(), made(kind)
    for _ in range(data.draw(st.integers(1, 40))):
        choice = data.draw(st.integers(0, 9))
        if choice < 5 or not naive.left:
            seconds = data.draw(TIMES)
            naive.left[tried.sleep(seconds)] = seconds
        elif choice == 5:
            number = data.draw(st.sampled_from(sorted(naive.left)))
            del naive.left[number]
            tried.cancel(number)
        elif choice == 6:
            tried = data.draw(st.sampled_from([copy.copy, copy.deepcopy, pickled]))(tried)
        else:
            most = data.draw(st.sampled_from([math.inf, 0.5, 0.0, 2**-20, 1e-5, 0.1]))
            step = min(most, naive.step())
            assert tried.step(most) == step
            if data.draw(st.booleans()):
                assert tried.go_on(most) == (step, naive.advance(step) if step < math.inf else [])
            elif step < math.inf:
                assert tried.advance(step) == naive.advance(step)
                tried.retire()
    state = tried.__getstate__()
    assert dict(zip(array("q", state[6]), array("d", state[7]), strict=True)) == naive.left


@each_kind
@pytest.mark.parametrize("digits", [2, 60])
def test_many_sleeps(kind: str, digits: int) -> None:
    draw, naive, tried = random.Random(digits), Naive(), made(kind)
    for _ in range(300):
        if len(naive.left) < 60 or draw.random() < 0.5:
            seconds = round(draw.expovariate(0.01), digits) + 2**-digits
            naive.left[tried.sleep(seconds)] = seconds
        step = min(naive.step(), draw.choice([math.inf, 1e-5 + draw.random() * 1e-9, 1.0]))
        assert tried.step(step) == step
        assert tried.advance(step) == naive.advance(step)


@each_kind
def test_who_is_cancelled_is_forgotten(kind: str) -> None:
    tried = made(kind)
    numbers = [tried.sleep(1.0 + number % 7) for number in range(500)]
    for number in numbers[:490]:  # 490 is a multiple of 7
        tried.cancel(number)
    for place in range(7):
        assert tried.step(math.inf) == 1.0
        assert tried.advance(1.0) == [number for number in numbers[490:] if numbers.index(number) % 7 == place]
    assert tried.step(math.inf) == math.inf


@each_kind
def test_an_endless_sleep(kind: str) -> None:
    tried = made(kind)
    endless, short = tried.sleep(math.inf), tried.sleep(1.0)
    tried = pickled(tried)
    assert tried.step(math.inf) == 1.0
    assert tried.advance(1.0) == [short]
    assert tried.step(math.inf) == math.inf
    tried.cancel(endless)


# Sharing


@each_kind
def test_work_waits_for_its_latency_and_takes_as_long_as_its_share_allows(kind: str) -> None:
    tried = made(kind, [10.0, 1.0])
    one, two = demand(kind, {0: (10.0,)}), demand(kind, {0: (10.0,)}, latency=2.0)
    first, second = tried.work(one, 1.0), tried.work(two, 1.0)
    told = []
    now = 0.0
    while (tried.settle(), step := tried.step(math.inf))[1] < math.inf:
        now += step
        told.append((now, tried.advance(step)))
        tried.retire()
    assert told == [(1.0, [first]), (2.0, []), (3.0, [second])]


@each_kind
@pytest.mark.parametrize("corrected", [True, False])
def test_what_finished_work_took_is_lost_again_unless_corrected(kind: str, corrected: bool) -> None:
    tried = made(kind, [2501.0, 1000.0, 1000.0, 282101386.0], corrected=corrected)
    small: dict[int, tuple[float, ...]] = {0: (1.0,)}
    large: dict[int, tuple[float, ...]] = {**dict.fromkeys(range(3), (1.0,)), 3: (564203.0,)}
    for weights in ({**small, 1: (1.0,)}, small, small, small, large):
        tried.work(demand(kind, weights), 1.0)
    tried.settle()
    load = tried.load(0)
    assert load == pytest.approx(2501.0) if corrected else load < 2500.95


@each_kind
@given(st.data())
def test_a_resource_is_never_used_more_than_it_has(kind: str, data: st.DataObject) -> None:
    capacities = data.draw(st.lists(st.floats(1e3, 1e9), min_size=1, max_size=5))
    tried = made(kind, capacities, corrected=True)
    used = []
    for _ in range(data.draw(st.integers(1, 6))):
        places = data.draw(st.lists(st.integers(0, len(capacities) - 1), min_size=1, max_size=4, unique=True))
        used.append({resource: (data.draw(st.floats(1.0, 1e10)),) for resource in places})
        tried.work(demand(kind, used[-1]), 1.0)
    tried.settle()
    for number, capacity in enumerate(capacities):
        assert tried.load(number) <= capacity * (1 + 1e-9) + 1e-3
    # Nobody could be faster without taking from somebody: all work uses a resource that is used up.
    for weights in used:
        assert any(tried.load(number) >= capacities[number] * (1 - 1e-6) - 1e-3 for number in weights)


@each_kind
@given(st.lists(st.floats(1.0, 1e10), min_size=1, max_size=4), st.floats(1e3, 1e9))
def test_work_alone_is_as_fast_as_its_bottleneck_allows(kind: str, weights: list[float], capacity: float) -> None:
    tried = made(kind, [capacity])
    for _ in range(2):  # the second one goes by what the first one came to
        work = demand(kind, {0: tuple(weights)})
        for change in (1.0, 2.0):
            number = tried.work(work, 1.0)
            tried.change(0, capacity * change, capacity * change)
            tried.settle()
            assert tried.load(0) == pytest.approx(capacity * change, rel=1e-6)
            tried.cancel(number)


@each_kind
def test_a_rate_that_was_found_for_other_speeds_is_not_taken(kind: str) -> None:
    """Copies go on from the same speeds, each on its own way."""
    work, tried = demand(kind, {0: (1.0,)}), made(kind, [10.0])
    branch = copy.deepcopy(tried)
    for each, speed in ((tried, 2.0), (branch, 3.0), (pickled(tried), 4.0)):
        each.change(0, speed, speed)
        each.work(work, 1.0)
        each.settle()
        assert each.load(0) == speed


@each_kind
def test_those_who_are_told_before_rates_change_see_how_it_was(kind: str) -> None:
    tried = made(kind, [10.0])
    first = tried.work(demand(kind, {0: (1.0,)}), 1.0)
    tried.settle()
    second = tried.work(demand(kind, {0: (1.0,)}), 1.0)
    told: list[tuple[int, float]] = []
    tried.settle(lambda number: told.append((number, tried.load(0))))
    assert told == [(first, 10.0), (second, 10.0)]
    assert tried.load(0) == 10.0
    tried.settle(lambda number: told.append((number, 0.0)))
    assert len(told) == 2

    def fails(number: int) -> None:
        raise KeyboardInterrupt

    tried.cancel(first)
    with pytest.raises(KeyboardInterrupt):
        tried.settle(fails)


# Both kinds


@pytest.mark.slow
@given(st.data())
@pytest.mark.skipif(len(KINDS) == 1, reason="actions were not compiled")
def test_both_kinds_say_the_same(data: st.DataObject) -> None:
    """To the last bit, whatever begins, ends, is cancelled, changes its speed, is copied or pickled."""
    speeds = data.draw(st.lists(st.floats(1.0, 1e3), min_size=1, max_size=4))
    corrected = data.draw(st.booleans())
    both = [made(kind, speeds, corrected=corrected) for kind in KINDS]
    links = [(data.draw(st.floats(1.0, 1e3)), data.draw(st.booleans())) for _ in range(data.draw(st.integers(0, 4)))]
    for capacity, is_fatpipe in links:
        assert len({each.add_link(capacity, is_fatpipe) for each in both}) == 1
    running: list[int] = []
    for _ in range(data.draw(st.integers(1, 30))):
        choice = data.draw(st.integers(0, 9))
        if choice < 3:
            used = data.draw(st.lists(st.integers(0, len(speeds) + len(links) - 1), max_size=5, unique=True))
            weights = {
                number: tuple(data.draw(st.lists(st.floats(0.1, 1e3), min_size=1, max_size=3))) for number in used
            }
            flops = {number: max(parts) for number, parts in weights.items() if number < len(speeds)}
            bound, latency = data.draw(st.sampled_from([math.inf, 0.01])), data.draw(st.sampled_from([0.0, 1e-10, 0.5]))
            numbers = {
                each.work(KINDS[kind][1](weights, flops, bound, latency), 1.0 if weights else 0.0)
                for kind, each in zip(KINDS, both, strict=True)
            }
            running += numbers
        elif choice == 3:
            seconds = data.draw(TIMES)
            running += {each.sleep(seconds) for each in both}
        elif choice == 4 and running:
            number = running.pop(data.draw(st.integers(0, len(running) - 1)))
            for each in both:
                each.cancel(number)
        elif choice == 5:
            host, speed = data.draw(st.integers(0, len(speeds) - 1)), data.draw(st.floats(1.0, 1e3))
            for each in both:
                each.change(host, speed, 2 * speed)
        elif choice == 6:
            both = [data.draw(st.sampled_from([copy.deepcopy, swapped]))(each) for each in both]
        else:
            told: list[list[int]] = [[], []]
            for each, heard in zip(both, told, strict=True):
                each.settle(heard.append)
            assert told[0] == told[1]
            most = data.draw(st.sampled_from([math.inf, 0.5, 1e-3]))
            steps = {each.step(most) for each in both}
            assert len(steps) == 1
            (step,) = steps
            if step < math.inf:
                ended = [each.advance(step) for each in both]
                assert ended[0] == ended[1]
                running = [number for number in running if number not in ended[0]]
                assert [each.load(0) for each in both] == [both[0].load(0)] * len(both)
                for each in both:
                    each.retire()
        assert told_state(both[0]) == told_state(both[1])


def swapped(each: PythonActions) -> PythonActions:
    """Moved to the other kind, and back."""
    kind = next(name for name in KINDS if type(each) is KINDS[name][0])
    for name in (next(name for name in KINDS if name != kind), kind):
        made, made_demand = KINDS[name]
        state = each.__getstate__()
        each = made((), (), False)
        moved = [
            (work[0], made_demand(work[1].weights, work[1].flops, work[1].network_bound, work[1].latency), *work[2:])
            for work in state[8]
        ]
        each.__setstate__((*state[:8], moved, *state[9:]))
    return each


def told_state(each: PythonActions) -> tuple[Any, ...]:
    state = each.__getstate__()
    return (
        *state[:5],
        sorted(state[5]),
        *state[6:8],
        [(number, work.weights, *rest[:-1]) for number, work, *rest in state[8]],
        *state[9:],
    )


@pytest.mark.slow
@settings(max_examples=max(3, settings().max_examples // 3))
@given(st.data(), st.booleans(), st.booleans())
@pytest.mark.skipif(len(KINDS) == 1, reason="actions were not compiled")
def test_simulations_are_the_same(data: st.DataObject, corrected: bool, energy: bool) -> None:
    platform = data.draw(simulations.platforms(min_hosts=4, storages=("pfs",), energy=energy))
    workload = data.draw(simulations.workloads(hosts=4, storages=("pfs",)))
    told: list[list[JobRow] | str] = []
    for kind in KINDS:
        with pytest.MonkeyPatch.context() as monkeypatch:
            use_actions(kind, monkeypatch)
            try:
                told.append(list(simulate(platform, workload, FCFS(), corrected=corrected, energy=energy).jobs))
            except RuleViolation as violation:
                told.append(violation.rule)
    assert told[0] == told[1]


# Demands


def path(latency: float, *links: int) -> Callable[[int, int], tuple[float, list[int]]]:
    return lambda source, target: (latency, [*links])


@each_kind
def test_demands_of_executors(kind: str) -> None:
    tried = made(kind, [1e9] * 4)
    for number in range(10):
        tried.add_link(1e6, number == 1)
    asked: list[tuple[int, int]] = []

    def way(source: int, target: int) -> tuple[float, list[int]]:
        asked.append((source, target))
        return 0.5 * (source + 1), [4, 5, 6 + source]

    work = tried.demand([0, 1, 0], [3.0, 5.0, 4.0], 7.0, 1000.0, way)
    assert work.weights == {0: (3.0, 4.0), 1: (5.0,), 4: (42.0,), 5: (7.0,), 6: (28.0,), 7: (14.0,)}
    assert (work.flops, work.executors, work.is_empty) == ({0: 4.0, 1: 5.0}, 3, False)
    assert (work.latency, work.network_bound) == (1.0, 1000.0 / (2 * 7.0))
    assert sorted(asked) == [(0, 0), (0, 1), (1, 0)]
    matrix = memoryview(array("d", [1.0, 0.0, 0.0, 2.0]))
    assert tried.demand([0, 1], [0.0, 0.0], matrix, 1.0, way).weights == {4: (3.0,), 5: (2.0,), 6: (1.0,), 7: (2.0,)}
    assert tried.demand([0, 1], [0.0, 0.0], [(1, 0, 2.0), (0, 1, 0.0)], 1.0, way).weights.keys() == {4, 5, 7}
    assert sorted(asked) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    alone = tried.demand([2], [0.0], 7.0, 1.0, way)
    assert (alone.weights, alone.is_empty, alone.latency, alone.network_bound) == ({}, True, 0.0, math.inf)
    for copied in (copy.copy(work), copy.deepcopy(work)):
        assert copied is work
    again = pickled(work)
    assert (again.weights, again.flops, again.executors) == (work.weights, work.flops, work.executors)


@each_kind
def test_what_is_asked_for_may_fail(kind: str) -> None:
    tried = made(kind, [1e9] * 2)

    def fails(source: int, target: int) -> tuple[float, list[int]]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tried.demand([0, 1], [0.0, 0.0], 1.0, 1.0, fails)
    assert tried.demand([0, 1], [0.0, 0.0], 1.0, 1.0, lambda source, target: (0.0, [])).is_empty


@pytest.mark.skipif("native" not in KINDS, reason="actions were not compiled")
def test_wrong_arguments_are_refused_in_c() -> None:
    """The Python is called as it is annotated; what is in C must not even then crash."""
    tried = made("native", [1.0, 2.0])
    kind: Any = KINDS["native"][1]
    other = kind({9: (1.0,)}, {}, 1.0, 0.0)
    wrong: list[tuple[Callable[[], Any], type[Exception]]] = [
        (lambda: tried.sleep("x"), TypeError),  # type: ignore[arg-type]
        (lambda: tried.sleep(math.nan), ValueError),
        (lambda: tried.work(other, 1.0), IndexError),
        (lambda: tried.work(None, 1.0), TypeError),  # type: ignore[arg-type]
        (lambda: tried.work(kind({}, {7: 1.0}, 1.0, 0.0), 1.0), IndexError),
        (lambda: tried.cancel(1), KeyError),
        (lambda: tried.cancel(-1), OverflowError),
        (lambda: tried.remains(tried.sleep(1.0)), KeyError),
        (lambda: tried.load(2), IndexError),
        (lambda: tried.capacity(-1), IndexError),
        (lambda: tried.change(2, 1.0, 1.0), IndexError),
        (lambda: tried.demand([5], [1.0], None, 1.0, path(0.0)), IndexError),
        (lambda: tried.demand([-1], [1.0], None, 1.0, path(0.0)), IndexError),
        (lambda: tried.demand([0], [], None, 1.0, path(0.0)), ValueError),
        (lambda: tried.demand([0, 1], [1.0, 1.0], 1.0, 1.0, path(0.0, 0)), IndexError),
        (lambda: tried.demand([0, 1], [1.0, 1.0], 1.0, 1.0, path(0.0, 99)), IndexError),
        (lambda: tried.demand([0, 1], [1.0, 1.0], 1.0, 1.0, lambda a, b: 7), TypeError),  # type: ignore[arg-type, return-value]
        (lambda: tried.demand([0, 1], [1.0, 1.0], [(0, 2, 1.0)], 1.0, path(0.0)), IndexError),
        (lambda: tried.demand([0, 1], [1.0, 1.0], memoryview(array("d", [1.0])), 1.0, path(0.0)), ValueError),
        (lambda: kind({0: ()}, {}, 1.0, 0.0), TypeError),
        (lambda: kind({-1: (1.0,)}, {}, 1.0, 0.0), ValueError),
        (lambda: kind({0: ("x",)}, {}, 1.0, 0.0), TypeError),
        (lambda: type(tried)([1.0], [], False), ValueError),
        (lambda: type(tried)([], [], False, 0.0), ValueError),
        (lambda: type(tried)([], [], False).__setstate__((1, 2)), TypeError),  # type: ignore[arg-type]
        (lambda: tried.__setstate__(tried.__getstate__()), ValueError),
    ]
    for call, expected in wrong:
        with pytest.raises(expected):
            call()
    assert tried.step(math.inf) == 1.0


@pytest.mark.skipif("native" not in KINDS, reason="actions were not compiled")
@given(st.data())
def test_a_broken_state_is_refused_in_c(data: st.DataObject) -> None:
    tried = made("native", [1.0, 2.0])
    tried.sleep(5.0)
    tried.work(demand("native", {0: (1.0,)}), 1.0)
    state = list(tried.__getstate__())
    place = data.draw(st.integers(0, len(state) - 1))
    state[place] = data.draw(st.sampled_from([None, 0, -1, b"", b"12345678", b"\xff" * 8, [], [7], [(1, 2)], "x", 1.5]))
    other = KINDS["native"][0]((), (), False)
    try:
        other.__setstate__(tuple(state))  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        return
    other.settle()
    other.advance(min(other.step(math.inf), 1.0))
    other.retire()


@pytest.mark.skipif("native" not in KINDS, reason="actions were not compiled")
def test_nothing_begins_while_rates_are_told() -> None:
    tried = made("native", [1.0])
    number = tried.work(demand("native", {0: (1.0,)}), 1.0)
    calls: list[Callable[[], Any]] = [
        lambda: tried.sleep(1.0),
        lambda: tried.cancel(number),
        lambda: tried.settle(),
        lambda: tried.advance(1.0),
        lambda: tried.retire(),
        lambda: tried.change(0, 1.0, 1.0),
        lambda: tried.work(demand("native", {}), 0.0),
    ]

    def told(number: int) -> None:
        for call in calls:
            with pytest.raises(RuntimeError, match="while rates are found"):
                call()
        calls.clear()

    tried.settle(told)
    assert not calls


# Memory


@pytest.mark.slow
@pytest.mark.skipif("native" not in KINDS, reason="actions were not compiled")
def test_nothing_leaks() -> None:
    def play() -> None:
        tried = made("native", [1.0] * 50)
        links = [tried.add_link(1.0, False) for _ in range(50)]
        for number in range(200):
            tried.sleep(1.0 + number)
            work = tried.demand([number % 50, 7], [1.0, 2.0], 1.0, 1.0, lambda a, b: (0.5, links))
            tried.work(work, 1.0)
        for _ in range(50):
            tried.settle()
            tried.advance(tried.step(math.inf))
            tried.retire()
            tried = copy.deepcopy(tried)

    play()
    tracemalloc.start()
    try:
        play()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(3):
            play()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()
