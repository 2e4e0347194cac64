"""The part of a log that counts, and its windows, which follow one another."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec

from batprotocol.errors import InputError
from batprotocol.simulator import Workload
from batprotocol.workloads.columns import StoredJob

__all__ = ["USUAL_WINDOWS", "Span", "Window", "span_of_log", "span_text", "usual_length", "windows_of"]

USUAL_WINDOWS: Final = 10
"""The number of windows that a log has at least, if their length is not given."""

_MOST: Final = 10_000
_LENGTHS: Final = (604_800.0, 86_400.0, 43_200.0, 21_600.0, 10_800.0, 3600.0, 1800.0, 600.0, 60.0)
_ENDED: Final = 0.99
_LARGEST_PART: Final = 20


class Window(msgspec.Struct, frozen=True):
    """A window of a log. The jobs that come in it count in it.

    Attributes:
        begin: its beginning, in seconds of the log.
        end: its end.
        jobs: the number of its jobs.
    """

    begin: float
    end: float
    jobs: int

    @property
    def label(self) -> str:
        """Its name in tables."""
        return span_label(self.begin, self.end)


class Span(NamedTuple):
    """The part of a log that counts.

    Attributes:
        begin: its beginning, in whole seconds of the log.
        end: its end.
        first: the first submission of the log.
        last: its last submission.
    """

    begin: float
    end: float
    first: float
    last: float

    @property
    def label(self) -> str:
        """Its value for the key `window` of a study."""
        return span_label(self.begin, self.end)


def span_of_log(workload: Workload, warm_up: float | None, cool_down: float) -> Span:
    """The part of a log that counts: all but a warm-up at its beginning, and a cool-down at its end.

    Args:
        workload: the log.
        warm_up: the seconds of the warm-up; None: the time within which 99 of 100 jobs end, and at most a twentieth of
            the log. After that time, few jobs are left that would have run on the machine before the log begins.
        cool_down: the seconds of the cool-down.

    Raises:
        InputError: nothing is left.
    """
    jobs = [workload.record(place) for place in range(len(workload))]
    times = [job.time for job in jobs]
    first, last = (times[0], times[-1]) if times else (0.0, 0.0)
    if warm_up is None:
        runs = sorted(_run_time(workload, job) for job in jobs)
        usual = runs[int(_ENDED * (len(runs) - 1))] if runs else 0.0
        warm_up = float(math.floor(min(usual, (last - first) / _LARGEST_PART)))
    begin, end = float(math.ceil(max(first + warm_up, 0.0))), math.floor(last - cool_down) + 1.0
    if end - begin < 1 or not times or end - begin < (last - first) / 2:
        raise InputError(
            f"the log has submissions over {span_text(last - first)}, and less than half of it is left between a "
            f"warm-up of {span_text(warm_up)} and a cool-down of {span_text(cool_down)}: use shorter ones"
        )
    return Span(begin, end, first, last)


def _run_time(workload: Workload, job: StoredJob) -> float:
    """The seconds that a job runs; 0 if they depend on the machine."""
    profile = workload.profiles.get(f"{workload.name}!{job.profile}") or workload.profiles.get(job.profile)
    return float(getattr(getattr(profile, "profile", None), "delay", 0.0))


def usual_length(span: Span) -> float:
    """A length of which a log has at least ten windows: a week, a day, or part of one.

    >>> [span_text(usual_length(Span(0.0, days * 86_400.0, 0.0, 0.0))) for days in (200, 12, 2)]
    ['1 week', '1 day', '3 hours']
    """
    time = span.end - span.begin
    return next((length for length in _LENGTHS if time >= USUAL_WINDOWS * length), time / USUAL_WINDOWS)


def windows_of(times: Sequence[float], begin: float, end: float, length: float) -> tuple[Window, ...]:
    """The windows of a log that follow one another, and together are the whole time that counts.

    The last one has the rest: it is between half and one and a half times as long as the others. Windows without jobs
    are windows, too.

    Args:
        times: when jobs come, in ascending order.
        begin: the beginning of the time that counts, in seconds of the log.
        end: its end.
        length: the length of a window in seconds.

    Raises:
        InputError: there would be too many windows.
    """
    count = max(math.floor((end - begin) / length + 0.5), 1)
    if count > _MOST:
        raise InputError(
            f"the log has {count:,} windows of {span_text(length)}, and {_MOST:,} is the maximum: use longer ones"
        )
    edges = [*(begin + number * length for number in range(count)), end]
    places = [bisect_left(times, edge) for edge in edges]
    return tuple(
        Window(begin, end, last - first)
        for (begin, end), (first, last) in zip(pairwise(edges), pairwise(places), strict=True)
    )


def span_label(begin: float, end: float) -> str:
    """A part of a log, as studies name it: `0-604800`."""
    return f"{_number(begin)}-{_number(end)}"


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
