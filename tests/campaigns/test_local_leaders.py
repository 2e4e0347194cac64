"""Leaders of jobs on this machine, and commands in a worker of Dask: what they start, and when they do not."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import patience
import pytest

from batprotocol.campaigns.managers import JobRequest, LocalProcesses, _local_leader
from batprotocol.campaigns.model import GridJobState

WITHOUT_ENGINE = True

until = partial(patience.until, patience=60.0, step=0.005)


@pytest.mark.parametrize("has_descriptors", [True, False])
def test_an_end_is_waited_for_with_and_without_descriptors_of_processes(
    has_descriptors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is not reaped: its status is still there."""
    if not has_descriptors:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    process = subprocess.Popen([sys.executable, "-c", "input(); exit(3)"], stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert not _local_leader.wait(process.pid, 0.0)
    assert not _local_leader.wait(process.pid, 0.02)
    process.stdin.write(b"\n")
    process.stdin.close()
    assert _local_leader.wait(process.pid, 60.0)
    assert _local_leader.wait(process.pid, 0.0)
    assert os.waitpid(process.pid, 0) == (process.pid, 3 << 8)
    process.returncode = 3


def test_a_leader_is_not_started_for_jobs_that_have_one(tmp_path: Path) -> None:
    """The lock of a folder is its leader's; no other folder's."""
    held = os.open(tmp_path / "lock", os.O_RDONLY | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    before = set(os.listdir("/proc/self/fd"))
    assert _local_leader.start(str(tmp_path)) == 0
    assert set(os.listdir("/proc/self/fd")) == before
    assert not (tmp_path / "started").exists()
    os.close(held)


def test_jobs_that_run_and_jobs_that_wait_are_found_again(tmp_path: Path) -> None:
    """Each is started once, and those that run have their slots."""
    command = "echo $0 >> runs; until test -e go; do sleep 0.01; done"
    requests = [JobRequest(job=number, command=command, directory=str(tmp_path)) for number in range(3)]
    cluster = LocalProcesses("here", tmp_path / "here", slots=2)
    cluster.submit(requests)
    until(lambda: cluster.look() and len(runs_of(tmp_path)) == 2)
    before = states_of(cluster)
    cluster.close()
    again = LocalProcesses("here", tmp_path / "here", slots=2)
    assert states_of(again) == before
    assert list(before.values()).count(GridJobState.RUNNING) == 2
    (tmp_path / "go").touch()
    until(lambda: set(states_of(again).values()) == {GridJobState.TERMINATED})
    assert [job.exit_code for job in again.look().jobs] == [0, 0, 0]
    assert len(runs_of(tmp_path)) == 3
    again.forget([0, 1, 2])
    again.close()


def runs_of(folder: Path) -> list[str]:
    runs = folder / "runs"
    return runs.read_text().splitlines() if runs.exists() else []


def states_of(cluster: LocalProcesses) -> dict[int, GridJobState]:
    return {job.job: job.state for job in cluster.look().jobs}


DYING = ["setpriv", "--pdeathsig", "KILL", "--"]


@pytest.mark.parametrize("has_it", [True, False])
@pytest.mark.parametrize("best_effort", [True, False])
def test_a_command_dies_with_its_worker_and_gives_way_if_it_is_of_best_effort(
    has_it: bool, best_effort: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = pytest.importorskip("batprotocol.campaigns.managers._dask_worker")
    words: list[list[str]] = []

    def run(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        words.append(command)
        return subprocess.Popen(command[-3:], **options)

    def start(name: str, begin: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        return begin()

    module = SimpleNamespace(**{**vars(subprocess), "Popen": run})
    monkeypatch.setattr(worker, "subprocess", module)
    monkeypatch.setattr(worker, "shutil", SimpleNamespace(which=lambda name: f"/bin/{name}" if has_it else None))
    job = {"name": "j", "directory": str(tmp_path), "environment": {}, "command": "exit 4", "walltime": 60.0}
    found = worker._run(SimpleNamespace(start=start), {**job, "best_effort": best_effort})
    assert found["exit_code"] == 4 << 8
    assert words == [[*(DYING if has_it else []), *(["nice", "-n", "19"] if best_effort else []), "sh", "-c", "exit 4"]]
