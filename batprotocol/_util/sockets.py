"""The two ends of a conversation over ZeroMQ: a `BoundChannel` answers, a `Requester` connects and asks.

The runtimes of both sides use them. Endpoints are checked first: libzmq would bind another port than the written one,
take over a path at which another program listens, and delete any file at that path.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import socket
import stat
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import zmq

from batprotocol.errors import DecodeError, PeerGone, PeerSilent

LARGEST = 2**28
"""Bytes of a message, 256 MiB: a thousand times the largest message of a platform with 512 hosts. libzmq closes the
connection of a peer that sends more, before it allocates memory."""

LONGEST_IPC_PATH = 107
LAST_PORT = 65535

_PORT = re.compile(r"\*|[0-9]{1,5}", re.ASCII)


def refuse_bad_endpoint(endpoint: str) -> None:
    """Raise `OSError`, with the endpoint as its `filename`, for an endpoint that libzmq takes for another one."""
    if endpoint.startswith("tcp://"):
        _refuse_bad_port(endpoint)
    path = path_of(endpoint)
    if path and hasattr(socket, "AF_UNIX"):
        _refuse_bad_path(endpoint, path)


def is_ipv6(endpoint: str) -> bool:
    """Whether its address is one of IPv6, for which libzmq needs an option."""
    return endpoint.startswith("tcp://[")


def path_of(endpoint: str) -> str:
    """The path of a Unix socket, "" for all other endpoints."""
    scheme, _, path = endpoint.partition("://")
    return path if scheme == "ipc" and not path.startswith(("@", "*")) else ""


def identity(path: str) -> tuple[int, int] | None:
    """The device and number of a file; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _refuse_bad_port(endpoint: str) -> None:
    """libzmq reads the leading digits of a port only, and drops the upper bits of a large one."""
    _, colon, port = endpoint.removeprefix("tcp://").rpartition(":")
    if not colon:
        return  # libzmq reports the error
    if not _PORT.fullmatch(port) or (port != "*" and int(port) > LAST_PORT):
        raise OSError(errno.EINVAL, f"a port is a number up to {LAST_PORT}, or * for any free one", endpoint)


def _refuse_bad_path(endpoint: str, path: str) -> None:
    if len(os.fsencode(path)) > LONGEST_IPC_PATH:
        raise OSError(errno.ENAMETOOLONG, f"the path has more than {LONGEST_IPC_PATH} bytes", endpoint)
    try:
        mode = os.lstat(path).st_mode
    except OSError:  # there is no such file, or libzmq reports the error
        return
    if not stat.S_ISSOCK(mode):
        raise OSError(errno.EEXIST, "there is a file that is not a socket: pick another path", endpoint)
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except (BlockingIOError, TimeoutError):  # nobody accepts, but somebody listens
            pass
        except OSError:  # nobody listens: the socket is stale
            return
    raise OSError(errno.EADDRINUSE, "another program listens there", endpoint)


# The ZeroMQ socket of a decision component: bound, one simulator at a time, and an eye on the connection.


Route: TypeAlias = tuple[bytes, ...]
"""The first frames of a message: the number of the connection, any proxies, and an empty frame."""

Arrived: TypeAlias = bytes | tuple[list[bytes], int | None] | None
"""The one frame after the route; or all frames of another message, and the file descriptor of its connection; or None,
if no message has arrived."""

NOW: Final = int(zmq.NOBLOCK)
"""The flag not to wait."""
_MORE: Final = int(zmq.SNDMORE)


class RouterLink:
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


logger = logging.getLogger("batprotocol.edc")

TICK = 0.2
"""Seconds after which a wait is interrupted to look around: a signal that lands just before a blocking call would
otherwise go unnoticed until the next message."""

LINGER = 500
"""Milliseconds that the last reply has to leave the process. Usually it leaves at once."""

MOST_REFUSED = 1000
"""The number of simulators to turn away at the end: a peer that connects again and again must not keep it open."""

_REASONS: dict[int | None, str] = {
    errno.EINVAL: "this is not an endpoint: write one such as tcp://*:28000 or ipc:///tmp/batsim.sock",
    errno.ENODEV: "this machine has no such address",
}
"""Plain reasons for the errors of libzmq when it cannot bind."""

_EVENT = struct.Struct("=Hi")


class _Request(NamedTuple):
    """A message as it came: the way back, the frames, and the file descriptor of its connection."""

    route: Route
    frames: list[bytes]
    connection: int | None


