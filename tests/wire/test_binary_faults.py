"""Bytes that are no message.

Each fault is made by hand in one message; its path and byte are known from the oracle's walk.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from batprotocol._schema.description import UNIONS
from binaries import in_fork_join, in_sequence, nested
from engines import each_engine
from oracle import Piece, pieces, write

from batprotocol import wire
from batprotocol.errors import DecodeError
from batprotocol.model import Doubles, KillJobsEvent, Message, ParallelTaskProfile, ProfileAndId, RegisterProfileEvent
from batprotocol.wire import reader


def decoded(data: bytes) -> Any:
    """The message, or what the error says."""
    try:
        return Message.from_binary(data)
    except DecodeError as error:
        return error.args


FAULTLESS = Message(
    2.0,
    (
        RegisterProfileEvent(profile=ProfileAndId("w!p", ParallelTaskProfile([1.0, 2.0]), "extra"), timestamp=1.0),
        KillJobsEvent(job_ids=("w!1", "w!é"), timestamp=2.0),
    ),
)
PROFILE, KILL = "events[0].event.profile", "events[1].event"
EVENTS = len(UNIONS["Event"].members)


class Buffer:
    """The bytes of `FAULTLESS`, to be spoilt."""

    def __init__(self) -> None:
        self.data = bytearray(FAULTLESS.to_binary())
        self.pieces = list(pieces(bytes(self.data)))

    def find(self, kind: str, path: str) -> int:
        found: list[Piece] = [piece for piece in self.pieces if (piece.kind, piece.path) == (kind, path)]
        assert len(found) == 1, f"{len(found)} pieces are the {kind} of {path}"
        return found[0].place

    def put(self, layout: str, place: int, value: int) -> int:
        struct.pack_into("<" + layout, self.data, place, value)
        return place

    def absent(self, table: str, slot: int) -> int:
        """Take a field out of a table's vtable; return where the table is."""
        self.put("H", self.find("vtable", table) + 4 + 2 * slot, 0)
        return self.find("table", table)


class Fault(NamedTuple):
    """`spoil` makes the fault and returns the byte that must be named."""

    name: str
    path: str
    reason: str
    spoil: Callable[[Buffer], int]


def cut(buffer: Buffer, size: int, offset: int) -> int:
    del buffer.data[size:]
    return offset


def prefix(buffer: Buffer) -> int:
    buffer.data[:0] = struct.pack("<I", len(buffer.data))
    return 0


def odd_vtable(buffer: Buffer) -> int:
    return buffer.put("H", buffer.find("vtable", PROFILE), 7)


def small_vtable(buffer: Buffer) -> int:
    return buffer.put("H", buffer.find("vtable", PROFILE), 2)


def long_vtable(buffer: Buffer) -> int:
    return buffer.put("H", buffer.find("vtable", PROFILE), 0xFFF0)


def vtable_before(buffer: Buffer) -> int:
    buffer.put("i", buffer.find("table", PROFILE), 2**31 - 1)
    return buffer.find("table", PROFILE) - 2**31 + 1


def vtable_just_before(buffer: Buffer) -> int:
    buffer.put("i", buffer.find("table", "events[0]"), buffer.find("table", "events[0]") + 1)
    return -1


def vtable_after(buffer: Buffer) -> int:
    buffer.put("i", buffer.find("table", PROFILE), -(2**31))
    return len(buffer.data)


def no_nul(buffer: Buffer) -> int:
    return buffer.put("B", buffer.find("string", f"{PROFILE}.id") + 4 + len("w!p"), 1)


def bad_utf8(buffer: Buffer) -> int:
    return buffer.put("B", buffer.find("string", f"{KILL}.job_ids[1]") + 4 + len("w!"), 0xFF)


def lone_continuation(buffer: Buffer) -> int:
    return buffer.put("B", buffer.find("string", f"{KILL}.job_ids[0]") + 4 + 2, 0x80)


def surrogate(buffer: Buffer) -> int:
    place = buffer.find("string", f"{PROFILE}.extra_data") + 4
    buffer.data[place : place + 3] = "\ud800".encode("utf-8", "surrogatepass")
    return place


