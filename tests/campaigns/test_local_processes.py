"""A cluster of processes on this machine: real ones, killed in the middle, found again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import patience
import pytest

from batprotocol.campaigns.loop import request_of
from batprotocol.campaigns.managers import JobRequest, LocalProcesses, ResourceManager
from batprotocol.campaigns.managers.interface import NODES
from batprotocol.campaigns.model import (
    Campaign,
    ClusterProperties,
    GridJob,
    GridJobState,
    GridTask,
    RemoteJob,
)
from batprotocol.errors import ClusterError

WITHOUT_ENGINE = True

PATIENCE = 120.0
until = partial(patience.until, patience=PATIENCE, step=0.01)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalProcesses]:
    found = LocalProcesses("here", tmp_path / "here", slots=2)
    yield found
    found.forget([job.job for job in found.look().jobs])
    found.close()


def job_of(cluster: ResourceManager, number: int) -> RemoteJob | None:
    return next((job for job in cluster.look().jobs if job.job == number), None)


def end_of(cluster: ResourceManager, number: int) -> RemoteJob:
    until(lambda: (job := job_of(cluster, number)) is not None and job.state is GridJobState.TERMINATED)
    job = job_of(cluster, number)
    assert job is not None
    return job


def why(job: RemoteJob) -> list[str]:
    return [event.type for event in job.events]


def test_it_is_a_resource_manager(cluster: LocalProcesses) -> None:
    assert isinstance(cluster, ResourceManager)
    seen = cluster.look()
    assert (seen.cluster, seen.max, seen.free, seen.jobs) == ("here", 2, 2, ())


@pytest.mark.parametrize(("command", "status"), [("true", 0), ("exit 3", 3 << 8), ("kill -9 $$", 9)])
def test_a_job_ends_with_its_status(cluster: LocalProcesses, tmp_path: Path, command: str, status: int) -> None:
    cluster.submit([JobRequest(job=1, command=command, directory=str(tmp_path))])
    job = end_of(cluster, 1)
    assert (job.exit_code, why(job)) == (status, [])
    assert job.start_time is not None
    assert job.stop_time is not None
    assert job.start_time <= job.stop_time


def test_no_more_run_than_there_are_slots(cluster: LocalProcesses, tmp_path: Path) -> None:
    jobs = [JobRequest(job=number, command="sleep 60", directory=str(tmp_path)) for number in (1, 2, 3)]
    cluster.submit(jobs)
    until(lambda: cluster.look().free == 0)
    assert [job.state for job in cluster.look().jobs].count(GridJobState.RUNNING) == 2
    assert job_of(cluster, 3) == RemoteJob(
        job=3, state=GridJobState.REMOTE_WAITING, remote_id="3", node=os.uname().nodename
    )
    cluster.kill([3])
    assert why(end_of(cluster, 3)) == ["FRAG_JOB_REQUEST"]


@pytest.mark.slow
def test_a_job_of_several_slots_waits_for_all_of_them(cluster: LocalProcesses, tmp_path: Path) -> None:
    small = JobRequest(job=1, command="sleep 0.3", directory=str(tmp_path))
    count = "wc -l < $NODES"
    large = JobRequest(job=2, command=count, directory=str(tmp_path), weight=2, environment={"NODES": NODES})
    impossible = JobRequest(job=3, command="true", directory=str(tmp_path), weight=3)
    cluster.submit([small, large, impossible])
    assert why(end_of(cluster, 3)) == ["REFUSED"]
    first, second = end_of(cluster, 1), end_of(cluster, 2)
    assert first.stop_time is not None
    assert second.start_time is not None
    assert first.stop_time <= second.start_time
    assert (tmp_path / "here" / "output" / "2.stdout").read_text().split() == ["2"]


def test_time_is_up(cluster: LocalProcesses, tmp_path: Path) -> None:
    cluster.submit([JobRequest(job=1, command="sleep 60 & sleep 60", directory=str(tmp_path), walltime=0.2)])
    job = end_of(cluster, 1)
    assert (job.exit_code, why(job)) == (None, ["WALLTIME"])
    cluster.submit([JobRequest(job=2, command="exit 124", directory=str(tmp_path))])
    assert end_of(cluster, 2).exit_code == 124 << 8


def test_a_job_is_killed_with_all_that_it_started(cluster: LocalProcesses, tmp_path: Path) -> None:
    command = "sleep 60 & echo $! > child; sleep 60"
    cluster.submit([JobRequest(job=1, command=command, directory=str(tmp_path))])
    cluster.tend()
    until(lambda: (tmp_path / "child").exists() and bool((tmp_path / "child").read_text().strip()))
    cluster.kill([1])
    cluster.kill([1, 99])
    assert why(end_of(cluster, 1)) == ["FRAG_JOB_REQUEST"]
    assert_gone(int((tmp_path / "child").read_text()))


def assert_gone(process: int) -> None:
    def gone() -> bool:
        try:
            return Path(f"/proc/{process}/stat").read_text().split(") ")[1].startswith("Z")
        except FileNotFoundError:
            return True

    until(gone)


def test_what_a_job_leaves_running_is_killed_at_its_end(cluster: LocalProcesses, tmp_path: Path) -> None:
    cluster.submit([JobRequest(job=1, command="sleep 60 & echo $! > child", directory=str(tmp_path))])
    assert end_of(cluster, 1).exit_code == 0
    assert_gone(int((tmp_path / "child").read_text()))


def test_a_job_that_somebody_kills_has_no_end(cluster: LocalProcesses, tmp_path: Path) -> None:
    cluster.submit([JobRequest(job=1, command="echo $PPID > leader; sleep 60", directory=str(tmp_path))])
    cluster.tend()
    until(lambda: (tmp_path / "here" / "jobs" / "1" / "pid").exists() and (tmp_path / "leader").exists())
    os.killpg(int((tmp_path / "here" / "jobs" / "1" / "pid").read_text()), signal.SIGKILL)
    assert why(end_of(cluster, 1)) == ["EXTERMINATE"]


def test_a_missing_directory(cluster: LocalProcesses, tmp_path: Path) -> None:
    cluster.submit([JobRequest(job=1, command="true", directory=str(tmp_path / "missing"))])
    assert why(end_of(cluster, 1)) == ["WORKING_DIRECTORY"]


def test_the_environment(cluster: LocalProcesses, tmp_path: Path) -> None:
    """The specification's variables, each with its aliases, as a job finds them."""
    says = ClusterProperties(
        cluster="here",
        exec_file="env > environment; cat $CIGRI_NODEFILE > nodes; true",
        exec_directory=str(tmp_path),
        resources="/nodes=1/cpu=2",
        walltime="01:30:00",
    )
    campaign = Campaign(id=3, user="alice", name="n", clusters=(says,))
    job = GridJob(id=7, campaign=3, task=1, cluster="here", weight=2)
    cluster.submit([request_of(job, campaign, GridTask(1, 3, "t0", "t0 x"))])
    assert end_of(cluster, 7).exit_code == 0
    lines = (line.partition("=") for line in (tmp_path / "environment").read_text().splitlines())
    found = {name: value for name, _, value in lines if name.startswith("CIGRI_")}
    assert found.pop("CIGRI_NODE_FILE") == found.pop("CIGRI_NODEFILE")
    assert found == {
        "CIGRI_JOB_ID": "7",
        "CIGRI_JOBID": "7",
        "CIGRI_CAMPAIGNID": "3",
        "CIGRI_CAMPAIGN_ID": "3",
        "CIGRI_JOB_NAME": "t0",
        "CIGRI_JOBNAME": "t0",
        "CIGRI_USER": "alice",
        "CIGRI_WORKDIR": str(tmp_path),
        "CIGRI_WORKING_DIRECTORY": str(tmp_path),
        "CIGRI_RESOURCES": "/nodes=1/cpu=2",
        "CIGRI_WALLTIME": "01:30:00",
        "CIGRI_WALLTIME_SECONDS": "5400",
    }
    assert len((tmp_path / "nodes").read_text().split()) == 2


