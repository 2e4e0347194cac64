"""A cluster that is a Dask scheduler: a real one, whose workers and clients are killed."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import patience
import pytest
from crashing import judge, run_and_kill, submit
from daskers import DaskProcesses, dask_processes
from servers import free_port
from test_local_processes import assert_gone

from batprotocol.campaigns.managers import DaskCluster, JobRequest
from batprotocol.campaigns.managers.interface import DIRECTORY, NODES
from batprotocol.campaigns.model import GridJobState, RemoteJob
from batprotocol.campaigns.store import ClusterEntry, GridStore
from batprotocol.errors import ClusterError

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

PATIENCE = 120.0
until = partial(patience.until, patience=PATIENCE, step=0.02)
ends = partial(patience.ends, patience=PATIENCE, step=0.02)


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    with dask_processes(tmp_path_factory.mktemp("dask"), workers=2) as found:
        yield found


@pytest.fixture
def cluster(dask: DaskProcesses, request: pytest.FixtureRequest) -> Iterator[DaskCluster]:
    found = DaskCluster("dask", dask.address, mark=request.node.name)
    until(lambda: found.look().max == len([worker for worker in dask.workers if worker.poll() is None]))
    yield found
    found.forget([job.job for job in found.look().jobs])
    found.close()


def why(job: RemoteJob) -> list[str]:
    return [event.type for event in job.events]


def test_jobs_end_with_their_status(cluster: DaskCluster, tmp_path: Path) -> None:
    commands = ["true", "exit 3", "kill -9 $$", "env | grep CIGRI_ > environment; wc -l < $CIGRI_NODE_FILE > nodes"]
    requests = [
        JobRequest(
            job=number,
            command=command,
            directory=str(tmp_path),
            environment={"CIGRI_USER": "alice", "CIGRI_WORKDIR": DIRECTORY, "CIGRI_NODE_FILE": NODES},
        )
        for number, command in enumerate(commands)
    ]
    cluster.submit(requests)
    cluster.submit(requests)
    found = ends(cluster)
    assert [found[number].exit_code for number in range(4)] == [0, 3 << 8, 9, 0]
    assert all(job.start_time is not None and job.node for job in found.values())
    values = dict(line.split("=", 1) for line in (tmp_path / "environment").read_text().splitlines())
    assert (values["CIGRI_USER"], values["CIGRI_WORKDIR"]) == ("alice", str(tmp_path))
    assert (tmp_path / "nodes").read_text().strip() == "1"
    cluster.forget(found)
    assert cluster.look().jobs == ()


def test_a_group_runs_one_after_the_other_and_what_fails_is_kept(cluster: DaskCluster, tmp_path: Path) -> None:
    commands = [
        "echo 1 >> runs",
        "seq 9999; echo why >&2; exit 3",
        "echo 3 >> runs; sleep 60",
        "echo 4 >> runs",
        "true",
    ]
    requests = [
        JobRequest(job=number, command=command, directory=str(tmp_path), group=1)
        for number, command in enumerate(commands, 1)
    ]
    cluster.submit(requests)
    until(lambda: "3" in ((tmp_path / "runs").read_text() if (tmp_path / "runs").exists() else ""))
    seen = {job.job: job for job in cluster.look().jobs}
    assert [seen[number].state for number in (3, 4, 5)] == [GridJobState.RUNNING] * 3
    assert cluster.look().free == 1
    cluster.kill([3, 4])
    found = ends(cluster)
    assert [found[number].exit_code for number in (1, 2, 5)] == [0, 3 << 8, 0]
    assert [why(found[number]) for number in (3, 4)] == [["FRAG_JOB_REQUEST"]] * 2
    assert (found[2].errors, found[1].output) == ("why\n", "")
    assert found[2].output.endswith("\n9998\n9999\n")
    assert 9_000 < len(found[2].output) <= 10_000
    assert (tmp_path / "runs").read_text() == "1\n3\n"
    cluster.submit(requests)
    assert len(cluster.look().jobs) == 5


def test_jobs_end_otherwise(cluster: DaskCluster, tmp_path: Path) -> None:
    late = JobRequest(job=1, command="sleep 60 & sleep 60", directory=str(tmp_path), walltime=0.3)
    lost = JobRequest(job=2, command="true", directory=str(tmp_path / "missing"))
    cluster.submit([late, lost])
    found = ends(cluster)
    assert (found[1].exit_code, why(found[1])) == (None, ["WALLTIME"])
    assert why(found[2]) == ["WORKING_DIRECTORY"]
    cluster.submit([JobRequest(job=number, command="sleep 60", directory=str(tmp_path)) for number in range(3, 7)])
    until(lambda: [job.state for job in cluster.look().jobs].count(GridJobState.RUNNING) == 2)
    assert cluster.look().free == 0
    cluster.kill(range(3, 7))
    assert {tuple(why(job)) for job in ends(cluster).values() if job.job > 2} == {("FRAG_JOB_REQUEST",)}
    until(lambda: cluster.look().free == 2)


def test_what_is_killed_never_begins(cluster: DaskCluster, tmp_path: Path) -> None:
    """Groups and single jobs, killed at moments that chance picks; all others run."""
    chance = random.Random(4)
    requests = [
        JobRequest(
            job=job,
            command=f"echo {job} >> runs; sleep {chance.choice((0, 0, 0.05))}",
            directory=str(tmp_path),
            group=None if job < 20 else job - job % 20,
        )
        for job in range(120)
    ]
    cluster.submit(requests)
    after: dict[int, float] = {}
    for _ in range(8):
        time.sleep(chance.random() / 4)
        chosen = chance.sample(range(120), 10)
        cluster.kill(chosen)
        now = time.time()
        for job in chosen:
            after.setdefault(job, now)
    found = ends(cluster)
    runs = [int(word) for word in (tmp_path / "runs").read_text().split()]
    assert len(runs) == len(set(runs))
    assert set(range(120)) - after.keys() <= set(runs)
    for number, job in found.items():
        assert why(job) == ([] if job.exit_code == 0 else ["FRAG_JOB_REQUEST"])
        assert job.start_time is None or job.start_time <= after.get(number, job.start_time)
        assert job.start_time is not None or number not in runs


def test_jobs_that_are_killed_together_are_killed_at_once(cluster: DaskCluster, tmp_path: Path) -> None:
    """None of them begins after another one that did not."""
    cluster.submit(
        [JobRequest(job=job, command=f"echo {job} >> runs", directory=str(tmp_path), group=0) for job in range(200)]
    )
    path, chance = tmp_path / "runs", random.Random(5)
    killed: list[range] = []
    for first in range(10, 160, 40):
        while not path.exists() or int((path.read_text().split() or ["0"])[-1]) < first:
            time.sleep(0.001)
        killed.append(range(first + chance.randint(1, 5), first + 35))
        cluster.kill(chance.sample(killed[-1], len(killed[-1])))
    found = ends(cluster)
    for jobs in killed:
        begun = [found[number].start_time is not None for number in jobs]
        assert begun == sorted(begun, reverse=True)


def test_jobs_that_run_are_killed_when_they_are_forgotten(cluster: DaskCluster, tmp_path: Path) -> None:
    commands = ["echo $$ > process; sleep 60; echo 1 >> runs", "echo 2 >> runs"]
    cluster.submit(
        [JobRequest(job=job, command=each, directory=str(tmp_path), group=1) for job, each in enumerate(commands, 1)]
    )
    until(lambda: (tmp_path / "process").exists() and bool((tmp_path / "process").read_text().strip()))
    cluster.forget([1, 2])
    assert cluster.look().jobs == ()
    assert_gone(int((tmp_path / "process").read_text()))
    until(lambda: cluster.look().free == 2)
    assert not (tmp_path / "runs").exists()


PROGRAM = """
import sys, time
from batprotocol.campaigns.managers import DaskCluster, Request
cluster = DaskCluster("dask", sys.argv[1], mark=sys.argv[3])
cluster.submit([Request(job=n, command=f"echo {n} >> runs; sleep 0.3", directory=sys.argv[2]) for n in range(6)])
print("submitted", flush=True)
time.sleep(60)
"""


def test_jobs_survive_whoever_started_them(
    dask: DaskProcesses, cluster: DaskCluster, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    words = [sys.executable, "-c", PROGRAM, dask.address, str(tmp_path), request.node.name]
    program = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    assert program.stdout.readline() == "submitted\n"
    program.kill()
    program.wait()
    program.stdout.close()
    until(lambda: len(cluster.look().jobs) == 6)
    assert [job.exit_code for job in ends(cluster).values()] == [0] * 6
    assert sorted((tmp_path / "runs").read_text().split()) == [str(number) for number in range(6)]


def test_a_campaign_while_the_loop_is_killed(dask: DaskProcesses, tmp_path: Path) -> None:
    url = str(tmp_path / "grid.db")
    store = GridStore(url)
    campaign = submit(store, [ClusterEntry(name="there", batch="dask", address=dask.address)], 16, tmp_path)
    run_and_kill(url, 2, random.Random(1), cycle=0.2, pause=0.5, halfway=lambda: None)
    judge(store, campaign, 16, tmp_path)
    store.close()


def test_a_worker_is_killed(dask: DaskProcesses, cluster: DaskCluster, tmp_path: Path) -> None:
    """What it ran is lost and not run again, what it had run stays done, and what it kept waiting runs elsewhere."""
    cluster.submit(
        [JobRequest(job=number, command=f"echo {number} >> runs", directory=str(tmp_path)) for number in range(4)]
    )
    assert [job.exit_code for job in ends(cluster).values()] == [0] * 4
    command = "until test -e go; do sleep 0.01; done"
    waiting = [
        JobRequest(job=number, command=f"echo {number} >> runs; {command}", directory=str(tmp_path))
        for number in range(4, 12)
    ]
    cluster.submit(waiting)
    until(lambda: cluster.look().free == 0)
    dask.workers[0].kill()
    (tmp_path / "go").touch()
    found = ends(cluster)
    assert [found[number].exit_code for number in range(4)] == [0] * 4
    lost = [job for job in found.values() if why(job) == ["EXTERMINATE"]]
    assert len(lost) <= 1
    assert all(job.exit_code == 0 for job in found.values() if job not in lost)
    runs = [int(number) for number in (tmp_path / "runs").read_text().split()]
    assert len(runs) == len(set(runs))
    assert set(runs) >= {job.job for job in found.values() if job.exit_code == 0}


def test_a_scheduler_that_is_started_anew_is_told_of(tmp_path: Path) -> None:
    """It has forgotten its jobs, so that some may run twice."""
    port = free_port()
    with dask_processes(tmp_path, workers=0, port=port) as first:
        cluster = DaskCluster("dask", first.address, timeout=5.0)
        assert cluster.look().message == ""
    with dask_processes(tmp_path, workers=0, port=port):
        until(lambda: "was restarted" in message_of(cluster))
        assert cluster.look().message == ""
    cluster.close()


def message_of(cluster: DaskCluster) -> str:
    try:
        return cluster.look().message
    except ClusterError:
        return ""


def test_nobody_is_there() -> None:
    with pytest.raises(ClusterError, match=r"cluster away: tcp://127\.0\.0\.1:9 does not answer"):
        DaskCluster("away", "tcp://127.0.0.1:9", timeout=0.5)
