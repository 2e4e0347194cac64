"""A cluster of Slurm: a real one, with its commands, through slurmrestd and through OpenSSH."""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from servers import find
from slurms import RunningSlurm, running_slurm, slurmrestd
from sshds import running_sshd
from test_local_processes import end_of, until, why

from batprotocol.campaigns.loop import run_campaigns
from batprotocol.campaigns.managers import JobRequest, ResourceManager, SlurmCluster
from batprotocol.campaigns.managers.interface import NODES
from batprotocol.campaigns.managers.slurm import SlurmDescription
from batprotocol.campaigns.model import Campaign, ClusterProperties, GridJobState, GridSettings, RemoteJob
from batprotocol.campaigns.store import ClusterEntry, GridStore
from batprotocol.errors import ClusterError
from batprotocol.sites.slurm.client import (
    JobBatch,
    LocalRunner,
    SlurmAway,
    SlurmClient,
    SlurmCommands,
    SlurmError,
    SlurmRest,
    read_token,
    runner_of,
)

WITHOUT_ENGINE = True


@pytest.fixture(scope="module")
def slurm() -> Iterator[RunningSlurm]:
    with running_slurm(4, 4) as found:
        yield found


@pytest.fixture
def cluster(slurm: RunningSlurm, tmp_path: Path) -> Iterator[SlurmCluster]:
    found = opened(tmp_path)
    yield found
    found.forget([job.job for job in found.look().jobs])
    found.close()


def opened(tmp_path: Path, description: SlurmDescription | None = None) -> SlurmCluster:
    """A cluster in a folder of the test. Its jobs in Slurm have names of their own."""
    usual = SlurmDescription(folder=f"{tmp_path}/the jobs", partition="idle")
    return SlurmCluster("site", description or usual, f"cigri-{zlib.crc32(str(tmp_path).encode()):08x}")


def requests(folder: Path, *commands: str, first: int = 1, group: bool = False) -> list[JobRequest]:
    return [
        JobRequest(job=number, command=each, directory=str(folder), group=first if group else None)
        for number, each in enumerate(commands, first)
    ]


def ends(cluster: ResourceManager, numbers: Sequence[int]) -> list[RemoteJob]:
    found: dict[int, RemoteJob] = {}

    def all_have_ended() -> bool:
        found.update({job.job: job for job in cluster.look().jobs if job.state is GridJobState.TERMINATED})
        return found.keys() >= set(numbers)

    until(all_have_ended)
    return [found[number] for number in numbers]


def running(cluster: ResourceManager) -> set[int]:
    return {job.job for job in cluster.look().jobs if job.state is GridJobState.RUNNING and job.start_time is not None}


def test_jobs_end_with_their_status_and_output(cluster: SlurmCluster, tmp_path: Path) -> None:
    assert isinstance(cluster, ResourceManager)
    seen = cluster.look()
    assert (seen.cluster, seen.max, seen.free, seen.jobs) == ("site", 16, 16, ())
    cluster.submit(requests(tmp_path, "true", "echo out; echo err >&2; exit 3", "kill -9 $$", "exit 124"))
    found = ends(cluster, range(1, 5))
    assert [(job.exit_code, why(job)) for job in found] == [(0, []), (3 << 8, []), (9, []), (124 << 8, [])]
    assert (found[1].output, found[1].errors) == ("out\n", "err\n")
    assert all(job.node and job.start_time and job.stop_time and job.remote_id for job in found)


def test_a_job_of_several_resources_and_one_of_too_many(cluster: SlurmCluster, tmp_path: Path) -> None:
    cluster.look()
    count = 'sort "$NODES" | uniq -c; exit 1'
    several = JobRequest(job=1, command=count, directory=str(tmp_path), weight=6, environment={"NODES": NODES})
    cluster.submit([several, JobRequest(job=2, command="true", directory=str(tmp_path), weight=17)])
    first, second = ends(cluster, (1, 2))
    counts = [int(line.split()[0]) for line in first.output.splitlines()]
    assert (sum(counts), len(counts)) == (6, 2)
    assert why(second) == ["REFUSED"]


def test_walltimes_and_groups(cluster: SlurmCluster, tmp_path: Path) -> None:
    late = JobRequest(job=1, command="sleep 60", directory=str(tmp_path), walltime=1)
    cluster.submit([late, *requests(tmp_path, "echo 1 >>runs", "exit 3", "echo 3 >>runs", first=2, group=True)])
    assert why(end_of(cluster, 1)) == ["WALLTIME"]
    assert [job.exit_code for job in ends(cluster, (2, 3, 4))] == [0, 3 << 8, 0]
    assert (tmp_path / "runs").read_text() == "1\n3\n"


