"""A cluster with OAR's REST API: requests as CiGri makes them, answers as OAR gives them, and bad ones."""

from __future__ import annotations

import base64
import json
import os
import random
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oar_server import FIELDS, OarServer
from support import DATA

from batprotocol.campaigns.loop import request_of
from batprotocol.campaigns.managers import Request, ResourceManager, open_manager
from batprotocol.campaigns.managers.interface import DIRECTORY, NODES
from batprotocol.campaigns.managers.oar import OarCluster, answers, http, manager, read_description
from batprotocol.campaigns.managers.oar.answers import Misunderstood, error_of, job_page, resource_page, stress_of
from batprotocol.campaigns.managers.oar.http import Answer, Api
from batprotocol.campaigns.managers.oar.requests import Unsafe, arrays, number_of, submission
from batprotocol.campaigns.model import Campaign, ClusterProperties, Job, JobState, RemoteJob, Task
from batprotocol.campaigns.store import Store, Where
from batprotocol.errors import ClusterError

WITHOUT_ENGINE = True

PATIENCE = 30.0
EXCHANGES = [json.loads(line) for line in (DATA / "oar" / "exchanges.jsonl").read_text().splitlines()]
POSTS = [json.loads(line) for line in (DATA / "oar" / "cigri_posts.jsonl").read_text().splitlines()]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OarServer]:
    (tmp_path / "home").mkdir()
    found = OarServer(tmp_path / "home")
    yield found
    found.close()
    assert found.complaints == []


@pytest.fixture
def description(server: OarServer, tmp_path: Path) -> Path:
    path = tmp_path / "oar.json"
    path.write_text(json.dumps({"url": server.url, "user": "alice", "timeout": 60, "period": 0.001}))
    return path


@pytest.fixture
def cluster(description: Path) -> OarCluster:
    return OarCluster("luke", str(description), "cigri-1")


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def jobs_of(cluster: ResourceManager) -> dict[int, RemoteJob]:
    return {job.job: job for job in cluster.look().jobs}


def ends(cluster: ResourceManager) -> dict[int, RemoteJob]:
    until(lambda: all(job.state is JobState.TERMINATED for job in jobs_of(cluster).values()))
    return jobs_of(cluster)


def why(job: RemoteJob) -> list[str]:
    return [event.type for event in job.events if event.type in {*manager.CAUSES, "REFUSED"}]


def requests_of(*commands: str, first: int = 1, **more: Any) -> list[Request]:
    return [Request(job=number, command=command, campaign=1, **more) for number, command in enumerate(commands, first)]


# Requests


def test_submissions_are_those_of_cigri() -> None:
    """The same fields with the same values, except for the command, which has the number of the job, and the hold."""
    properties = ClusterProperties(cluster="a", exec_file="run.sh")
    for post in POSTS:
        number = int(re.findall(r"\d+", post["name"])[0])
        campaign = Campaign(id=number, user="alice", name="x", clusters=(properties,))
        best_effort = post["type"] == "besteffort"
        jobs = [Job(id=each, campaign=number, cluster="a", best_effort=best_effort) for each in range(post["post"])]
        tasks = [Task(each, number, str(each), str(each)) for each in range(post["post"])]
        made = [request_of(job, campaign, task) for job, task in zip(jobs, tasks, strict=True)]
        (together,) = arrays(made)
        body = submission(together, "cigri-1")
        alike = {"resources", "directory", "name"} | ({"type"} if best_effort else set())
        assert {name: body[name] for name in alike} == {name: post[name] for name in alike}
        assert set(body) - alike - {"param_file"} == {"command", "hold"}
        assert len(body.get("param_file", "one").split("\n")) == post["post"]


def test_a_job_says_what_it_needs() -> None:
    (body,) = [
        submission([each], "m", queue="day")
        for each in requests_of(
            "x",
            resources="/nodes=1/cpu=2",
            properties="cluster = 'luke'",
            project="p",
            best_effort=False,
            walltime=90061,
        )
    ]
    assert body["resources"] == "/nodes=1/cpu=2,walltime=25:01:01"
    assert (body["property"], body["project"], body["queue"]) == ("cluster = 'luke'", "p", "day")
    assert "type" not in body
    assert set(body) <= FIELDS


@pytest.mark.parametrize("text", ["$(touch x)", "`touch x`", 'a" b', "a\\", "a\nb", "${HOME}"])
@pytest.mark.parametrize("field", ["directory", "properties", "project", "resources"])
def test_texts_that_a_shell_would_read_are_not_sent(text: str, field: str) -> None:
    with pytest.raises(Unsafe):
        submission([msgspec.structs.replace(requests_of("x")[0], **{field: text})], "m")


