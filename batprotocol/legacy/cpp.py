"""Numbers as C++ reads and writes them, as the older Batsims do. This module must not know any protocol."""

from __future__ import annotations

import re
from math import isinf

__all__ = ["integer", "is_int", "printable", "printed", "real"]

_MOST = 2**31
_STOI = re.compile(r"[ \t\n\r\f\v]*([+-]?[0-9]+)", re.ASCII)
_STOD = re.compile(
    r"[ \t\n\r\f\v]*(?P<sign>[+-]?)(?:(?P<hex>0x(?:[0-9a-f]+(?:\.[0-9a-f]*)?|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?)"
    r"|(?P<decimal>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?)|(?P<word>inf|nan))",
    re.ASCII | re.IGNORECASE,
)
_SIGNIFICANT = re.compile(r"0x[0.]*[1-9a-f]|[0.]*[1-9]", re.ASCII | re.IGNORECASE)
_ROOM = 31
"""Batsim prints numbers with six decimals into 32 bytes, and aborts if a number is longer."""


def integer(text: str) -> int | None:
    """The result of C++'s `stoi` for a text: the number at its beginning, None if there is none."""
    found = _STOI.match(text)
    if found is None or len(found[1].lstrip("+-").lstrip("0")) > 10:
        return None
    number = int(found[1])
    return number if -_MOST <= number < _MOST else None


def is_int(value: object) -> bool:
    """Whether RapidJSON takes this for an integer: 32 bits with a sign, and no point."""
    return type(value) is int and -_MOST <= value < _MOST


def printable(value: float) -> bool:
    """Whether a time or an amount fits into the buffer in which Batsim prints it."""
    return len(f"{value:.6f}") < _ROOM


def printed(value: float) -> float:
    """A number of a job or a profile as Batsim reads it: Batsim prints one with a point with six decimals first."""
    return value if type(value) is int else float(f"{value:.6f}")


def real(text: str) -> float | None:
    """The result of C++'s `stod` for a text: the number at its beginning, None if there is none or it is out of range.

    >>> real("5abc"), real(" .3e1"), real("0x10"), real("1e400"), real("x")
    (5.0, 3.0, 16.0, None, None)
    """
    found = _STOD.match(text)
    if found is None:
        return None
    sign = -1.0 if found["sign"] == "-" else 1.0
    if found["word"]:
        return sign * float(found["word"])
    try:
        value = float.fromhex(found["hex"]) if found["hex"] else float(found["decimal"])
    except OverflowError:
        return None
    if isinf(value) or (value == 0 and _SIGNIFICANT.match(found["hex"] or found["decimal"])):
        return None
    return sign * value
