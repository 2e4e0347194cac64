"""Unix sockets for the text protocol: Batsim listens, the scheduler connects, and a size precedes each message.

Reads and waits are bounded: a peer that is gone or silent, or announces a message of 4 GiB, leads to an error.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from select import select
from typing import Final

from batprotocol._util.sockets.endpoints import refuse_bad_endpoint
from batprotocol._util.sockets.requester import PATIENCE
from batprotocol._util.systems import refusal
from batprotocol.errors import DecodeError, PeerGone, PeerSilent, SystemLacks
from batprotocol.legacy.text.framing import Stream

__all__ = ["Line"]

logger = logging.getLogger("batprotocol.legacy")

_TICK: Final = 0.2
_CHUNK: Final = 2**16


class Line:
    """One end of a Unix socket.

    Args:
        path: the path of the socket.
        listens: whether it is Batsim's end, which listens; otherwise it connects, as soon as the other end listens.
        timeout: how many seconds to wait for each message; None: no limit.
        who: the name of the other end in errors.
        on_wait: called every 0.2 seconds while waiting; an exception that it raises ends the wait.

    Raises:
        OSError: it is not possible to listen there.
        SystemLacks: this system has no Unix sockets.
    """

    def __init__(
        self,
        path: str,
        *,
        listens: bool,
        timeout: float | None = None,
        who: str = "the other one",
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        if sentence := refusal("the protocol of text and its Unix sockets", "socket.AF_UNIX"):
            raise SystemLacks(sentence)
        self._path = path
        self._timeout = timeout
        self._who = who
        self._on_wait = on_wait
        self._stream = Stream()
        self._ready: list[bytes] = []
        self._line: socket.socket | None = None
        self._door: socket.socket | None = None
        self._told = False
        if listens:
            refuse_bad_endpoint(f"ipc://{path}")
            self._door = socket.socket(socket.AF_UNIX)
            self._door.settimeout(_TICK)
            try:
                with suppress(FileNotFoundError):
                    os.unlink(path)  # no process listens to it any more
                self._door.bind(path)
                self._door.listen(1)
            except OSError as error:
                self._door.close()
                raise OSError(error.errno, os.strerror(error.errno or errno.EINVAL), path) from None

    def send(self, content: bytes) -> None:
        """Send a message. `PeerGone` if the other end is gone."""
        line = self._connected()
        view = memoryview(len(content).to_bytes(4, sys.byteorder) + content)
        began = time.monotonic()
        while view:
            try:
                view = view[line.send(view) :]
            except TimeoutError:
                self._look_around(began)
            except OSError:
                raise self._gone() from None

    def receive(self) -> bytes:
        """The next message.

        Raises:
            DecodeError: its size is larger than a message can be.
            PeerGone, PeerSilent: there is no message.
        """
        line, began = self._connected(), time.monotonic()
        while not self._ready:
            try:
                self._take(line)
            except TimeoutError:
                self._look_around(began)
        return self._ready.pop(0)

    def exchange(self, content: bytes) -> bytes:
        """Send a message, and wait for the answer. `DecodeError` if the other end has sent something before."""
        line = self._connected()
        if not self._ready and select([line], [], [], 0)[0]:
            self._take(line)
        if self._ready:
            raise DecodeError(f"{self._who} speaks out of turn")
        self.send(content)
        return self.receive()

    def _take(self, line: socket.socket) -> None:
        """Read the bytes that have arrived. `TimeoutError` if none arrive for a tick."""
        try:
            data = line.recv(_CHUNK)
        except TimeoutError:
            raise
        except OSError:
            raise self._gone() from None
        if not data:
            raise self._gone()
        self._ready += self._stream.feed(data)

    def _gone(self) -> PeerGone:
        return PeerGone(f"{self._who} at {self._path} closed the connection")

    def _connected(self) -> socket.socket:
        began = time.monotonic()
        while self._line is None:
            if self._door is not None:
                with suppress(TimeoutError):
                    self._line, _ = self._door.accept()
            else:
                line = socket.socket(socket.AF_UNIX)
                try:
                    line.connect(self._path)
                    self._line = line
                except OSError:
                    line.close()
                    time.sleep(0.02)
            if self._line is None:
                self._look_around(began)
            else:
                self._line.settimeout(_TICK)
        return self._line

    def _look_around(self, began: float) -> None:
        if self._on_wait is not None:
            self._on_wait()
        if self._line is None and not self._told and time.monotonic() - began >= PATIENCE:
            self._told = True
            what = "listen at" if self._door is None else "connect to"
            logger.warning("still waiting for %s to %s %s", self._who, what, self._path)
        if self._timeout is not None and time.monotonic() - began > self._timeout:
            raise PeerSilent(f"{self._who} at {self._path} has said nothing for {self._timeout:g} seconds")

    def limit(self, seconds: float) -> None:
        """Wait at most this long for each of the next messages, and do nothing else while waiting."""
        self._timeout, self._on_wait = seconds, None

    def close(self) -> None:
        """Close the sockets. To close them twice does nothing."""
        if self._line is not None:
            self._line.close()
        if self._door is not None:
            self._door.close()
            with suppress(FileNotFoundError):
                os.unlink(self._path)
            self._door = None
