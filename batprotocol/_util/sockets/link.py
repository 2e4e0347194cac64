"""Sends and receives whole messages through a ROUTER socket, with the frames that lead back to their sender.

It knows neither the peers nor the contents of messages.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final, TypeAlias

import zmq

__all__ = ["NOW", "Arrived", "Link", "Route"]

Route: TypeAlias = tuple[bytes, ...]
"""The first frames of a message: the number of the connection, any proxies, and an empty frame."""

Arrived: TypeAlias = bytes | tuple[list[bytes], int | None] | None
"""The one frame after the route; or all frames of another message, and the file descriptor of its connection; or None,
if no message has arrived."""

NOW: Final = int(zmq.NOBLOCK)
"""The flag not to wait."""
_MORE: Final = int(zmq.SNDMORE)


class Link:
    """Messages through a ROUTER socket, by pyzmq's methods.

    Args:
        socket: the socket.

    Attributes:
        asked: whether a message, or its beginning, was received, and no message was sent after it.
    """

    def __init__(self, socket: zmq.Socket[Any]) -> None:
        self.asked = False
        self._take = socket.recv
        self._give = super(zmq.Socket, socket).send  # pyzmq wraps it to take more arguments: three times a reply
        self._half_sent = False

    def receive(self, route: Route, flags: int) -> Arrived:
        """The next message, for which the socket waits up to its time-out.

        Args:
            route: the expected first frames.
            flags: `NOW`, or 0 to wait.

        An exception of a signal handler passes through. `asked` then shows whether something was received.
        """
        take = self._take
        try:
            source = take(flags)
        except zmq.Again:
            return None
        self.asked = True  # from here on, even if a signal comes before the rest of the message is read
        parts = [source]
        frame = take(NOW, False)
        while frame.more:
            parts.append(frame.bytes)
            frame = take(NOW, False)
        if tuple(parts) == route:
            return frame.bytes
        connection = None
        with suppress(zmq.ZMQError):
            connection = int(str(frame.get(zmq.SRCFD)))
        return [*parts, frame.bytes], connection

    def send(self, route: Route, data: bytes) -> None:
        """Send a message of one frame behind its route."""
        give = self._give
        if self._half_sent:  # a signal came in the middle of sending: this ends what was begun
            give(data)
        self._half_sent = True
        for part in route:
            give(part, _MORE)
        give(data)
        self._half_sent = self.asked = False
