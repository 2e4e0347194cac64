"""Servers of HTTP that attack whoever asks them: with time, with bytes, with what is no HTTP, and with JSON."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, repeat
from typing import Final

__all__ = ["BROKEN", "LATE", "Script", "chunked", "hostile_server", "sized"]

Script = Callable[[str], Iterable[bytes]]
"""The pieces that are sent after a request with this method and path."""

HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED: Final = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
STEP: Final = 0.25


def sized(body: bytes, status: bytes = b"200 OK") -> bytes:
    """A whole answer."""
    return b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


def chunked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A whole answer in chunks."""
    yield CHUNKED
    for piece in pieces:
        yield b"%x\r\n%s\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"


def _slowly(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        time.sleep(STEP)
        yield piece


def _bytes(content: bytes) -> list[bytes]:
    return [content[at : at + 1] for at in range(len(content))]


LATE: Final[dict[str, Script]] = {
    "silence": lambda _: _slowly(repeat(b"")),
    "a byte of the head each quarter of a second": lambda _: _slowly(_bytes(sized(b"{}" * 100))),
    "a byte of the body each quarter of a second": lambda _: chain(
        [HEAD + b"Content-Length: 100\r\n\r\n"], _slowly(_bytes(b"{" * 100))
    ),
    "a chunk each quarter of a second": lambda _: chain([CHUNKED], _slowly(repeat(b"1\r\n \r\n"))),
    "100 Continue without an end": lambda _: repeat(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "103 Early Hints without an end": lambda _: repeat(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
    "chunks of a byte without an end": lambda _: chain([CHUNKED], repeat(b"1\r\n \r\n" * 100)),
}
"""Answers that never end, or end after a long time."""

BROKEN: Final[dict[str, bytes]] = {
    "nothing": b"",
    "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "HTTP/0.9": b"<html>hello</html>",
    "HTTP/2": b"HTTP/2 200\r\n\r\n{}",
    "a status of letters": b"HTTP/1.1 OK OK\r\n\r\n",
    "a negative chunk": CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n",
    "a chunk of another size": CHUNKED + b"2\r\nhello\r\n0\r\n\r\n",
    "a chunk of letters": CHUNKED + b"zz\r\nhello\r\n0\r\n\r\n",
    "a chunk with a sign": CHUNKED + b"+2\r\n{}\r\n0\r\n\r\n",
    "a chunk with an underscore": CHUNKED + b"1_0\r\n{}\r\n0\r\n\r\n",
    "a great chunk": CHUNKED + b"ffffffffffffffff\r\n{}",
    "a chunk without an end": CHUNKED + b"2\r\n{}\r\n",
    "a long head of a chunk": CHUNKED + b"2;" + b"x" * 200_000 + b"\r\n{}\r\n0\r\n\r\n",
    "a negative length": HEAD + b"Content-Length: -5\r\n\r\n{}",
    "a great length": HEAD + b"Content-Length: 99999999999999999999\r\n\r\n{}",
    "a length of thousands of digits": HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}",
    "two lengths": HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    "a length that is too great": HEAD + b"Content-Length: 5\r\n\r\n{}",
    "an unknown coding": HEAD + b"Transfer-Encoding: gzip\r\n\r\n{}",
    "control bytes": b"HTTP/1.1 200 \x1b[31mred\r\nX: a\x00\x1b]0;b\x07\r\nContent-Length: 2\r\n\r\n{}",
    "a long line": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 300_000,
    "many headers": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000,
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n{}",
    "compressed": HEAD + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00",
    "a redirect": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
}
"""Answers that are none."""


@contextmanager
def hostile_server(script: Script, asked: list[str] | None = None, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """A server on the loopback interface that answers each request with a script; its address, `http://...`.

    Args:
        script: what it does.
        asked: gets the methods and paths.
        tls: makes it a server of `https://...`.
    """
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while not over.is_set():
            with suppress(OSError):
                link, _ = listener.accept()
                threading.Thread(target=answer, args=(link,), daemon=True).start()

    def answer(link: socket.socket) -> None:
        with link, suppress(OSError):
            link.settimeout(10)
            link = link if tls is None else tls.wrap_socket(link, server_side=True)
            first = _request(link)
            if asked is not None:
                asked.append(first)
            for piece in script(first):
                if over.is_set():
                    return
                link.sendall(piece)
            link.shutdown(socket.SHUT_WR)
            link.recv(1)  # it is closed by whom it answers: nothing of the answer is lost

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def _request(link: socket.socket) -> str:
    """Read a request; return its method and path."""
    read = b""
    while b"\r\n\r\n" not in read and (piece := link.recv(65536)):
        read += piece
    head, _, body = read.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length and (piece := link.recv(65536)):
        body += piece
    return " ".join(head.decode("latin-1").split(" ")[:2])
