"""Bridges between programs: real sockets, real processes, and peers that vanish, say nothing or say nonsense."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import zmq
from beside import LIMIT, Beside
from support import ROOT

sys.path.insert(0, str(ROOT / "examples"))

from fcfs import FCFS

from batprotocol import DecodeError, PeerGone, PeerSilent
from batprotocol._util.sockets import Requester
from batprotocol.edc import run
from batprotocol.errors import ProtocolError
from batprotocol.legacy import JobStore, decode, encode
from batprotocol.legacy import text_events as t
from batprotocol.legacy.bridge import (
    Batsim,
    CheckedScheduler,
    Component,
    NewBatsim,
    OldBatsim,
    OldScheduler,
    TextBatsim,
    TextScheduler,
    drive,
)
from batprotocol.legacy.text.runtime import UnixLine
from batprotocol.model import DelayProfile
from batprotocol.simulator import (
    EXAMPLE_PLATFORM,
    EXAMPLE_WORKLOAD,
    Platform,
    StaticJob,
    Workload,
    connect,
    simulate,
)

WITHOUT_ENGINE = True

SMALL = Workload([StaticJob(str(number), 2.0 * number, 1 + number % 3, DelayProfile(10.0)) for number in range(8)])


def schedule(result: Any) -> list[tuple[str, float, float]]:
    return sorted((row.job_id, round(row.starting_time or 0, 1), round(row.finish_time or 0, 1)) for row in result.jobs)


@pytest.fixture(scope="module")
def expected() -> list[tuple[str, float, float]]:
    return schedule(simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, FCFS()))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("version", ["1.4.0", "4.2.1"])
def test_today_s_scheduler_with_an_old_batsim(version: str, expected: object) -> None:
    """The old Batsim is the embedded simulator behind the other half of the bridge."""
    with OldBatsim("tcp://127.0.0.1:*", version, timeout=LIMIT) as old:
        beside = Beside(lambda: drive(old, CheckedScheduler(FCFS())))
        with OldScheduler(old.endpoint, version, timeout=LIMIT) as scheduler:
            result = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, scheduler)
        beside.end()
    assert schedule(result) == expected


@pytest.mark.slow
@pytest.mark.long
def test_two_bridges_between_today_s_batsim_and_today_s_scheduler(expected: object) -> None:
    """Batsim 5 to 4.2, 4.2 to 1.4, 1.4 to 5: each of them with its own sockets."""
    with (
        NewBatsim("tcp://127.0.0.1:*", timeout=LIMIT) as first,
        OldBatsim("tcp://127.0.0.1:*", "4.2", timeout=LIMIT) as second,
        OldBatsim("tcp://127.0.0.1:*", "1.4", timeout=LIMIT) as third,
        OldScheduler(second.endpoint, "4.2", timeout=LIMIT) as to_second,
        OldScheduler(third.endpoint, "1.4", timeout=LIMIT) as to_third,
    ):
        bound: list[str] = []
        scheduler = Beside(lambda: run(FCFS(), "tcp://127.0.0.1:*", timeout=LIMIT, on_bound=bound.append))
        until = time.monotonic() + LIMIT
        while not bound and time.monotonic() < until:
            time.sleep(0.01)
        with connect(bound[0], timeout=LIMIT) as last, connect(first.endpoint, timeout=LIMIT) as batsim:
            pairs: list[tuple[Batsim, Component]] = [(first, to_second), (second, to_third), (third, last)]
            bridges = [Beside(lambda one=one, other=other: drive(one, other)) for one, other in pairs]  # type: ignore[misc]
            result = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, batsim)
            for each in [*bridges, scheduler]:
                each.end()
    assert schedule(result) == expected


AGES = ("5", "4.2", "1.4", "text-3")


def pair(stack: ExitStack, age: str, path: Path, store: JobStore) -> tuple[Any, Batsim]:
    """A Batsim of this age to talk to a scheduler, and what the scheduler sees of it."""
    if age == "text-3":
        component = stack.enter_context(TextScheduler(str(path), store, timeout=LIMIT))
        return component, stack.enter_context(TextBatsim(str(path), store, timeout=LIMIT))
    if age == "5":
        today = stack.enter_context(NewBatsim("tcp://127.0.0.1:*", timeout=LIMIT))
        return stack.enter_context(connect(today.endpoint, timeout=LIMIT)), today
    old = stack.enter_context(OldBatsim("tcp://127.0.0.1:*", age, timeout=LIMIT))
    return stack.enter_context(OldScheduler(old.endpoint, age, timeout=LIMIT)), old


@pytest.mark.parametrize("scheduler_s", AGES)
@pytest.mark.parametrize("batsim_s", AGES)
def test_a_scheduler_of_each_age_with_a_batsim_of_each(batsim_s: str, scheduler_s: str, tmp_path: Path) -> None:
    """The Batsim is the embedded simulator, the scheduler FCFS, each behind what makes it speak as in its age."""
    with ExitStack() as stack:
        # The bridge, and what speaks to it from its left: the simulator as a Batsim of that age.
        left, bridge = pair(stack, batsim_s, tmp_path / "one", JobStore({}, "b"))
        # What is to its right: FCFS as a scheduler of that age.
        right, far = pair(stack, scheduler_s, tmp_path / "other", JobStore({}, "s"))
        ends = [(bridge, right), (far, CheckedScheduler(FCFS()))]
        beside = [Beside(lambda end=end: drive(*end)) for end in ends]  # type: ignore[misc]
        result = simulate(Platform.homogeneous(4), SMALL, left)
        for each in beside:
            each.end()
    assert schedule(result) == schedule(simulate(Platform.homogeneous(4), SMALL, FCFS()))


def test_text_over_a_unix_socket(tmp_path: Path, expected: object) -> None:
    path, store = str(tmp_path / "bat_socket"), JobStore({}, "default")
    with TextScheduler(path, store, timeout=LIMIT) as scheduler, TextBatsim(path, store, timeout=LIMIT) as batsim:
        beside = Beside(lambda: drive(batsim, CheckedScheduler(FCFS())))
        result = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, scheduler)
        beside.end()
    assert schedule(result) == expected
    assert not Path(path).exists()


def test_a_scheduler_of_old_in_text_of_its_own(tmp_path: Path) -> None:
    """It executes jobs one after the other, on machine 0, and knows nothing of this library but its values."""
    path, store = str(tmp_path / "bat_socket"), JobStore({}, "default")
    seen: list[t.Event] = []

    def one_by_one() -> None:
        line = UnixLine(path, listens=False, timeout=LIMIT)
        queue: list[str] = []
        busy = False
        while True:
            message = decode(line.receive(), "text")
            assert isinstance(message, t.Message)
            seen.extend(message.events)
            for event in message.events:
                if isinstance(event, t.JobSubmission):
                    job = store.job(event.job_id)
                    assert job is not None
                    if job.res == 1:
                        queue.append(event.job_id)
                busy = busy and not isinstance(event, t.JobCompletion)
            submitted = [event.job_id for event in message.events if isinstance(event, t.JobSubmission)]
            said: list[t.Event] = [t.JobRejection(message.now, job_id) for job_id in submitted if job_id not in queue]
            if queue and not busy:
                busy = True
                said.append(t.JobAllocation(message.now, [t.JobMachines(queue.pop(0), "0")]))
            line.send(encode(t.Message(3, message.now, said or [t.Nop(message.now)]), "text"))
            if any(isinstance(event, t.SimulationEnds) for event in message.events):
                line.close()
                return

    with TextScheduler(path, store, timeout=LIMIT) as scheduler:
        beside = Beside(one_by_one)
        result = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, scheduler)
        beside.end()
    assert result.is_complete
    assert isinstance(seen[0], t.SimulationBegins)
    assert isinstance(seen[-1], t.SimulationEnds)


# Peers that vanish, say nothing, or say nonsense


@contextmanager
def listening(*answers: bytes, then: str = "close") -> Iterator[str]:
    """A scheduler that gives these answers, and then closes its connection or stays silent."""
    context = zmq.Context()
    socket = context.socket(zmq.REP)
    socket.linger = 0
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    done = threading.Event()

    def speak() -> None:
        with suppress(zmq.ZMQError):
            for answer in answers:
                socket.recv()
                socket.send(answer)
            if then == "silent":
                done.wait(LIMIT)
            else:
                socket.recv()
        socket.close()

    thread = threading.Thread(target=speak, daemon=True)
    thread.start()
    try:
        yield f"tcp://127.0.0.1:{port}"
    finally:
        done.set()
        thread.join(5)
        context.destroy(linger=0)


NOTHING = b'{"now": 0.0, "events": []}'


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    ("answers", "then", "error"),
    [
        ((NOTHING,), "close", PeerGone),
        ((NOTHING,), "silent", PeerSilent),
        ((b"nonsense",), "silent", DecodeError),
        ((b'{"now": 0.0, "events": [{"timestamp": 0, "type": "EXECUTE_JOB", "data": {}}]}',), "silent", DecodeError),
    ],
)
def test_batsim_is_told_to_stop_when_the_scheduler_fails(
    answers: tuple[bytes, ...], then: str, error: type[ProtocolError]
) -> None:
    with (
        listening(*answers, then=then) as endpoint,
        NewBatsim("tcp://127.0.0.1:*", timeout=LIMIT) as batsim,
        OldScheduler(endpoint, "4.2", timeout=0.5 if then == "silent" else LIMIT) as scheduler,
    ):
        beside = Beside(lambda: drive(batsim, scheduler))
        with connect(batsim.endpoint, timeout=LIMIT) as other:
            result = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, other)
        assert not list(result.jobs) or not result.is_complete
        with pytest.raises(error):
            beside.end()


def test_a_batsim_that_vanishes_is_told() -> None:
    with NewBatsim("tcp://127.0.0.1:*", timeout=LIMIT) as batsim:
        beside = Beside(lambda: drive(batsim, CheckedScheduler(FCFS())))
        context = zmq.Context()
        socket = context.socket(zmq.REQ)
        socket.linger = 0
        socket.connect(batsim.endpoint)
        socket.send(b"\0\0\0\0")
        socket.recv()
        socket.close()
        context.term()
        with pytest.raises(PeerGone):
            beside.end()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("said", [b"nonsense", b"[]", NOTHING])
def test_an_old_batsim_that_says_nonsense_first_is_told(said: bytes) -> None:
    with OldBatsim("tcp://127.0.0.1:*", "4.2", timeout=LIMIT) as batsim:
        beside = Beside(lambda: drive(batsim, CheckedScheduler(FCFS())))
        context = zmq.Context()
        socket = context.socket(zmq.REQ)
        socket.linger = 0
        socket.connect(batsim.endpoint)
        socket.send(said)
        with pytest.raises(DecodeError):
            beside.end()
        socket.close()
        context.term()


def test_a_text_scheduler_that_answers_twice_is_told(tmp_path: Path) -> None:
    path = str(tmp_path / "bat_socket")
    one, other = UnixLine(path, listens=True, timeout=LIMIT), UnixLine(path, listens=False, timeout=LIMIT)
    beside = Beside(lambda: (other.receive(), other.send(b"first"), other.send(b"second")))
    assert one.exchange(b"x") == b"first"
    beside.end()
    with pytest.raises(DecodeError, match="out of turn"):
        one.exchange(b"y")
    one.close()
    other.close()


def test_a_scheduler_that_answers_twice_is_heard_once() -> None:
    with zmq.Context() as context, context.socket(zmq.ROUTER) as socket:
        port = socket.bind_to_random_port("tcp://127.0.0.1")
        with Requester(f"tcp://127.0.0.1:{port}", timeout=LIMIT) as requester:
            for number in range(3):
                asked = number.to_bytes(1, "big")
                beside = Beside(lambda: answer_twice(socket))
                assert requester.exchange(asked) == asked + b" first"
                beside.end()
                time.sleep(0.1)  # the second answer is there before the next message


def answer_twice(socket: zmq.Socket[bytes]) -> None:
    route, empty, asked = socket.recv_multipart()
    for which in b" first", b" second":
        socket.send_multipart([route, empty, asked + which])


def test_a_text_peer_that_says_it_has_4_gib_is_told_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "bat_socket")
    one, other = UnixLine(path, listens=True, timeout=LIMIT), UnixLine(path, listens=False, timeout=LIMIT)
    beside = Beside(lambda: other.send(b"x"))
    assert one.receive() == b"x"
    beside.end()
    assert other._line is not None
    other._line.send(b"\xff\xff\xff\xff")
    with pytest.raises(DecodeError, match="4294967295"):
        one.receive()
    other.close()
    with pytest.raises(PeerGone):
        one.receive()
    one.close()
    with pytest.raises(PeerSilent):
        UnixLine(path, listens=False, timeout=0.3).receive()


# The commands


def batproto(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "batprotocol", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def bound(process: subprocess.Popen[str]) -> str:
    """The endpoint that a command waits at."""
    assert process.stderr is not None
    for line in process.stderr:
        found = re.search(r"waiting for a simulation at (\S+)", line)
        if found:
            return found[1]
    raise AssertionError("it does not wait")


@pytest.mark.slow
@pytest.mark.long
def test_the_commands_from_one_end_to_the_other(tmp_path: Path) -> None:
    """`simulate --protocol 4.2` speaks with `bridge` from 4.2 to 1.4, and that one with `run --protocol 1.4`."""
    run_ = batproto("run", "--protocol", "1.4", "--endpoint", "tcp://127.0.0.1:*", "examples/fcfs.py:FCFS")
    end = bound(run_)
    record = tmp_path / "run.tar"
    bridge = batproto(
        "bridge", "--batsim", "tcp://127.0.0.1:*,4.2", "--edc", f"{end},1.4", "--timeout", "60", "--record", record
    )
    middle = bound(bridge)
    simulated = batproto("simulate", "--protocol", "4.2", "--endpoint", middle)
    outputs = [process.communicate(timeout=LIMIT) for process in (simulated, bridge, run_)]
    assert [process.returncode for process in (simulated, bridge, run_)] == [0, 0, 0], outputs
    assert "250" in outputs[0][0]
    assert "not translated: message 0, SIMULATION_BEGINS.compute_resources: the speeds" in outputs[1][1]
    checked = batproto("check", record)
    assert "nothing wrong" in checked.communicate(timeout=LIMIT)[0]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("bridge", "--batsim", "tcp://127.0.0.1:*,9", "--edc", "tcp://127.0.0.1:1"), "expected a version"),
        (("bridge", "--batsim", "tcp://127.0.0.1:*,text-3", "--edc", "tcp://127.0.0.1:1"), "Unix socket"),
        (("bridge", "--batsim", "unix:/nowhere,text-3", "--edc", "tcp://127.0.0.1:1"), "--redis"),
        (("simulate", "--protocol", "4.2"), "--endpoint"),
        (("run", "--protocol", "4.2", "--in-process", "examples/fcfs.py:FCFS", "--", "true"), "--in-process"),
        (("run", "--protocol", "3.x", "examples/fcfs.py:FCFS"), "expected a version"),
    ],
)
def test_what_makes_no_sense_is_told_in_a_sentence(arguments: tuple[str, ...], said: str) -> None:
    process = batproto(*arguments)
    _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode in (1, 2)
    assert said in errors
    assert "Traceback" not in errors
