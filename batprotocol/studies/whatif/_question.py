"""A question about a log, and the windows that the log is cut into."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.simulator import Workload
from batprotocol.studies.keys import ESTIMATES
from batprotocol.workloads.columns import StoredJob

_NODES: Final = re.compile(r"([+-])([0-9]{1,9}(?:\.[0-9]{1,9})?)(%?)|([0-9]{1,9}(?:\.[0-9]{1,9})?)(x?)", re.ASCII)
_MOST_HOSTS: Final = 10_000_000


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question about a log. The values of the log itself are always among those that are compared.

    Args:
        policies: the policies to compare.
        arrivals: the factors by which arrivals are compressed, > 0: with 1.1, jobs arrive 1.1 times as fast.
        nodes: other numbers of hosts, as `parse_nodes` reads them.
        estimates: the estimates of run times that policies have: `asked`, `exact` and `predicted`.
        today: the policy that the machine has today; "": a Slurm among the policies, or else `easy`.
        window: the length of the windows in seconds, > 0; None: one of which the log has at least ten.
        warm_up: the seconds at the beginning of the log whose jobs are simulated and not counted; None: the time within
            which 99 of 100 jobs end, and at most a twentieth of the log.
        cool_down: the seconds at the end of the log whose jobs are simulated and not counted.
        seed: without effect: intervals are not random.
    """

    policies: tuple[str, ...]
    arrivals: tuple[float, ...] = (1.0,)
    nodes: tuple[str, ...] = ()
    estimates: tuple[str, ...] = ("asked",)
    today: str = ""
    window: float | None = None
    warm_up: float | None = None
    cool_down: float = 0.0
    seed: int = 0

    def check(self) -> None:
        """Check its values.

        Raises:
            InputError: one is out of its range.
        """
        if not self.policies:
            raise InputError("expected at least one policy, got none")
        if "recorded" in (self.today, *self.policies):
            raise InputError("recorded is the baseline of each log with starts: leave it out of the policies")
        for factor in self.arrivals:
            if not 0 < factor < math.inf:
                raise InputError(f"expected a factor of arrivals > 0, got {shown(factor)}")
        for each in self.estimates:
            if each not in ESTIMATES:
                raise InputError(f"expected the estimates {', '.join(ESTIMATES)}, got {shown(each)}")
        if self.window is not None and not 0 < self.window < math.inf:
            raise InputError(f"expected windows of > 0 seconds, got {shown(self.window)}")
        for what, seconds in (("warm-up", self.warm_up), ("cool-down", self.cool_down)):
            if seconds is not None and not 0 <= seconds < math.inf:
                raise InputError(f"expected a {what} of >= 0 seconds, got {shown(seconds)}")
        if self.seed < 0:
            raise InputError(f"expected a seed >= 0, got {shown(self.seed)}")


def parse_nodes(text: str, hosts: int) -> int:
    """The number of hosts that a text means.

    Args:
        text: more or less hosts (`+40`, `-8`, `+10%`), a factor (`0.5x`), or the number itself. Parts of a host are
            rounded to the nearest number.
        hosts: the number of hosts of the machine.

    Raises:
        InputError: it is not such a text, or no host would be left.

    >>> [parse_nodes(text, 64) for text in ("+10%", "+40", "-8", "0.5x", "128")]
    [70, 104, 56, 32, 128]
    """
    found = _NODES.fullmatch(text)
    if found is None or (found[4] and not found[5] and "." in found[4]):
        raise InputError(f"expected a number of hosts such as +10%, +40, 0.5x or 128, got {shown(text)}")
    if found[1]:
        change = float(found[2]) * (hosts / 100 if found[3] else 1)
        number = hosts + change if found[1] == "+" else hosts - change
    else:
        number = float(found[4]) * (hosts if found[5] else 1)
    count = math.floor(number + 0.5)
    if not 1 <= count <= _MOST_HOSTS:
        raise InputError(f"{shown(text)} of {hosts:,} hosts is {count:,}, and a machine has 1 to {_MOST_HOSTS:,}")
    return count


# The part of a log that counts, and its windows, which follow one another.


USUAL_WINDOWS: Final = 10
"""The number of windows that a log has at least, if their length is not given."""

_MOST: Final = 10_000
_LENGTHS: Final = (604_800.0, 86_400.0, 43_200.0, 21_600.0, 10_800.0, 3600.0, 1800.0, 600.0, 60.0)
_ENDED: Final = 0.99
_LARGEST_PART: Final = 20


class LogWindow(msgspec.Struct, frozen=True):
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


class LogSpan(NamedTuple):
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


def span_of_log(workload: Workload, warm_up: float | None, cool_down: float) -> LogSpan:
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
    return LogSpan(begin, end, first, last)


def _run_time(workload: Workload, job: StoredJob) -> float:
    """The seconds that a job runs; 0 if they depend on the machine."""
    profile = workload.profiles.get(f"{workload.name}!{job.profile}") or workload.profiles.get(job.profile)
    return float(getattr(getattr(profile, "profile", None), "delay", 0.0))


def usual_length(span: LogSpan) -> float:
    """A length of which a log has at least ten windows: a week, a day, or part of one.

    >>> [span_text(usual_length(LogSpan(0.0, days * 86_400.0, 0.0, 0.0))) for days in (200, 12, 2)]
    ['1 week', '1 day', '3 hours']
    """
    time = span.end - span.begin
    return next((length for length in _LENGTHS if time >= USUAL_WINDOWS * length), time / USUAL_WINDOWS)


def windows_of(times: Sequence[float], begin: float, end: float, length: float) -> tuple[LogWindow, ...]:
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
        LogWindow(begin, end, last - first)
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


def many_of(count: int, word: str) -> str:
    """A number of things.

    >>> many_of(1, "job"), many_of(1200, "job")
    ('1 job', '1,200 jobs')
    """
    return f"{count:,} {word}{'s' * (count != 1)}"
