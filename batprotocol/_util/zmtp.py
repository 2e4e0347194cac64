"""ZMTP 3.1, the protocol of ZeroMQ, for connections to a ROUTER socket that is bound: bytes become messages.

https://rfc.zeromq.org/spec/37/ describes it. libzmq would hand each message from one
thread to another, and that takes longer than a turn of a scheduler does without it.
"""

from __future__ import annotations

import logging
import os
import socket
import struct
from contextlib import suppress
from typing import Final, TypeAlias

__all__ = ["AT_ONCE", "IS_POSIX", "LARGEST", "MORE", "NO_WAIT", "Link", "Parts", "frame"]

logger = logging.getLogger("batprotocol.edc")

LARGEST = 2**28
"""Bytes of a message, 256 MiB: a thousand times the largest message of a platform with 512 hosts. The connection of a
peer that sends more is closed, before memory is allocated."""

Parts: TypeAlias = tuple[bytes, ...]
"""The frames of a message."""

MORE: Final = 1
"""The flag of a frame that is not the last one of its message."""
_LONG: Final = 2
_COMMAND: Final = 4
_FLAGS: Final = (0, MORE, _LONG, MORE + _LONG, _COMMAND, _COMMAND + _LONG)
_VERSION: Final = 3
_GREETED: Final = 64
"""The bytes of a greeting."""
_MOST_FRAMES: Final = 1000
_MOST_READ: Final = 64
"""How often a peer that goes on sending is read before its connection is closed."""
_KINDS: Final = (b"REQ", b"DEALER", b"ROUTER")
"""The kinds of sockets that a ROUTER socket talks to."""
AT_ONCE: Final = 2**16
"""The bytes that are read at once."""
IS_POSIX: Final = os.name == "posix"
"""Whether a waiting socket takes a limit, and a flag not to wait."""
NO_WAIT: Final = int(getattr(socket, "MSG_DONTWAIT", 0))
"""The flag of the calls of a socket not to wait."""


def frame(body: bytes, flags: int = 0) -> bytes:
    """A frame with its header."""
    if len(body) < 256:
        return bytes((flags, len(body))) + body
    return bytes((flags | _LONG,)) + len(body).to_bytes(8, "big") + body


def _command(name: bytes, data: bytes) -> bytes:
    return frame(bytes((len(name),)) + name + data, _COMMAND)


def _property(name: bytes, value: bytes) -> bytes:
    return bytes((len(name),)) + name + len(value).to_bytes(4, "big") + value


_GREETING: Final = b"\xff" + bytes(7) + b"\x01\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)
_READY: Final = _command(b"READY", _property(b"Socket-Type", b"ROUTER") + _property(b"Identity", b""))


