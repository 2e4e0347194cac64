"""The binary format: flatbuffers.

Two engines read and write it: one in C, if it was compiled when the package was installed, and one in Python. Both read
the same bytes and give the same values and errors. Modules for unusual messages are imported when they are needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, Protocol

from batprotocol import model
from batprotocol._util.deprecation import old_names
from batprotocol.model import Message

__all__ = ["ENGINE", "ENGINES", "CodecEngine", "decode", "encode", "engine", "use_engine"]


class Encode(Protocol):
    """Writes a message as a flatbuffer, and refuses events later than the message, unless they are allowed."""

    def __call__(self, message: Message, /, *, allow_late_events: bool = False) -> bytes:
        """The bytes of the message."""


class EncodeJson(Protocol):
    """The same as JSON text, or None if there is more to it."""

    def __call__(self, message: Message, /, *, allow_late_events: bool = False) -> str | None:
        """The text of the message."""


class CodecEngine(NamedTuple):
    """The functions that read and write. Those of JSON are for plain messages only, and give None for others."""

    decode: Callable[[bytes | bytearray | memoryview], Message]
    encode: Encode
    decode_json: Callable[[bytes], Message | None]
    encode_json: EncodeJson


def _not_plain(message: Message, /, *, allow_late_events: bool = False) -> None:
    """The Python engine writes all JSON in the one way that `batprotocol.wire.json` has."""


def _python() -> CodecEngine:
    from batprotocol.wire import engine as python

    return CodecEngine(python.decode, python.encode, python.decode_json, _not_plain)


def _native() -> CodecEngine:
    from batprotocol.wire import _native as native

    def read_carefully(data: bytes | bytearray | memoryview) -> Message:
        from batprotocol.wire import engine as python

        return python.read_carefully(data) if isinstance(data, bytes) else native.decode(python.as_bytes(data))

    def write_carefully(message: Message, allow_late_events: bool) -> bytes:
        return engine("python").encode(message, allow_late_events=allow_late_events)

    native.bind(model, read_carefully, write_carefully)
    return CodecEngine(native.decode, native.encode, native.decode_json, native.encode_json)


@cache
def engine(name: str) -> CodecEngine:
    """The engine of this name, "python" or "native". `ImportError` where the native one was not compiled."""
    return {"python": _python, "native": _native}[name]()


def _at_hand() -> tuple[str, ...]:
    wanted = os.environ.get("BATPROTOCOL_ENGINE", "")
    if wanted not in ("", "python", "native"):
        raise ImportError(f"BATPROTOCOL_ENGINE is {wanted!r}; it can be 'native' or 'python'")
    try:
        engine("native")
    except ImportError as error:
        if wanted == "native":
            raise ImportError(f"BATPROTOCOL_ENGINE is 'native', but there is no native engine here: {error}") from None
        return ("python",)
    return ("python", "native")


ENGINES: tuple[str, ...] = _at_hand()
"""The engines at hand: "python" always, "native" where it was compiled."""

ENGINE: str
"""Which engine reads and writes: "native" where it was compiled, unless BATPROTOCOL_ENGINE is "python"."""

decode: Callable[[bytes | bytearray | memoryview], Message]
"""Read a message from a flatbuffer.

Its argument are the bytes; what follows the flatbuffer, and fields that only a newer schema has, are ignored. It raises
`DecodeError` if they are not a message: `path` and `offset` say where, `partial` holds what could be read.
"""

encode: Encode
"""Write a message as a flatbuffer, which the C++ library's verifier accepts.

It raises `EncodeError` if a field holds what the wire cannot carry, or an event is later than the message; `path` names
the field. With `allow_late_events=True`, it also writes events that are later than the message: tests and
recordings need them.
"""

if os.environ.get("BATPROTOCOL_ENGINE") == "python" or "native" not in ENGINES:
    ENGINE = "python"
else:
    ENGINE = "native"
    decode, encode = engine("native")[:2]


def use_engine(name: str) -> None:
    """Read and write with this engine from here on, in the whole process. `ImportError` if it is not at hand."""
    global ENGINE, decode, encode
    decode, encode = engine(name)[:2]
    ENGINE = name


def _first_decode(data: bytes | bytearray | memoryview) -> Message:
    use_engine("python")
    return decode(data)


def _first_encode(message: Message, /, *, allow_late_events: bool = False) -> bytes:
    use_engine("python")
    return encode(message, allow_late_events=allow_late_events)


if ENGINE == "python":
    # The generated codec takes longer to import than all else here: it waits for the first message.
    decode, encode = _first_decode, _first_encode

__getattr__ = old_names(__name__, {"Engine": "CodecEngine"})
