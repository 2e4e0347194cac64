"""Numbers of a result as text for readers: durations, joules, ratios, and series as small charts."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["chart", "duration", "energy", "grams", "joules", "percent", "ratio", "watts"]

_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:-=+*%#"
_DIGITS = 1e15
"""From this number on, numbers have exponents, because a double has no more digits."""
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def chart(values: Sequence[float], highest: float, height: int, encoding: str = "utf-8") -> list[str]:
    """Bars of these values as lines of text, from the top down. `highest` is as high as the chart.

    >>> chart([0, 0.5, 1], 1.0, 2)
    ['  █', ' ██']
    >>> chart([0, 0.5, 1], 1.0, 2, "ascii")
    ['  #', ' ##']
    """
    blocks = _BLOCKS if _can_write(_BLOCKS, encoding) else _ASCII
    # A value that is not a number, because a sum has left the range of doubles, has no bar.
    levels = [round(min(max(0.0, value / highest), 1.0) * height * 8) for value in values]
    return ["".join(blocks[min(max(level - 8 * row, 0), 8)] for level in levels) for row in reversed(range(height))]


def _can_write(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def ratio(value: float) -> str:
    """A ratio with three digits, or more for large numbers.

    >>> ratio(1.2345), ratio(12345.6), ratio(1e300)
    ('1.23', '12,346', '1e+300')
    """
    return f"{value:,.0f}" if 100 <= value < _DIGITS else f"{value:.3g}"


def percent(share: float) -> str:
    """A share in percent, and as a number where it is very large.

    >>> percent(0.8331), percent(1e300)
    ('83.3%', '1e+300')
    """
    return f"{share:.1%}" if abs(share) < 1000 else f"{share:.3g}"


def duration(seconds: float) -> str:
    """Seconds, and from a minute on also in larger units. Less than a nanosecond is 0.

    >>> duration(12.3456), duration(5400), duration(1e300), duration(1e-308)
    ('12.3 s', '5,400 s (1.5 h)', '1e+300 s', '0 s')
    """
    if abs(seconds) < 1e-9:  # the least steps in which time goes on where messages take none
        return "0 s"
    if not 60 <= abs(seconds) < _DIGITS:
        return f"{seconds:.3g} s"
    factor, unit = next((factor, unit) for factor, unit in _UNITS if abs(seconds) >= factor)
    return f"{seconds:,.0f} s ({seconds / factor:.3g} {unit})"


def joules(amount: float) -> str:
    """Joules with a prefix that leaves few digits.

    >>> joules(1234567.0), joules(12.0)
    ('1.23 MJ', '12 J')
    """
    return _prefixed(amount, "J")


def energy(amount: float) -> str:
    """Joules, and from a watt-hour on also as watt-hours.

    >>> energy(3.2e8), energy(12.0)
    ('320 MJ (88.9 kWh)', '12 J')
    """
    return f"{joules(amount)} ({_prefixed(amount / 3600, 'Wh')})" if abs(amount) >= 3600 else joules(amount)


def watts(power: float) -> str:
    """Watts with a prefix that leaves few digits.

    >>> watts(8123.0)
    '8.12 kW'
    """
    return _prefixed(power, "W")


def grams(amount: float) -> str:
    """Grams, kilograms or tonnes.

    >>> grams(12.3), grams(45678.0), grams(2.5e7)
    ('12.3 g', '45.7 kg', '25 t')
    """
    return f"{amount / 1e6:,.3g} t" if abs(amount) >= 1e6 else _prefixed(amount, "g")


def _prefixed(amount: float, unit: str) -> str:
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(amount) >= factor:
            return f"{amount / factor:.3g} {prefix}{unit}"
    return f"{amount:.3g} {unit}"
