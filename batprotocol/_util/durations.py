"""Durations as people write them: `1d8h`, `30min`, `1y`. This module must not know what lasts so long."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from batprotocol.errors import InputError, shown

__all__ = ["parse_duration"]

_LONGEST: Final = 100  # characters of a duration
_YEAR: Final = 31_557_600.0
_DURATIONS: Final = {
    "y": _YEAR,
    "mo": _YEAR / 12,
    "w": 604800.0,
    "d": 86400.0,
    "h": 3600.0,
    "min": 60.0,
    "m": 60.0,
    "s": 1.0,
}
_PART = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)(y|mo|w|d|h|min|m|s)", re.ASCII)
_PLAIN = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?", re.ASCII)


def parse_duration(text: str) -> float:
    """Read a duration of people, in seconds: numbers with units, the largest unit first, or seconds alone.

    The units are y (365.25 days), mo (a twelfth of a year), w, d, h, m or min, and s.

    >>> parse_duration("1d8h"), parse_duration("1.5h"), parse_duration("90"), parse_duration("1mo")
    (115200.0, 5400.0, 90.0, 2629800.0)

    Raises:
        InputError: the text is not a duration.
    """
    if len(text) <= _LONGEST:
        if _PLAIN.fullmatch(text):
            return float(text)
        parts, end = [], 0
        while found := _PART.match(text, end):
            parts.append((_DURATIONS[found[2]], float(found[1])))
            end = found.end()
        units = [unit for unit, _ in parts]
        if parts and end == len(text) and all(high > low for high, low in pairwise(units)):
            return sum(unit * number for unit, number in parts)
    raise InputError(f"expected a duration such as 1d8h, 30min, 1y or 90 (seconds), got {shown(text)}")
