"""Bytes -> what they are and what is in them, whole or broken.

What they are, their first bytes tell, but not always: a message behind its size looks like the initialization data of
message 0. Then names are asked, which recordings give their messages: `00004-b2e.bin`. It must not know how the bytes
were found, nor how they will be shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from batprotocol.errors import DecodeError
from batprotocol.model import Message
from batprotocol.wire import decode, decode_binary, detect, frames, json
from batprotocol.wire.tree import Tree, from_message

__all__ = ["Place", "Reading", "place_of", "read"]

TWINS = "twin"
"""The folder of a recorded run that holds its messages again, in the other format and without the frames."""


class Place(NamedTuple):
    """Which message of a conversation some bytes are, as far as their name and that of the message before tell.

    Attributes:
        number: its number, or None.
        direction: "b2e", "e2b", or "".
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
    if direction not in ("b2e", "e2b"):
        number, direction = path.stem, ""
    return int(number) if number.isdecimal() and len(number) < 10 else None, direction


@dataclass
class Reading:
    """What was read from some bytes.

    Attributes:
        kind: "binary", "json", "init" (frame), "hello" (frame): what it is, or looks like when something is wrong.
        message: the message, or None for an init frame and when something is wrong.
        text: the text of an init frame.
        flags: the flags of a hello frame.
        format: "binary" or "json", or "" for an init frame and a broken hello frame.
        skipped: the paths of fields that the schema does not have.
        fault: what is wrong, or None.
        doubt: why it may be something else, as one sentence, or "".
    """

    kind: str
    message: Message | None = None
    text: str | None = None
    flags: int | None = None
    format: str = ""
    skipped: tuple[str, ...] = ()
    fault: DecodeError | None = None
    doubt: str = ""

    @cached_property
    def tree(self) -> Tree | None:
        """The message, or as much of a broken one as could be read."""
        if self.message is not None:
            return from_message(self.message)
        partial = self.fault.partial if self.fault is not None else None
        return partial if isinstance(partial, dict) else None


def read(data: bytes, *, strict: bool, place: Place | None = None) -> Reading:
    """Read a message or a handshake frame. Never raises because of what the bytes are.

    Args:
        data: the bytes.
        strict: a field that the schema does not have is a fault. False skips it.
        place: where in a conversation it is.
    """
    kind, place = detect(data), place or Place()
    try:
        _refuse_out_of_place(kind, place)
        reading = _READERS[kind](data, strict)
    except DecodeError as fault:
        return Reading(kind, format=kind if kind in ("binary", "json") else "", fault=fault)
    reading.doubt = _doubt(kind, data, place)
    return reading


def _refuse_out_of_place(kind: str, place: Place) -> None:
    """Refuse the frame of a message that this one is not; as any other, it crashes Batsim."""
    if kind == "init" and (place.direction == "e2b" or place.number):
        raise DecodeError(f"begins with its size, as message 0 does, but its name says that it is {place}", "", 0)
    if kind == "hello" and (place.direction == "b2e" or place.number not in (None, 1)):
        raise DecodeError(f"begins with flags, as message 1 does, but its name says that it is {place}", "", 0)


def _doubt(kind: str, data: bytes, place: Place) -> str:
    """Why a message that can be read may not be what it looks like, or ""."""
    if kind == "init" and place.number is None:
        try:
            decode(data[4:], strict=False)
        except DecodeError:
            return ""
        return (
            "looks like the initialization data of message 0, but holds a message behind its size, "
            "which Batsim does not survive as a reply"
        )
    return ""


def _binary(data: bytes, strict: bool) -> Reading:
    return Reading("binary", decode_binary(data), format="binary")


def _json(data: bytes, strict: bool) -> Reading:
    skipped: list[str] = []
    message = json.decode(data, strict=strict, skipped=skipped)
    return Reading("json", message, format="json", skipped=tuple(skipped))


def _init(data: bytes, strict: bool) -> Reading:
    return Reading("init", text=frames.decode_init(data))


def _hello(data: bytes, strict: bool) -> Reading:
    hello = frames.decode_hello(data, strict=strict)
    skipped = () if strict or hello.format != "json" else _json(data[4:], False).skipped
    return Reading("hello", hello.message, flags=hello.flags, format=hello.format, skipped=skipped)


_READERS: dict[str, Callable[[bytes, bool], Reading]] = {
    "binary": _binary,
    "json": _json,
    "init": _init,
    "hello": _hello,
}
