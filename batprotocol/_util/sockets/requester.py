"""The ZeroMQ socket of a Batsim: it connects, asks, and waits for the answer with an eye on the connection.

This module must not know the contents of frames.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, TypeVar

import zmq

from batprotocol._util.sockets.endpoints import LARGEST
from batprotocol.errors import DecodeError, PeerGone, PeerSilent

__all__ = ["PATIENCE", "Requester"]

logger = logging.getLogger("batprotocol.simulator")

PATIENCE: Final = 5.0
"""Seconds without the first answer after which a warning names what the requester waits for."""

_TICK: Final = 0.2
"""Seconds after which a wait looks around: for signals, and for a connection that was closed."""
_LINGER: Final = 500
_GRACE: Final = 1.0
"""Seconds that a closed connection has to come back. After that, its component counts as gone."""

_Requester = TypeVar("_Requester", bound="Requester")


class Requester:
    """A connection to a program that listens at an endpoint. Use it in a `with`, which closes the connection.

    Args:
        endpoint: where the program listens, now or later: `tcp://127.0.0.1:28000`, `ipc:///tmp/edc.sock`.
        timeout: seconds to wait for each answer; None waits without a limit, as Batsim does.
        who: the name of the program in errors.
        on_wait: called every 0.2 seconds while waiting; an exception that it raises ends the wait.

    Raises:
        OSError: this is not an endpoint.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        timeout: float | None = None,
        who: str = "the decision component",
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.timeout = timeout
        self._who = who
        self._on_wait = on_wait
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.REQ)
        self._socket.linger = _LINGER
        self._socket.maxmsgsize = LARGEST
        self._socket.rcvtimeo = round(_TICK * 1000)
        self._take = self._socket.recv
        self._give = super(zmq.Socket, self._socket).send  # pyzmq wraps it to take more arguments
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_CONNECTED | zmq.EVENT_DISCONNECTED)
        self._gone_since: float | None = None
        self._is_connected = False
        self._has_warned = False
        try:
            self._socket.connect(endpoint)
        except zmq.ZMQError as error:
            self.close()
            reason = "this is not an endpoint: write one such as tcp://127.0.0.1:28000 or ipc:///tmp/edc.sock"
            raise OSError(error.errno, reason, endpoint) from None

    def exchange(self, data: bytes) -> bytes:
        """Ask, and wait for the answer.

        Raises:
            DecodeError: the answer has several frames.
            PeerGone, PeerSilent: there is no answer.
        """
        self._give(data)
        began = time.monotonic()
        while True:
            try:
                answer = self._take()
                break
            except zmq.Again:
                self._look_around(began)
        if self._socket.getsockopt(zmq.RCVMORE):
            rest = self._socket.recv_multipart()
            raise DecodeError(f"a message is one frame, {self._who} sent one of {1 + len(rest)}")
        self._has_warned = True  # from now on, a long wait is one for decisions
        return answer

    def _look_around(self, began: float) -> None:
        if self._on_wait is not None:
            self._on_wait()
        while self._monitor.poll(0):
            event = int.from_bytes(self._monitor.recv_multipart()[0][:2], "little")
            self._is_connected = event == zmq.EVENT_CONNECTED
            self._gone_since = None if self._is_connected else time.monotonic()
        now = time.monotonic()
        if not self._has_warned and now - began >= PATIENCE:
            self._has_warned = True
            what = "answer" if self._is_connected else "listen"
            logger.warning("still waiting for %s to %s at %s", self._who, what, self.endpoint)
        if self._gone_since is not None and now - self._gone_since > _GRACE:
            reason = f"closed the connection without an answer, or with one of more than {LARGEST >> 20} MiB"
            raise PeerGone(f"{self._who} at {self.endpoint} {reason}")
        if self.timeout is not None and now - began > self.timeout:
            if not self._is_connected:
                raise PeerSilent(f"{self._who} did not listen at {self.endpoint} for {self.timeout:g} seconds")
            raise PeerSilent(f"{self._who} at {self.endpoint} has not answered for {self.timeout:g} seconds")

    def close(self) -> None:
        """Close the connection."""
        if not self._context.closed:
            self._socket.disable_monitor()
            self._monitor.close(linger=0)
            self._socket.close()
            self._context.term()

    def __enter__(self: _Requester) -> _Requester:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not self._context.closed:
            self._socket.linger = 0
        self.close()
