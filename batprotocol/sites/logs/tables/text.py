r"""Values as the texts of a CSV file, so that each row is one line, and nothing is lost.

Nothing is an empty text, and an empty text is a backslash. In other texts, a backslash and the ends of lines are
written as in Python: `\\`, `\n`, `\r`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from batprotocol.errors import InputError, shown

__all__ = ["as_text", "checked", "value_of"]

_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\0": "\\0"}
_MEANT: Final = {written: meant for meant, written in _ESCAPES.items()}
_ESCAPED: Final = re.compile(r"\\[\\nr0]")
_TRUTHS: Final = {"true": True, "false": False}


def as_text(value: Any) -> str:
    r"""A value as a text.

    >>> as_text(None), as_text(""), as_text(True), as_text(2.5), as_text("a\nb")
    ('', '\\', 'true', '2.5', 'a\\nb')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return "".join(_ESCAPES.get(each, each) for each in value) if value else "\\"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _text(text: str) -> str:
    return "" if text == "\\" else _ESCAPED.sub(lambda found: _MEANT[found[0]], text) if "\\" in text else text


_KINDS: Final[dict[str, Callable[[str], Any]]] = {
    "text": _text,
    "number": float,
    "count": int,
    "truth": _TRUTHS.__getitem__,
}
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "text": (str,),
    "number": (float, int),
    "count": (int,),
    "truth": (bool,),
}
_EXPECTED: Final = {"text": "a text", "number": "a number", "count": "a whole number", "truth": "true or false"}


def checked(value: Any, kind: str) -> Any:
    """A value of a column of this kind.

    Raises:
        InputError: the value is not of this kind.
    """
    if isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind == "truth"):
        return value
    raise InputError(f"expected {_EXPECTED[kind]}, got {shown(value)}")


def value_of(text: str, kind: str) -> Any:
    """The value of a text.

    Raises:
        InputError: the text is not a value of this kind.
    """
    if not text:
        return None
    try:
        return _KINDS[kind](text)
    except (ValueError, KeyError):
        raise InputError(f"expected {_EXPECTED[kind]}, got {shown(text)}") from None
