"""The windows of a log, each with its warm-up and cool-down, and the number of jobs in each part."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec

from batprotocol.errors import InputError
from batprotocol.simulator import Workload

__all__ = ["Window", "span_text", "windows_of"]

_MOST: Final = 10_000


class Window(msgspec.Struct, frozen=True):
    """A window of a log. The jobs that are submitted in it count.

    Attributes:
        begin: its beginning, in seconds of the log.
        end: its end.
        jobs: the number of jobs that count.
        before: the number of jobs in its warm-up.
        after: the number of jobs in its cool-down.
    """

    begin: float
    end: float
    jobs: int
    before: int
    after: int

    @property
    def label(self) -> str:
        """Its value on the axis `window` of a study."""
        return f"{_number(self.begin)}-{_number(self.end)}"


def windows_of(workload: Workload, length: float, warm_up: float, cool_down: float) -> tuple[Window, ...]:
    """The windows of a log that follow one another, from the end of the first warm-up on. Empty ones are left out.

    Args:
        workload: the log.
        length: the length of a window in seconds.
        warm_up: the seconds before each window.
        cool_down: the seconds after it; the last window ends that long before the last submission.

    Raises:
        InputError: the log is too short, or has too many windows.
    """
    times = [workload.record(place).time for place in range(len(workload))]
    first, last = (times[0], times[-1]) if times else (0.0, 0.0)
    begin = math.ceil(max(first + warm_up, 0.0))
    count = math.floor((last - cool_down - begin) / length) if times else 0
    if count < 1:
        raise InputError(
            f"the log has submissions over {span_text(last - first)}, and a window with its warm-up and cool-down is "
            f"{span_text(warm_up + length + cool_down)} long: use shorter windows, such as --windows 1d --warm-up 6h"
        )
    if count > _MOST:
        raise InputError(
            f"the log has {count:,} windows of {span_text(length)}, and {_MOST:,} is the maximum: use longer ones"
        )
    found = [_window(times, begin + number * length, length, warm_up, cool_down) for number in range(count)]
    return tuple(each for each in found if each.jobs)


def _window(times: Sequence[float], begin: float, length: float, warm_up: float, cool_down: float) -> Window:
    end = begin + length
    places = [bisect_left(times, time) for time in (begin - warm_up, begin, end, end + cool_down)]
    before, jobs, after = (later - earlier for earlier, later in pairwise(places))
    return Window(begin, end, jobs, before, after)


def span_text(seconds: float) -> str:
    """A time that people read.

    >>> span_text(604800), span_text(216000), span_text(1800), span_text(5)
    ('1 week', '2.5 days', '30 minutes', '5 seconds')
    """
    sizes = (("week", 604_800.0), ("day", 86_400.0), ("hour", 3600.0), ("minute", 60.0))
    unit, size = next((each for each in sizes if seconds >= each[1]), ("second", 1.0))
    number = f"{seconds / size:.3g}"
    return f"{number} {unit}{'' if number == '1' else 's'}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
