"""The names of recorded messages: `00004-b2e.bin` is the fifth of a conversation, from Batsim.

It must not know what a message holds.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final, NamedTuple

from batprotocol.model import Direction

__all__ = ["DIRECTIONS", "NOT_FINISHED", "SIDES", "TWINS", "Place", "counted", "place_of"]

TWINS = "twin"
"""The folder of a recorded run that holds its messages again, in the other format and without the frames."""


NOT_FINISHED = "was not finished by what recorded it"
"""What is said of a recording whose recorder was killed."""

DIRECTIONS = {
    "b2e": "Batsim to EDC",
    "e2b": "EDC to Batsim",
    "b2s": "Batsim to scheduler",
    "s2b": "scheduler to Batsim",
}
"""Who says it, as the names of recorded messages have it."""


SIDES: Final = {
    "b2e": Direction.BATSIM_TO_EDC,
    "e2b": Direction.EDC_TO_BATSIM,
    "b2s": Direction.BATSIM_TO_EDC,
    "s2b": Direction.EDC_TO_BATSIM,
}
"""The same as the direction that messages of today have."""


class Place(NamedTuple):
    """Which message of a conversation some bytes are, as far as their name and that of the message before tell.

    Attributes:
        number: its number, or None.
        direction: one of `DIRECTIONS`, or "".
    """

    number: int | None = None
    direction: str = ""

    def __str__(self) -> str:
        sender = {"b2e": "from Batsim", "e2b": "to Batsim"}.get(self.direction, "")
        return " ".join([f"message {self.number}" if self.number is not None else "a message", *sender.split()])


def place_of(name: str, previous: str = "") -> Place:
    """Where in a conversation the message of this name is.

    A number alone counts only if the message before is from the same folder and has the number before.

    >>> place_of("run.tar.xz/00004-b2e.bin"), place_of("4.bin"), place_of("4.bin", "3.bin")
    (Place(number=4, direction='b2e'), Place(number=None, direction=''), Place(number=4, direction=''))
    """
    path = PurePosixPath(name)
    if TWINS in path.parts[:-1]:
        return Place()
    number, direction = _numbered(path)
    if number is None or direction:
        return Place(number, direction)
    before = PurePosixPath(previous)
    return Place(number) if before.parent == path.parent and _numbered(before)[0] == number - 1 else Place()


def _numbered(path: PurePosixPath) -> tuple[int | None, str]:
    number, _, direction = path.stem.rpartition("-")
    if direction not in DIRECTIONS:
        number, direction = path.stem, ""
    return int(number) if number.isdecimal() and len(number) < 10 else None, direction


def counted(count: int) -> str:
    """So many messages, in words."""
    return "1 message" if count == 1 else f"{count:,} messages"
