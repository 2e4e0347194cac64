"""Small figures inside tables, as SVG: means with their intervals, and bars. They scale with the page.

Positions are percentages, so that lines and dots keep their sizes on any screen. Colours are classes of the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

__all__ = ["Span", "bar", "forest", "span_of", "strip"]

Span = tuple[float, float]
"""The lowest and the highest value of a figure."""
_MARGIN: Final = 0.04


def span_of(values: Iterable[float | None], *, zero: bool = True) -> Span:
    """The range that figures of these values share, with a margin. It contains 0 unless `zero` is false.

    >>> span_of([1.0, 3.0, None])
    (-0.12, 3.12)
    """
    known = [value for value in values if value is not None]
    low, high = (
        min([*known, *([0.0] if zero else [])], default=0.0),
        max([*known, *([0.0] if zero else [])], default=0.0),
    )
    if low == high:
        return low - 1.0, high + 1.0
    margin = _MARGIN * (high - low)
    return low - margin, high + margin


def forest(mean: float, low: float | None, high: float | None, span: Span, look: str = "") -> str:
    """A mean as a dot, its interval as a line, and 0 as a thin line.

    Args:
        mean: the mean.
        low: the lower end of its interval; None if there is none.
        high: the upper end.
        span: the range of the figure.
        look: a class for the colour: `good`, `bad` or "".
    """
    line = "" if low is None or high is None else _line("interval", _at(low, span), _at(high, span))
    dot = f'<circle cx="{_at(mean, span)}" cy="50%" r="4"/>'
    return f'<svg class="figure {look}" aria-hidden="true">{_zero(span)}{line}{dot}</svg>'


def bar(value: float, span: Span, limits: Sequence[float] = (), look: str = "") -> str:
    """A bar from 0 to a value, with thin lines at some limits."""
    begin, end = sorted((0.0, value))
    left, right = (_place(each, span) for each in (begin, end))
    lines = "".join(
        f'<line class="limit" x1="{_at(each, span)}" x2="{_at(each, span)}" y1="0" y2="100%"/>' for each in limits
    )
    box = f'<rect x="{left:.2f}%" y="25%" width="{right - left:.2f}%" height="50%"/>'
    return f'<svg class="figure {look}" aria-hidden="true">{box}{lines}</svg>'


def strip(signs: str) -> str:
    """Small marks side by side: the signs of a difference over time.

    >>> strip("+-")
    '<div class="strip"><span class="up">+</span><span>-</span></div>'
    """
    marks = (f'<span class="up">{each}</span>' if each == "+" else f"<span>{each}</span>" for each in signs)
    return f'<div class="strip">{"".join(marks)}</div>'


def _zero(span: Span) -> str:
    place = _at(0.0, span)
    return f'<line class="zero" x1="{place}" x2="{place}" y1="0" y2="100%"/>'


def _line(name: str, begin: str, end: str) -> str:
    return f'<line class="{name}" x1="{begin}" x2="{end}" y1="50%" y2="50%"/>'


def _at(value: float, span: Span) -> str:
    return f"{_place(value, span):.2f}%"


def _place(value: float, span: Span) -> float:
    low, high = span
    return 100 * (min(max(value, low), high) - low) / (high - low)
