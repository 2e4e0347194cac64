"""A cluster that PSI/J submits jobs to: a real Slurm, and jobs that are lost, killed and submitted twice."""

from __future__ import annotations

import json
import random
import shlex
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import patience
import pytest
from crashing import judge, run_and_kill, submit
from patience import jobs_of
from servers import folder_of
from slurms import RunningSlurm, running_slurm

from batprotocol.campaigns.managers import JobRequest, psij
from batprotocol.campaigns.managers.interface import DIRECTORY, NODES
from batprotocol.campaigns.managers.psij import PsijCluster
from batprotocol.campaigns.model import GridJobState, RemoteJob
from batprotocol.campaigns.store import ClusterEntry, GridStore
from batprotocol.errors import ClusterError

WITHOUT_ENGINE = True

PATIENCE = 120.0
until = partial(patience.until, patience=PATIENCE, step=0.2)
ends = partial(patience.ends, patience=PATIENCE, step=0.2)


@pytest.fixture(scope="module")
def slurm() -> Iterator[RunningSlurm]:
    folder_of("pystache")
    with running_slurm(2, 4) as found:
        yield found


def described(place: Path, **more: Any) -> str:
    members = {"type": "psij", "executor": "slurm", "folder": "jobs", "slots": 8, "queue": "idle", **more}
    path = place / "psij.toml"
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in members.items()))
    return str(path)


@pytest.fixture
def path(slurm: RunningSlurm, tmp_path: Path) -> str:
    return described(tmp_path, python=str(folder_of("pystache") / "python"))


@pytest.fixture
def cluster(path: str) -> Iterator[PsijCluster]:
    yield PsijCluster("p", path, "m")
    last = PsijCluster("p", path, "m")
    last.forget([job.job for job in last.look().jobs])


def why(job: RemoteJob) -> list[str]:
    return [event.type for event in job.events]


def test_jobs_end(cluster: PsijCluster, tmp_path: Path) -> None:
    odd = "it's $(touch x) `touch x` \"\n\\ \u00e9"
    here: dict[str, Any] = {"directory": str(tmp_path)}
    requests = [
        JobRequest(job=1, command="echo out; echo err >&2; exit 3", **here),
        JobRequest(
            job=2,
            command=f'printf %s {shlex.quote(odd)} >a; printf %s "$A" >b',
            **here,
            environment={"A": odd},
        ),
        JobRequest(job=3, command='printf %s "$D" >d; cat "$N" >n', **here, environment={"D": DIRECTORY, "N": NODES}),
        JobRequest(job=4, command="true", directory="/nowhere"),
        JobRequest(job=5, command="true", weight=9),
        JobRequest(job=6, command="kill -9 $$", **here),
    ]
    cluster.submit(requests)
    cluster.submit(requests)
    found = ends(cluster)
    assert [found[number].exit_code for number in (1, 2, 3, 6)] == [3 << 8, 0, 0, 137 << 8]
    assert (found[1].output, found[1].errors) == ("out\n", "err\n")
    assert [why(found[number]) for number in (4, 5)] == [["WORKING_DIRECTORY"], ["REFUSED"]]
    assert [(tmp_path / name).read_text() for name in "abd"] == [odd, odd, str(tmp_path)]
    assert (tmp_path / "n").read_text().strip() in ("n0", "n1")
    assert not (tmp_path / "x").exists()


def test_jobs_are_killed_and_found_again(
    cluster: PsijCluster, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psij, "GONE_SECONDS", 0.5)
    cluster.submit(
        [
            JobRequest(job=number, command=f"echo {number} >>runs; sleep 1000", directory=str(tmp_path))
            for number in range(12)
        ]
    )
    assert cluster.look().free == 0
    until(lambda: sum(job.state is GridJobState.RUNNING for job in jobs_of(cluster).values()) == 8)
    again = PsijCluster("p", path, "m")
    waiting = [number for number, job in jobs_of(again).items() if job.state is GridJobState.REMOTE_WAITING]
    assert len(waiting) == 4
    again.kill([*waiting[:2], 0, 1])
    until(lambda: sum(job.state is GridJobState.TERMINATED for job in jobs_of(again).values()) == 4)
    assert {number for number, job in jobs_of(again).items() if why(job)} == {*waiting[:2], 0, 1}
    again.forget(range(12))
    assert again.look().jobs == ()
    runs = (tmp_path / "runs").read_text().split()
    assert len(runs) == len(set(runs))
    assert not set(runs) & {str(number) for number in waiting[:2]}


def test_a_submission_whose_answer_is_lost_runs_once(cluster: PsijCluster, path: str, tmp_path: Path) -> None:
    """The number of the batch system is not written down: the job is submitted again, and one of both runs."""
    cluster.submit([JobRequest(job=1, command="echo x >>runs; sleep 2", directory=str(tmp_path))])
    (tmp_path / "jobs" / "m" / "1" / "native").unlink()
    again = PsijCluster("p", path, "m")
    assert ends(again)[1].exit_code == 0
    assert (tmp_path / "runs").read_text() == "x\n"


def test_a_job_that_the_batch_system_loses_is_lost(
    slurm: RunningSlurm, cluster: PsijCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psij, "GONE_SECONDS", 0.5)
    cluster.submit(
        [JobRequest(job=1, command="sleep 1000"), JobRequest(job=2, command="sleep 3", directory=str(tmp_path))]
    )
    until(lambda: jobs_of(cluster)[1].state is GridJobState.RUNNING)
    native = jobs_of(cluster)[1].remote_id
    assert native is not None
    slurm.command("scancel", "--signal=KILL", "--full", native)
    found = ends(cluster)
    assert why(found[1]) == ["EXTERMINATE"]
    assert found[2].exit_code == 0


def test_a_campaign_while_the_loop_is_killed(path: str, tmp_path: Path) -> None:
    url = str(tmp_path / "grid.db")
    store = GridStore(url)
    campaign = submit(store, [ClusterEntry(name="p", batch="psij", address=path)], 12, tmp_path)
    run_and_kill(url, 2, random.Random(1), cycle=0.5, pause=3.0, halfway=lambda: None)
    judge(store, campaign, 12, tmp_path)
    store.close()


def test_what_is_wrong_is_a_sentence(slurm: RunningSlurm, tmp_path: Path) -> None:
    python = str(folder_of("pystache") / "python")
    cluster = PsijCluster("p", described(tmp_path, python=python, queue="nowhere"), "m")
    with pytest.raises(ClusterError, match=r"PSI/J with slurm fails: .*partition"):
        cluster.submit([JobRequest(job=1, command="true")])
    bare = shutil.which("python3", path="/usr/bin")
    cluster = PsijCluster("p", described(tmp_path, python=bare or "/nowhere", folder="other"), "m")
    with pytest.raises(ClusterError, match=r"has no PSI/J|cannot be run"):
        cluster.submit([JobRequest(job=1, command="true")])
