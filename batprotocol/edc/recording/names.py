"""The names of recordings: of their files and messages, and of the sides that sent these."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Final, NamedTuple

from batprotocol.model import Direction

__all__ = [
    "DIRECTIONS",
    "LAST",
    "MCAP",
    "MCAP_MAGIC",
    "METADATA",
    "MOST",
    "NOT_FINISHED",
    "SIDES",
    "TWINS",
    "UNFINISHED",
    "MessagePlace",
    "Names",
    "counted",
    "moment_of",
    "place_of",
]


METADATA: Final = "metadata.json"
"""The file with the metadata of a recording: a JSON object whose values are texts."""
UNFINISHED: Final = "unfinished.tar"
"""The archive in a folder while its recording is not finished."""
MCAP: Final = ".mcap"
MCAP_MAGIC: Final = b"\x89MCAP0\r\n"
"""The bytes that an MCAP file begins and ends with."""

_ENDS: Final = {direction: f"-{direction.value}.bin" for direction in Direction}


class Names(NamedTuple):
    """The names of the files of messages in an archive or a folder.

    Attributes:
        ends: the text after the number, for each direction.
        digits: the minimum number of digits of a number.

    >>> Names().of(4, Direction.BATSIM_TO_EDC)
    '00004-b2e.bin'
    """

    ends: Mapping[Direction, str] = _ENDS
    digits: int = 5

    def of(self, number: int, direction: Direction) -> str:
        """The name of a message.

        Args:
            number: its number in the conversation, from 0.
            direction: its direction.
        """
        return f"{number:0{self.digits}}{self.ends[direction]}"


# The simulated times in the index: whole nanoseconds


MOST: Final = 2**64 - 1
"""The last moment: 584 years in nanoseconds."""
LAST: Final = 1.8e10
"""All times from this one on, in seconds, are the last moment."""


def moment_of(time: float | None) -> int:
    """A simulated time in the index of a capture: in nanoseconds, from 0 to `MOST`; 0 for None.

    >>> moment_of(1.5), moment_of(None)
    (1500000000, 0)
    """
    if time is None or not time > 0:
        return 0
    return int(time * 1e9 + 0.5) if time < LAST else MOST


# The names of recorded messages: `00004-b2e.bin` is the fifth of a conversation, from Batsim.


TWINS = "twin"
"""The folder of a recorded run with a copy of its messages in the other format, without the frames."""


NOT_FINISHED = "was not finished by the program that recorded it"
"""The remark about a recording whose recorder was killed."""

DIRECTIONS = {
    "b2e": "Batsim to EDC",
    "e2b": "EDC to Batsim",
    "b2s": "Batsim to scheduler",
    "s2b": "scheduler to Batsim",
}
"""The directions in the names of recorded messages, in words."""


SIDES: Final = {
    "b2e": Direction.BATSIM_TO_EDC,
    "e2b": Direction.EDC_TO_BATSIM,
    "b2s": Direction.BATSIM_TO_EDC,
    "s2b": Direction.EDC_TO_BATSIM,
}
"""The directions in the names of recorded messages, as directions of Batsim 5."""


class MessagePlace(NamedTuple):
    """The place of a message in its conversation, derived from its name and the name of the message before it.

    Attributes:
        number: its number, or None.
        direction: one of `DIRECTIONS`, or "".
    """

    number: int | None = None
    direction: str = ""

    def __str__(self) -> str:
        sender = {"b2e": "from Batsim", "e2b": "to Batsim"}.get(self.direction, "")
        return " ".join([f"message {self.number}" if self.number is not None else "a message", *sender.split()])


def place_of(name: str, previous: str = "") -> MessagePlace:
    """The place of the message with this name in its conversation.

    A number alone counts only if the message before is from the same folder and has the number before.

    >>> place_of("run.tar.xz/00004-b2e.bin"), place_of("4.bin")
    (MessagePlace(number=4, direction='b2e'), MessagePlace(number=None, direction=''))
    >>> place_of("4.bin", "3.bin")
    MessagePlace(number=4, direction='')
    """
    folder, base = posixpath.split(name)
    if TWINS in folder.split("/"):
        return MessagePlace()
    number, direction = _numbered(base)
    if number is None or direction:
        return MessagePlace(number, direction)
    folder_before, before = posixpath.split(previous)
    follows = posixpath.normpath(folder_before) == posixpath.normpath(folder) and _numbered(before)[0] == number - 1
    return MessagePlace(number) if follows else MessagePlace()


def _numbered(base: str) -> tuple[int | None, str]:
    stem, _ = posixpath.splitext(base)
    number, _, direction = stem.rpartition("-")
    if direction not in DIRECTIONS:
        number, direction = stem, ""
    return int(number) if number.isdecimal() and len(number) < 10 else None, direction


def counted(count: int) -> str:
    """A number of messages, in words."""
    return "1 message" if count == 1 else f"{count:,} messages"
