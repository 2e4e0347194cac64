"""An exception of a user's code reaches the user as it is, through the rules and the simulator, compiled or not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from batprotocol.edc import Scheduler
from batprotocol.policies import EASY, FCFS, Policy
from batprotocol.results import Observer
from batprotocol.simulator import described_platform, lublin_workload, simulate

WITHOUT_ENGINE = True

PLATFORM = described_platform("n[0-7] cores=1")
WORKLOAD = lublin_workload(8, 12, seed=1)


class Own(Exception):
    """An exception of a user."""


class OwnBase(BaseException):
    """An exception that is no `Exception`."""


KINDS: list[type[BaseException]] = [
    *(Own, OwnBase, ValueError, TypeError, KeyError, AttributeError, StopIteration, StopAsyncIteration),
    *(GeneratorExit, KeyboardInterrupt, SystemExit, RecursionError, MemoryError, AssertionError, BrokenPipeError),
]
HOOKS = [name for name in dir(Scheduler) if name.startswith("on_")] + ["decide"]
ROWS = ["job_ended", "machine_states", "pstates_changed", "ended"]


class EasyPolicy(Policy):
    def __init__(self) -> None:
        super().__init__(FCFS(), EASY())


def raising(kind: type[BaseException], turn: int, otherwise: Callable[..., Any]) -> tuple[Any, list[BaseException]]:
    """A method that raises an exception at a call, and a list in which that exception is then."""
    raised: list[BaseException] = []
    calls = [0]

    def method(*arguments: Any) -> Any:
        calls[0] += 1
        if calls[0] == turn:
            raised.append(kind("of a user"))
            raise raised[0]
        return otherwise(*arguments)

    return method, raised


def expect_as_it_is(run: Callable[[], object], raised: list[BaseException]) -> None:
    """The very exception that was raised leaves the simulation, if one was raised."""
    try:
        run()
    except BaseException as error:
        assert [error] == raised  # noqa: PT017  # which one it is, no class tells
        assert error.__cause__ is None  # noqa: PT017
    else:
        assert raised == []


@pytest.mark.parametrize("turn", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_schedulers(kind: type[BaseException], turn: int) -> None:
    for name in HOOKS:
        method, raised = raising(kind, turn, getattr(Policy, name))
        made = type("Raises", (EasyPolicy,), {name: method})()
        expect_as_it_is(partial(simulate, PLATFORM, WORKLOAD, made), raised)


@pytest.mark.parametrize("turn", [1, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_observers(kind: type[BaseException], turn: int) -> None:
    for name in ROWS:
        method, raised = raising(kind, turn, lambda *_: None)
        made = type("Raises", (Observer,), {name: method})()
        expect_as_it_is(partial(simulate, PLATFORM, WORKLOAD, EasyPolicy(), observers=[made]), raised)
    method, raised = raising(kind, turn, lambda *_: None)
    expect_as_it_is(partial(simulate, PLATFORM, WORKLOAD, EasyPolicy(), on_turn=method), raised)
    assert len(raised) == 1


def test_a_simulation_after_all_these() -> None:
    assert len(list(simulate(PLATFORM, WORKLOAD, EasyPolicy()).jobs)) == 12
