"""Bounded requests to the API of an OAR cluster: each ends in time, and reads no more than it may.

It follows no redirects, as these would carry the password to another server. No message has the secret. This module
must not know what is asked.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from batprotocol.campaigns.managers.oar.description import Description, headers_of
from batprotocol.campaigns.model.record import Record
from batprotocol.errors import ClusterError, InputError

__all__ = ["Answer", "Api", "Unanswered"]

MOST_BYTES: Final = 64_000_000
"""The greatest size of an answer."""

SHOWN: Final = 300
"""How many characters of an answer a message shows."""


class Answer(Record, frozen=True):
    """An answer of the server.

    Args:
        status: the status of HTTP.
        type: the type of the content.
        body: the content.
        about: the request, for messages: `GET jobs/details`.
        whole: whether this is the whole content. It is cut only if the caller gave a limit.
    """

    status: int
    type: str
    body: bytes
    about: str = ""
    whole: bool = True


class Unanswered(ClusterError):
    """A request that got no complete answer. The server may have carried it out, or may do so later."""


class Api:
    """The API of a cluster.

    Args:
        description: its description.
        cluster: the name of the cluster, for messages.

    Raises:
        InputError: the secret or the certificates cannot be read.
    """

    def __init__(self, description: Description, cluster: str = "") -> None:
        self._description = description
        self._cluster = cluster
        self._headers, self._secret = headers_of(description)
        self._base = urlsplit(description.url)
        self._tls = self._context() if self._base.scheme == "https" else None

    def __repr__(self) -> str:
        return f"Api({self._description.url!r})"

    def ask(self, method: str, path: str, body: bytes | None = None, *, limit: int | None = None) -> Answer:
        """Make a request.

        Args:
            method: `GET`, `POST` or `DELETE`.
            path: the path after the address of the API, with its query.
            body: JSON.
            limit: how many bytes of the answer to read; None: all, but not more than `MOST_BYTES`.

        Raises:
            Unanswered: there is no complete answer.
        """
        about = f"{method} {path.partition('?')[0][:100]}"
        connection = self._connection()
        over = threading.Event()
        timer = threading.Timer(self._description.timeout, _hang_up, (connection, over))
        timer.daemon = True
        timer.start()
        try:
            headers = {**self._headers, "Accept": "application/json", "Content-Type": "application/json"}
            target = f"{self._base.path.rstrip('/')}/{path}"
            connection.request(method, target, body=body, headers=headers)
            response = connection.getresponse()
            most = MOST_BYTES if limit is None else limit
            content = response.read(most + 1)
            if over.is_set():
                raise TimeoutError
            if len(content) <= most and response.length:
                raise http.client.IncompleteRead(content, response.length)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unanswered(self._reason(error, over.is_set(), about), self._cluster) from None
        finally:
            timer.cancel()
            connection.close()
        if limit is None and len(content) > most:
            raise Unanswered(f"{self._description.host} answers {about} with more than {most} bytes", self._cluster)
        kind = response.getheader("Content-Type") or ""
        return Answer(response.status, kind, content[:most], about, len(content) <= most)

    def safe(self, text: str) -> str:
        """The beginning of a text of the server, in one line and without the secret."""
        line = " ".join(text.split())
        for secret in (self._secret, self._headers.get("Authorization", "").rpartition(" ")[2]):
            line = line.replace(secret, "***") if secret else line
        line = "".join(each if each.isprintable() else "\ufffd" for each in line)
        return line if len(line) <= SHOWN else f"{line[:SHOWN]}..."

    def _reason(self, error: Exception, late: bool, about: str) -> str:
        host = self._description.host
        if late or isinstance(error, TimeoutError):
            return f"{host} does not answer {about} within {self._description.timeout:g} s"
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"the certificate of {host} is not valid: give its authority in 'ca' ({self.safe(str(error))})"
        if isinstance(error, http.client.IncompleteRead):
            return f"{host} hangs up in the middle of its answer to {about}"
        what = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return f"{host} does not answer {about} completely: {self.safe(what)}"

    def _connection(self) -> http.client.HTTPConnection:
        host, port, seconds = self._base.hostname or "", self._base.port, self._description.timeout
        if self._tls is not None:
            return http.client.HTTPSConnection(host, port, timeout=seconds, context=self._tls)
        return http.client.HTTPConnection(host, port, timeout=seconds)

    def _context(self) -> ssl.SSLContext:
        given = self._description
        try:
            context = ssl.create_default_context(cafile=given.ca)
            if given.auth == "cert" and given.certificate is not None:
                context.load_cert_chain(given.certificate, given.key)
        except (OSError, ValueError) as error:
            files = " and ".join(each for each in (given.ca, given.certificate, given.key) if each)
            raise InputError(f"cannot use {files}: {error}") from None
        return context


def _hang_up(connection: http.client.HTTPConnection, over: threading.Event) -> None:
    """End a request that takes too long, whatever it waits for."""
    over.set()
    found = connection.sock
    if found is not None:
        with suppress(OSError):
            found.shutdown(socket.SHUT_RDWR)
