"""Servers that answer clients of slurmrestd and of OAR with anything: only our exceptions, in one printable line."""

from __future__ import annotations

import json
import ssl
import subprocess
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from hostile_servers import BROKEN, chunked, hostile_server, sized
from hypothesis import given, settings
from hypothesis import strategies as st
from support import DATA

from batprotocol.campaigns.managers.interface import JobRequest
from batprotocol.campaigns.managers.oar import OarCluster
from batprotocol.errors import ClusterError
from batprotocol.sites.slurm.client import JobBatch, SlurmError, SlurmRest

WITHOUT_ENGINE = True

SECRET: Final = "eyJhbGciOiJIUzI1NiJ9.s3cret"
SPEC: Final = b'{"paths":{"/slurm/v0.0.38/jobs":{}}}'
EXCHANGES: Final = [json.loads(line) for line in (DATA / "oar" / "exchanges.jsonl").read_text().splitlines()]
PARTITIONS: Final = [
    {"partitions": [{"max_time_limit": 10}]},
    {"partitions": [{"maximums": {"time": {"set": True, "infinite": False, "number": 60}}}]},
    {"partitions": [], "errors": []},
    {"errors": [{"description": "Invalid partition", "error_number": 2000}]},
    {"result": {"job_id": 4}, "job_id": 4},
]
SLURM: Final = [
    *(json.loads((DATA / "slurm_client" / name).read_text()) for name in ("jobs.json", "nodes.json")),
    *PARTITIONS,
]
OAR: Final = [each["answer"] for each in EXCHANGES if isinstance(each["answer"], dict)]

ANYTHING: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["\x1b[2J", "0-65535", "0-9999999", "alice", ": m.1;", SECRET]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["time", "set", "number", "id", "rel", "job_id", "type"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def changed(draw: st.DrawFn, answers: list[dict[str, Any]]) -> bytes:
    """A recorded answer in which some values are others."""
    whole = json.loads(json.dumps(draw(st.sampled_from(answers))))
    for _ in range(draw(st.integers(1, 4))):
        at: Any = whole
        while True:
            key = draw(st.sampled_from([*at] if isinstance(at, dict) else range(len(at))))
            if isinstance(at[key], (dict, list)) and at[key] and draw(st.integers(0, 4)):
                at = at[key]
                continue
            at[key] = draw(ANYTHING)
            break
        if not whole:
            break
    return json.dumps(whole).encode()


@st.composite
def answers(draw: st.DrawFn, recorded: list[dict[str, Any]]) -> bytes:
    """An answer in one piece or in chunks, with some of its bytes replaced."""
    body = draw(changed(recorded))
    status = draw(st.sampled_from([b"200 OK"] * 4 + [b"201 Created", b"400 Bad", b"404 No", b"500 Oh", b"204 None"]))
    if draw(st.booleans()):
        sizes = draw(st.lists(st.integers(1, max(len(body), 1)), max_size=4))
        cuts = sorted({0, len(body), *(min(size, len(body)) for size in sizes)})
        text = b"".join(chunked(body[a:b] for a, b in pairwise(cuts)))
        text = text.replace(b"200 OK", status, 1)
    else:
        text = sized(body, status)
    if not draw(st.booleans()):
        return text
    at = draw(st.integers(0, len(text)) | st.integers(0, 120))
    return text[:at] + draw(st.binary(max_size=12)) + text[at + draw(st.integers(0, 8)) :]


class Next:
    """A server that gives this answer to all, except for the description of slurmrestd's API."""

    def __init__(self) -> None:
        self.answer = b""
        self.asked: list[str] = []

    def __call__(self, first: str) -> Iterator[bytes]:
        yield sized(SPEC) if first.endswith("/openapi/v3") else self.answer


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Next, str]]:
    found = Next()
    with hostile_server(found, found.asked) as address:
        yield found, address


def refusal(call: Callable[[], object], *kinds: type[Exception]) -> str:
    """What a call says, or "" if it succeeds. No other exception leaves it."""
    try:
        call()
    except kinds as error:
        said = str(error)
    else:
        return ""
    assert said.isprintable()
    assert len(said) < 1000
    assert SECRET not in said
    return said


def slurm_calls(address: str) -> list[Callable[[], object]]:
    rest = SlurmRest(address, SECRET, "alice", timeout=0.3)
    return [
        rest.jobs,
        lambda: rest.nodes("idle"),
        lambda: rest.limits("idle"),
        lambda: rest.submit(JobBatch(script="#!/bin/sh\n", name="x")),
        lambda: rest.cancel(["1"]),
        lambda: rest.signal(["1_2"], "USR1"),
    ]


def oar_cluster(address: str, folder: Path) -> OarCluster:
    (folder / "secret").write_text(SECRET)
    (folder / "secret").chmod(0o600)
    path = folder / "oar.toml"
    path.write_text(
        f'type = "oar"\nurl = "{address}/oarapi"\nuser = "alice"\nauth = "jwt"\nsecret_file = "secret"\n'
        "timeout = 0.3\nperiod = 0.001\n"
    )
    return OarCluster("luke", str(path), "m")


def oar_calls(address: str, folder: Path) -> list[Callable[[], object]]:
    cluster = oar_cluster(address, folder)
    return [
        cluster.look,
        lambda: cluster.submit([JobRequest(job=1, command="true", campaign=1)]),
        lambda: cluster.kill([1]),
        cluster.look,
        lambda: cluster.forget([1]),
    ]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(answer=answers(SLURM), number=st.integers(0, 5))
def test_any_answer_of_slurmrestd(server: tuple[Next, str], answer: bytes, number: int) -> None:
    server[0].answer = answer
    refusal(slurm_calls(server[1])[number], SlurmError)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(answer=answers(OAR))
