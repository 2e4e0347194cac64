"""The file that describes an OAR cluster, in TOML: the address of its API and the way to authenticate.

The store keeps only the path of the file. Passwords and tokens are in another file, or in the environment. They are in
no message. This module must not know of jobs.
"""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Mapping
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import msgspec

from batprotocol.campaigns.managers.describing import description_in, file_content
from batprotocol.errors import InputError, shown

__all__ = ["Description", "headers_of", "read_description"]

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
FILES: Final = ("secret_file", "certificate", "key", "ca")

Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """An OAR cluster, with CiGri's words where CiGri has them.

    Args:
        url: the address of the API, `https://oar.example.org/oarapi`.
        user: the login on the cluster.
        auth: `none` (the header with the login is enough), `password`, `cert` or `jwt`.
        header: the name of the header with the login. CiGri's `X_REMOTE_IDENT` does not pass web servers that refuse
            underscores.
        secret_file: a file with the password or token, which only its owner can read.
        secret_variable: the name of an environment variable with it.
        certificate: the file of the client's certificate, for `cert`.
        key: the file of its key, if it is another one.
        ca: the file of the authority that signed the server's certificate; without it, the system's authorities.
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
    secret_variable: str | None = None
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


def read_description(path: str | os.PathLike[str]) -> Description:
    """Read the description of a cluster with `type = "oar"`. Names of files in it are relative to its folder.

    Raises:
        InputError: it cannot be used; the error has the file and the key.
    """
    return description_in(path, "oar", Description, _finished, {"url": f"expected a key 'url' with {ADDRESS}"})


def _finished(found: Description, beside: str) -> Description:
    _check(found)
    files = {name: os.path.join(beside, os.path.expanduser(each)) for name in FILES if (each := getattr(found, name))}
    return msgspec.structs.replace(found, **files)


ADDRESS: Final = "the address of the API, such as https://oar.example.org/oarapi"


def _check(found: Description) -> None:
    """Check the values together. No message has the address, as it may have a password."""
    try:
        parts = urlsplit(found.url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not (usable and found.url.isascii() and found.url.isprintable()) or set(found.url) & set(" ?#"):
        raise InputError(f"expected {ADDRESS}", "url")
    if "@" in parts.netloc:
        raise InputError("expected no password: write it into a file, and its name into 'secret_file'", "url")
    if not (found.user.isascii() and found.user.isprintable()):
        raise InputError(f"expected a login, got {shown(found.user)}", "user")
    needs_secret = found.auth in ("password", "jwt")
    if needs_secret and (found.secret_file is None) == (found.secret_variable is None):
        raise InputError(f"with {found.auth!r}, expected one of 'secret_file' and 'secret_variable'", "auth")
    if needs_secret and parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise InputError(f"with {found.auth!r}, expected an address with https, as others can read the secret", "url")
    if found.auth == "cert" and (found.certificate is None or parts.scheme != "https"):
        raise InputError("with 'cert', expected a 'certificate' and an address with https", "auth")


def headers_of(description: Description) -> tuple[dict[str, str], str]:
    """The headers that authenticate each request, and the secret in them, which no message may have.

    Raises:
        InputError: the secret cannot be read.
    """
    headers = {description.header: description.user} if description.user else {}
    if description.auth not in ("password", "jwt"):
        return headers, ""
    secret = _secret(description)
    if description.auth == "jwt":
        return {**headers, "Authorization": f"Bearer {secret}"}, secret
    pair = base64.b64encode(f"{description.user}:{secret}".encode()).decode()
    return {**headers, "Authorization": f"Basic {pair}"}, secret


def _secret(description: Description) -> str:
    if description.secret_variable is not None:
        where = f"the environment variable {description.secret_variable}"
        found = os.environ.get(description.secret_variable, "")
    else:
        where = description.secret_file or ""
        text = file_content(where)
        if stat.S_IMODE(os.stat(where).st_mode) & 0o077:
            raise InputError("others can read the secret: run chmod 600 on the file", file=where)
        found = text.decode("utf-8", "replace").rstrip("\r\n")
    if not found.isprintable() or not found or (description.auth == "jwt" and not found.isascii()):
        raise InputError(f"expected a password or token of one line in {where}")
    return found
