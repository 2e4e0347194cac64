"""Numbers with units as SimGrid's platform files write them: `100Mf`, `1.25GBps`, `50us`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

from batprotocol.errors import InputError, shown

__all__ = [
    "parse_bandwidth",
    "parse_coordinates",
    "parse_integer",
    "parse_ranges",
    "parse_speed",
    "parse_time",
]

_NUMBER = re.compile(r"\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(\S*)\s*", re.ASCII)
_INTEGER = re.compile(r"\s*([0-9]{1,9})(?:\.0*)?\s*", re.ASCII)
_LONGEST = 100  # characters of a number


def _scaled(unit: str, value: float, factor: float, prefixes: str) -> dict[str, float]:
    """The unit alone and with each prefix. Each prefix multiplies by `factor` once more."""
    units = {unit: value}
    for prefix in prefixes.split():
        value *= factor
        units[prefix + unit] = value
    return units


_DECIMAL = "k M G T P E Z Y"
_BINARY = "Ki Mi Gi Ti Pi Ei Zi Yi"
_SPEEDS: Final = {
    **_scaled("f", 1.0, 1000.0, _DECIMAL),
    **_scaled("flops", 1.0, 1000.0, "kilo mega giga tera peta exa zeta yotta"),
}
_BANDWIDTHS: Final = {
    **_scaled("Bps", 1.0, 1000.0, _DECIMAL),
    **_scaled("Bps", 1.0, 1024.0, _BINARY),
    **_scaled("bps", 0.125, 1000.0, _DECIMAL),
    **_scaled("bps", 0.125, 1024.0, _BINARY),
}
_TIMES: Final = {
    "w": 604800.0,
    "d": 86400.0,
    "h": 3600.0,
    "m": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
    "ps": 1e-12,
}


def _parse(text: str, units: Mapping[str, float], default: str, meaning: str) -> float:
    found = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise InputError(f"expected {meaning}, got {shown(text)}")
    factor = units.get(found[2] or default)
    if factor is None:
        raise InputError(f"unknown unit {shown(found[2])} in {shown(text)}; use one of {', '.join(units)}")
    value = float(found[1]) * factor
    if not 0 <= value < math.inf:
        raise InputError(f"expected {meaning} that is finite and not negative, got {shown(text)}")
    return value


def parse_speed(text: str) -> float:
    """Read flops per second. It raises InputError if the text is not a speed.

    >>> parse_speed("100Mf"), parse_speed("1.5gigaflops"), parse_speed("42")
    (100000000.0, 1500000000.0, 42.0)
    """
    return _parse(text, _SPEEDS, "f", "a speed such as 100Mf")


def parse_bandwidth(text: str) -> float:
    """Read bytes per second; bits per second are eighths. It raises InputError if the text is not a bandwidth.

    >>> parse_bandwidth("125MBps"), parse_bandwidth("8kbps"), parse_bandwidth("1KiBps")
    (125000000.0, 1000.0, 1024.0)
    """
    return _parse(text, _BANDWIDTHS, "Bps", "a bandwidth such as 125MBps")


def parse_time(text: str) -> float:
    """Read seconds. It raises InputError if the text is not a time.

    >>> parse_time("5ms"), parse_time("0"), parse_time("2h")
    (0.005, 0.0, 7200.0)
    """
    return _parse(text, _TIMES, "s", "a time such as 50us")


def parse_integer(text: str) -> int:
    """Read an integer from 0 to 999,999,999, with or without `.0`, as in SimGrid's defaults; else InputError."""
    found = _INTEGER.fullmatch(text)
    if found is None:
        raise InputError(f"expected an integer from 0 to 999999999, got {shown(text)}")
    return int(found[1])


def parse_coordinates(text: str) -> tuple[float, float, float]:
    """Read three numbers: a place in the plane, and a height above it.

    >>> parse_coordinates("1.5 -2 0")
    (1.5, -2.0, 0.0)
    """
    parts = [_NUMBER.fullmatch(part) for part in text.split()] if len(text) <= 4 * _LONGEST else []
    if len(parts) != 3 or not all(part and not part[2] and len(part[1]) <= _LONGEST for part in parts):
        raise InputError(f"expected three numbers, got {shown(text)}")
    x, y, height = (float(part[1]) for part in parts if part)
    return x, y, height


def parse_ranges(text: str, most: int) -> list[int]:
    """Read the numbers of a `radical`, such as `0-3,5`, in their order. InputError if there are more than `most`.

    >>> parse_ranges("0-3,5", 10)
    [0, 1, 2, 3, 5]
    """
    numbers: list[int] = []
    for part in text.split(","):
        ends = [parse_integer(end) for end in part.split("-")]
        if len(ends) > 2:
            raise InputError(f"expected numbers a and intervals a-b, got {shown(part)}")
        if ends[-1] - ends[0] + len(numbers) >= most:
            limit = "raise the limit (--host-limit, host_limit)"
            raise InputError(f"{shown(text)} describes more than {most} hosts; {limit}")
        numbers.extend(range(ends[0], ends[-1] + 1))
    return numbers