def test_killed_jobs_never_begin_and_others_of_their_group_do(cluster: SlurmCluster, tmp_path: Path) -> None:
    cluster.submit(requests(tmp_path, "sleep 60", "sleep 60", "touch late", "touch good", first=1, group=True))
    cluster.submit(requests(tmp_path, "sleep 60", first=5))
    until(lambda: running(cluster) >= {1, 5})
    cluster.kill([1, 3, 5, 99])
    cluster.kill([1])
    until(lambda: 2 in running(cluster))
    cluster.kill([2])
    assert [why(job) for job in ends(cluster, (1, 2, 3, 5))] == [["FRAG_JOB_REQUEST"]] * 4
    assert end_of(cluster, 4).exit_code == 0
    assert not (tmp_path / "late").exists()


def test_jobs_are_found_again_and_run_once(slurm: RunningSlurm, cluster: SlurmCluster, tmp_path: Path) -> None:
    jobs = requests(tmp_path, *(f"echo {number} >>runs; sleep 1; exit {number}" for number in range(1, 6)))
    cluster.submit(jobs)
    for _ in range(3):
        again = opened(tmp_path)
        again.submit(jobs)
        assert {job.job for job in again.look().jobs} == {1, 2, 3, 4, 5}
    assert [job.exit_code for job in ends(again, range(1, 6))] == [number << 8 for number in range(1, 6)]
    again.submit(jobs)
    assert sorted((tmp_path / "runs").read_text().split()) == list("12345")
    again.forget([1, 2, 3, 4, 5])
    (folder,) = (tmp_path / "the jobs").iterdir()
    until(lambda: again.look().jobs == () and {each.name for each in folder.iterdir()} == {"new", "output"})


class Deaf:
    """A client whose submissions get no answer: Slurm gets them, or not."""

    def __init__(self, slurm: SlurmClient, arrives: bool) -> None:
        self._slurm, self._arrives = slurm, arrives

    def __getattr__(self, name: str) -> object:
        return getattr(self._slurm, name)

    def submit(self, batch: JobBatch) -> str:
        if self._arrives:
            self._slurm.submit(batch)
        raise SlurmAway("no answer")


@pytest.mark.parametrize("arrives", [True, False])
def test_a_submission_without_an_answer(cluster: SlurmCluster, tmp_path: Path, arrives: bool) -> None:
    slurm = cluster._slurm
    cluster._slurm = Deaf(slurm, arrives)  # type: ignore[assignment]
    cluster.submit(requests(tmp_path, "echo 1 >>runs", "echo 2 >>runs"))
    cluster._slurm = slurm
    states = {job.job: job.state for job in cluster.look().jobs}
    assert set(states) == {1, 2}
    assert [job.exit_code for job in ends(cluster, (1, 2))] == [0, 0]
    assert sorted((tmp_path / "runs").read_text().split()) == ["1", "2"]


def test_a_job_that_is_preempted_goes_back(slurm: RunningSlurm, cluster: SlurmCluster, tmp_path: Path) -> None:
    cluster.submit(requests(tmp_path, *["sleep 60"] * 2))
    until(lambda: running(cluster) == {1, 2})
    slurm.sbatch("-p", "main", "-N4", "--exclusive", "--wrap", "sleep 1")
    assert [why(job) for job in ends(cluster, (1, 2))] == [["BESTEFFORT_KILL"]] * 2


@pytest.mark.slow
def test_new_jobs_are_no_flood(slurm: RunningSlurm, tmp_path: Path) -> None:
    """The loop looks several times before Slurm looks for nodes for the jobs of the first cycles."""
    (tmp_path / "site.toml").write_text(f'type = "slurm"\nfolder = "{tmp_path}/jobs"\npartition = "idle"\n')
    store = GridStore(str(tmp_path / "grid.db"))
    store.register(ClusterEntry(name="site", batch="slurm", address=f"{tmp_path}/site.toml"))
    says = ClusterProperties(cluster="site", exec_file="sleep 1; true", exec_directory=str(tmp_path))
    campaign = store.submit(
        Campaign(user="alice", name="new", clusters=(says,)), [str(task) for task in range(24)], now=0.0
    )
    settings = GridSettings(order_flood_rate=0.25, flood_rate=0.3, finalize=False)
    run_campaigns(store, settings, cycle_seconds=0.1, until_idle=True)
    assert store.event_counts(campaign) == {}
    status = store.campaign(campaign)
    assert status is not None
    assert status.terminated == 24


