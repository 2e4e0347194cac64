"""Decision components in this process: schedulers, their checked replies, and the loop over real sockets."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import zmq
from replay import HOSTS, PATIENCE, InThread, Peer, begins, begun, completed, ends, said, submitted
from support import ROOT

from batprotocol import (
    BATSIM_TO_EDC,
    AllStaticJobsHaveBeenSubmittedEvent,
    BuilderError,
    CallMeLaterEvent,
    DecodeError,
    EDCHelloEvent,
    EDCRequestedSimulationFeatures,
    Event,
    ForceSimulationStopEvent,
    Job,
    JobSubmittedEvent,
    Message,
    MessageBuilder,
    OneShot,
    RejectJobEvent,
    RequestedCallEvent,
    SimulationEndsEvent,
    SimulationErrorEvent,
    decode,
)
from batprotocol.edc import Reply, Scheduler, Session, Turn, rehearse, run, serve
from batprotocol.edc.scheduler import METHODS
from batprotocol.edc.session import hello_message
from batprotocol.errors import PeerGone, PeerSilent, RuleViolation, SchedulerError
from batprotocol.wire import frames, json

ANY_PORT = "tcp://127.0.0.1:*"


SIMULATION = [
    begins(),
    submitted(1.0),
    said(5.0, *completed(5.0).events, AllStaticJobsHaveBeenSubmittedEvent()),
    ends(6.0),
]


class Everywhere(Scheduler):
    """Executes each job on all hosts at once."""

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self.reply.add_execute_job(event.job_id, f"0-{HOSTS - 1}")


def whole(peer: Peer) -> list[Message]:
    """A whole simulation, of one job; the replies."""
    frames.decode_hello(peer.ask(frames.encode_init("init")))
    return [peer.say(message) for message in SIMULATION]


def stopped(peer: Peer, first: Message) -> bool:
    """Whether this is answered by a stop, and the end of the simulation is awaited then. What Batsim needs to go on."""
    reply = peer.say(first)
    assert [type(event) for event in reply.events] == [ForceSimulationStopEvent]
    return peer.say(ends(first.now)).events == ()


def types(messages: list[Message]) -> list[list[str]]:
    return [[type(event).__name__ for event in message.events] for message in messages]


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The peers here do answer, but nobody knows when their threads are let run."""
    monkeypatch.setattr("batprotocol.edc.server.FAREWELL", PATIENCE)


# Schedulers


def test_there_is_a_method_for_each_event_of_batsim_named_as_in_the_builder() -> None:
    assert set(METHODS) == set(BATSIM_TO_EDC)
    for event_type, name in METHODS.items():
        method = getattr(Scheduler, name)
        assert list(inspect.signature(method).parameters) == ["self", "event"]
        assert get_type_hints(method)["event"] is event_type
        assert hasattr(MessageBuilder, "add_" + name.removeprefix("on_")), name


def test_methods_are_called_in_the_order_of_the_events_and_then_decide() -> None:
    class Listener(Scheduler):
        def __init__(self) -> None:
            self.heard: list[tuple[str, float]] = []

        def on_init(self, text: str) -> None:
            self.heard.append((text, -1.0))

        def decide(self) -> None:
            self.heard.append(("decide", self.now))

    for name in METHODS.values():
        setattr(Listener, name, lambda self, event: self.heard.append((type(event).__name__, self.now)))

    scheduler = Listener()
    job = Job(resource_request=1, profile_id="w0!delay")
    two = said(
        1.0, RequestedCallEvent(call_me_later_id="x"), JobSubmittedEvent(job_id="w0!1", job=job, submission_time=1.0)
    )
    rehearse(scheduler, [begins(), two, ends(2.0)], "the text", rules="protocol")
    assert scheduler.heard == [
        ("the text", -1.0),
        ("SimulationBeginsEvent", 0.0),
        ("decide", 0.0),
        ("RequestedCallEvent", 1.0),
        ("JobSubmittedEvent", 1.0),
        ("decide", 1.0),
        ("SimulationEndsEvent", 2.0),
    ]


def test_a_method_can_be_given_to_a_single_scheduler() -> None:
    scheduler = Scheduler()
    scheduler.on_job_submitted = lambda event: scheduler.reply.add_reject_job(event.job_id)  # type: ignore[method-assign]  # the point
    replies = rehearse(scheduler, [begins(), submitted(1.0)])
    assert types(replies) == [[], ["RejectJobEvent"]]


