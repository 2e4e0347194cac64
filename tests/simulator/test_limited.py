"""With a limit of how many parts can use a host or a link at once, work waits until there is room."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable

import pytest
from conversations import at_once, ends, simulated

from batprotocol.model import ParallelTaskHomogeneousProfile
from batprotocol.simulator import Platform, Simulator, StaticJob, Workload
from batprotocol.simulator.actions.actions import LimitedActions, PythonActions, actions_for

WITHOUT_ENGINE = True


def made(limit: int, hosts: int = 2) -> LimitedActions:
    return LimitedActions([1.0] * hosts, [1.0] * hosts, False, 1e-9, 1e-5, limit)


def begin(tried: PythonActions, flops: list[float], latency: float = 0.0, hosts: list[int] | None = None) -> int:
    """Work of which each executor computes so much; the first sends a byte to the second over a link with a latency."""
    executors = list(range(len(flops))) if hosts is None else hosts
    sent = [(0, 1, 1.0)] if latency > 0.0 else []
    return tried.work(tried.demand(executors, flops, sent, 1e9, lambda source, target: (latency, [])), 1.0)


def played(tried: PythonActions) -> list[tuple[float, list[int]]]:
    """When what ends."""
    now, found = 0.0, []
    while (step := tried.go_on(math.inf))[0] < math.inf:
        now += step[0]
        if step[1]:
            found.append((round(now, 6), step[1]))
    return found


COPIES: list[Callable[[LimitedActions], PythonActions]] = [
    lambda each: each,
    copy.copy,
    copy.deepcopy,
    lambda each: pickle.loads(pickle.dumps(each)),
]


@pytest.mark.parametrize("copied", COPIES)
def test_who_came_first_is_first(copied: Callable[[LimitedActions], PythonActions]) -> None:
    tried = made(2)
    numbers = [begin(tried, [1.0]) for _ in range(5)]
    first = copied(tried)
    assert played(first) == [(2.0, numbers[:2]), (4.0, numbers[2:4]), (5.0, numbers[4:])]


def test_little_work_does_not_count() -> None:
    tried = made(1)
    numbers = [begin(tried, [0.5]) for _ in range(3)]
    assert played(tried) == [(1.5, numbers)]


def test_after_a_latency_there_must_be_room_on_all_hosts() -> None:
    """Also on those that compute nothing; where work has no latency, these do not matter."""
    tried = made(1)
    running = begin(tried, [3.0])
    waiting = begin(tried, [0.0, 1.0], 0.5)
    assert played(tried) == [(3.0, [running]), (4.0, [waiting])]
    tried = made(1)
    running = begin(tried, [3.0])
    other = begin(tried, [0.0, 1.0])
    assert played(tried) == [(1.0, [other]), (3.0, [running])]


def test_several_parts_on_one_host() -> None:
    tried = made(2)
    numbers = [begin(tried, [1.0]), begin(tried, [1.0, 1.0], hosts=[0, 0])]
    assert played(tried) == [(1.0, numbers[:1]), (3.0, numbers[1:])]


def test_one_that_waits_can_be_cancelled() -> None:
    tried = made(1)
    first, second, third = (begin(tried, [1.0]) for _ in range(3))
    tried.cancel(second)
    assert played(tried) == [(1.0, [first]), (2.0, [third])]


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_jobs_and_messages_wait(limit: int) -> None:
    """The message of the long job's end waits, too, until there is room on its host."""
    long, short = (ParallelTaskHomogeneousProfile(computation_amount=flops) for flops in (3e9, 1e9))
    jobs = [StaticJob("0", 0.0, 1, long), StaticJob("1", 0.0, 1, short)]
    host = Platform.homogeneous(1)
    platform = Platform(host.hosts, host.master, host._members, concurrency_limit=limit)
    found = ends(simulated(Simulator(platform, [Workload(jobs)]), at_once()))
    times = [round(found[f"w0!{job}"][0], 3) for job in "01"]
    assert times == ([4.0, 4.0] if limit == 1 else [4.0, 2.0])


def test_without_a_limit_actions_are_of_the_usual_kind() -> None:
    assert not isinstance(actions_for([], [], False, 1e-9, 1e-5, 0), LimitedActions)
