"""The text protocol: its documentation's examples, all that can be said in it, and all that cannot."""

from __future__ import annotations

import os
import random
import re
import struct
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from old_runs import KEPT, text_names, text_run
from old_strategies import text_events, text_messages

from batprotocol import DecodeError, EncodeError
from batprotocol.legacy import decode, encode
from batprotocol.legacy import text_events as t
from batprotocol.legacy.text.wire import STAMPS, FrameStream, Stamp, decode_frame, encode_frame

WITHOUT_ENGINE = True
MUTATIONS = int(os.environ.get("TEXT_MUTATIONS", "2000"))
EXAMPLES = re.findall(r"^ +([0-9]+:[0-9].*)$", (KEPT / "legacy-text-protocol.md").read_text(), re.MULTILINE)
LETTERS = {stamp.letter: stamp for stamp in STAMPS}
UNKNOWN_THEN = [
    line
    for line in EXAMPLES
    if any(LETTERS[letter].since > int(line[0]) for letter in re.findall(r"[|][0-9.]+:(.)", line))
]
"""Examples of the documentation with stamps that no Batsim of their version had."""


def test_the_table_is_the_documentation_s_but_for_when_stamps_came() -> None:
    """Batsims of 2015 to 2017 had `R`, `n`, `E` and `e` from version 1 on, and all before them from the beginning."""
    rows = re.findall(
        r"^\| +([0-3])\+ +\| +(\w) +\| (\S+) *\| (.*?) *\|",
        (KEPT / "legacy-text-protocol.md").read_text(),
        re.MULTILINE,
    )
    documented = {letter: content.replace("WLOAD!", "") for _, letter, _, content in rows}
    ours = {stamp.letter: stamp.content.replace("WLOAD!", "") or "No content" for stamp in STAMPS}
    assert {letter: ours[letter] for letter in documented} == documented
    assert set(ours) - set(documented) == set("QW")
    for _, letter, direction, _ in rows:
        assert len(LETTERS[letter].directions) == (2 if direction == "Both" else 1)
    assert "".join(stamp.letter for stamp in STAMPS if stamp.since == 0) == "SCJNPp"
    assert "".join(stamp.letter for stamp in STAMPS if stamp.since == 1) == "RnEe"


@pytest.mark.parametrize("line", EXAMPLES)
def test_each_example_is_read(line: str) -> None:
    message = decode(line.encode(), "text-3")
    assert isinstance(message, t.Message)
    assert len(message.events) == line.count("|")
    assert decode(line.encode(), "text") == message
    assert decode_frame(struct.pack("=I", len(line)) + line.encode()) == message


@pytest.mark.parametrize("line", UNKNOWN_THEN)
def test_stamps_of_later_versions_are_refused_where_that_is_asked_for_and_not_written(line: str) -> None:
    message, version = decode(line.encode(), "text-3"), f"text-{line[0]}"
    with pytest.raises(DecodeError, match=r"exists from version [0-9] on"):
        decode(line.encode(), version, strict=True)
    with pytest.raises(EncodeError, match=r"exists from version [0-9] on"):
        encode(message, version)


@pytest.mark.parametrize("line", [line for line in EXAMPLES if line not in UNKNOWN_THEN])
def test_the_other_examples_make_the_round_trip(line: str) -> None:
    message = decode(line.encode(), "text-3")
    assert decode(encode(message, "text"), "text-3") == message


@pytest.mark.parametrize("stamp", STAMPS, ids=lambda stamp: stamp.letter)
@settings(max_examples=8)
@given(data=st.data())
def test_each_stamp_of_each_version_makes_the_round_trip(stamp: Stamp, data: st.DataObject) -> None:
    for version in range(4):
        event = data.draw(text_events(stamp, version))
        message = t.Message(version, event.timestamp, (event,))
        if version < stamp.since:
            with pytest.raises(EncodeError):
                encode(message, f"text-{version}")
        else:
            assert decode(encode(message, f"text-{version}"), f"text-{version}", strict=True) == message


@settings(max_examples=30)
@given(st.lists(text_messages(), min_size=1, max_size=4), st.lists(st.integers(1, 40), min_size=1))
def test_a_stream_is_cut_into_its_messages_however_it_comes(messages: list[t.Message], sizes: list[int]) -> None:
    data, stream, found, place = b"".join(map(encode_frame, messages)), FrameStream(), [], 0
    while place < len(data):
        size = sizes[place % len(sizes)]
        found += [decode(each, "text") for each in stream.feed(data[place : place + size])]
        place += size
    assert found == messages


@given(st.floats(0, 1e15))
def test_no_time_has_more_or_less_than_six_digits(time: float) -> None:
    """`easyBackfillNotopo` failed on one with more."""
    message = t.Message(3, time, [t.Nop(time), t.NopMeLater(time, time)])
    for version in ("text-1", "text-3", "text"):
        assert re.fullmatch(rb"3:D[|]D:N[|]D:n:D".replace(b"D", rb"[0-9]+\.[0-9]{6}"), encode(message, version))