def test_any_answer_of_oar(server: tuple[Next, str], tmp_path_factory: pytest.TempPathFactory, answer: bytes) -> None:
    server[0].answer = answer
    for call in oar_calls(server[1], tmp_path_factory.mktemp("oar")):
        refusal(call, ClusterError)


@pytest.mark.slow
@pytest.mark.minutes
@settings(max_examples=3000, deadline=None)
@given(slurm=answers(SLURM), number=st.integers(0, 5), oar=answers(OAR))
def test_any_answer_for_minutes(
    server: tuple[Next, str], tmp_path_factory: pytest.TempPathFactory, slurm: bytes, number: int, oar: bytes
) -> None:
    server[0].answer = slurm
    refusal(slurm_calls(server[1])[number], SlurmError)
    server[0].answer = oar
    for call in oar_calls(server[1], tmp_path_factory.mktemp("oar")):
        refusal(call, ClusterError)


@pytest.mark.slow
@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_no_answer(server: tuple[Next, str], tmp_path: Path, kind: str) -> None:
    server[0].answer = BROKEN[kind]
    assert refusal(slurm_calls(server[1])[0], SlurmError)
    assert refusal(oar_calls(server[1], tmp_path)[0], ClusterError)


def test_redirects_are_not_followed(server: tuple[Next, str], tmp_path: Path) -> None:
    """The secret would go to another server."""
    with hostile_server(other := Next(), other.asked) as elsewhere:
        server[0].answer = b"HTTP/1.1 307 There\r\nLocation: %s/\r\nContent-Length: 0\r\n\r\n" % elsewhere.encode()
        assert refusal(slurm_calls(server[1])[0], SlurmError)
        assert "redirects" in refusal(oar_calls(server[1], tmp_path)[0], ClusterError)
        assert other.asked == []


@pytest.mark.parametrize(
    "maximums", [[1], 1, "x", {"time": [1]}, {"time": {"set": [], "number": "x"}}, {"time": {"number": 10**400}}]
)
def test_limits_that_are_none(server: tuple[Next, str], maximums: object) -> None:
    server[0].answer = sized(json.dumps({"partitions": [{"maximums": maximums}]}).encode())
    limits = SlurmRest(server[1], timeout=5).limits("idle")
    assert (limits.exists, limits.longest) == (True, None)


def test_what_a_server_says_is_shown_without_the_secret_and_control_characters(
    server: tuple[Next, str], tmp_path: Path
) -> None:
    text = f"\x1b[2J\x9b31m\u202e\nno {SECRET} here\x07"
    server[0].answer = sized(json.dumps({"errors": [{"description": text}]}).encode(), b"400 Bad")
    assert refusal(slurm_calls(server[1])[0], SlurmError) == "slurmrestd: no *** here\\x07"
    server[0].answer = sized(json.dumps({"message": text}).encode(), b"400 Bad")
    said = refusal(oar_calls(server[1], tmp_path)[0], ClusterError)
    assert "\\x1b[2J\\x9b31m\\u202e no *** here\\x07" in said
    server[0].answer = sized(text.encode() * 3)
    for call in (slurm_calls(server[1])[0], oar_calls(server[1], tmp_path)[0]):
        assert refusal(call, SlurmError, ClusterError)


@pytest.mark.parametrize("user", ["a b", "a&from=0", "Zoë", " x", "a#b", "x\x7f"])
def test_users_with_special_characters(server: tuple[Next, str], tmp_path: Path, user: str) -> None:
    """They reach the server as they are, or are refused before they are sent; no header or query is added."""
    server[0].answer = sized(b'{"items":[],"jobs":[]}')
    server[0].asked.clear()
    refusal(SlurmRest(server[1], SECRET, user, timeout=5).jobs, SlurmError)
    path = tmp_path / "oar.toml"
    path.write_text(f'type = "oar"\nurl = "{server[1]}/oarapi"\nuser = {json.dumps(user)}\ntimeout = 5\n')
    refusal(lambda: OarCluster("luke", str(path), "m").look(), ClusterError)
    assert all(" " not in each.partition(" ")[2] for each in server[0].asked)
    assert not any("user=a&from=0&" in each for each in server[0].asked)


# TLS


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["slurm", "oar"])
def test_a_server_of_tls_that_is_none(server: tuple[Next, str], tmp_path: Path, kind: str) -> None:
    """A plain server, a silent one, and one whose certificate nobody has signed."""
    server[0].answer = b"HTTP/1.1 200 OK\r\n\r\n"
    address = server[1].replace("http:", "https:")
    calls = {"slurm": lambda to: slurm_calls(to)[0], "oar": lambda to: oar_calls(to, tmp_path)[0]}[kind]
    assert refusal(calls(address), SlurmError, ClusterError)
    with secured(tmp_path) as address:
        assert "certificate is not valid" in refusal(calls(address), SlurmError, ClusterError)


def secured(folder: Path) -> Any:
    """A server with TLS and a certificate of its own making."""
    line = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost"
    subprocess.run(
        [*line.split(), "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return hostile_server(lambda _: [sized(b"{}")], tls=context)


@pytest.mark.slow
def test_tls(tmp_path: Path) -> None:
    """A server whose authority the description names is asked."""
    with secured(tmp_path) as address:
        path = tmp_path / "oar.toml"
        path.write_text(f'type = "oar"\nurl = "{address}/oarapi"\nuser = "alice"\nca = "cert.pem"\ntimeout = 20\n')
        said = refusal(OarCluster("luke", str(path), "m").look, ClusterError)
        assert "missing required field `items`" in said
