"""Requests to the API of an OAR cluster. `batprotocol._util.web` bounds each of them.

No message has the secret. This module must not know what is asked.
"""

from __future__ import annotations

import ssl
from typing import Final
from urllib.parse import urlsplit

from batprotocol._util.web import Unanswered as NoReply
from batprotocol._util.web import WebServer, without_secrets
from batprotocol.campaigns.managers.oar.description import Description, headers_of
from batprotocol.campaigns.model.record import Record
from batprotocol.errors import ClusterError, InputError

__all__ = ["Answer", "Api", "Unanswered"]

MOST_BYTES: Final = 32_000_000
"""The greatest size of an answer: a page of some 16,000 jobs. OAR's pages have 500 by default."""

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
    body: bytes | bytearray
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
        PackageMissing: h11 is not installed.
    """

    def __init__(self, description: Description, cluster: str = "") -> None:
        self._description = description
        self._cluster = cluster
        self._headers, self._secret = headers_of(description)
        self._base = urlsplit(description.url)
        is_secure = self._base.scheme == "https"
        port = self._base.port or (443 if is_secure else 80)
        self._server = WebServer(description.host, port, tls=self._context() if is_secure else None)

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
        headers = {**self._headers, "Accept": "application/json", "Content-Type": "application/json"}
        target = f"{self._base.path.rstrip('/')}/{path}"
        most, seconds = MOST_BYTES if limit is None else limit, self._description.timeout
        try:
            found = self._server.ask(method, target, headers, body, seconds=seconds, most=most, cut=limit is not None)
        except NoReply as error:
            raise Unanswered(self._reason(error, about), self._cluster) from None
        return Answer(found.status, found.type, found.body, about, found.whole)

    def safe(self, text: str) -> str:
        """The beginning of a text of the server, in one line and without the secret."""
        return without_secrets(text, (self._secret, self._headers.get("Authorization", "").rpartition(" ")[2]), SHOWN)

    def _reason(self, error: NoReply, about: str) -> str:
        host = self._description.host
        if error.kind == "late":
            return f"{host} does not answer {about} within {self._description.timeout:g} s"
        if error.kind == "unsent":
            return f"{host} is not asked {about}: {error.reason}"
        if error.kind == "untrusted":
            return f"{host} does not answer {about}: {error.reason}; give its authority in 'ca'"
        return f"{host} does not answer {about} completely: {error.reason}"

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
