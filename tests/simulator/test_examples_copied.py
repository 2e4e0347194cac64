"""The schedulers in examples/ with their simulator, copied and pickled between any two turns: all go on alike."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from support import ROOT

from batprotocol.edc import Scheduler
from batprotocol.edc.commands.scheduler import load
from batprotocol.model import DelayProfile, Message
from batprotocol.simulator import JobRow, JobRows, Platform, Simulator, StaticJob, Watts, Workload

WITHOUT_ENGINE = True

EXAMPLES = [
    "fcfs.py:FCFS",
    "easy_backfilling.py:EASY",
    "killer.py:Killer",
    "dynamic_registration.py:LoadGenerator",
    "power_saver.py:PowerSaver",
]
JOBS = [StaticJob(str(n), float(n), 1 + n % 4, DelayProfile(1.5 + n % 7), walltime=6.0) for n in range(12)]
INIT = '{"limit": 3, "jobs": 4, "delay": 2}'


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def played(simulator: Simulator, scheduler: Scheduler, message: Message | None) -> list[Message]:
    """What the simulator says from this message on."""
    answer = scheduler.player(simulator.conversation)
    said: list[Message] = []
    while message is not None:
        said.append(message)
        message = simulator.turn_judged(answer(message))
    return said


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled])
@pytest.mark.parametrize("example", EXAMPLES)
def test_copies_of_an_example_go_on_alike(example: str, duplicate: Callable[[Any], Any]) -> None:
    scheduler, rows = load(f"{ROOT}/examples/{example}")(), JobRows()
    platform = Platform.homogeneous(5, watts=Watts(10.0, 20.0, 100.0))
    simulator = Simulator(platform, [Workload(JOBS)], energy=True, observer=rows, init=INIT)
    message: Message | None = simulator.begin(scheduler.hello(INIT))
    answer = scheduler.player(simulator.conversation)
    said: list[Message] = []
    copies: list[tuple[int, list[Message], list[JobRow]]] = []
    while message is not None:
        other, its_scheduler, its_rows, its_message = duplicate((simulator, scheduler, rows, message))
        copies.append((len(said), played(other, its_scheduler, its_message), its_rows.rows))
        said.append(message)
        message = simulator.turn_judged(answer(message))
    assert len(copies) > len(JOBS)
    assert len(rows.rows) >= len(JOBS)
    for place, its_own, its_results in copies:
        assert its_own == said[place:]
        assert its_results == rows.rows
