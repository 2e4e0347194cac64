"""The binary format: against a codec on flatc's own classes, against flatc, and against bytes that are no message."""

from __future__ import annotations

import itertools
import math
import random
import struct
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import pytest
from engines import each_engine, needs_native
from exact import as_printed, exact, unsigned_zero
from flatc import needs_flatc, to_binaries, to_json_texts
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from memory import Peak, peak_memory
from oracle import Piece, Writer, pieces, read, write

from batprotocol import wire
from batprotocol.errors import DecodeError, EncodeError, an
from batprotocol.model import (
    CallMeLaterEvent,
    Doubles,
    Event,
    FinalJobState,
    FinishRegistrationEvent,
    ForkJoinCompositionProfile,
    Job,
    JobAndProgress,
    JobCompletedEvent,
    JobsKilledEvent,
    KillJobsEvent,
    KillProgress,
    KillProgressAtomicProfile,
    KillProgressForkJoinProfile,
    KillProgressSequentialProfile,
    Message,
    OneShot,
    ParallelTaskProfile,
    ProfileAndId,
    RegisterJobEvent,
    RegisterProfileEvent,
    RejectJobEvent,
    SequentialCompositionProfile,
    SimulationEndsEvent,
    TimeUnit,
)
from batprotocol.testing import strategies as bat
from batprotocol.wire import binary, reader, tree

any_messages = bat.messages(chronological=False)
any_messages_with_nan = bat.messages(chronological=False, allow_nan=True)
seeds = st.integers(0, 2**32 - 1)


def carefully(data: bytes) -> Message:
    """The message as the careful reader alone reads it."""
    return tree.to_message(reader.read(data))


def decoded(data: bytes) -> Any:
    """The message, or what the error says."""
    try:
        return Message.from_binary(data)
    except DecodeError as error:
        return error.args


def without_the_careful_reader() -> Any:
    """Where an engine that needs the careful reader fails: usual messages are read at full speed."""
    return mock.patch.object(reader, "read", side_effect=AssertionError("the engine needed the careful reader"))


def nested(depth: int, wrap: Callable[[KillProgress], KillProgress]) -> Message:
    """A message with this many kill progress tables, one in the other."""
    progress: KillProgress = KillProgressAtomicProfile("w!p", 0.5)
    for _ in range(depth - 1):
        progress = wrap(progress)
    return Message(1.0, (JobsKilledEvent(job_ids=("w!j",), progresses=(JobAndProgress("w!j", progress),)),))


def in_sequence(progress: KillProgress) -> KillProgress:
    return KillProgressSequentialProfile("w!s", 1, 2, progress)


def in_fork_join(progress: KillProgress) -> KillProgress:
    return KillProgressForkJoinProfile("w!f", (progress,))


# What we write


@given(any_messages_with_nan)
def test_round_trip_keeps_every_bit(message: Message) -> None:
    for _ in each_engine():
        data = message.to_binary()
        assert exact(Message.from_binary(data)) == exact(message)
        assert Message.from_binary(data).to_binary() == data


@needs_native
@given(any_messages_with_nan)
def test_both_engines_write_the_same_bytes(message: Message) -> None:
    assert len({message.to_binary() for _ in each_engine()}) == 1


@given(any_messages_with_nan)
def test_the_oracle_reads_what_we_write(message: Message) -> None:
    assert exact(read(message.to_binary())) == exact(message)


@given(any_messages_with_nan)
def test_all_readers_agree_on_what_we_write(message: Message) -> None:
    data = message.to_binary()
    with without_the_careful_reader():
        for _ in each_engine():
            assert exact(Message.from_binary(data)) == exact(message)
    assert exact(carefully(data)) == exact(message)


@given(any_messages)
def test_everything_we_write_is_aligned(message: Message) -> None:
    data = message.to_binary()
    wrong = [piece for piece in pieces(data) if piece.place % piece.alignment]
    assert not wrong
    assert len(data) % 8 == 0


@given(any_messages)
def test_vtables_are_written_once(message: Message) -> None:
    data = message.to_binary()
    places: dict[tuple[str, bytes], set[int]] = {}
    for piece in pieces(data):
        if piece.kind == "vtable":
            content = data[piece.place : piece.place + int.from_bytes(data[piece.place : piece.place + 2], "little")]
            places.setdefault((piece.table, content), set()).add(piece.place)
    repeated = {key: found for key, found in places.items() if len(found) > 1}
    assert not repeated


