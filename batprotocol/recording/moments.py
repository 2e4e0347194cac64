"""Simulated times as recordings are looked up by them: whole nanoseconds. It must not know what is said then."""

from __future__ import annotations

from typing import Final

__all__ = ["LAST", "MOST", "moment_of"]

MOST: Final = 2**64 - 1
"""The last moment that there is: 584 years of nanoseconds."""
LAST: Final = 1.8e10
"""All times from here on, in seconds, are that moment."""


def moment_of(time: float | None) -> int:
    """A simulated time as captures are looked up by it: in nanoseconds, from 0 to `MOST`; 0 for None.

    >>> moment_of(1.5), moment_of(None)
    (1500000000, 0)
    """
    if time is None or not time > 0:
        return 0
    return int(time * 1e9 + 0.5) if time < LAST else MOST
