"""The table of the protocols that the command knows: for reading messages, judging conversations and listing rules.

A new protocol is a new row. `reading` describes what a row holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from batprotocol._util.rules import Catalogue
from batprotocol.cli.protocols.batsim5 import BATSIM_5
from batprotocol.cli.protocols.fast import FAST
from batprotocol.cli.protocols.legacy import OLD_JSON, OLD_TEXT
from batprotocol.cli.protocols.reading import Reading, Spoken
from batprotocol.recordings.names import Place

__all__ = ["PROTOCOLS", "all_catalogues", "catalogues", "protocol_of", "read", "rule_sets"]

PROTOCOLS: Final[tuple[Spoken, ...]] = (OLD_JSON, OLD_TEXT, FAST, BATSIM_5)
"""All protocols. Bytes belong to the first one that recognizes their kind. The last one accepts any bytes."""


def protocol_of(data: bytes) -> tuple[Spoken, str]:
    """The protocol that these bytes belong to, and their kind of message in it."""
    found = ((protocol, protocol.detect(data)) for protocol in PROTOCOLS)
    return next((protocol, kind) for protocol, kind in found if kind is not None)


def read(data: bytes, *, strict: bool, place: Place | None = None, spoken: Spoken | None = None) -> Reading:
    """Read a message or a handshake frame. It never raises an exception because of the bytes.

    Args:
        data: the bytes.
        strict: a field that the schema does not have is a fault. False skips it.
        place: the place of the message in a conversation.
        spoken: the protocol to read it by. By default, the bytes decide.
    """
    protocol, kind = protocol_of(data) if spoken is None else (spoken, spoken.detect(data) or "binary")
    return protocol.read(data, kind, strict, place or Place())


def catalogues() -> Mapping[str, Catalogue]:
    """The rules that messages are judged by, by the name of the protocol."""
    found: dict[str, Catalogue] = {}
    for protocol in (PROTOCOLS[-1], *PROTOCOLS[:-1]):  # Batsim 5 first; two protocols can share a catalogue
        if protocol.catalogue() not in found.values():
            found[protocol.name] = protocol.catalogue()
    return found


def all_catalogues() -> Mapping[str, Catalogue]:
    """The rules of each protocol by its name, and those that only the simulator and the conformance command check."""
    from batprotocol.simulator.batsim.rules import SIMULATOR_RULES
    from batprotocol.testing.rules import CONFORMANCE_RULES

    return {
        **catalogues(),
        "The embedded Batsim": Catalogue.of_one("simulate", SIMULATOR_RULES.values()),
        "Conformance": Catalogue.of_one("conformance", CONFORMANCE_RULES.values()),
    }


def rule_sets() -> tuple[str, ...]:
    """The names of the rule sets of all protocols."""
    return tuple(dict.fromkeys(name for catalogue in catalogues().values() for name in catalogue.rule_sets))