def test_a_number_is_submitted_once(cluster: LocalProcesses, tmp_path: Path) -> None:
    request = JobRequest(job=1, command="echo again >> runs", directory=str(tmp_path))
    for _ in range(3):
        cluster.submit([request, request])
        end_of(cluster, 1)
    assert (tmp_path / "runs").read_text() == "again\n"
    cluster.forget([1])
    assert cluster.look().jobs == ()
    assert list((tmp_path / "here" / "jobs").iterdir()) == []


PROGRAM = """
import sys, time
from batprotocol.campaigns.loop import request_of
from batprotocol.campaigns.managers import LocalProcesses, Request
cluster = LocalProcesses("here", sys.argv[1], slots=2)
commands = [f"echo {n} >> runs; until test -e go; do sleep 0.01; done; exit {n}" for n in range(6)]
cluster.submit([Request(job=n, command=each, directory=sys.argv[2]) for n, each in enumerate(commands)])
print("submitted", flush=True)
while True:
    cluster.tend()
    time.sleep(0.01)
"""


@pytest.mark.slow
def test_jobs_survive_whoever_started_them(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "submitted\n"
    with pytest.raises(ClusterError, match="in use by another process"):
        LocalProcesses("here", folder, slots=2)
    until(lambda: (tmp_path / "runs").exists())
    program.kill()
    program.wait()
    program.stdout.close()
    cluster = LocalProcesses("here", folder, slots=2)
    seen = {job.job: job.state for job in cluster.look().jobs}
    assert set(seen) == set(range(6))
    assert GridJobState.RUNNING in seen.values()
    (tmp_path / "go").touch()
    assert [end_of(cluster, number).exit_code for number in range(6)] == [number << 8 for number in range(6)]
    assert sorted((tmp_path / "runs").read_text().split()) == [str(number) for number in range(6)]
    cluster.close()


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ClusterError, match=r"cluster here: .*file"):
        LocalProcesses("here", tmp_path / "file")


def test_a_job_that_was_being_forgotten_is_not_started_again(tmp_path: Path) -> None:
    """Whoever had the folder may have been killed anywhere, also while it was throwing a job away."""
    cluster = LocalProcesses("here", tmp_path / "here", slots=2)
    cluster.submit([JobRequest(job=1, command="echo again >> runs", directory=str(tmp_path))])
    end_of(cluster, 1)
    removed: list[Path] = []

    def interrupted(path: Path, **_: object) -> None:
        removed.append(path)
        (path / "started").rmdir()
        (path / "log").unlink()
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shutil.rmtree", interrupted)
        with pytest.raises(KeyboardInterrupt):
            cluster.forget([1])
    cluster.close()
    assert removed
    again = LocalProcesses("here", tmp_path / "here", slots=2)
    assert again.look().jobs == ()
    assert (tmp_path / "runs").read_text() == "again\n"
    again.close()


def test_leaders_that_have_ended_are_reaped(cluster: LocalProcesses, tmp_path: Path) -> None:
    for number in range(1, 6):
        cluster.submit([JobRequest(job=number, command="true", directory=str(tmp_path))])
        end_of(cluster, number)
    starter = cluster._starter._process
    assert starter is not None
    dead = [each for each in stats() if each[1] == str(starter.pid) and each[0] == "Z"]
    assert len(dead) <= 1


def stats() -> Iterator[list[str]]:
    """The state and the parent of each process."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            yield path.read_text().rpartition(")")[2].split()[:2]
