"""Captures of network traffic: those in `tests/data`, and those written by hand, of TCP segments of conversations over
ZeroMQ, in pcap and pcapng.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from support import DATA

__all__ = [
    "ACK",
    "CAPTURES",
    "LINKS",
    "SHARED_TREES",
    "Packet",
    "Segment",
    "block",
    "frame",
    "greeting",
    "handshake",
    "link",
    "pcap",
    "pcapng",
    "ready",
    "recorded",
    "talk",
]

CAPTURES = sorted((DATA / "packets").glob("*.pcapng.gz"))
"""What dumpcap has captured on a loopback interface: the messages of 13 recorded runs between two sockets of libzmq,
and seven simulations (`live`) of a scheduler behind a socket."""

LINKS = {"ethernet": 1, "null": 0, "loop": 108, "raw": 101, "sll": 113, "sll2": 276, "ipv4": 228, "ipv6": 229}
"""The numbers of the link types that are written."""

SYN, ACK, FIN, RST = 2, 16, 1, 4


def recorded(capture: Path) -> Path:
    """The recording of a captured conversation."""
    name = capture.name.removesuffix(".pcapng.gz")
    own = capture.parent / f"{name}.tar.xz"
    return own if own.exists() else DATA / "runs" / f"{name.replace('__', '__test_', 1)}.tar.xz"


class Segment(NamedTuple):
    """A segment of a connection. `forth` is from the side that opens the connection."""

    forth: bool
    seq: int
    ack: int
    flags: int
    data: bytes = b""


class Packet(NamedTuple):
    """A packet of a capture: nanoseconds since 1970, its bytes, and how many it had on the wire."""

    time: int
    data: bytes
    size: int | None = None


def greeting(as_server: bool = False, minor: int = 1) -> bytes:
    """The greeting of ZMTP 3."""
    return (
        b"\xff"
        + bytes(7)
        + b"\x01\x7f\x03"
        + bytes([minor])
        + b"NULL".ljust(20, b"\0")
        + bytes([as_server])
        + bytes(31)
    )


def frame(data: bytes, more: bool = False, command: bool = False, long: bool | None = None) -> bytes:
    """A frame of ZMTP 3."""
    is_long = len(data) > 255 if long is None else long
    flags = more | is_long << 1 | command << 2
    return bytes([flags]) + (struct.pack(">Q", len(data)) if is_long else bytes([len(data)])) + data


def ready(kind: str) -> bytes:
    """The command READY of a socket of this type."""
    body = b"\x05READY"
    for name, value in ((b"Socket-Type", kind.encode()), (b"Identity", b"")):
        body += bytes([len(name)]) + name + struct.pack(">I", len(value)) + value
    return frame(body, command=True)


def handshake() -> list[tuple[bool, bytes]]:
    """What a REQ socket and a REP socket say first. True is the REQ socket, that of Batsim."""
    return [
        (True, greeting()[:10]),
        (False, greeting()),
        (True, greeting()[10:]),
        (True, ready("REQ")),
        (False, ready("REP")),
    ]


def talk(messages: Iterable[tuple[bool, bytes]]) -> list[tuple[bool, bytes]]:
    """A conversation: the handshake, and messages with the empty frame before each."""
    return [*handshake(), *((forth, frame(b"", more=True) + frame(data)) for forth, data in messages)]


def segments(
    said: Iterable[tuple[bool, bytes]],
    size: int = 1400,
    first: tuple[int, int] = (1000, 2**32 - 50),
    *,
    opens: bool = True,
) -> Iterator[Segment]:
    """The segments of a connection, each with at most `size` bytes, with the acknowledgements of the other side."""
    seqs = list(first)
    if opens:
        yield Segment(True, seqs[0] - 1, 0, SYN)
        yield Segment(False, (seqs[1] - 1) % 2**32, seqs[0], SYN | ACK)
        yield Segment(True, seqs[0], seqs[1], ACK)
    for forth, data in said:
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            mine, other = (0, 1) if forth else (1, 0)
            yield Segment(forth, seqs[mine], seqs[other], ACK, piece)
            seqs[mine] = (seqs[mine] + len(piece)) % 2**32
            yield Segment(not forth, seqs[other], seqs[mine], ACK)
    if opens:
        yield Segment(True, seqs[0], seqs[1], FIN | ACK)
        yield Segment(False, seqs[1], (seqs[0] + 1) % 2**32, FIN | ACK)


def ip(segment: Segment, ports: tuple[int, int] = (40000, 28000), *, six: bool = False, host: int = 1) -> bytes:
    """A segment in a packet of IP."""
    here, there = ports if segment.forth else ports[::-1]
    options = b"\x01\x01\x08\x0a" + bytes(8)
    tcp = struct.pack(
        ">HHIIBBHHH",
        here,
        there,
        segment.seq % 2**32,
        segment.ack,
        (20 + len(options)) // 4 << 4,
        segment.flags,
        512,
        0,
        0,
    )
    tcp += options + segment.data
    ends = (host, 99) if segment.forth else (99, host)
    if six:
        return struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + b"".join(bytes(15) + bytes([end]) for end in ends) + tcp
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0x4000, 64, 6, 0)
    return head + b"".join(bytes([10, 0, 0, end]) for end in ends) + tcp


def link(packet: bytes, kind: str, *, vlan: bool = False) -> bytes:
    """A packet of IP in a frame of a link."""
    six = packet[0] >> 4 == 6
    ethertype = 0x86DD if six else 0x0800
    tag = b"\x81\x00\x00\x07" if vlan else b""
    if kind == "ethernet":
        return bytes(12) + tag + struct.pack(">H", ethertype) + packet + b"\0" * max(0, 46 - len(packet))
    if kind == "null":
        return struct.pack("<I", 30 if six else 2) + packet
    if kind == "loop":
        return struct.pack(">I", 24 if six else 2) + packet
    if kind == "sll":
        return struct.pack(">HHH8sH", 0, 772, 6, bytes(8), ethertype) + packet
    if kind == "sll2":
        return struct.pack(">HHIHBB8s", ethertype, 0, 1, 772, 0, 6, bytes(8)) + packet
    return packet


def pcap(packets: Sequence[Packet], kind: str = "ethernet", *, order: str = "<", nanos: bool = False) -> bytes:
    """A file in the classic format."""
    found = struct.pack(f"{order}IHHiIII", 0xA1B23C4D if nanos else 0xA1B2C3D4, 2, 4, 0, 0, 262144, LINKS[kind])
    for each in packets:
        seconds, rest = divmod(each.time, 10**9)
        size = len(each.data) if each.size is None else each.size
        found += struct.pack(f"{order}IIII", seconds, rest if nanos else rest // 1000, len(each.data), size) + each.data
    return found


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    """A block of pcapng."""
    body += bytes(-len(body) % 4)
    size = 12 + len(body)
    return struct.pack(f"{order}II", kind, size) + body + struct.pack(f"{order}I", size)


def pcapng(packets: Sequence[Packet], kind: str = "ethernet", *, order: str = "<", dropped: int = 0) -> bytes:
    """A file in the format of today, in nanoseconds."""
    found = block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order)
    options = struct.pack(f"{order}HHB3xHH", 9, 1, 9, 0, 0)
    found += block(1, struct.pack(f"{order}HHI", LINKS[kind], 0, 262144) + options, order)
    for each in packets:
        size = len(each.data) if each.size is None else each.size
        head = struct.pack(f"{order}IIIII", 0, each.time >> 32, each.time & 0xFFFFFFFF, len(each.data), size)
        found += block(6, head + each.data, order)
    if dropped:
        found += block(5, struct.pack(f"{order}IIIHHQHH", 0, 0, 0, 5, 8, dropped, 0, 0), order)
    return found


def _shared_trees(levels: int = 40) -> bytes:
    """A flatbuffer of tables with the fields 0 and 1, both of which are the same table below: 2 to the 40th of them."""
    found = struct.pack("<IHHHHHH", 16, 8, 12, 4, 8, 4, 4)  # the vtables are at 4 and 12
    for _ in range(levels):
        found += struct.pack("<iII", len(found) - 4, 8, 4)
    return found + struct.pack("<i", len(found) - 12)


SHARED_TREES = _shared_trees()
"""A flatbuffer that is small, and whose tree is endless."""
