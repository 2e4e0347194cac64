"""Servers: requests over HTTP that are bounded as a whole, and their JSON in bounded memory."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeVar

import msgspec

from batprotocol._util.requirements import installing
from batprotocol.errors import PackageMissing, ProtocolError, printable

if TYPE_CHECKING:
    import ssl

    import h11

__all__ = [
    "ABSENT",
    "HttpAnswer",
    "Item",
    "TooMany",
    "Unanswered",
    "WebServer",
    "decoded",
    "items_of",
    "number_of",
    "small",
    "text_of",
    "without_secrets",
]


PIECE: Final = 1 << 18
"""How many bytes are read at once."""

MOST_HEAD: Final = 1 << 16
"""How many bytes the head of an answer may have, or the head of a chunk."""

MOST_ADDRESSES: Final = 16
"""How many addresses of a host are tried."""

LONGEST: Final = 100_000
"""How many characters of a text are looked at, to show its beginning."""

_HUNG_UP: Final = "it hangs up in the middle of its answer"
_UNSENT: Final = "the address or a header, such as the name of the user, has characters that HTTP does not take"
_NO_HTTP: Final = "its answer is not HTTP/1.1"


class HttpAnswer(NamedTuple):
    """An answer of the server.

    Attributes:
        status: the status of HTTP, from 200.
        type: the type of the content, or "".
        body: the content.
        whole: whether this is the whole content. It is cut only if the caller asked for it.
    """

    status: int
    type: str
    body: bytes | bytearray
    whole: bool


Kind = Literal["late", "untrusted", "long", "unsent", "broken"]


class Unanswered(ProtocolError):
    """There is no complete answer. The server may have carried out the request, or may do so later.

    Attributes:
        reason: why, without the name of the server.
        kind: `late`: the time is over; `untrusted`: the certificate of the server is not valid; `long`: the answer has
            too many bytes; `unsent`: nothing was sent, as HTTP does not take it; `broken`: anything else.
    """

    def __init__(self, reason: str, kind: Kind = "broken") -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind


class WebServer:
    """A server that is asked.

    Args:
        host: its name or address.
        port: its port.
        tls: the context of TLS; None: plain HTTP.
        unix: the path of a Unix socket, in place of the host and port; "": TCP.

    Raises:
        PackageMissing: h11 is not installed.
    """

    def __init__(self, host: str, port: int, *, tls: ssl.SSLContext | None = None, unix: str = "") -> None:
        try:
            import h11
        except ModuleNotFoundError as error:
            raise PackageMissing(f"HTTP needs h11: {installing('campaigns', 'h11')}", name=error.name) from None
        self._h11 = h11
        self._host = host
        self._port = port
        self._tls = tls
        self._unix = unix

    def ask(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        seconds: float,
        most: int,
        cut: bool = False,
    ) -> HttpAnswer:
        """Make a request.

        Args:
            method: `GET`, `POST` or `DELETE`.
            target: the path with its query, quoted.
            headers: the headers besides those of the protocol. Characters that are not ASCII are sent in UTF-8.
            body: the content to send.
            seconds: how many seconds the request may take as a whole.
            most: how many bytes of the answer are read.
            cut: whether an answer with more bytes is cut; else it is an error.

        Raises:
            Unanswered: there is no complete answer, it is not HTTP/1.1, or it has too many bytes.
        """
        clock = _Clock(seconds)
        protocol = self._h11.Connection(our_role=self._h11.CLIENT, max_incomplete_event_size=MOST_HEAD)
        sent = self._written(protocol, method, target, headers, body or b"")
        link: socket.socket | None = None
        try:
            link = self._connected(clock)
            _send(link, sent, clock)
            return self._read(protocol, link, clock, most, cut)
        except TimeoutError:
            raise Unanswered(f"it does not answer within {seconds:.3g} s", "late") from None
        except (OSError, ValueError) as error:  # ValueError: names that TLS or sockets do not take
            raise _failure(error) from None
        finally:
            if link is not None:
                link.close()

    def _written(
        self, protocol: h11.Connection, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> bytes:
        """The bytes of a request. An error of h11 may have the secret, so nothing of it is shown."""
        try:
            host = f"[{self._host}]" if ":" in self._host else self._host.encode("idna").decode()
            place = host if self._unix or self._port == (80 if self._tls is None else 443) else f"{host}:{self._port}"
            request = self._h11.Request(
                method=method,
                target=target.encode("ascii"),
                headers=[
                    (b"Host", place.encode("ascii")),
                    (b"Connection", b"close"),
                    (b"Accept-Encoding", b"identity"),
                    *([(b"Content-Length", b"%d" % len(body))] if body or method == "POST" else []),
                    *((name.encode("ascii"), value.encode()) for name, value in headers.items()),
                ],
            )
        except (self._h11.LocalProtocolError, UnicodeError):
            raise Unanswered(_UNSENT, "unsent") from None
        pieces = [protocol.send(request)]
        if body:
            pieces.append(protocol.send(self._h11.Data(body)))
        pieces.append(protocol.send(self._h11.EndOfMessage()))
        return b"".join(each for each in pieces if each)

    def _connected(self, clock: _Clock) -> socket.socket:
        if self._unix:
            link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            return _opened(link, self._unix, clock.left())
        addresses = _addresses(self._host, self._port, clock)[:MOST_ADDRESSES]
        failure: OSError = OSError("the host has no address")
        for tried, (family, kind, number, _, address) in enumerate(addresses):
            try:
                link = _opened(socket.socket(family, kind, number), address, clock.left() / (len(addresses) - tried))
            except OSError as error:
                failure = error
                continue
            return link if self._tls is None else self._secured(link, clock)
        raise failure

    def _secured(self, link: socket.socket, clock: _Clock) -> socket.socket:
        assert self._tls is not None
        try:
            link.settimeout(clock.left())
            return self._tls.wrap_socket(link, server_hostname=self._host)
        except BaseException:
            link.close()
            raise

    def _read(self, protocol: h11.Connection, link: socket.socket, clock: _Clock, most: int, cut: bool) -> HttpAnswer:
        status, kind, body = 0, "", bytearray()
        for event in self._events(protocol, link, clock):
            if isinstance(event, self._h11.Response):
                status = event.status_code
                found = dict(event.headers)
                kind = found.get(b"content-type", b"").decode("ascii", "replace")
                length = found.get(b"content-length", b"0")
                if not cut and int(length) > most:
                    raise _too_much(most)
            elif isinstance(event, self._h11.Data):
                body += event.data
                if len(body) > most:
                    if not cut:
                        raise _too_much(most)
                    del body[most:]
                    return HttpAnswer(status, kind, body, whole=False)
            elif isinstance(event, self._h11.EndOfMessage):
                break
        return HttpAnswer(status, kind, body, whole=True)

    def _events(self, protocol: h11.Connection, link: socket.socket, clock: _Clock) -> Iterator[object]:
        """The parts of the answer. Answers such as `100 Continue` are among them."""
        is_over = False
        while True:
            left = clock.left()  # a piece may have many parts, so reading it takes a while, too
            try:
                event = protocol.next_event()
            except self._h11.RemoteProtocolError:
                raise Unanswered(_HUNG_UP if is_over else _NO_HTTP) from None
            if event is self._h11.NEED_DATA:
                link.settimeout(left)
                piece = link.recv(PIECE)
                is_over = not piece
                protocol.receive_data(piece)
            elif event is self._h11.PAUSED:  # the server speaks another protocol from now on
                raise Unanswered(_NO_HTTP)
            else:
                yield event


def without_secrets(text: str, secrets: Sequence[str], most: int) -> str:
    r"""The beginning of a text of a server, in one line: without secrets, and with escapes for control characters.

    >>> without_secrets("who is\n\x1bJWT.x?", ["JWT.x"], 300)
    'who is \\x1b***?'
    """
    line = text[:LONGEST]
    for _ in range(2):  # before and after the white space changes: a secret may have some
        for secret in secrets:
            line = line.replace(secret, "***") if secret else line
        line = " ".join(line.split())
    line = printable(line[: most + 1])
    return line if len(line) <= most else f"{line[:most]}..."


class _Clock:
    """The deadline of a request."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """How many seconds are left, more than 0. It raises `TimeoutError` if there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


