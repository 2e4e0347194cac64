"""Finds the segments of TCP in packets of all usual links. It must not know connections, or what segments hold."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

__all__ = ["ACK", "FIN", "RST", "SYN", "End", "LeftOut", "Segment", "segment_of"]

FIN, SYN, RST, ACK = 1, 2, 4, 16
"""The flags of a segment."""

_IPV4, _IPV6 = 0x0800, 0x86DD
_VLANS: Final = (0x8100, 0x88A8, 0x9100)
_TCP: Final = 6
_EXTENSIONS: Final = (0, 43, 60, 135)
"""The headers of IPv6 that can be in front of TCP, with their own size in their second byte."""
_FRAGMENT, _AUTHENTICATION = 44, 51
_MOST_HEADERS: Final = 16
_FAMILIES: Final = {2: _IPV4, 10: _IPV6, 24: _IPV6, 28: _IPV6, 30: _IPV6}
"""The numbers that systems give to IP on a loopback link."""


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


class LeftOut(Exception):
    """A packet that is not a segment of TCP that can be read; the text is the reason."""


def segment_of(link: int, data: bytes) -> Segment | None:
    """The segment in a packet; None if the packet is of another protocol than TCP.

    Args:
        link: the number of the link type.
        data: the packet.

    Raises:
        LeftOut: the packet may be of TCP, and cannot be read.
    """
    peel = _LINKS.get(link)
    if peel is None:
        raise LeftOut(f"the link type {link} is not known: use Ethernet, Linux cooked, loopback or raw IP")
    try:
        kind, place = peel(data)
        if kind == _IPV4:
            return _ipv4(data, place)
        return _ipv6(data, place) if kind == _IPV6 else None
    except (struct.error, IndexError):
        raise LeftOut("its headers were not captured whole") from None


# Links: the kind of what is inside, and its place


def _ethernet(data: bytes) -> tuple[int, int]:
    place = 12
    (kind,) = struct.unpack_from(">H", data, place)
    while kind in _VLANS:
        place += 4
        (kind,) = struct.unpack_from(">H", data, place)
    return kind, place + 2


def _loopback(data: bytes) -> tuple[int, int]:
    (little,), (big,) = struct.unpack_from("<I", data), struct.unpack_from(">I", data)
    return _FAMILIES.get(little) or _FAMILIES.get(big, 0), 4


def _raw(data: bytes) -> tuple[int, int]:
    return {4: _IPV4, 6: _IPV6}.get(data[0] >> 4, 0), 0


def _cooked(data: bytes) -> tuple[int, int]:
    return _tagged(data, 14, 16)


def _cooked_2(data: bytes) -> tuple[int, int]:
    return _tagged(data, 0, 20)


def _tagged(data: bytes, at: int, place: int) -> tuple[int, int]:
    (kind,) = struct.unpack_from(">H", data, at)
    while kind in _VLANS:
        (kind,) = struct.unpack_from(">H", data, place + 2)
        place += 4
    return kind, place


_LINKS: Final[dict[int, Callable[[bytes], tuple[int, int]]]] = {
    0: _loopback,
    1: _ethernet,
    12: _raw,
    14: _raw,
    101: _raw,
    108: _loopback,
    113: _cooked,
    228: _raw,
    229: _raw,
    276: _cooked_2,
}


# IP


def _ipv4(data: bytes, place: int) -> Segment | None:
    first, _, total, _, fragment, _, protocol = struct.unpack_from(">BBHHHBB", data, place)
    header = 4 * (first & 15)
    if first >> 4 != 4 or header < 20:
        raise LeftOut("its header of IP is broken")
    if protocol != _TCP:
        return None
    if fragment & 0x3FFF:
        raise LeftOut("it is a fragment of IP")
    source, target = data[place + 12 : place + 16], data[place + 16 : place + 20]
    # 0: the network card splits the packet, or has joined it.
    end = place + total if total else len(data)
    return _tcp(data, place + header, end, source, target)


def _ipv6(data: bytes, place: int) -> Segment | None:
    _, size, following = struct.unpack_from(">IHB", data, place)
    source, target = data[place + 8 : place + 24], data[place + 24 : place + 40]
    end = place + 40 + size if size else len(data)
    place += 40
    for _ in range(_MOST_HEADERS):
        if following == _TCP:
            return _tcp(data, place, end, source, target)
        if following == _FRAGMENT:
            following, _, offset = struct.unpack_from(">BBH", data, place)
            if following == _TCP and offset & 0xFFF9:
                raise LeftOut("it is a fragment of IP")
            place += 8
        elif following in _EXTENSIONS:
            following, length = data[place], data[place + 1]
            place += 8 * (length + 1)
        elif following == _AUTHENTICATION:
            following, length = data[place], data[place + 1]
            place += 4 * (length + 2)
        else:
            return None
    raise LeftOut("its header of IP is broken")


def _tcp(data: bytes, place: int, end: int, source: bytes, target: bytes) -> Segment:
    here, there, seq, ack, offset, flags = struct.unpack_from(">HHIIBB", data, place)
    start = place + 4 * (offset >> 4)
    if offset >> 4 < 5 or start > end:
        raise LeftOut("its header of TCP is broken")
    return Segment(End(source, here), End(target, there), seq, ack, flags, data[start:end], end - start)
