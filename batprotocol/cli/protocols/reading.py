"""What is read from bytes, whole or broken, and what the command must know of a protocol to read and judge messages.

It must not know of any protocol: `protocols` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from batprotocol.capture.names import Place
from batprotocol.errors import DecodeError
from batprotocol.model import Message
from batprotocol.rules import Catalogue, Violation
from batprotocol.wire.tree import Tree, from_message

if TYPE_CHECKING:
    from batprotocol.advice import Advice

__all__ = ["Adviser", "Judge", "Reading", "Spoken"]


@dataclass
class Reading:
    """What was read from some bytes.

    Attributes:
        protocol: the protocol that they are of.
        kind: what it is, or looks like when something is wrong: one of the words of the protocol's `detect`.
        message: the message, or None if it holds none and when something is wrong.
        text: the text that it holds in place of a message.
        flags: the flags before the message, if it has any.
        format: "binary" or "json", or "" for what is the same in all formats, and where that cannot be told.
        skipped: the paths of fields that the schema does not have.
        fault: what is wrong, or None.
        doubt: why it may be something else, as one sentence, or "".
        original: what JSON shows of it, where that is not the tree.
        shown: its tree, where the message is not one of this library's.
        other: the format that it is converted to where none is asked for, or "" for what is usual.
    """

    protocol: Spoken
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

    @cached_property
    def tree(self) -> Tree | None:
        """The message, or as much of a broken one as could be read."""
        if self.shown is not None:
            return self.shown
        if self.message is not None:
            return from_message(self.message)
        partial = self.fault.partial if self.fault is not None else None
        return partial if isinstance(partial, dict) else None


class Judge(Protocol):
    """Something that judges the messages of a conversation one after the other.

    One that also has a method `finish` is asked in the end what is missing.
    """

    def feed(self, said: bytes, /) -> Sequence[Violation]:
        """Take the next message, and tell all that is wrong with it."""
        ...


class Adviser(Protocol):
    """Something that collects advice about a conversation, message after message."""

    def feed(self, said: bytes, /) -> None:
        """Take the next message."""
        ...

    def finish(self) -> Sequence[Advice]:
        """All advice, now that there are no more messages."""
        ...


class Spoken(NamedTuple):
    """What the command must know of a protocol.

    Attributes:
        name: what it is called.
        detect: what kind of message bytes are, as far as their beginning tells, or None if they are of no kind at all.
        read: what is in them. It takes the bytes, their kind, whether a field that the schema does not have is a fault,
            and where in a conversation they are; it never raises because of what they are.
        title: what it is that was read, for people: its kind and format, and its direction if only one is possible.
        catalogue: its rules.
        judge: something that judges a conversation by the rule set of this name, or the usual one for "".
        write: what was read, in the format of this name, JSON with so many spaces for each level. `DecodeError` if it
            has no such format.
        adviser: something that collects advice about a conversation, for this number of simulated seconds; None where
            nothing does.
        opens: why these bytes cannot be the first ones of a conversation, or "".
    """

    name: str
    detect: Callable[[bytes], str | None]
    read: Callable[[bytes, str, bool, Place], Reading]
    title: Callable[[Reading], tuple[str, str]]
    catalogue: Callable[[], Catalogue]
    judge: Callable[[str], Judge]
    write: Callable[[Reading, str, int | None], bytes]
    adviser: Callable[[float], Adviser] | None = None
    opens: Callable[[bytes], str] = lambda data: ""
