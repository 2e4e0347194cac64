"""The size before each message of the text protocol, and a stream of such messages. It does no I/O."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from batprotocol.errors import DecodeError
from batprotocol.legacy.text import events as e
from batprotocol.legacy.text.codec import decode, encode

__all__ = ["LARGEST", "Stream", "decode_frame", "encode_frame"]

LARGEST: Final = 2**28
"""The size of the largest message, 256 MiB. A size of 4 GiB is a mistake: the reader must not wait for it."""

_SIZE = struct.Struct("=I")


def decode_frame(
    data: bytes | bytearray | memoryview, version: int | None = None, *, strict: bool = False
) -> e.Message:
    """Read a message behind its size, an unsigned integer of four bytes in the order of the machine.

    Raises:
        DecodeError: the size is wrong, or this is not a message.
    """
    given = bytes(data)
    if len(given) < _SIZE.size:
        raise DecodeError(f"expected a size of {_SIZE.size} bytes, found {len(given)} bytes", "", 0)
    (size,) = _SIZE.unpack_from(given)
    if size != len(given) - _SIZE.size:
        raise DecodeError(f"its size says {size} bytes, but {len(given) - _SIZE.size} bytes follow", "", 0)
    return decode(given[_SIZE.size :], version, strict=strict)


def encode_frame(message: e.Message, version: int | None = None) -> bytes:
    """Write a message behind its size.

    Raises:
        EncodeError: the protocol cannot express this.
    """
    data = encode(message, version)
    return _SIZE.pack(len(data)) + data


class Stream:
    """A reader of messages from the bytes of a Unix socket. It does no I/O.

    >>> stream = Stream()
    >>> [len(each) for each in stream.feed(encode_frame(e.Message(3, 0.0, [e.SimulationBegins(0.0)])) + b"\\x05")]
    [21]
    """

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take the bytes that have arrived, and return the contents of the complete messages.

        Raises:
            DecodeError: a message is larger than `LARGEST`.
        """
        self._held += data
        while len(self._held) >= _SIZE.size:
            (size,) = _SIZE.unpack_from(self._held)
            if size > LARGEST:
                raise DecodeError(f"its size says {size} bytes, and a message has {LARGEST} at most", "", 0)
            end = _SIZE.size + size
            if len(self._held) < end:
                return
            content = bytes(self._held[_SIZE.size : end])
            del self._held[:end]
            yield content