def test_scalars_equal_to_their_default_are_written() -> None:
    # So that -0.0 is not taken for the default, 0.0; and Batsim reads either.
    kinds = [piece.path for piece in pieces(Message(-0.0, (SimulationEndsEvent(timestamp=0.0),)).to_binary())]
    assert {"now", "events[0].timestamp"} <= set(kinds)


@pytest.mark.parametrize("number", [0.0, -0.0, 5e-324, math.inf, -math.inf, math.nan, 1.0000000000000002])
def test_doubles_keep_their_bits(number: float) -> None:
    job = Job(profile_id="p", resource_request=1, walltime=number)
    profile = ProfileAndId("p", ParallelTaskProfile([number], [number] * 20))
    events = (
        RegisterJobEvent(job_id="w!j", job=job, timestamp=number),
        RegisterProfileEvent(profile=profile, timestamp=number),
    )
    message = Message(number, events)
    for _ in each_engine():
        assert exact(Message.from_binary(message.to_binary())) == exact(message)
        assert Message.from_binary(message.to_binary()).to_binary() == message.to_binary()


@pytest.mark.parametrize("number", [2, 7, 127, -1, -128])
def test_unknown_enum_numbers_survive(number: int) -> None:
    call = CallMeLaterEvent(call_me_later_id="c", when=OneShot(1, TimeUnit(number)))
    end = JobCompletedEvent(job_id="w!j", state=FinalJobState(number + 5 if number == 2 else number))
    message = Message(0.0, (call, end))
    for data, _ in itertools.product((message.to_binary(), write(message)), each_engine()):
        found = Message.from_binary(data)
        assert found == message
        first = found.events[0]
        assert isinstance(first, CallMeLaterEvent)
        assert isinstance(first.when, OneShot)
        assert (int(first.when.time_unit), first.when.time_unit.known) == (number, False)


@pytest.mark.parametrize("wrap", [in_sequence, in_fork_join])
def test_kill_progress_nests_as_deep_as_the_wire_carries(wrap: Callable[[KillProgress], KillProgress]) -> None:
    message = nested(bat.DEEPEST_KILL_PROGRESS, wrap)
    for data in (message.to_binary(), write(message)):
        with without_the_careful_reader():
            assert [Message.from_binary(data) for _ in each_engine()].count(message) == len(binary.ENGINES)
        assert carefully(data) == message


@pytest.mark.parametrize(
    ("wrap", "step"), [(in_sequence, ".current_task_progress"), (in_fork_join, ".tasks_progress[0]")]
)
@pytest.mark.parametrize("more", [1, 2, 20])
def test_deeper_kill_progress_is_refused(wrap: Callable[[KillProgress], KillProgress], step: str, more: int) -> None:
    message = nested(bat.DEEPEST_KILL_PROGRESS + more, wrap)
    for _ in each_engine():
        with pytest.raises(EncodeError) as refused:
            message.to_binary()
        assert refused.value.path == "events[0].event.progresses[0].wrapper" + step * bat.DEEPEST_KILL_PROGRESS
        assert refused.value.reason == "tables nest more than 64 deep"
    data = write(message)
    # On the wire there is a wrapper between two kill progresses: the 65th table is a wrapper.
    path = "events[0].event.progresses[0].wrapper" + f".kill_progress{step}" * bat.DEEPEST_KILL_PROGRESS
    place = next(piece.place for piece in pieces(data) if piece.kind == "table" and piece.path == path)
    for _ in each_engine():
        with pytest.raises(DecodeError) as unread:
            Message.from_binary(data)
        assert (unread.value.path, unread.value.offset) == (path, place)
        assert unread.value.reason == "tables nest more than 64 deep"


def test_kill_progress_of_any_depth_is_refused_with_its_path() -> None:
    for _ in each_engine():
        with pytest.raises(EncodeError, match="tables nest more than 64 deep"):
            nested(5_000, in_sequence).to_binary()


# What others write


