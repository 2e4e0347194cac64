"""Measure the cost of a turn of the example schedulers while ever more jobs wait.

The jobs that wait want more hosts than are free. In each turn the job that runs ends, so the first of the queue starts,
and another one is submitted; all that a decision component does for it counts, but no bytes and no socket. The
processor's time counts, in one interleaved run.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import thread_time_ns

# Run as a script, it measures the installed batprotocol, or without one the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent))

from batprotocol import (
    DelayProfile,
    Doubles,
    FinalJobState,
    Host,
    HostState,
    Job,
    Message,
    MessageBuilder,
    ProfileAndId,
    WorkloadAndFilename,
)
from batprotocol.edc import Scheduler
from batprotocol.edc.commands.scheduler import load
from batprotocol.edc.scheduler import attend_to, hello_of
from batprotocol.edc.session import Session
from benchmark.tables import parser_for, table

__all__ = ["WAITING", "main", "measure"]

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
HOSTS = 1000
PROFILE = ProfileAndId("w0!delay", DelayProfile(10.0))
IN_A_ROW = 10
WAITING = (10, 1_000, 50_000)
"""How many jobs wait."""


class Play:
    """A scheduler in the middle of a simulation.

    Args:
        scheduler: must be new.
        waiting: how many jobs wait all the time.
        size: how many hosts each wants, which is more than half of all.
    """

    def __init__(self, scheduler: Scheduler, waiting: int, size: int) -> None:
        self._session = Session(lambda text: hello_of(scheduler, text))
        self._session.hear_init("")
        self._attend = attend_to(scheduler)
        self._job = Job(resource_request=size, walltime=100.0, profile_id="w0!delay")
        self._submitted = self._ended = 0
        begins = MessageBuilder()
        speed = Doubles([1e9])
        hosts = [Host(id=n, name=f"h{n}", state=HostState.IDLE, computation_speed=speed) for n in range(HOSTS)]
        workloads = [WorkloadAndFilename("w0", "workload.json")]
        begins.add_simulation_begins(batsim_version="5.0.0-rc2", computation_hosts=hosts, workloads=workloads)
        self._answer(begins.finish_message())
        first = MessageBuilder(1.0)
        for _ in range(waiting + 1):
            self._submit(first)
        self._answer(first.finish_message())

    def _submit(self, builder: MessageBuilder) -> None:
        builder.add_job_submitted(f"w0!{self._submitted}", self._job, builder.current_time, PROFILE)
        self._submitted += 1

    def _answer(self, message: Message) -> Message:
        self._attend(self._session.hear(message))
        return self._session.say()

    def turn(self) -> int:
        """How many nanoseconds a turn takes."""
        builder = MessageBuilder(2.0 + self._ended)
        builder.add_job_completed(f"w0!{self._ended}", FinalJobState.COMPLETED_SUCCESSFULLY)
        self._ended += 1
        self._submit(builder)
        message = builder.finish_message()
        start = thread_time_ns()
        reply = self._answer(message)
        time = thread_time_ns() - start
        assert len(reply.events) == 1, "one job starts in each turn"
        return time


def schedulers() -> dict[str, tuple[Callable[[], Scheduler], int]]:
    """The schedulers by name: the function that makes each, and the number of hosts that each job wants."""
    fcfs, easy = load(f"{EXAMPLES / 'fcfs.py'}:FCFS"), load(f"{EXAMPLES / 'easy_backfilling.py'}:EASY")

    def shortsighted() -> Scheduler:
        scheduler = easy()
        scheduler.depth = 100  # type: ignore[attr-defined]  # it is EASY's
        return scheduler

    return {
        "FCFS": (fcfs, HOSTS - 1),
        "EASY, no host is free": (easy, HOSTS),
        "EASY, a host is free, 100 jobs looked at": (shortsighted, HOSTS - 1),
        "EASY, a host is free, all jobs looked at": (easy, HOSTS - 1),
    }


def measure(turns: int, waiting: Sequence[int] = WAITING) -> dict[str, list[float]]:
    """The median time of a turn in microseconds, by scheduler, for each number of jobs that wait."""
    plays = {
        (name, count): Play(make(), count, size) for name, (make, size) in schedulers().items() for count in waiting
    }
    samples: dict[tuple[str, int], list[int]] = {key: [] for key in plays}
    for _ in range(turns // IN_A_ROW):
        for key, play in plays.items():
            play.turn()  # finds the processor's caches as another one has left them
            samples[key] += [play.turn() for _ in range(IN_A_ROW)]
    return {name: [statistics.median(samples[name, count]) / 1000 for count in waiting] for name in schedulers()}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_for(__doc__, quick="fewer turns")
    given = parser.parse_args(arguments)
    found = measure(100 if given.quick else 500)
    rows = [["µs per turn, jobs waiting", *(f"{count:,}" for count in WAITING)]]
    rows += [[name, *(f"{time:,.0f}" for time in times)] for name, times in found.items()]
    print(f"Turns of the example schedulers, on {HOSTS:,} hosts:\n\n{table(rows, given.markdown)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
