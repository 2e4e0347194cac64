"""MCAP files that are made byte by byte: with an index and without, compressed or not, cut off, damaged."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

pytest.importorskip("mcap")
pytest.importorskip("lz4")

import lz4.frame
import zstandard

from batprotocol import Message
from batprotocol.errors import CaptureError
from batprotocol.model import Direction
from batprotocol.recordings import Capture

pytestmark = pytest.mark.once

MAGIC = b"\x89MCAP0\r\n"
B2E, E2B = Direction.BATSIM_TO_EDC, Direction.EDC_TO_BATSIM


def text(value: str) -> bytes:
    return struct.pack("<I", len(value)) + value.encode()


def record(code: int, content: bytes) -> bytes:
    return struct.pack("<BQ", code, len(content)) + content


def channel(number: int, topic: str, **told: str) -> bytes:
    pairs = b"".join(text(key) + text(value) for key, value in told.items())
    return record(4, struct.pack("<HH", number, 0) + text(topic) + text("x") + struct.pack("<I", len(pairs)) + pairs)


def message(number: int, time: float, sender: int = 1, wall: int = 0, data: bytes | None = None) -> bytes:
    said = Message(time).to_binary() if data is None else data
    return record(5, struct.pack("<HIQQ", sender, number, int(time * 1e9), wall) + said)


def chunk(
    content: bytes, first: float, last: float, how: str = "", crc: int | None = None, size: int | None = None
) -> bytes:
    packed = {"": bytes, "zstd": zstandard.compress, "lz4": lz4.frame.compress}.get(how, bytes)(content)
    start = struct.pack("<QQQI", int(first * 1e9), int(last * 1e9), len(content) if size is None else size,
                        zlib.crc32(content) if crc is None else crc)  # fmt: skip
    return record(6, start + text(how) + struct.pack("<Q", len(packed)) + packed)


HEADER = MAGIC + record(1, text("batprotocol") + text("test"))
CHANNELS = channel(1, "batsim_to_edc") + channel(2, "edc_to_batsim/frame", tail="\0", name="-s2b.fb", digits="3")
CHANNELS += channel(3, "somebody/else")
DATA_END = record(15, bytes(4))
FOOTER = record(2, bytes(20)) + MAGIC


def told(path: Path, data: bytes) -> tuple[list[tuple[object, ...]], str]:
    path.write_bytes(data)
    with Capture(path) as run:
        return [(each.number, each.direction, each.time, each.wall, each.name) for each in run], run.missing


UNFINISHED = "It was not finished by the program that recorded it: there may be more than"
ONE = (0, B2E, 1.0, None, "00000-b2e.bin")
TWO = (1, E2B, 2.0, 77, "001-s2b.fb")
RECORDS = CHANNELS + message(0, 1.0) + message(1, 2.0, 2, 77) + message(9, 2.0, 3)
CHUNKS = [chunk(CHANNELS + message(0, 1.0), 1.0, 1.0), chunk(message(1, 2.0, 2, 77) + message(9, 2.0, 3), 2.0, 2.0)]


@pytest.mark.parametrize(
    ("data", "found", "missing"),
    [
        (RECORDS + DATA_END + FOOTER, [ONE, TWO], ""),
        (RECORDS, [ONE, TWO], f"{UNFINISHED} 2 messages."),
        (RECORDS + bytes(50), [ONE, TWO], f"{UNFINISHED} 2 messages."),
        (
            CHANNELS + message(0, 1.0) + message(1, 2.0, 2)[:-5],
            [ONE],
            f"{UNFINISHED} 1 message.",
        ),
        (b"".join(CHUNKS) + DATA_END + FOOTER, [ONE, TWO], ""),
        (chunk(RECORDS, 1.0, 2.0, "zstd") + DATA_END + FOOTER, [ONE, TWO], ""),
        (chunk(RECORDS, 1.0, 2.0, "lz4") + DATA_END + FOOTER, [ONE, TWO], ""),
        (chunk(RECORDS, 1.0, 2.0, crc=0) + DATA_END + FOOTER, [ONE, TWO], ""),
        (chunk(RECORDS, 1.0, 2.0, crc=1) + DATA_END + FOOTER, [], "It is damaged: 0 messages can be read."),
        (chunk(RECORDS, 1.0, 2.0, size=5) + DATA_END + FOOTER, [], "It is damaged: 0 messages can be read."),
        (chunk(RECORDS, 1.0, 2.0, "lz4", size=5) + DATA_END, [], "It is damaged: 0 messages can be read."),
        (chunk(RECORDS, 1.0, 2.0, "zstd", size=2**29 + 1) + DATA_END, [], "It is damaged: 0 messages can be read."),
        (chunk(RECORDS, 1.0, 2.0, "brotli") + DATA_END + FOOTER, [], "It is damaged: 0 messages can be read."),
        (CHUNKS[0] + chunk(b"", 1.0, 2.0, "zip") + FOOTER, [ONE], "It is damaged: 1 message can be read."),
        (message(0, 1.0, 7) + DATA_END + FOOTER, [], "It is damaged: 0 messages can be read."),
        (CHANNELS + record(99, b"of somebody") + message(0, 1.0) + DATA_END + FOOTER, [ONE], ""),
        (CHANNELS + record(4, b"broken") + message(0, 1.0) + DATA_END + FOOTER, [ONE], ""),
        (CHANNELS + message(0, 1.0) + DATA_END + message(1, 2.0) + FOOTER, [ONE], ""),
        (
            CHUNKS[0] + CHUNKS[1][:-30],
            [ONE, TWO],
            f"{UNFINISHED} 2 messages.",
        ),
    ],
)  # fmt: skip
def test_without_an_index(data: bytes, found: list[tuple[object, ...]], missing: str, tmp_path: Path) -> None:
    assert told(tmp_path / "a.mcap", HEADER + data) == (found, missing)


def indexed(chunks: list[tuple[bytes, float, float]], crc: bool = True, more: bytes = b"") -> bytes:
    """A file with these chunks, their first and last times, and an index."""
    data, index = HEADER, b""
    for content, first, last in chunks:
        times = struct.pack("<QQ", int(first * 1e9), int(last * 1e9))
        place = struct.pack("<QQ", len(data), len(content))
        index += record(8, times + place + struct.pack("<IQ", 0, 0) + text("") + struct.pack("<QQ", 0, 0))
        data += content
    data += DATA_END
    start = len(data)
    summary = CHANNELS + index + more
    told_ = struct.pack("<BQQQ", 2, 20, start, 0)
    checksum = zlib.crc32(told_, zlib.crc32(summary)) if crc else 0
    return data + summary + told_ + struct.pack("<I", checksum) + MAGIC


def two_of(number: int) -> tuple[bytes, float, float]:
    """A chunk with two messages, and their times."""
    first, last = 10.0 * number, 10.0 * number + 5
    return chunk(message(2 * number, first, 1) + message(2 * number + 1, last, 2), first, last), first, last


LONG = [two_of(number) for number in range(5)]


@pytest.mark.parametrize("crc", [True, False])
def test_with_an_index(crc: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    path.write_bytes(indexed(LONG, crc))
    with Capture(path) as run:
        assert [each.time for each in run] == [5.0 * number for number in range(10)]
        assert run.missing == ""
        for start, end, times in (
            (0.0, 0.0, [0.0]),
            (0.0, 5.0, [0.0, 5.0]),
            (6.0, 9.0, []),
            (5.0, 10.0, [5.0, 10.0]),
            (15.0, 25.0, [15.0, 20.0, 25.0]),
            (44.0, 99.0, [45.0]),
            (46.0, 99.0, []),
        ):
            assert [each.time for each in run.between(start, end)] == times
        for time, found in ((0.0, 0.0), (4.0, 0.0), (9.9, 5.0), (10.0, 10.0), (44.9, 40.0), (99.0, 45.0)):
            entry = run.at(time)
            assert entry is not None
            assert entry.time == found
        assert run.at(-1.0) is None


def test_an_index_that_is_not_believed(tmp_path: Path) -> None:
    """What has a wrong checksum is read from the start; what leads elsewhere is damaged."""
    data = bytearray(indexed(LONG))
    path = tmp_path / "a.mcap"
    for place in (-9, -13, -21, -60):
        broken = bytearray(data)
        broken[place] ^= 1
        found, missing = told(path, HEADER + CHANNELS + bytes(broken[len(HEADER) :]))
        assert [each[2] for each in found] == [5.0 * number for number in range(10)]
        assert missing == ""
    short = [(content, first, last) for content, first, last in LONG]
    short[2] = (b"\7" + short[2][0][1:], *short[2][1:])
    found, missing = told(path, indexed(short))
    assert ([each[2] for each in found], missing) == ([0.0, 5.0, 10.0, 15.0], "It is damaged: 4 messages can be read.")


def test_what_else_is_kept(tmp_path: Path) -> None:
    metadata = record(12, text("batprotocol") + struct.pack("<I", 10) + text("a") + text("b"))
    other = record(12, text("other") + struct.pack("<I", 10) + text("c") + text("d"))
    times = struct.pack("<QQ", 0, 0)
    kept = times + text("n.txt") + text("text/plain") + struct.pack("<Q", 3) + b"abc"
    attached = record(9, kept + struct.pack("<I", 0))
    path = tmp_path / "a.mcap"
    path.write_bytes(HEADER + other + metadata + attached + RECORDS + DATA_END + FOOTER)
    with Capture(path) as run:
        assert dict(run.metadata) == {"a": "b"}
        assert list(run.attachments()) == [("n.txt", b"abc")]
        assert len(list(run)) == 2
    path.write_bytes(HEADER + RECORDS + DATA_END + FOOTER)
    with Capture(path) as run:
        assert dict(run.metadata) == {}
        assert list(run.attachments()) == []


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (MAGIC, "is not an MCAP, or has no content"),
        (MAGIC + DATA_END, "is not an MCAP, or has no content"),
        (MAGIC + record(1, b"x"), "is not an MCAP, or has no content"),
        (MAGIC + record(1, text("ros2") + text("")), "is an MCAP, but not a capture: its profile is 'ros2'"),
    ],
)
def test_what_is_no_capture(data: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    path.write_bytes(data)
    with pytest.raises(CaptureError) as refused:
        Capture(path)
    assert refused.value.reason == said


@pytest.mark.parametrize(
    ("about", "name"),
    [
        ({}, "00004-b2e.bin"),
        ({"digits": "0"}, "4-b2e.bin"),
        ({"digits": "9"}, "000000004-b2e.bin"),
        ({"digits": "10"}, "000000004-b2e.bin"),
        ({"digits": "x"}, "00004-b2e.bin"),
        ({"digits": "²"}, "00004-b2e.bin"),
        ({"name": "-b2s.json"}, "00004-b2s.json"),
    ],
)
def test_how_messages_are_called(about: dict[str, str], name: str, tmp_path: Path) -> None:
    def named(**given: str) -> bytes:
        pairs = b"".join(
            struct.pack("<I", len(each.encode())) + each.encode() for pair in given.items() for each in pair
        )
        content = struct.pack("<HH", 1, 0) + text("batsim_to_edc") + text("x") + struct.pack("<I", len(pairs)) + pairs
        return record(4, content)

    found, _ = told(tmp_path / "a.mcap", HEADER + named(**about) + message(4, 1.0) + DATA_END + FOOTER)
    assert [each[4] for each in found] == [name]