@given(any_messages_with_nan, seeds, st.booleans(), st.booleans(), st.booleans())
def test_we_read_what_the_oracle_writes(message: Message, seed: int, defaults: bool, shared: bool, newer: bool) -> None:
    """However it writes: fields in any order, with and without defaults, shared pieces, fields of a newer schema."""
    arrange = random.Random(seed).shuffle
    data = Writer(defaults=defaults, arrange=arrange, shared=shared, newer=newer).message(message)
    # A writer that leaves out defaults leaves out -0.0, and one that shares takes it for 0.0.
    kept = exact if defaults and not shared else partial(exact, number=unsigned_zero)
    for _ in each_engine():
        assert kept(Message.from_binary(data)) == kept(message)
    assert kept(carefully(data)) == kept(message)


@given(any_messages_with_nan)
def test_usual_writers_do_not_need_the_careful_reader(message: Message) -> None:
    for defaults in (False, True):
        data = Writer(defaults=defaults).message(message)
        expected = exact(carefully(data))
        with without_the_careful_reader():
            for _ in each_engine():
                assert exact(Message.from_binary(data)) == expected


def test_more_layouts_than_are_remembered() -> None:
    hello = RegisterJobEvent(job_id="w!j", job=Job(profile_id="p", resource_request=3, extra_data="e", walltime=1.5))
    event = RegisterProfileEvent(profile=ProfileAndId("p", SequentialCompositionProfile(profile_ids=("a",)), "x"))
    message = Message(3.0, (hello, event) * 40)
    for seed in range(30):  # each table of each message in an order of its own
        data = Writer(arrange=random.Random(seed).shuffle).message(message)
        for _ in each_engine():
            assert Message.from_binary(data) == message


@given(any_messages, st.binary(max_size=64))
def test_bytes_after_the_message_are_ignored(message: Message, rest: bytes) -> None:
    data = message.to_binary()
    for _ in each_engine():
        assert Message.from_binary(data + rest) == message
    assert carefully(data + rest) == message


@given(bat.messages(max_events=2))
def test_all_kinds_of_bytes_are_read(message: Message) -> None:
    data = message.to_binary()
    padded = memoryview(b"??" + data + b"??")[2:-2]
    for given_bytes in (bytearray(data), memoryview(data), memoryview(bytearray(data)), padded):
        for _ in each_engine():
            assert Message.from_binary(given_bytes) == message


def test_what_is_read_does_not_follow_the_buffer() -> None:
    message = Message(1.0, (RegisterProfileEvent(profile=ProfileAndId("w!p", ParallelTaskProfile([1.0] * 50))),))
    for _ in each_engine():
        buffer = bytearray(message.to_binary())
        found = Message.from_binary(buffer)
        buffer[:] = bytes(len(buffer))
        assert found == message


@pytest.mark.parametrize("given_value", ["text", 7, None, [1, 2], 1.5])
def test_what_is_no_bytes_is_refused(given_value: Any) -> None:
    for _ in each_engine():
        with pytest.raises(DecodeError, match=f"a binary message is bytes, got {an(type(given_value).__name__)}"):
            binary.decode(given_value)
        with pytest.raises(EncodeError, match=f"expected a Message, got {an(type(given_value).__name__)}"):
            binary.encode(given_value)


# flatc


def many_messages(count: int) -> list[Message]:
    found: list[Message] = []

    @settings(max_examples=count, database=None, derandomize=True, phases=[Phase.generate])
    @given(bat.messages(chronological=False, max_events=6))
    def collect(message: Message) -> None:
        found.append(message)

    collect()
    return found


@needs_flatc
def test_flatc_reads_what_we_write() -> None:
    messages = many_messages(400)
    texts = to_json_texts([message.to_binary() for message in messages])
    for message, text in zip(messages, texts, strict=True):
        assert exact(Message.from_json(text)) == exact(message, as_printed)


@needs_flatc
def test_we_read_what_flatc_writes() -> None:
    messages = many_messages(400)
    for message, data in zip(messages, to_binaries([m.to_json().encode() for m in messages]), strict=True):
        for _ in each_engine():
            assert exact(Message.from_binary(data), unsigned_zero) == exact(message, unsigned_zero)
        assert exact(carefully(data)) == exact(read(data))


# Faults. Each is made by hand in one message; its path and byte are known from the oracle's walk.

