"""Numbers of a result as people read them: durations, joules, ratios, and series as small charts of text."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["chart", "duration", "joules", "ratio"]

_BLOCKS = " ▁▂▃▄▅▆▇█"
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def chart(values: Sequence[float], highest: float, height: int) -> list[str]:
    """Bars of these values, `highest` being as high as the chart, as lines of text from the top down.

    >>> chart([0, 0.5, 1], 1.0, 2)
    ['  █', ' ██']
    """
    levels = [min(max(round(value / highest * height * 8), 0), height * 8) for value in values]
    return ["".join(_BLOCKS[min(max(level - 8 * row, 0), 8)] for level in levels) for row in reversed(range(height))]


def ratio(value: float) -> str:
    """A ratio with three digits, or more where they count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Seconds, and from a minute on what they are in larger units.

    >>> duration(12.3456), duration(5400)
    ('12.3 s', '5,400 s (1.5 h)')
    """
    if abs(seconds) < 60:
        return f"{seconds:.3g} s"
    factor, unit = next((factor, unit) for factor, unit in _UNITS if abs(seconds) >= factor)
    return f"{seconds:,.0f} s ({seconds / factor:.3g} {unit})"


def joules(amount: float) -> str:
    """Joules with a prefix that leaves few digits.

    >>> joules(1234567.0), joules(12.0)
    ('1.23 MJ', '12 J')
    """
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(amount) >= factor:
            return f"{amount / factor:.3g} {prefix}J"
    return f"{amount:.3g} J"
