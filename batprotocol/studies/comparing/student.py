"""The distribution of Student's t. It must not know what is compared."""

from __future__ import annotations

import math
from functools import lru_cache

__all__ = ["student", "student_quantile"]


def student(ratio: float, freedom: int) -> float:
    """The distribution function of Student's t for a whole number of degrees of freedom and a ratio >= 0.

    M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    angle = math.atan2(ratio, math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    term, total = 1.0, 0.0
    if freedom % 2:
        term = math.cos(angle)
        for step in range(2, freedom, 2):
            total += term
            term *= square * step / (step + 1)
        inside = 2 / math.pi * (angle + sine * total)
    else:
        for step in range(1, freedom, 2):
            total += term
            term *= square * step / (step + 1)
        inside = sine * total
    return 0.5 + inside / 2


@lru_cache(maxsize=64)
def student_quantile(part: float, freedom: int) -> float:
    """The quantile of Student's t for a probability > 1/2."""
    low, high = 0.0, 1.0
    while student(high, freedom) < part and high < 1e300:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if student(middle, freedom) < part:
            low = middle
        else:
            high = middle
    return high
