"""The protocols that the command knows: one table, for whoever reads messages, judges conversations or lists rules.

A protocol more is a row more. What is in a row, `reading` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from batprotocol.capture.names import Place
from batprotocol.cli.protocols.batsim5 import BATSIM_5
from batprotocol.cli.protocols.fast import FAST
from batprotocol.cli.protocols.legacy import OLD_JSON, OLD_TEXT
from batprotocol.cli.protocols.reading import Reading, Spoken
from batprotocol.rules import Catalogue

__all__ = ["PROTOCOLS", "catalogues", "protocol_of", "read", "rule_sets"]

PROTOCOLS: Final[tuple[Spoken, ...]] = (OLD_JSON, OLD_TEXT, FAST, BATSIM_5)
"""All of them. Bytes are of the first one that knows a kind for them, so the one that takes whatever comes is last."""


def protocol_of(data: bytes) -> tuple[Spoken, str]:
    """The protocol that these bytes are of, and what kind of message they are in it."""
    found = ((protocol, protocol.detect(data)) for protocol in PROTOCOLS)
    return next((protocol, kind) for protocol, kind in found if kind is not None)


def read(data: bytes, *, strict: bool, place: Place | None = None, spoken: Spoken | None = None) -> Reading:
    """Read a message or a handshake frame. Never raises because of what the bytes are.

    Args:
        data: the bytes.
        strict: a field that the schema does not have is a fault. False skips it.
        place: where in a conversation it is.
        spoken: the protocol that it is taken for, whatever it looks like; None: it is found out.
    """
    protocol, kind = protocol_of(data) if spoken is None else (spoken, spoken.detect(data) or "binary")
    return protocol.read(data, kind, strict, place or Place())


def catalogues() -> Mapping[str, Catalogue]:
    """The rules of each protocol, by its name."""
    found: dict[str, Catalogue] = {}
    for protocol in (PROTOCOLS[-1], *PROTOCOLS[:-1]):  # today's first; two of them may have one catalogue
        if protocol.catalogue() not in found.values():
            found[protocol.name] = protocol.catalogue()
    return found


def rule_sets() -> tuple[str, ...]:
    """The names of the rule sets of all protocols."""
    return tuple(dict.fromkeys(name for catalogue in catalogues().values() for name in catalogue.rule_sets))
