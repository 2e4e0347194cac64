"""One side of a connection of TCP: its segments become bytes in their order, each once.

A segment that comes too early is held until the bytes before it come. They are lost if the other side has them and the
capture does not get them, or if too much is held. This module must not know what the bytes are.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["MOST_HELD", "PATIENCE", "Piece", "Room", "Stream"]

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


class Room:
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


class Stream:
    """One side.

    Args:
        room: the memory for what is held.

    Attributes:
        again: how many segments came again.
        early: how many came before their turn, and were put right.
        is_open: whether the first byte is known.
        first: its number.
    """

    def __init__(self, room: Room) -> None:
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
