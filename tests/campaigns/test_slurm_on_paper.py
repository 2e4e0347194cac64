"""What the resource manager of Slurm asks and reads: the queue and the nodes are lists, the folder is real."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from batprotocol.campaigns.managers import slurm as manager
from batprotocol.campaigns.managers.interface import JobRequest
from batprotocol.campaigns.managers.slurm import SlurmCluster, SlurmDescription
from batprotocol.campaigns.model import GridJobState, RemoteJob
from batprotocol.errors import ClusterError
from batprotocol.sites.slurm.client import JobBatch, ReportedJob, ReportedNode, SlurmError, SlurmLimits, SlurmRefusal

WITHOUT_ENGINE = True

NODE = ReportedNode("n0", "idle", True, 0, 4, 4)


class PaperSlurm:
    """A Slurm whose answers a test writes down.

    Attributes:
        rows: its queue.
        found: its nodes.
        has: its limits.
        batches: what was submitted.
        cancelled: the ids that were cancelled.
        signalled: the ids that got a signal, and the signal.
        refuses: the error of a submission, if it fails; with `gets`, Slurm has the batch nevertheless.
    """

    def __init__(self) -> None:
        self.rows: list[ReportedJob] = []
        self.found = [NODE, NODE._replace(name="n1")]
        self.has = SlurmLimits()
        self.batches: list[JobBatch] = []
        self.cancelled: list[str] = []
        self.signalled: list[tuple[str, str]] = []
        self.refuses: SlurmError | None = None
        self.gets = True

    def jobs(self) -> Sequence[ReportedJob]:
        return list(self.rows)

    def nodes(self, partition: str) -> Sequence[ReportedNode]:
        assert partition == "idle"
        return self.found

    def limits(self, partition: str) -> SlurmLimits:
        return self.has._replace(exists=partition == "idle")

    def submit(self, batch: JobBatch) -> str:
        if self.gets or self.refuses is None:
            self.batches.append(batch)
            self.rows += [
                ReportedJob(self.id_of(index), batch.name, "PENDING", task=index) for index in range(batch.size)
            ]
        if self.refuses is not None:
            raise self.refuses
        return self.id_of(0).partition("_")[0]

    def cancel(self, ids: Iterable[str]) -> None:
        self.cancelled += ids

    def signal(self, ids: Iterable[str], name: str) -> None:
        self.signalled += [(id, name) for id in ids]

    def id_of(self, index: int) -> str:
        """The id of an element of the last batch."""
        return f"{6 + len(self.batches)}_{index}"

    def turn(self, place: int, state: str, **more: Any) -> None:
        """Change a row of the queue."""
        self.rows[place] = self.rows[place]._replace(state=state, **more)


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> PaperSlurm:
    found = PaperSlurm()
    monkeypatch.setattr(manager, "SlurmCommands", lambda runner, timeout: found)
    return found


def opened(tmp_path: Path, **more: Any) -> SlurmCluster:
    description = SlurmDescription(**{"folder": f"{tmp_path}/jobs", "partition": "idle", **more})
    return SlurmCluster("site", description, "m")


def log(tmp_path: Path, batch: str, *lines: str, index: int = 0) -> None:
    """Write lines as an element does."""
    with (tmp_path / "jobs" / "m" / batch / f"log.{index}").open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


def noted(tmp_path: Path, batch: str) -> list[str]:
    return (tmp_path / "jobs" / "m" / batch / "log").read_text().splitlines()


def jobs(cluster: SlurmCluster) -> dict[int, RemoteJob]:
    return {job.job: job for job in cluster.look().jobs}


def why(job: RemoteJob) -> list[str]:
    return [event.type for event in job.events]


def test_what_is_alike_is_an_array(slurm: PaperSlurm, tmp_path: Path) -> None:
    more = {"qos": "low", "account": "science", "nice": 7, "cores": 2, "memory": "2G", "constraint": "ssd"}
    cluster = opened(tmp_path, **more)
    alike = [JobRequest(job=number, command="true", walltime=59.0) for number in (1, 2, 3, 7)]
    cluster.submit(
        [
            *alike,
            JobRequest(job=8, command="true", walltime=61.0),
            JobRequest(job=9, command="true", walltime=59.0, weight=2),
            JobRequest(job=10, command="true", walltime=59.0, properties="gpu"),
            alike[0],
        ]
    )
    assert [(each.size, each.minutes, each.tasks, each.constraint) for each in slurm.batches] == [
        (4, 2, 1, "ssd"),
        (1, 3, 1, "ssd"),
        (1, 2, 2, "ssd"),
        (1, 2, 1, "ssd&gpu"),
    ]
    first = slurm.batches[0]
    assert (first.name, first.comment) == ("m.b1", "batprotocol campaigns: jobs 1-3,7")
    assert (first.partition, first.qos, first.account, first.nice) == ("idle", "low", "science", 7)
    assert (first.cores, first.memory, first.whole_nodes) == (2, "2G", False)
    assert first.directory == str(tmp_path / "jobs" / "m")
    assert "resources=1 whole=\n" in first.script
    assert 'exec timeout -k 5 "$seconds"' in first.script
    assert noted(tmp_path, "b1") == ["submitted 7"]
    assert noted(tmp_path, "b10") == ["submitted 10"]


def test_groups_are_elements_with_less_time_than_their_walltimes(slurm: PaperSlurm, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    long = [JobRequest(job=number, command="true", walltime=6000.0, group=1) for number in range(1, 11)]
    short = [JobRequest(job=number, command="true", walltime=60.0, group=11) for number in range(11, 14)]
    cluster.submit([*long, *short])
    assert [(each.size, each.minutes) for each in slurm.batches] == [(1, 211), (1, 4)]
    lines = (tmp_path / "jobs" / "m" / "b11" / "jobs").read_text()
    assert lines == "0 11:60 12:60 13:60\n"
    assert len((tmp_path / "jobs" / "m" / "b1" / "plan.0").read_text().splitlines()) == 11


def test_arrays_are_as_large_as_slurm_allows(slurm: PaperSlurm, tmp_path: Path) -> None:
    slurm.has = SlurmLimits(array_size=3)
    cluster = opened(tmp_path)
    cluster.submit([JobRequest(job=number, command="true") for number in range(1, 8)])
    assert [(each.name, each.size) for each in slurm.batches] == [("m.b1", 3), ("m.b4", 3), ("m.b7", 1)]


def test_the_longest_time_of_the_partition(slurm: PaperSlurm, tmp_path: Path) -> None:
    slurm.has = SlurmLimits(longest=10)
    cluster = opened(tmp_path)
    cluster.submit(
        [JobRequest(job=1, command="true", walltime=600.0), JobRequest(job=2, command="true", walltime=601.0)]
    )
    assert [each.minutes for each in slurm.batches] == [10]
    found = jobs(cluster)
    assert found[1].state is GridJobState.SUBMITTED  # one that asks for too long does not take it along
    assert why(found[2]) == ["REFUSED"]
    assert found[2].events[0].description == "Its walltime of 601 s is more than the 600 s that the partition allows."


def test_jobs_that_can_never_run(slurm: PaperSlurm, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    assert cluster.look().max == 8
    cluster.submit(
        [
            JobRequest(job=1, command="true", weight=9),
            JobRequest(job=2, command="a\0b"),
            JobRequest(job=3, command="true", weight=8),
        ]
    )
    found = jobs(cluster)
    assert [why(found[number]) for number in (1, 2, 3)] == [["REFUSED"], ["REFUSED"], []]
    assert found[1].events[0].description == "It requests 9 resources, but the cluster has 8."
    assert found[2].events[0].description == "Its command has a zero byte."
    assert [each.name for each in slurm.batches] == ["m.b3"]


def test_slurm_refuses_a_batch(slurm: PaperSlurm, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    slurm.refuses, slurm.gets = SlurmRefusal("Invalid account\n or  qos"), False
    cluster.submit([JobRequest(job=1, command="true"), JobRequest(job=2, command="true")])
    found = jobs(cluster)
    assert [why(found[number]) for number in (1, 2)] == [["REFUSED"], ["REFUSED"]]
    assert found[1].events[0].description == "Invalid account or qos"
    assert cluster.look().message == ""


@pytest.mark.parametrize("gets", [False, True])
def test_a_submission_without_an_answer(slurm: PaperSlurm, tmp_path: Path, gets: bool) -> None:
    """What Slurm has got is found in its queue; the rest is submitted again, when Slurm answers."""
    cluster = opened(tmp_path)
    slurm.refuses, slurm.gets = SlurmError("slurmctld does not answer"), gets
    cluster.submit([JobRequest(job=1, command="true")])
    cluster.submit([JobRequest(job=1, command="true")])
    assert len(slurm.batches) == gets
    seen = cluster.look()
    assert (seen.message, seen.jobs[0].state) == (
        "" if gets else "slurmctld does not answer",
        GridJobState.SUBMITTED if gets else GridJobState.REMOTE_WAITING,
    )
    slurm.refuses = None
    again = opened(tmp_path)
    assert again.look().message == ""
    assert jobs(again)[1].remote_id == "7_0"
    again.look()
    again.submit([JobRequest(job=1, command="true")])
    assert len(slurm.batches) == 1
    assert noted(tmp_path, "b1") == ["submitted 7"]


def test_only_one_batch_is_tried_while_slurm_does_not_answer(slurm: PaperSlurm, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    slurm.refuses, slurm.gets = SlurmError("away"), False
    cluster.submit([JobRequest(job=1, command="true"), JobRequest(job=2, command="true", walltime=60.0)])
    tried: list[str] = []

    def submit(batch: JobBatch) -> str:
        tried.append(batch.name)
        raise SlurmError("away")

    slurm.submit = submit  # type: ignore[method-assign]
    cluster.look()
    assert tried == ["m.b1"]


@pytest.mark.parametrize(
    ("more", "found", "most", "free"),
    [
        ({}, [NODE], 4, 4),
        ({}, [NODE._replace(allocated=3, idle=1), NODE], 8, 5),
        ({}, [NODE._replace(state="down"), NODE], 4, 4),
        ({}, [NODE._replace(responds=False), NODE], 4, 4),
        ({}, [NODE._replace(state="completing"), NODE], 8, 4),
        ({"cores": 3}, [NODE._replace(total=7, idle=7), NODE._replace(idle=2)], 3, 2),
        ({"whole_nodes": True}, [NODE, NODE._replace(idle=3), NODE._replace(state="completing")], 3, 1),
        ({"resources": 3}, [NODE], 3, 3),
        ({"resources": 9}, [NODE], 4, 4),
        ({}, [], 0, 0),
    ],
)
def test_resources(
    slurm: PaperSlurm, tmp_path: Path, more: dict[str, Any], found: list[ReportedNode], most: int, free: int
) -> None:
    slurm.found = found
    seen = opened(tmp_path, **more).look()
    assert (seen.cluster, seen.max, seen.free) == ("site", most, free)


def test_slurm_says_that_resources_are_nodes(slurm: PaperSlurm, tmp_path: Path) -> None:
    slurm.has = SlurmLimits(whole_nodes=True)
    cluster = opened(tmp_path)
    assert cluster.look().max == 2
    cluster.submit([JobRequest(job=1, command="true")])
    assert slurm.batches[0].whole_nodes
    assert "whole=yes" in slurm.batches[0].script


def test_waiting_jobs_are_counted_off_what_is_free(slurm: PaperSlurm, tmp_path: Path) -> None:
    """Jobs that Slurm has not looked at wait for nobody, as far as there are resources for them."""
    cluster = opened(tmp_path, resources=5)
    cluster.submit([JobRequest(job=number, command="true", weight=2) for number in range(1, 5)])
    slurm.turn(0, "RUNNING", node="n1")
    slurm.turn(1, "COMPLETED")
    slurm.turn(2, "PENDING", reason="Resources")
    slurm.turn(3, "PENDING", reason="Priority")
    log(tmp_path, "b1", f"begin 1 {time.time()} n1")
    seen = cluster.look()
    assert (seen.max, seen.free) == (5, 0)
    slurm.rows = slurm.rows[:2]
    seen = cluster.look()
    assert (seen.max, seen.free) == (5, 3)
    states = {job.job: job.state for job in seen.jobs}
    assert states[1] is GridJobState.RUNNING
    assert jobs(cluster)[1].node == "n1"


def test_new_jobs_are_no_more_than_there_are_resources(slurm: PaperSlurm, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    cluster.submit([JobRequest(job=number, command="true", weight=3) for number in range(1, 5)])
    slurm.rows = [row._replace(reason="None") for row in slurm.rows]
    states = [job.state for job in cluster.look().jobs]
    assert states == [GridJobState.SUBMITTED] * 2 + [GridJobState.REMOTE_WAITING] * 2
    assert cluster.look().free == 2


def test_other_jobs_of_the_user_are_left_alone(slurm: PaperSlurm, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    cluster.submit([JobRequest(job=1, command="true")])
    slurm.rows.insert(0, ReportedJob("99", "mine.b1", "RUNNING"))
    slurm.rows.insert(0, ReportedJob("98", "m.b2", "RUNNING"))
    cluster.kill([1, 2])
    assert slurm.cancelled == ["7_0"]
    assert why(jobs(cluster)[1]) == ["FRAG_JOB_REQUEST"]


def test_jobs_are_killed_before_and_after_they_begin(slurm: PaperSlurm, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    cluster.submit([JobRequest(job=number, command="true") for number in (1, 2, 3)])
    slurm.turn(1, "RUNNING")
    slurm.turn(2, "COMPLETED")
    claims = tmp_path / "jobs" / "m" / "b1" / "claims"
    (claims / "2").mkdir()
    log(tmp_path, "b1", "begin 2 10 n0", index=1)
    (claims / "3").mkdir()
    log(tmp_path, "b1", "begin 3 10 n0", "end 3 20 0", index=2)
    cluster.kill([])
    cluster.kill([1, 2, 3, 99])
    assert slurm.cancelled == ["7_0", "7_1"]
    assert slurm.signalled == []
    assert sorted(each.name for each in claims.iterdir()) == ["1", "2", "3"]
    assert [(claims / number / "kill").exists() for number in ("1", "2")] == [False, True]
    assert noted(tmp_path, "b1")[1:] == ["killed 1", "kill 1", "kill 2", "kill 3"]
    slurm.turn(1, "CANCELLED")
    found = jobs(cluster)
    assert [why(found[number]) for number in (1, 2, 3)] == [["FRAG_JOB_REQUEST"], ["FRAG_JOB_REQUEST"], []]
    assert found[3].exit_code == 0


def test_of_a_group_that_goes_on_one_job_is_ended(slurm: PaperSlurm, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    cluster.submit([JobRequest(job=number, command="true", group=1) for number in (1, 2, 3)])
    slurm.turn(0, "RUNNING")
    (tmp_path / "jobs" / "m" / "b1" / "claims" / "1").mkdir()
    log(tmp_path, "b1", "begin 1 10 n0")
    cluster.kill([1])
    assert (slurm.cancelled, slurm.signalled) == ([], [("7_0", "USR1")])
    cluster.kill([2])
    assert (slurm.cancelled, slurm.signalled) == ([], [("7_0", "USR1")] * 2)
    cluster.kill([3])
    assert slurm.cancelled == ["7_0"]


def test_what_is_forgotten_is_gone(slurm: PaperSlurm, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    cluster.submit([JobRequest(job=number, command="true") for number in (1, 2)])
    slurm.turn(0, "COMPLETED")
    slurm.turn(1, "RUNNING")
    log(tmp_path, "b1", "begin 1 10 n0", "end 1 20 0")
    cluster.forget([])
    cluster.forget([1])
    assert slurm.cancelled == []
    assert list(jobs(cluster)) == [2]
    cluster.forget([2, 77])
    assert slurm.cancelled == ["7_1"]
    assert cluster.look().jobs == ()
    assert (tmp_path / "jobs" / "m" / "b1").is_dir()  # its job is in the queue yet
    slurm.turn(1, "CANCELLED")
    assert cluster.look().jobs == ()
    assert not (tmp_path / "jobs" / "m" / "b1").exists()
    cluster.submit([JobRequest(job=1, command="true")])
    assert len(slurm.batches) == 2


def test_the_output_of_what_did_not_end_well(slurm: PaperSlurm, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    cluster.submit([JobRequest(job=number, command="true") for number in (1, 2, 3)])
    output = tmp_path / "jobs" / "m" / "output"
    for number in ("1", "2", "3"):
        (output / f"{number}.stdout").write_text(f"out {number}\n")
        (output / f"{number}.stderr").write_text(f"err {number}\n")
    log(tmp_path, "b1", "begin 1 10 n0", "end 1 20 3")
    log(tmp_path, "b1", "begin 2 10 n0", "end 2 20 0", index=1)
    log(tmp_path, "b1", "begin 3 10 n0", index=2)
    slurm.turn(0, "COMPLETED")
    slurm.turn(1, "COMPLETED")
    slurm.turn(2, "OUT_OF_MEMORY")
    found = jobs(cluster)
    assert (found[1].exit_code, found[1].output, found[1].errors) == (3 << 8, "out 1\n", "err 1\n")
    assert (found[2].exit_code, found[2].output, found[2].errors) == (0, "", "")
    assert found[3].exit_code == 9
    assert found[3].errors == "err 3\n\nSlurm has killed it, as it took too much memory."
    assert (found[1].start_time, found[1].stop_time, found[1].node) == (10.0, 20.0, "n0")
    (output / "1.stdout").write_text("changed later")
    assert jobs(cluster)[1].output == "out 1\n"


def test_records_may_come_late(slurm: PaperSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(manager.time, "time", lambda: now)
    cluster = opened(tmp_path)
    cluster.submit([JobRequest(job=1, command="true"), JobRequest(job=2, command="true")])
    slurm.turn(0, "COMPLETED")
    slurm.turn(1, "FAILED")
    log(tmp_path, "b1", "begin 1 990 n0")
    assert {job.state for job in jobs(cluster).values()} == {GridJobState.RUNNING}
    now += manager.RECORD_SECONDS - 1
    assert {job.state for job in jobs(cluster).values()} == {GridJobState.RUNNING}
    now += 1
    found = jobs(cluster)
    assert [why(found[number]) for number in (1, 2)] == [["EXTERMINATE"], ["FOLDER"]]
    assert found[1].stop_time == now


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"partition": "other"}, "there is no partition 'other': `sinfo` lists the partitions"),
        ({"prologue": "/nowhere/at/all"}, "/nowhere/at/all: prologue: it cannot be read: no such file or directory"),
        ({"host": "login"}, "host: expected \"ssh:HOST\", got 'login'"),
    ],
)
def test_clusters_that_cannot_be_used(slurm: PaperSlurm, tmp_path: Path, more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ClusterError) as caught:
        opened(tmp_path, **more)
    assert (caught.value.reason, caught.value.cluster) == (sentence, "site")


def test_a_prologue_is_written_with_each_batch(slurm: PaperSlurm, tmp_path: Path) -> None:
    (tmp_path / "modules.sh").write_text("module load x\n")
    cluster = opened(tmp_path, prologue=str(tmp_path / "modules.sh"))
    cluster.submit([JobRequest(job=1, command="true")])
    assert (tmp_path / "jobs" / "m" / "b1" / "prologue").read_text() == "module load x\n"
    assert f". {tmp_path}/jobs/m/b1/prologue" in slurm.batches[0].script
    (tmp_path / "modules.sh").write_text(" \n")
    cluster = opened(tmp_path, prologue=str(tmp_path / "modules.sh"))
    cluster.submit([JobRequest(job=2, command="true")])
    assert "/b2/prologue" not in slurm.batches[1].script