def test_a_method_that_would_never_be_called_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"Wrong\.on_job_submited would never be called.*did you mean on_job_submitted\?"
    ):
        type("Wrong", (Scheduler,), {"on_job_submited": lambda self, event: None})


async def waits(self: Scheduler, event: Event) -> None:
    """A method that must be awaited."""


async def yields_and_waits(self: Scheduler, event: Event) -> AsyncIterator[Event]:
    yield event


def yields(self: Scheduler, event: Event) -> Iterator[Event]:
    yield event


@functools.wraps(waits)
def decorated(self: Scheduler, *arguments: Event) -> None:
    """A method that takes what is not written behind its name."""


@pytest.mark.parametrize(
    ("name", "method", "sentence"),
    [
        ("on_job_submitted", lambda self: None, r"takes \(self\), but is called with \(self, event\)"),
        (
            "on_job_completed",
            lambda self, job, now: None,
            r"takes \(self, job, now\), but is called with \(self, event",
        ),
        ("on_requested_call", lambda self, *, event: None, r"takes \(self, \*, event\), but is called with"),
        ("on_simulation_begins", staticmethod(lambda: None), r"takes \(\), but is called with \(event\)"),
        ("on_simulation_begins", classmethod(lambda cls: None), r"takes \(\), but is called with \(event\)"),
        ("on_init", lambda self: None, r"takes \(self\), but is called with \(self, text\)"),
        ("decide", lambda self, event: None, r"takes \(self, event\), but is called with \(self\)"),
        ("on_job_submitted", waits, "is `async def`, and nobody would await it: make it a `def`"),
        ("on_job_submitted", yields_and_waits, "is `async def`"),
        ("on_job_submitted", yields, "holds a `yield`"),
        ("on_job_submitted", None, "is no method, but None"),
        ("decide", 7, "is no method, but 7"),
    ],
)
def test_a_method_that_could_not_be_called_is_refused(name: str, method: Any, sentence: str) -> None:
    with pytest.raises(TypeError, match=rf"Wrong\.{name} {sentence}"):
        type("Wrong", (Scheduler,), {name: method})
    mixin = type("Mixin", (), {name: method})
    with pytest.raises(TypeError, match=rf"Wrong\.{name} {sentence}"):
        type("Wrong", (mixin, Scheduler), {})


@pytest.mark.parametrize("name", ["on_job_submitted", "on_simulation_ends"])
@pytest.mark.parametrize(
    "method",
    [
        lambda self, event: None,
        lambda self, job_submitted, /, more=None: None,
        lambda *arguments: None,
        staticmethod(lambda event: None),
        classmethod(lambda cls, event: None),
        functools.partial(print, end=""),
        functools.partialmethod(lambda self, more, event: None, 1),
        property(lambda self: print),
        decorated,
        max,
    ],
)
def test_a_method_can_be_made_in_any_way(name: str, method: Any) -> None:
    assert issubclass(type("Right", (Scheduler,), {name: method}), Scheduler)


def test_a_method_given_to_a_single_scheduler_must_take_the_event() -> None:
    scheduler = Scheduler()
    scheduler.on_job_submitted = lambda: None  # type: ignore[method-assign, assignment]  # the point
    with pytest.raises(TypeError, match=r"Scheduler\.on_job_submitted takes \(\), but is called with \(event\)"):
        rehearse(scheduler, [begins()])


TOLD: list[tuple[str, object, str]] = [
    ("name", "a, b", "Wrong.name: expected a text without comma or double quote, got 'a, b'"),
    ("name", lambda self: "x", "Wrong.name: expected a string, got"),
    ("version", 1.0, "Wrong.version: expected a string, got 1.0"),
    ("commit", '"', "Wrong.commit: expected a text without comma"),
    ("features", {"profile_reuse": True}, "Wrong.features: expected an? EDCRequested.*, got {'profile_reuse': True}"),
    ("features", EDCRequestedSimulationFeatures, "Wrong.features: expected"),
    ("features", EDCRequestedSimulationFeatures(profile_reuse=1), "Wrong.features.profile_reuse: expected True"),  # type: ignore[arg-type]  # the point
]


