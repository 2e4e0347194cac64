"""How simulations are left: what is killed before the stop, who waits meanwhile, and what is refused."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest
import zmq
from hypothesis import given
from hypothesis import strategies as st
from reference_simulator import Reference
from replay import PATIENCE, InThread, Peer, begins, begun, completed, ends, said, submitted
from simulations import ANY_PORT, Everywhere

from batprotocol import (
    DelayProfile,
    ExecuteJobEvent,
    ForceSimulationStopEvent,
    Job,
    JobSubmittedEvent,
    KillJobsEvent,
    Message,
    Profile,
    ProfileAndId,
    SequentialCompositionProfile,
    SimulationEndsEvent,
    TraceReplayProfile,
    TraceType,
    decode,
)
from batprotocol.edc import Scheduler, Server, Session, run, serve
from batprotocol.edc.reply import hello_message
from batprotocol.errors import DecodeError
from batprotocol.wire import frames

# What is killed before the stop


@given(st.data())
def test_what_runs_is_killed_before_the_stop(data: st.DataObject) -> None:
    """What runs, the tiny simulator knows; the reply that is being filled in never reaches it."""
    reference = Reference(data, stop_in_a_reply=True)
    _, hello, *rest = reference.said
    session = Session(lambda text: hello)  # type: ignore[arg-type, return-value]  # Reference says messages
    session.receive(frames.encode_init("init"))
    session.answer()
    for number, message in enumerate(rest):
        assert isinstance(message, Message)
        if number % 2 == 0:
            turn = session.hear(message)
        else:
            for event in message.events:
                turn.reply.add(event)
            turn.reply.set_current_time(message.now)
            session.say()
    if not session.owes_reply or isinstance(turn.message.events[0], SimulationEndsEvent):
        assert decode(session.farewell()).events == ()
        return
    running = set(reference.running) - set(reference.being_killed)
    if data.draw(st.booleans()):  # some of a reply that is never sent
        for event in (*reference.execute_or_reject(), *reference.kill()):
            turn.reply.add(event)
    *kills, stop = decode(session.farewell()).events
    assert type(stop) is ForceSimulationStopEvent
    assert [set(kill.job_ids) for kill in kills if isinstance(kill, KillJobsEvent)] == ([running] if running else [])
    assert len(kills) == bool(running)


USAGE = TraceReplayProfile(trace_type=TraceType.FractionalComputation, filename="usage.txt")
SMPI = TraceReplayProfile(trace_type=TraceType.SMPI, filename="smpi.txt")


@pytest.mark.parametrize(
    ("profile", "is_killed"),
    [
        (DelayProfile(1.0), True),
        (SequentialCompositionProfile(profile_ids=["w0!part"]), True),
        (SMPI, True),
        (USAGE, False),
    ],
    ids=["delay", "sequence of unknown", "SMPI", "usage trace"],
)
def test_a_usage_trace_is_not_killed(profile: Profile, is_killed: bool) -> None:
    """Batsim dies of that, too."""
    job = Job(resource_request=1, profile_id="w0!p")
    forwarded = JobSubmittedEvent(
        job_id="w0!1", job=job, submission_time=1.0, profile=ProfileAndId("w0!p", profile), timestamp=1.0
    )
    session = Session(lambda text: hello_message("x", "1"))
    session.receive(frames.encode_init(""))
    session.answer()
    session.hear(begins())
    session.say()
    session.hear(Message(1.0, (forwarded,))).reply.add_execute_job("w0!1", 0)
    session.say()
    session.overhear(submitted(2.0, "w0!2").to_binary())
    kind = [KillJobsEvent(job_ids=["w0!1"], timestamp=2.0)] if is_killed else []
    assert decode(session.farewell()).events == (*kind, ForceSimulationStopEvent(timestamp=2.0))


def test_jobs_that_ended_in_the_message_that_is_overheard_are_not_killed() -> None:
    session = Session(lambda text: hello_message("x", "1"))
    session.receive(frames.encode_init(""))
    session.answer()
    session.hear(begins())
    session.say()
    session.hear(submitted(1.0)).reply.add_execute_job("w0!1", "0-3")
    session.say()
    session.overhear(completed(2.0).to_binary())
    assert decode(session.farewell()).events == (ForceSimulationStopEvent(timestamp=2.0),)


@pytest.mark.parametrize("leaving", ["break", "exception", "next message"])
def test_a_loop_that_is_left_while_a_job_runs(leaving: str) -> None:
    def script(peer: Peer) -> list[Message]:
        begun(peer)
        assert [type(event) for event in peer.say(submitted(1.0)).events] == [ExecuteJobEvent]
        return [peer.say(submitted(2.0, "w0!2")), peer.say(ends(2.0))]

    batsim = InThread(script)

    def loop(server: Server) -> None:
        for turn in server:
            if turn.message.now == 2.0:
                if leaving == "exception":
                    raise LookupError
                return
            for event in turn.message.events:
                if isinstance(event, JobSubmittedEvent):
                    turn.reply.add_execute_job(event.job_id, "0-3")
                    if leaving == "next message":
                        threading.Timer(0.1, server.wake).start()

    def enough() -> None:
        if leaving == "next message" and server.init_text is not None and jobs():
            raise LookupError

    def jobs() -> int:
        return len(server._session.conversation.jobs) if server._session else 0

    server = serve(ANY_PORT, on_wait=enough)
    batsim(server.endpoint)
    try:
        loop(server)
    except LookupError:
        assert leaving != "break"
    kill, stop = batsim.join()[0].events
    assert kill == KillJobsEvent(job_ids=["w0!1"], timestamp=2.0)
    assert type(stop) is ForceSimulationStopEvent


# A second simulator


def simulated(peer: Peer) -> list[Message]:
    """A simulation without jobs; the replies."""
    frames.decode_hello(peer.ask(frames.encode_init("init")))
    return [peer.say(message) for message in (begins(), ends(1.0))]


def test_a_second_simulator_waits_until_the_first_has_ended() -> None:
    """Two at a time, again and again, and never does one hear what is meant for the other."""
    turns = 20

    def script(number: int) -> Callable[[Peer], list[float]]:
        def talk(peer: Peer) -> list[float]:
            frames.decode_hello(peer.ask(frames.encode_init(str(number))))
            peer.say(begins())
            heard = [peer.say(said(number + turn / 100)).now for turn in range(1, turns)]
            return [*heard, peer.say(ends(number + 1)).now]

        return talk

    simulators = [InThread(script(number)) for number in range(6)]
    with serve(ANY_PORT) as server:
        for simulator in simulators:
            simulator(server.endpoint)
        for _ in simulators:
            texts = {server.init_text for _ in server}
            assert len(texts) == 1
    for number, simulator in enumerate(simulators):
        assert simulator.join() == [*(number + turn / 100 for turn in range(1, turns)), number + 1]


def told(peer: Peer) -> str:
    """What a simulator is told that is not served: what makes it end."""
    with pytest.raises(DecodeError) as caught:
        frames.decode_hello(peer.ask(frames.encode_init("second")))
    return str(caught.value)


BUSY = "this endpoint serves another simulation, byte 5: Message has no field of this name"


def test_a_second_simulator_fails_when_it_would_wait_for_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Even in the middle of the first simulation, which does not notice."""

    def first(peer: Peer) -> list[Message]:
        begun(peer)
        second = InThread(told)
        second(peer.socket.getsockopt_string(zmq.LAST_ENDPOINT))
        replies = [peer.say(said(1.0))]
        while second.is_alive:
            replies.append(peer.say(said(1.0)))
        assert second.join() == BUSY
        return [*replies, peer.say(ends(2.0))]

    server = serve(ANY_PORT)
    simulator = InThread(first)
    simulator(server.endpoint)
    assert {turn.message.now for turn in server} == {0.0, 1.0, 2.0}
    assert {message.events for message in simulator.join()} == {()}
    assert "is turned away: one simulation is served here" in caplog.text


