"""Numbers with more digits than a double: Batsim adds joules with 64 bits instead of 53, and writes all digits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

__all__ = ["Precise"]

_DECIMALS = 6


class Precise(float):
    """A double and a remainder: it computes as the double, and is formatted with the digits of both.

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

    def __format__(self, specification: str) -> str:
        if specification != "f":
            return super().__format__(specification)
        digits = round((Fraction(float(self)) + Fraction(self.rest)) * 10**_DECIMALS)
        whole, behind = divmod(abs(digits), 10**_DECIMALS)
        return f"{'-' if digits < 0 else ''}{whole}.{behind:0{_DECIMALS}}"

    def __reduce__(self) -> Any:
        return Precise, (float(self), self.rest)
