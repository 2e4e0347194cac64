"""`serve` over real sockets: turns, loops that are left, simulators that die, are silent or talk garbage."""

from __future__ import annotations

import threading
import time

import pytest
import zmq
from replay import InThread, Peer, begins, begun, ends, submitted
from simulations import ANY_PORT, SIMULATION, Everywhere, stopped, types, whole

from batprotocol import (
    BuilderError,
    DecodeError,
    EDCRequestedSimulationFeatures,
    ForceSimulationStopEvent,
    JobSubmittedEvent,
    Message,
    decode,
)
from batprotocol.edc import Scheduler, run, serve
from batprotocol.errors import PeerGone, PeerSilent
from batprotocol.wire import frames


def test_serve_gives_the_turns_of_a_simulation() -> None:
    server = serve(ANY_PORT, name="mine", version="3", features=EDCRequestedSimulationFeatures(profile_reuse=False))
    assert server.init_text is None
    batsim = InThread(whole)
    batsim(server.endpoint)
    heard = []
    for turn in server:
        heard.append(turn.message)
        for event in turn.message.events:
            if isinstance(event, JobSubmittedEvent):
                turn.reply.add_execute_job(event.job_id, "0")
                assert turn.conversation.jobs[event.job_id].job == event.job
    assert heard == SIMULATION
    assert types(batsim.join()) == [[], ["ExecuteJobEvent"], [], []]
    assert server.init_text == "init"
    with pytest.raises(ValueError, match="closed"):
        next(iter(server))


def test_serve_in_json() -> None:
    server = serve(ANY_PORT, "json")

    def script(peer: Peer) -> list[str]:
        answers = [peer.ask(frames.encode_init(""))]
        assert frames.decode_hello(answers[0]).format == "json"
        return [peer.ask(message.to_json().encode() + b"\0").decode() for message in (begins(), ends(1.0))]

    batsim = InThread(script)
    batsim(server.endpoint)
    assert [turn.message for turn in server] == [begins(), ends(1.0)]
    assert all(answer.endswith("\0") and '"events": []' in answer for answer in batsim.join())


def test_a_loop_that_is_left_stops_the_simulation() -> None:
    server = serve(ANY_PORT)
    batsim = InThread(lambda peer: stopped(begun(peer), submitted(1.0)))
    batsim(server.endpoint)
    for turn in server:
        if len(turn.conversation.jobs):
            break
    assert batsim.join()
    assert server._channel.closed


def test_an_exception_in_the_loop_stops_the_simulation() -> None:
    server = serve(ANY_PORT)
    batsim = InThread(lambda peer: stopped(begun(peer), submitted(1.0)))
    batsim(server.endpoint)

    def loop() -> None:
        for turn in server:
            assert 1 / (1.0 - turn.message.now)

    with pytest.raises(ZeroDivisionError):
        loop()
    assert batsim.join()
    assert server._channel.closed


def test_a_server_in_a_with_serves_one_simulation_after_the_other() -> None:
    with serve(ANY_PORT) as server:
        for _ in range(3):
            batsim = InThread(whole)
            batsim(server.endpoint)
            for turn in server:
                for event in turn.message.events:
                    if isinstance(event, JobSubmittedEvent):
                        turn.reply.add_reject_job(event.job_id)
            assert types(batsim.join()) == [[], ["RejectJobEvent"], [], []]


def test_a_simulation_that_begins_right_after_one_that_died() -> None:
    """Its first message comes before anybody has noticed that the other connection is closed."""
    died = threading.Event()

    def script(peer: Peer) -> None:
        begun(peer)
        peer.close()
        died.set()

    with serve(ANY_PORT) as server:
        turns = iter(server)
        InThread(script)(server.endpoint)
        assert next(turns).message == begins()
        batsim = InThread(lambda peer: died.wait() and whole(peer))
        batsim(server.endpoint)
        with pytest.raises(PeerGone, match="before its message 4"):
            next(turns)
        assert [turn.message for turn in server] == SIMULATION
        batsim.join()


def test_a_simulator_that_closes_its_connection() -> None:
    with pytest.raises(PeerGone, match="before its message 4"):
        run(Scheduler(), ANY_PORT, on_bound=InThread(begun))


