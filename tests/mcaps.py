"""MCAP files that are made byte by byte: their records, chunks and indexes."""

from __future__ import annotations

import struct
import zlib

import pytest

pytest.importorskip("mcap")
pytest.importorskip("lz4")

import lz4.frame
import zstandard

from batprotocol import Message
from batprotocol.model import Direction

__all__ = [
    "B2E",
    "CHANNELS",
    "DATA_END",
    "E2B",
    "FOOTER",
    "HEADER",
    "LONG",
    "MAGIC",
    "channel",
    "chunk",
    "indexed",
    "message",
    "record",
    "text",
]

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
