"""Short tasks are run one after the other in one job: as many as take half a minute, each with an end of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from clusters import PaperCluster
from hypothesis import given
from hypothesis import strategies as st
from test_local_processes import end_of, job_of, until, why

from batprotocol.campaigns.entities.scheduling import group_size, heads, whole_groups
from batprotocol.campaigns.loop import Loop, request_of, run_campaigns
from batprotocol.campaigns.managers import JobRequest, LocalProcesses
from batprotocol.campaigns.managers.local import LEADER
from batprotocol.campaigns.model import (
    Campaign,
    ClusterProperties,
    Durations,
    GridJob,
    GridJobState,
    GridSettings,
    GridTask,
    TaskState,
)
from batprotocol.campaigns.store import ClusterEntry, GridStore

WITHOUT_ENGINE = True

GROUPED = ClusterProperties(cluster="a", exec_file="x", temporal_grouping=True)


@given(mean=st.floats(0, 1e6), remaining=st.integers(0, 10**6), places=st.integers(0, 5000), count=st.integers(0, 1000))
def test_a_group_is_neither_too_long_nor_leaves_places_empty(
    mean: float, remaining: int, places: int, count: int
) -> None:
    settings = GridSettings()
    durations = Durations(count, mean * count, mean * mean * count)
    size = group_size(GROUPED, durations, remaining=remaining, places=places, settings=settings)
    assert 1 <= size <= settings.group_tasks
    assert size == 1 or size * mean <= settings.group_seconds * (1 + 1e-9)
    assert size == 1 or (size - 1) * places < remaining, "each place gets something"
    assert count or size == 1
    alone = ClusterProperties(cluster="a", exec_file="x")
    assert group_size(alone, durations, remaining=remaining, places=places, settings=settings) == 1


@given(groups=st.lists(st.sampled_from([None, 1, 4, 7])))
def test_a_group_counts_as_one_job(groups: list[int | None]) -> None:
    jobs = [
        GridJob(id=100 + place, campaign=1, task=place, cluster="a", group=group) for place, group in enumerate(groups)
    ]
    chosen = heads(jobs)
    assert len(chosen) == groups.count(None) + len(set(groups) - {None})
    assert Counter(whole_groups(chosen, jobs)) == Counter(jobs)


def test_a_cycle_orders_groups() -> None:
    """Two resources, tasks of a tenth of a second: first one each, then groups of as many as there are for both."""
    store, cluster = GridStore("sqlite://"), PaperCluster("a", 2)
    store.register(ClusterEntry(name="a"))
    store.submit(Campaign(user="u", name="n", clusters=(GROUPED,)), [str(task) for task in range(202)], now=0.0)
    loop = Loop(store, [cluster], GridSettings(finalize=False), lambda: cluster.time)
    assert [job.group for job in loop.cycle().launched] == [None, None]
    loop.cycle()
    cluster.pass_time(0.1)
    launched = loop.cycle().launched
    assert sorted(Counter(job.group for job in launched).values()) == [100, 100]
    assert all(job.group is not None and job.group <= job.id < job.group + 100 for job in launched)
    store.close()


# Real processes


@pytest.fixture
def cluster(tmp_path: Path) -> LocalProcesses:
    return LocalProcesses("here", tmp_path / "here", slots=1)


def group(tmp_path: Path, *commands: str, first: int = 1) -> list[JobRequest]:
    return [
        JobRequest(job=number, command=command, directory=str(tmp_path), group=first)
        for number, command in enumerate(commands, first)
    ]


def ran(tmp_path: Path) -> str:
    """The lines of the jobs. A shell makes the file before it writes the first one."""
    return (tmp_path / "runs").read_text() if (tmp_path / "runs").exists() else ""


def close(cluster: LocalProcesses) -> None:
    cluster.forget([job.job for job in cluster.look().jobs])
    cluster.close()


def test_jobs_of_a_group_end_each_for_itself(cluster: LocalProcesses, tmp_path: Path) -> None:
    cluster.submit(group(tmp_path, "echo 1 >> runs", "echo out; echo err >&2; exit 3", "kill -9 $$", "echo 4 >> runs"))
    ends = {number: end_of(cluster, number) for number in (4, 3, 2, 1)}
    assert [ends[number].exit_code for number in (1, 2, 3, 4)] == [0, 3 << 8, 9, 0]
    assert (ends[2].output, ends[2].errors) == ("out\n", "err\n")
    assert (tmp_path / "runs").read_text() == "1\n4\n"
    times = [(ends[number].start_time, ends[number].stop_time) for number in (1, 2, 3, 4)]
    assert times == sorted(times), "one after the other"
    output = sorted(path.name for path in (tmp_path / "here" / "output").iterdir())
    assert output == ["2.stderr", "2.stdout"]
    cluster.submit(group(tmp_path, *["echo again >> runs"] * 4))
    assert {job.job for job in cluster.look().jobs} == {1, 2, 3, 4}
    close(cluster)
    assert "again" not in (tmp_path / "runs").read_text()
    assert list((tmp_path / "here" / "jobs").iterdir()) == []


def test_one_of_a_group_is_killed(cluster: LocalProcesses, tmp_path: Path) -> None:
    """The one that runs and one that has not begun; the others go on."""
    cluster.submit(group(tmp_path, "echo 1 >> runs; sleep 60", "echo 2 >> runs", "echo 3 >> runs"))
    until(lambda: cluster.look().free == 0 and ran(tmp_path) == "1\n")
    assert [job.state for job in cluster.look().jobs] == [GridJobState.RUNNING] * 3
    cluster.kill([1, 2])
    assert end_of(cluster, 3).exit_code == 0
    assert [why(end_of(cluster, number)) for number in (1, 2)] == [["FRAG_JOB_REQUEST"]] * 2
    assert (tmp_path / "runs").read_text() == "1\n3\n"
    close(cluster)


def test_jobs_that_are_killed_with_the_running_one_never_begin(cluster: LocalProcesses, tmp_path: Path) -> None:
    """Even if there are so many that the leader sees the end of the first one before the last one is marked."""
    commands = ["echo 1 >> runs; sleep 60", *("echo killed >> runs" for _ in range(200)), "echo last >> runs"]
    cluster.submit(group(tmp_path, *commands))
    until(lambda: cluster.look().free == 0 and ran(tmp_path) == "1\n")
    cluster.kill(range(1, 202))
    assert end_of(cluster, 202).exit_code == 0
    assert (tmp_path / "runs").read_text() == "1\nlast\n"
    close(cluster)


def test_one_of_a_group_takes_too_long(cluster: LocalProcesses, tmp_path: Path) -> None:
    late, next = group(tmp_path, "sleep 60", "true")
    cluster.submit([JobRequest(job=1, command="sleep 60", directory=late.directory, group=1, walltime=0.2), next])
    assert why(end_of(cluster, 1)) == ["WALLTIME"]
    assert end_of(cluster, 2).exit_code == 0
    close(cluster)


def test_a_group_that_waits_is_killed_or_forgotten(cluster: LocalProcesses, tmp_path: Path) -> None:
    cluster.submit(group(tmp_path, "sleep 60", "sleep 60"))
    cluster.submit(group(tmp_path, "echo 11 >> runs", "echo 12 >> runs", first=11))
    cluster.look()
    cluster.kill([11])
    job = job_of(cluster, 11)
    assert job is not None
    assert why(job) == ["FRAG_JOB_REQUEST"]
    cluster.kill([12])
    cluster.forget([1, 2])
    assert cluster.look().free == 1
    assert [why(end_of(cluster, number)) for number in (11, 12)] == [["FRAG_JOB_REQUEST"]] * 2
    close(cluster)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("command", ["sh t.sh 3", "printenv X", "/bin/echo a=b", "nothing_of_this_name"])
def test_what_needs_no_shell_ends_as_with_one(cluster: LocalProcesses, tmp_path: Path, command: str) -> None:
    (tmp_path / "t.sh").write_text("echo $1; exit $1\n")
    cluster.submit(group(tmp_path, f"{command}; exit $?", first=1))
    cluster.submit(group(tmp_path, command, first=2))
    shell, plain = end_of(cluster, 1), end_of(cluster, 2)
    assert (plain.exit_code, plain.output) == (shell.exit_code, shell.output)
    assert plain.errors.endswith("not found\n") == shell.errors.endswith("not found\n")
    close(cluster)


@pytest.mark.slow
def test_a_campaign_in_groups(tmp_path: Path) -> None:
    store = GridStore(str(tmp_path / "grid.db"))
    store.register(ClusterEntry(name="a", batch="local", address=str(tmp_path / "a"), resources=2))
    (tmp_path / "t.sh").write_text("echo $1 >> runs\n")
    says = ClusterProperties(cluster="a", exec_file="sh t.sh", exec_directory=str(tmp_path), temporal_grouping=True)
    store.submit(Campaign(user="u", name="n", clusters=(says,)), [str(task) for task in range(60)], now=time.time())
    run_campaigns(store, GridSettings(finalize=False), cycle_seconds=0.05, until_idle=True)
    assert {task.state for task in store.tasks(1)} == {TaskState.TERMINATED}
    assert sorted(map(int, (tmp_path / "runs").read_text().split())) == list(range(60))
    assert max(Counter(job.group for job in store.jobs(1) if job.group is not None).values()) > 10
    store.close()


def test_what_starts_leaders_may_be_killed(cluster: LocalProcesses, tmp_path: Path) -> None:
    """Another one takes its place, and what it has started goes on."""
    cluster.submit(group(tmp_path, "until test -e go; do sleep 0.01; done", "echo done"))
    until(lambda: cluster.look().free == 0)
    starter = cluster._starter._process
    assert starter is not None
    starter.kill()
    starter.wait()
    (tmp_path / "go").touch()
    assert end_of(cluster, 2).exit_code == 0
    cluster.submit(group(tmp_path, "true", first=7))
    assert end_of(cluster, 7).exit_code == 0
    close(cluster)


# A marker of the result


@pytest.mark.slow
def test_a_task_with_a_marker_is_done_once(tmp_path: Path) -> None:
    """Two jobs of a task at a time, and another one later: the command runs once, or until it has ended well."""
    says = ClusterProperties(
        cluster="a",
        exec_file="echo begun >> runs; sleep 0.2; test -e may || exit 7; true",
        exec_directory=str(tmp_path),
        result_marker="{NAME}.done",
    )
    campaign = Campaign(id=1, user="u", name="n", clusters=(says,))
    cluster = LocalProcesses("a", tmp_path / "here", slots=2)

    def run(*numbers: int) -> list[int | None]:
        jobs = [GridJob(id=number, campaign=1, task=1, cluster="a") for number in numbers]
        cluster.submit([request_of(job, campaign, GridTask(1, 1, "t/1", "t/1 x")) for job in jobs])
        return [end_of(cluster, number).exit_code for number in numbers]

    assert run(1) == [7 << 8]
    (tmp_path / "may").touch()
    assert run(2, 3) == [0, 0]
    assert run(4) == [0]
    assert (tmp_path / "runs").read_text().split() == ["begun"] * 2
    assert (tmp_path / "t_1.done").exists()
    close(cluster)


@pytest.mark.parametrize(("marker", "jobs"), [(None, 2), ("{NAME}", 1)])
def test_a_campaign_with_a_marker_is_not_copied(marker: str | None, jobs: int) -> None:
    store, cluster = GridStore("sqlite://"), PaperCluster("a", 2)
    store.register(ClusterEntry(name="a"))
    says = ClusterProperties(cluster="a", exec_file="x", result_marker=marker)
    store.submit(Campaign(user="u", name="n", clusters=(says,)), ["0"], now=0.0)
    loop = Loop(store, [cluster], GridSettings(), lambda: cluster.time)
    for _ in range(4):
        loop.cycle()
    assert len(store.jobs(1)) == jobs
    store.close()


def test_the_leader_starts_with_what_python_has_built_in() -> None:
    """Each module more makes each job more expensive."""
    shown = (
        "import sys; before = set(sys.modules); text = open(sys.argv[1]).read(); "
        "exec(text, {'__name__': 'leader'}); print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", shown, LEADER], capture_output=True, text=True, check=True)
    costly = {"collections", "contextlib", "enum", "json", "re", "signal", "subprocess", "typing"}
    assert costly.isdisjoint(done.stdout.split())
