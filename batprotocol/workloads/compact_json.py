"""JSON text in the form in which Batsim writes `extra_data` of an object or array: compact, keys in their order."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["compact_json"]

_ESCAPES = {chr(code): f"\\u{code:04X}" for code in range(32)}
_ESCAPES.update({"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"})
_TABLE = str.maketrans(_ESCAPES)


def compact_json(value: Any) -> str:
    """The text of a JSON value.

    >>> compact_json({"a": [1, 2.5, None, True, "ü"], "b": 1e30})
    '{"a":[1,2.5,null,true,"ü"],"b":1e30}'
    """
    if isinstance(value, dict):
        return "{" + ",".join(f"{compact_json(key)}:{compact_json(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact_json, value)) + "]"
    if isinstance(value, str):
        return f'"{value.translate(_TABLE)}"'
    if isinstance(value, float):
        return _double(value)
    return json.dumps(value)


def _double(value: float) -> str:
    """The shortest text of the number, with an exponent only from 1e21 on and below 1e-6."""
    text = repr(value)
    sign = "-" if text.startswith("-") else ""
    digits, _, exponent = text.lstrip("-").partition("e")
    whole, _, part = digits.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + ("" if part == "0" else part)
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    if not digits:
        return f"{sign}0.0"
    if len(digits) <= point <= 21:
        return f"{sign}{digits.ljust(point, '0')}.0"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{sign}{mantissa}e{point - 1}"
