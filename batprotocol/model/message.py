"""The message: what one side says in one turn."""

from __future__ import annotations

from typing import Any

from batprotocol.model.events import Event
from batprotocol.model.fields import TupleOf
from batprotocol.model.value import Value, tuples_into

__all__ = ["Message"]

formats: dict[str, Any] = {}
"""The wire formats by name, filled in by `batprotocol.wire`: values must not know of the floor above them."""


class Message(Value, frozen=True):
    """The events of one turn, and its time.

    Args:
        now: the time at which the message is sent, in simulated seconds. In a message to Batsim, a `now` later than the
            simulation's is think time: Batsim lets that much time pass.
        events: the events, each with a `timestamp` <= `now`, in ascending order.

    >>> Message.from_json('{"now": 1.5, "events": []}')
    Message(now=1.5, events=())
    """

    now: float
    events: TupleOf[Event] = ()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if type(self.events) is not tuple:
            tuples_into(self, "events")

    @classmethod
    def from_binary(cls, data: bytes | bytearray | memoryview) -> Message:
        """Read a message from a flatbuffer, as Batsim or any other writer of the schema made it.

        Bytes after the flatbuffer and fields that only a newer schema has are ignored. `DecodeError` on all else.
        """
        message: Message = formats["binary"].decode(data)
        return message

    def to_binary(self) -> bytes:
        """The message as a flatbuffer. `EncodeError` names a field that the wire cannot carry."""
        data: bytes = formats["binary"].encode(self)
        return data

    @classmethod
    def from_json(cls, data: str | bytes | bytearray | memoryview, *, strict: bool = True) -> Message:
        """Read a message from JSON text, in the dialect that Batsim's parser reads.

        Args:
            data: the text; what follows a first NUL is ignored.
            strict: refuse fields that the schema does not have, as Batsim does. False skips them.

        Raises:
            DecodeError: Batsim's parser would refuse this text too.
        """
        message: Message = formats["json"].decode(data, strict=strict)
        return message

    def to_json(self, indent: int | None = None) -> str:
        """The message as JSON text that Batsim accepts, without the NUL that ends it on the wire.

        Args:
            indent: spaces for each level, or None: one line.

        Doubles are written in the shortest form that reads back equal. `EncodeError` names a field that the wire
        cannot carry, or says that the text would be too long (`batprotocol.wire.json.MAX_TEXT`), or the `indent` wrong.
        """
        text: str = formats["json"].dumps(self, indent=indent)
        return text
