"""The text protocol: its documentation's examples, all that can be said in it, and all that cannot."""

from __future__ import annotations

import random
import re
import struct
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from old_runs import KEPT
from old_strategies import text_events, text_messages

from batprotocol import DecodeError, EncodeError
from batprotocol.legacy import decode, encode
from batprotocol.legacy import text_events as t
from batprotocol.legacy.text.codec import STAMPS, Stamp, Stream, decode_frame, encode_frame

WITHOUT_ENGINE = True
EXAMPLES = re.findall(r"^ +([0-9]+:[0-9].*)$", (KEPT / "legacy-text-protocol.md").read_text(), re.MULTILINE)
LETTERS = {stamp.letter: stamp for stamp in STAMPS}
CONTRADICTING = [
    line
    for line in EXAMPLES
    if any(LETTERS[letter].since > int(line[0]) for letter in re.findall(r"[|][0-9.]+:(.)", line))
]


def test_the_table_is_the_documentation_s() -> None:
    rows = re.findall(
        r"^\| +([0-3])\+ +\| +(\w) +\| (\S+) *\| (.*?) *\|",
        (KEPT / "legacy-text-protocol.md").read_text(),
        re.MULTILINE,
    )
    assert [(int(since), letter) for since, letter, _, _ in rows] == [(stamp.since, stamp.letter) for stamp in STAMPS]
    assert [content if content != "No content" else "" for *_, content in rows] == [stamp.content for stamp in STAMPS]
    for stamp, (_, _, direction, _) in zip(STAMPS, rows, strict=True):
        assert len(stamp.directions) == (2 if direction == "Both" else 1)


@pytest.mark.parametrize("line", EXAMPLES)
def test_each_example_is_read(line: str) -> None:
    message = decode(line.encode(), "text-3")
    assert isinstance(message, t.Message)
    assert len(message.events) == line.count("|")
    assert decode(line.encode(), "text") == message
    assert decode_frame(struct.pack("=I", len(line)) + line.encode()) == message


@pytest.mark.parametrize("line", CONTRADICTING)
def test_examples_that_contradict_the_table_are_refused_where_that_is_asked_for_and_not_written(line: str) -> None:
    message = decode(line.encode(), "text-3")
    with pytest.raises(DecodeError, match=r"exists from version [0-9] on"):
        decode(line.encode(), "text", strict=True)
    with pytest.raises(EncodeError, match=r"exists from version [0-9] on"):
        encode(message, "text")


def test_what_contradicts_is_what_we_think() -> None:
    assert len(CONTRADICTING) == 7
    assert all(line.startswith("0:") for line in CONTRADICTING)


@pytest.mark.parametrize("line", [line for line in EXAMPLES if line not in CONTRADICTING])
def test_the_other_examples_make_the_round_trip(line: str) -> None:
    message = decode(line.encode(), "text-3")
    assert decode(encode(message, "text-3"), "text-3") == message


@pytest.mark.parametrize("stamp", STAMPS, ids=lambda stamp: stamp.letter)
@settings(max_examples=8)
@given(data=st.data())
def test_each_stamp_of_each_version_makes_the_round_trip(stamp: Stamp, data: st.DataObject) -> None:
    event = data.draw(text_events(stamp))
    for version in range(4):
        message = t.Message(version, event.timestamp, (event,))
        if version < stamp.since:
            with pytest.raises(EncodeError):
                encode(message, "text")
        else:
            assert decode(encode(message, "text"), f"text-{version}", strict=True) == message


@settings(max_examples=30)
@given(st.lists(text_messages(), min_size=1, max_size=4), st.lists(st.integers(1, 40), min_size=1))
def test_a_stream_is_cut_into_its_messages_however_it_comes(messages: list[t.Message], sizes: list[int]) -> None:
    data, stream, found, place = b"".join(map(encode_frame, messages)), Stream(), [], 0
    while place < len(data):
        size = sizes[place % len(sizes)]
        found += [decode(each, "text") for each in stream.feed(data[place : place + size])]
        place += size
    assert found == messages