def test_a_node_that_dies(tmp_path: Path) -> None:
    with running_slurm(2, 2) as slurm:
        cluster = SlurmCluster("site", SlurmDescription(folder=f"{tmp_path}/jobs", partition="idle"))
        cluster.submit(requests(tmp_path, "sleep 100"))
        until(lambda: running(cluster) == {1})
        (job,) = cluster.look().jobs
        assert job.node is not None
        slurm.lose(job.node)
        slurm.command("scontrol", "update", f"NodeName={job.node}", "State=DOWN", "Reason=lost")
        assert why(end_of(cluster, 1)) == ["EXTERMINATE"]
        seen = cluster.look()
        assert (seen.max, seen.free) == (2, 2)


def test_slurmctld_goes_away_and_comes_back(tmp_path: Path) -> None:
    with running_slurm(2, 2) as slurm:
        cluster = SlurmCluster("site", SlurmDescription(folder=f"{tmp_path}/jobs", partition="idle"))
        wait = "until test -e go; do sleep 0.1; done"
        cluster.submit(requests(tmp_path, f"echo 1 >>runs; {wait}", f"echo 2 >>runs; {wait}"))
        until(lambda: running(cluster) == {1, 2})
        slurm.kill_controller()
        (tmp_path / "go").touch()
        patient, cluster._slurm = cluster._slurm, SlurmCommands(LocalRunner(), 2)
        with pytest.raises(ClusterError, match="cluster site: squeue: "):
            cluster.look()
        cluster.submit(requests(tmp_path, "echo 3 >>runs", first=3))
        cluster._slurm = patient
        slurm.start_controller()
        slurm.until(lambda: slurm.command("scontrol", "ping").returncode == 0, 120)
        assert [job.exit_code for job in ends(cluster, (1, 2, 3))] == [0, 0, 0]
        assert sorted((tmp_path / "runs").read_text().split()) == ["1", "2", "3"]


def test_what_slurm_refuses(slurm: RunningSlurm, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="there is no partition 'idel': `sinfo` lists the partitions"):
        SlurmCluster("site", SlurmDescription(folder=str(tmp_path), partition="idel"))
    short = opened(tmp_path / "a", SlurmDescription(folder=f"{tmp_path}/a", partition="short"))
    short.submit([JobRequest(job=1, command="true", directory=str(tmp_path), walltime=3600)])
    (job,) = short.look().jobs
    assert job.events[0].description == "Its walltime of 3600 s is more than the 600 s that the partition allows."
    bad = opened(tmp_path / "b", SlurmDescription(folder=f"{tmp_path}/b", partition="idle", constraint="gold"))
    bad.submit(requests(tmp_path, "true"))
    (job,) = bad.look().jobs
    assert (why(job), "nvalid feature" in job.events[0].description) == (["REFUSED"], True)


# Other ways to reach it


def test_through_slurmrestd(slurm: RunningSlurm, tmp_path: Path) -> None:
    """It runs as `nobody`, so the folder of the jobs is open to all."""
    (tmp_path / "rest").mkdir()
    with slurmrestd(slurm, tmp_path / "rest") as address:
        tmp_path.chmod(0o777)
        description = SlurmDescription(
            folder=f"{tmp_path}/rest/jobs", partition="idle", rest=address, rest_user="nobody"
        )
        cluster = opened(tmp_path, description)
        assert (cluster.look().max, cluster.look().free) == (16, 16)
        slurm.command("scontrol", "update", "PartitionName=idle", "State=DOWN")
        cluster.submit(requests(tmp_path, "echo x; exit 3", "sleep 60", *["sleep 3"] * 20))
        assert {job.state for job in cluster.look().jobs} == {GridJobState.REMOTE_WAITING}
        subprocess.run(["chmod", "-R", "a+rwX", tmp_path / "rest"], check=True)
        slurm.command("scontrol", "update", "PartitionName=idle", "State=UP")
        (first,) = ends(cluster, [1])
        assert (first.exit_code, first.output) == (3 << 8, "x\n")
        cluster.kill([2])
        assert why(end_of(cluster, 2)) == ["FRAG_JOB_REQUEST"]


