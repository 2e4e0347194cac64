"""Measure the cost of a decision where jobs share hosts: processor time of its turn, while 10,000 jobs wait.

On 64 hosts, each with 64 cores, 256 GB and 4 GPUs, jobs ask for some cores, memory and GPUs of one to a few hosts.
"""

from __future__ import annotations

import json
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
    HostProperty,
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

__all__ = ["Game", "main", "report"]

HOSTS = 64
OFFERED = [HostProperty("cores", "64"), HostProperty("memory", "256G"), HostProperty("gres", "gpu:4")]
WAITING = 10_000
POLICIES = ("fcfs", "easy", "easy-saf", "reservations=10", "conservative=100")
_PROFILE = ProfileAndId("w0!d", profile=DelayProfile(1.0))


class Game:
    """Hosts that are full, and jobs that wait for a part of some.

    Args:
        name: the policy.
        waiting: how many jobs wait.
    """

    def __init__(self, name: str, waiting: int = WAITING) -> None:
        self.random = random.Random(1)
        self.policy = named(name)()
        self.now, self._count, self._open = 0.0, 0, 0
        self._session = Session(lambda text: hello_of(self.policy, text))
        self._session.hear_init("")
        self._attend = attend_to(self.policy)
        builder = MessageBuilder()
        builder.add_simulation_begins(
            batsim_version="5.0.0-rc2",
            computation_hosts=[
                Host(id=id, name=f"n{id}", state=HostState.IDLE, properties=OFFERED, computation_speed=[1e9])
                for id in range(HOSTS)
            ],
            workloads=[WorkloadAndFilename("w0", "workload.json")],
        )
        self._play(*builder.finish_message().events)
        running = self.policy.state.running
        self._submit(*(self._job() for _ in range(waiting)))
        while self._open - len(running) < waiting:
            self.now += 0.5
            self._submit(self._job())

    def _job(self) -> JobSubmittedEvent:
        chance = self.random
        asked = {"cores": chance.choice([1, 2, 4, 8, 16, 32, 64]), "memory": f"{chance.choice([1, 4, 16, 64, 128])}G"}
        if chance.random() < 0.25:
            asked["gres"] = {"gpu": chance.randint(1, 4)}
        job = Job(
            resource_request=chance.choice([1, 1, 1, 2, 4, 8, 16]),
            walltime=int(10 ** chance.uniform(1.5, 4.9)),
            profile_id="w0!d",
            extra_data=json.dumps(asked),
        )
        self._count += 1
        return JobSubmittedEvent(
            timestamp=self.now, job_id=f"w0!{self._count}", job=job, submission_time=self.now, profile=_PROFILE
        )

    def _submit(self, *events: JobSubmittedEvent) -> None:
        self._open += len(events)
        self._play(*events)

    def _play(self, *events: Event) -> float:
        """One message; seconds that the policy took."""
        turn = self._session.hear(Message(self.now, events))
        began = time.process_time()
        self._attend(turn)
        seconds = time.process_time() - began
        self._session.say()
        return seconds

    def turn(self) -> float:
        """A job ends, some earlier than expected, and another one is submitted; seconds that the decision took."""
        state = self.policy.state
        if self.random.random() < 0.5:
            self.now = min(self.now + 1.0, state.endings[0][0])
            job_id = self.random.choice(list(state.running))
        else:
            end, *_, job_id = state.endings[0]
            self.now = max(self.now, end)
        ended = JobCompletedEvent(timestamp=self.now, job_id=job_id, state=FinalJobState.COMPLETED_SUCCESSFULLY)
        self._open -= 1
        job = self._job()
        self._open += 1
        return self._play(ended, job)


def report(quick: bool, markdown: bool) -> str:
    """The table: milliseconds of a turn, in the median, in 95 of 100 turns at most, and of the longest."""
    turns = 60 if quick else 400
    games = {name: Game(name) for name in POLICIES}
    costs: dict[str, list[float]] = {name: [] for name in games}
    for _ in range(turns):
        for name, game in games.items():
            costs[name].append(game.turn() * 1e3)
    rows: list[Sequence[str]] = [["policy", "median", "95 %", "longest"]]
    for name, each in costs.items():
        each.sort()
        rows.append([name, *(f"{each[place]:.2f}" for place in (turns // 2, turns * 95 // 100, turns - 1))])
    heading = f"A decision where jobs share {HOSTS} hosts, {WAITING:,} jobs wait, processor time in ms:"
    return f"{heading}\n\n{table(rows, markdown)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    given = parser_for(__doc__, quick="fewer turns").parse_args(arguments)
    print(report(given.quick, given.markdown), end="\n\n")


if __name__ == "__main__":
    main()
