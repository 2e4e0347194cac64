"""A client of slurmrestd, over a Unix socket or http(s). Tokens stay in memory."""

from __future__ import annotations

import getpass
import http.client
import os
import re
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from batprotocol.errors import InputError, shown
from batprotocol.slurm.client.answers import read_minutes
from batprotocol.slurm.client.errors import SlurmAway, SlurmError
from batprotocol.slurm.client.rest_answers import (
    read_answer,
    read_rest_id,
    read_rest_jobs,
    read_rest_nodes,
    read_versions,
    submission,
)
from batprotocol.slurm.client.rows import Batch, Limits, SlurmJob, SlurmNode
from batprotocol.systems import refusal

__all__ = ["SlurmRest", "read_token"]

MOST_BYTES: Final = 1 << 28
PAUSE_SECONDS: Final = 0.5
_GONE: Final = re.compile(r"invalid job id|already (?:completing|completed)", re.I)
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
            text, place = path.read_text(), f"token_file: {path}"
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
        timeout: how many seconds a request may take. Questions are asked again until then while slurmctld is away.

    Raises:
        InputError: the address has another form, or the token would be sent over http to another machine.
    """

    def __init__(
        self, address: str, token: str | Callable[[], str] = "", user: str = "", timeout: float = 30.0
    ) -> None:
        parts = urlsplit(address)
        if "@" in parts.netloc:
            raise InputError("expected an address without a user, got one with a user", "rest")
        if address.startswith("unix:/") and "\0" not in address:
            if sentence := refusal("addresses with unix:", "socket.AF_UNIX"):
                raise InputError(sentence, "rest")
            self._path, self._tls = address[len("unix:") :], False
        elif parts.scheme in ("http", "https") and parts.hostname:
            self._path, self._tls = "", parts.scheme == "https"
        else:
            raise InputError(f'expected "unix:/PATH" or a URL of http or https, got {shown(address)}', "rest")
        try:
            self._host, self._port = parts.hostname or "localhost", parts.port
        except ValueError:
            raise InputError(f"expected a port from 0 to 65535, got {shown(address)}", "rest") from None
        self._token = token if callable(token) else lambda: token
        if self._token() and not self._path and not self._tls and self._host not in ("localhost", "127.0.0.1", "::1"):
            raise InputError("expected https, as a token is sent, got http", "rest")
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
            found = self._ask(f"partition/{quote(partition, safe='')}").get("partitions")
        except SlurmAway:
            raise
        except SlurmError:
            return Limits(exists=False)
        each = found[0] if isinstance(found, list) and found and isinstance(found[0], dict) else None
        longest = None if each is None else each.get("max_time_limit", (each.get("maximums") or {}).get("time"))
        if isinstance(longest, dict):
            longest = longest.get("number") if longest.get("set") else None
        return Limits(
            longest=read_minutes(str(longest)) if isinstance(longest, int) and 0 < longest < 1 << 31 else None,
            exists=each is not None,
        )

    def submit(self, batch: Batch) -> str:
        version = self._known_version()
        return read_rest_id(self._request("POST", f"/slurm/v0.0.{version}/job/submit", submission(batch, version)))

    def cancel(self, ids: Iterable[str]) -> None:
        self._delete(ids, "")

    def signal(self, ids: Iterable[str], name: str) -> None:
        self._delete(ids, f"?signal={quote(name, safe='')}")

    def _delete(self, ids: Iterable[str], query: str) -> None:
        version = self._known_version()
        for id in ids:
            try:
                self._request("DELETE", f"/slurm/v0.0.{version}/job/{quote(id, safe='')}{query}")
            except SlurmAway:
                raise
            except SlurmError as error:
                if _GONE.search(error.reason) is None:
                    raise

    def _ask(self, what: str) -> dict[str, Any]:
        last = time.monotonic() + self._timeout
        while True:
            try:
                return self._request("GET", f"/slurm/v0.0.{self._known_version()}/{what}")
            except SlurmAway:
                if time.monotonic() + PAUSE_SECONDS >= last:
                    raise
                time.sleep(PAUSE_SECONDS)

    def _known_version(self) -> int:
        if self._version is None:
            self._version = read_versions(self._request("GET", "/openapi/v3"))
        return self._version

    def _request(self, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
        connection = self._connection()
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        try:
            token = self._token()
        except InputError as error:
            raise SlurmError(f"slurmrestd: {error}") from None
        if token:
            headers |= {"X-SLURM-USER-NAME": self._user, "X-SLURM-USER-TOKEN": token}
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read(MOST_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise SlurmAway(f"slurmrestd at {self._address}: no answer: {error or type(error).__name__}") from None
        finally:
            connection.close()
        if len(content) > MOST_BYTES:
            raise SlurmError(f"slurmrestd: its answer has more than {MOST_BYTES >> 20} MiB")
        return read_answer(answer.status, content)

    def _connection(self) -> http.client.HTTPConnection:
        if self._path:
            return _UnixConnection(self._path, self._timeout)
        kind = http.client.HTTPSConnection if self._tls else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=self._timeout)


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
