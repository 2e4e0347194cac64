"""Numbers as Batsim reads them: quickly, so the last bits of a number with many digits may be wrong.

Batsim's reader collects as many digits as fit exactly into an integer, a few more in a double, and scales once by a
power of ten. It drops the other digits. Up to fifteen digits, the result is the nearest double, as everywhere else.
"""

from __future__ import annotations

import re

__all__ = ["quick_float"]

_PARTS = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
_PLAIN = 16
"""The characters of a number without an exponent that is always exact: fifteen digits and a point."""
_EXACT = 2**53 - 1
_LARGEST = 2**64 - 1
_SIGNIFICANT = 17
_LEAST = -308


def quick_float(text: str) -> float:
    """The double that Batsim reads from a JSON number; infinite if the number is too big.

    >>> quick_float("99.0512677067334"), quick_float("99.05126770673341") == 99.05126770673341
    (99.0512677067334, False)
    """
    if len(text) <= _PLAIN and "e" not in text and "E" not in text:
        return float(text)
    parts = _PARTS.fullmatch(text)
    assert parts is not None, "it is JSON"
    sign, whole, fraction, exponent = parts.groups()
    number, shift = _mantissa(whole, fraction or "", bool(sign))
    if exponent:
        shift += int(exponent) if len(exponent) < 9 else (-(10**9) if exponent[0] == "-" else 10**9)
    number = _scaled(number, shift)
    return -number if sign else number


def _mantissa(whole: str, fraction: str, is_negative: bool) -> tuple[float, int]:
    """The digits as one number, and the power of ten for scaling."""
    digits = int(whole) if len(whole) <= 20 else _LARGEST + 1
    if digits > (2**63 if is_negative else _LARGEST):
        number = _gathered(whole, is_negative)
        significant = _SIGNIFICANT  # and more
    else:
        significant = 0 if digits == 0 else len(whole) - 1
        place = 0
        while place < len(fraction) and digits <= _EXACT:
            digits = digits * 10 + int(fraction[place])
            significant += digits != 0
            place += 1
        number = float(digits)
        if place == len(fraction):
            return number, -place
        fraction = fraction[place:]
        return _more(number, fraction, significant, -place)
    return _more(number, fraction, significant, 0)


def _gathered(whole: str, is_negative: bool) -> float:
    """An integer beyond 64 bits: the digits that fit, and the rest one after the other in doubles."""
    limit = 2**63 if is_negative else _LARGEST
    place, digits = 0, 0
    while place < len(whole) and digits * 10 + int(whole[place]) <= limit:
        digits = digits * 10 + int(whole[place])
        place += 1
    number = float(digits)
    for digit in whole[place:]:
        number = number * 10.0 + int(digit)
    return number


def _more(number: float, fraction: str, significant: int, shift: int) -> tuple[float, int]:
    """The digits that do not fit into an integer, up to seventeen in all."""
    for digit in fraction:
        if significant >= _SIGNIFICANT:
            break
        number = number * 10.0 + int(digit)
        shift -= 1
        significant += number > 0.0
    return number, shift


def _scaled(number: float, shift: int) -> float:
    """A number times a power of ten."""
    if shift >= 0:
        return number * float(f"1e{shift}") if number else 0.0
    if shift < _LEAST:
        number /= 1e308
        shift += 308
        return 0.0 if shift < _LEAST else number / float(f"1e{-shift}")
    return number / float(f"1e{-shift}")
