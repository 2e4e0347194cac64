"""Arithmetic with 64 bits of precision on every platform, as on the processors on which Batsim runs.

A number is a pair of doubles: the nearest double, and the remainder, which has eleven bits. Each operation rounds its
exact result once, half to even. Numbers of 1e290 and more are computed as doubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

__all__ = ["SHORTEST", "Pair", "Times", "difference", "plus", "quotient", "times", "total"]

Pair: TypeAlias = tuple[float, float]
Times: TypeAlias = tuple[Pair, Pair, Pair, Pair]
SHORTEST: Final = 1e-5
"""The seconds of a job without duration in result files. With the rest below, they are nearer to 1/100000."""

# 2**53: of 64 bits, the low eleven are in the second double of a pair, in units of the last of them.
_BITS: Final = 9007199254740992.0
_LAST: Final = 0.000732421875  # 1.5 * 2**-11
_SPLIT: Final = 134217729.0  # 2**27 + 1
_HUGE: Final = 1e290
_SHORTEST_REST: Final = -8.180816258149444e-22


def total(values: Sequence[float]) -> Pair:
    """The sum of numbers, rounded after each."""
    high = low = 0.0
    for value in values:
        high, low = plus((high, low), (value, 0.0))
    return high, low


def difference(one: Pair, other: Pair) -> Pair:
    """The difference of two numbers."""
    return plus(one, (-other[0], -other[1]))


def plus(one: Pair, other: Pair) -> Pair:
    """The sum of two numbers."""
    high, value = one[0], other[0]
    added = high + value
    if not abs(added) < _HUGE:
        return added, 0.0
    part = added - high
    rest = (high - (added - part)) + (value - part) + (one[1] + other[1])
    return _rounded(added, rest)


def quotient(one: Pair, other: Pair) -> Pair:
    """A number divided by another one, which is not 0."""
    divisor = other[0]
    found = one[0] / divisor
    if not (abs(found) < _HUGE and abs(one[0]) < _HUGE and abs(divisor) < _HUGE):
        return found, 0.0
    # The remainder: the product of both doubles is exact as a pair.
    product = found * divisor
    scaled = found * _SPLIT
    upper = scaled - (scaled - found)
    lower = found - upper
    scaled = divisor * _SPLIT
    above = scaled - (scaled - divisor)
    below = divisor - above
    lacks = lower * below - (((product - upper * above) - lower * above) - upper * below)
    left = (((one[0] - product) - lacks) + one[1]) - found * other[1]
    return _rounded(found, left / divisor)


def times(submission: float, start: float, runtime: float, rest: float) -> Times:
    """Batsim's times of a job: its end, waiting time, turnaround time, and turnaround time / execution time.

    Args:
        submission: its submission time, in seconds.
        start: its starting time, in seconds.
        runtime: its execution time in seconds; 0 counts as 1e-5.
        rest: the remainder of the execution time.
    """
    ran = (runtime, rest) if runtime != 0.0 else (SHORTEST, _SHORTEST_REST)
    submitted = (-submission, 0.0)
    finish = plus((start, 0.0), ran)
    turnaround = plus(finish, submitted)
    return finish, plus((start, 0.0), submitted), turnaround, quotient(turnaround, ran)


def _rounded(high: float, rest: float) -> Pair:
    """A double and its remainder, rounded to 64 bits."""
    near = high + rest
    low = rest - (near - high)
    if low == 0.0:
        return near, 0.0
    scaled = near * (_BITS / 2.0 + 1.0)
    power = abs(scaled - (1.0 - 1.0 / _BITS) * scaled)  # the power of two that `near` begins with
    if power == abs(near) and (low < 0.0) == (near > 0.0):
        power /= 2.0
    unit = power * _LAST
    low = (low + unit) - unit
    nearest = near + low
    return nearest, low - (nearest - near)
