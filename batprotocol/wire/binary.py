"""The binary format: flatbuffers.

Two engines read and write what usual writers write, fast: one in C, if it was compiled when the package was installed,
and the generated codec in Python. What either stumbles over goes to the careful reader (or, when writing, to the
checks), which either reads it after all or says what is wrong. So both take the same bytes and give the same errors.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import NamedTuple

from batprotocol import model
from batprotocol._schema import codec
from batprotocol.errors import DecodeError, EncodeError
from batprotocol.model import Message
from batprotocol.wire import check, reader, tree
from batprotocol.wire.layout import STUMBLES, Doubt

__all__ = ["ENGINE", "ENGINES", "Engine", "decode", "encode", "use_engine"]

_CANNOT_WRITE = (
    AttributeError,
    Doubt,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    UnicodeEncodeError,
    ValueError,
    struct.error,
)


class Engine(NamedTuple):
    """What reads and writes. Its JSON is for plain messages only: it gives None where there is more to it."""

    decode: Callable[[bytes | bytearray | memoryview], Message]
    encode: Callable[[Message], bytes]
    decode_json: Callable[[bytes], Message | None]
    encode_json: Callable[[Message], str | None]


def _as_bytes(data: bytes | bytearray | memoryview) -> bytes:
    if isinstance(data, bytes):
        return data
    if isinstance(data, bytearray | memoryview):
        return bytes(data)
    raise DecodeError(f"a binary message is bytes, got a {type(data).__name__}")


def _decode(data: bytes | bytearray | memoryview) -> Message:
    data = _as_bytes(data)
    try:
        message: Message = codec.decode(data)
    except STUMBLES:
        message = tree.to_message(reader.read(data))
    return message


def _encode(message: Message) -> bytes:
    if not isinstance(message, Message):
        raise EncodeError(f"expected a Message, got a {type(message).__name__}")
    try:
        data: bytes = codec.encode(message)
    except _CANNOT_WRITE as error:
        check.check(message)
        raise EncodeError(f"the message cannot be written: {error}") from error
    if len(data) > reader.MAX_SIZE:
        raise EncodeError(f"the message takes {len(data)} bytes, a flatbuffer has at most {reader.MAX_SIZE}")
    return data


def _native() -> Engine | None:
    """The engine in C, or None where it was not compiled or does not work."""
    try:
        from batprotocol.wire import _native as native
    except ImportError:
        return None

    def read_carefully(data: bytes | bytearray | memoryview) -> Message:
        if not isinstance(data, bytes):
            return native.decode(_as_bytes(data))
        return tree.to_message(reader.read(data))

    native.bind(model, read_carefully, _encode)
    return Engine(native.decode, native.encode, native.decode_json, native.encode_json)


def _no_json(_: object) -> None:
    """The Python engine has no JSON of its own: all of it is in `batprotocol.wire.json`."""


def _engines() -> dict[str, Engine]:
    engines = {"python": Engine(_decode, _encode, _no_json, _no_json)}
    wanted = os.environ.get("BATPROTOCOL_ENGINE", "")
    if wanted not in ("", "python", "native"):
        raise ImportError(f"BATPROTOCOL_ENGINE is {wanted!r}; it can be 'native' or 'python'")
    native = _native()
    if native:
        engines["native"] = native
    elif wanted == "native":
        raise ImportError("BATPROTOCOL_ENGINE is 'native', but the native engine was not compiled, or not for here")
    return engines


ENGINES: dict[str, Engine] = _engines()
"""The engines at hand by name: "python" always, "native" where it was compiled."""

ENGINE: str
"""Which engine reads and writes: "native" where it was compiled, unless BATPROTOCOL_ENGINE is "python"."""

decode: Callable[[bytes | bytearray | memoryview], Message]
"""Read a message from a flatbuffer.

Its argument are the bytes; what follows the flatbuffer, and fields that only a newer schema has, are ignored. It raises
`DecodeError` if they are no message: `path` and `offset` say where, `partial` holds what could be read.
"""

encode: Callable[[Message], bytes]
"""Write a message as a flatbuffer, which the C++ library's verifier accepts.

It raises `EncodeError` if a field holds what the wire cannot carry; `path` names it.
"""


def use_engine(name: str) -> None:
    """Read and write with this engine from here on, in the whole process. `KeyError` if it is not at hand."""
    global ENGINE, decode, encode
    engine = ENGINES[name]
    ENGINE, decode, encode = name, engine.decode, engine.encode


use_engine("python" if os.environ.get("BATPROTOCOL_ENGINE") == "python" else next(reversed(ENGINES)))
