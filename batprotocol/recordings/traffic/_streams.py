"""The connections of TCP: segments become bytes in their order, and these become messages of ZMTP 3, in their order.

A segment that comes too early is held until the bytes before it come. They are lost if the other side has them and the
capture does not get them, or if too much is held. A frame of ZMTP has no mark at its beginning. So after a gap, the
next frame is known only if the gap is within the body of a frame.
"""

from __future__ import annotations

import struct
from bisect import insort
from collections import Counter, deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from batprotocol.recordings.traffic._packets import ACK, FIN, RST, SYN, End, Segment

MOST_HELD: Final = 2**23
"""The most bytes of a side that are held, 8 MiB."""
MOST_SEGMENTS: Final = 20_000
"""The most segments of a side that are held."""
PATIENCE: Final = 64
"""The number of packets of the connection for which bytes are waited for that the other side has acknowledged."""
_WINDOW: Final = 2**30
"""The largest window of TCP. A segment further away belongs to something else."""
_ALL: Final = 2**32


class Piece(NamedTuple):
    """Bytes in their order, or a gap.

    Attributes:
        data: the bytes; b"" for a gap.
        lost: the number of bytes that are lost, or 0.
        number: the number of the packet that brought the bytes, or with which their turn came.
        time: its time.
        ack: how many bytes of the other side the sender had when it sent these; -1 if that is not known.
    """

    data: bytes
    lost: int
    number: int
    time: int
    ack: int = -1


class MemoryBudget:
    """The memory that all connections of a capture share.

    Args:
        most: the number of bytes.
    """

    def __init__(self, most: int) -> None:
        self._left = most

    @property
    def is_full(self) -> bool:
        """Whether more is held than there is memory for."""
        return self._left < 0

    def hold(self, count: int) -> None:
        """Hold so many bytes."""
        self._left -= count

    def release(self, count: int) -> None:
        """Hold so many bytes no more."""
        self._left += count


