"""Measure the cost of a policy's decision while many jobs wait: processor time of its own turn, on 1,000 hosts."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from batprotocol import MessageBuilder
from batprotocol.edc.scheduler import attend_to, hello_of
from batprotocol.edc.session import Session
from batprotocol.model import (
    DelayProfile,
    Event,
    FinalJobState,
    Host,
    HostState,
    Job,
    JobCompletedEvent,
    JobSubmittedEvent,
    Message,
    ProfileAndId,
    WorkloadAndFilename,
)
from batprotocol.policies import named
from benchmark.tables import parser_for, table

HOSTS = 1000
WAITING = (100, 1_000, 10_000)
POLICIES = ("fcfs", "sjf", "saf", "f1", "f2", "f3", "f4", "wfp3", "unicep", "easy", "easy-sjf", "easy-wfp3")
_PROFILE = ProfileAndId("w0!d", profile=DelayProfile(1.0))


class _Game:
    """A machine that is full, and jobs of all sizes that wait for it."""

    def __init__(self, name: str, waiting: int) -> None:
        self.random = random.Random(1)
        self.policy = named(name)()
        self.now, self.count = 0.0, 0
        self._session = Session(lambda text: hello_of(self.policy, text))
        self._session.hear_init("")
        self._attend = attend_to(self.policy)
        hosts = [Host(id=id, name=f"h{id}", state=HostState.IDLE, computation_speed=[1e9]) for id in range(HOSTS)]
        builder = MessageBuilder()
        workloads = [WorkloadAndFilename("w0", "workload.json")]  # else no job could be submitted
        builder.add_simulation_begins(batsim_version="5.0.0-rc2", computation_hosts=hosts, workloads=workloads)
        self.play(*builder.finish_message().events)
        while self.policy.state.free:
            size = min(self.random.choice([1, 2, 4, 8, 16, 32]), len(self.policy.state.free))
            self.submit(size, self.random.randint(5_000, 90_000))
        while len(self.policy.queue) < waiting:
            self.now += 0.5
            self.submit(int(2 ** self.random.uniform(0, 9)), int(10 ** self.random.uniform(1.5, 4.9)))

    def submit(self, size: int, walltime: float) -> None:
        self.count += 1
        job = Job(resource_request=size, walltime=walltime, profile_id="w0!d")
        self.play(
            JobSubmittedEvent(
                timestamp=self.now, job_id=f"w0!{self.count}", job=job, submission_time=self.now, profile=_PROFILE
            )
        )

    def play(self, *events: Event) -> float:
        """One message; seconds that the policy took."""
        turn = self._session.hear(Message(self.now, events))
        began = time.process_time()
        self._attend(turn)
        seconds = time.process_time() - began
        self._session.say()
        return seconds

    def end(self, early: bool) -> tuple[float, int]:
        """A job ends; seconds, and how many jobs have started."""
        state = self.policy.state
        if early:
            self.now += 10.0
            job_id = self.random.choice(list(state.running))
        else:
            end, *_, job_id = state.endings[0]
            self.now = max(self.now, end)
        before = len(self.policy.queue)
        event = JobCompletedEvent(
            timestamp=self.now, job_id=job_id, state=FinalJobState.COMPLETED_SUCCESSFULLY, return_code=0
        )
        return self.play(event), before - len(self.policy.queue)


def report(quick: bool, markdown: bool) -> str:
    """The table: microseconds for each job, in the median of the turns that start any, and of the longest turn."""
    turns = 10 if quick else 100
    rows: list[Sequence[str]] = [["policy", *(f"{waiting:,} waiting" for waiting in WAITING)]]
    for name, early in [*((name, False) for name in POLICIES), ("conservative", False), ("conservative", True)]:
        row = [f"{name}, jobs end early" if early else name]
        for waiting in WAITING:
            game = _Game(name, waiting)
            costs = [game.end(early) for _ in range(turns)]
            while not any(started for _, started in costs):
                costs.append(game.end(early))
            each = sorted(seconds / started for seconds, started in costs if started)
            longest = max(seconds for seconds, _ in costs)
            row.append(f"{each[len(each) // 2] * 1e6:,.0f} ({longest * 1e6:,.0f})")
        rows.append(row)
    heading = f"A decision of a policy, {HOSTS:,} hosts, processor time in µs a start (longest turn):"
    return f"{heading}\n\n{table(rows, markdown)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    given = parser_for(__doc__, quick="fewer turns").parse_args(arguments)
    print(report(given.quick, given.markdown), end="\n\n")


if __name__ == "__main__":
    main()