@pytest.mark.parametrize(("name", "value", "sentence"), TOLD)
def test_what_batsim_cannot_be_told_is_refused_with_the_attribute(name: str, value: object, sentence: str) -> None:
    with pytest.raises(BuilderError, match=sentence):
        type("Wrong", (Scheduler,), {name: value})
    late = type("Wrong", (Scheduler,), {name: property(lambda self: value)})
    with pytest.raises(BuilderError, match=sentence.replace("<function", "<")):
        late().hello("")


@pytest.mark.parametrize("name", ["conversation", "message", "now", "reply"])
@pytest.mark.parametrize("value", [0, None, lambda self: 0])
def test_what_would_hide_the_reply_or_the_message_is_refused(name: str, value: object) -> None:
    with pytest.raises(SchedulerError, match=rf"Wrong\.{name} would hide the one of Scheduler"):
        type("Wrong", (Scheduler,), {name: value})
    assert type("Right", (Scheduler,), {name: property(lambda self: value)})


def test_a_scheduler_can_be_a_dataclass() -> None:
    @dataclasses.dataclass
    class Made(Scheduler):
        name: str = dataclasses.field(default="made")
        limit: int = 60

    (event,) = Made(limit=5).hello("").events
    assert isinstance(event, EDCHelloEvent)
    assert event.decision_component_name == "made"


def test_the_class_in_place_of_a_scheduler_is_refused() -> None:
    with pytest.raises(TypeError, match=r"run takes a scheduler, not its class: run\(Everywhere\(...\)\) instead of"):
        run(Everywhere)  # type: ignore[arg-type]  # the point
    with pytest.raises(TypeError, match=r"rehearse takes a scheduler, not its class: rehearse\(Everywhere\("):
        rehearse(Everywhere, [])  # type: ignore[arg-type]  # the point
    with pytest.raises(TypeError, match=r"run takes a Scheduler, got 'scheduler\.py'"):
        run("scheduler.py")  # type: ignore[arg-type]  # the point


def test_there_is_no_reply_before_the_first_message() -> None:
    class Early(Scheduler):
        def on_init(self, text: str) -> None:
            self.reply.add_reject_job("w0!1")

    with pytest.raises(RuntimeError, match="nothing to reply to yet"):
        rehearse(Early(), [])


def test_the_hello_tells_what_the_attributes_say() -> None:
    class Named(Scheduler):
        version = "1.2"

        def on_init(self, text: str) -> None:
            self.features = EDCRequestedSimulationFeatures(dynamic_registration=text == "dynamic")

    (event,) = Named().hello("dynamic").events
    assert isinstance(event, EDCHelloEvent)
    assert (event.decision_component_name, event.decision_component_version) == ("Named", "1.2")
    assert event.decision_component_commit == ""
    assert event.requested_simulation_features.dynamic_registration
    assert Named().hello("static").events[0] != event


def test_an_error_of_the_simulation_is_logged_and_ends_it(caplog: pytest.LogCaptureFixture) -> None:
    error = said(1.0, SimulationErrorEvent(error="the disk is full"))
    batsim = InThread(lambda peer: begun(peer).say(error))
    run(Everywhere(), ANY_PORT, on_bound=batsim)
    assert batsim.join().events == ()
    assert "the simulation has failed: the disk is full" in caplog.text


# Replies


def test_what_batsim_refuses_is_raised_in_the_line_that_asks_for_it() -> None:
    class Greedy(Scheduler):
        def on_job_submitted(self, event: JobSubmittedEvent) -> None:
            self.reply.add_call_me_later("later", OneShot(100))
            with pytest.raises(RuleViolation) as caught:
                self.reply.add_execute_job(event.job_id, HOSTS)  # this line
            assert caught.value.rule == "hosts.unknown"
            lines = [str(entry.statement) for entry in caught.traceback if Path(entry.path) == Path(__file__)]
            assert "# this line" in lines[-1]
            self.reply.add_execute_job(event.job_id, HOSTS - 1)

    replies = rehearse(Greedy(), [begins(), submitted(1.0)])
    assert types(replies) == [[], ["CallMeLaterEvent", "ExecuteJobEvent"]]