class TcpStream:
    """One side.

    Args:
        room: the memory for what is held.

    Attributes:
        again: how many segments came again.
        early: how many came before their turn, and were put right.
        is_open: whether the first byte is known.
        first: its number.
    """

    def __init__(self, room: MemoryBudget) -> None:
        self._room = room
        self.again = 0
        self.early = 0
        self.is_open = False
        self.first = 0
        self._next = 0
        self._position = 0  # the bytes before `_next`, from the first one on
        self._held: list[tuple[int, int, bytes, int, int]] = []
        self._size = 0
        self._acknowledged = 0
        self._last_position: int | None = None
        self._waited = 0
        self._latest = (0, 0)

    @property
    def is_done(self) -> bool:
        """Whether its last byte is known, and all bytes have come."""
        return self._last_position is not None and self._position >= self._last_position

    @property
    def is_waiting(self) -> bool:
        """Whether bytes are missing before others that have come, or that the other side has."""
        return bool(self._held) or self._acknowledged > self._position

    def begin(self, seq: int) -> None:
        """The number of the first byte is known."""
        self.is_open = True
        self.first = self._next = seq % _ALL

    def at(self, seq: int) -> int:
        """The position of a byte, relative to the next one."""
        return (seq - self._next + _ALL // 2) % _ALL - _ALL // 2

    def place(self, seq: int) -> int:
        """The position of a byte, from the first one on; -1 if the first byte is not known."""
        return self._position + self.at(seq) if self.is_open else -1

    def take(self, seq: int, data: bytes, number: int, time: int, ack: int) -> Iterator[Piece]:
        """Take a segment, and yield the bytes whose turn it is. `ack` is that of `Piece`."""
        ahead = self.at(seq)
        if not -_WINDOW <= ahead <= _WINDOW:
            return
        if ahead + len(data) <= 0:
            self.again += 1
            return
        if ahead > 0:
            insort(self._held, (self._position + ahead, number, data, time, ack))
            self._size += len(data)
            self._room.hold(len(data))
            return
        self.again += ahead < 0
        yield self._deliver(data[-ahead:] if ahead else data, number, time, ack)
        yield from self._drain(number, time)

    def acknowledge(self, ack: int) -> None:
        """The other side has all bytes before this one."""
        ahead = self.at(ack)
        if not 0 < ahead <= _WINDOW:
            return
        place = self._position + ahead
        if self._last_position is not None:  # the end of the connection counts as a byte
            place = min(place, self._last_position)
        self._acknowledged = max(self._acknowledged, place)

    def finish(self, seq: int) -> None:
        """Its last byte is the one before this number."""
        if self._last_position is None and 0 <= self.at(seq) <= _WINDOW:
            self._last_position = self._position + self.at(seq)

    def wait(self) -> Iterator[Piece]:
        """Another packet of the connection has come. Bytes for which this one was the last are lost."""
        if not self.is_waiting:
            self._waited = 0
            return
        self._waited += 1
        is_known = not self._held or self._acknowledged >= self._held[0][0]
        is_late = self._waited > (PATIENCE if is_known else 64 * PATIENCE)
        if is_late or self._room.is_full or self._size > MOST_HELD or len(self._held) > MOST_SEGMENTS:
            yield from self.give_up()

    def give_up(self) -> Iterator[Piece]:
        """Yield what is held up to the next bytes that are missing. The missing ones before it are lost."""
        self._waited = 0
        if self._held:
            place, number, _, time, _ = self._held[0]
            lost = place - self._position
            self._advance(lost)
            yield Piece(b"", lost, number, time)
            yield from self._drain()
        elif (lost := self._acknowledged - self._position) > 0:
            self._advance(lost)
            yield Piece(b"", lost, *self._latest)

    def end(self) -> Iterator[Piece]:
        """The capture or the connection has ended: yield everything."""
        while self._held:
            yield from self.give_up()
        # An acknowledged end of the connection counts as a byte.
        end = self._acknowledged - 1 if self._last_position is None else self._last_position
        lost = end - self._position
        if lost > 0:
            self._advance(lost)
            yield Piece(b"", lost, *self._latest)

    def _drain(self, number: int | None = None, time: int = 0) -> Iterator[Piece]:
        """The held bytes whose turn it is. They count as bytes of the packet that filled the gap."""
        done = 0
        for place, own, data, moment, ack in self._held:
            behind = self._position - place
            if behind < 0:
                break
            done += 1
            self._size -= len(data)
            self._room.release(len(data))
            if behind < len(data):
                yield self._deliver(data[behind:], number or own, time if number else moment, ack)
            else:
                self.again += 1
        if done:
            self.early += done if number else 0
            del self._held[:done]
            self._waited = 0

    def _deliver(self, data: bytes, number: int, time: int, ack: int) -> Piece:
        self._advance(len(data))
        self._latest = number, time
        return Piece(data, 0, number, time, ack)

    def _advance(self, count: int) -> None:
        self._position += count
        self._next = (self._next + count) % _ALL


# ZMTP 3, the protocol of ZeroMQ: the bytes of one side become its greeting, commands and messages


LARGEST: Final = 2**28
"""The maximum size of a message, 256 MiB, as for all files of messages."""
SIGNATURE: Final = 10
"""The number of bytes that show a greeting."""
_GREETING: Final = 64
_MORE, _LONG, _COMMAND = 1, 2, 4
_MOST_FRAMES: Final = 1000
_MOST_PROPERTIES: Final = 100
_SMALL: Final = 1024
"""The bytes of a message that always have memory, so that commands are read."""


class Greeting(NamedTuple):
    """The greeting: the mechanism of security."""

    mechanism: str


class ZmqCommand(NamedTuple):
    """A command, such as READY: its name and its data."""

    name: str
    data: bytes


class ZmqMessage(NamedTuple):
    """A message.

    Attributes:
        data: its bytes, or None if it cannot be read.
        fault: why not, as a part of a sentence, or "".
        number: the number of the packet that made it whole.
        time: the time of that packet.
        end: how many bytes its side has sent with it.
        ack: how many bytes of the other side its sender had; -1 if that is not known.
    """

    data: bytes | None
    fault: str
    number: int
    time: int
    end: int
    ack: int


class Unread(NamedTuple):
    """From here on, nothing of this side can be read; the reason, as a part of a sentence."""

    reason: str


def is_greeting(data: bytes) -> bool:
    """Whether bytes begin as the greeting of ZMTP 3 does; they may be fewer than `SIGNATURE`.

    >>> is_greeting(bytes.fromhex("ff00000000000000017f")), is_greeting(b"HTTP")
    (True, False)
    """
    head = data[:SIGNATURE]
    return bool(head) and head[:8] == (b"\xff" + bytes(7))[: len(head)] and head[9:] in (b"", b"\x7f")


class Frames:
    """The reader of one side.

    Args:
        room: the memory for messages that are not whole.

    Attributes:
        unread: the number of bytes that could not be read because what was before them is missing.
        is_broken: whether nothing more can be read.
    """

    def __init__(self, room: MemoryBudget) -> None:
        self.unread = 0
        self.is_broken = False
        self._room = room
        self._position = 0
        self._head = bytearray()
        self._is_greeted = False
        self._flags = 0
        self._left = -1  # the bytes of the body that are missing; -1: there is no body
        self._body: bytearray | None = None
        self._held = 0
        self._parts: list[bytes] = []
        self._count = 0
        self._size = 0
        self._fault = ""
        self._begin_of_command = b""  # what was captured of a command before its gap

    @property
    def is_within(self) -> bool:
        """Whether something has begun and has not ended."""
        return not self.is_broken and bool(self._head or self._left >= 0 or self._count)

    def feed(self, piece: Piece) -> Iterator[Greeting | ZmqCommand | ZmqMessage | Unread]:
        """Take bytes or a gap, and yield what is whole."""
        if self.is_broken:
            self.unread += len(piece.data) + piece.lost
        elif piece.lost:
            self._position += piece.lost
            yield from self._gap(piece)
        else:
            yield from self._take(piece)

    def _gap(self, piece: Piece) -> Iterator[Greeting | ZmqCommand | ZmqMessage | Unread]:
        if not self._is_greeted and SIGNATURE + 1 < len(self._head) <= _GREETING - piece.lost:
            self._head += bytes(piece.lost)  # the size of a greeting is known, as soon as its version is
            if len(self._head) == _GREETING:
                yield self._greeted()
            return
        if self._left < piece.lost:
            self.unread += piece.lost
            if self._left >= 0 or self._count or self._head:
                yield self._message(None, "bytes of it were not captured", piece)
            yield self._break("bytes were not captured, and the beginning of the next frame is not known")
            return
        self._fault = self._fault or "bytes of it were not captured"
        if self._flags & _COMMAND:
            self._begin_of_command = self._begin_of_command or bytes(self._body or b"")
        self._forget()
        self._left -= piece.lost
        if not self._left:
            yield from self._end_of_frame(piece)

    def _take(self, piece: Piece) -> Iterator[Greeting | ZmqCommand | ZmqMessage | Unread]:
        data, place, begin = memoryview(piece.data), 0, self._position
        while place < len(data) and not self.is_broken:
            if self._left < 0:
                self._head.append(data[place])
                place += 1
                found = self._begun()
                if found is not None:
                    yield found
            if self._left > 0 and place < len(data):
                part = data[place : place + self._left]
                place += len(part)
                self._left -= len(part)
                if self._body is not None:
                    self._body += part
                    if self._size > _SMALL:
                        self._hold(len(part))
            if self._left == 0:
                self._position = begin + place
                yield from self._end_of_frame(piece)
        self._position = begin + len(data)
        self.unread += len(data) - place

    def _begun(self) -> Greeting | Unread | None:
        """Look at what was read of a greeting or of the header of a frame."""
        head = self._head
        if not self._is_greeted:
            if len(head) <= SIGNATURE and not is_greeting(bytes(head)):
                return self._break("it does not begin with the greeting of ZeroMQ")
            if len(head) == SIGNATURE + 1 and head[SIGNATURE] < 3:
                return self._break(f"it is of version {max(1, head[SIGNATURE] + 1)} of ZeroMQ's protocol, expected 3")
            return self._greeted() if len(head) == _GREETING else None
        flags = head[0]
        if flags > 7:
            return self._break("its frames are not those of ZeroMQ")
        if len(head) < (9 if flags & _LONG else 2):
            return None
        self._flags = flags
        (self._left,) = struct.unpack(">Q", head[1:]) if flags & _LONG else (head[1],)
        head.clear()
        self._count += 1
        self._size += self._left
        if self._size > LARGEST:
            self._fault = self._fault or f"it is larger than {LARGEST:,} bytes"
        elif self._count > _MOST_FRAMES:
            self._fault = self._fault or f"it has more than {_MOST_FRAMES:,} frames"
        self._body = None if self._fault else bytearray()
        if self._fault:
            self._forget()
        return None

    def _greeted(self) -> Greeting:
        head = bytes(self._head)
        self._head.clear()
        self._is_greeted = True
        mechanism = head[12:32].rstrip(b"\0").decode("ascii", "replace")
        return Greeting(mechanism)

    def _end_of_frame(self, piece: Piece) -> Iterator[Greeting | ZmqCommand | ZmqMessage | Unread]:
        self._left = -1
        body, self._body = self._body, None
        if self._flags & _COMMAND:
            known = self._begin_of_command if body is None else bytes(body)
            if known:
                yield ZmqCommand(known[1 : 1 + known[0]].decode("ascii", "replace"), known[1 + known[0] :])
            self._restart()
            return
        if body is not None:
            self._parts.append(bytes(body))
        if self._flags & _MORE:
            return
        parts, fault = self._parts, self._fault
        self._restart()
        if fault:
            yield self._message(None, fault, piece)
            return
        if b"" in parts[:-1]:  # the end of the envelope
            parts = parts[parts.index(b"") + 1 :]
        if len(parts) == 1:
            yield self._message(parts[0], "", piece)
        else:
            yield self._message(None, f"it has {len(parts)} frames, expected one", piece)

    def _message(self, data: bytes | None, fault: str, piece: Piece) -> ZmqMessage:
        return ZmqMessage(data, fault, piece.number, piece.time, self._position, piece.ack)

    def _hold(self, count: int) -> None:
        self._held += count
        self._room.hold(count)
        if self._room.is_full:
            self._fault = "too much was not whole at the same time"
            self._forget()

    def _forget(self) -> None:
        """Hold nothing of the message."""
        self._room.release(self._held)
        self._held = 0
        self._body = None
        self._parts = []

    def _restart(self) -> None:
        self._forget()
        self._count = self._size = 0
        self._fault = ""
        self._begin_of_command = b""

    def _break(self, reason: str) -> Unread:
        self.is_broken = True
        self.unread += len(self._head)
        self._head.clear()
        self._restart()
        return Unread(reason)

    def end(self) -> None:
        """Hold nothing more."""
        self._restart()
        self._head.clear()
        self._left = -1


def properties(data: bytes) -> dict[str, bytes]:
    """The properties in the data of the command READY, by their names in lower case, as far as they can be read."""
    found: dict[str, bytes] = {}
    place = 0
    while place < len(data) and len(found) < _MOST_PROPERTIES:
        name = data[place + 1 : place + 1 + data[place]]
        place += 1 + data[place]
        size = int.from_bytes(data[place : place + 4], "big")
        if place + 4 + size > len(data):
            break
        found[name.decode("ascii", "replace").lower()] = data[place + 4 : place + 4 + size]
        place += 4 + size
    return found


# Both sides of a connection, and their messages in order


_PLAIN: Final = ("NULL", "PLAIN")
"""The mechanisms that do not encrypt."""
_ENTRY: Final = 200
"""The bytes that a message takes besides its own."""


class Said(NamedTuple):
    """A message of one side."""

    side: int
    message: ZmqMessage


class Side:
    """One side of a connection, for reports.

    Attributes:
        end: its address and port.
        socket: the type of its socket, such as `REQ`, or "" if that was not captured.
        whole: the number of messages that were read.
        faults: how many messages could not be read, by reason.
        reason: why nothing more of it could be read, or "".
    """

    def __init__(self, end: End, room: MemoryBudget) -> None:
        self.end = end
        self.socket = ""
        self.mechanism = ""
        self.whole = 0
        self.faults: Counter[str] = Counter()
        self.reason = ""
        self.stream = TcpStream(room)
        self.frames = Frames(room)
        self.bytes = 0
        """The number of captured bytes."""
        self.is_unknown = False
        """Whether it begins before the capture."""
        self.is_greeted = False


class TcpConnection:
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

    def __init__(self, number: int, segment: Segment, room: MemoryBudget) -> None:
        self.number = number
        self.sides = (Side(segment.source, room), Side(segment.target, room))
        self.is_over = False
        self.is_listed = False
        self._room = room
        self._waiting: tuple[deque[ZmqMessage], deque[ZmqMessage]] = (deque(), deque())

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
                if isinstance(found, ZmqMessage):
                    self._waiting[place].append(found)
                    self._room.hold(_ENTRY + len(found.data or b""))
                elif isinstance(found, Greeting):
                    side.is_greeted = True
                    side.mechanism = found.mechanism
                elif isinstance(found, ZmqCommand):
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


def _is_before(one: ZmqMessage, other: ZmqMessage) -> bool:
    """Whether a message of one side comes before a message of the other."""
    if other.ack >= one.end:
        return True
    return one.ack < other.end and one.number < other.number
