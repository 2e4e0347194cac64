"""The decay of usage as Slurm computes it, and the moments at which usage is set to 0.

Times are seconds since 1970, in UTC. This module must not know associations and jobs.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Final

__all__ = ["decay_of", "next_reset"]

_LN2: Final = 0.693
"""The logarithm of 2 with the digits that Slurm uses."""
_MONTHS: Final = {"monthly": 1, "quarterly": 3, "yearly": 12}


def decay_of(seconds: float, half_life: float) -> float:
    """The factor by which usage is multiplied after some seconds.

    It is (1 - 0.693 / h)^t, which is a little less than 2^(-t / h) for short half lives.

    Args:
        seconds: how much time passes, t.
        half_life: after how many seconds usage counts half, h; 0 or infinite: it always counts the same.

    >>> round(decay_of(300.0, 300.0), 6)
    0.499673
    """
    if not 0 < half_life < math.inf:
        return 1.0
    base = 1.0 - _LN2 / half_life
    return float(base**seconds) if base > 0 else 0.0


def next_reset(period: str, last: float) -> float:
    """The first moment after another one at which usage is set to 0.

    Args:
        period: daily, weekly (on Sunday), monthly, quarterly or yearly, always at 00:00; another one: never.
        last: the other moment.

    >>> next_reset("weekly", 0.0) / 86400  # 1970 began with a Thursday
    3.0
    """
    day = datetime.fromtimestamp(last, timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "daily":
        return (day + timedelta(days=1)).timestamp()
    if period == "weekly":
        return (day + timedelta(days=7 - day.isoweekday() % 7)).timestamp()
    if period not in _MONTHS:
        return math.inf
    step = _MONTHS[period]
    months = (day.year * 12 + day.month - 1) // step * step + step
    return day.replace(year=months // 12, month=months % 12 + 1, day=1).timestamp()