def test_a_refused_event_leaves_the_reply_as_it_was() -> None:
    def refused(reply: Reply) -> None:
        with pytest.raises(RuleViolation):
            reply.add(RejectJobEvent(job_id="w0!2", timestamp=9.0))
        with pytest.raises(BuilderError):
            reply.add_reject_job("")

    class Sloppy(Scheduler):
        def on_job_submitted(self, event: JobSubmittedEvent) -> None:
            refused(self.reply)
            assert (self.reply.events, self.reply.current_time) == ((), 1.0)
            self.reply.add_reject_job(event.job_id)
            refused(self.reply)
            assert self.reply.events == (RejectJobEvent(job_id="w0!1", timestamp=1.0),)

    assert rehearse(Sloppy(), [begins(), submitted(1.0)])[1].now == 1.0


def test_a_reply_cannot_be_cleared_once_it_holds_events() -> None:
    class Clearing(Scheduler):
        def on_job_submitted(self, event: JobSubmittedEvent) -> None:
            self.reply.clear(self.now)
            self.reply.add_reject_job(event.job_id)
            with pytest.raises(BuilderError, match="were taken as said"):
                self.reply.clear()

    assert types(rehearse(Clearing(), [begins(), submitted(1.0)])) == [[], ["RejectJobEvent"]]


@pytest.mark.parametrize("finish", [True, False])
def test_thinking_takes_simulated_time(finish: bool) -> None:
    class Thinker(Everywhere):
        def decide(self) -> None:
            if finish:
                self.reply.finish_message(self.now + 5.0)
            else:
                self.reply.set_current_time(self.now + 5.0)

    assert [reply.now for reply in rehearse(Thinker(), [begins(), submitted(10.0)])] == [5.0, 15.0]


def test_a_deadlock_is_refused_when_the_reply_is_closed() -> None:
    class Lazy(Scheduler):
        pass

    last = said(1.0, *submitted(1.0).events, AllStaticJobsHaveBeenSubmittedEvent())
    with pytest.raises(RuleViolation) as caught:
        rehearse(Lazy(), [begins(), last])
    assert caught.value.violations[0].severity == "deadlock"


def test_a_deadlock_is_only_logged_after_batsim_has_said_what_cannot_be(caplog: pytest.LogCaptureFixture) -> None:
    odd = said(0.5, RequestedCallEvent(call_me_later_id="nobody asked"))
    last = said(1.0, *submitted(1.0).events, AllStaticJobsHaveBeenSubmittedEvent())
    assert types(rehearse(Scheduler(), [begins(), odd, last])) == [[], [], []]
    assert "call.unasked" in caplog.text
    assert "deadlock" in caplog.text


def test_what_is_odd_is_logged_once_as_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "batprotocol.edc")
    odd = [said(float(number), RequestedCallEvent(call_me_later_id="x")) for number in range(1, 4)]
    rehearse(Scheduler(), [begins(), *odd])
    records = [record for record in caplog.records if "call.unasked" in record.getMessage()]
    assert [record.levelname for record in records] == ["WARNING", "DEBUG", "DEBUG"]


# Sessions: no socket


def session(scheduler: Scheduler | None = None, format: str = "binary") -> Session:
    """A session that expects the first message after the handshake."""
    made = Session((scheduler or Scheduler()).hello, format)
    assert made.receive(frames.encode_init("init")) is None
    assert frames.decode_hello(made.answer()).format == format
    return made


def test_a_session_in_json() -> None:
    talk = session(format="json")
    turn = talk.receive(begins().to_json().encode() + b"\0")
    assert isinstance(turn, Turn)
    turn.reply.add_call_me_later("later", OneShot(5))
    reply = json.decode(talk.answer())
    assert reply.events == (CallMeLaterEvent(call_me_later_id="later", when=OneShot(5)),)
    newer = '{"now": 5.0, "events": [], "a_field_of_a_newer_schema": 1}'
    assert talk.receive(newer.encode()) is not None


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"", "message 2 of the simulator"),
        (b"\xff" * 40, "message 2 of the simulator"),
        (b'{"now": 1.0, "events": []}', "message 2 of the simulator"),
        (frames.encode_init("again"), "another simulation wants to begin through the same connection"),
        (Message(float("nan")).to_binary(), "now: message 2 of the simulator: expected a finite number, found nan"),
    ],
)
def test_garbage_is_a_decode_error_that_names_the_message(frame: bytes, reason: str) -> None:
    talk = session()
    with pytest.raises(DecodeError, match=reason):
        talk.receive(frame)
    assert decode(talk.farewell()).events == (ForceSimulationStopEvent(),)


