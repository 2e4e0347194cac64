"""The jobs of a cluster with OAR's REST API: they run, end, are killed, and are found again."""

from __future__ import annotations

import json
import random
import shlex
import time
from pathlib import Path

from oar_jobs import ends, requests_of, until, why
from oar_server import OarServer
from patience import jobs_of
from support import DATA

from batprotocol.campaigns.managers import JobRequest, ResourceManager, open_manager
from batprotocol.campaigns.managers.interface import DIRECTORY, NODES
from batprotocol.campaigns.managers.oar import OarCluster
from batprotocol.campaigns.model import GridJobState

WITHOUT_ENGINE = True

EXCHANGES = [json.loads(line) for line in (DATA / "oar" / "exchanges.jsonl").read_text().splitlines()]


def test_the_server_of_these_tests_answers_as_oar_did(server: OarServer, cluster: OarCluster) -> None:
    cluster.submit(requests_of("sleep 60", "sleep 60", directory="~"))
    until(lambda: cluster.look().free == 2)
    recorded = {each["note"]: each["answer"] for each in EXCHANGES}
    for note, path in (("all jobs", "jobs/details"), ("resources", "resources/full")):
        found = server.collection(path, {})
        assert set(found) == set(recorded[note])
        assert set(found["items"][0]) == set(recorded[note]["items"][0])
    status, found = server.submit({"resources": "/resource_id=9,walltime=0:00:01", "command": "x"}, "alice")
    assert (status, set(found)) == (400, set(recorded["too much"]))
    status, found = server.submit({"resources": "/resource_id=1,walltime=0:00:01", "command": "x"}, "alice")
    assert (status, set(found)) == (201, set(recorded["exit 3"]))


def test_it_is_a_resource_manager(cluster: OarCluster, description: Path) -> None:
    assert isinstance(cluster, ResourceManager)
    seen = cluster.look()
    assert (seen.cluster, seen.max, seen.free, seen.jobs, seen.stress_factor) == ("luke", 4, 4, (), 0.1)
    assert isinstance(open_manager("luke", "oar", str(description), None, "m"), OarCluster)


def test_jobs_end(server: OarServer, cluster: OarCluster) -> None:
    folder = str(server.folder)
    jobs = [
        *requests_of("true", "echo out; echo err >&2; exit 3", "kill -9 $$", environment={"A": "it's $(odd) `x`"}),
        JobRequest(job=4, command="true", campaign=1, directory="/nowhere"),
        JobRequest(job=5, command="true", campaign=1, weight=5),
        JobRequest(job=6, command="true", campaign=1, directory="$(touch x)"),
        JobRequest(job=7, command="sleep 60", campaign=1, walltime=1),
        JobRequest(
            job=8,
            command='printf %s "$A" >a; printf %s "$B" >b; wc -l <"$N" >n; cat',
            campaign=1,
            weight=2,
            directory="~",
            environment={"A": "it's $(odd) `x`\n", "B": DIRECTORY, "N": NODES},
        ),
    ]
    cluster.submit(jobs)
    cluster.submit(jobs)  # again: nothing happens
    found = ends(cluster)
    assert [found[number].exit_code for number in (1, 2, 3, 8)] == [0, 3 << 8, 137 << 8, 0]
    assert [why(found[number]) for number in (4, 5, 6)] == [["WORKING_DIRECTORY"], ["REFUSED"], ["REFUSED"]]
    assert why(found[7])[0] == "WALLTIME"
    assert (found[2].output, found[2].errors, found[1].output) == ("out\n", "err\n", "")
    assert "leave it out" in found[6].events[0].description
    assert "not enough resources" in found[5].events[0].description
    assert [(server.folder / name).read_text().strip() for name in "bn"] == [folder, "2"]
    assert (server.folder / "a").read_text() == "it's $(odd) `x`\n"
    assert set(server.starts.values()) == {1}
    cluster.forget(found)
    assert cluster.look().jobs == ()


def test_words_of_tasks_run_nothing(server: OarServer, cluster: OarCluster) -> None:
    """Names with quotes, line ends and commands in them reach the program as they are."""
    drawn = random.Random(1)
    pieces = [
        "'",
        '"',
        "\n",
        "$(touch x)",
        "`touch x`",
        "\\",
        ";",
        "|",
        "&",
        "#",
        " ",
        "é",
        "*",
        "~",
        "!",
        "%",
        "{}",
        "-",
    ]
    names = ["".join(drawn.choices(pieces, k=drawn.randint(1, 8))) for _ in range(40)]
    cluster.submit(requests_of(*(f"printf %s {shlex.quote(name)} >out{number}" for number, name in enumerate(names))))
    assert {job.exit_code for job in ends(cluster).values()} == {0}
    assert [(server.folder / f"out{number}").read_text() for number in range(40)] == names
    assert not list(server.folder.glob("x*"))


def test_the_end_of_a_long_output_is_kept(server: OarServer, cluster: OarCluster) -> None:
    cluster.submit(requests_of("seq 100000; head -c 30000 /dev/zero | tr '\\0' x >&2; exit 1"))
    found = ends(cluster)[1]
    assert found.output.splitlines()[-1] == "100000"
    assert found.output.splitlines()[0] == "99802"
    assert found.errors == "x" * 10_000