def test_run_serves_one_simulation() -> None:
    def first(peer: Peer) -> list[Message]:
        begun(peer)
        with Peer(peer.socket.getsockopt_string(zmq.LAST_ENDPOINT)) as other:
            other.socket.send(frames.encode_init("second"))
            while not other.socket.poll(50):
                peer.say(said(1.0))
            with pytest.raises(DecodeError, match="serves another simulation"):
                frames.decode_hello(other.socket.recv())
        return [peer.say(ends(2.0))]

    simulator = InThread(first)
    run(Everywhere(), ANY_PORT, on_bound=simulator)
    simulator.join()


def test_those_who_wait_fail_when_nobody_serves_them_any_more(caplog: pytest.LogCaptureFixture) -> None:
    """In a `with`, there may be another simulation after the first: they wait as long as that lasts."""
    spoken = threading.Event()

    def second(peer: Peer) -> str:
        spoken.wait(PATIENCE)
        return told(peer)

    def first(peer: Peer) -> None:
        begun(peer)
        spoken.set()
        peer.say(said(1.0))
        while not server._channel._waiting:
            peer.say(said(1.0))
        peer.say(ends(2.0))

    peers = InThread(first), InThread(second)
    with serve(ANY_PORT) as server:
        for peer in peers:
            peer(server.endpoint)
        assert {turn.message.now for turn in server} == {0.0, 1.0, 2.0}
    peers[0].join()
    assert peers[1].join() == BUSY
    assert "is turned away: nobody serves it" in caplog.text


def test_a_second_simulator_takes_over_when_the_first_dies() -> None:
    dead = threading.Event()

    def first(peer: Peer) -> None:
        begun(peer)
        second(peer.socket.getsockopt_string(zmq.LAST_ENDPOINT))
        dead.wait(PATIENCE)

    second = InThread(simulated)
    with serve(ANY_PORT) as server:
        InThread(first)(server.endpoint)
        turns = iter(server)
        next(turns)
        dead.set()
        with pytest.raises(Exception, match="closed the connection before its message 4"):
            next(turns)
        assert len(list(server)) == 2
    second.join()