@pytest.mark.parametrize("frame", [b"", b"abc", begins().to_binary()])
def test_garbage_for_initialization_data(frame: bytes) -> None:
    talk = Session(Scheduler().hello)
    with pytest.raises(DecodeError, match="message 0 of the simulator"):
        talk.receive(frame)
    assert frames.decode_hello(talk.farewell()).message.events  # whoever it was, it is not left waiting


def test_a_hello_that_batsim_would_not_survive_is_refused() -> None:
    talk = Session(
        lambda text: Message(
            0.0,
            (EDCHelloEvent(batprotocol_version="0.1.0", decision_component_name="x", decision_component_version="1"),),
        )
    )
    with pytest.raises(RuleViolation, match="hello"):
        talk.receive(frames.encode_init(""))


def test_farewells() -> None:
    """The hello if it is due, a stop, and empty replies; over when the end was told."""
    talk = Session(lambda text: hello_message("x", "1"))
    talk.receive(frames.encode_init(""))
    assert frames.decode_hello(talk.farewell()).message == hello_message("x", "1")
    said_and_expected = [
        (begins(), (ForceSimulationStopEvent(),)),
        (submitted(0.0), ()),
        (ends(0.0), ()),
    ]
    for message, expected in said_and_expected:
        assert not talk.is_over
        talk.overhear(message.to_binary())
        assert decode(talk.farewell()).events == expected
    assert talk.is_over


def test_the_end_is_never_answered_by_a_stop() -> None:
    """Batsim would hang."""
    talk = session()
    talk.receive(ends(1.0).to_binary())
    assert decode(talk.farewell()).events == ()
    assert talk.is_over


def test_a_message_that_was_lost_on_the_way_may_have_been_the_end() -> None:
    """Ctrl-C between the socket and the session."""
    talk = session()
    assert decode(talk.farewell()).events == ()
    assert not talk.is_over
    talk.overhear(submitted(1.0).to_binary())
    assert decode(talk.farewell()).events == (ForceSimulationStopEvent(timestamp=1.0),)


# serve


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
        ([frames.encode_init("init")], "another simulation wants to begin"),
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


# async for


def test_async_for_gives_the_same_turns() -> None:
    async def main() -> list[list[Message]]:
        async def simulate() -> list[Message]:
            server = serve(ANY_PORT)
            batsim = InThread(whole)
            batsim(server.endpoint)
            messages = []
            async for turn in server:
                messages.append(turn.message)
                for event in turn.message.events:
                    if isinstance(event, JobSubmittedEvent):
                        turn.reply.add_execute_job(event.job_id, "0-3")
            assert types(batsim.join()) == [[], ["ExecuteJobEvent"], [], []]
            assert server._channel.closed
            return messages

        return await asyncio.gather(*(simulate() for _ in range(5)))

    assert asyncio.run(main()) == [SIMULATION] * 5


def test_an_async_loop_that_is_left_stops_the_simulation() -> None:
    async def main() -> InThread[bool]:
        batsim = InThread(lambda peer: stopped(begun(peer), submitted(1.0)))
        async with serve(ANY_PORT) as server:
            batsim(server.endpoint)
            async for turn in server:
                if turn.message.now:
                    break
        assert server._channel.closed
        return batsim

    assert asyncio.run(main()).join()


def test_an_async_loop_in_a_with_that_is_not_async() -> None:
    async def main() -> bool:
        batsim = InThread(lambda peer: stopped(begun(peer), submitted(1.0)))
        with serve(ANY_PORT) as server:
            batsim(server.endpoint)
            async for turn in server:
                if turn.message.now:
                    break
        return batsim.join()

    assert asyncio.run(main())


def test_an_async_loop_does_not_block_the_others() -> None:
    async def main() -> None:
        server = serve(ANY_PORT, timeout=0.5)
        waiting = asyncio.ensure_future(anext(aiter(server)))
        await asyncio.sleep(0)
        assert not waiting.done()
        with pytest.raises(PeerSilent):
            await waiting
        assert server._channel.closed

    asyncio.run(main())


def test_an_async_loop_can_be_cancelled() -> None:
    async def loop(batsim: InThread[bool]) -> None:
        server = serve(ANY_PORT)
        batsim(server.endpoint)
        async for _ in server:
            pass

    async def main() -> None:
        begins_said, cancelled = threading.Event(), threading.Event()

        def script(peer: Peer) -> bool:
            begun(peer)
            begins_said.set()
            cancelled.wait(PATIENCE)
            return stopped(peer, submitted(1.0))

        batsim = InThread(script)
        task = asyncio.create_task(loop(batsim))
        while not begins_said.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0)
        cancelled.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert batsim.join()

    asyncio.run(main())