FAULTLESS = Message(
    2.0,
    (
        RegisterProfileEvent(profile=ProfileAndId("w!p", ParallelTaskProfile([1.0, 2.0]), "extra"), timestamp=1.0),
        KillJobsEvent(job_ids=("w!1", "w!é"), timestamp=2.0),
    ),
)
PROFILE, KILL = "events[0].event.profile", "events[1].event"


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


MUCH = 2**31
FAULTS = [
    Fault("empty", "", "no bytes at all", lambda b: cut(b, 0, 0)),
    Fault("three bytes", "", "the offset of the message lies outside", lambda b: cut(b, 3, 0)),
    Fault("only the offset of the message", "", "leads outside the message", lambda b: cut(b, 4, 0)),
    Fault("the message itself is cut", "", "lies outside the message", lambda b: cut(b, 10, b.find("table", ""))),
    Fault("a string is cut", f"{PROFILE}.id", "a string of 3 bytes lies outside", cut_in_last_string),
    Fault("size-prefixed", "", "", prefix),
    Fault("offset of the message outside", "", "leads outside the message", lambda b: b.put("I", 0, len(b.data) + 1)),
    Fault("offset of the message 0", "", "leads to itself", lambda b: b.put("I", 0, 0)),
    Fault("vtable before the message", PROFILE, "the vtable of a ProfileAndId lies outside", vtable_before),
    Fault("vtable at byte -1", "events[0]", "the vtable of a EventAndTimestamp lies outside", vtable_just_before),
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
        "expected a Event, found type 30 of 1 to 29",
        lambda b: b.put("B", b.find("utype", "events[1].event_type"), 30),
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


# Bombs: small messages that would be huge if each way that leads to a piece gave a piece of its own.

MUCH_MEMORY = 64e6


def shared_events(event: Event, count: int, *, junk: int = 0) -> bytes:
    """A message whose events are all the same bytes, and bytes that nothing leads to, to look larger."""
    writer = Writer()
    place = writer.envelope(event)
    events = writer.vector("Message", "events", writer.builder.PrependUOffsetTRelative, [place] * count)
    writer.builder.Finish(writer.table("Message", {"now": 0.0, "events": events}))
    return bytes(writer.builder.Output()) + bytes(junk)


def killed(writer: Writer, wrapper: int, more: Sequence[Event] = (), junk: int = 0) -> bytes:
    """A message of a killed job, whose progress has been written to that place, and of other events."""
    prepend = writer.builder.PrependUOffsetTRelative
    job = writer.table("JobAndProgress", {"job_id": writer.text("j"), "wrapper": wrapper})
    ids = writer.vector("JobsKilledEvent", "job_ids", prepend, [])
    event = writer.table(
        "JobsKilledEvent",
        {"job_ids": ids, "progresses": writer.vector("JobsKilledEvent", "progresses", prepend, [job])},
    )
    first = writer.table("EventAndTimestamp", {"timestamp": 0.0, "event_type": 6, "event": event})
    events = writer.vector("Message", "events", prepend, [first, *map(writer.envelope, more)])
    writer.builder.Finish(writer.table("Message", {"now": 0.0, "events": events}))
    return bytes(writer.builder.Output()) + bytes(junk)


def fork_join(writer: Writer, tasks: int) -> int:
    """Write a fork-join, the vector of its tasks being there, and its wrapper; return the place of the wrapper."""
    place = writer.table("KillProgressForkJoinProfile", {"profile_id": writer.text("f"), "tasks_progress": tasks})
    return writer.table("KillProgressWrapper", {"kill_progress_type": 3, "kill_progress": place})


def sequence(writer: Writer, task: int) -> int:
    """The same of a sequence, of which one task is told."""
    fields = {"profile_id": writer.text("s"), "current_task_progress": task}
    place = writer.table("KillProgressSequentialProfile", fields)
    return writer.table("KillProgressWrapper", {"kill_progress_type": 2, "kill_progress": place})


def tasks_vector(writer: Writer, tasks: Sequence[int]) -> int:
    name, prepend = "KillProgressForkJoinProfile", writer.builder.PrependUOffsetTRelative
    return writer.vector(name, "tasks_progress", prepend, list(tasks))


def fork_joins(widths: Sequence[int], *, more: Sequence[Event] = (), junk: int = 0) -> bytes:
    """Fork-joins in fork-joins, each holding the next one so many times: the product of the widths of the last."""
    writer = Writer()
    below = writer.value("KillProgressWrapper", KillProgressAtomicProfile("p", 0.5))
    for width in reversed(widths):
        below = fork_join(writer, tasks_vector(writer, [below] * width))
    return killed(writer, below, more, junk)


def shared_at_two_depths(levels: int, lower: int, vector: bool) -> bytes:
    """Sequences in a fork-join, so many, which hangs in a first fork-join and so many levels lower too.

    Args:
        levels: how many sequences, one in the other, are shared.
        lower: how many sequences are around the lower one.
        vector: whether the vector of a fork-join is what is shared, instead of the outermost sequence.
    """
    writer = Writer()
    shared = writer.value("KillProgressWrapper", KillProgressAtomicProfile("p", 0.5))
    for _ in range(levels):
        shared = sequence(writer, shared)
    tasks = tasks_vector(writer, [shared])
    deep = fork_join(writer, tasks) if vector else shared
    for _ in range(lower):
        deep = sequence(writer, deep)
    # What comes first in the vector is read first, and is not too deep.
    first = fork_join(writer, tasks) if vector else shared
    return killed(writer, fork_join(writer, tasks_vector(writer, [first, deep])))


def pointing_into(tail: bytes, step: int, event: Event, count: int, ends: str) -> bytes:
    """A message of so many of this event, in which the offsets whose path `ends` so lead into `tail`, each one `step`
    bytes further than the one before."""
    data = bytearray(Message(0.0, (event,) * count).to_binary())
    start = len(data)
    data += tail
    places = [piece.place for piece in pieces(bytes(data)) if piece.kind == "offset" and piece.path.endswith(ends)]
    for number, place in enumerate(places):
        struct.pack_into("<I", data, place, start + step * number - place)
    return bytes(data)


PTASK = RegisterProfileEvent(profile=ProfileAndId("", ParallelTaskProfile([])))
REJECT = RejectJobEvent(job_id="")
KILL_NONE = KillJobsEvent(job_ids=())
CHAIN = nested(bat.DEEPEST_KILL_PROGRESS, in_sequence).events[0]
WIDE = RegisterProfileEvent(profile=ProfileAndId("", ForkJoinCompositionProfile(("",) * 10)))


def words(word: int, size: int = 400_000) -> bytes:
    """Bytes that are this number at each of their words: the size of a piece, wherever one is said to be."""
    return struct.pack("<I", word) * (size // 4)


def one_text_in_a_vector() -> bytes:
    text = "x" * 100_000
    return Writer(shared=True).message(Message(0.0, (KillJobsEvent(job_ids=(text,) * 50_000),)))


def one_text() -> bytes:
    return pointing_into(struct.pack("<I", 500_000) + b"x" * 500_000 + b"\0", 0, REJECT, 4000, "job_id")


def one_vector() -> bytes:
    return pointing_into(struct.pack("<I", 60_000) + bytes(480_000), 0, PTASK, 2000, "computation_vector")


class Bomb(NamedTuple):
    """`refusal` is what the message is refused with; None: it can be read. `measured`: whether its memory is."""

    name: str
    make: Callable[[], bytes]
    refusal: str | None = None
    measured: bool = True


TABLES, OVERLAP = "the message has more than 1000000 tables", "strings and vectors overlap far more than any writer"
BOMBS = [
    Bomb("one event, 100,000 times", lambda: shared_events(SimulationEndsEvent(), 100_000)),
    Bomb(
        "one event, 100,000 times in a large message",
        lambda: shared_events(FinishRegistrationEvent(), 100_000, junk=500_000),
    ),
    Bomb("one deep event, 3,000 times", lambda: shared_events(CHAIN, 3_000, junk=500_000)),
    # Measuring makes it ten times slower, and the number of tables bounds its memory too.
    Bomb("one deep event, 20,000 times", lambda: shared_events(CHAIN, 20_000, junk=900_000), TABLES, measured=False),
    Bomb("one wide event, 50,000 times", lambda: shared_events(WIDE, 50_000, junk=500_000)),
    Bomb("fork-joins of 2, 15 deep", lambda: fork_joins([2] * 15)),
    Bomb("fork-joins of 2, 29 deep", lambda: fork_joins([2] * 29), TABLES),
    Bomb("fork-joins of 2, 29 deep, in a large message", lambda: fork_joins([2] * 29, junk=300_000), TABLES),
    Bomb("fork-joins of 8,000, 29 deep", lambda: fork_joins([8_000] * 29), TABLES),
    Bomb("fork-join of 60,000", lambda: fork_joins([60_000])),
    Bomb("fork-joins too deep", lambda: fork_joins([2] * 30), "tables nest more than 64 deep"),
    Bomb("one text, 50,000 times in a vector", one_text_in_a_vector),
    Bomb("one text in 4,000 tables", one_text),
    Bomb("one vector in 2,000 tables", one_vector),
    # The text is three control characters and a NUL over and over; the NUL ends it, as its size is 3 + 4 * n.
    Bomb("overlapping texts", lambda: pointing_into(words(0x01_01_03), 4, REJECT, 4000, "job_id"), OVERLAP),
    Bomb(
        "overlapping vectors of doubles",
        lambda: pointing_into(words(25_000), 4, PTASK, 2000, "computation_vector"),
        OVERLAP,
    ),
    # The words are sizes of vectors, offsets of their elements, sizes of texts, and texts that end at a NUL.
    Bomb("overlapping vectors of texts", lambda: pointing_into(words(0x100), 4, KILL_NONE, 300, "job_ids")),
    Bomb(
        "overlapping large vectors of texts",
        lambda: pointing_into(words(0x4000), 4, KILL_NONE, 2000, "job_ids"),
        OVERLAP,
    ),
]


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.name)
def test_bombs_do_not_go_off(bomb: Bomb) -> None:
    data = bomb.make()
    assert len(data) < 1_300_000
    for engine in each_engine():
        with peak_memory() if bomb.measured else nullcontext(Peak()) as peak:
            try:
                Message.from_binary(data)
                refusal = None
            except DecodeError as error:
                refusal = error.reason
        assert peak.bytes < MUCH_MEMORY, engine
        assert (refusal or "").startswith(bomb.refusal or ""), engine
        assert (refusal is None) == (bomb.refusal is None), engine


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.name)
def test_the_readers_agree_on_bombs(bomb: Bomb) -> None:
    """What the engines read by themselves, the careful reader reads too, and the same."""
    data = bomb.make()
    if bomb.refusal is None:
        expected = carefully(data)
        for _ in each_engine():
            assert Message.from_binary(data) == expected
    else:
        with pytest.raises(DecodeError) as refused:
            carefully(data)
        for _ in each_engine():
            with pytest.raises(DecodeError) as again:
                Message.from_binary(data)
            assert again.value.args[:3] == refused.value.args[:3]


