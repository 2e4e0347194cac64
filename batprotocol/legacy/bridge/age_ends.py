"""The ends of a bridge that speak the current protocol in another age, with a schema of its own, over ZeroMQ.

The bridge assumes the frames and the handshake of the current protocol. If a Batsim has no initialization data for its
scheduler, and begins with its own hello instead, the bridge answers in the way of that Batsim.
"""

from __future__ import annotations

from collections.abc import Callable

from batprotocol._util.sockets import Requester
from batprotocol.errors import DecodeError
from batprotocol.legacy.bridge.json_ends import NewBatsim
from batprotocol.legacy.translate.ages import AgeTranslation
from batprotocol.model import Message
from batprotocol.schemas import Codec, Record
from batprotocol.wire import frames
from batprotocol.wire.reflection import Schema

__all__ = ["AgedBatsim", "AgedScheduler"]


def _decode(codec: Codec, data: bytes, format: str) -> Record:
    return codec.from_json(data) if format == "json" else codec.decode(data)


def _encode(codec: Codec, record: Record, format: str) -> bytes:
    return codec.to_json(record).encode() + b"\0" if format == "json" else codec.encode(record)


class AgedBatsim(NewBatsim):
    """A Batsim of another age, which connects to an endpoint of the bridge.

    Args:
        endpoint: the endpoint that it connects to.
        schema: the schema of its age.
        format: the format of the conversation, "binary" or "json".
        timeout: how many seconds to wait for each message; None: no limit.
        on_wait: called every 0.2 seconds while waiting; an exception that it raises ends the wait.
    """

    def __init__(
        self,
        endpoint: str,
        schema: Schema,
        format: str = "binary",
        *,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(endpoint, format, timeout=timeout, on_wait=on_wait)
        self._to = AgeTranslation(schema)
        self.report = self._to.report
        self._is_framed = True

    def begin(self) -> str:
        frame = self._frame()
        try:
            return frames.decode_init(frame)
        except DecodeError:
            self._is_framed = False
            self._name = "json" if frame[:1] == b"{" else "binary"
            self._to.to_today(_decode(self._to.codec, frame, self._name))
            return ""

    def greet(self, hello: Message) -> None:
        data = _encode(self._to.codec, self._to.from_today(hello), self._name)
        self._reply(frames.flagged(data, self._name) if self._is_framed else data)

    def receive(self) -> Message:
        self._to.next_turn()
        return self._to.to_today(_decode(self._to.codec, self._frame(), self._name))

    def send(self, message: Message) -> None:
        self._reply(_encode(self._to.codec, self._to.from_today(message), self._name))


class AgedScheduler(Requester):
    """A scheduler of another age that listens at an endpoint: a decision component for `drive` and `simulate`.

    Args:
        endpoint: the endpoint where it listens.
        schema: the schema of its age.
        timeout: how many seconds to wait for each answer; None: no limit.
        on_wait: called every 0.2 seconds while waiting; an exception that it raises ends the wait.
    """

    def __init__(
        self,
        endpoint: str,
        schema: Schema,
        *,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(endpoint, timeout=timeout, on_wait=on_wait)
        self._to = AgeTranslation(schema)
        self.report = self._to.report
        self._format = "binary"

    def hello(self, text: str) -> Message:
        """The hello, for these initialization data. They determine the format of the conversation."""
        frame = self.exchange(frames.encode_init(text))
        self._format = frames.format_of(frame)
        return self._to.to_today(_decode(self._to.codec, frame[4:], self._format))

    def answer(self, message: Message) -> Message:
        """The reply to a message."""
        self._to.next_turn()
        said = _encode(self._to.codec, self._to.from_today(message), self._format)
        return self._to.to_today(_decode(self._to.codec, self.exchange(said), self._format))
