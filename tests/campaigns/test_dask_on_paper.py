"""The register of jobs on Dask's scheduler, and the commands on a worker, in this process and without a network."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import patience
import pytest

from batprotocol.campaigns.managers import DaskCluster, JobRequest, dask
from batprotocol.campaigns.managers.interface import DIRECTORY, NODES
from batprotocol.campaigns.model import GridJobState, RemoteJob
from batprotocol.errors import ClusterError

WITHOUT_ENGINE = True

worker = pytest.importorskip("batprotocol.campaigns.managers._dask_worker")
until = partial(patience.until, patience=60.0, step=0.005)


class PaperDask:
    """A Dask of one worker, whose tasks run when the test says so.

    Attributes:
        handlers: the functions that the register has added to the scheduler.
        submitted: the tasks, with their options.
        kept: the keys that the register keeps.
        workers: the workers of the scheduler.
        takes: whether the scheduler takes tasks that are submitted.
        fault: raised by the next question.
    """

    def __init__(self) -> None:
        self.handlers: dict[str, Callable[..., Any]] = {}
        self.submitted: list[tuple[list[dict[str, Any]], dict[str, Any]]] = []
        self.kept: set[str] = set()
        self.workers: dict[str, Any] = {"w": SimpleNamespace(nthreads=2, processing=[])}
        self.takes = True
        self.fault: Exception | None = None
        self.closed = 0
        self.restart()

    def restart(self) -> None:
        """The scheduler starts anew, with an empty register."""
        self.handlers.clear()
        self.register = worker.Register()
        asyncio.run(self.register.start(self))
        self.here = SimpleNamespace(address="w", loop=None, scheduler=self)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in self.handlers:
            raise AttributeError(name)
        return self.handlers[name]

    # as a scheduler

    def client_desires_keys(self, keys: list[str], client: str) -> None:
        assert client == worker.MARK
        self.kept |= set(keys)

    def client_releases_keys(self, keys: list[str], client: str) -> None:
        assert client == worker.MARK
        self.kept -= set(keys)

    # as a client

    @property
    def scheduler(self) -> PaperDask:
        return self

    def scheduler_info(self) -> dict[str, Any]:
        return {}

    def sync(self, function: Callable[..., Any], **arguments: Any) -> Any:
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault
        answer = function(**arguments)
        return asyncio.run(_of(answer)) if inspect.isawaitable(answer) else answer

    def submit(self, function: Any, jobs: list[dict[str, Any]], **options: Any) -> None:
        assert function is worker.run_commands
        self.submitted.append((jobs, options))
        if self.takes:
            self.register.update_graph(self, keys={options["key"], "another"})

    def run(self, function: Any, names: list[str]) -> None:
        asyncio.run(function(names, dask_worker=self.here))

    def close(self, timeout: float) -> None:
        self.closed += 1

    # as a worker

    def work(self) -> None:
        """Run all tasks that were submitted."""
        tasks, self.submitted = self.submitted, []
        for jobs, _ in tasks:
            worker.run_commands(jobs)


async def _of(answer: Any) -> Any:
    return await answer


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> PaperDask:
    found = PaperDask()
    monkeypatch.setattr(dask, "connect", lambda address, timeout, prepare: found)
    monkeypatch.setattr(worker, "get_worker", lambda: found.here)
    monkeypatch.setattr(worker, "sync", lambda loop, function, **arguments: found.sync(function, **arguments))
    return found


@pytest.fixture
def cluster(world: PaperDask) -> DaskCluster:
    return DaskCluster("far", "tcp://h:1", mark="m", timeout=5.0)


def request(number: int, command: str, folder: Path | str, **more: Any) -> JobRequest:
    return JobRequest(job=number, command=command, directory=str(folder), **more)


def jobs(cluster: DaskCluster) -> dict[int, RemoteJob]:
    return {job.job: job for job in cluster.look().jobs}


def why(job: RemoteJob) -> list[str]:
    return [event.type for event in job.events]


def test_what_is_submitted_and_how(world: PaperDask, cluster: DaskCluster, tmp_path: Path) -> None:
    requests = [
        request(1, "true", tmp_path),
        request(2, "true", tmp_path, best_effort=False, weight=3),
        request(3, "true", tmp_path, group=3),
        request(4, "true", tmp_path, group=3),
    ]
    cluster.submit(requests)
    cluster.submit([])
    options = [(options["key"], options["priority"], options["resources"]) for _, options in world.submitted]
    assert options == [("m.1", -10, None), ("m.2", 0, {"slots": 3}), ("m.3", -10, None)]
    assert [[job["name"] for job in jobs] for jobs, _ in world.submitted] == [["m.1"], ["m.2"], ["m.3", "m.4"]]
    assert world.kept == {"m.1", "m.2", "m.3"}
    cluster.submit(requests)
    assert len(world.submitted) == 3
    assert {job.state for job in jobs(cluster).values()} == {GridJobState.REMOTE_WAITING}
    assert jobs(cluster)[2].remote_id == "m.2"


def test_jobs_end(world: PaperDask, cluster: DaskCluster, tmp_path: Path) -> None:
    environment = {"A": "a b", "D": DIRECTORY, "N": NODES}
    cluster.submit(
        [
            request(1, 'printf "%s;" "$A" "$D" "$(wc -l <"$N")" >got; echo fine', tmp_path, environment=environment),
            request(2, "echo out; echo err >&2; exit 3", tmp_path),
            request(3, "kill -9 $$", tmp_path),
            request(4, "true", tmp_path / "missing"),
            request(5, "sleep 60 & sleep 60", tmp_path, walltime=0.1),
            request(6, "seq 9999; exit 1", tmp_path),
        ]
    )
    before = time.time()
    world.work()
    found = jobs(cluster)
    assert (tmp_path / "got").read_text().split(";")[:3] == ["a b", str(tmp_path), "1"]
    assert [found[number].exit_code for number in range(1, 7)] == [0, 3 << 8, 9, None, None, 1 << 8]
    assert [why(found[number]) for number in (3, 4, 5)] == [[], ["WORKING_DIRECTORY"], ["WALLTIME"]]
    assert (found[1].output, found[2].output, found[2].errors) == ("", "out\n", "err\n")
    assert found[6].output.endswith("\n9998\n9999\n")
    assert 9_000 < len(found[6].output) <= 10_000
    first = found[1]
    assert first.start_time is not None
    assert first.stop_time is not None
    assert before <= first.start_time <= first.stop_time <= time.time()
    assert first.node == os.uname().nodename
    assert {job.state for job in found.values()} == {GridJobState.TERMINATED}


def test_the_home_directory(
    world: PaperDask, cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a").mkdir()
    cluster.submit([request(1, "pwd >$HOME/one", "~/a"), request(2, "pwd >$HOME/two", "$HOME/a")])
    world.work()
    assert (tmp_path / "one").read_text() == (tmp_path / "two").read_text() == f"{tmp_path}/a\n"


def test_best_effort_is_nice(world: PaperDask, cluster: DaskCluster, tmp_path: Path) -> None:
    cluster.submit([request(1, "nice >one", tmp_path), request(2, "nice >two", tmp_path, best_effort=False)])
    world.work()
    usual = os.nice(0)
    assert [int((tmp_path / name).read_text()) for name in ("one", "two")] == [min(19, usual + 19), usual]


def test_a_group_runs_in_order_and_may_lose_some(world: PaperDask, cluster: DaskCluster, tmp_path: Path) -> None:
    commands = ["echo 1 >>runs", "exit 3", "echo 3 >>runs", "echo 4 >>runs"]
    cluster.submit([request(number, each, tmp_path, group=1) for number, each in enumerate(commands, 1)])
    cluster.kill([3])
    assert why(jobs(cluster)[3]) == ["FRAG_JOB_REQUEST"]
    tasks = list(world.submitted)
    world.work()
    world.submitted = tasks  # Dask runs a task again when its worker dies
    world.work()
    found = jobs(cluster)
    assert (tmp_path / "runs").read_text() == "1\n4\n"
    assert [found[number].exit_code for number in (1, 2, 4)] == [0, 3 << 8, 0]


def test_a_job_that_runs_is_killed(world: PaperDask, cluster: DaskCluster, tmp_path: Path) -> None:
    cluster.submit([request(1, "touch begun; sleep 60", tmp_path), request(2, "touch never", tmp_path)])
    thread = threading.Thread(target=world.work)
    thread.start()
    until((tmp_path / "begun").exists)
    assert jobs(cluster)[1].state is GridJobState.RUNNING
    cluster.kill([1, 2, 9])
    thread.join(60.0)
    found = jobs(cluster)
    assert [why(found[number]) for number in (1, 2)] == [["FRAG_JOB_REQUEST"]] * 2
    assert found[1].exit_code is None
    assert not (tmp_path / "never").exists()


def test_a_job_that_ends_well_before_it_is_killed_ends_well(
    world: PaperDask, cluster: DaskCluster, tmp_path: Path
) -> None:
    cluster.submit([request(1, "true", tmp_path)])
    call = world.register
    asyncio.run(call.begin(["m.1"], "w", "n"))
    assert asyncio.run(call.end("", next="m.1")) is True
    assert asyncio.run(call.end("", next="m.1")) is False  # it begins once
    assert asyncio.run(call.kill(["m.1"], "FRAG_JOB_REQUEST")) == ["m.1"]
    asyncio.run(call.end("m.1", exit_code=0, cause=None))
    assert (jobs(cluster)[1].exit_code, why(jobs(cluster)[1])) == (0, [])
    asyncio.run(call.end("m.1", exit_code=9, cause=None))
    assert jobs(cluster)[1].exit_code == 0
    assert asyncio.run(call.kill(["m.1"], "FRAG_JOB_REQUEST")) == []


def test_a_worker_that_is_gone_loses_its_jobs(world: PaperDask, cluster: DaskCluster, tmp_path: Path) -> None:
    cluster.submit([request(number, "true", tmp_path) for number in (1, 2, 3, 4)])
    call = world.register
    for name, where in (("m.1", "w"), ("m.2", "w"), ("m.3", "other")):
        asyncio.run(call.begin([name], where, "n"))
        asyncio.run(call.end("", next=name))
    asyncio.run(call.kill(["m.2"], "FRAG_JOB_REQUEST"))
    call.remove_worker(world, "w")
    found = jobs(cluster)
    assert [why(found[number]) for number in (1, 2, 3, 4)] == [["EXTERMINATE"], ["FRAG_JOB_REQUEST"], [], []]
    assert [found[number].state for number in (3, 4)] == [GridJobState.RUNNING, GridJobState.REMOTE_WAITING]
    assert asyncio.run(call.begin(["m.1"], "w", "n")) is False
    assert asyncio.run(call.begin(["nothing"], "w", "n")) is False
    assert asyncio.run(call.begin(["m.1", "m.4"], "w", "n")) is True
    assert "worker" not in call.jobs["m.1"] or call.jobs["m.1"]["worker"] == "w"


def test_what_is_free(world: PaperDask, cluster: DaskCluster) -> None:
    world.workers["v"] = SimpleNamespace(nthreads=4, processing=["a", "b", "c"])
    world.workers["u"] = SimpleNamespace(nthreads=1, processing=["a", "b"])
    seen = cluster.look()
    assert (seen.cluster, seen.max, seen.free, seen.message) == ("far", 7, 3, "")


def test_jobs_of_other_stores_are_left_alone(world: PaperDask, cluster: DaskCluster, tmp_path: Path) -> None:
    other = DaskCluster("far", "tcp://h:1", mark="n", timeout=5.0)
    other.submit([request(1, "true", tmp_path)])
    assert (jobs(cluster), list(jobs(other))) == ({}, [1])
    cluster.forget([1])
    assert list(jobs(other)) == [1]


def test_what_is_forgotten(world: PaperDask, cluster: DaskCluster, tmp_path: Path) -> None:
    cluster.submit([request(number, "true", tmp_path, group=1) for number in (1, 2)])
    cluster.submit([request(3, "touch never", tmp_path)])
    cluster.kill([])
    cluster.forget([])
    cluster.forget([1, 3, 99])
    assert (list(jobs(cluster)), world.kept) == ([2], {"m.1"})
    cluster.forget([2])
    assert (jobs(cluster), world.kept) == ({}, set())
    world.work()
    assert not (tmp_path / "never").exists()
    cluster.submit([request(3, "true", tmp_path)])
    assert list(jobs(cluster)) == [3]


def test_a_scheduler_that_was_restarted_is_reported_once(
    world: PaperDask, cluster: DaskCluster, tmp_path: Path
) -> None:
    cluster.submit([request(1, "true", tmp_path)])
    assert cluster.look().message == ""
    world.restart()
    seen = cluster.look()
    assert (seen.message, seen.jobs) == (dask.RESTARTED, ())
    assert cluster.look().message == ""


def test_a_scheduler_that_does_not_answer(world: PaperDask, cluster: DaskCluster, tmp_path: Path) -> None:
    world.fault = OSError("connection lost")
    with pytest.raises(ClusterError) as caught:
        cluster.look()
    assert (caught.value.reason, caught.value.cluster) == ("tcp://h:1 does not answer: connection lost", "far")
    assert world.closed == 1
    cluster.look()
    world.handlers[f"{worker.MARK}-look"] = lambda mark: None
    with pytest.raises(ClusterError, match="it was restarted"):
        cluster.look()
    assert world.closed == 2
    cluster.close()
    assert world.closed == 2
    cluster.kill([1])
    cluster.close()
    assert world.closed == 3


def test_jobs_that_dask_does_not_take(world: PaperDask, tmp_path: Path) -> None:
    cluster = DaskCluster("far", "tcp://h:1", mark="m", timeout=0.02)
    world.takes = False
    with pytest.raises(ClusterError, match="it has not accepted the jobs"):
        cluster.submit([request(1, "true", tmp_path)])
    world.takes = True
    cluster.submit([request(1, "true", tmp_path)])
    assert list(jobs(cluster)) == [1]


def test_what_breaks_on_a_worker_ends_the_job(
    world: PaperDask, cluster: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.submit([request(number, "touch ran", tmp_path, group=1) for number in (1, 2)])

    def broken(*arguments: Any) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(worker, "_run", broken)
    with pytest.raises(OSError, match="no more processes"):
        world.work()
    found = jobs(cluster)
    assert why(found[1]) == ["EXTERMINATE"]
    assert found[2].state is GridJobState.RUNNING  # its worker has it, and the register hears when the worker goes
    world.register.remove_worker(world, "w")
    assert why(jobs(cluster)[2]) == ["EXTERMINATE"]
