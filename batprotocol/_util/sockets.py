"""The two ends of a conversation over ZeroMQ: a `BoundChannel` answers, a `Requester` connects and asks.

The runtimes of both sides use them. Endpoints are checked first: libzmq would bind another port than the written one,
take over a path at which another program listens, and delete any file at that path.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import selectors
import socket
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Final, NamedTuple, TypeVar

import zmq

from batprotocol._util.zmtp import AT_ONCE, IS_POSIX, LARGEST, MORE, NO_WAIT, Link, Parts, frame
from batprotocol.errors import DecodeError, PeerGone, PeerSilent

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


logger = logging.getLogger("batprotocol.edc")

TICK = 0.2
"""Seconds after which a wait is interrupted to look around: a signal that lands just before a blocking call would
otherwise go unnoticed until the next message."""

LINGER = 0.5
"""Seconds that the last reply has to leave the process. Usually it leaves at once."""

MOST_REFUSED = 1000
"""The number of simulators to turn away at the end: a peer that connects again and again must not keep it open."""

NOW: Final = 1
"""The flag not to wait."""

_BACKLOG: Final = 100
_SELDOM: Final = 0.05
"""Seconds between two looks at the other connections while the peer speaks."""
_BEGINNING: Final = 0.1
"""Seconds that peers whose first message is on its way have to be turned away."""

_REASONS: dict[int | None, str] = {
    errno.EINVAL: "this is not an endpoint: write one such as tcp://*:28000 or ipc:///tmp/batsim.sock",
    errno.ENODEV: "this machine has no such address",
    errno.EADDRNOTAVAIL: "this machine has no such address",
    errno.EAFNOSUPPORT: "this machine has no such address",
}
"""Plain reasons for the errors of endpoints that cannot be bound."""

_SIZES: Final = (AT_ONCE,)
_WAITS: Final = (0,)
_NO_WAITS: Final = (NO_WAIT,)
_BYTES: Final = tuple(bytes((number,)) for number in range(256))
_INSTANT: Final = 1e-6
"""Seconds that are nearly none, where 0 means no limit."""
_PAUSE: Final = 0.002
"""Seconds between two looks where an event loop cannot wait for sockets."""
_EXCLUSIVE: Final = int(getattr(socket, "SO_EXCLUSIVEADDRUSE", 0))

_ANYWHERE: Final = "ipc://*"
_NUMERIC: Final = re.compile(r"tcp://(?:(\*)|([0-9.]+)|\[([0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]):(\*|[0-9]+)", re.ASCII)
"""An endpoint that needs no look at the names of this machine."""


class _Request(NamedTuple):
    """A message as it came: its connection, the frames before the empty one and with it, and the other frames."""

    link: Link
    route: Parts
    frames: Parts


class BoundChannel:
    """A bound socket that answers one peer at a time: the one whose message is received first.

    Other peers may connect and send messages meanwhile. They wait until `forget_peer`, and are then received in their
    order. If there is a `refuse`, which makes an answer to a message, they soon get that answer.

    Args:
        endpoint: where to bind: `tcp://*:28000`, `tcp://127.0.0.1:*` (any free port), `ipc:///tmp/batsim.sock`.
        tick: the seconds after which a wait is interrupted; TICK at most.

    Raises:
        OSError: this cannot be bound; its `filename` is the endpoint.
    """

    def __init__(self, endpoint: str, tick: float = TICK) -> None:
        refuse_bad_endpoint(endpoint)
        self.tick = min(tick, TICK)
        self._wait = self.tick
        self._links: dict[int, Link] = {}
        self._waiting: dict[tuple[Link, Parts], _Request] = {}
        self._peer: Link | None = None
        self._route: Parts = ()
        self._short = self._long = b""
        """What is before the body of a message of the peer, up to its flags, if it has less than 256 bytes or more."""
        self._begin = 0
        """Where the body of a short message begins."""
        self._asked = False
        self._sent: list[int] = []
        self._answer = b""
        self._look_at = 0.0
        self.refuse: Callable[[bytes], bytes] | None = None
        self.closed = False
        self._listener, self.endpoint = _bound(endpoint)
        self._path = path_of(self.endpoint)
        self._is_in_own_folder = endpoint == _ANYWHERE
        self._file = identity(self._path)
        self._selector = selectors.DefaultSelector()
        self._waker, self._woken = socket.socketpair()
        self._waker.setblocking(False)
        self._woken.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, self._rouse)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)

    # Frames

    def receive_now(self) -> bytes | None:
        """The next message, or None if none has arrived. `DecodeError` if it has more than one frame."""
        return self.receive(NOW)

    def receive(self, flags: int = 0) -> bytes | None:
        """The next message, or None after a tick without one. `DecodeError` if it has more than one frame."""
        peer = self._peer
        if peer is None or peer.arrived or peer.unsent or self._sent or time.monotonic() > self._look_at:
            return self._receive(flags)
        if flags and not NO_WAIT:
            return self._receive(flags)
        # Nearly always, the next bytes are one whole message.
        arrived = peer.arrived
        try:
            arrived.extend(map(peer.receive, _SIZES, _NO_WAITS if flags else _WAITS))
        except (BlockingIOError, TimeoutError):
            self._look_at = 0.0
            return None
        except OSError:
            return self._receive(flags)
        data, begin = arrived[0], self._begin
        size = len(data) - begin
        if size < 0:
            return self._receive(flags)
        if not (data.startswith(self._short) and data[begin - 1] == size):
            begin += 7
            if not data.startswith(self._long) or int.from_bytes(data[begin - 8 : begin], "big") != size - 7:
                return self._receive(flags)
        self._asked = True
        arrived.clear()
        return data[begin:]

    def _receive(self, flags: int) -> bytes | None:
        self._settle()
        if self._look_at < time.monotonic():
            self._look_at = time.monotonic() + _SELDOM
            self._look(0)
        request = self._next()
        until = time.monotonic() + (0 if flags else self._wait)
        while request is None and (self._peer is None or not self._peer.is_gone):
            left = min(until - time.monotonic(), self._wait)  # a handler may have set it to 0
            self._look(max(left, 0))
            request = self._next()
            if left <= 0:
                break
        if request is None:
            return None
        if self._peer is not request.link or self._route != request.route:
            self._meet(request)
        if len(request.frames) > 1:
            raise DecodeError(f"a message is one frame, the simulator sent one of {len(request.frames)}")
        return request.frames[0]

    def _next(self) -> _Request | None:
        """The next message of the peer; without a peer, the one that waits longest."""
        if self._peer is None:
            for link in list(self._links.values()):
                self._sort(link)
            return self._waiting.pop(next(iter(self._waiting))) if self._waiting else None
        return self._sort(self._peer)

    def _sort(self, link: Link) -> _Request | None:
        """Let the messages of a connection wait, or refuse them, up to one of the peer."""
        is_peer = link is self._peer
        if not is_peer and any(each[0] is link for each in self._waiting):
            return None  # what it says after that is for the one who meets it
        while (parts := link.message()) is not None:
            end = parts.index(b"") + 1 if b"" in parts[:-1] else 0
            request = _Request(link, parts[:end], parts[end:])
            if not end:  # nobody that waits for an answer says that
                link.taken = None
            elif is_peer and request.route == self._route:
                self._asked = True
                link.taken = None
                return request
            elif self.refuse is not None and self._peer is not None and not is_peer:
                link.taken = None
                self._turn_off(request, self.refuse)
            elif request[:2] in self._waiting:
                link.taken = None
            else:
                self._waiting[request[:2]] = request
                link.taken = None
                if self._peer is not None:
                    logger.warning("another simulator at %s waits until this simulation has ended", self.endpoint)
                if not is_peer:
                    break
        if link.is_gone:
            self._watch(link)
        return None

    def _meet(self, request: _Request) -> None:
        """The sender of this message is the peer from now on."""
        self._peer, self._route = request.link, request.route
        route = b"".join(frame(part, MORE) for part in request.route)
        self._short, self._long = route + b"\0", route + b"\2"
        self._begin = len(self._short) + 1
        self._asked = True
        request.link.wait_at_most(self._wait or _INSTANT)

    def _turn_off(self, request: _Request, refuse: Callable[[bytes], bytes]) -> None:
        self._say(request, refuse(b"".join(request.frames)))
        logger.warning("another simulator at %s is turned away: one simulation is served here", self.endpoint)

    def _say(self, request: _Request, data: bytes) -> None:
        request.link.say(b"".join(frame(part, MORE) for part in request.route) + frame(data))
        self._watch(request.link)

    def turn_away(self, refuse: Callable[[bytes], bytes]) -> None:
        """Answer all peers that wait, and those that have just come: nobody else will.

        Args:
            refuse: makes an answer to a message.
        """
        until = time.monotonic() + _BEGINNING
        self._look(0)
        while not all(link.has_spoken for link in self._links.values()) and (left := until - time.monotonic()) > 0:
            self._look(left)
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
        size, peer = len(data), self._peer
        if size < 256:
            answer = self._short + _BYTES[size] + data
        else:
            answer = self._long + size.to_bytes(8, "big") + data
        if peer is None or peer.is_gone:
            self._asked = False
            return
        if peer.unsent:
            peer.say(answer)
            self._watch(peer)
            self._asked = False
            return
        self._answer = answer
        try:
            self._sent.extend(map(peer.give, (answer,), _NO_WAITS))
        except (BlockingIOError, TimeoutError):
            self._sent.append(0)
        except OSError:
            peer.close()
            self._watch(peer)
            self._sent.append(len(answer))
        self._settle()

    def _settle(self) -> None:
        """Count the bytes that `send` has sent, wherever it was interrupted."""
        if self._sent:
            peer, sent = self._peer, self._sent[0]
            if peer is not None:
                peer.taken = None  # it was answered, even if a signal came before it was read
                if sent < len(self._answer):
                    peer.say(self._answer[sent:])
                    self._watch(peer)
            self._asked = False
            self._sent.clear()

    @property
    def owes_reply(self) -> bool:
        """Whether a message was received that is not answered yet."""
        is_heard = self._asked or (self._peer is not None and self._peer.taken is not None)
        return is_heard and not self._sent

    # Waiting

    def wait(self, seconds: float) -> None:
        """Wait for a message to arrive, or for this number of seconds."""
        self._look(seconds)

    async def wait_async(self, seconds: float) -> None:
        """`wait`, without blocking the event loop."""
        import asyncio  # which takes its time, and most schedulers do without

        loop = asyncio.get_running_loop()
        come: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not come.done():
                come.set_result(None)

        timer = loop.call_later(seconds, wake)
        try:
            descriptor = self._selector.fileno()
            loop.add_reader(descriptor, wake)
        except (AttributeError, NotImplementedError):  # on Windows
            while not (self.closed or come.done() or self._selector.select(0)):
                await asyncio.sleep(_PAUSE)
            timer.cancel()
            return
        try:
            await come
        finally:
            timer.cancel()
            loop.remove_reader(descriptor)

    def wake(self) -> None:
        """End a wait that `receive` is in, and all that follow. For signal handlers in the same thread."""
        self._wait = 0.0
        if self._peer is not None:
            self._peer.wait_at_most(_INSTANT)
        with suppress(OSError):
            self._waker.send(b"!")

    def _look(self, seconds: float) -> None:
        """Wait for something to happen, at most so long, and take in what has happened."""
        for key, _ in self._selector.select(seconds):
            key.data()

    def _rouse(self) -> None:
        with suppress(OSError):
            self._woken.recv(AT_ONCE)

    def _accept(self) -> None:
        for _ in range(_BACKLOG):
            try:
                connection, _address = self._listener.accept()
            except OSError:  # there is none any more, or there are too many
                return
            number = connection.fileno()
            if number in self._links:  # of a connection that was closed
                self._watch(self._links[number], number)
            link = Link(connection, self.endpoint)
            if not link.is_gone:
                self._links[number] = link
                self._selector.register(connection, selectors.EVENT_READ, partial(self._take_in, link, number))

    def _take_in(self, link: Link, number: int) -> None:
        """A connection can be read or written."""
        if link.unsent:
            link.say(b"")
        if not link.is_gone:
            link.read()
        if link is not self._peer:
            self._sort(link)
        self._watch(link, number)

    def _watch(self, link: Link, number: int = -1) -> None:
        """Look at a connection in the way that it needs now; one that is gone waits for nothing."""
        if not link.is_gone:
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if link.unsent else 0)
            key = self._selector.get_key(link.socket)
            if key.events != events:
                self._selector.modify(link.socket, events, key.data)
            return
        number = number if number >= 0 else next((each for each, found in self._links.items() if found is link), -1)
        if self._links.pop(number, None) is not None:
            with suppress(KeyError, ValueError, OSError):
                self._selector.unregister(number)
        if link is not self._peer:
            for each in [each for each in self._waiting if each[0] is link]:
                del self._waiting[each]

    # The connection

    def forget_peer(self) -> None:
        """A new simulation begins: its peer is the one that waits longest, or else the sender of the next message."""
        peer, self._peer, self._route = self._peer, None, ()
        if peer is not None:
            self._settle()
            peer.wait_at_most(0)
            self._watch(peer)
        self._asked = False

    def is_peer_gone(self) -> bool:
        """Whether the connection of the first message was closed."""
        self._look(0)
        return self._peer is not None and self._peer.is_gone and not self._peer.arrived

    # The end

    def close(self) -> None:
        """Release all resources: sockets and file descriptors. A reply on its way has LINGER to leave."""
        if self.closed:
            return
        self._settle()
        if self._file is not None and identity(self._path) == self._file:
            os.unlink(self._path)
            if self._is_in_own_folder:
                os.rmdir(os.path.dirname(self._path))
        until = time.monotonic() + LINGER
        while any(link.unsent for link in self._links.values()) and (left := until - time.monotonic()) > 0:
            self._look(left)
        self.closed = True
        for link in self._links.values():
            link.close()
        for each in (self._listener, self._waker, self._woken, self._selector):
            each.close()


def _bound(endpoint: str) -> tuple[socket.socket, str]:
    """A socket that listens at an endpoint, and the endpoint with its address and port."""
    scheme, _, name = endpoint.partition("://")
    try:
        if scheme == "ipc" and name and hasattr(socket, "AF_UNIX"):
            if endpoint == _ANYWHERE:
                name = os.path.join(tempfile.mkdtemp(), "socket")
            elif not name.startswith("@"):
                with suppress(FileNotFoundError):
                    os.unlink(name)  # nobody listens there: `refuse_bad_endpoint` has tried
            return _listening(socket.AF_UNIX, name.replace("@", "\0", 1) if name[:1] == "@" else name), f"ipc://{name}"
        found = _NUMERIC.fullmatch(endpoint) or _NUMERIC.fullmatch(_resolved(endpoint))
        if found is None:
            raise OSError(errno.EINVAL, "")
        host = (found[1] and "0.0.0.0") or found[2] or found[3]
        family = socket.AF_INET6 if found[3] else socket.AF_INET
        listener = _listening(family, (host, int(found[4].replace("*", "0"))))
        address, port = listener.getsockname()[:2]
        return listener, f"tcp://[{address}]:{port}" if found[3] else f"tcp://{address}:{port}"
    except zmq.ZMQError as error:
        number = error.errno
    except OSError as error:
        number = errno.ENODEV if isinstance(error, socket.gaierror) else error.errno
    raise OSError(number, _REASONS.get(number) or zmq.strerror(number or 0), endpoint)


def _listening(family: int, address: Any) -> socket.socket:
    listener = socket.socket(family)
    try:
        if family != getattr(socket, "AF_UNIX", None):
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR if IS_POSIX else _EXCLUSIVE, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def _resolved(endpoint: str) -> str:
    """An endpoint with an address where it has the name of an interface; libzmq knows these names."""
    beginning, _, port = endpoint.rpartition(":")
    with zmq.Context() as context, context.socket(zmq.ROUTER) as probe:
        probe.ipv6 = is_ipv6(endpoint)
        probe.bind(endpoint if not endpoint.startswith("tcp://") or not _PORT.fullmatch(port) else f"{beginning}:*")
        return f"{probe.getsockopt_string(zmq.LAST_ENDPOINT).rpartition(':')[0]}:{port}"


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