@pytest.mark.parametrize("version", ["text-0", "text-3", "text"])
@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b"", "events"),
        (b"3", "events"),
        (b"3:1", "events"),
        (b"3:1|", "events[0]"),
        (b"3:1|1:N|", "events[1]"),
        (b"3:1|1:X", "events[0]"),
        (b"3:1|1:NN", "events[0]"),
        (b"3:1|1:N:", "events[0]"),
        (b"3:1|x:N", "events[0]"),
        (b"3:1|nan:N", "events[0]"),
        (b"3:1|1e999:N", "events[0]"),
        (b"3:1|1:S", "events[0]"),
        (b"3:1|1:S:", "events[0]"),
        (b"3:1|1:J:", "events[0]"),
        (b"3:1|1:J:a=", "events[0]"),
        (b"3:1|1:J:=1", "events[0]"),
        (b"3:1|1:J:1=1;", "events[0]"),
        (b"3:1|1:J:1=a", "events[0]"),
        (b"3:1|1:J:1=" + b"9" * 100_000, "events[0]"),
        (b"3:1|1:P:0", "events[0]"),
        (b"3:1|1:F:", "events[0]"),
        (b"3:1|1:e:joules", "events[0]"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(data: bytes, path: str, version: str) -> None:
    for strict in (False, True):
        with pytest.raises(DecodeError) as caught:
            decode(data, version, strict=strict)
        assert caught.value.path == path or strict


@pytest.mark.parametrize(
    ("data", "version", "as_batsim_would"),
    [
        (b"x:1|1:N", "text-3", "3:1.000000|1.000000:N"),
        (b"3:nan|7:N", "text-3", "3:7.000000|7.000000:N"),
        (b"3\0:1|7:N", "text-3", "3:1.000000|7.000000:N"),
        (b"3:1||1:N", "text-3", "3:1.000000|1.000000:N"),
        (b"3:1|1::N", "text-3", "3:1.000000|1.000000:N"),
        (b"3:1| 5abc:N", "text-3", "3:1.000000|5.000000:N"),
        (b"3:1|0x1p1:N", "text-3", "3:1.000000|2.000000:N"),
        (b"3:1|1:J:w!5x=1,,2", "text-3", "3:1.000000|1.000000:J:w!5=1,2"),
        (b"3:1|1:J:5=1-3", "text-3", "3:1.000000|1.000000:J:static!5=1-3"),
        (b"0:1|1:J:5=1-3", "text-0", "0:1.000000|1.000000:J:5=1"),
        (b"1:1|1:n:+9", "text-1", "1:1.000000|1.000000:n:9.000000"),
        (b"3:1|1:P:0=-1", "text-3", None),
        (b"0:1|1:J:1=2-1", "text-0", "0:1.000000|1.000000:J:1=2"),
    ],
)
def test_what_is_odd_is_read_as_batsim_reads_it(data: bytes, version: str, as_batsim_would: str | None) -> None:
    message = decode(data, version)
    with pytest.raises(DecodeError):
        decode(data, version, strict=True)
    if as_batsim_would is None:
        with pytest.raises(EncodeError):
            encode(message, version)
    else:
        assert encode(message, version) == as_batsim_would.encode()


@pytest.mark.parametrize("size", [2**32 - 1, 2**31, 2**28 + 1])
def test_a_size_that_no_message_has_is_refused_at_once(size: int) -> None:
    with pytest.raises(DecodeError, match="its size says"):
        list(FrameStream().feed(struct.pack("=I", size)))
    with pytest.raises(DecodeError, match="its size says"):
        decode_frame(struct.pack("=I", size) + b"3:1|1:N")


@pytest.mark.parametrize(
    "message",
    [
        t.Message(-1, 1.0, [t.Nop(1.0)]),
        t.Message(3, float("nan"), [t.Nop(1.0)]),
        t.Message(3, 1.0, []),
        t.Message(3, 1.0, [t.JobSubmission(1.0, "a|b")]),
        t.Message(3, 1.0, [t.JobSubmission(1.0, "\ud800")]),
        t.Message(3, 1.0, [t.JobAllocation(1.0, [])]),
        t.Message(3, 1.0, [t.JobAllocation(1.0, [t.JobMachines("a;b", "0")])]),
        t.Message(3, 1.0, [t.MachinesFailed(1.0, "")]),
        t.Message(3, 1.0, [t.PStateRequest(1.0, "0", -1)]),
        t.Message(3, 1.0, ["no event"]),  # type: ignore[list-item]
    ],
)
def test_what_cannot_be_said_is_not_written(message: t.Message) -> None:
    with pytest.raises(EncodeError):
        encode(message, "text")


@pytest.mark.parametrize("count", [MUTATIONS, pytest.param(20_000, marks=pytest.mark.minutes)])
@pytest.mark.parametrize("version", range(4))
def test_a_mutation_is_a_message_or_a_decode_error(version: int, count: int) -> None:
    """Each within a second. TEXT_MUTATIONS=100000 asks for as many of each version."""
    source = random.Random(version)
    pieces = [b"|", b":", b";", b"=", b"-", b",", b"!", b"NaN", b"1e999", b"4294967296", b"\xff", b"\0", b"J", b"e"]
    samples = [data for run in map(text_run, text_names()) if run.version == version for _, data in run.messages][:400]
    read = 0
    for _ in range(count):
        changed = bytearray(source.choice(samples))
        for _ in range(source.randint(1, 3)):
            place = source.randrange(len(changed) + 1)
            changed[place : place + source.randrange(4)] = source.choice([b"", *pieces])
        began = time.process_time()
        try:
            message = decode(bytes(changed), f"text-{version}")
        except DecodeError:
            continue
        finally:
            assert time.process_time() - began < 1
        read += 1
        with suppress(EncodeError):  # what cannot be said: a time below 0, a name that is none
            written = encode(message, f"text-{version}")
            assert encode(decode(written, f"text-{version}", strict=True), f"text-{version}") == written
    assert count / 20 < read < count
