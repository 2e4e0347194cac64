"""The conversations in a file of captured traffic, and recordings of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from batprotocol._util.tables import LeftOut
from batprotocol.edc.recording import METADATA, Recorder, facts
from batprotocol.errors import CaptureError
from batprotocol.model import Direction
from batprotocol.recordings.captures import WALL
from batprotocol.recordings.traffic._packets import Dissector, End, Packets, Segment, opened
from batprotocol.recordings.traffic._packets import UnreadPacket as NotASegment
from batprotocol.recordings.traffic._streams import MemoryBudget, Said, Side, TcpConnection

MOST_CONNECTIONS: Final = 50_000
"""The most connections that are followed at the same time."""
MOST_CONVERSATIONS: Final = 1_000
"""The most conversations of a file."""
MOST_AT_ONCE: Final = 200
"""The most conversations at the same time: each has a file that is open."""
MEMORY: Final = 2**29
"""The most bytes of what is not whole, 512 MiB."""

_ASKING: Final = frozenset(("REQ", "DEALER"))
_ANSWERING: Final = frozenset(("REP", "ROUTER"))
_ENDINGS: Final = (".mcap", ".tar.xz", ".txz", ".tar")
"""The endings of the files that a `Recorder` writes."""


class Captured(NamedTuple):
    """A captured message.

    Attributes:
        conversation: the conversation that it belongs to.
        direction: its direction.
        data: its bytes.
        wall: the time at which it was whole, in nanoseconds since 1970; 0 if the capture does not have it.
    """

    conversation: CapturedConversation
    direction: Direction
    data: bytes
    wall: int


class CapturedConversation:
    """A connection over ZeroMQ of a Batsim and a decision component, for reports.

    Attributes:
        number: its number in the file, from 1.
        path: the recording that was made of it, or "".
    """

    def __init__(self, number: int, connection: TcpConnection) -> None:
        self.number = number
        self.path = ""
        self._is_ended = False
        self._connection = connection
        asks, answers = (side.socket for side in connection.sides)
        self._batsim = int(not (asks in _ASKING or (not asks and answers in _ANSWERING)))

    @property
    def batsim(self) -> Side:
        """The side of Batsim, which asks."""
        return self._connection.sides[self._batsim]

    @property
    def edc(self) -> Side:
        """The side of the decision component, which answers."""
        return self._connection.sides[1 - self._batsim]

    @property
    def is_over(self) -> bool:
        """Whether both sides have sent everything, or nothing more of it is read."""
        return self._is_ended or self._connection.is_over

    def end(self) -> None:
        """Nothing more of it is read."""
        self._is_ended = True

    @property
    def messages(self) -> int:
        """The number of messages."""
        return self.batsim.whole + self.edc.whole

    @property
    def lost(self) -> int:
        """The number of messages that are known to be lost or could not be read."""
        return self.batsim.faults.total() + self.edc.faults.total()

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is known to be missing."""
        return not self.lost and not any(side.reason or side.is_unknown for side in (self.batsim, self.edc))

    @property
    def remarks(self) -> list[str]:
        """The missing parts of it, and the segments that were put right, each as a sentence."""
        found = []
        for name, side in (("Batsim", self.batsim), ("the decision component", self.edc)):
            for reason, count in side.faults.items():
                words = "1 message" if count == 1 else f"{count:,} messages"
                found.append(f"{words} from {name} left out: {reason}")
            if side.is_unknown:
                found.append(
                    f"nothing from {name} could be read: its beginning was not captured ({side.bytes:,} bytes)"
                )
            elif side.reason:
                words = f"{side.frames.unread:,} bytes from {name} could not be read"
                found.append(f"{words}: {side.reason}")
        if right := self._put_right():
            found.append(right)
        return found

    @property
    def missing(self) -> str:
        """The missing parts of it, as a text, or ""."""
        return "; ".join(remark for remark in self.remarks if remark != self._put_right())

    def _put_right(self) -> str:
        again = sum(side.stream.again for side in self._connection.sides)
        early = sum(side.stream.early for side in self._connection.sides)
        parts = [f"{again:,} sent again"] if again else []
        parts += [f"{early:,} out of order"] if early else []
        return f"segments put right: {', '.join(parts)}" if parts else ""

    def take(self, said: Said) -> Captured:
        """A message of it."""
        direction = Direction.BATSIM_TO_EDC if said.side == self._batsim else Direction.EDC_TO_BATSIM
        return Captured(self, direction, said.message.data or b"", said.message.time)


