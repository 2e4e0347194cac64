"""A class where an instance is wanted, or something else, is an error that says what to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from batprotocol import policies
from batprotocol.edc import Scheduler
from batprotocol.errors import SchedulerError
from batprotocol.model import DelayProfile
from batprotocol.policies import EASY, FCFS, Cap, Policy, named
from batprotocol.results.observers import Observer
from batprotocol.simulator import Platform, StaticJob, Workload, simulate, watched

WITHOUT_ENGINE = True

PLATFORM = Platform.homogeneous(4)
WORKLOAD = Workload([StaticJob("1", 0.0, 1, DelayProfile(10.0))])
GIVEN: Any = simulate  # types are not kept to here


class Mine(Scheduler):
    pass


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: GIVEN(PLATFORM, WORKLOAD, named("easy")), r"not the class easy: add \(\), as in named\('easy'\)\(\)"),
        (lambda: GIVEN(PLATFORM, WORKLOAD, Policy), r"not the class Policy: add \(\)"),
        (lambda: GIVEN(PLATFORM, WORKLOAD, Mine), r"write Mine\(\) instead of Mine"),
        (lambda: GIVEN(PLATFORM, WORKLOAD, "easy"), r"got 'easy': write named\('easy'\)\(\)"),
        (lambda: GIVEN(PLATFORM, WORKLOAD, None), "simulate takes a scheduler, got None"),
        (lambda: GIVEN(Platform, WORKLOAD, Policy()), "takes a platform or its file, and not a class"),
        (lambda: GIVEN(PLATFORM, Workload, Policy()), "takes a workload or its file, and not a class"),
        (lambda: GIVEN(PLATFORM, [WORKLOAD, 3], Policy()), "takes a workload or its file, got 3"),
        (lambda: GIVEN(PLATFORM, WORKLOAD, Policy(), observers=[Observer]), "takes an Observer, and not a class"),
        (lambda: Policy(FCFS), r"Policy takes an Order, and not a class: write FCFS\(\)"),  # type: ignore[arg-type]
        (lambda: Policy(EASY()), "Policy takes an Order, got"),  # type: ignore[arg-type]
        (lambda: Policy(cap=4000), "Policy takes a Cap, got 4000"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_instance(call: Callable[[], object], error: str) -> None:
    with pytest.raises(SchedulerError, match=error):
        call()


@pytest.mark.parametrize(
    ("name", "part"),
    [
        *(("order", policies.FCFS), ("backfilling", EASY), ("allocation", policies.First)),
        *(("walltimes", policies.AsRequested), ("site", policies.SiteRules), ("cap", Cap)),
    ],
)
def test_a_class_is_no_part(name: str, part: type) -> None:
    with pytest.raises(SchedulerError, match=rf"write {part.__name__}\(\) instead of {part.__name__}"):
        Policy(**{name: part})


class Silent:
    """A watcher that may do without messages, and counts the planners."""

    def __init__(self) -> None:
        self.planners = 0

    def hello(self, init: str, message: object) -> None:
        """Nothing is done."""

    sent = answered = hello

    def without_messages(self, planner: Any) -> Any:
        self.planners += 1
        return planner


def test_a_watched_scheduler_plans_without_messages_if_both_can() -> None:
    silent = Silent()
    assert simulate(PLATFORM, WORKLOAD, watched(named("fcfs")(), silent)).is_complete
    assert silent.planners == 1
