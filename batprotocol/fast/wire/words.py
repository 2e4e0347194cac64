"""The payloads that are not YAML: the bare words between the migration framework and pscom."""

from __future__ import annotations

import re
from typing import Any, Final

from batprotocol.errors import DecodeError, EncodeError, shown
from batprotocol.fast import values as v
from batprotocol.fast.wire.nodes import LARGEST

__all__ = ["decode_words", "encode_words"]

_AROUND: Final = " \t\r\n\0"
"""The characters that may surround the words: pscom sends a NUL after them."""
_ANSWER: Final = re.compile(r"([0-9]{1,10}) : (.+)", re.DOTALL)
_LARGEST_PROCESS: Final = 2**32 - 1


def decode_words(cls: type[Any], payload: bytes) -> Any:
    """Read a request to pscom or an answer of it. Any text is valid.

    >>> decode_words(v.PscomResponse, b"4242 : ALLOWED\\0")
    PscomResponse(state='ALLOWED', process=4242)
    """
    if len(payload) > LARGEST:
        raise DecodeError(f"expected at most {LARGEST:,} bytes, found {len(payload):,}")
    text = payload.decode("utf-8", "replace").strip(_AROUND)
    if cls is v.PscomRequest:
        return v.PscomRequest(text)
    found = _ANSWER.fullmatch(text)
    if found is None or int(found[1]) > _LARGEST_PROCESS or found[2] != found[2].strip(_AROUND):
        return v.PscomResponse(text)
    return v.PscomResponse(found[2], int(found[1]))


def encode_words(message: Any) -> bytes:
    """Write a request to pscom or an answer of it.

    Raises:
        EncodeError: a reader would get other words.
    """
    name = "task" if isinstance(message, v.PscomRequest) else "state"
    words = getattr(message, name)
    if not isinstance(words, str):
        raise EncodeError(f"expected a text, got {shown(words)}", name)
    text = words
    if isinstance(message, v.PscomResponse) and message.process is not None:
        if type(message.process) is not int or not 0 <= message.process <= _LARGEST_PROCESS:
            raise EncodeError(
                f"expected a number in [0, {_LARGEST_PROCESS}] or None, got {shown(message.process)}", "process"
            )
        text = f"{message.process} : {words}"
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise EncodeError(f"expected Unicode, got {shown(words)} with half a character", name) from None
    if len(data) > LARGEST or decode_words(type(message), data) != message:
        raise EncodeError(f"expected words that are read as they are written, got {shown(words)}", name)
    return data
