"""Who is not served is told so, in a way that no Batsim takes for a simulation."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from flatc import needs_flatc, to_binary
from replay import PATIENCE, InThread, Peer

from batprotocol import MessageBuilder
from batprotocol.conversation import Conversation
from batprotocol.edc.reply import hello_message
from batprotocol.errors import DecodeError, PeerSilent
from batprotocol.legacy.bridge import NewBatsim, OldBatsim
from batprotocol.model import Message, RequestedCallEvent
from batprotocol.wire import FORMATS, frames

WITHOUT_ENGINE = True


REASON = "this endpoint serves another simulation"


def test_a_refusal_is_no_hello() -> None:
    with pytest.raises(DecodeError, match=f"{REASON}, byte 5: Message has no field of this name"):
        frames.decode_hello(frames.encode_refusal(frames.encode_init("text"), REASON))
    for text in (b"", b"abc"):  # what is no message either
        with pytest.raises(DecodeError):
            frames.decode_hello(frames.encode_refusal(text, REASON))


@pytest.mark.parametrize("format", ["binary", "json"])
def test_a_refusal_in_the_middle_of_a_simulation(format: str) -> None:
    """Where it can be read at all, it is what no decision component may say."""
    heard = FORMATS[format].encode(Message(1.0, (RequestedCallEvent(timestamp=1.0, call_me_later_id="x"),)))
    answer = frames.encode_refusal(heard, REASON)
    if format == "json":
        with pytest.raises(DecodeError, match=REASON):
            FORMATS[format].decode(answer)
        return
    conversation = Conversation()
    conversation.begin("")
    conversation.hello(hello_message("x", "0"))
    builder = MessageBuilder()
    builder.add_simulation_begins(batsim_version="5.0.0", computation_hosts=[])
    conversation.receive(builder.finish_message())
    assert [(each.rule, each.severity) for each in conversation.feed(answer)] == [("event.wrong-direction", "error")]


@needs_flatc
def test_the_parser_of_batsim_names_the_reason_in_a_refusal() -> None:
    """Its error is the last thing in Batsim's log."""
    answer = frames.encode_refusal(frames.encode_init("text"), REASON)
    binary, error = to_binary(answer[4:].rstrip(b"\0"))
    assert binary is None
    assert f"unknown field: {REASON}" in error


OLD_BEGINNING = {
    "now": 0.0,
    "events": [
        {
            "timestamp": 0.0,
            "type": "SIMULATION_BEGINS",
            "data": {
                "nb_resources": 0,
                "nb_compute_resources": 0,
                "nb_storage_resources": 0,
                "allow_compute_sharing": False,
                "allow_storage_sharing": False,
                "config": {},
                "compute_resources": [],
                "storage_resources": [],
                "workloads": {},
                "profiles": {},
            },
        }
    ],
}


@pytest.mark.parametrize("end", [NewBatsim, OldBatsim])
@pytest.mark.parametrize("at_once", [False, True])
def test_a_bridge_serves_one_simulation(end: type[NewBatsim] | type[OldBatsim], at_once: bool) -> None:
    """A second Batsim is answered at once, and at the latest when the bridge is closed."""
    first = frames.encode_init("x") if end is NewBatsim else json.dumps(OLD_BEGINNING).encode()
    with end("tcp://127.0.0.1:*", timeout=0.1) as batsim, Peer(batsim.endpoint) as peer:
        peer.socket.send(first)
        begun = False
        while not begun:  # a busy machine delivers the message late
            with suppress(PeerSilent):
                batsim.begin()
                begun = True
        second = InThread(lambda peer: peer.ask(first))
        second(batsim.endpoint)
        if at_once:
            while second.is_alive:
                with suppress(PeerSilent):
                    batsim._frame()
        else:
            batsim._channel.wait(PATIENCE)
    if end is NewBatsim:
        with pytest.raises(DecodeError, match=REASON):
            frames.decode_hello(second.join())
    else:
        with pytest.raises(ValueError, match="Expecting value"):
            json.loads(second.join())