_Address = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[object, ...]]


def _addresses(host: str, port: int, clock: _Clock) -> Sequence[_Address]:
    """The addresses of a host. Nothing can end a look-up: a thread does it, and goes on alone if it is late."""
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        pass  # it is a name
    answers: SimpleQueue[Sequence[_Address] | Exception] = SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=look_up, daemon=True).start()
    try:
        found = answers.get(timeout=clock.left())
    except Empty:
        raise TimeoutError from None
    if isinstance(found, Exception):
        raise found
    return found


def _opened(link: socket.socket, address: object, seconds: float) -> socket.socket:
    try:
        link.settimeout(seconds)
        link.connect(address)  # type: ignore[arg-type]
    except BaseException:
        link.close()
        raise
    return link


def _send(link: socket.socket, content: bytes, clock: _Clock) -> None:
    left = memoryview(content)
    while left:
        link.settimeout(clock.left())
        left = left[link.send(left) :]


def _too_much(most: int) -> Unanswered:
    return Unanswered(f"its answer has more than {most} bytes", "long")


def _failure(error: OSError | ValueError) -> Unanswered:
    """The error of a system call or of TLS, as ours."""
    if error.__class__.__name__ == "SSLCertVerificationError":
        reason = getattr(error, "verify_message", "")
        return Unanswered(f"its certificate is not valid: {printable(reason)[:200]}", "untrusted")
    what = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return Unanswered(printable(what)[:200])


