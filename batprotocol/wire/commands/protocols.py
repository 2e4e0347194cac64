"""The protocols that the commands read and judge, and the contents of some bytes, whole or broken.

Packages bring protocols besides that of this library: their manifests list them. A protocol is imported only for bytes
that may be of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec

from batprotocol._util.rules import BrokenRule, Catalogue
from batprotocol.cli.families import manifests
from batprotocol.edc.recording.names import MessagePlace
from batprotocol.errors import DecodeError
from batprotocol.model import Message
from batprotocol.wire.tree import Tree, from_message

if TYPE_CHECKING:
    from batprotocol.conversation.advice import Advice
    from batprotocol.wire.reflection import Schema

__all__ = [
    "Judge",
    "MessageAdviser",
    "MessageProtocol",
    "ProtocolRow",
    "Reading",
    "all_catalogues",
    "catalogues",
    "protocol_of",
    "read",
    "rows",
    "rule_sets",
]


class Reading(msgspec.Struct, dict=True):
    """The contents of some bytes.

    Attributes:
        protocol: the protocol of the bytes.
        kind: the kind of message, or the likely kind of a broken one: a result of the protocol's `detect`.
        message: the message, or None if there is none or it is broken.
        text: the text that the bytes hold in place of a message.
        flags: the flags before the message, if it has any.
        format: "binary" or "json", or "" if all formats are equal here or the format is unknown.
        skipped: the paths of fields that the schema does not have.
        fault: the error, or None.
        doubt: why it may be something else, as one sentence, or "".
        original: the contents for JSON output, if these are not the tree.
        shown: its tree, if the message is not one of this library's values.
        other: the default format for conversions, or "" for the usual one.
        schema: the schema that it was read by, if it is not the current one of Batsim 5.
    """

    protocol: MessageProtocol
    kind: str
    message: Message | None = None
    text: str | None = None
    flags: int | None = None
    format: str = ""
    skipped: tuple[str, ...] = ()
    fault: DecodeError | None = None
    doubt: str = ""
    original: Any = None
    shown: Tree | None = None
    other: str = ""
    schema: Schema | None = None

    @property
    def is_other(self) -> bool:
        """Whether it is a message of another project, which has no events."""
        return self.schema is not None and not any(
            field.name == "events" for field in self.schema.tables[self.schema.root].fields
        )

    @cached_property
    def tree(self) -> Tree | None:
        """The message, or the readable part of a broken one."""
        if self.shown is not None:
            return self.shown
        if self.message is not None:
            return from_message(self.message)
        partial = self.fault.partial if self.fault is not None else None
        return partial if isinstance(partial, dict) else None


class Judge(Protocol):
    """Judges the messages of a conversation one after the other.

    If it also has a method `finish`, the command calls it at the end, to report what is missing.
    """

    def feed(self, said: bytes, /) -> Sequence[BrokenRule]:
        """Take the next message, and return its violations."""
        ...


class MessageAdviser(Protocol):
    """Something that collects advice about a conversation, message after message."""

    def feed(self, said: bytes, /) -> None:
        """Take the next message."""
        ...

    def finish(self) -> Sequence[Advice]:
        """All advice, now that there are no more messages."""
        ...


class MessageProtocol(NamedTuple):
    """The functions with which the command handles a protocol.

    Attributes:
        name: the name of the protocol.
        detect: returns the kind of message from the beginning of its bytes, or None if the protocol has no such kind.
        read: reads a message. It takes the bytes, their kind, whether a field that the schema does not have is a fault,
            and their place in a conversation. It never raises an exception because of the bytes.
        title: describes a reading: its kind and format, and its direction if only one is possible.
        catalogue: returns the rules.
        judge: makes a judge for the rule set of this name, or for the default one if the name is "".
        write: writes a reading in the format of this name, and JSON with this indent. `DecodeError` if the protocol has
            no such format.
        adviser: makes a collector of advice about a conversation, for this number of simulated seconds; None where
            there is none.
        notes: what was not read of its schema, as sentences.
        opens: explains why these bytes cannot be the first ones of a conversation, or returns "".
    """

    name: str
    detect: Callable[[bytes], str | None]
    read: Callable[[bytes, str, bool, MessagePlace], Reading]
    title: Callable[[Reading], tuple[str, str]]
    catalogue: Callable[[], Catalogue]
    judge: Callable[[str], Judge]
    write: Callable[[Reading, str, int | None], bytes]
    adviser: Callable[[float], MessageAdviser] | None = None
    opens: Callable[[bytes], str] = lambda data: ""
    notes: tuple[str, ...] = ()


# The table: for reading messages, judging conversations and listing rules.


class ProtocolRow(NamedTuple):
    """A row of the table.

    Attributes:
        pattern: the beginning of its bytes matches it.
        load: returns the protocol, whose module is imported then.
    """

    pattern: re.Pattern[bytes]
    load: Callable[[], MessageProtocol]


@cache
def rows() -> tuple[ProtocolRow, ...]:
    """All protocols. Bytes belong to the first one that recognizes their kind. The last one accepts any bytes."""
    others = {place: other for manifest in manifests() for place, other in manifest.protocols.items()}
    ordered = sorted(others, key=lambda place: others[place].order)
    patterns = (re.compile(others[place].pattern.encode("latin-1")) for place in ordered)
    found = [ProtocolRow(pattern, partial(_loaded, place)) for pattern, place in zip(patterns, ordered, strict=True)]
    return (*found, ProtocolRow(re.compile(b""), partial(_loaded, "batprotocol.wire.commands.batsim5:BATSIM_5")))


def _loaded(place: str) -> MessageProtocol:
    module, _, name = place.partition(":")
    found = getattr(import_module(module), name)
    assert isinstance(found, MessageProtocol)
    return found


def protocol_of(data: bytes) -> tuple[MessageProtocol, str]:
    """The protocol that these bytes belong to, and their kind of message in it."""
    head = data[:_HEAD]
    for row in rows():
        if row.pattern.match(head):
            protocol = row.load()
            kind = protocol.detect(data)
            if kind is not None:
                return protocol, kind
    raise AssertionError("the last protocol accepts any bytes")


_HEAD: Final = 4096
"""How many bytes are compared with the patterns of protocols."""


def read(
    data: bytes, *, strict: bool, place: MessagePlace | None = None, spoken: MessageProtocol | None = None
) -> Reading:
    """Read a message or a handshake frame. It never raises an exception because of the bytes.

    Args:
        data: the bytes.
        strict: a field that the schema does not have is a fault. False skips it.
        place: the place of the message in a conversation.
        spoken: the protocol to read it by. By default, the bytes decide.
    """
    protocol, kind = protocol_of(data) if spoken is None else (spoken, spoken.detect(data) or "binary")
    return protocol.read(data, kind, strict, place or MessagePlace())


def catalogues() -> Mapping[str, Catalogue]:
    """The rules that messages are judged by, by the name of the protocol."""
    found: dict[str, Catalogue] = {}
    *others, own = (row.load() for row in rows())
    for protocol in (own, *others):  # Batsim 5 first; two protocols can share a catalogue
        if protocol.catalogue() not in found.values():
            found[protocol.name] = protocol.catalogue()
    return found


def all_catalogues() -> Mapping[str, Catalogue]:
    """The rules of each protocol by its name, and those that only the simulator and the conformance command check."""
    from batprotocol.simulator.batsim.rules import SIMULATOR_RULES

    found = {**catalogues(), "The embedded Batsim": Catalogue.of_one("simulate", SIMULATOR_RULES.values())}
    with suppress(ModuleNotFoundError):  # the package of tests can be removed
        from batprotocol.testing.rules import CONFORMANCE_RULES

        found["Conformance"] = Catalogue.of_one("conformance", CONFORMANCE_RULES.values())
    return found


def rule_sets() -> tuple[str, ...]:
    """The names of the rule sets of all protocols."""
    return tuple(dict.fromkeys(name for catalogue in catalogues().values() for name in catalogue.rule_sets))