MILLION = (21_739, 22)  # the widths of fork-joins that make just so many tables of a message
ALMOST = (2_551, 195)  # two less
CALL = CallMeLaterEvent(call_me_later_id="c", when=OneShot(1))  # three tables


@pytest.mark.parametrize("junk", [0, 5_000_000])
def test_a_million_tables_and_no_more(junk: int) -> None:
    """The limit of the C++ library's verifier, to the table; in a large message the engines count by themselves."""
    fine, one_more = fork_joins(MILLION, junk=junk), fork_joins(ALMOST, more=[CALL], junk=junk)
    assert len(carefully(fine).events) == 1
    for _ in each_engine():
        assert len(Message.from_binary(fine).events) == 1
        with pytest.raises(DecodeError, match="the message has more than 1000000 tables"):
            Message.from_binary(one_more)


@pytest.mark.parametrize("vector", [False, True])
def test_what_is_shared_is_deep_wherever_it_hangs(vector: bool) -> None:
    # The wrapper of the lower task is table 7 of those one in the other, each sequence and the fork-join of the vector
    # take two with their wrappers, and the last progress is the last table.
    most = (64 - 8) // 2 - vector
    for levels in (1, 10):
        fine, too_deep = (shared_at_two_depths(levels, most - levels + more, vector) for more in (0, 1))
        assert carefully(fine) == read(fine)
        for _ in each_engine():
            assert Message.from_binary(fine) == read(fine)
            with pytest.raises(DecodeError, match="tables nest more than 64 deep"):
                Message.from_binary(too_deep)
        with pytest.raises(DecodeError, match="tables nest more than 64 deep"):
            reader.read(too_deep)
