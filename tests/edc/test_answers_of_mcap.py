"""MCAP files that are made byte by byte: with an index and without, compressed or not, cut off, damaged."""

from __future__ import annotations

import builtins
import importlib.util
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mcaps import (
    B2E,
    CHANNELS,
    DATA_END,
    E2B,
    FOOTER,
    HEADER,
    LONG,
    MAGIC,
    chunk,
    indexed,
    message,
    record,
    text,
)

from batprotocol.edc.recording import mcap
from batprotocol.edc.recording.mcap_reader import McapFile
from batprotocol.edc.recording.names import MOST
from batprotocol.errors import CaptureError, PackageMissing

pytestmark = pytest.mark.once


@contextmanager
def opened(path: Path) -> Iterator[McapFile]:
    with open(path, "rb") as file:
        yield McapFile(str(path), file)


def told(path: Path, data: bytes) -> tuple[list[tuple[object, ...]], str]:
    path.write_bytes(data)
    with opened(path) as run:
        entries = [each for _, each in run.entries(0, MOST)]
        return [(each.number, each.direction, each.time, each.wall, each.name) for each in entries], run.missing


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


@pytest.mark.parametrize("crc", [True, False])
def test_an_index_spares_chunks(crc: bool, tmp_path: Path) -> None:
    """All messages of some moments are read, and no others than those of their chunks and of the one before."""
    path = tmp_path / "a.mcap"
    path.write_bytes(indexed(LONG, crc))
    with opened(path) as run:
        for start in range(0, 60, 2):
            for end in range(start, 60, 7):
                found = [moment // 10**9 for moment, _ in run.entries(start * 10**9, end * 10**9)]
                assert found == sorted(found)
                assert {each for each in range(0, 50, 5) if start <= each <= end} <= set(found)
                assert all(start - 20 < each < end + 10 for each in found)
        assert [moment for moment, _ in run.entries(0, MOST)] == [5 * 10**9 * number for number in range(10)]
        assert run.missing == run.fault == ""


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
    with opened(path) as run:
        assert dict(run.metadata) == {"a": "b"}
        assert list(run.attachments()) == [("n.txt", b"abc")]
        assert len(list(run.entries(0, MOST))) == 2
    path.write_bytes(HEADER + RECORDS + DATA_END + FOOTER)
    with opened(path) as run:
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
    with open(path, "rb") as file, pytest.raises(CaptureError) as refused:
        McapFile(str(path), file)
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


# The package


@pytest.mark.parametrize(
    ("missing", "told"),
    [("mcap", "mcap"), ("mcap.records", "mcap"), ("zstandard", "zstandard"), ("zstandard.backend", "zstandard"),
     (None, "mcap")],
)  # fmt: skip
def test_a_package_that_is_missing_is_named(missing: str | None, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("some_mcap", mcap.__file__)
    assert spec is not None
    assert spec.loader is not None

    def fails(name: str, *others: object) -> object:
        if name == "zstandard":
            raise ImportError("it cannot be loaded", name=missing)
        return original(name, *others)

    original = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", fails)
    with pytest.raises(PackageMissing, match=rf"^MCAP needs the package {told}: .*pip install"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
