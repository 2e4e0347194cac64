"""The binary format: flatbuffers.

Two engines read and write it: one in C, if it was compiled when the package was installed, and one in Python. Both read
the same bytes and give the same values and errors. Modules for unusual messages are imported when they are needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from batprotocol import model
from batprotocol._util.deprecation import old_names
from batprotocol.model import Message

__all__ = ["ENGINE", "ENGINES", "CodecEngine", "decode", "encode", "engine", "use_engine"]


class CodecEngine(NamedTuple):
    """What reads and writes. Its JSON is for plain messages only: it gives None where there is more to it."""

    decode: Callable[[bytes | bytearray | memoryview], Message]
    encode: Callable[[Message], bytes]
    decode_json: Callable[[bytes], Message | None]
    encode_json: Callable[[Message], str | None]


def _not_plain(message: Message) -> None:
    """The Python engine writes all JSON in the one way that `batprotocol.wire.json` has."""


def _python() -> CodecEngine:
    from batprotocol.wire import engine as python
    from batprotocol.wire import plain

    return CodecEngine(python.decode, python.encode, plain.read, _not_plain)


def _native() -> CodecEngine:
    from batprotocol.wire import _native as native

    def read_carefully(data: bytes | bytearray | memoryview) -> Message:
        from batprotocol.wire import engine as python

        return python.read_carefully(data) if isinstance(data, bytes) else native.decode(python.as_bytes(data))

    def write_carefully(message: Message) -> bytes:
        return engine("python").encode(message)

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

encode: Callable[[Message], bytes]
"""Write a message as a flatbuffer, which the C++ library's verifier accepts.

It raises `EncodeError` if a field holds what the wire cannot carry; `path` names it.
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


def _first_encode(message: Message) -> bytes:
    use_engine("python")
    return encode(message)


if ENGINE == "python":
    # The generated codec takes longer to import than all else here: it waits for the first message.
    decode, encode = _first_decode, _first_encode

__getattr__ = old_names(__name__, {"Engine": "CodecEngine"})
