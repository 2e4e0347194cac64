"""Sums with 64 bits of precision, as the processors make them that Batsim runs on: pairs of doubles of that sum."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["difference", "total"]

# 2**53: of 64 bits, the low eleven are in the second double of a pair, in units of the last of them.
_BITS = 9007199254740992.0
_LAST = 1.5 * 2.0**-11


def total(values: Sequence[float]) -> tuple[float, float]:
    """The sum of numbers that are not negative, rounded to 64 bits after each."""
    high = low = 0.0
    for value in values:
        high, low = _plus(high, low, value)
    return high, low


def difference(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """A pair less another one."""
    high, low = _plus(one[0], one[1], -other[0])
    return _plus(high, low, -other[1])


def _plus(high: float, low: float, value: float) -> tuple[float, float]:
    added = high + value
    part = added - high
    rest = (high - (added - part)) + (value - part) + low
    high = added + rest
    low = rest - (high - added)
    scaled = high * (_BITS / 2.0 + 1.0)
    power = abs(scaled - (1.0 - 1.0 / _BITS) * scaled)  # the power of two that `high` begins with
    if power == abs(high) and (low < 0.0) == (high > 0.0):
        power /= 2.0
    unit = power * _LAST
    return high, (low + unit) - unit
