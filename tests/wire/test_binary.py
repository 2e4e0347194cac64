"""The binary format: against a codec on flatc's own classes, and against flatc."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest
from binaries import carefully, in_fork_join, in_sequence, nested, without_the_careful_reader
from engines import each_engine, needs_native
from exact import as_printed, exact, unsigned_zero
from flatc import needs_flatc, to_binaries, to_json_texts
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from oracle import Writer, pieces, read, write

from batprotocol.errors import DecodeError, EncodeError, an
from batprotocol.model import (
    CallMeLaterEvent,
    Event,
    FinalJobState,
    Job,
    JobCompletedEvent,
    KillJobsEvent,
    KillProgress,
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
from batprotocol.wire import binary

any_messages = bat.messages(chronological=False)
any_messages_with_nan = bat.messages(chronological=False, allow_nan=True)
seeds = st.integers(0, 2**32 - 1)


# What we write


@given(any_messages_with_nan)
def test_round_trip_keeps_every_bit(message: Message) -> None:
    for _ in each_engine():
        data = message.to_binary(allow_late_events=True)
        assert exact(Message.from_binary(data)) == exact(message)
        assert Message.from_binary(data).to_binary(allow_late_events=True) == data


@needs_native
@given(any_messages_with_nan)
def test_both_engines_write_the_same_bytes(message: Message) -> None:
    assert len({message.to_binary(allow_late_events=True) for _ in each_engine()}) == 1


@given(any_messages_with_nan)
def test_the_oracle_reads_what_we_write(message: Message) -> None:
    assert exact(read(message.to_binary(allow_late_events=True))) == exact(message)


@given(any_messages_with_nan)
@example(Message(0.0, (RejectJobEvent(job_id="x" * 100), KillJobsEvent(job_ids=("x" * 63, "x" * 64, "x" * 100)))))
def test_all_readers_agree_on_what_we_write(message: Message) -> None:
    data = message.to_binary(allow_late_events=True)
    with without_the_careful_reader():
        for _ in each_engine():
            assert exact(Message.from_binary(data)) == exact(message)
    assert exact(carefully(data)) == exact(message)


@given(any_messages)
def test_everything_we_write_is_aligned(message: Message) -> None:
    data = message.to_binary(allow_late_events=True)
    wrong = [piece for piece in pieces(data) if piece.place % piece.alignment]
    assert not wrong
    assert len(data) % 8 == 0


@given(any_messages)
def test_vtables_are_written_once(message: Message) -> None:
    data = message.to_binary(allow_late_events=True)
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


@pytest.mark.parametrize(
    ("field", "least", "most", "event"),
    [
        (
            "job.resource_request",
            0,
            2**32 - 1,
            lambda n: RegisterJobEvent(job_id="j", job=Job(profile_id="p", resource_request=n)),
        ),
        (
            "return_code",
            -(2**31),
            2**31 - 1,
            lambda n: JobCompletedEvent(job_id="j", state=FinalJobState(0), return_code=n),
        ),
        ("state", -128, 127, lambda n: JobCompletedEvent(job_id="j", state=n)),
        ("when.time", 0, 2**64 - 1, lambda n: CallMeLaterEvent(call_me_later_id="c", when=OneShot(n))),
    ],
)
def test_numbers_just_outside_their_range_are_named(
    field: str, least: int, most: int, event: Callable[[int], Event]
) -> None:
    for number in least - 1, most + 1:
        for _ in each_engine():
            with pytest.raises(EncodeError, match=rf"in \[{least}, {most}\]") as refused:
                Message(0.0, (event(number),)).to_binary()
            assert refused.value.path == f"events[0].event.{field}"


def test_texts_of_every_size_survive() -> None:
    """Short ones and long ones are read and written in other ways."""
    texts = tuple("x" * size for size in range(300))
    message = Message(0.0, (*(RejectJobEvent(job_id=text) for text in texts), KillJobsEvent(job_ids=texts)))
    for _ in each_engine():
        assert Message.from_binary(message.to_binary()) == message


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


@given(bat.messages(chronological=False, allow_nan=True, max_events=50))
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
    data = message.to_binary(allow_late_events=True)
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


@cache
def many_messages() -> list[Message]:
    found: list[Message] = []

    @settings(max_examples=2 * settings().max_examples, database=None, derandomize=True, phases=[Phase.generate])
    @given(bat.messages(chronological=False, max_events=6))
    def collect(message: Message) -> None:
        found.append(message)

    collect()
    return found


@pytest.mark.slow
@needs_flatc
def test_flatc_reads_what_we_write() -> None:
    messages = many_messages()
    texts = to_json_texts([message.to_binary(allow_late_events=True) for message in messages])
    for message, text in zip(messages, texts, strict=True):
        assert exact(Message.from_json(text)) == exact(message, as_printed)


@pytest.mark.slow
@needs_flatc
def test_we_read_what_flatc_writes() -> None:
    messages = many_messages()
    for message, data in zip(
        messages, to_binaries([m.to_json(allow_late_events=True).encode() for m in messages]), strict=True
    ):
        for _ in each_engine():
            assert exact(Message.from_binary(data), unsigned_zero) == exact(message, unsigned_zero)
        assert exact(carefully(data)) == exact(read(data))
