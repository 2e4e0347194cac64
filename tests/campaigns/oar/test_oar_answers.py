"""Requests to OAR's REST API as CiGri makes them, and its answers: recorded ones, and any bytes."""

from __future__ import annotations

import base64
import json
import re
import shlex
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oar_jobs import requests_of
from oar_server import FIELDS
from support import DATA

from batprotocol.campaigns.loop import request_of
from batprotocol.campaigns.managers import JobRequest, _oar_api, oar
from batprotocol.campaigns.managers._oar_api import (
    Misunderstood,
    OarAnswer,
    UnsafeRequest,
    arrays,
    error_of,
    job_number_in,
    job_page,
    resource_page,
    stress_of,
    submission,
)
from batprotocol.campaigns.model import Campaign, ClusterProperties, GridJob, GridTask

WITHOUT_ENGINE = True

EXCHANGES = [json.loads(line) for line in (DATA / "oar" / "exchanges.jsonl").read_text().splitlines()]
POSTS = [json.loads(line) for line in (DATA / "oar" / "cigri_posts.jsonl").read_text().splitlines()]


def test_submissions_are_those_of_cigri() -> None:
    """The same fields with the same values, except for the command, which has the number of the job, and the hold."""
    properties = ClusterProperties(cluster="a", exec_file="run.sh")
    for post in POSTS:
        number = int(re.findall(r"\d+", post["name"])[0])
        campaign = Campaign(id=number, user="alice", name="x", clusters=(properties,))
        best_effort = post["type"] == "besteffort"
        jobs = [GridJob(id=each, campaign=number, cluster="a", best_effort=best_effort) for each in range(post["post"])]
        tasks = [GridTask(each, number, str(each), str(each)) for each in range(post["post"])]
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
    with pytest.raises(UnsafeRequest):
        submission([msgspec.structs.replace(requests_of("x")[0], **{field: text})], "m")


@settings(max_examples=60)
@given(st.text(), st.dictionaries(st.sampled_from(["A", "B_1"]), st.text()), st.integers(0, 10**17))
def test_any_command_is_sent_in_words_without_meaning(command: str, variables: dict[str, str], job: int) -> None:
    try:
        body = submission([JobRequest(job=job, command=command, environment=variables)], "m-1.x")
    except UnsafeRequest:
        assert "\0" in command + "".join(variables.values())
        return
    found = re.fullmatch(r": m-1\.x\.(\d+);echo ([A-Za-z0-9+/=]+)\|base64 -d\|sh", body["command"])
    assert found is not None
    assert job_number_in(body["command"], "m-1.x") == job
    assert job_number_in(body["command"], "m-1") is None
    words = shlex.split(base64.b64decode(found[2]).decode())
    assert words[:3] == ["exec", "sh", "-c"]
    assert words[3].endswith(command)


def test_the_answers_of_oar_are_understood() -> None:
    seen = {}
    for each in EXCHANGES:
        answer = OarAnswer(each["status"], each["type"], json.dumps(each["answer"]).encode(), each["path"])
        if each["path"].startswith("jobs/details"):
            for job in job_page(answer).items:
                seen[each["note"], job.id] = job
        elif each["path"].startswith("resources/full"):
            assert [resource["resource_id"] for resource in resource_page(answer).items] == ["1", "2", "3", "4"]
        elif each["path"] == "stress_factor":
            assert stress_of(answer) is not None
        elif each["method"] == "POST" and each["path"] == "jobs" and each["status"] == 201:
            assert _oar_api.submitted_id(answer) == each["answer"]["id"]
        elif each["status"] >= 400:
            assert error_of(answer) == each["answer"]["message"]
            with pytest.raises(Misunderstood):
                job_page(answer)
    ended = {number: job for (note, number), job in seen.items() if note == "after"}
    assert ended[6].events[0].type == "BESTEFFORT_KILL"
    assert ended[11].events[0].type == "WALLTIME"
    assert (ended[10].state, ended[10].exit_code) == ("Terminated", 3 << 8)
    assert [event.type for event in ended[12].events if event.type in oar.CAUSES] == ["WORKING_DIRECTORY"]
    assert [event.type for event in ended[16].events] == ["FRAG_JOB_REQUEST"]
    assert seen["held", 14].is_held
    assert seen["all jobs", 6].resources == (1,)
    assert seen["all jobs", 6].node == "127.0.0.1"


@settings(max_examples=30)
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
    answer = OarAnswer(200, "", body)
    for read in (job_page, resource_page, _oar_api.submitted_id):
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
    answer = OarAnswer(200, "", bytes(text))
    for read in (job_page, resource_page, _oar_api.submitted_id):
        try:
            read(answer)
        except Misunderstood:
            continue
    stress_of(answer)
    error_of(answer)


