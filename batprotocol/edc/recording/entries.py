"""An entry of a capture: a message of the conversation, decoded on demand."""

from __future__ import annotations

from math import nan
from typing import Final

from batprotocol.edc.recording import Names
from batprotocol.errors import DecodeError
from batprotocol.model import Direction, Message
from batprotocol.wire import decode, decode_binary, detect, frames
from batprotocol.wire.frames import time_of

__all__ = ["Entry"]

_UNASKED: Final = nan
"""The mark of a time that was not read yet. No time is this object."""
_USUAL: Final = Names()


class Entry:
    """A message or a handshake frame of a capture.

    Attributes:
        number: its number in the conversation, from 0.
        direction: its direction.
        data: its bytes, as they were on the wire.
        wall: the time of its recording, in nanoseconds since 1970, or None if the recording does not have it.
        names: the names of messages in the recording.

    Two entries are equal if they have the same number, direction and bytes.
    """

    __slots__ = ("_broken", "_content", "_time", "data", "direction", "names", "number", "wall")

    def __init__(
        self,
        number: int,
        direction: Direction,
        data: bytes,
        wall: int | None = None,
        broken: str = "",
        names: Names = _USUAL,
    ) -> None:
        self.number = number
        self.direction = direction
        self.data = data
        self.wall = wall
        self._broken = broken
        self.names = names
        self._time: float | None = _UNASKED
        self._content: tuple[Message | None, DecodeError | None] | None = None

    @property
    def kind(self) -> str:
        """The kind of the bytes: `"init"` or `"hello"` for a frame of the handshake, else `"binary"` or `"json"`.

        Frames occur only at the beginning of a conversation. Data that are not a message count as `"binary"`.
        """
        kind = detect(self.data)
        if kind == "init":
            return kind if self.number == 0 and self.direction is Direction.BATSIM_TO_EDC else "binary"
        if kind == "hello":
            return kind if self.number <= 1 and self.direction is Direction.EDC_TO_BATSIM else "binary"
        return kind

    @property
    def time(self) -> float | None:
        """Its simulated time, `now`, in seconds. None for the handshake, and for data that are not a message."""
        if self._time is _UNASKED:
            self._time = time_of(self.data)
        return self._time

    @property
    def message(self) -> Message | None:
        """The message, also if it is in the frame of message 1. None for initialization data, and if it cannot be read.

        Fields that the schema does not have are skipped. Messages of older protocols are None.
        """
        return (self._content or self._read())[0]

    @property
    def fault(self) -> DecodeError | None:
        """The reason why the message cannot be read, or None if it can."""
        return (self._content or self._read())[1]

    @property
    def name(self) -> str:
        """The name of the file of this message in an archive, such as `00004-b2e.bin`."""
        return self.names.of(self.number, self.direction)

    def _read(self) -> tuple[Message | None, DecodeError | None]:
        try:
            self._content = self._decoded(), None
        except DecodeError as fault:
            self._content = None, fault
        return self._content

    def _decoded(self) -> Message | None:
        kind = self.kind
        if self._broken:
            raise DecodeError(self._broken)
        if kind == "init":
            frames.decode_init(self.data)
            return None
        if kind == "hello":
            return frames.decode_hello(self.data, strict=False).message
        return decode(self.data, strict=False) if kind == "json" else decode_binary(self.data)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entry):
            return NotImplemented
        return (self.number, self.direction, self.data) == (other.number, other.direction, other.data)

    def __hash__(self) -> int:
        return hash((self.number, self.direction, self.data))

    def __repr__(self) -> str:
        return f"Entry({self.number}, {self.direction.value}, {len(self.data)} bytes, time={self.time})"