def test_one_that_waits_and_dies_is_forgotten() -> None:
    def first(peer: Peer) -> list[Message]:
        begun(peer)
        with Peer(peer.socket.getsockopt_string(zmq.LAST_ENDPOINT)) as other:
            other.socket.send(frames.encode_init("dead"))
            replies = [peer.say(said(1.0))]
            while not server._channel._waiting:
                replies.append(peer.say(said(1.0)))
        replies += [peer.say(said(1.0)) for _ in range(200)]  # it has gone, and the server can hear of that
        return [*replies, peer.say(ends(2.0))]

    with serve(ANY_PORT) as server:
        for script in (first, simulated):
            batsim = InThread(script)
            batsim(server.endpoint)
            assert [turn.reply.events for turn in server][-1] == ()
            assert server.init_text == "init"
            batsim.join()


@pytest.mark.parametrize("junk", [[b"no delimiter"], [b""], [b"", b""], [b"a", b"b", b"", b"proxied"]])
def test_what_asks_for_no_answer_is_overheard(junk: list[bytes]) -> None:
    """Any program can connect, and is not bound to take turns."""

    def script(peer: Peer) -> list[Message]:
        with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
            dealer.linger = 0
            dealer.connect(peer.socket.getsockopt_string(zmq.LAST_ENDPOINT))
            begun(peer)
            replies = []
            for number in range(50):
                dealer.send_multipart(junk)
                replies.append(peer.say(said(number / 10)))
            return [*replies, peer.say(ends(9.0))]

    batsim = InThread(script)
    run(Scheduler(), ANY_PORT, on_bound=batsim)
    assert [reply.now for reply in batsim.join()] == [*(number / 10 for number in range(50)), 9.0]


def test_a_simulator_behind_a_proxy() -> None:
    """As with any server of ZeroMQ, what comes before the empty frame is the way back."""

    def script(peer: Peer) -> list[bytes]:
        with zmq.Context() as context, context.socket(zmq.DEALER) as proxy:
            proxy.rcvtimeo = round(PATIENCE * 1000)
            proxy.connect(peer.socket.getsockopt_string(zmq.LAST_ENDPOINT))
            answers = []
            for frame in (frames.encode_init(""), begins().to_binary(), ends(1.0).to_binary()):
                proxy.send_multipart([b"someone", b"behind", b"", frame])
                *way, answer = proxy.recv_multipart()
                assert way == [b"someone", b"behind", b""]
                answers.append(answer)
            return answers

    batsim = InThread(script)
    run(Scheduler(), ANY_PORT, on_bound=batsim)
    assert len(batsim.join()) == 3


@pytest.mark.parametrize("junk", [[b""], [b"no delimiter"], [b"no", b"delimiter"], [b"proxied", b"", b"frame"]])
def test_junk_of_the_simulator_itself(junk: list[bytes]) -> None:
    """What asks for no answer is ignored, or is the end, if it cannot be told from the message behind it."""

    def script(peer: Peer) -> int:
        with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
            dealer.rcvtimeo = round(PATIENCE * 1000)
            dealer.connect(peer.socket.getsockopt_string(zmq.LAST_ENDPOINT))
            for number, frame in enumerate((frames.encode_init(""), begins().to_binary(), ends(1.0).to_binary())):
                if number == 2:
                    dealer.send_multipart(junk)
                dealer.send_multipart([b"", frame])
                answer = dealer.recv_multipart()
            return len(answer)

    batsim = InThread(script)
    with suppress(DecodeError):
        run(Scheduler(), ANY_PORT, on_bound=batsim)
    assert batsim.join() == 2


# Two iterators


def test_two_iterators_of_one_server() -> None:
    with serve(ANY_PORT) as server:
        batsim = InThread(simulated)
        batsim(server.endpoint)
        turns = iter(server)
        next(turns)
        with pytest.raises(RuntimeError, match="in the middle of a simulation"):
            next(iter(server))
        assert len(list(turns)) == 1  # the first has not noticed
        batsim.join()


def test_two_async_iterators_of_one_server() -> None:
    async def main() -> None:
        async with serve(ANY_PORT) as server:
            batsim = InThread(simulated)
            batsim(server.endpoint)
            turns = aiter(server)
            await anext(turns)
            with pytest.raises(RuntimeError, match="in the middle of a simulation"):
                await anext(aiter(server))
            assert len([turn async for turn in turns]) == 1
            batsim.join()

    asyncio.run(main())


def test_an_async_loop_after_one_that_was_left() -> None:
    """The event loop has not closed the first when the second begins."""

    async def main() -> None:
        async with serve(ANY_PORT) as server:
            batsim = InThread(lambda peer: [begun(peer).say(said(1.0)), peer.say(ends(1.0))])
            batsim(server.endpoint)
            async for turn in server:
                if turn.message.now:
                    break
            other = InThread(simulated)
            other(server.endpoint)
            assert len([turn async for turn in server]) == 2
            other.join()
            assert [type(event) for event in batsim.join()[0].events] == [ForceSimulationStopEvent]

    asyncio.run(main())
