"""What a timeline is made of: jobs, series over time, hosts out of service, messages.

Plain values, whatever they were read from and whatever is made of them. It must not know of either.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from batprotocol.errors import HostSetError, InputError
from batprotocol.model import FinalJobState
from batprotocol.model.hosts import frozen_hosts

if TYPE_CHECKING:
    from batprotocol.capture.timeline.messages import Messages

__all__ = ["MOST_HOSTS", "OffDuty", "Series", "SeriesKind", "TimelineData", "TimelineJob"]

MOST_HOSTS: Final = 1_000_000
"""Hosts have smaller numbers than this."""

SeriesKind: TypeAlias = Literal["queue", "hosts", "power", "probe"]
"""What a series is about: jobs that wait, free hosts, watts, or what a probe measures."""


class TimelineJob(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A job of a timeline. Times are in simulated seconds, and None where they are not known or never came.

    Args:
        job_id: its full name, `workload!job`.
        submitted: when it was submitted.
        started: when its execution began; None if it never did.
        finished: when its execution ended; None if it never did.
        hosts: its hosts, (first, last) of each interval.
        state: how it ended; None if that is not known, or it has not ended.
        requested: how many hosts it asked for.
        walltime: its walltime in seconds, or None.
        profile: the name of its profile.
        user: who submitted it; "" if that is not known.
    """

    job_id: str
    submitted: float | None = None
    started: float | None = None
    finished: float | None = None
    hosts: tuple[tuple[int, int], ...] = ()
    state: FinalJobState | None = None
    requested: int = 0
    walltime: float | None = None
    profile: str = ""
    user: str = ""

    @property
    def workload(self) -> str:
        """The name of its workload; "" if it has none."""
        return self.job_id.rpartition("!")[0]


def intervals_of(hosts: str, whose: str) -> tuple[tuple[int, int], ...]:
    """The intervals of a host set (`0-3 8`).

    Raises:
        InputError: it is none, or holds numbers that no host has.
    """
    try:
        intervals = frozen_hosts(hosts).intervals
    except HostSetError as error:
        raise InputError(str(error), whose) from None
    if intervals and intervals[-1][1] >= MOST_HOSTS:
        raise InputError(f"the numbers of hosts are below {MOST_HOSTS:,}, got {intervals[-1][1]}", whose)
    return intervals


class Series(msgspec.Struct, frozen=True):
    """A value over time.

    Args:
        name: what it is called.
        kind: what it is about.
        times: in simulated seconds, ascending.
        values: the value from each of these times on.
        unit: the unit of the values, such as `W`; "" for counts.
        lane: where it is drawn; series of the same lane share it. Its name unless given.
        is_step: whether a value holds until the next one; else it is a measure of its moment.
        most: the greatest value that there could be, such as all hosts; 0 if that is not known.
    """

    name: str
    kind: SeriesKind
    times: Sequence[float]
    values: Sequence[float]
    unit: str = ""
    lane: str = ""
    is_step: bool = True
    most: float = 0.0


class OffDuty(msgspec.Struct, frozen=True, gc=False):
    """Hosts that were switched off for a while, or on their way.

    Args:
        first: the first host.
        last: the last host.
        start: since when, in simulated seconds.
        end: until when, in simulated seconds.
        is_switching: whether they switched on or off, rather than sleep.
    """

    first: int
    last: int
    start: float
    end: float
    is_switching: bool = False


class TimelineData:
    """All that is drawn of one run.

    Args:
        name: what the run is called.
        jobs: its jobs, in any order.
        hosts: how many computation hosts there are; unless given, as many as jobs had.
        host_names: their names, by their numbers.
        series: what is drawn besides the jobs that wait and the hosts that are free, which jobs tell. A series of kind
            `hosts` or `queue` takes the place of what jobs tell.
        off_duty: hosts that were switched off or on their way.
        messages: what was said.
        end: when the run ended, in simulated seconds; unless given, with the last of what is known of it.

    Raises:
        InputError: a time is no finite number, or there is nothing to draw.
    """

    def __init__(
        self,
        name: str,
        jobs: Iterable[TimelineJob],
        *,
        hosts: int | None = None,
        host_names: Sequence[str] = (),
        series: Iterable[Series] = (),
        off_duty: Iterable[OffDuty] = (),
        messages: Messages | None = None,
        end: float | None = None,
    ) -> None:
        self.name = name
        """What the run is called."""
        self.jobs = sorted(jobs, key=lambda job: (inf if job.started is None else job.started, job.submitted or 0.0))
        """The jobs by their start, those that never started last."""
        self.host_names = tuple(host_names)
        self.off_duty = list(off_duty)
        self.messages = messages
        self.given = list(series)
        seen = max((job.hosts[-1][1] + 1 for job in self.jobs if job.hosts), default=0)
        self.host_count = max(seen, hosts or 0)
        """How many computation hosts there are."""
        self.start, self.end = self._span(end)
        """The span of simulated time that it is about, in seconds."""

    def _span(self, end: float | None) -> tuple[float, float]:
        first, last = inf, -inf
        for job in self.jobs:
            for time in (job.submitted, job.started, job.finished):
                if time is not None:
                    if not isfinite(time):
                        raise InputError(f"the times of a job are finite numbers, got {time}", job.job_id)
                    first, last = min(first, time), max(last, time)
        edges = [each.times[place] for each in self.given if each.times for place in (0, -1)]
        if self.messages is not None and self.messages.times:
            edges += [min(self.messages.times), max(self.messages.times)]
        edges += [] if end is None else [end]
        edges = [time for time in edges if isfinite(time)]
        if first == inf and not edges:
            raise InputError("there is nothing to draw: neither jobs nor messages")
        return min(first, *edges, 0.0), max(last, *edges, 0.0)


def or_nan(values: Iterable[float | None]) -> array[float]:
    """These values, NaN in place of None."""
    return array("d", [nan if value is None else value for value in values])
