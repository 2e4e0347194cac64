"""The segments of TCP in a file of captured traffic: pcap or pcapng, with packets of all usual links.

The file is read here, because dpkt's readers end silently at a packet that is cut, and know neither several interfaces
of a pcapng nor its count of lost packets. dpkt reads the headers of packets. It gets the first bytes of a packet only:
it copies what it reads at each layer, so its time for a long chain of headers grows with the square of their bytes. The
data of a segment are cut out of the packet itself, by the sizes in the headers.
"""

from __future__ import annotations

import io
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Final, NamedTuple

from batprotocol._util.files import DAMAGES, decompressed
from batprotocol._util.requirements import installing
from batprotocol.errors import CaptureError, PackageMissing

_ORDERS: Final = {
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\x3c\x4d": (">", 1),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
}
"""The first bytes of a pcap: the order of its numbers, and the nanoseconds in a unit of its times."""
_SECTION: Final = b"\x0a\x0d\x0d\x0a"
_LARGEST: Final = 2**24
"""The maximum size of a packet or block, 16 MiB. Capture programs write at most 256 KiB."""
_MOST_INTERFACES: Final = 10_000
_MOST_OPTIONS: Final = 1_000
_TIME_LIMIT: Final = 2**64

_INTERFACE, _OLD_PACKET, _SIMPLE, _STATISTICS, _ENHANCED = 1, 2, 3, 5, 6
_RESOLUTION, _OFFSET, _DROPPED_BY_INTERFACE, _DROPPED_BY_SYSTEM = 9, 14, 5, 7


class Packet(NamedTuple):
    """A packet.

    Attributes:
        number: its number in the file, from 1.
        time: nanoseconds since 1970; 0 if the file does not have it.
        link: the number of its link type.
        data: the captured bytes.
    """

    number: int
    time: int
    link: int
    data: bytes


class _Interface(NamedTuple):
    link: int
    limit: int
    units: int
    """Units of time in a second."""
    offset: int
    """Seconds that are added to the times of its packets."""


