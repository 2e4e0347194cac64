"""A client of slurmrestd, over a Unix socket or http(s). Tokens stay in memory."""

from __future__ import annotations

import getpass
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote, urlsplit

from batprotocol._util.requirements import refusal
from batprotocol._util.web import Unanswered, WebServer, without_secrets
from batprotocol.errors import InputError, shown
from batprotocol.sites.slurm.client.errors import SlurmAway, SlurmError
from batprotocol.sites.slurm.client.rest_answers import (
    INSTEAD,
    RestAnswer,
    read_answer,
    read_rest_id,
    read_rest_jobs,
    read_rest_longest,
    read_rest_nodes,
    read_versions,
    submission,
)
from batprotocol.sites.slurm.client.rows import Batch, Limits, SlurmJob, SlurmNode

if TYPE_CHECKING:
    import ssl

__all__ = ["SlurmRest", "read_token"]

MOST_BYTES: Final = 150 << 20
"""How many bytes of an answer are read: those of about 20,000 jobs."""

SHOWN: Final = 600
"""How many characters of an error are kept."""

PAUSE_SECONDS: Final = 0.5
_GONE: Final = re.compile(r"invalid job id|already (?:completing|completed)", re.I)
_LONGEST: Final = 10_000
_TOKEN: Final = re.compile(r"[\w.~+/=-]{1,8192}", re.A)


