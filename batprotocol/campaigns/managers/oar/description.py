"""The description of an OAR cluster: a file with the address of its API and the way to authenticate.

The store keeps only the path of the file. Passwords and tokens are in another file, or in the environment. They are in
no message. This module must not know of jobs.
"""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import msgspec

from batprotocol.errors import ClusterError
from batprotocol.files import reason_of

__all__ = ["Description", "headers_of", "read_description"]

MOST_BYTES: Final = 1_000_000
"""The greatest size of a description or of a file with a secret."""

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})

Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An OAR cluster, with CiGri's words where CiGri has them.

    Args:
        url: the address of the API, `https://oar.example.org/oarapi`.
        user: the login on the cluster.
        auth: `none` (the header with the login is enough), `password`, `cert` or `jwt`.
        header: the name of the header with the login. CiGri's `X_REMOTE_IDENT` does not pass web servers that refuse
            underscores.
        secret_file: a file with the password or token, which only its owner can read.
        secret_env: the name of an environment variable with it.
        certificate: the file of the client's certificate, for `cert`.
        key: the file of its key, if it is another one.
        ca: the file of the authority that signed the server's certificate; None: the system's authorities.
        queue: the queue of the jobs; empty: OAR's default.
        properties: the resources to use, as CiGri writes them: `cluster = 'luke' and mem = 64`; empty: all.
        resource_unit: the property that counts as one resource, such as `core`.
        timeout: how many seconds a request may take.
        period: how many seconds the resources and the stress factor stay valid. CiGri reads them each 60 s.
    """

    url: str
    user: str = ""
    auth: Literal["none", "password", "cert", "jwt"] = "none"
    header: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,99}\Z")] = "X-REMOTE-IDENT"
    secret_file: str | None = None
    secret_env: str | None = None
    certificate: str | None = None
    key: str | None = None
    ca: str | None = None
    queue: str = ""
    properties: str = ""
    resource_unit: str = "resource_id"
    timeout: Seconds = 30.0
    period: Seconds = 60.0

    @property
    def host(self) -> str:
        """The name of the server."""
        return urlsplit(self.url).hostname or ""

    @property
    def wanted(self) -> Mapping[str, str]:
        """The values of properties that a resource must have to be used."""
        pairs = [each.partition("=") for each in self.properties.replace(" AND ", " and ").split(" and ")]
        return {name.strip(): value.strip().strip("'\"") for name, equals, value in pairs if equals}


def read_description(path: str, cluster: str = "") -> Description:
    """Read the description of an OAR cluster.

    Args:
        path: the file, JSON.
        cluster: the name of the cluster, for messages.

    Raises:
        ClusterError: it cannot be read, or describes no cluster.
    """
    text = _read(path, cluster)
    try:
        found = msgspec.json.decode(text, type=Description)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ClusterError(f"{path} does not describe an OAR cluster: {error}", cluster) from None
    wrong = _wrong(found)
    if wrong:
        raise ClusterError(f"{path}: {wrong}", cluster)
    return found


def _wrong(found: Description) -> str:
    """What is wrong with a description, or the empty text."""
    try:
        parts = urlsplit(found.url)
        port_is_wrong = parts.port == 0
    except ValueError:
        return "expected an address of the API such as https://oar.example.org/oarapi in 'url'"
    if parts.scheme not in ("http", "https") or not parts.hostname or port_is_wrong or parts.query or parts.fragment:
        return (
            f"expected an address of the API such as https://oar.example.org/oarapi in 'url', got {found.url[:200]!r}"
        )
    if "@" in parts.netloc:
        return "'url' has a password: write it into a file and name that in 'secret_file'"
    if not (found.url.isascii() and found.url.isprintable()) or " " in found.url:
        return f"expected an address of printable ASCII characters in 'url', got {found.url[:200]!r}"
    if not (found.user.isascii() and found.user.isprintable()):
        return f"expected a login in 'user', got {found.user[:100]!r}"
    needs_secret = found.auth in ("password", "jwt")
    if needs_secret and (found.secret_file is None) == (found.secret_env is None):
        return f"'auth' is {found.auth!r}: give one of 'secret_file' and 'secret_env'"
    if needs_secret and parts.scheme == "http" and parts.hostname not in LOOPBACK:
        return f"'auth' is {found.auth!r}, and anybody can read it on the way: use an address with https"
    if found.auth == "cert" and (found.certificate is None or parts.scheme != "https"):
        return "'auth' is 'cert': give 'certificate' and an address with https"
    return ""


def headers_of(description: Description, cluster: str = "") -> tuple[dict[str, str], str]:
    """The headers that authenticate each request, and the secret in them, which no message may have.

    Raises:
        ClusterError: the secret cannot be read.
    """
    headers = {description.header: description.user} if description.user else {}
    if description.auth not in ("password", "jwt"):
        return headers, ""
    secret = _secret(description, cluster)
    if description.auth == "jwt":
        return {**headers, "Authorization": f"Bearer {secret}"}, secret
    pair = base64.b64encode(f"{description.user}:{secret}".encode()).decode()
    return {**headers, "Authorization": f"Basic {pair}"}, secret


def _secret(description: Description, cluster: str) -> str:
    if description.secret_env is not None:
        where = f"the environment variable {description.secret_env}"
        found = os.environ.get(description.secret_env, "")
    else:
        path = os.path.expanduser(description.secret_file or "")
        where = path
        found = _private(path, cluster).rstrip("\r\n")
    if not found or not found.isprintable():
        raise ClusterError(f"expected a password or token of one line in {where}", cluster)
    if description.auth == "jwt" and not found.isascii():
        raise ClusterError(f"expected a token of ASCII characters in {where}", cluster)
    return found


def _private(path: str, cluster: str) -> str:
    """The text of a file that only its owner can read."""
    text = _read(path, cluster)
    if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        raise ClusterError(f"others can read {path}: run chmod 600 on it", cluster)
    return text.decode("utf-8", "replace")


def _read(path: str, cluster: str) -> bytes:
    try:
        if not Path(path).is_file():  # a device or a pipe would never end
            raise FileNotFoundError(2, "no such file")
        with open(path, "rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ClusterError(f"{path}: {reason_of(error)}", cluster) from None
    if len(text) > MOST_BYTES:
        raise ClusterError(f"{path} is greater than {MOST_BYTES} bytes", cluster)
    return text
