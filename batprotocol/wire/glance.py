"""The time of a message, at a glance: without reading the rest of it, which may be large or broken.

Code that keeps messages by their time, or searches for them, uses it. It must not know the other content of a message.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from struct import Struct, error
from typing import Final

import msgspec

from batprotocol.errors import DecodeError
from batprotocol.wire import frames, json

__all__ = ["time_of"]

_U32: Final = Struct("<I").unpack_from
_I32: Final = Struct("<i").unpack_from
_TWO_U16: Final = Struct("<HxxH").unpack_from
_F64: Final = Struct("<d").unpack_from

_FLAGS: Final = frozenset(frames.FLAGS.values())
_FIRST: Final = re.compile(rb'\s*\{\s*"now"\s*:\s*(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*[,}]')
"""JSON whose first member is its time, as Batsim, its C++ library and this one write it."""


class _Timed(msgspec.Struct):
    now: float


def time_of(data: bytes) -> float | None:
    """The `now` of a message, in simulated seconds; None for frames of the handshake and for bytes without a message.

    The rest of the message may be invalid. JSON of Batsim 1 to 4 has its time at the same place.

    Args:
        data: the bytes as they are on the wire, in either format.

    >>> from batprotocol import Message
    >>> time_of(Message(now=1.5).to_binary()), time_of(b'{"events": [], "now": 2}'), time_of(b"hi")
    (1.5, 2.0, None)
    """
    size = len(data)
    if size < 4:
        return None
    if data[0] == 123 and data[1]:  # "{"
        found = _FIRST.match(data)
        return _finite(float(found[1])) if found is not None else _anywhere(data)
    root = _U32(data)[0]
    if root in _FLAGS or root == size - 4:  # a frame of the handshake
        return None
    try:
        table = root - _I32(data, root)[0]
        if table < 0:
            return None
        length, now = _TWO_U16(data, table)
        if length < 4:
            return None
        if length < 6 or not now:
            return 0.0
        time: float = _F64(data, root + now)[0]
        return time if time - time == 0 else None  # it is finite
    except error:  # offsets that lead out of it
        return _anywhere(data) if data[0] in b"\xef \t\r\n/{" else None


def _finite(time: float) -> float | None:
    return time if math.isfinite(time) else None


def _anywhere(data: bytes) -> float | None:
    """The time of a message in JSON, at any place in it."""
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        return _finite(msgspec.json.decode(data.partition(b"\0")[0], type=_Timed).now)
    with suppress(DecodeError):
        return _finite(json.decode(data, strict=False).now)
    return None