class Link:
    """The connection of a peer: what it says, as messages of whole frames.

    A signal may come anywhere, and its handler may raise an exception. So what the socket gives or takes is put into a
    list in the same call, `list.extend(map(socket.recv, ...))`: Python calls handlers only before or after it.

    Args:
        connection: the socket.
        name: the name of the endpoint, for the log.

    Attributes:
        is_gone: whether the connection was closed, by either side.
    """

    def __init__(self, connection: socket.socket, name: str) -> None:
        self.socket = connection
        self.is_gone = False
        self._name = name
        self.receive = connection.recv
        self.give = connection.send
        self.arrived: list[bytes] = []
        """What was received, and is not a part of a message that was taken."""
        self.taken: Parts | None = None
        """The last whole message, until somebody has it."""
        self.has_spoken = False
        """Whether it has sent a whole message."""
        self._needed = _GREETED
        """The bytes of `arrived` without which there is nothing to take."""
        self.unsent = b""
        self._is_greeted = self._is_ready = False
        connection.setblocking(False)
        if connection.family != getattr(socket, "AF_UNIX", None):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.say(_GREETING + _READY)

    def wait_at_most(self, seconds: float) -> None:
        """Let `receive` wait; 0: no more."""
        if self.is_gone:
            return
        if seconds and IS_POSIX:
            microseconds = max(1, round(seconds * 1e6))
            with suppress(OSError):  # the size of a time differs between systems
                limit = struct.pack("ll", *divmod(microseconds, 10**6))
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
                self.socket.setblocking(True)
                return
        self.socket.settimeout(seconds)

    def read(self) -> None:
        """Receive what is there."""
        try:
            self.arrived.extend(map(self.receive, (max(AT_ONCE, min(self._needed, 2**20)),), (NO_WAIT,)))
        except (BlockingIOError, TimeoutError):
            return
        except OSError:
            self.close()
            return
        if not self.arrived[-1]:
            self.arrived.pop()
            self.close()
        elif len(self.arrived) > 1 and sum(map(len, self.arrived)) > LARGEST + AT_ONCE:
            self._refuse(f"it says more than {LARGEST} bytes before its turn")

    def say(self, data: bytes) -> None:
        """Send bytes, or keep them in `unsent` where the peer does not take them."""
        if self.is_gone:
            return
        self.unsent += data
        try:
            self.unsent = self.unsent[self.give(self.unsent, NO_WAIT) :]
        except (BlockingIOError, TimeoutError):
            pass
        except OSError:
            self.close()

    def message(self) -> Parts | None:
        """The next whole message; None if there is none. It is the next one until `taken` is set to None."""
        if self.taken is None:
            self._take()
            if self.taken is None and self.is_gone:
                self.arrived = []
        return self.taken

    def _take(self) -> None:
        if not self._is_greeted and not self._greet(b"".join(self.arrived)):
            return
        if sum(map(len, self.arrived)) < self._needed:
            return
        data = b"".join(self.arrived)
        parts: list[bytes] = []
        place = size = 0
        while True:
            flags = data[place] if place < len(data) else 0
            begin = place + (9 if flags & _LONG else 2)
            if len(data) >= begin:
                length = int.from_bytes(data[place + 1 : begin], "big")
                size += length
                if flags not in _FLAGS:
                    self._refuse("its frames are not those of ZeroMQ")
                    return
                if size > LARGEST or len(parts) > _MOST_FRAMES:
                    self._refuse(f"a message is larger than {LARGEST} bytes, or has {_MOST_FRAMES} frames")
                    return
                place = begin + length
            if len(data) < begin or len(data) < place:
                self.arrived, self._needed = [data] if data else [], max(begin, place)
                return
            if flags & _COMMAND:
                if not self._obey(data[begin:place]):
                    return
                if not parts:
                    data, place, size = data[place:], 0, 0
            elif not self._is_ready:
                self._refuse("it says nothing of its socket")
                return
            else:
                parts.append(data[begin:place])
                if not flags & MORE:
                    self.has_spoken = True
                    rest, taken = [data[place:]] if place < len(data) else [], tuple(parts)
                    self.arrived, self.taken, self._needed = rest, taken, 2
                    return

    def _greet(self, data: bytes) -> bool:
        """Take the greeting."""
        begin = data[:10]
        if begin[:1] not in (b"", b"\xff") or (len(begin) == 10 and begin[9] != 0x7F):
            self._refuse("it does not greet as ZeroMQ does")
        elif len(data) > 10 and data[10] < _VERSION:
            self._refuse("its ZeroMQ is older than version 4")
        elif len(data) >= _GREETED:
            if data[12:32] != _GREETING[12:32]:
                self._refuse("it wants security, and there is none here")
            else:
                self._is_greeted = True
                self.arrived, self._needed = [data[_GREETED:]], 2
        return self._is_greeted

    def _obey(self, body: bytes) -> bool:
        """Do what a command asks for; False if the connection was closed instead."""
        name, data = body[1 : 1 + body[0]] if body else b"", body[1 + body[0] :] if body else b""
        if name == b"READY":
            told = data.lower()  # the names of properties may be written in any case
            self._is_ready = any(_property(b"Socket-Type", kind).lower() in told for kind in _KINDS)
            if not self._is_ready:
                self._refuse("its socket is not of a kind that asks")
                return False
        elif name == b"PING":
            self.say(_command(b"PONG", data[2:]))
        elif name == b"ERROR":
            self._refuse("it reports an error")
            return False
        return True

    def _refuse(self, reason: str) -> None:
        logger.warning("a program that connected to %s is disconnected: %s", self._name, reason)
        self.close()

    def close(self) -> None:
        """Close the connection. Messages that were received from it can still be taken."""
        if not self.is_gone:
            self.is_gone = True
            self.unsent = b""
            with suppress(OSError):  # if it had not read all, TCP would take back what was sent
                self.socket.shutdown(socket.SHUT_WR)
                self.socket.setblocking(False)
                for _ in range(_MOST_READ):
                    self.socket.recv(AT_ONCE)
            self.socket.close()
