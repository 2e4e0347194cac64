"""Bytes of a conversation -> values of the expected kind; and the rules about unreadable bytes.

It uses the frames and formats of `wire`, and must not know the contents of the values.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from batprotocol import model
from batprotocol.conversation.automaton import Expected
from batprotocol.conversation.state import State
from batprotocol.errors import DecodeError
from batprotocol.wire import FORMATS, frames

__all__ = ["AnyMessage", "decoded", "unreadable"]

AnyMessage: TypeAlias = bytes | bytearray | memoryview | str | model.Message | frames.Hello
"""A message of a conversation: raw bytes, or its value, `str` for message 0, and `Hello` or `Message` for message 1."""

# Where a binary message can be broken and this Batsim does not notice, as ends of the path or parts of the reason.
_UNVERIFIED_PATHS: Final = (".temporal_aggregation_function",)
_UNVERIFIED_REASONS: Final = ("is not UTF-8",)

_FLAGS_SIZE: Final = 4


def decoded(state: State, said: AnyMessage) -> str | model.Message | frames.Hello:
    """The value of the next message. The flags of a hello choose the format of all later messages."""
    if not isinstance(said, bytes | bytearray | memoryview):
        return said
    if state.expected is Expected.INIT:
        return frames.decode_init(said)
    if state.expected is Expected.HELLO:
        state.format = frames.format_of(said)
        return frames.decode_hello(said)
    message: model.Message = FORMATS[state.format].decode(said)
    return message


def unreadable(state: State, error: DecodeError) -> None:
    """Report that the next message could not be read. The state that depends on it is then unknown."""
    state.blind = state.blind or state.expected is not Expected.INIT
    text = error.reason if error.offset is None else f"{error.reason} (byte {error.offset})"
    if state.expected is Expected.INIT:
        state.report_at("frame.init", "", text)
    elif state.expected is Expected.HELLO and error.offset is not None and error.offset < _FLAGS_SIZE:
        state.report_at("frame.hello", "", text)
    else:
        harmless = error.path.endswith(_UNVERIFIED_PATHS) or any(part in error.reason for part in _UNVERIFIED_REASONS)
        from_edc = state.expected in (Expected.HELLO, Expected.REPLY)
        unnoticed = harmless and state.format == "binary" and from_edc
        state.report_at("message.unverified" if unnoticed else "message.unreadable", error.path, text)
