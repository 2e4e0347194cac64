"""The ZeroMQ socket of a decision component: REP, bound, one frame a message, and an eye on the connection.

Everything that is peculiar to libzmq is here. It must not know what the frames hold.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from contextlib import suppress

import zmq
import zmq.asyncio

from batprotocol.errors import DecodeError

__all__ = ["Channel"]

TICK = 0.2
"""Seconds after which a wait is interrupted to look around: a signal that lands just before a blocking call would
otherwise go unnoticed until the next message."""

LINGER = 500
"""Milliseconds that the last reply has to leave the process. Usually it has left at once."""

LONGEST_IPC_PATH = 107

_REASONS: dict[int | None, str] = {
    errno.EINVAL: "this is no endpoint, which would be tcp://*:28000 or ipc:///tmp/batsim.sock, for example",
    errno.ENODEV: "this machine has no such address",
}
"""What is meant by what libzmq says when it cannot bind."""

_EVENT = struct.Struct("=Hi")


class Channel:
    """A bound REP socket.

    Args:
        endpoint: where to bind: `tcp://*:28000`, `tcp://127.0.0.1:*` (any free port), `ipc:///tmp/batsim.sock`.
        tick: after how many seconds a wait is interrupted; TICK at most.

    Raises:
        OSError: this cannot be bound; its `filename` is the endpoint.
    """

    def __init__(self, endpoint: str, tick: float = TICK) -> None:
        _refuse_bad_path(endpoint)
        self.tick = min(tick, TICK)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.REP)
        self._socket.linger = LINGER
        self._socket.rcvtimeo = max(1, round(self.tick * 1000))
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self._again: bytes | None = None
        self._connected: set[int] = set()
        self._peer: int | None = None
        self._peer_is_gone = False
        self._file: tuple[int, int] | None = None
        try:
            self._socket.bind(endpoint)
        except zmq.ZMQError as error:
            self.close()
            reason = _REASONS.get(error.errno) or zmq.strerror(error.errno or 0)
            raise OSError(error.errno, reason, endpoint) from None
        self.endpoint = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self._file = _identity(_path_of(endpoint))

    # Frames

    def receive(self) -> bytes | None:
        """The next message, or None after a tick without one. `DecodeError` if it has more than one frame."""
        return self._received(0)

    def receive_now(self) -> bytes | None:
        """The next message, or None if none has arrived. `DecodeError` if it has more than one frame."""
        return self._received(zmq.NOBLOCK)

    def put_back(self, data: bytes) -> None:
        """Let this message be received again."""
        self._again = data

    def _received(self, flags: int) -> bytes | None:
        if self._again is not None:
            data, self._again = self._again, None
            return data
        try:
            frame = self._socket.recv(flags, copy=False)
        except zmq.Again:
            return None
        if self._peer is None:
            self._meet(frame)
        if frame.more:
            count = 1 + len(self._socket.recv_multipart())
            raise DecodeError(f"a message is one frame, the simulator sent one of {count}")
        return frame.bytes

    def send(self, data: bytes) -> None:
        """Send a reply."""
        self._socket.send(data)

    @property
    def owes_reply(self) -> bool:
        """Whether a message was received that is not answered yet, as the socket itself has it."""
        return bool(int(self._socket.getsockopt(zmq.EVENTS)) & int(zmq.POLLOUT))

    def wait(self, seconds: float) -> None:
        """Wait for a message to arrive, or for so many seconds."""
        self._socket.poll(max(1, round(seconds * 1000)))

    async def wait_async(self, seconds: float) -> None:
        """`wait`, without blocking the event loop."""
        poller = zmq.asyncio.Poller()
        poller.register(self._socket, zmq.POLLIN)
        ticking, self._socket.rcvtimeo = self._socket.rcvtimeo, -1  # else it is taken for the time to wait
        try:
            await poller.poll(max(1, round(seconds * 1000)))
        finally:
            if not self.closed:
                self._socket.rcvtimeo = ticking

    def wake(self) -> None:
        """End a wait that `receive` is in, and all that follow. For signal handlers in the same thread."""
        with suppress(zmq.ZMQError):
            self._socket.rcvtimeo = 0

    # The connection

    def forget_peer(self) -> None:
        """A new simulation is to begin: whoever sends the next message is the peer."""
        self._peer = None
        self._peer_is_gone = False

    def is_peer_gone(self) -> bool:
        """Whether the connection was closed that the first message came through."""
        self._follow_connections()
        return self._peer_is_gone

    def _meet(self, frame: zmq.Frame) -> None:
        self._follow_connections()
        with suppress(zmq.ZMQError):
            self._peer = int(str(frame.get(zmq.SRCFD)))
            self._peer_is_gone = self._peer not in self._connected

    def _follow_connections(self) -> None:
        """Read what the monitor has told. File descriptors are used again, so the order of events matters."""
        while self._monitor.poll(0):
            event, descriptor = _EVENT.unpack_from(self._monitor.recv_multipart()[0])
            if event == zmq.EVENT_ACCEPTED:
                self._connected.add(descriptor)
            elif event == zmq.EVENT_DISCONNECTED:
                self._connected.discard(descriptor)
                self._peer_is_gone = self._peer_is_gone or descriptor == self._peer

    # The end

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._context.closed

    def close(self) -> None:
        """Give everything back: sockets, threads, file descriptors. A reply on its way has LINGER to leave."""
        if self.closed:
            return
        if self._file is not None and _identity(_path_of(self.endpoint)) == self._file:
            os.unlink(_path_of(self.endpoint))  # libzmq leaves it
        with suppress(zmq.ZMQError):
            self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close()
        self._context.term()


def _path_of(endpoint: str) -> str:
    """The path of a Unix socket, "" for all other endpoints."""
    scheme, _, path = endpoint.partition("://")
    return path if scheme == "ipc" and not path.startswith(("@", "*")) else ""


def _identity(path: str) -> tuple[int, int] | None:
    """Which file it is, None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _refuse_bad_path(endpoint: str) -> None:
    """What libzmq accepts and should not: it takes over a path that another program listens to."""
    path = _path_of(endpoint)
    if not path or not hasattr(socket, "AF_UNIX"):
        return
    if len(os.fsencode(path)) > LONGEST_IPC_PATH:
        raise OSError(errno.ENAMETOOLONG, f"the path has more than {LONGEST_IPC_PATH} bytes", endpoint)
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except (BlockingIOError, TimeoutError):  # nobody accepts, but somebody listens
            pass
        except OSError:  # nobody listens, or libzmq will tell what is wrong
            return
    raise OSError(errno.EADDRINUSE, "another program listens there", endpoint)
