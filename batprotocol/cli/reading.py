"""Bytes -> what they are and what is in them, whole or broken.

It must not know where the bytes came from, nor how they will be shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from batprotocol.errors import DecodeError
from batprotocol.model import Message
from batprotocol.wire import binary, detect, frames, json
from batprotocol.wire.tree import Tree, from_message

__all__ = ["Reading", "read"]


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
    """

    kind: str
    message: Message | None = None
    text: str | None = None
    flags: int | None = None
    format: str = ""
    skipped: tuple[str, ...] = ()
    fault: DecodeError | None = None

    @cached_property
    def tree(self) -> Tree | None:
        """The message, or as much of a broken one as could be read."""
        if self.message is not None:
            return from_message(self.message)
        partial = self.fault.partial if self.fault is not None else None
        return partial if isinstance(partial, dict) else None


def read(data: bytes, *, strict: bool) -> Reading:
    """Read a message or a handshake frame. Never raises because of what the bytes are.

    Args:
        data: the bytes.
        strict: a field that the schema does not have is a fault. False skips it.
    """
    kind = detect(data)
    try:
        return _READERS[kind](data, strict)
    except DecodeError as fault:
        return Reading(kind, format=kind if kind in ("binary", "json") else "", fault=fault)


def _binary(data: bytes, strict: bool) -> Reading:
    return Reading("binary", binary.decode(data), format="binary")


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