class Traffic:
    """A file of captured traffic. Iterate over it once; then its attributes are complete.

    Args:
        path: the file, pcap or pcapng, compressed by gzip or xz or not; `-` is standard input.

    Attributes:
        name: the file, for reports.
        conversations: the conversations.
        left_out: what was left out of the file, by reason, with the numbers of its packets.
        remarks: remarks about the file, as sentences.
        packets: the number of packets.
        others: the number of connections that are not of ZeroMQ, as far as the capture shows.
        unknown: how many of these begin before the capture, so that nobody knows.
        unknown_bytes: the bytes of these.
        is_damaged: whether packets are missing, by the file itself.

    Raises:
        CaptureError: the file is not a capture of network traffic.
        OSError: it cannot be read.
        PackageMissing: dpkt is not installed, which reads the headers of packets.

    >>> from batprotocol.recordings.traffic import Traffic
    >>> for message in Traffic("run.pcapng"):  # doctest: +SKIP
    ...     print(message.direction, len(message.data))
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = "standard input" if path == "-" else os.fspath(path)
        self._path = path
        self._dissector = Dissector()
        self._room = MemoryBudget(MEMORY)
        self._open: dict[frozenset[End], TcpConnection] = {}
        self._known: dict[int, CapturedConversation] = {}
        self._count = 0
        self._shed_at = 0
        self.conversations: list[CapturedConversation] = []
        self.left_out = LeftOut()
        self.remarks: list[str] = []
        self.packets = self.others = self.unknown = self.unknown_bytes = 0
        self.is_damaged = False

    def __iter__(self) -> Iterator[Captured]:
        with opened(self._path) as file:
            packets = Packets(file, self.name)
            for number, time, link, data in packets:
                self.packets = number
                try:
                    segment = self._dissector.segment(link, data)
                except NotASegment as reason:
                    self.left_out.row(str(reason), number)
                    continue
                if segment is not None:
                    yield from self._take(segment, number, time)
        for connection in self._open.values():
            yield from self._end(connection)
        self._open.clear()
        self._remark(packets)

    def _remark(self, packets: Packets) -> None:
        self.packets = packets.number
        self.is_damaged = bool(packets.end or packets.skipped or packets.dropped)
        if packets.end:
            self.remarks.append(packets.end)
        if packets.skipped:
            self.remarks.append(f"{packets.skipped:,} of its packets have no interface that describes them")
        if packets.dropped:
            self.remarks.append(f"the program that captured it reports {packets.dropped:,} lost packets")
        if self.unknown:
            words = "a connection begins" if self.unknown == 1 else f"{self.unknown:,} connections begin"
            self.remarks.append(
                f"{words} before the capture, and {self.unknown_bytes:,} bytes could not be read: the first bytes of a "
                "connection show whether it is of ZeroMQ, and where its messages begin"
            )

    def _take(self, segment: Segment, number: int, time: int) -> Iterator[Captured]:
        if len(segment.data) < segment.size:
            self.left_out.value("the packet was not captured to its end", number)
        key = frozenset((segment.source, segment.target))
        connection = self._open.get(key)
        if connection is not None and connection.is_new(segment):
            yield from self._end(self._open.pop(key))
            connection = None
        if connection is None:
            if len(self._open) >= MOST_CONNECTIONS and number >= self._shed_at:
                self._shed_at = number + MOST_CONNECTIONS
                yield from self._shed()
            if len(self._open) >= MOST_CONNECTIONS:
                self.left_out.row(f"more than {MOST_CONNECTIONS:,} connections are open at the same time", number)
                return
            self._count += 1
            connection = self._open[key] = TcpConnection(self._count, segment, self._room)
        yield from self._said(connection, connection.take(segment, number, time))

    def _shed(self) -> Iterator[Captured]:
        """Forget the connections that are over or of others."""
        for key, connection in list(self._open.items()):
            if connection.is_over or connection.is_ours is not True:
                yield from self._end(self._open.pop(key))

    def _end(self, connection: TcpConnection) -> Iterator[Captured]:
        yield from self._said(connection, connection.end())
        conversation = self._known.pop(connection.number, None)
        if conversation is not None:
            conversation.end()
        elif connection.is_listed:
            return
        elif connection.is_ours:
            if reason := self._refusal(connection):
                self.left_out.row(f"a connection of ZeroMQ: {reason}", self.packets)
            else:
                self._add(connection).end()
                del self._known[connection.number]
        elif any(side.bytes for side in connection.sides):
            self.others += 1
            if any(side.is_unknown for side in connection.sides):
                self.unknown += 1
                self.unknown_bytes += sum(side.bytes for side in connection.sides)

    def _said(self, connection: TcpConnection, said: Iterator[Said]) -> Iterator[Captured]:
        for each in said:
            conversation = self._known.get(connection.number)
            if conversation is None:
                if reason := self._refusal(connection):
                    self.left_out.row(f"a message: {reason}", each.message.number)
                    continue
                conversation = self._add(connection)
            yield conversation.take(each)

    def _add(self, connection: TcpConnection) -> CapturedConversation:
        conversation = CapturedConversation(len(self.conversations) + 1, connection)
        self._known[connection.number] = conversation
        connection.is_listed = True
        self.conversations.append(conversation)
        return conversation

    def _refusal(self, connection: TcpConnection) -> str:
        """Why a connection of ZeroMQ is not a conversation that is read, or ""."""
        first, second = (side.socket for side in connection.sides)
        known = {first, second}
        if len(known & _ASKING) > 1 or len(known & _ANSWERING) > 1 or not known <= {*_ASKING, *_ANSWERING, ""}:
            return f"its sockets are {first or 'unknown'} and {second or 'unknown'}, expected REQ and REP"
        if known == {""}:
            return "the types of its sockets were not captured"
        if first == second:
            return f"its sockets are both {first}, expected REQ and REP"
        if len(self._known) >= MOST_AT_ONCE:
            self._known = {number: each for number, each in self._known.items() if not each.is_over}
        if len(self.conversations) >= MOST_CONVERSATIONS or len(self._known) >= MOST_AT_ONCE:
            return f"the capture has more than {MOST_CONVERSATIONS:,} conversations, or {MOST_AT_ONCE} at the same time"
        return ""


def record(
    traffic: Traffic, path: str | os.PathLike[str], progress: Callable[[int], object] = lambda count: None
) -> None:
    """Write a recording of each conversation in a file of captured traffic.

    Args:
        traffic: the file, which is read by this.
        path: the recording of the first conversation; its ending selects the format, as for `Recorder`. Those of the
            others have their number before the ending: `run.mcap`, `run-2.mcap`.
        progress: called for each message with the number of messages so far.

    Raises:
        CaptureError: the file is not a capture of network traffic, or it has no conversation.
        OSError: a recording cannot be written, or exists.
    """
    recordings: dict[int, _Recording] = {}
    try:
        for count, message in enumerate(traffic, 1):
            conversation = message.conversation
            if conversation.number not in recordings:
                for number in [number for number, each in recordings.items() if each.conversation.is_over]:
                    recordings.pop(number).close()
                conversation.path = _numbered(os.fspath(path), conversation.number)
                recordings[conversation.number] = _Recording(conversation, traffic.name)
            recordings[conversation.number].write(message)
            progress(count)
        while recordings:
            recordings.popitem()[1].close()
    finally:
        for each in recordings.values():
            each.abandon()
    if not any(conversation.messages for conversation in traffic.conversations):
        raise CaptureError(_nothing(traffic), traffic.name)


def _nothing(traffic: Traffic) -> str:
    why = "".join(f"; {remark}" for remark in traffic.remarks[:1])
    return f"holds no message between a Batsim and a decision component over ZeroMQ and TCP{why}"


def _numbered(path: str, number: int) -> str:
    if number == 1:
        return path
    ending = next((each for each in _ENDINGS if path.endswith(each)), "")
    return f"{path.removesuffix(ending)}-{number}{ending}"


class _Recording:
    """A recording while it is written."""

    def __init__(self, conversation: CapturedConversation, source: str) -> None:
        self.conversation = conversation
        batsim, edc = conversation.batsim.end, conversation.edc.end
        self._about = facts(captured=source, batsim=batsim, edc=edc)
        self._recorder = Recorder(conversation.path, self._about)
        self._walls = ["number,wall"]

    def write(self, message: Captured) -> None:
        if not self._recorder.is_mcap:
            self._walls.append(f"{len(self._walls) - 1},{message.wall}")
        self._recorder.write(message.direction, message.data, message.wall)

    def close(self) -> None:
        conversation = self.conversation
        if missing := conversation.missing:
            self._about["missing"] = missing
        if not self._recorder.is_mcap:
            self._recorder.keep(METADATA, json.dumps(self._about, indent=1).encode())
            self._recorder.keep(WALL, "\n".join([*self._walls, ""]).encode())
        self._recorder.close()

    def abandon(self) -> None:
        """Close it after an error: what was written stays, and an error of closing must not replace the first one."""
        with suppress(OSError):
            self._recorder.close()
