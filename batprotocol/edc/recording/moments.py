"""The simulated times in the index of a recording: whole nanoseconds. It must not know the messages."""

from __future__ import annotations

from typing import Final

__all__ = ["LAST", "MOST", "moment_of"]

MOST: Final = 2**64 - 1
"""The last moment: 584 years in nanoseconds."""
LAST: Final = 1.8e10
"""All times from this one on, in seconds, are the last moment."""


def moment_of(time: float | None) -> int:
    """A simulated time in the index of a capture: in nanoseconds, from 0 to `MOST`; 0 for None.

    >>> moment_of(1.5), moment_of(None)
    (1500000000, 0)
    """
    if time is None or not time > 0:
        return 0
    return int(time * 1e9 + 0.5) if time < LAST else MOST
