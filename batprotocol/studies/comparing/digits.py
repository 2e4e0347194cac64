"""Readable means and intervals: with the known digits, and no more."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median
from typing import Final

__all__ = ["cell_decimals", "decimals_for", "number", "signed"]

_DIGITS: Final = 4
_LEAST: Final = 3
_MOST_DECIMALS: Final = 8
_NOTHING: Final = 1e-9
"""Narrower intervals, relative to the numbers, are rounding errors."""
_LARGEST: Final = 1e15
"""From this number on, a double has no decimals."""


def decimals_for(widths: Iterable[float], values: Iterable[float]) -> int:
    """The number of decimals for a column of numbers: two digits of the median interval, and one of the narrowest.

    Without an interval, the numbers have four digits.

    >>> decimals_for([12.0, 9.0, 15.0], [235.82]), decimals_for([0.004], [0.85]), decimals_for([], [53.64])
    (0, 4, 2)
    >>> decimals_for([37.0, 11.0, 0.6], [39.0, 12.0, 3.0])
    1
    >>> decimals_for([], [250, 3])
    0
    """
    values = list(values)
    least = _NOTHING * max(map(abs, values), default=0.0)
    wide = [width for width in widths if width > least]
    if wide:
        needed = max(1 - math.floor(math.log10(median(wide))), -math.floor(math.log10(min(wide))))
    else:
        sizes = [abs(value) for value in values if value and not all(map(_is_whole, values))]
        needed = _DIGITS - 1 - math.floor(math.log10(median(sizes))) if sizes else 0
    return min(max(needed, 0), _MOST_DECIMALS)


def cell_decimals(mean: float, width: float | None) -> tuple[int, int]:
    """The number of decimals of a mean, and that of the ends of its interval.

    The interval shows two digits of its width. The mean has three significant digits if the interval allows them, or
    four if there is no interval.

    Args:
        mean: the mean.
        width: the width of its interval; None if there is none.

    >>> cell_decimals(5.02, 1.0), cell_decimals(44.1, 12.0), cell_decimals(235.82, 150.0), cell_decimals(53.64, None)
    ((2, 1), (1, 0), (0, 0), (2, 2))
    >>> cell_decimals(0.0034, 12.0)
    (2, 0)
    """
    size = math.floor(math.log10(abs(mean))) if mean and math.isfinite(mean) else 0
    if width is None or not _NOTHING * abs(mean) < width < math.inf:
        alone = 0 if _is_whole(mean) else min(max(_DIGITS - 1 - size, 0), _MOST_DECIMALS)
        return alone, alone
    coarse = min(max(1 - math.floor(math.log10(width)), 0), _MOST_DECIMALS)
    return min(max(min(_LEAST - 1 - size, coarse + 2), coarse), _MOST_DECIMALS), coarse


def _is_whole(value: float) -> bool:
    return value == int(value) if math.isfinite(value) else False


def number(value: float, decimals: int) -> str:
    """A number with this number of decimals.

    >>> number(12345.678, 1), number(-0.001, 2), number(1e20, 2)
    ('12345.7', '0.00', '1e+20')
    """
    if not abs(value) < _LARGEST:
        return f"{value:g}"
    text = f"{value:.{decimals}f}"
    return text if not text.startswith("-") or text.strip("-0.") else text[1:]


def signed(value: float, decimals: int) -> str:
    """A difference, with its sign.

    >>> signed(1.25, 1), signed(-3.0, 1), signed(0.0, 1)
    ('+1.2', '-3.0', '0.0')
    """
    text = number(value, decimals)
    return f"+{text}" if value > 0 and text.strip("0.") else text