def test_jobs_are_killed(server: OarServer, cluster: OarCluster) -> None:
    cluster.submit(requests_of(*["sleep 60"] * 6))
    until(lambda: cluster.look().free == 0)
    cluster.kill([2, 5, 99])
    until(lambda: sum(job.state is GridJobState.TERMINATED for job in jobs_of(cluster).values()) == 2)
    found = jobs_of(cluster)
    assert {number for number, job in found.items() if job.state is GridJobState.TERMINATED} == {2, 5}
    assert why(found[2]) == why(found[5]) == ["FRAG_JOB_REQUEST"]
    cluster.kill([2, 5])
    before = len(server.asked)
    cluster.kill([1, 3, 4, 6])
    assert len(server.asked) == before + 1  # the whole array
    assert all(why(job) == ["FRAG_JOB_REQUEST"] for job in ends(cluster).values())
    assert server.starts.get(": cigri-1.5", 0) == 0


def test_what_waits_is_killed_before_what_runs(server: OarServer, cluster: OarCluster) -> None:
    """An array runs, a job and another array wait: neither of them begins."""
    cluster.submit(requests_of(*["sleep 60"] * 4))
    until(lambda: cluster.look().free == 0)
    cluster.submit(requests_of("sleep 60", first=5))
    cluster.submit(requests_of("sleep 60", "sleep 60", first=6))
    assert len(jobs_of(cluster)) == 7
    before = len(server.asked)
    cluster.kill(range(1, 8))
    paths = [path for _, path, _ in server.asked[before:]]
    assert paths == ["jobs/array/6/deletions/new", "jobs/5", "jobs/array/1/deletions/new"]
    assert all(why(job) == ["FRAG_JOB_REQUEST"] for job in ends(cluster).values())
    assert sorted(server.starts) == [f": cigri-1.{number}" for number in range(1, 5)]


def test_what_is_forgotten_is_killed(server: OarServer, cluster: OarCluster, description: Path) -> None:
    cluster.submit(requests_of("sleep 60", "sleep 60"))
    cluster.forget([1, 2, 3])
    assert cluster.look().jobs == ()
    until(lambda: all(job.state == "Error" for job in server.jobs.values()))
    assert OarCluster("luke", str(description), "cigri-1").look().jobs == ()


def test_the_own_jobs_of_the_cluster_go_first(server: OarServer, cluster: OarCluster) -> None:
    cluster.submit(requests_of(*["sleep 60"] * 4))
    until(lambda: cluster.look().free == 0)
    with server.lock:
        server.submit({"resources": "/resource_id=1,walltime=00:01:00", "command": "sleep 60"}, "bob")
    until(lambda: any(job.state is GridJobState.TERMINATED for job in jobs_of(cluster).values()))
    assert why(jobs_of(cluster)[4])[0] == "BESTEFFORT_KILL"
    assert cluster.look().free == 0


def test_resources_that_are_down_do_not_count(server: OarServer, cluster: OarCluster) -> None:
    server.states[3] = "Suspected"
    server.page = 2  # in pages
    seen = cluster.look()
    assert (seen.max, seen.free) == (3, 3)


def test_the_next_process_finds_the_jobs(server: OarServer, cluster: OarCluster, description: Path) -> None:
    server.page = 2
    cluster.submit(requests_of("exit 1", "sleep 0.1", "true", "sleep 60", "true"))
    again = OarCluster("luke", str(description), "cigri-1")
    again.submit(requests_of("exit 1", "sleep 0.1", "true", "sleep 60", "true"))
    until(lambda: sum(job.state is GridJobState.TERMINATED for job in jobs_of(again).values()) == 4)
    assert jobs_of(again)[1].exit_code == 256
    (file,) = description.parent.glob("*.jobs")
    file.unlink()  # the file is lost: the jobs of the last days are found by their names
    late = OarCluster("luke", str(description), "cigri-1")
    assert sorted(jobs_of(late)) == [1, 2, 3, 4, 5]
    assert set(server.starts.values()) == {1}
    late.forget([4])


def test_another_store_and_another_user_do_not_mix(server: OarServer, cluster: OarCluster, description: Path) -> None:
    cluster.submit(requests_of("sleep 60"))
    other = OarCluster("luke", str(description), "cigri-2")
    assert other.look().jobs == ()
    with server.lock:
        body = {"resources": "/resource_id=1,walltime=00:01:00", "command": ": cigri-2.7;true", "hold": ""}
        server.submit(body, "mallory")
    assert other.look().jobs == ()


def test_oar_submits_a_job_again(server: OarServer, cluster: OarCluster) -> None:
    cluster.submit(requests_of("sleep 60"))
    with server.lock:
        first = server.jobs[1]
        server.submit({"resources": "/resource_id=1,walltime=00:01:00", "command": f"{first.command}"}, "alice")
        first.events.append(("RESUBMIT_JOB_AUTOMATICALLY", "[Leon] Job resubmitted (new id = 2)"))
        first.state, first.stop = "Error", time.time()
    until(lambda: jobs_of(cluster)[1].remote_id == "2")
    assert jobs_of(cluster)[1].state is not GridJobState.TERMINATED
    cluster.forget([1])