class Reached(NamedTuple):
    """Slurm, and a shell, on a host that OpenSSH reaches."""

    description: SlurmDescription
    config: Path


@pytest.fixture
def remote(slurm: RunningSlurm, tmp_path: Path) -> Iterator[Reached]:
    (tmp_path / "keys").mkdir()
    with running_sshd(tmp_path / "keys") as config:
        yield Reached(
            SlurmDescription(folder=f"{tmp_path}/the jobs", partition="idle", host="ssh:site", ssh_config=str(config)),
            config,
        )
        runner_of("ssh:site", str(config)).close()  # type: ignore[attr-defined]


def test_through_ssh(remote: Reached, tmp_path: Path) -> None:
    cluster = opened(tmp_path, remote.description)
    cluster.submit(requests(tmp_path, "echo 'a  b'; exit 3", "true", "sleep 60"))
    first, second = ends(cluster, (1, 2))
    assert (first.exit_code, first.output, second.exit_code) == (3 << 8, "a  b\n", 0)
    cluster.kill([3])
    assert why(end_of(cluster, 3)) == ["FRAG_JOB_REQUEST"]
    cluster.forget([1, 2, 3])
    assert cluster.look().jobs == ()


# Names


PIECES = (
    *(
        "'",
        '"',
        "\\",
        "\n",
        "\r",
        "\t",
        " ",
        "$(touch BAD)",
        "`touch BAD`",
        "; touch BAD;",
        "&",
        "|",
        ">BAD",
        "%j",
        "%A",
    ),
    *("$HOME", "*", "~", "#", "!", "é", "\x1b[31m", "--wrap=touch BAD", "a", "=", ",", "[0-9]", "<", "-"),
)


def names(count: int, seed: int) -> list[str]:
    """Names of characters that shells and Slurm may take for something else."""
    drawn = random.Random(seed)
    return ["".join(drawn.choices(PIECES, k=drawn.randint(1, 8))) for _ in range(count)]


@pytest.mark.parametrize("way", ["here", "ssh"])
def test_names_and_comments_run_nothing(slurm: RunningSlurm, remote: Reached, tmp_path: Path, way: str) -> None:
    runner = runner_of("ssh:site", str(remote.config)) if way == "ssh" else LocalRunner()
    client = SlurmCommands(runner, 30)
    (tmp_path / "work").mkdir()
    ids = []
    hostile = [*names(20, 1), "x\n99|RUNNING|n0|None|cigri.b1"]
    for name in hostile:
        batch = JobBatch(
            script="#!/bin/sh\n", name=name, comment=name, partition="idle", directory=str(tmp_path / "work")
        )
        ids.append(client.submit(batch))
        record = slurm.command("scontrol", "-o", "show", "job", ids[-1]).stdout
        assert f"JobName={name} UserId=".replace("\r", "\n") in record
    until(lambda: all(job.has_ended for job in client.jobs() if job.id.partition("_")[0] in ids))
    assert [*(tmp_path / "work").iterdir()] == []
    found = {job.id: job for job in client.jobs()}
    assert {found[f"{id}_0"].state for id in ids} == {"COMPLETED"}
    if way == "here":  # with `ssh`, those of the test before are there, too
        assert "99" not in found
    for id, name in zip(ids, hostile, strict=True):
        assert found[f"{id}_0"].name == name


