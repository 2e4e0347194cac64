"""Numbers with more digits than a double has: Batsim adds joules, and divides seconds, with 64 bits instead of 53."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

__all__ = ["Precise", "slowdown"]

_MANY: float = 1e6  # from here on, six decimals of a quotient show what a double lacks
_DECIMALS = 6
_SHORTEST = 1e-5
"""What an execution time of 0 is counted as: as Batsim has it, which is nearer to 1/100000 than this double."""


class Precise(float):
    """A double and what it lacks: it is used as the double that it is, and written with the digits of both.

    >>> number = Precise(59279596686.32415, 5e-6)
    >>> f"{number:f}", f"{float(number):f}", number == 59279596686.32415
    ('59279596686.324155', '59279596686.324150', True)
    """

    __slots__ = ("rest",)

    def __new__(cls, value: float, rest: float = 0.0) -> Precise:
        made = super().__new__(cls, value)
        made.rest = rest
        return made

    rest: float

    @classmethod
    def nearest(cls, value: Fraction) -> Precise:
        """The one for an exact number."""
        near = float(value)
        return cls(near, float(value - Fraction(near)))

    def __format__(self, specification: str) -> str:
        if specification != "f":
            return super().__format__(specification)
        digits = round((Fraction(float(self)) + Fraction(self.rest)) * 10**_DECIMALS)
        whole, behind = divmod(abs(digits), 10**_DECIMALS)
        return f"{'-' if digits < 0 else ''}{whole}.{behind:0{_DECIMALS}}"

    def __reduce__(self) -> Any:
        return Precise, (float(self), self.rest)


def slowdown(submission: float, start: float, runtime: float) -> float:
    """Turnaround time / execution time of a job, with the digits that Batsim adds up, and of which it writes a double.

    Args:
        submission: when it was submitted, in seconds.
        start: when it started, in seconds.
        runtime: its execution time in seconds, not 0.
    """
    found = (start + runtime - submission) / runtime
    if not _MANY < found < float("inf"):
        return found
    exact = _rounded(Fraction(1, 100_000)) if runtime == _SHORTEST else Fraction(runtime)
    turnaround = _rounded(_rounded(Fraction(start) + exact) - Fraction(submission))
    return Precise.nearest(_rounded(turnaround / exact))


def _rounded(value: Fraction) -> Fraction:
    """A number rounded to 64 bits, to the even one of two."""
    if not value:
        return value
    power = 64 - math.frexp(value)[1]
    unit = Fraction(2) ** -power
    return round(value / unit) * unit
