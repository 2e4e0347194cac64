"""Bombs: small messages that would be huge if each way that leads to a piece gave a piece of its own."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import pytest
from binaries import carefully, in_sequence, nested
from engines import each_engine
from memory import Peak, peak_memory
from oracle import Writer, pieces, read

from batprotocol.errors import DecodeError
from batprotocol.model import (
    CallMeLaterEvent,
    Event,
    FinishRegistrationEvent,
    ForkJoinCompositionProfile,
    KillJobsEvent,
    KillProgressAtomicProfile,
    Message,
    OneShot,
    ParallelTaskProfile,
    ProfileAndId,
    RegisterProfileEvent,
    RejectJobEvent,
    SimulationEndsEvent,
)
from batprotocol.testing import strategies as bat
from batprotocol.wire import reader

pytestmark = pytest.mark.slow

MUCH, MOST = 16e6, 64e6
"""How many bytes a message may take that can be read, and one with a million tables."""


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
    text = "x" * 25_000
    return Writer(shared=True).message(Message(0.0, (KillJobsEvent(job_ids=(text,) * 12_500),)))


def one_text() -> bytes:
    return pointing_into(struct.pack("<I", 125_000) + b"x" * 125_000 + b"\0", 0, REJECT, 1000, "job_id")


def one_vector() -> bytes:
    return pointing_into(struct.pack("<I", 15_000) + bytes(120_000), 0, PTASK, 500, "computation_vector")


class Bomb(NamedTuple):
    """`refusal` is what the message is refused with; None: it can be read. `most`: the memory; None: unmeasured."""

    name: str
    make: Callable[[], bytes]
    refusal: str | None = None
    most: float | None = MUCH


TABLES, OVERLAP = "the message has more than 1000000 tables", "strings and vectors overlap far more than any writer"
BOMBS = [
    Bomb("one event, 25,000 times", lambda: shared_events(SimulationEndsEvent(), 25_000)),
    Bomb(
        "one event, 25,000 times in a large message",
        lambda: shared_events(FinishRegistrationEvent(), 25_000, junk=125_000),
    ),
    Bomb("one deep event, 1,500 times", lambda: shared_events(CHAIN, 1_500, junk=250_000)),
    # Measuring makes what has a million tables ten times slower, and their number bounds its memory: one is measured.
    Bomb("one deep event, 20,000 times", lambda: shared_events(CHAIN, 20_000, junk=900_000), TABLES, most=None),
    Bomb("one wide event, 12,500 times", lambda: shared_events(WIDE, 12_500, junk=125_000)),
    Bomb("fork-joins of 2, 15 deep", lambda: fork_joins([2] * 15)),
    Bomb("fork-joins of 2, 29 deep", lambda: fork_joins([2] * 29), TABLES, MOST),
    Bomb("fork-joins of 2, 29 deep, in a large message", lambda: fork_joins([2] * 29, junk=300_000), TABLES, most=None),
    Bomb("fork-joins of 8,000, 29 deep", lambda: fork_joins([8_000] * 29), TABLES, None),
    Bomb("fork-join of 15,000", lambda: fork_joins([15_000])),
    Bomb("fork-joins too deep", lambda: fork_joins([2] * 30), "tables nest more than 64 deep"),
    Bomb("one text, 12,500 times in a vector", one_text_in_a_vector),
    Bomb("one text in 1,000 tables", one_text),
    Bomb("one vector in 500 tables", one_vector),
    # The text is three control characters and a NUL over and over; the NUL ends it, as its size is 3 + 4 * n.
    Bomb("overlapping texts", lambda: pointing_into(words(0x01_01_03), 4, REJECT, 4000, "job_id"), OVERLAP),
    Bomb(
        "overlapping vectors of doubles",
        lambda: pointing_into(words(25_000), 4, PTASK, 2000, "computation_vector"),
        OVERLAP,
    ),
    # The words are sizes of vectors, offsets of their elements, sizes of texts, and texts that end at a NUL.
    Bomb("overlapping vectors of texts", lambda: pointing_into(words(0x100), 4, KILL_NONE, 150, "job_ids")),
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
        with nullcontext(Peak()) if bomb.most is None else peak_memory() as peak:
            try:
                Message.from_binary(data)
                refusal = None
            except DecodeError as error:
                refusal = error.reason
        assert peak.bytes < (bomb.most or MOST), engine
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


def test_how_far_strings_and_vectors_may_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """All together, they have 16 times as many bytes as the message, and not one more."""
    data = pointing_into(words(2_500), 4, PTASK, 40, "computation_vector")
    spent = 0

    def spend(self: reader.Reader, size: int, position: int) -> None:
        nonlocal spent
        spent += size

    with monkeypatch.context() as counting:
        counting.setattr(reader.Reader, "spend", spend)
        reader.read(data)
    data = data[: -(-spent // 16)]
    reader.read(data)
    assert spent == 16 * len(data), "so that it is just enough"
    with pytest.raises(DecodeError, match=OVERLAP):
        reader.read(data[:-1])


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


def test_what_is_shared_is_wide_only_where_it_is_wide() -> None:
    """Two tables share a wide vector, and one of the two hangs in two places: it is no deeper for that."""
    writer = Writer()
    leaf = writer.value("KillProgressWrapper", KillProgressAtomicProfile("p", 0.5))
    wide = tasks_vector(writer, [leaf] * 100)
    first, second = fork_join(writer, wide), fork_join(writer, wide)
    data = killed(writer, fork_join(writer, tasks_vector(writer, [first, second, second])))
    assert carefully(data) == read(data)
    for _ in each_engine():
        assert Message.from_binary(data) == read(data)