class _Token(str):
    """A secret text, which no message shows by accident."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'(secret)'"


def read_token(file: str = "", variable: str = "") -> str:
    """A token from a file or a variable; "" if neither is given.

    In a file, it may be a line such as `SLURM_JWT=...`, as `scontrol token` prints it.

    Raises:
        InputError: there is no such file or variable, or its content is no token. The error does not show it.
    """
    if file:
        path = Path(os.path.expanduser(file))
        try:
            with path.open() as opened:
                text, place = opened.read(_LONGEST), f"token_file: {path}"
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not a text"
            raise InputError(f"{path} cannot be read: {why}", "token_file") from None
    elif variable:
        text, place = os.environ.get(variable, ""), f"token_variable: {variable}"
    else:
        return ""
    token = text.strip().removeprefix("SLURM_JWT=")
    if _TOKEN.fullmatch(token) is None:
        raise InputError("expected a token, as `scontrol token` prints it, got something else", place)
    return _Token(token)


class SlurmRest:
    """Asks slurmrestd.

    Args:
        address: `unix:/PATH`, or a URL, `http://HOST:PORT` or `https://HOST:PORT`.
        token: the token of the user, or ""; or a function that returns it, called for each request, as tokens end.
        user: the name of the user; "": the one of this process.
        timeout: how many seconds a question may take as a whole, with its repetitions while slurmctld is away, and how
            many each other request may take.

    Raises:
        InputError: the address has another form, or the token would be sent over http to another machine.
        PackageMissing: h11 is not installed.
    """

    def __init__(
        self, address: str, token: str | Callable[[], str] = "", user: str = "", timeout: float = 30.0
    ) -> None:
        place = _place(address)
        self._token = token if callable(token) else lambda: token
        if self._token() and not place.unix and not place.tls and place.host not in ("localhost", "127.0.0.1", "::1"):
            raise InputError("expected https, as a token is sent, got http", "rest")
        self._server = WebServer(place.host, place.port, tls=_context() if place.tls else None, unix=place.unix)
        self._address = address
        self._user = user or getpass.getuser()
        self._timeout = timeout
        self._version: int | None = None

    def jobs(self) -> Sequence[SlurmJob]:
        return [*read_rest_jobs(self._ask("jobs"), self._user)]

    def nodes(self, partition: str) -> Sequence[SlurmNode]:
        return [*read_rest_nodes(self._ask("nodes"), partition)]

    def limits(self, partition: str) -> Limits:
        """The limits of the partition. The API does not have the others: they are Slurm's defaults."""
        if not partition:
            return Limits()
        try:
            exists, longest = read_rest_longest(self._ask(f"partition/{quote(partition, safe='')}"))
        except SlurmAway:
            raise
        except SlurmError:
            return Limits(exists=False)
        return Limits(longest=longest, exists=exists)

    def submit(self, batch: Batch) -> str:
        until = time.monotonic() + self._timeout
        version = self._known_version(until)
        body = submission(batch, version)
        return read_rest_id(self._request("POST", f"/slurm/v0.0.{version}/job/submit", until, body))

    def cancel(self, ids: Iterable[str]) -> None:
        self._delete(ids, "")

    def signal(self, ids: Iterable[str], name: str) -> None:
        self._delete(ids, f"?signal={quote(name, safe='')}")

    def _delete(self, ids: Iterable[str], query: str) -> None:
        for id in ids:
            until = time.monotonic() + self._timeout
            version = self._known_version(until)
            try:
                self._request("DELETE", f"/slurm/v0.0.{version}/job/{quote(id, safe='')}{query}", until)
            except SlurmAway:
                raise
            except SlurmError as error:
                if _GONE.search(error.reason) is None:
                    raise

    def _ask(self, what: str) -> RestAnswer:
        until = time.monotonic() + self._timeout
        while True:
            try:
                return self._request("GET", f"/slurm/v0.0.{self._known_version(until)}/{what}", until)
            except SlurmAway:
                if time.monotonic() + PAUSE_SECONDS >= until:
                    raise
                time.sleep(PAUSE_SECONDS)

    def _known_version(self, until: float) -> int:
        if self._version is None:
            self._version = read_versions(self._request("GET", "/openapi/v3", until))
        return self._version

    def _request(self, method: str, path: str, until: float, body: bytes | None = None) -> RestAnswer:
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        try:
            token = self._token()
        except InputError as error:
            raise SlurmError(f"slurmrestd: {error}") from None
        if token:
            headers |= {"X-SLURM-USER-NAME": self._user, "X-SLURM-USER-TOKEN": token}
        try:
            reply = self._server.ask(
                method, path, headers, body, seconds=max(until - time.monotonic(), 0.0), most=MOST_BYTES
            )
            return read_answer(reply.status, reply.body)
        except Unanswered as error:
            place = f"slurmrestd at {self._address}"
            if error.kind == "long":
                raise SlurmError(f"{place}: {error.reason}{INSTEAD}") from None
            if error.kind == "unsent":
                raise SlurmError(f"{place} is not asked: {error.reason}") from None
            if error.kind == "late":
                raise SlurmAway(f"{place}: no answer within {self._timeout:g} s") from None
            raise SlurmAway(f"{place}: no complete answer: {error.reason}") from None
        except SlurmError as error:  # a server may say anything, and the token is no secret to it
            raise type(error)(without_secrets(error.reason, [token], SHOWN)) from None


class _Place(NamedTuple):
    host: str
    port: int
    tls: bool
    unix: str = ""


def _place(address: str) -> _Place:
    """The place in an address."""
    try:
        parts = urlsplit(address)
    except ValueError:
        raise InputError(f"{_EXPECTED}, got {shown(address)}", "rest") from None
    if "@" in parts.netloc:
        raise InputError("expected an address without a user, got one with a user", "rest")
    if address.startswith("unix:/") and "\0" not in address:
        if sentence := refusal("addresses with unix:", "socket.AF_UNIX"):
            raise InputError(sentence, "rest")
        return _Place("localhost", 0, False, address[len("unix:") :])
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"{_EXPECTED}, got {shown(address)}", "rest")
    is_secure = parts.scheme == "https"
    try:
        return _Place(parts.hostname, parts.port or (443 if is_secure else 80), is_secure)
    except ValueError:
        raise InputError(f"expected a port from 0 to 65535, got {shown(address)}", "rest") from None


_EXPECTED: Final = 'expected "unix:/PATH" or a URL of http or https'


def _context() -> ssl.SSLContext:
    import ssl  # it takes a while

    return ssl.create_default_context()