class BoundChannel:
    """A bound socket that answers one peer at a time: the one whose message is received first.

    Other peers may connect and send messages meanwhile. They wait until `forget_peer`, and are then received in their
    order. If there is a `refuse`, which makes an answer to a message, they get that answer at once.

    Args:
        endpoint: where to bind: `tcp://*:28000`, `tcp://127.0.0.1:*` (any free port), `ipc:///tmp/batsim.sock`.
        tick: the seconds after which a wait is interrupted; TICK at most.

    Raises:
        OSError: this cannot be bound; its `filename` is the endpoint.
    """

    def __init__(self, endpoint: str, tick: float = TICK) -> None:
        refuse_bad_endpoint(endpoint)
        self.tick = min(tick, TICK)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.linger = LINGER
        self._socket.maxmsgsize = LARGEST
        self._socket.rcvtimeo = max(1, round(self.tick * 1000))
        self._socket.ipv6 = is_ipv6(endpoint)
        self._link = RouterLink(self._socket)
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self._connected: set[int] = set()
        self._waiting: dict[Route, _Request] = {}
        self._peer: Route = ()
        self._connection: int | None = None
        self._peer_is_gone = False
        self._file: tuple[int, int] | None = None
        self.refuse: Callable[[bytes], bytes] | None = None
        try:
            self._socket.bind(endpoint)
        except zmq.ZMQError as error:
            self.close()
            reason = _REASONS.get(error.errno) or zmq.strerror(error.errno or 0)
            raise OSError(error.errno, reason, endpoint) from None
        self.endpoint = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self._file = identity(path_of(endpoint))

    # Frames

    def receive_now(self) -> bytes | None:
        """The next message, or None if none has arrived. `DecodeError` if it has more than one frame."""
        return self.receive(NOW)

    def receive(self, flags: int = 0) -> bytes | None:
        """The next message, or None after a tick without one. `DecodeError` if it has more than one frame."""
        if not self._peer:
            self._follow_connections()
            if self._waiting:
                return self._meet(self._waiting.pop(next(iter(self._waiting))))
        while True:
            arrived = self._link.receive(self._peer, flags)
            if arrived is None or isinstance(arrived, bytes):
                return arrived
            request = self._request(*arrived)
            if request is not None and (not self._peer or request.route == self._peer):
                return self._meet(request)
            self._link.asked = False
            if request is None or request.route in self._waiting:  # nobody that waits for an answer says that
                return None
            if self.refuse is not None and request.connection != self._connection:
                self._refuse(request, self.refuse)
                return None
            self._waiting[request.route] = request
            logger.warning("another simulator at %s waits until this simulation has ended", self.endpoint)

    def _request(self, parts: list[bytes], connection: int | None) -> _Request | None:
        """A message, None if it is not one that asks for an answer: its route ends with an empty frame."""
        self._follow_connections()
        if b"" not in parts[1:-1]:
            return None
        end = parts.index(b"", 1) + 1
        return _Request(tuple(parts[:end]), parts[end:], connection)

    def _meet(self, request: _Request) -> bytes:
        """The sender of this message is the peer from now on."""
        if self._peer != request.route:
            self._peer = request.route
            self._connection = request.connection
            self._peer_is_gone = request.connection is not None and request.connection not in self._connected
        self._link.asked = True
        if len(request.frames) > 1:
            raise DecodeError(f"a message is one frame, the simulator sent one of {len(request.frames)}")
        return request.frames[0]

    def _refuse(self, request: _Request, refuse: Callable[[bytes], bytes]) -> None:
        self._link.send(request.route, refuse(b"".join(request.frames)))
        logger.warning("another simulator at %s is turned away: one simulation is served here", self.endpoint)

    def turn_away(self, refuse: Callable[[bytes], bytes]) -> None:
        """Answer all peers that wait, and those that have just come: nobody else will.

        Args:
            refuse: makes an answer to a message.
        """
        for _ in range(MOST_REFUSED):
            self.forget_peer()
            try:
                heard = self.receive_now()
            except DecodeError:  # of several frames
                heard = b""
            if heard is None:
                return
            self.send(refuse(heard))
            logger.warning("the simulator that waited at %s is turned away: nobody serves it", self.endpoint)

    def send(self, data: bytes) -> None:
        """Send a reply."""
        self._link.send(self._peer, data)

    @property
    def owes_reply(self) -> bool:
        """Whether a message was received that is not answered yet, if only the beginning of it."""
        while self._socket.getsockopt(zmq.RCVMORE):
            self._link.asked = True
            self._socket.recv(NOW)
        return self._link.asked and bool(self._peer)

    def wait(self, seconds: float) -> None:
        """Wait for a message to arrive, or for this number of seconds."""
        self._socket.poll(max(1, round(seconds * 1000)))

    async def wait_async(self, seconds: float) -> None:
        """`wait`, without blocking the event loop."""
        from zmq.asyncio import Poller  # it takes its time, and most schedulers do without

        poller = Poller()
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
        """A new simulation begins: its peer is the one that waits longest, or else the sender of the next message."""
        self._peer = ()
        self._connection = None
        self._peer_is_gone = self._link.asked = False

    def is_peer_gone(self) -> bool:
        """Whether the connection of the first message was closed."""
        self._follow_connections()
        return self._peer_is_gone

    def _follow_connections(self) -> None:
        """Read the events of the monitor. File descriptors are used again, so the order of events matters."""
        while self._monitor.poll(0):
            event, descriptor = _EVENT.unpack_from(self._monitor.recv_multipart()[0])
            if event == zmq.EVENT_ACCEPTED:
                self._connected.add(descriptor)
            elif event == zmq.EVENT_DISCONNECTED:
                self._connected.discard(descriptor)
                self._peer_is_gone = self._peer_is_gone or descriptor == self._connection
                gone = [route for route, request in self._waiting.items() if request.connection == descriptor]
                for route in gone:
                    del self._waiting[route]

    # The end

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._context.closed

    def close(self) -> None:
        """Release all resources: sockets, threads, file descriptors. A reply on its way has LINGER to leave."""
        if self.closed:
            return
        if self._file is not None and identity(path_of(self.endpoint)) == self._file:
            os.unlink(path_of(self.endpoint))  # libzmq leaves it
        with suppress(zmq.ZMQError):
            self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close()
        self._context.term()


# The ZeroMQ socket of a Batsim: it connects, asks, and waits for the answer with an eye on the connection.


_requester_log = logging.getLogger("batprotocol.simulator")

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
            _requester_log.warning("still waiting for %s to %s at %s", self._who, what, self.endpoint)
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
