"""Times and numbers in the formats of CiGri's commands. All times are in UTC."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal, localcontext

from batprotocol.campaigns.model import Durations

__all__ = ["age", "average", "calendar", "deviation", "moment", "second", "stamp"]


def calendar(time: float) -> datetime:
    """A time of the grid's clock. A time that no calendar has becomes the first second of the calendar."""
    try:
        return datetime.fromtimestamp(time, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return datetime.fromtimestamp(0, timezone.utc)


def moment(time: float) -> str:
    """The format of times in tables.

    >>> moment(1795264572)
    '2026-11-21 12-36-12'
    """
    return calendar(time).strftime("%Y-%m-%d %H-%M-%S")


def second(time: float | None) -> str:
    """The format of the times of jobs.

    >>> second(1795264573), second(None)
    ('2026-11-21 12:36:13+00', '')
    """
    return "" if time is None else calendar(time).strftime("%Y-%m-%d %H:%M:%S+00")


def stamp(time: float) -> str:
    """The format of the times of events.

    >>> stamp(1795264730.081077)
    '2026-11-21 12:38:50.081077+00'
    """
    return calendar(time).strftime("%Y-%m-%d %H:%M:%S.%f+00")


def _numeric(value: Decimal) -> str:
    """A quotient in the format of PostgreSQL: sixteen digits, in steps of four."""
    if not value:
        return "0"
    decimals = 16 - 4 * (value.adjusted() // 4)
    return f"{value:.{max(decimals, 0)}f}"


def average(durations: Durations) -> str:
    """The mean duration.

    >>> average(Durations.of(4, 4, 4, 5))
    '4.2500000000000000'
    """
    if not durations.count:
        return ""
    with localcontext() as context:
        context.prec = 60
        return _numeric(Decimal(durations.total) / durations.count)


def deviation(durations: Durations) -> str:
    """The standard deviation, of a sample.

    >>> deviation(Durations.of(4, 4, 4, 5)), deviation(Durations.of(2, 2))
    ('0.50000000000000000000', '0')
    """
    count = durations.count
    if count < 2:
        return ""
    with localcontext() as context:
        context.prec = 60
        total, squares = Decimal(durations.total), Decimal(durations.squares)
        variance = (count * squares - total * total) / (count * (count - 1))
        return _numeric(max(variance, Decimal(0)).sqrt())


def age(seconds: float) -> str:
    """A duration in the largest unit of which it has at least one.

    >>> age(0.4), age(1), age(200), age(100_000)
    ('0 seconds', '1 second', '3 minutes', '1 day')
    """
    whole = max(0, int(seconds))
    units = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))
    unit, length = next((each for each in units if whole >= each[1]), units[-1])
    count = whole // length
    return f"{count} {unit}" + ("" if count == 1 else "s")