@settings(max_examples=60)
@given(st.text(), st.dictionaries(st.sampled_from(["A", "B_1"]), st.text()), st.integers(0, 10**17))
def test_any_command_is_sent_in_words_without_meaning(command: str, variables: dict[str, str], job: int) -> None:
    try:
        body = submission([Request(job=job, command=command, environment=variables)], "m-1.x")
    except Unsafe:
        assert "\0" in command + "".join(variables.values())
        return
    found = re.fullmatch(r": m-1\.x\.(\d+);echo ([A-Za-z0-9+/=]+)\|base64 -d\|sh", body["command"])
    assert found is not None
    assert number_of(body["command"], "m-1.x") == job
    assert number_of(body["command"], "m-1") is None
    words = shlex.split(base64.b64decode(found[2]).decode())
    assert words[:3] == ["exec", "sh", "-c"]
    assert words[3].endswith(command)


# Answers


def test_the_answers_of_oar_are_understood() -> None:
    seen = {}
    for each in EXCHANGES:
        answer = Answer(each["status"], each["type"], json.dumps(each["answer"]).encode(), each["path"])
        if each["path"].startswith("jobs/details"):
            for job in job_page(answer).items:
                seen[each["note"], job.id] = job
        elif each["path"].startswith("resources/full"):
            assert [resource["resource_id"] for resource in resource_page(answer).items] == ["1", "2", "3", "4"]
        elif each["path"] == "stress_factor":
            assert stress_of(answer) is not None
        elif each["method"] == "POST" and each["path"] == "jobs" and each["status"] == 201:
            assert answers.submitted_id(answer) == each["answer"]["id"]
        elif each["status"] >= 400:
            assert error_of(answer) == each["answer"]["message"]
            with pytest.raises(Misunderstood):
                job_page(answer)
    ended = {number: job for (note, number), job in seen.items() if note == "after"}
    assert ended[6].events[0].type == "BESTEFFORT_KILL"
    assert ended[11].events[0].type == "WALLTIME"
    assert (ended[10].state, ended[10].exit_code) == ("Terminated", 3 << 8)
    assert [event.type for event in ended[12].events if event.type in manager.CAUSES] == ["WORKING_DIRECTORY"]
    assert [event.type for event in ended[16].events] == ["FRAG_JOB_REQUEST"]
    assert seen["held", 14].is_held
    assert seen["all jobs", 6].resources == (1,)
    assert seen["all jobs", 6].node == "127.0.0.1"


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


@settings(max_examples=60)
@given(
    st.binary()
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        _nested := (
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(
                    st.sampled_from(
                        ["items", "links", "rel", "id", "state", "events", "type", "GLOBAL_STRESS", "message"]
                    ),
                    inner,
                )
            )
        ),
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_answer_is_a_value_or_misunderstood(body: bytes) -> None:
    answer = Answer(200, "", body)
    for read in (job_page, resource_page, answers.submitted_id):
        try:
            read(answer)
        except Misunderstood:
            continue
    stress_of(answer)
    error_of(answer)


@settings(max_examples=60)
@given(st.data())
def test_answers_with_a_fault_in_the_middle_are_values_or_misunderstood(data: st.DataObject) -> None:
    each = data.draw(st.sampled_from([each for each in EXCHANGES if isinstance(each["answer"], dict)]))
    text = bytearray(json.dumps(each["answer"]).encode())
    at = data.draw(st.integers(0, len(text) - 1))
    text[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=10))
    answer = Answer(200, "", bytes(text))
    for read in (job_page, resource_page, answers.submitted_id):
        try:
            read(answer)
        except Misunderstood:
            continue
    stress_of(answer)
    error_of(answer)


def test_deep_answers_are_misunderstood() -> None:
    for body in (b"[" * 10**6, b'{"items":' * 10**5, b'{"items":[{"id":1,"state":"x","events":' + b"[" * 10**5):
        with pytest.raises(Misunderstood):
            job_page(Answer(200, "", body))


# The life of jobs


def test_it_is_a_resource_manager(cluster: OarCluster, description: Path) -> None:
    assert isinstance(cluster, ResourceManager)
    seen = cluster.look()
    assert (seen.cluster, seen.max, seen.free, seen.jobs, seen.stress_factor) == ("luke", 4, 4, (), 0.1)
    assert isinstance(open_manager("luke", "oar", str(description), None, "m"), OarCluster)