def test_times_are_written_as_batsim_does_where_that_says_enough() -> None:
    assert encode(t.Message(3, 46.556835, [t.Nop(1e-7)]), "text") == b"3:46.556835|1e-07:N"


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b"", ""),
        (b"3", ""),
        (b"x:1|1:N", ""),
        (b"4:1|1:N", "version"),
        (b"-1:1|1:N", ""),
        (b"3:nan|1:N", "now"),
        (b"3:inf|1:N", "now"),
        (b"3:1e999|1:N", "now"),
        (b"3:|1:N", "now"),
        (b"3:-1|1:N", "now"),
        (b"3:1", "events"),
        (b"3:1|", "events[0]"),
        (b"3:1||1:N", "events[0]"),
        (b"3:1|1:N|", "events[1]"),
        (b"3:1|1:X", "events[0]"),
        (b"3:1|1:NN", "events[0]"),
        (b"3:1|1:N:", "events[0]"),
        (b"3:1|1:S", "events[0]"),
        (b"3:1|1:S:", "events[0]"),
        (b"3:1|1:J:", "events[0]"),
        (b"3:1|1:J:a=", "events[0]"),
        (b"3:1|1:J:=1", "events[0]"),
        (b"3:1|1:J:a=1;", "events[0]"),
        (b"3:1|1:J:a=1,,2", "events[0]"),
        (b"3:1|1:J:a=2-1", "events[0]"),
        (b"3:1|1:P:0", "events[0]"),
        (b"3:1|1:P:0=-1", "events[0]"),
        (b"3:1|1:F:", "events[0]"),
        (b"3:1|1:e:joules", "events[0]"),
        (b"3:1|1:n:NaN", "events[0]"),
        (b"3:1|1:S:\xff", ""),
        ("3:1|1:S:é".encode(), ""),
        (b"3:1|1:J:a=" + b"9" * 100_000, "events[0]"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(data: bytes, path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(data, "text-3")
    assert caught.value.path == path


@pytest.mark.parametrize("size", [2**32 - 1, 2**31, 2**28 + 1])
def test_a_size_that_no_message_has_is_refused_at_once(size: int) -> None:
    with pytest.raises(DecodeError, match="its size says"):
        list(Stream().feed(struct.pack("=I", size)))
    with pytest.raises(DecodeError, match="its size says"):
        decode_frame(struct.pack("=I", size) + b"3:1|1:N")


@pytest.mark.parametrize(
    "message",
    [
        t.Message(4, 1.0, [t.Nop(1.0)]),
        t.Message(3, float("nan"), [t.Nop(1.0)]),
        t.Message(3, 1.0, []),
        t.Message(3, 1.0, [t.JobSubmission(1.0, "a|b")]),
        t.Message(3, 1.0, [t.JobSubmission(1.0, "é")]),
        t.Message(3, 1.0, [t.JobAllocation(1.0, [])]),
        t.Message(3, 1.0, [t.JobAllocation(1.0, [t.Allocation("a;b", "0")])]),
        t.Message(3, 1.0, [t.MachinesFailed(1.0, "")]),
        t.Message(3, 1.0, [t.PStateRequest(1.0, "0", -1)]),
        t.Message(3, 1.0, ["no event"]),  # type: ignore[list-item]
    ],
)
def test_what_cannot_be_said_is_not_written(message: t.Message) -> None:
    with pytest.raises(EncodeError):
        encode(message, "text")


def test_a_mutation_is_a_message_or_a_decode_error() -> None:
    source = random.Random(3)
    pieces = [b"|", b":", b";", b"=", b"-", b",", b"NaN", b"1e999", b"4294967296", b"\xff", b"\0", b"J", b"e"]
    read = 0
    for _ in range(20_000):
        changed = bytearray(source.choice(EXAMPLES).encode())
        for _ in range(source.randint(1, 3)):
            place = source.randrange(len(changed) + 1)
            changed[place : place + source.randrange(4)] = source.choice([b"", *pieces])
        try:
            message = decode(bytes(changed), "text")
        except DecodeError:
            continue
        read += 1
        with suppress(EncodeError):  # the table has no such stamp in that version
            assert decode(encode(message, "text"), "text") == message
    assert 500 < read < 15_000
