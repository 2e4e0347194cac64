"""Sessions: a whole simulation without a socket, with garbage and farewells."""

from __future__ import annotations

import pytest
from replay import begins, ends, submitted

from batprotocol import CallMeLaterEvent, DecodeError, EDCHelloEvent, ForceSimulationStopEvent, Message, OneShot, decode
from batprotocol.edc import Scheduler, Session, Turn
from batprotocol.edc.reply import hello_message
from batprotocol.errors import BuilderError, RuleViolation
from batprotocol.wire import frames, json


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


def test_a_whole_turn_at_once() -> None:
    def attend(turn: Turn) -> None:
        turn.reply.add_call_me_later("later", OneShot(5))

    talk = session()
    reply = CallMeLaterEvent(call_me_later_id="later", when=OneShot(5))
    assert decode(talk.exchange(begins().to_binary(), attend)).events == (reply,)
    assert not talk.owes_reply
    with pytest.raises(DecodeError, match="message 4 of the simulator"):
        talk.exchange(b"garbage", attend)
    assert talk.owes_reply


@pytest.mark.parametrize("filled_in", [False, True])
def test_nothing_can_be_said_once_it_was_answered(filled_in: bool) -> None:
    """Whether or not anything had been said; and a turn that nobody said anything in is answered all the same."""
    talk = session()
    turn = talk.receive(begins().to_binary())
    assert turn is not None
    if filled_in:
        turn.reply.add_call_me_later("later", OneShot(5))
    assert len(decode(talk.answer()).events) == filled_in
    assert turn.reply.is_finished
    with pytest.raises(BuilderError, match=r"the message was finished at .*, so RejectJobEvent is refused"):
        turn.reply.add_reject_job("w0!1")
    assert len(turn.reply) == filled_in


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"", "message 2 of the simulator"),
        (b"\xff" * 40, "message 2 of the simulator"),
        (b'{"now": 1.0, "events": []}', "message 2 of the simulator"),
        (frames.encode_init("again"), "another simulation began on the same connection"),
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


BEGINS, LATER, GARBAGE = begins().to_binary(), submitted(1.0).to_binary(), b"garbage" * 9


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ([BEGINS, LATER], 0),
        ([BEGINS, GARBAGE], 0),
        ([LATER, LATER], 1),
        ([GARBAGE], 1),
    ],
    ids=["begins", "garbage later", "does not begin", "garbage"],
)
def test_only_the_first_message_can_be_of_another_age(
    said: list[bytes], told: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("batprotocol.schemas.other_ages", lambda frame, direction: "of another age")
    talk, refused = session(), ""
    for frame in said:
        try:
            talk.receive(frame)
            talk.answer()
        except DecodeError as error:
            refused = str(error)
    assert (refused != "") is (GARBAGE in said)
    found = [text for text in (*caplog.messages, refused) if "of another age" in text]
    assert len(found) == told
    assert all("message 2 of the simulator: " in text for text in found)
