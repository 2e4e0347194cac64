"""Where an MQTT broker is, and how one gets in: the address that commands and programs are given. It opens nothing."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

__all__ = ["DEFAULT_PORTS", "Broker", "Will"]

DEFAULT_PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True)
class Broker:
    """An MQTT broker.

    Args:
        host: its name or address.
        port: its port, by default 1883. With TLS it is usually 8883.
        username: the name to log in with.
        password: the password that goes with it.
        tls: how to encrypt, for example `ssl.create_default_context(cafile="ca.crt")`; None for not at all.

    >>> Broker.parse("node-a:1884")
    Broker(host='node-a', port=1884, username=None, tls=None)
    >>> str(Broker.parse("mqtt://me:secret@[::1]"))
    '[::1]:1883'
    """

    host: str
    port: int = 1883
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        if not self.host or any(character.isspace() or character == "\0" for character in self.host):
            raise ValueError(f"expected the name of a host, got {self.host!r}")
        if not 0 < self.port < 65_536:
            raise ValueError(f"expected a port from 1 to 65535, got {self.port}")
        if self.password is not None and not self.username:
            raise ValueError("a password goes with a username")

    @classmethod
    def parse(cls, text: str) -> Broker:
        """The broker that `HOST`, `HOST:PORT` or `mqtts://USER:PASSWORD@HOST:PORT` names.

        `mqtts` is encrypted, and the certificate is checked against those that the system trusts.

        Raises:
            ValueError: it names none.
        """
        try:
            parts = urlsplit(text if "://" in text else f"mqtt://{text}")
            return cls._of(parts)
        except ValueError as error:
            expected = "expected HOST, HOST:PORT or mqtts://USER:PASSWORD@HOST:PORT"
            raise ValueError(f"{expected}, got {_without_password(text)!r}: {error}") from None

    @classmethod
    def _of(cls, parts: SplitResult) -> Broker:
        if parts.scheme not in DEFAULT_PORTS:
            raise ValueError(f"there is no {parts.scheme}, only mqtt and mqtts")
        if parts.path.strip("/") or parts.query or parts.fragment:
            raise ValueError("nothing can stand behind the port")
        return cls(
            parts.hostname or "",
            DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port,
            None if parts.username is None else unquote(parts.username),
            None if parts.password is None else unquote(parts.password),
            ssl.create_default_context() if parts.scheme == "mqtts" else None,
        )

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _without_password(text: str) -> str:
    return f"...@{text.rpartition('@')[2]}" if "@" in text else text


@dataclass(frozen=True)
class Will:
    """A message that the broker publishes when the connection is lost and was not closed.

    Args:
        topic: the topic.
        payload: what it says.
        qos: the quality of service, 0 to 2.
    """

    topic: str
    payload: bytes = b""
    qos: int = 1