def test_jobs_end(server: OarServer, cluster: OarCluster) -> None:
    folder = str(server.folder)
    jobs = [
        *requests_of("true", "echo out; echo err >&2; exit 3", "kill -9 $$", environment={"A": "it's $(odd) `x`"}),
        Request(job=4, command="true", campaign=1, directory="/nowhere"),
        Request(job=5, command="true", campaign=1, weight=5),
        Request(job=6, command="true", campaign=1, directory="$(touch x)"),
        Request(job=7, command="sleep 60", campaign=1, walltime=1),
        Request(
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
    until(lambda: sum(job.state is JobState.TERMINATED for job in jobs_of(cluster).values()) == 2)
    found = jobs_of(cluster)
    assert [number for number, job in found.items() if job.state is JobState.TERMINATED] == [2, 5]
    assert why(found[2]) == why(found[5]) == ["FRAG_JOB_REQUEST"]
    cluster.kill([2, 5])
    before = len(server.asked)
    cluster.kill([1, 3, 4, 6])
    assert len(server.asked) == before + 1  # the whole array
    assert all(why(job) == ["FRAG_JOB_REQUEST"] for job in ends(cluster).values())
    assert server.starts.get(": cigri-1.5", 0) == 0


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
    until(lambda: any(job.state is JobState.TERMINATED for job in jobs_of(cluster).values()))
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
    until(lambda: sum(job.state is JobState.TERMINATED for job in jobs_of(again).values()) == 4)
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
    assert jobs_of(cluster)[1].state is not JobState.TERMINATED
    cluster.forget([1])


# Answers that are lost or wrong


@pytest.mark.parametrize("fault", ["lost", "late 500", "cut", "half"])
@pytest.mark.parametrize("number", [1, 3])
def test_a_submission_without_an_answer_runs_once(
    server: OarServer, cluster: OarCluster, description: Path, fault: str, number: int
) -> None:
    jobs = requests_of(*["true"] * number)
    server.faults.append(("POST jobs$", fault))
    with pytest.raises(ClusterError):
        cluster.submit(jobs)
    cluster.submit(jobs)  # it may be there: nothing happens
    again = OarCluster("luke", str(description), "cigri-1")
    again.submit(jobs)
    assert [job.exit_code for job in ends(again).values()] == [0] * number
    assert list(server.starts.values()) == [1] * number
    assert len(server.jobs) == number


def test_a_submission_that_arrives_too_late_never_runs(
    server: OarServer, cluster: OarCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager, "LOST_SECONDS", -60.0)
    server.faults.append(("POST jobs$", "500"))
    with pytest.raises(ClusterError):
        cluster.submit(requests_of("true"))
    assert why(ends(cluster)[1]) == ["EXTERMINATE"]
    with server.lock:
        server.submit(submission(requests_of("true"), "cigri-1"), "alice")
    cluster.look()
    until(lambda: server.jobs[1].state == "Error")
    assert why(jobs_of(cluster)[1]) == ["EXTERMINATE"]
    assert server.starts == {}


def test_a_job_is_killed_before_its_submission_is_answered(server: OarServer, cluster: OarCluster) -> None:
    server.faults.append(("POST jobs$", "lost"))
    with pytest.raises(ClusterError):
        cluster.submit(requests_of("true", "true"))
    cluster.kill([1])
    found = ends(cluster)
    assert why(found[1]) == ["FRAG_JOB_REQUEST"]
    assert found[2].exit_code == 0
    assert server.starts == {": cigri-1.2": 1}


@pytest.mark.parametrize("fault", ["500", "html", "half", "cut", "redirect", "huge", "hung up", "denied"])
@pytest.mark.parametrize("path", ["GET jobs/details", "GET resources/full"])
def test_a_bad_answer_is_a_sentence_and_a_retry(server: OarServer, cluster: OarCluster, fault: str, path: str) -> None:
    cluster.submit(requests_of("true"))
    server.faults.append((path, fault))
    with pytest.raises(ClusterError) as caught:
        cluster.look()
    assert caught.value.cluster == "luke"
    assert "127.0.0.1" in caught.value.reason
    assert "\n" not in caught.value.reason
    assert len(caught.value.reason) < 600
    assert ends(cluster)[1].exit_code == 0


def test_an_answer_that_is_too_great(cluster: OarCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MOST_BYTES", 1000)
    with pytest.raises(ClusterError, match="more than 1000 bytes"):
        cluster.look()


def test_nobody_answers(cluster: OarCluster, server: OarServer, description: Path) -> None:
    description.write_text(json.dumps({"url": "http://127.0.0.1:1/oarapi", "user": "alice"}))
    with pytest.raises(ClusterError, match=r"127\.0\.0\.1 does not answer"):
        OarCluster("luke", str(description), "cigri-1").look()


def test_a_job_that_is_gone_is_lost_when_that_stays_so(
    server: OarServer, cluster: OarCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.submit(requests_of("exit 2"))
    until(lambda: server.jobs[1].state == "Terminated")
    for _ in range(5):
        server.faults.append(("GET jobs/details$", "nothing"))
    for _ in range(2):
        server.faults.append(("GET jobs/details$", "nothing"))
        cluster.look()
    with server.lock:
        gone = server.jobs.pop(1)
        server.faults.clear()
    for _ in range(4):
        assert jobs_of(cluster)[1].state is not JobState.TERMINATED
    monkeypatch.setattr(manager, "LOST_SECONDS", 0.0)
    assert why(ends(cluster)[1]) == ["EXTERMINATE"]
    assert gone.exit_code == 512


def test_media_that_are_missing_leave_the_output_empty(server: OarServer, cluster: OarCluster) -> None:
    server.faults += [("GET media", "500"), ("GET media", "cut")]
    cluster.submit(requests_of("echo x; echo y >&2; exit 1"))
    found = ends(cluster)[1]
    assert (found.exit_code, found.output, found.errors) == (256, "", "")


# Secrets

SECRET = "s3cret-of-alice"


@pytest.mark.parametrize("auth", ["password", "jwt"])
def test_secrets_are_in_no_message_and_no_store(
    server: OarServer, tmp_path: Path, auth: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    secret.chmod(0o600)
    monkeypatch.setenv("OAR_SECRET", SECRET)
    pair = base64.b64encode(f"alice:{SECRET}".encode()).decode()
    for where in ({"secret_file": str(secret)}, {"secret_env": "OAR_SECRET"}):
        path = tmp_path / "oar.json"
        path.write_text(json.dumps({"url": server.url, "user": "alice", "auth": auth, "period": 0.001, **where}))
        cluster = OarCluster("luke", str(path), "m")
        cluster.submit(requests_of("true"))
        assert server.headers[-1]["Authorization"] == {"password": f"Basic {pair}", "jwt": f"Bearer {SECRET}"}[auth]
        messages = [repr(vars(cluster)), repr(cluster._api), str(cluster._description)]
        for fault in ("denied", "500", "cut", "redirect"):
            server.faults.append(("GET jobs/details", fault))
            with pytest.raises(ClusterError) as caught:
                cluster.look()
            messages += [str(caught.value), repr(caught.value), repr(caught.value.__context__)]
        listing = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        store = Store(str(tmp_path / "grid.db"))
        store.register(Where(name="luke", batch="oar", address=str(path)))
        store.close()
        stored = [each.read_bytes() for each in tmp_path.rglob("*") if each.is_file() and each != secret]
        for text in (*messages, listing):
            assert SECRET not in text
            assert pair not in text
        assert not any(SECRET.encode() in text or pair.encode() in text for text in stored)
        cluster.forget([1])


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({}, "missing required field `url`"),
        ({"url": "oar.example.org"}, "https://oar.example.org/oarapi"),
        ({"url": "http://[::1"}, "https://oar.example.org/oarapi"),
        ({"url": "http://h:99999/"}, "https://oar.example.org/oarapi"),
        ({"url": "https://alice:x@h/"}, "'secret_file'"),
        ({"url": "http://h/\r\nX: y"}, "printable ASCII"),
        ({"url": "https://h/", "user": "a\r\nb"}, "'user'"),
        ({"url": "https://h/", "header": "a: b"}, "header"),
        ({"url": "https://h/", "auth": "jwt"}, "'secret_file' and 'secret_env'"),
        ({"url": "http://h/", "auth": "jwt", "secret_env": "X"}, "https"),
        ({"url": "https://h/", "auth": "cert"}, "'certificate'"),
        ({"url": "https://h/", "walltime": 3}, "walltime"),
        ({"url": "https://h/", "timeout": 0}, "timeout"),
    ],
)
def test_wrong_descriptions(tmp_path: Path, members: dict[str, object], words: str) -> None:
    path = tmp_path / "oar.json"
    path.write_text(json.dumps(members))
    with pytest.raises(ClusterError) as caught:
        read_description(str(path), "luke")
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


@settings(max_examples=30)
@given(st.binary())
def test_any_description_is_one_or_an_error(text: bytes) -> None:
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"oar-description-{os.getpid()}"
    path.write_bytes(text)
    try:
        read_description(str(path))
    except ClusterError:
        return
    finally:
        path.unlink()


def test_a_secret_that_others_can_read_is_refused(tmp_path: Path) -> None:
    secret, path = tmp_path / "secret", tmp_path / "oar.json"
    secret.write_text(SECRET)
    secret.chmod(0o644)
    path.write_text(json.dumps({"url": "https://h/", "auth": "jwt", "secret_file": str(secret)}))
    with pytest.raises(ClusterError, match="chmod 600"):
        Api(read_description(str(path)))
    secret.unlink()
    os.mkfifo(secret)
    with pytest.raises(ClusterError, match="no such file"):
        Api(read_description(str(path)))


def test_a_file_of_jobs_that_is_none(cluster: OarCluster, description: Path) -> None:
    Path(f"{description}.m.jobs").write_text("{")
    with pytest.raises(ClusterError, match="move it away"):
        OarCluster("luke", str(description), "m")