def is_traffic(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a capture of network traffic, also if it is compressed.

    Args:
        path: the file, or `-` for standard input.

    Raises:
        OSError: the file cannot be read.
    """
    if path == "-":
        return sys.stdin is not None and _begins(_peeked(sys.stdin.buffer))
    if not os.path.isfile(path):
        return False
    with opened(path) as file:
        try:
            return _begins(file.read(16))
        except DAMAGES:
            return False


def _peeked(file: IO[bytes]) -> bytes:
    return file.peek(16)[:16] if isinstance(file, io.BufferedReader) else b""


def _begins(head: bytes) -> bool:
    return head[:4] in _ORDERS or (head[:4] == _SECTION and head[8:12] in (b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a"))


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """The file, without its compression. `-` is standard input.

    Raises:
        OSError: the file cannot be read.
    """
    if path == "-":
        yield sys.stdin.buffer
        return
    with open(path, "rb") as file:
        yield decompressed(file)


class Packets:
    """The packets of a file, in its order. It is read once.

    Args:
        file: the file, open.
        name: its name, for errors.

    Attributes:
        number: how many packets were read.
        dropped: how many packets the capture program reports as lost.
        end: why the file ends before its end, as a sentence, or "".
        skipped: how many packets have no interface that describes them.

    Raises:
        CaptureError: it does not begin as a capture.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        self.number = 0
        self._order = "<"
        self._interfaces: list[_Interface] = []
        self.dropped = 0
        self.end = ""
        self.skipped = 0

    def __iter__(self) -> Iterator[Packet]:
        try:
            head = self._file.read(4)
            if head in _ORDERS:
                yield from self._classic(*_ORDERS[head])
            elif head == _SECTION:
                yield from self._blocks()
            else:
                raise CaptureError("is not a capture of network traffic: expected a .pcap or .pcapng", self._name)
        except _End as error:
            self.end = str(error)
        except DAMAGES:
            self.end = f"its compressed data end or are damaged behind packet {self.number:,}"

    def _read(self, size: int, what: str) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise _End(f"it ends within {what} behind packet {self.number:,}")
        return data

    # pcap

    def _classic(self, order: str, unit: int) -> Iterator[Packet]:
        _, _, _, _, _, link = struct.unpack(f"{order}HHiIII", self._read(20, "its header"))
        header = struct.Struct(f"{order}IIII")
        while head := self._file.read(16):
            if len(head) < 16:
                raise _End(f"it ends within a packet behind packet {self.number:,}")
            seconds, rest, size, _ = header.unpack(head)
            if size > _LARGEST:
                raise _End(f"a packet behind packet {self.number:,} has an impossible size, {size:,} bytes")
            data = self._read(size, "a packet")
            self.number += 1
            yield Packet(self.number, seconds * 10**9 + rest * unit, link & 0xFFFF, data)

    # pcapng

    def _blocks(self) -> Iterator[Packet]:
        head: bytes = _SECTION
        while head:
            kind_bytes, size_bytes = head, self._read(4, "a block")
            if kind_bytes == _SECTION:
                body = self._section(size_bytes)
            else:
                kind, size = struct.unpack(f"{self._order}II", kind_bytes + size_bytes)
                body = self._body(size)
                yield from self._block(kind, body)
            head = self._file.read(4)
            if head and len(head) < 4:
                raise _End(f"it ends within a block behind packet {self.number:,}")

    def _section(self, size_bytes: bytes) -> bytes:
        magic = self._read(4, "a section")
        if magic not in (b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a"):
            raise _End(f"a section behind packet {self.number:,} has an unknown order of bytes")
        self._order = ">" if magic == b"\x1a\x2b\x3c\x4d" else "<"
        self._interfaces = []
        (size,) = struct.unpack(f"{self._order}I", size_bytes)
        return magic + self._body(size, done=4)

    def _body(self, size: int, done: int = 0) -> bytes:
        if size < 12 + done or size % 4 or size > _LARGEST:
            raise _End(f"a block behind packet {self.number:,} has an impossible size, {size:,} bytes")
        body = self._read(size - 8 - done, "a block")
        return body[:-4]

    def _block(self, kind: int, body: bytes) -> Iterator[Packet]:
        order = self._order
        if kind == _INTERFACE and len(body) >= 8:
            if len(self._interfaces) >= _MOST_INTERFACES:
                raise _End(f"it has more than {_MOST_INTERFACES:,} interfaces")
            link, _, limit = struct.unpack_from(f"{order}HHI", body)
            self._interfaces.append(_Interface(link, limit, self._units(body), self._offset(body)))
        elif kind == _ENHANCED and len(body) >= 20:
            interface, high, low, size, _ = struct.unpack_from(f"{order}IIIII", body)
            yield from self._packet(interface, high << 32 | low, body[20 : 20 + size])
        elif kind == _OLD_PACKET and len(body) >= 20:
            interface, _, high, low, size, _ = struct.unpack_from(f"{order}HHIIII", body)
            yield from self._packet(interface, high << 32 | low, body[20 : 20 + size])
        elif kind == _SIMPLE and len(body) >= 4:
            (size,) = struct.unpack_from(f"{order}I", body)
            limit = self._interfaces[0].limit if self._interfaces else 0
            yield from self._packet(0, 0, body[4 : 4 + min(size, limit or size)])
        elif kind == _STATISTICS and len(body) >= 12:
            options = self._options(body, 12)
            counts = [options.get(number, b"") for number in (_DROPPED_BY_INTERFACE, _DROPPED_BY_SYSTEM)]
            self.dropped += sum(struct.unpack(f"{order}Q", count)[0] for count in counts if len(count) == 8)

    def _packet(self, interface: int, ticks: int, data: bytes) -> Iterator[Packet]:
        self.number += 1
        if interface >= len(self._interfaces):
            self.skipped += 1
            return
        found = self._interfaces[interface]
        time = ticks * 10**9 // found.units + found.offset * 10**9
        yield Packet(self.number, time if 0 <= time < _TIME_LIMIT else 0, found.link, data)

    def _units(self, body: bytes) -> int:
        """The units of time in a second that an interface has."""
        option = self._options(body, 8).get(_RESOLUTION, b"")
        if not option:
            return 10**6
        return int(2 ** (option[0] & 0x7F)) if option[0] & 0x80 else int(10 ** min(option[0], 30))

    def _offset(self, body: bytes) -> int:
        """The seconds that an interface leaves out of its times."""
        option = self._options(body, 8).get(_OFFSET, b"")
        return int(struct.unpack(f"{self._order}q", option)[0]) if len(option) == 8 else 0

    def _options(self, body: bytes, place: int) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        while place + 4 <= len(body) and len(found) < _MOST_OPTIONS:
            number, size = struct.unpack_from(f"{self._order}HH", body, place)
            if not number:
                break
            found.setdefault(number, body[place + 4 : place + 4 + size])
            place += 4 + size + -size % 4
        return found


class _End(Exception):
    """The file cannot be read further."""


# The segments of TCP in packets


FIN, SYN, RST, ACK = 1, 2, 4, 16
"""The flags of a segment."""

_HEADERS: Final = 4096
"""The bytes in which the headers of a packet end."""
_IPV4, _IPV6 = 0x0800, 0x86DD
_VLANS: Final = (0x8100, 0x88A8, 0x9100)
_TCP: Final = 6
_SMALLEST: Final = 20
"""The smallest header of TCP, in bytes."""

_ETHERNET: Final = 1
_LOOPBACK: Final = (0, 108)
_FAMILIES: Final = {2: _IPV4, 24: _IPV6, 28: _IPV6, 30: _IPV6}
"""The numbers that systems give to IP on a loopback link."""
_RAW: Final = (12, 14, 101, 228, 229)
_COOKED, _COOKED_2 = 113, 276


class End(NamedTuple):
    """One end of a connection: its address and port."""

    address: bytes
    port: int

    def __str__(self) -> str:
        from ipaddress import ip_address

        address = ip_address(self.address)
        return f"[{address}]:{self.port}" if address.version == 6 else f"{address}:{self.port}"


class Segment(NamedTuple):
    """A segment of TCP.

    Attributes:
        source: its sender.
        target: its receiver.
        seq: the number of its first byte.
        ack: the number of the next byte that the sender expects, if `flags` has `ACK`.
        flags: `SYN`, `FIN`, `RST`, `ACK`.
        data: its captured bytes.
        size: the number of its bytes on the wire.
    """

    source: End
    target: End
    seq: int
    ack: int
    flags: int
    data: bytes
    size: int


class UnreadPacket(Exception):
    """A packet that is not a segment of TCP that can be read; the text is the reason."""


class Dissector:
    """Reads the headers of packets.

    Raises:
        PackageMissing: dpkt is not installed.
    """

    def __init__(self) -> None:
        try:
            import dpkt  # here, because it takes 0.1 s, and only captured traffic needs it
        except ImportError:
            raise PackageMissing(f"captured traffic needs the package dpkt: {installing('capture', 'dpkt')}") from None
        self._dpkt: Any = dpkt

    def segment(self, link: int, data: bytes) -> Segment | None:
        """The segment in a packet; None if the packet is of another protocol than TCP.

        Args:
            link: the number of the link type.
            data: the packet.

        Raises:
            LeftOut: the packet may be of TCP, and cannot be read.
        """
        try:
            kind, packet, place = self._network(link, data[:_HEADERS])
            if kind == _IPV4:
                return self._ipv4(packet, data, place)
            return self._ipv6(packet, data, place) if kind == _IPV6 else None
        except UnreadPacket:
            raise
        except (self._dpkt.NeedData, IndexError):
            if len(data) > _HEADERS:
                raise UnreadPacket(f"its headers are longer than {_HEADERS:,} bytes") from None
            raise UnreadPacket("its headers were not captured whole") from None
        except Exception:  # dpkt raises many kinds for headers that are broken, and not only its own
            raise UnreadPacket("its headers are broken") from None

    # Links: the kind of what is inside, the packet of IP or its bytes, and its place. Tags of VLANs are read here: dpkt
    # reads none of a cooked link, and of three in a row it keeps the last one only, so that the place is not known.

    def _network(self, link: int, head: bytes) -> tuple[int, Any, int]:
        if link == _ETHERNET:
            return self._untagged(head[12] << 8 | head[13], head, 14)
        if link in (_COOKED, _COOKED_2):
            layout = self._dpkt.sll.SLL if link == _COOKED else self._dpkt.sll2.SLL2
            frame = layout(head[: layout.__hdr_len__])
            return self._untagged(frame.ethtype, head, layout.__hdr_len__)
        if link in _LOOPBACK:
            frame = self._dpkt.loopback.Loopback(head)
            return _FAMILIES.get(frame.family, 0), frame.data, frame.__hdr_len__
        if link in _RAW:
            return {4: _IPV4, 6: _IPV6}.get(head[0] >> 4, 0), head, 0
        raise UnreadPacket(f"the link type {link} is not known: use Ethernet, Linux cooked, loopback or raw IP")

    def _untagged(self, kind: int, head: bytes, place: int) -> tuple[int, bytes, int]:
        while kind in _VLANS:
            kind, place = self._dpkt.ethernet.VLANtag8021Q(head[place : place + 4]).type, place + 4
        return kind, head[place:], place

    # IP and TCP. dpkt leaves bytes where it cannot read a header of TCP; to read these again raises the reason.

    def _ipv4(self, packet: Any, data: bytes, place: int) -> Segment | None:
        ip = self._dpkt.ip.IP(packet) if isinstance(packet, bytes) else packet
        if ip.v != 4 or 0 < ip.len < 4 * ip.hl:
            raise UnreadPacket("its header of IP is broken")
        if ip.p != _TCP:
            return None
        if ip.mf or ip.offset:
            raise UnreadPacket("it is a fragment of IP")
        # 0: the network card splits the packet, or has joined it.
        return self._tcp(ip, data, place + 4 * ip.hl, place + ip.len if ip.len else len(data))

    def _ipv6(self, packet: Any, data: bytes, place: int) -> Segment | None:
        ip = self._dpkt.ip6.IP6(packet) if isinstance(packet, bytes) else packet
        if getattr(ip, "p", None) != _TCP:
            return None
        headers = ip.all_extension_headers
        if any(getattr(each, "frag_off", 0) or getattr(each, "m_flag", 0) for each in headers):
            raise UnreadPacket("it is a fragment of IP")
        begin = place + ip.__hdr_len__
        start = begin + sum(each.length for each in headers)
        return self._tcp(ip, data, start, begin + ip.plen if ip.plen else len(data))

    def _tcp(self, ip: Any, data: bytes, place: int, end: int) -> Segment:
        if end < place + _SMALLEST and end < len(data):
            raise UnreadPacket("its header of TCP is broken")
        tcp = self._dpkt.tcp.TCP(ip.data) if isinstance(ip.data, bytes) else ip.data
        start = place + 4 * tcp.off
        if start > end:
            raise UnreadPacket("its header of TCP is broken")
        ends = End(ip.src, tcp.sport), End(ip.dst, tcp.dport)
        return Segment(*ends, tcp.seq, tcp.ack, tcp.flags & 0xFF, data[start:end], end - start)