def check_tasks(cluster: SlurmCluster, folder: Path, texts: Sequence[str]) -> None:
    """Tasks with such parameters, names and variables: each prints them as they are."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    jobs = [
        JobRequest(
            job=number,
            command=f'printf "%s\\0%s" "$CIGRI_JOB_NAME" {shlex.quote(text)} >{number}',
            environment={"CIGRI_JOB_NAME": text},
            parameters=text,
            directory=str(work),
            group=number - number % 50 + 1,
        )
        for number, text in enumerate(texts)
    ]
    cluster.submit(jobs)
    assert [job.exit_code for job in ends(cluster, [len(texts) - 1])] == [0]
    until(lambda: all(job.exit_code == 0 for job in cluster.look().jobs))
    assert {each.name for each in work.iterdir()} == {str(number) for number in range(len(texts))}
    for number, text in enumerate(texts):
        assert (work / str(number)).read_bytes().decode() == f"{text}\0{text}"


def test_names_of_tasks_run_nothing(cluster: SlurmCluster, tmp_path: Path) -> None:
    check_tasks(cluster, tmp_path, names(300, 2))


@pytest.mark.minutes
@pytest.mark.timeout(1800)
def test_ten_thousand_names_run_nothing(slurm: RunningSlurm, cluster: SlurmCluster, tmp_path: Path) -> None:
    for first in range(0, 10_000, 2_500):
        folder = tmp_path / str(first)
        folder.mkdir()
        check_tasks(cluster, folder, names(2_500, first))
        cluster.forget(range(2_500))
        until(lambda: not cluster.look().jobs)


# Secrets


def test_tokens_of_slurm(tmp_path: Path) -> None:
    """Slurm takes a token that it has made; a wrong one is refused by a sentence, and a renewed one is used at once."""
    find("auth_jwt.so")
    (tmp_path / "jwt.key").write_bytes(random.Random(1).randbytes(32))
    (tmp_path / "jwt.key").chmod(0o600)
    (tmp_path / "rest").mkdir()
    more = ("AuthAltTypes=auth/jwt", f"AuthAltParameters=jwt_key={tmp_path}/jwt.key")
    with running_slurm(1, 2, more) as slurm, slurmrestd(slurm, tmp_path / "rest", tokens=True) as address:
        token = slurm.command("scontrol", "token", "username=root").stdout.strip()
        file = tmp_path / "token"
        file.write_text(f"{token[:-4]}AAAA\n")
        rest = SlurmRest(address, lambda: read_token(str(file)), user="root", timeout=10)
        with pytest.raises(SlurmError) as error:
            rest.nodes("idle")
        assert token[10:40] not in f"{error.value!r} {error.value}"
        file.write_text(f"{token}\n")
        assert [node.name for node in rest.nodes("idle")] == ["n0"]
        id = rest.submit(JobBatch(script="#!/bin/sh\n", name="x", partition="idle"))
        until(lambda: [job.state for job in rest.jobs() if job.id.startswith(f"{id}_")] == ["COMPLETED"])
        assert not any(token.removeprefix("SLURM_JWT=").encode() in each for each in _processes())
        file.unlink()
        with pytest.raises(SlurmError, match=r"token_file: .* cannot be read"):
            rest.jobs()


def test_a_token_is_nowhere(slurm: RunningSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the arguments or variables of processes, in messages, in jobs or in files."""
    token = "eyJhbGciOiJIUzI1NiJ9.c2VjcmV0.c2VjcmV0"
    (tmp_path / "rest").mkdir()
    with slurmrestd(slurm, tmp_path / "rest") as address:
        monkeypatch.setenv("MY_TOKEN", token)
        description = SlurmDescription(
            folder=f"{tmp_path}/jobs", partition="idle", rest=address, rest_user="nobody", token_variable="MY_TOKEN"
        )
        program = f"import sys\n{PROGRAM}"
        found = subprocess.Popen(
            [sys.executable, "-c", program, description.folder, address], stdout=subprocess.PIPE, text=True
        )
        assert found.stdout is not None
        printed = [found.stdout.readline()]
        seen = _processes(found.pid)
        printed.append(found.communicate()[0])
    assert not any(token.encode() in each for each in seen)
    assert token not in "".join(printed)
    with pytest.raises(SlurmError) as error:
        SlurmRest("http://127.0.0.1:1", token, timeout=1).jobs()
    assert token not in f"{error.value!r} {error.value}"
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    files += [each for each in slurm.folder.rglob("*") if each.is_file()]
    assert not any(token.encode() in each.read_bytes() for each in files)


PROGRAM = """
import time
from batprotocol.campaigns.managers import Request, SlurmCluster
from batprotocol.campaigns.managers.slurm import SlurmDescription
description = SlurmDescription(
    folder=sys.argv[1], partition="idle", rest=sys.argv[2], rest_user="nobody", token_variable="MY_TOKEN"
)
cluster = SlurmCluster("site", description)
cluster.submit([Request(job=1, command="sleep 2", directory="/tmp")])
print(cluster, description, cluster.look(), flush=True)
time.sleep(2)
"""


def _processes(*others: int) -> list[bytes]:
    """The arguments and variables of all processes but this one and some others."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and int(each.name) not in (os.getpid(), *others):
            with contextlib.suppress(OSError):
                found += [(each / name).read_bytes() for name in ("cmdline", "environ")]
    return found
