"""The segments of TCP in packets of all usual links, whose headers dpkt reads. It must not know what segments hold.

dpkt gets the first bytes of a packet only: it copies what it reads at each layer, so that its time for a long chain of
headers grows with the square of their bytes. The data of a segment are cut out of the packet itself, by the sizes in
the headers.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from batprotocol._util.requirements import installing
from batprotocol.errors import PackageMissing

__all__ = ["ACK", "FIN", "RST", "SYN", "Dissector", "End", "LeftOut", "Segment"]

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


class LeftOut(Exception):
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
        except LeftOut:
            raise
        except (self._dpkt.NeedData, IndexError):
            if len(data) > _HEADERS:
                raise LeftOut(f"its headers are longer than {_HEADERS:,} bytes") from None
            raise LeftOut("its headers were not captured whole") from None
        except Exception:  # dpkt raises many kinds for headers that are broken, and not only its own
            raise LeftOut("its headers are broken") from None

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
        raise LeftOut(f"the link type {link} is not known: use Ethernet, Linux cooked, loopback or raw IP")

    def _untagged(self, kind: int, head: bytes, place: int) -> tuple[int, bytes, int]:
        while kind in _VLANS:
            kind, place = self._dpkt.ethernet.VLANtag8021Q(head[place : place + 4]).type, place + 4
        return kind, head[place:], place

    # IP and TCP. dpkt leaves bytes where it cannot read a header of TCP; to read these again raises the reason.

    def _ipv4(self, packet: Any, data: bytes, place: int) -> Segment | None:
        ip = self._dpkt.ip.IP(packet) if isinstance(packet, bytes) else packet
        if ip.v != 4 or 0 < ip.len < 4 * ip.hl:
            raise LeftOut("its header of IP is broken")
        if ip.p != _TCP:
            return None
        if ip.mf or ip.offset:
            raise LeftOut("it is a fragment of IP")
        # 0: the network card splits the packet, or has joined it.
        return self._tcp(ip, data, place + 4 * ip.hl, place + ip.len if ip.len else len(data))

    def _ipv6(self, packet: Any, data: bytes, place: int) -> Segment | None:
        ip = self._dpkt.ip6.IP6(packet) if isinstance(packet, bytes) else packet
        if getattr(ip, "p", None) != _TCP:
            return None
        headers = ip.all_extension_headers
        if any(getattr(each, "frag_off", 0) or getattr(each, "m_flag", 0) for each in headers):
            raise LeftOut("it is a fragment of IP")
        begin = place + ip.__hdr_len__
        start = begin + sum(each.length for each in headers)
        return self._tcp(ip, data, start, begin + ip.plen if ip.plen else len(data))

    def _tcp(self, ip: Any, data: bytes, place: int, end: int) -> Segment:
        if end < place + _SMALLEST and end < len(data):
            raise LeftOut("its header of TCP is broken")
        tcp = self._dpkt.tcp.TCP(ip.data) if isinstance(ip.data, bytes) else ip.data
        start = place + 4 * tcp.off
        if start > end:
            raise LeftOut("its header of TCP is broken")
        ends = End(ip.src, tcp.sport), End(ip.dst, tcp.dport)
        return Segment(*ends, tcp.seq, tcp.ack, tcp.flags & 0xFF, data[start:end], end - start)