@pytest.mark.slow
def test_other_connections_do_not_matter() -> None:
    """Only the one that the first message came through."""

    def script(peer: Peer) -> list[Message]:
        endpoint = peer.socket.getsockopt_string(zmq.LAST_ENDPOINT)
        frames.decode_hello(peer.ask(frames.encode_init("init")))
        replies = []
        for message in SIMULATION:
            with Peer(endpoint) as other:
                other.socket.poll(50)
            time.sleep(0.3)  # long enough for the other side to look around
            replies.append(peer.say(message))
        return replies

    batsim = InThread(script)
    run(Everywhere(), ANY_PORT, on_bound=batsim)
    assert len(batsim.join()) == len(SIMULATION)


def test_silence_at_first() -> None:
    with pytest.raises(PeerSilent, match=r"no message 0 of the simulator at tcp://127.0.0.1:\d+ in 0.05 seconds"):
        run(Scheduler(), ANY_PORT, timeout=0.05)


@pytest.mark.slow
def test_silence_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("batprotocol.edc.server.FAREWELL", 0.1)
    done = threading.Event()
    try:
        with pytest.raises(PeerSilent, match="no message 4"):
            run(Scheduler(), ANY_PORT, timeout=1.5, on_bound=InThread(lambda peer: begun(peer) and done.wait()))
    finally:
        done.set()


@pytest.mark.parametrize(
    ("garbage", "reason"),
    [
        ([b"not a message"], "message 4 of the simulator"),
        ([b""], "message 4 of the simulator"),
        ([submitted(1.0).to_binary(), b""], "a message is one frame, the simulator sent one of 2"),
        ([frames.encode_init("init")], "another simulation began on the same connection"),
    ],
)
def test_garbage_in_the_middle(garbage: list[bytes], reason: str) -> None:
    def script(peer: Peer) -> bool:
        begun(peer)
        peer.socket.send_multipart(garbage)
        answer = decode(peer.socket.recv())
        if not answer.events:  # it may have been the end; the stop comes next
            answer = peer.say(submitted(1.0))
        return type(answer.events[0]) is ForceSimulationStopEvent and not peer.say(ends(1.0)).events

    batsim = InThread(script)
    with pytest.raises(DecodeError, match=reason):
        run(Scheduler(), ANY_PORT, on_bound=batsim)
    assert batsim.join()


@pytest.mark.parametrize("garbage", [[b"not a message"], [b"two", b"frames"], [b""]])
def test_garbage_while_leaving(garbage: list[bytes]) -> None:
    def script(peer: Peer) -> bool:
        begun(peer)
        assert types([peer.say(submitted(1.0))]) == [["ForceSimulationStopEvent"]]
        peer.socket.send_multipart(garbage)
        return decode(peer.socket.recv()).events == peer.say(ends(1.0)).events == ()

    class Failing(Scheduler):
        def on_job_submitted(self, event: JobSubmittedEvent) -> None:
            raise LookupError("lost")

    batsim = InThread(script)
    with pytest.raises(LookupError, match="lost"):
        run(Failing(), ANY_PORT, on_bound=batsim)
    assert batsim.join()


@pytest.mark.parametrize("garbage", [[b"GET / HTTP/1.1"], [b""], [b"", b""]])
def test_garbage_at_first(garbage: list[bytes]) -> None:
    def script(peer: Peer) -> bytes:
        peer.socket.send_multipart(garbage)
        return peer.socket.recv()

    batsim = InThread(script)
    with pytest.raises(DecodeError):
        run(Scheduler(), ANY_PORT, on_bound=batsim)
    assert frames.decode_hello(batsim.join())


def test_on_wait_can_end_the_wait() -> None:
    def enough() -> None:
        raise TimeoutError("enough")

    with pytest.raises(TimeoutError, match="enough"):
        run(Scheduler(), ANY_PORT, on_wait=enough)


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan")])
def test_timeouts_that_make_no_sense(timeout: float) -> None:
    with pytest.raises(ValueError, match="expected a timeout > 0"):
        serve(ANY_PORT, timeout=timeout)


def test_other_arguments_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="expected a format of binary, json, got 'xml'"):
        serve(ANY_PORT, "xml")
    with pytest.raises(ValueError, match="there is no rule set 'mine'"):
        serve(ANY_PORT, rules="mine")
    with pytest.raises(BuilderError, match="without comma"):
        serve(ANY_PORT, name="a, b")