# run


def test_run_runs_a_scheduler() -> None:
    batsim = InThread(whole)
    endpoints: list[str] = []

    def bound(endpoint: str) -> None:
        endpoints.append(endpoint)
        batsim(endpoint)

    run(Everywhere(), ANY_PORT, on_bound=bound)
    assert types(batsim.join()) == [[], ["ExecuteJobEvent"], [], []]
    assert endpoints[0].startswith("tcp://127.0.0.1:")


def test_initialization_data_can_be_given_in_place_of_batsims() -> None:
    class Curious(Scheduler):
        text = ""

        def on_init(self, text: str) -> None:
            self.text = text

    for given, expected in ((None, "init"), ("", ""), ("mine", "mine")):
        scheduler, batsim = Curious(), InThread(whole)
        run(scheduler, ANY_PORT, init=given, on_bound=batsim)
        batsim.join()
        assert scheduler.text == expected


@pytest.mark.parametrize("where", ["on_job_submitted", "decide", "on_simulation_begins"])
def test_what_a_method_raises_stops_the_simulation_and_reaches_the_caller(where: str) -> None:
    def fails(self: Scheduler, *event: Event) -> None:
        if where != "decide" or self.now:
            raise LookupError(where)

    def script(peer: Peer) -> bool:
        frames.decode_hello(peer.ask(frames.encode_init("")))
        return (
            stopped(peer, begins())
            if where == "on_simulation_begins"
            else (not peer.say(begins()).events and stopped(peer, submitted(1.0)))
        )

    batsim = InThread(script)
    with pytest.raises(LookupError, match=where):
        run(type("Failing", (Scheduler,), {where: fails})(), ANY_PORT, on_bound=batsim)
    assert batsim.join()


@pytest.mark.parametrize("where", ["on_init", "name"])
def test_what_is_wrong_with_the_hello_stops_the_simulation_and_reaches_the_caller(where: str) -> None:
    def fails(self: Scheduler, text: str) -> None:
        raise LookupError("no comma")

    def script(peer: Peer) -> bool:
        frames.decode_hello(peer.ask(frames.encode_init("")))
        return stopped(peer, begins())

    batsim = InThread(script)
    attributes = {"on_init": fails} if where == "on_init" else {"name": property(lambda self: "a, b")}
    with pytest.raises((LookupError, BuilderError), match="comma"):
        run(type("Failing", (Scheduler,), attributes)(), ANY_PORT, on_bound=batsim)
    assert batsim.join()


def test_what_fails_at_the_end_leaves_batsim_an_answer() -> None:
    class Failing(Everywhere):
        def on_simulation_ends(self, event: SimulationEndsEvent) -> None:
            raise LookupError("at the end")

    batsim = InThread(whole)
    with pytest.raises(LookupError, match="at the end"):
        run(Failing(), ANY_PORT, on_bound=batsim)
    assert types(batsim.join()) == [[], ["ExecuteJobEvent"], [], []]


# Endpoints


def test_unix_sockets(tmp_path: Path) -> None:
    endpoint = f"ipc://{tmp_path}/edc.sock"
    for _ in range(2):
        batsim = InThread(whole)
        run(Everywhere(), endpoint, on_bound=batsim)
        batsim.join()
    assert not list(tmp_path.iterdir())