def test_deep_answers_are_misunderstood() -> None:
    for body in (b"[" * 10**6, b'{"items":' * 10**5, b'{"items":[{"id":1,"state":"x","events":' + b"[" * 10**5):
        with pytest.raises(Misunderstood):
            job_page(OarAnswer(200, "", body))


_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)
_EVENT_TYPES = st.sampled_from(["BESTEFFORT_KILL", "WALLTIME", "FRAG_JOB_REQUEST", "SWITCH_TO_ERROR", "x" * 1001])


@settings(max_examples=60)
@given(
    st.lists(st.tuples(_EVENT_TYPES, _TEXTS | st.just("y" * 1001)), max_size=30),
    st.lists(st.integers(1, 10**6), max_size=4),
    st.lists(st.sampled_from(["", "n1", "n2"]), max_size=3),
    st.fixed_dictionaries(
        {
            "exit_code": st.none() | st.integers(0, 65535),
            "start_time": st.integers(-1, 2 * 10**9),
            "stop_time": st.integers(-1, 2 * 10**9),
            "array_id": st.none() | st.integers(1, 10**9),
            "owner": _TEXTS,
            "command": _TEXTS | st.just("z" * 201),
            "launching_directory": _TEXTS,
            "stdout_file": _TEXTS,
            "stderr_file": _TEXTS,
        }
    ),
    st.booleans(),
)
def test_any_job_is_read_as_it_is_written(
    events: list[tuple[str, str]], resources: list[int], nodes: list[str], members: dict[str, Any], in_words: bool
) -> None:
    """The events that say why it was killed come first. The beginning of each text and list is kept; 0 is no time."""
    written = {
        "id": 7,
        "state": "Running",
        **{name: str(each) if in_words and type(each) is int else each for name, each in members.items()},
        "events": [{"type": kind, "description": text} for kind, text in events],
        "resources": [{"id": each} for each in resources],
        "nodes": [{"network_address": each} for each in nodes],
    }
    page = {"items": [written, {**written, "id": 8}], "links": [{"rel": "next"}], "offset": 40, "api_timestamp": 3}
    read = job_page(OarAnswer(200, "", json.dumps(page).encode()))
    assert (read.next, read.time, [job.id for job in read.items]) == (42, 3.0, [7, 8])
    job = read.items[0]
    causes = [each for each in events if each[0] in ("BESTEFFORT_KILL", "WALLTIME")]
    in_order = [*causes, *(each for each in events if each not in causes)]
    assert [(each.type, each.description) for each in job.events] == [
        (kind[:1000], text[:1000]) for kind, text in in_order[:20]
    ]
    assert job.resources == tuple(resources)
    assert job.node == next(filter(None, nodes), None)
    assert (job.exit_code, job.array, job.owner) == (members["exit_code"], members["array_id"], members["owner"])
    for found, name in ((job.start, "start_time"), (job.stop, "stop_time")):
        assert found == (members[name] if members[name] > 0 else None)
    assert (job.command, job.directory) == (members["command"][:200], members["launching_directory"])
    assert (job.stdout, job.stderr) == (members["stdout_file"], members["stderr_file"])
    shorter = msgspec.structs.replace(job, resources=(), events=(), owner="", command="")
    assert job.characters >= shorter.characters + len(job.owner) + len(job.command) + 100 * len(job.events)


@pytest.mark.parametrize(
    ("status", "factor", "stress"),
    [
        *((200, 0.5, 0.5), (200, "0.5", 0.5), (200, 0, 0.0), (200, None, 0.0), (200, -0.1, None), (200, "x", None)),
        *((200, "inf", None), (200, "nan", None), (404, 0.5, None)),
    ],
)
def test_the_stress_factor_is_a_number_from_0_or_unknown(status: int, factor: Any, stress: float | None) -> None:
    assert stress_of(OarAnswer(status, "", json.dumps({"GLOBAL_STRESS": factor}).encode())) == stress


def test_long_values_of_a_resource_are_left_out() -> None:
    """A value takes 1000 bytes of JSON at most: 998 letters between quotes."""
    items = [{"id": 1, "state": "Alive", "core": "c" * 998}, {"id": 2, "state": "Alive", "core": "c" * 999}]
    found = resource_page(OarAnswer(200, "", json.dumps({"items": items}).encode()), ["core"]).items
    assert [len(each["core"]) for each in found] == [998, 0]
