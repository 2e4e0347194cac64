"""To be Batsim for a decision component at a ZeroMQ endpoint: the REQ socket, and the handshake."""

from __future__ import annotations

import time
from types import TracebackType

import zmq

from batprotocol.errors import DecodeError, PeerGone, PeerSilent
from batprotocol.model import Message
from batprotocol.wire import FORMATS, frames

__all__ = ["RemoteComponent", "connect"]

_TICK = 0.2
"""Seconds after which a wait looks around: for signals, and for a connection that was closed."""
_LINGER = 500
_GRACE = 1.0
"""Seconds that a closed connection has to come back before its component is taken for gone."""


class RemoteComponent:
    """A decision component that listens at an endpoint. Use it in a `with`, which closes the connection.

    Args:
        endpoint: where it listens: `tcp://127.0.0.1:28000`, `ipc:///tmp/edc.sock`. It may begin to do so later.
        timeout: how many seconds to wait for each answer; None: for ever, as Batsim does.

    Raises:
        OSError: this is no endpoint.
    """

    def __init__(self, endpoint: str, *, timeout: float | None = None) -> None:
        self.endpoint = endpoint
        self.timeout = timeout
        self._format = FORMATS["binary"]
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.REQ)
        self._socket.linger = _LINGER
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_CONNECTED | zmq.EVENT_DISCONNECTED)
        self._gone_since: float | None = None
        try:
            self._socket.connect(endpoint)
        except zmq.ZMQError as error:
            self.close()
            reason = "this is no endpoint, which would be tcp://127.0.0.1:28000 or ipc:///tmp/edc.sock, for example"
            raise OSError(error.errno, reason, endpoint) from None

    def hello(self, text: str) -> Message:
        """The hello, for these initialization data. It decides on the format of the conversation.

        Raises:
            DecodeError: this is no hello.
            PeerGone, PeerSilent: there is no answer.
        """
        found = frames.decode_hello(self._exchange(frames.encode_init(text)))
        self._format = FORMATS[found.format]
        return found.message

    def answer(self, message: Message) -> Message:
        """The reply to a message.

        Raises:
            DecodeError: this is no message.
            PeerGone, PeerSilent: there is no answer.
        """
        reply: Message = self._format.decode(self._exchange(self._format.encode(message)))
        return reply

    def _exchange(self, data: bytes) -> bytes:
        self._socket.send(data)
        began = time.monotonic()
        while not self._socket.poll(round(_TICK * 1000)):
            self._look_around(began)
        parts = self._socket.recv_multipart()
        if len(parts) != 1:
            raise DecodeError(f"a message is one frame, the decision component sent one of {len(parts)}")
        return parts[0]

    def _look_around(self, began: float) -> None:
        while self._monitor.poll(0):
            event = int.from_bytes(self._monitor.recv_multipart()[0][:2], "little")
            self._gone_since = time.monotonic() if event == zmq.EVENT_DISCONNECTED else None
        now = time.monotonic()
        if self._gone_since is not None and now - self._gone_since > _GRACE:
            raise PeerGone(f"the decision component at {self.endpoint} closed the connection without an answer")
        if self.timeout is not None and now - began > self.timeout:
            raise PeerSilent(f"the decision component at {self.endpoint} has not answered for {self.timeout:g} seconds")

    def close(self) -> None:
        """Close the connection."""
        if not self._context.closed:
            self._socket.disable_monitor()
            self._monitor.close(linger=0)
            self._socket.close()
            self._context.term()

    def __enter__(self) -> RemoteComponent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not self._context.closed:
            self._socket.linger = 0
        self.close()


def connect(endpoint: str, *, timeout: float | None = None) -> RemoteComponent:
    """Be Batsim for the decision component that listens at an endpoint: give the result to `simulate`.

    Args:
        endpoint: where it listens: `tcp://127.0.0.1:28000`, `ipc:///tmp/edc.sock`. It may begin to do so later.
        timeout: how many seconds to wait for each answer; None: for ever, as Batsim does.

    Raises:
        OSError: this is no endpoint.
    """
    return RemoteComponent(endpoint, timeout=timeout)
