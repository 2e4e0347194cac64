"""The text of a scheduler as RapidJSON reads it: members in order, bytes that are not UTF-8, text after a NUL.

This module must not know any event.
"""

from __future__ import annotations

import json
import re
from math import isinf
from typing import Any, Final, NoReturn

from batprotocol.errors import DecodeError

__all__ = ["Members", "members_of", "text_of"]

_SURROGATES: Final = re.compile(rb"\\(?:[uU][dD][89aAbB][0-9a-fA-F]{2}(?P<rest>\\u[dD][c-fC-F])?|.)", re.DOTALL)


class Members(dict[str, Any]):
    """An object. If two members have one name, Batsim reads the first one, but its number of members includes both."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(reversed(pairs))
        self.pairs = pairs

    @property
    def count(self) -> int:
        """The number of members."""
        return len(self.pairs)


def members_of(data: bytes) -> Any:
    """The value of a text, with a `Members` for each object.

    Raises:
        DecodeError: this is not JSON.
    """
    text = data.partition(b"\0")[0]
    if b"\\u" in text:
        for found in _SURROGATES.finditer(text):
            if len(found[0]) > 2 and found["rest"] is None:
                raise DecodeError("this is not JSON: half of a surrogate pair", "", found.start())
    try:
        return json.loads(
            text.decode("utf-8", "surrogateescape"),
            object_pairs_hook=Members,
            parse_constant=_constant,
            parse_float=_float,
        )
    except json.JSONDecodeError as error:
        raise DecodeError(f"this is not JSON: {error.msg}", "", error.pos) from None
    except ValueError as error:  # an integer of thousands of digits
        raise DecodeError(str(error)) from None
    except RecursionError:
        raise DecodeError("it is nested too deeply") from None


def _constant(name: str) -> NoReturn:
    raise ValueError(f"this is not JSON: {name}")


def _float(digits: str) -> float:
    value = float(digits)
    if isinf(value):
        raise ValueError(f"this is not JSON: {digits} is too large")
    return value


def text_of(value: str) -> str:
    """A text as C++ reads it: it ends at its first NUL."""
    return value.partition("\0")[0]
