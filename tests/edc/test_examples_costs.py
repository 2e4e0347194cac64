"""What a turn of the schedulers in examples/ and of `batproto new` costs: the same, however many jobs wait.

Work is counted, not timed: lines of Python, and bytes for what is copied.
"""

from __future__ import annotations

import gc
import os
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from replay import HOSTS, begins, completed, said
from support import ROOT

import batprotocol
from batprotocol import model
from batprotocol.edc import Scheduler
from batprotocol.edc.commands.new import example_scheduler
from batprotocol.edc.commands.scheduler import load
from batprotocol.edc.scheduler import attend_to, hello_of
from batprotocol.edc.session import Session

WITHOUT_ENGINE = True

FCFS = load(f"{ROOT}/examples/fcfs.py:FCFS")
EASY = load(f"{ROOT}/examples/easy_backfilling.py:EASY")
OURS = ("<example>", f"{ROOT}/examples", os.path.dirname(batprotocol.__file__))
Lines = Counter[tuple[str, int]]
Turn = Callable[[model.Message], tuple[Lines, int]]


def player(scheduler: Scheduler, *, counts: bool) -> Turn:
    """What lets a scheduler answer a message, and gives the lines that ran, or the bytes that it needed.

    Not both at once, as counts need bytes themselves. Lines of others do not count, such as those of a handler that an
    earlier test has left.
    """
    session = Session(lambda text: hello_of(scheduler, text))
    session.hear_init("")
    attend = attend_to(scheduler)

    def answer(message: model.Message) -> tuple[Lines, int]:
        turn = session.hear(message)
        lines = Lines()

        def count(frame: FrameType, what: str, argument: object) -> Any:
            if what == "line":
                lines[frame.f_code.co_filename, frame.f_lineno] += 1
            return count if frame.f_code.co_filename.startswith(OURS) else None

        gc.disable()  # what is collected meanwhile may run code of its own
        peak = 0
        if counts:
            sys.settrace(count)
        else:
            tracemalloc.start()
        try:
            attend(turn)
            if not counts:
                peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            sys.settrace(None)
            gc.enable()
        session.say()
        return lines, peak

    return answer


def jobs(now: float, first: int, count: int, size: int) -> model.Message:
    job = model.Job(resource_request=size, walltime=100.0, profile_id="w0!delay")
    profile = model.ProfileAndId("w0!delay", model.DelayProfile(10.0))
    return said(
        now,
        *(
            model.JobSubmittedEvent(job_id=f"w0!{number}", job=job, submission_time=now, profile=profile)
            for number in range(first, first + count)
        ),
    )


def costs(make: type[Scheduler], waiting: int, held: int) -> list[tuple[Lines, int]]:
    """The costs of two turns, one after some jobs were queued: another job comes, and the one that runs ends.

    Args:
        make: makes the schedulers: one whose lines are counted, and one whose bytes are.
        waiting: how many jobs wait, each for all hosts.
        held: how many hosts the job holds that runs.
    """
    found = []
    for counts in (True, False):
        turn = player(make(), counts=counts)
        turn(begins())
        turn(jobs(1.0, 0, 1, held))
        turn(jobs(2.0, 1, waiting, HOSTS))
        found.append([turn(jobs(3.0, waiting + 1, 1, HOSTS)), turn(completed(4.0, "w0!0"))])
    return [(lines, peak) for (lines, _), (_, peak) in zip(*found, strict=True)]


class Shortsighted(EASY):  # type: ignore[valid-type,misc]  # it is loaded as the command does
    depth = 5


@pytest.mark.parametrize(
    ("make", "held"),
    [
        (FCFS, HOSTS),
        (FCFS, 1),
        (example_scheduler(), HOSTS),
        (example_scheduler(), 1),
        (EASY, HOSTS),
        (Shortsighted, 1),
    ],
)
def test_a_turn_costs_the_same_however_many_jobs_wait(make: type[Scheduler], held: int) -> None:
    costs(make, 10, held)  # what is imported and compiled comes first
    few, many = (costs(make, waiting, held) for waiting in (10, 1_000))
    for (some, least), (others, most) in zip(few, many, strict=True):
        more = others - some  # a look at each job that waits takes 990 more
        assert more.total() < 10, more
        assert most < least + 4_000  # a copy of the queue takes 8,000


def test_easy_looks_as_far_as_it_is_told() -> None:
    """While a host is free, each job that waits may be the one that fits."""
    (all_of_them, _), (some, _) = costs(EASY, 500, 1), costs(Shortsighted, 500, 1)
    assert all_of_them[0].total() > 500 > some[0].total()
