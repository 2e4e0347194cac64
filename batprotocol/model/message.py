"""The message: the events that one side sends in one turn."""

from __future__ import annotations

from typing import Any

from batprotocol.model.events import Event
from batprotocol.model.value import TupleOf, Value, tuples_into

__all__ = ["Message"]

formats: dict[str, Any] = {}
"""The wire formats by name. `batprotocol.wire` fills it in, because values must not import the layer above them."""


class Message(Value, frozen=True):
    """The events that one side sends in one turn, and the time of the message.

    Args:
        now: the time at which the message is sent, in simulated seconds. In a message to Batsim, a `now` later than the
            time of Batsim's message is think time: the simulation advances to `now`.
        events: the events in ascending order of their `timestamp`, each <= `now`. A message with a later event is
            not written, unless the caller allows late events.

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
        """Read a message from a flatbuffer, made by Batsim or by any other writer of the schema.

        Args:
            data: the flatbuffer. Bytes after it are ignored, and so are fields that only a newer schema has.

        Raises:
            DecodeError: the data is not a valid message; the error has the place and what was expected.
        """
        message: Message = formats["binary"].decode(data)
        return message

    def to_binary(self, *, allow_late_events: bool = False) -> bytes:
        """Write the message as a flatbuffer.

        Args:
            allow_late_events: write events that are later than `now`, on which Batsim aborts. By default (False), they
                are refused. Tests of other programs, and tools for recorded messages, need them.

        Raises:
            EncodeError: the wire cannot hold the value of a field, or an event is later than the message; the error
                names the field.
        """
        data: bytes = formats["binary"].encode(self, allow_late_events=allow_late_events)
        return data

    @classmethod
    def from_json(cls, data: str | bytes | bytearray | memoryview, *, strict: bool = True) -> Message:
        """Read a message from JSON text, in the dialect of JSON that Batsim's parser reads.

        Args:
            data: the text. Everything after the first NUL is ignored.
            strict: refuse fields that the schema does not have, as Batsim does (default True). False ignores them.

        Raises:
            DecodeError: the text is not a valid message. Batsim's parser refuses it too.
        """
        message: Message = formats["json"].decode(data, strict=strict)
        return message

    def to_json(self, indent: int | None = None, *, allow_late_events: bool = False) -> str:
        """Write the message as JSON text that Batsim reads, without the NUL that ends it on the wire.

        Doubles are written in the shortest form that reads back equal.

        Args:
            indent: the number of spaces for each level; None (default) writes one line.
            allow_late_events: write events that are later than `now`, as in `to_binary` (default False).

        Raises:
            EncodeError: the wire cannot hold the value of a field, an event is later than the message, the text is
                longer than `batprotocol.wire.json.MAX_TEXT`, or `indent` is invalid.
        """
        text: str = formats["json"].dumps(self, indent, allow_late_events=allow_late_events)
        return text