# Reads JSON of a stranger in bounded memory: only the wanted members, each of them small, of at most so many objects.


Wanted = TypeVar("Wanted")

ABSENT: Final = msgspec.Raw()
"""The default of a member."""

MOST_TEXT: Final = 1 << 14
"""How many bytes a text may have, in JSON. A longer one is not read."""

MOST_NUMBER: Final = 40

BROKEN: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

_counts = threading.local()


class TooMany(ValueError):
    """There are more objects than may be."""


class Item(msgspec.Struct, gc=False):
    """An object of which there may be many. They are counted while they are read, inside of `decoded`."""

    def __post_init__(self) -> None:
        _counts.left -= 1
        if _counts.left < 0:
            _counts.is_over = True
            raise TooMany


@contextmanager
def _counted(most: int) -> Iterator[None]:
    before = getattr(_counts, "left", 0)
    _counts.left, _counts.is_over = most, False
    try:
        yield
    except BROKEN:
        if _counts.is_over:
            raise TooMany(f"more than {most} objects") from None
        raise
    finally:
        _counts.left = before


def decoded(text: bytes | bytearray | msgspec.Raw, kind: type[Wanted], most: int) -> Wanted:
    """The value in a text of JSON.

    Args:
        text: the text.
        kind: its type.
        most: how many `Item` it may have.

    Raises:
        TooMany: it has more.
        msgspec.MsgspecError: it is another value, or no JSON. So do `UnicodeDecodeError` and `RecursionError`.
    """
    with _counted(most):
        return msgspec.json.decode(text, type=kind)


def text_of(raw: msgspec.Raw, most: int = MOST_TEXT) -> str:
    """A text, or "" if it is none. A number is written as a text, `true` as `True`.

    Args:
        raw: a member.
        most: how many bytes it may have in JSON. More are not read: the result is "".
    """
    found = small(raw, str | int | float | bool | None, most)
    return "" if found is None else str(found)


def number_of(raw: msgspec.Raw) -> int | None:
    """A whole number, or None if it is none."""
    found = small(raw, int | None, MOST_NUMBER)
    return found if isinstance(found, int) and abs(found) < 1 << 63 else None


def items_of(raw: msgspec.Raw, kind: type[Wanted], most: int) -> list[Wanted]:
    """The objects of a list; none if it is something else, or has more than `most`."""
    try:
        return decoded(raw, list[kind], most)  # type: ignore[valid-type]
    except (*BROKEN, TooMany):
        return []


def small(raw: msgspec.Raw, kind: object, most: int) -> object:
    """A member that has this type and at most so many bytes; else None."""
    text = memoryview(raw)
    if not 0 < len(text) <= most:
        return None
    try:
        return msgspec.json.decode(text, type=kind)
    except BROKEN:
        return None
