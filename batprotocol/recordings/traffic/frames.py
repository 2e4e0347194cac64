"""ZMTP 3, the protocol of ZeroMQ: the bytes of one side become its greeting, commands and messages.

A frame has no mark at its beginning. So after a gap, the next frame is known only if the gap is within the body of a
frame. This module must not know TCP, or what messages hold.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from batprotocol.recordings.traffic.streams import Piece, Room

__all__ = ["LARGEST", "SIGNATURE", "Command", "Frames", "Greeting", "Message", "Unread", "is_greeting", "properties"]

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


class Command(NamedTuple):
    """A command, such as READY: its name and its data."""

    name: str
    data: bytes


class Message(NamedTuple):
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

    def __init__(self, room: Room) -> None:
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

    def feed(self, piece: Piece) -> Iterator[Greeting | Command | Message | Unread]:
        """Take bytes or a gap, and yield what is whole."""
        if self.is_broken:
            self.unread += len(piece.data) + piece.lost
        elif piece.lost:
            self._position += piece.lost
            yield from self._gap(piece)
        else:
            yield from self._take(piece)

    def _gap(self, piece: Piece) -> Iterator[Greeting | Command | Message | Unread]:
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

    def _take(self, piece: Piece) -> Iterator[Greeting | Command | Message | Unread]:
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

    def _end_of_frame(self, piece: Piece) -> Iterator[Greeting | Command | Message | Unread]:
        self._left = -1
        body, self._body = self._body, None
        if self._flags & _COMMAND:
            known = self._begin_of_command if body is None else bytes(body)
            if known:
                yield Command(known[1 : 1 + known[0]].decode("ascii", "replace"), known[1 + known[0] :])
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

    def _message(self, data: bytes | None, fault: str, piece: Piece) -> Message:
        return Message(data, fault, piece.number, piece.time, self._position, piece.ack)

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
