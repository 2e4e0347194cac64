"""The connections of TCP in a capture, and what the two sides of each say by ZeroMQ.

This module must not know files, or what messages hold.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from batprotocol.recordings.traffic.frames import Command, Frames, Greeting, Message, is_greeting, properties
from batprotocol.recordings.traffic.links import ACK, FIN, RST, SYN, End, Segment
from batprotocol.recordings.traffic.streams import Piece, Room, Stream

__all__ = ["Connection", "Said", "Side"]

_PLAIN: Final = ("NULL", "PLAIN")
"""The mechanisms that do not encrypt."""
_ENTRY: Final = 200
"""The bytes that a message takes besides its own."""


class Said(NamedTuple):
    """A message of one side."""

    side: int
    message: Message


class Side:
    """One side of a connection, for reports.

    Attributes:
        end: its address and port.
        socket: the type of its socket, such as `REQ`, or "" if that was not captured.
        whole: the number of messages that were read.
        faults: how many messages could not be read, by reason.
        reason: why nothing more of it could be read, or "".
    """

    def __init__(self, end: End, room: Room) -> None:
        self.end = end
        self.socket = ""
        self.mechanism = ""
        self.whole = 0
        self.faults: Counter[str] = Counter()
        self.reason = ""
        self.stream = Stream(room)
        self.frames = Frames(room)
        self.bytes = 0
        """The number of captured bytes."""
        self.is_unknown = False
        """Whether it begins before the capture."""
        self.is_greeted = False


class Connection:
    """A connection.

    Args:
        number: its number.
        segment: its first segment.
        room: the memory that all connections share.

    Attributes:
        sides: the sender of the first segment, and the other one.
        is_over: whether both sides have sent everything, or one has given up.
        is_listed: whether it is one of the conversations of the capture.
    """

    def __init__(self, number: int, segment: Segment, room: Room) -> None:
        self.number = number
        self.sides = (Side(segment.source, room), Side(segment.target, room))
        self.is_over = False
        self.is_listed = False
        self._room = room
        self._waiting: tuple[deque[Message], deque[Message]] = (deque(), deque())

    def is_new(self, segment: Segment) -> bool:
        """Whether a segment begins another connection between the same ends."""
        if segment.flags & (SYN | ACK) != SYN:
            return False
        side = self.sides[self._of(segment)]
        if side.stream.is_open:  # an equal number is the same segment again
            return side.stream.first != (segment.seq + 1) % 2**32
        return side.is_unknown

    def _of(self, segment: Segment) -> int:
        return int(segment.source != self.sides[0].end)

    def take(self, segment: Segment, number: int, time: int) -> Iterator[Said]:
        """Take a segment, and yield the messages that are whole and whose turn it is."""
        if self.is_over:
            return
        place = self._of(segment)
        side, other = self.sides[place], self.sides[1 - place]
        seq = segment.seq
        if segment.flags & SYN:
            seq = (seq + 1) % 2**32
            if not side.stream.is_open and not side.is_unknown:
                side.stream.begin(seq)
        if segment.data:
            self._begin(side, seq, segment.data)
            side.bytes += len(segment.data)
            if side.stream.is_open and self.is_ours is not False:
                ack = other.stream.place(segment.ack) if segment.flags & ACK else -1
                self._read(place, side.stream.take(seq, segment.data, number, time, ack))
        if segment.flags & ACK and other.stream.is_open:
            other.stream.acknowledge(segment.ack)
        if side.stream.is_waiting or other.stream.is_waiting:
            for index, each in enumerate(self.sides):
                self._read(index, each.stream.wait())
        if segment.flags & FIN and side.stream.is_open:
            side.stream.finish((seq + segment.size) % 2**32)
        self.is_over = bool(segment.flags & RST) or (side.stream.is_done and other.stream.is_done)
        if any(self._waiting) and not (side.stream.is_waiting or other.stream.is_waiting):
            yield from self._release()

    def _begin(self, side: Side, seq: int, data: bytes) -> None:
        """Begin with the first segment of a side whose opening was not captured, if it has the greeting."""
        if side.stream.is_open or side.is_unknown:
            return
        if is_greeting(data) and len(data) >= 2:
            side.stream.begin(seq)
        else:
            side.is_unknown = True

    def _read(self, place: int, pieces: Iterator[Piece]) -> None:
        side = self.sides[place]
        for piece in pieces:
            for found in side.frames.feed(piece):
                if isinstance(found, Message):
                    self._waiting[place].append(found)
                    self._room.hold(_ENTRY + len(found.data or b""))
                elif isinstance(found, Greeting):
                    side.is_greeted = True
                    side.mechanism = found.mechanism
                elif isinstance(found, Command):
                    if found.name == "READY" and not side.socket:
                        side.socket = properties(found.data).get("socket-type", b"").decode("ascii", "replace")[:20]
                else:
                    side.reason = found.reason

    def _release(self) -> Iterator[Said]:
        """The messages of both sides in their order.

        A message comes before one whose sender had it. Where no sender had the other's, the first packet is first.
        """
        first, second = self._waiting
        while first or second:
            place = int(not first or (bool(second) and _is_before(second[0], first[0])))
            message, side = self._waiting[place].popleft(), self.sides[place]
            self._room.release(_ENTRY + len(message.data or b""))
            if self.is_encrypted:
                side.faults["it is encrypted"] += 1
            elif message.data is None:
                side.faults[message.fault] += 1
            else:
                side.whole += 1
                yield Said(place, message)

    @property
    def is_ours(self) -> bool | None:
        """Whether it is known to be of ZeroMQ; None: not yet."""
        if any(side.is_greeted for side in self.sides):
            return True
        return False if all(side.is_unknown or side.reason for side in self.sides) else None

    @property
    def is_encrypted(self) -> bool:
        """Whether the sides have agreed on encryption."""
        return any(side.mechanism and side.mechanism not in _PLAIN for side in self.sides)

    def end(self) -> Iterator[Said]:
        """The connection or the capture has ended: yield the rest."""
        for place, side in enumerate(self.sides):
            if side.stream.is_open:
                self._read(place, side.stream.end())
            if side.is_greeted and side.frames.is_within:
                side.faults["the capture or the connection ends within it"] += 1
            side.frames.end()
        yield from self._release()


def _is_before(one: Message, other: Message) -> bool:
    """Whether a message of one side comes before a message of the other."""
    if other.ack >= one.end:
        return True
    return one.ack < other.end and one.number < other.number
