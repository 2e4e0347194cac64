"""Killed jobs never begin, and the others run: on real processes, at moments that chance picks."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from test_local_processes import end_of, until, why

from batprotocol import FinalJobState, FrozenHosts, Hosts
from batprotocol.campaigns.managers import JobRequest, LocalProcesses
from batprotocol.campaigns.model import GridJobState, RemoteJob
from batprotocol.campaigns.simulation.scheduler import SimulatedCluster

WITHOUT_ENGINE = True

GROUPS, LENGTH = 8, 20
TOGETHER = [range(first * LENGTH, (first + 1) * LENGTH) for first in range(GROUPS)]
"""The jobs of each group."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalProcesses]:
    found = LocalProcesses("here", tmp_path / "here", slots=3)
    yield found
    found.forget([job.job for job in found.look().jobs])
    found.close()


def submitted(tmp_path: Path, chance: random.Random) -> list[JobRequest]:
    """Groups of jobs that write down that they run; some take a moment, some need no shell."""
    (tmp_path / "t.sh").write_text("echo $1 >> runs; sleep $2; exit $3\n")
    return [
        JobRequest(
            job=job,
            command=f"sh t.sh {job} {chance.choice(('0', '0', '0.01', '0.05'))} {chance.choice((0, 0, 3))}",
            directory=str(tmp_path),
            group=jobs[0],
        )
        for jobs in TOGETHER
        for job in jobs
    ]


def runs(tmp_path: Path) -> list[int]:
    path = tmp_path / "runs"
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def ends_of(cluster: LocalProcesses) -> dict[int, RemoteJob]:
    until(lambda: all(job.state is GridJobState.TERMINATED for job in cluster.look().jobs))
    return {job.job: job for job in cluster.look().jobs}


def kill_now_and_then(cluster: LocalProcesses, chance: random.Random) -> dict[int, float]:
    """Kill some jobs of each group, in any order; the moments after which none of them may begin."""
    after: dict[int, float] = {}
    for _ in range(chance.randint(1, 12)):
        until_then = time.monotonic() + chance.choice((0.0, 0.002, 0.02, 0.1))
        while time.monotonic() < until_then:
            cluster.tend()
        chosen = list(itertools.chain(*(chance.sample(jobs, chance.randint(0, LENGTH // 3)) for jobs in TOGETHER)))
        chance.shuffle(chosen)
        cluster.kill(chosen)
        now = time.time()
        for job in chosen:
            after.setdefault(job, now)
    return after


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_killed_at_any_moment(cluster: LocalProcesses, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    cluster.submit(submitted(tmp_path, chance))
    after = kill_now_and_then(cluster, chance)
    ends, ran = ends_of(cluster), runs(tmp_path)
    assert len(ran) == len(set(ran)), "each at most once"
    assert set(range(GROUPS * LENGTH)) - after.keys() <= set(ran), "all that nobody killed"
    for number, job in ends.items():
        if why(job) == ["FRAG_JOB_REQUEST"]:
            assert number in after
            assert job.start_time is not None or number not in ran
        else:
            assert (number in ran, job.exit_code in (0, 3 << 8), job.events) == (True, True, ())
        if number in after and job.start_time is not None:
            assert job.start_time <= after[number], f"{number} began after it was killed"


def test_killed_at_the_moment_at_which_it_begins(cluster: LocalProcesses, tmp_path: Path) -> None:
    """Of two jobs that are killed together, the second one never begins if the first one did not come to its end."""
    commands = [f"sh -c 'echo {number} >> runs'" for number in range(400)]
    cluster.submit(
        [JobRequest(job=job, command=each, directory=str(tmp_path), group=0) for job, each in enumerate(commands)]
    )
    chance = random.Random(3)
    killed: list[range] = []
    cluster.tend()
    for first in range(0, 360, 40):
        while not runs(tmp_path) or runs(tmp_path)[-1] < first:
            time.sleep(0.001)
        killed.append(range(first + chance.randint(1, 5), first + 35))
        cluster.kill(chance.sample(killed[-1], len(killed[-1])))
    ends = ends_of(cluster)
    for jobs in killed:
        begun = [ends[number].start_time is not None for number in jobs]
        assert begun == sorted(begun, reverse=True), "those that began come before those that did not"


def test_what_has_ended_keeps_its_exit_code(cluster: LocalProcesses, tmp_path: Path) -> None:
    """Even if nobody has looked since."""
    requests = [
        JobRequest(job=job, command=each, directory=str(tmp_path), group=1)
        for job, each in enumerate(("exit 3", "touch begun; sleep 60"), 1)
    ]
    cluster.submit(requests)
    cluster.tend()
    until((tmp_path / "begun").exists)
    cluster.kill([2, 1, 1])
    assert [(end_of(cluster, job).exit_code, why(end_of(cluster, job))) for job in (1, 2)] == [
        (3 << 8, []),
        (None, ["FRAG_JOB_REQUEST"]),
    ]


class Record:
    """Answers no Batsim, but keeps what it would be asked for."""

    now = 0.0

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def register(self, request: JobRequest, cluster: SimulatedCluster) -> None:
        """Nothing: a name is known by its number."""

    def execute(self, name: str, hosts: FrozenHosts) -> None:
        self.asked.append(("execute", name))

    def reject(self, name: str) -> None:
        self.asked.append(("reject", name))

    def kill(self, names: Sequence[str]) -> None:
        self.asked += [("kill", name) for name in names]

    def name_of(self, job: int) -> str:
        return str(job)


def test_on_a_simulated_cluster() -> None:
    """The one that runs makes way for one that is not killed, whatever the order and however often they are named."""
    desk = Record()
    cluster = SimulatedCluster("a", Hosts("0").take(1), desk)
    cluster.submit([JobRequest(job=job, command="") for job in (1, 2, 3)])
    cluster.decide()
    cluster.kill([2, 1, 1, 2])
    cluster.decide()
    assert desk.asked == [("execute", "1"), ("reject", "2"), ("kill", "1")]
    cluster.end(1, FinalJobState.COMPLETED_KILLED)
    cluster.decide()
    assert desk.asked[3:] == [("execute", "3")]
    assert [why(end_of(cluster, job)) for job in (1, 2)] == [["FRAG_JOB_REQUEST"]] * 2