def test_a_stale_unix_socket_is_harmless(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(f"{tmp_path}/edc.sock")
    with serve(f"ipc://{tmp_path}/edc.sock") as server:
        assert server.endpoint == f"ipc://{tmp_path}/edc.sock"


def test_a_unix_socket_in_use_is_not_taken_over(tmp_path: Path) -> None:
    endpoint = f"ipc://{tmp_path}/edc.sock"
    with serve(endpoint) as server:
        with pytest.raises(OSError, match="another program listens there") as caught:
            serve(endpoint)
        assert caught.value.filename == endpoint
        batsim = InThread(whole)
        batsim(server.endpoint)
        assert [turn.message for turn in server] == SIMULATION
        batsim.join()


@pytest.mark.parametrize("kind", ["file", "link", "dangling", "folder"])
def test_what_is_no_socket_is_left_alone(tmp_path: Path, kind: str) -> None:
    path, precious = tmp_path / "edc.sock", tmp_path / "precious"
    if kind == "folder":
        path.mkdir()
    elif kind == "file":
        path.write_text("precious")
    else:
        path.symlink_to(precious)
    if kind == "link":
        precious.write_text("precious")
    before = sorted(os.listdir(tmp_path)), os.lstat(path)
    with pytest.raises(OSError, match="no socket, and would be deleted") as caught:
        serve(f"ipc://{path}")
    assert caught.value.filename == f"ipc://{path}"
    after = sorted(os.listdir(tmp_path)), os.lstat(path)
    assert (after[0], after[1].st_ino, after[1].st_size) == (before[0], before[1].st_ino, before[1].st_size)


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def test_ipv6() -> None:
    """Where the machine has none, that is what is said."""
    if not has_ipv6():
        with pytest.raises(OSError, match="no such address"):
            serve("tcp://[::1]:*")
        return
    batsim = InThread(whole)
    run(Everywhere(), "tcp://[::1]:*", on_bound=batsim)
    assert types(batsim.join()) == [[], ["ExecuteJobEvent"], [], []]


def test_a_port_in_use() -> None:
    with serve(ANY_PORT) as server, pytest.raises(OSError, match=r"[Aa]ddress already in use") as caught:
        serve(server.endpoint)
    assert caught.value.filename == server.endpoint


@pytest.mark.parametrize(
    ("endpoint", "reason"),
    [
        ("nonsense", "this is no endpoint"),
        ("tcp://127.0.0.1", "this is no endpoint"),
        ("tcp://no.such.host.invalid:1", "this machine has no such address"),
        ("ipc:///no/such/folder/edc.sock", "No such file"),
        ("ipc:///tmp/" + "x" * 103, "more than 107 bytes"),
        ("udp://127.0.0.1:1", "not compatible"),
        ("", "this is no endpoint"),
        ("tcp://*:99999", "a port is a number up to 65535"),
        ("tcp://127.0.0.1:65536", "a port is a number up to 65535"),
        ("tcp://127.0.0.1:-5", "a port is a number up to 65535"),
        ("tcp://127.0.0.1:28x", "a port is a number up to 65535"),
        ("tcp://[::1]:99999", "a port is a number up to 65535"),
    ],
)
def test_endpoints_that_cannot_be_bound(endpoint: str, reason: str) -> None:
    with pytest.raises(OSError, match=reason) as caught:
        serve(endpoint)
    assert caught.value.filename == endpoint


# What is left behind


def resources() -> tuple[int, int, int]:
    """How many file descriptors, threads, and threads of other languages this process has."""
    return len(os.listdir("/proc/self/fd")), threading.active_count(), len(os.listdir("/proc/self/task"))


def settled() -> tuple[int, int, int]:
    """The resources, once those that are on their way out are gone."""
    last = resources()
    for _ in range(100):
        time.sleep(0.1)
        now = resources()
        if now == last:
            return now
        last = now
    return last


LINUX = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux tells")


@LINUX
def test_many_runs_leave_nothing_behind(tmp_path: Path) -> None:
    def once(number: int) -> None:
        batsim = InThread(whole if number % 20 else begun)
        try:
            run(Everywhere(), f"ipc://{tmp_path}/edc.sock" if number % 2 else ANY_PORT, on_bound=batsim)
        except PeerGone:
            assert number % 20 == 0
        batsim.join()

    once(0)
    before = settled()
    for number in range(200):
        once(number)
    assert settled() == before


@LINUX
def test_twenty_schedulers_in_one_process() -> None:
    def once() -> None:
        replies: list[list[list[str]]] = []

        def simulate() -> None:
            batsim = InThread(whole)
            run(Everywhere(), ANY_PORT, on_bound=batsim)
            replies.append(types(batsim.join()))

        threads = [threading.Thread(target=simulate) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert replies == [[[], ["ExecuteJobEvent"], [], []]] * 20

    once()
    before = settled()
    once()
    assert settled() == before


def test_importing_batprotocol_imports_no_socket() -> None:
    program = """
import sys, batprotocol
assert not [name for name in sys.modules if name.split(".")[0] in ("zmq", "asyncio")]
import batprotocol.edc
assert not [name for name in sys.modules if name.startswith(("batprotocol.cli", "click"))]
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