def cut_in_last_string(buffer: Buffer) -> int:
    place = buffer.find("string", f"{PROFILE}.id")  # the last piece of the message
    return cut(buffer, place + 6, place)


def far_field(table: str, slot: int) -> Callable[[Buffer], int]:
    """A field of a table that its vtable puts where nothing is."""

    def spoil(buffer: Buffer) -> int:
        buffer.put("H", buffer.find("vtable", table) + 4 + 2 * slot, 0xFFFF)
        return len(buffer.data)

    return spoil


MUCH = 2**31
FAULTS = [
    Fault("empty", "", "no bytes at all", lambda b: cut(b, 0, 0)),
    Fault("three bytes", "", "the offset of the message lies outside", lambda b: cut(b, 3, 0)),
    Fault("only the offset of the message", "", "leads outside the message", lambda b: cut(b, 4, 0)),
    Fault("the message itself is cut", "", "lies outside the message", lambda b: cut(b, 10, b.find("table", ""))),
    Fault("a double outside", "now", "a float64 lies outside", far_field("", 0)),
    Fault("an offset outside", f"{PROFILE}.id", "an offset lies outside", far_field(PROFILE, 0)),
    Fault("a string is cut", f"{PROFILE}.id", "a string of 3 bytes lies outside", cut_in_last_string),
    Fault("size-prefixed", "", "", prefix),
    Fault("offset of the message outside", "", "leads outside the message", lambda b: b.put("I", 0, len(b.data) + 1)),
    Fault("offset of the message 0", "", "leads to itself", lambda b: b.put("I", 0, 0)),
    Fault("vtable before the message", PROFILE, "the vtable of a ProfileAndId lies outside", vtable_before),
    Fault("vtable at byte -1", "events[0]", "the vtable of an EventAndTimestamp lies outside", vtable_just_before),
    Fault("vtable after the message", PROFILE, "the vtable of a ProfileAndId lies outside", vtable_after),
    Fault("vtable of odd size", PROFILE, "the vtable of a ProfileAndId has an impossible size, 7", odd_vtable),
    Fault("vtable too small", PROFILE, "the vtable of a ProfileAndId has an impossible size, 2", small_vtable),
    Fault("vtable too long", PROFILE, "the vtable of a ProfileAndId lies outside", long_vtable),
    Fault("required events absent", "events", "required and missing", lambda b: b.absent("", 1)),
    Fault("required string absent", f"{PROFILE}.id", "required and missing", lambda b: b.absent(PROFILE, 0)),
    Fault("required union absent", f"{PROFILE}.profile", "required and missing", lambda b: b.absent(PROFILE, 2)),
    Fault("union type absent", f"{PROFILE}.profile", "found type 0 of 1 to 9", lambda b: b.absent(PROFILE, 1)),
    Fault(
        "union NONE",
        f"{PROFILE}.profile",
        "expected a Profile, found type 0 of 1 to 9",
        lambda b: b.put("B", b.find("utype", f"{PROFILE}.profile_type"), 0),
    ),
    Fault(
        "unknown union type",
        "events[1].event",
        f"expected an Event, found type {EVENTS + 1} of 1 to {EVENTS}",
        lambda b: b.put("B", b.find("utype", "events[1].event_type"), EVENTS + 1),
    ),
    Fault(
        "table leads to itself",
        PROFILE,
        "an offset leads to itself",
        lambda b: b.put("I", b.find("offset", PROFILE), 0),
    ),
    Fault(
        "string leads to itself",
        f"{PROFILE}.id",
        "an offset leads to itself",
        lambda b: b.put("I", b.find("offset", f"{PROFILE}.id"), 0),
    ),
    Fault(
        "element leads to itself",
        f"{KILL}.job_ids[1]",
        "an offset leads to itself",
        lambda b: b.put("I", b.find("offset", f"{KILL}.job_ids[1]"), 0),
    ),
    Fault(
        "element leads outside",
        "events[1]",
        f"an offset of {MUCH} leads outside the message",
        lambda b: b.put("I", b.find("offset", "events[1]"), MUCH),
    ),
    Fault("string without its NUL", f"{PROFILE}.id", "does not end with a NUL", no_nul),
    Fault("not UTF-8", f"{KILL}.job_ids[1]", "the string is not UTF-8: invalid start byte", bad_utf8),
    Fault("UTF-8 that goes on", f"{KILL}.job_ids[0]", "the string is not UTF-8: invalid start byte", lone_continuation),
    Fault("surrogate", f"{PROFILE}.extra_data", "the string is not UTF-8: invalid continuation byte", surrogate),
    Fault(
        "string longer than the message",
        f"{PROFILE}.id",
        f"a string of {MUCH} bytes lies outside the message",
        lambda b: b.put("I", b.find("string", f"{PROFILE}.id"), MUCH),
    ),
    Fault(
        "vector of events longer than the message",
        "events",
        f"a vector of {MUCH} elements lies outside the message",
        lambda b: b.put("I", b.find("offsets", "events"), MUCH),
    ),
    Fault(
        "vector of strings longer than the message",
        f"{KILL}.job_ids",
        "a vector of 4294967295 elements lies outside the message",
        lambda b: b.put("I", b.find("offsets", f"{KILL}.job_ids"), 2**32 - 1),
    ),
    Fault(
        "vector of doubles longer than the message",
        f"{PROFILE}.profile.computation_vector",
        "a vector of 1000 elements lies outside the message",
        lambda b: b.put("I", b.find("vector", f"{PROFILE}.profile.computation_vector"), 1000),
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_faults_are_named(fault: Fault) -> None:
    buffer = Buffer()
    offset = fault.spoil(buffer)
    data = bytes(buffer.data)
    if fault.name == "size-prefixed":  # what the size leads to is an accident; the message lies four bytes further on
        assert Message.from_binary(data[4:]) == FAULTLESS
    said = []
    for _ in each_engine():
        with pytest.raises(DecodeError) as refused:
            Message.from_binary(data)
        said.append(refused.value)
    error = said[0]
    assert [each.args for each in said] == [error.args] * len(said)
    if fault.name != "size-prefixed":
        assert (error.path, error.offset) == (fault.path, max(0, offset))
    assert fault.reason in error.reason
    assert str(error) == f"{error.path}, byte {error.offset}: {error.reason}".removeprefix(", ")
    with pytest.raises(DecodeError) as again:  # the careful reader alone says the same
        reader.read(data)
    assert again.value.args == error.args
    framed = b"\x01\x00\x00\x00" + data
    with pytest.raises(DecodeError) as in_frame:
        wire.frames.decode_hello(framed)
    assert (in_frame.value.path, in_frame.value.offset) == (error.path, (error.offset or 0) + 4)


def test_what_could_be_read_before_a_fault_is_kept() -> None:
    buffer = Buffer()
    bad_utf8(buffer)
    with pytest.raises(DecodeError) as refused:
        Message.from_binary(bytes(buffer.data))
    assert refused.value.partial == {
        "now": 2.0,
        "events": [
            {
                "timestamp": 1.0,
                "event_type": "RegisterProfileEvent",
                "event": {
                    "profile": {
                        "id": "w!p",
                        "profile_type": "ParallelTaskProfile",
                        "profile": {"computation_vector": Doubles([1.0, 2.0])},
                        "extra_data": "extra",
                    }
                },
            },
            {"timestamp": 2.0, "event_type": "KillJobsEvent", "event": {"job_ids": ["w!1"]}},
        ],
    }


@pytest.mark.parametrize("message", [FAULTLESS, nested(12, in_sequence), nested(12, in_fork_join)], ids=lambda m: "")
def test_every_truncation_is_refused_or_harmless(message: Message) -> None:
    for data in (message.to_binary(), write(message)):
        for size in range(len(data)):
            outcomes = [decoded(data[:size]) for _ in each_engine()]
            assert outcomes == outcomes[:1] * len(outcomes)
            if outcomes[0] == message:  # only padding was cut
                assert len(data) - size < 8
            else:
                _, _, offset = outcomes[0]
                assert 0 <= offset <= size
