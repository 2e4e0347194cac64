"""Jobs and profiles in Redis: a real server, and what Batsim wrote there."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from old_runs import OldRun, old_runs
from servers import find, free_port

from batprotocol import DecodeError, PeerGone
from batprotocol.legacy import Job, JobProfile, JobStore, connect_redis, decode
from batprotocol.legacy import json_events as e
from batprotocol.legacy.store import decode_job, decode_profile, encode_job, encode_profile
from batprotocol.model import DelayProfile

WITHOUT_ENGINE = True
WITH_REDIS = [run for run in old_runs() if run.redis]


@pytest.fixture(scope="module")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A Redis server of our own, that keeps nothing."""
    program = find("redis-server")
    folder = tmp_path_factory.mktemp("redis")
    port = free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < until, "the server does not start"
                time.sleep(0.02)
        yield port
    finally:
        server.terminate()
        server.wait()


@pytest.mark.parametrize("run", WITH_REDIS, ids=lambda run: run.name)
def test_what_was_in_redis_is_read_from_there_and_written_as_it_was(run: OldRun, redis_port: int) -> None:
    import redis

    client = redis.Redis(port=redis_port)
    client.flushall()
    prefix = next(iter(run.redis)).partition(":")[0]
    for key, text in run.redis.items():
        client.set(key, text)
    store = connect_redis(port=redis_port, prefix=prefix)
    assert store.nb_res == int(run.redis[f"{prefix}:nb_res"])
    found: dict[str, JobStore | Job | JobProfile] = {}
    for key in run.redis:
        kind, _, name = key.removeprefix(f"{prefix}:").partition("_")
        if kind == "job":
            job = store.job(name)
            assert job is not None
            store.put_job(Job(name, *(getattr(job, each) for each in job.__struct_fields__[1:])))
            found[key] = job
        elif kind == "profile":
            profile = store.profile(name)
            assert profile is not None
            assert profile.value is not None
            store.put_profile(name, profile)
    for key, text in run.redis.items():
        again = json.loads(client.get(key) or b"null")
        was = json.loads(text)
        if isinstance(was, dict) and "id" in was:
            again["id"] = was["id"]  # they are kept by their whole name
        assert again == was
    submitted = {
        event.job_id
        for _, data in run.messages
        for event in decode(data, run.version).events
        if isinstance(event, e.JobSubmitted)
    }
    assert all(store.job(job_id) for job_id in submitted)


def test_what_is_not_there_is_none(redis_port: int) -> None:
    store = connect_redis(port=redis_port, prefix="another")
    assert store.job("w0!1") is None
    assert store.profile("w0!p") is None
    assert store.nb_res is None
    store.nb_res = 4
    store.put_profile("w0!p", JobProfile({"type": "delay", "delay": 2}))
    assert store.nb_res == 4
    profile = store.profile("w0!p")
    assert profile is not None
    assert profile.value == DelayProfile(2.0)


def test_a_server_that_is_gone_is_told() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        store = connect_redis(port=probe.getsockname()[1])
    with pytest.raises(PeerGone, match="Redis"):
        store.job("w0!1")


def test_all_recorded_values_make_the_round_trip() -> None:
    count = 0
    for run in WITH_REDIS:
        for key, text in run.redis.items():
            if ":job_" in key:
                assert json.loads(encode_job(decode_job(text))) == json.loads(text)
                count += 1
            elif ":profile_" in key:
                assert json.loads(encode_profile(decode_profile(text))) == json.loads(text)
                count += 1
    assert count > 40


@pytest.mark.parametrize("text", [b"", b"[]", b"3", b'{"res": "x"}', b"\xff", b'{"id":1', b"[" * 10_000])
def test_what_is_no_job_is_an_error(text: bytes) -> None:
    with pytest.raises(DecodeError):
        JobStore({"default:job_w0!1": text}).job("w0!1")


def test_what_is_no_number_of_hosts_is_an_error() -> None:
    with pytest.raises(DecodeError):
        _ = JobStore({"default:nb_res": b"many"}).nb_res


@pytest.mark.slow
def test_the_library_does_without_the_package(tmp_path: Path) -> None:
    """It is an extra: what does not use it, does not import it."""
    import sys

    code = "import sys, batprotocol.legacy; assert 'redis' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
