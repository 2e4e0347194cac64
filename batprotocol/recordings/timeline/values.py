"""The parts of a timeline: jobs, series over time, hosts out of service, messages.

They are plain values. This module must not know their sources, nor how they are drawn.
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
from batprotocol.workloads.requests import Offer, Request

if TYPE_CHECKING:
    from batprotocol.recordings.timeline.messages import Messages

__all__ = ["MOST_HOSTS", "OFF_DUTY", "OffDuty", "Series", "SeriesKind", "TimelineData", "TimelineJob"]

MOST_HOSTS: Final = 1_000_000
"""The numbers of hosts are below this limit."""

SeriesKind: TypeAlias = Literal["queue", "hosts", "power", "carbon", "price", "probe"]
"""The subject of a series: jobs that wait, free hosts, power, carbon intensity, price, or the values of a probe."""


class TimelineJob(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A job of a timeline. Times are in simulated seconds; None means unknown, or that it did not happen.

    Args:
        job_id: its full name, `workload!job`.
        submitted: when it was submitted.
        started: when its execution began; None if it did not begin.
        finished: when its execution ended; None if it did not end.
        hosts: its hosts, (first, last) of each interval.
        state: its final state; None if that is not known, or it has not ended.
        requested: the number of hosts that it requested.
        walltime: its walltime in seconds, or None.
        profile: the name of its profile.
        user: the user who submitted it; "" if that is not known.
        request: what it asks for beside hosts; None if that is nothing, or not known.
        share: the share of its hosts that it has, in ]0, 1[; None if it has whole hosts, or that is not known.
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
    request: Request | None = None
    share: float | None = None

    @property
    def workload(self) -> str:
        """The name of its workload; "" if it has none."""
        workload, bang, _ = self.job_id.partition("!")
        return workload if bang else ""


def intervals_of(hosts: str, whose: str) -> tuple[tuple[int, int], ...]:
    """The intervals of a host set (`0-3 8`).

    Raises:
        InputError: it is not a host set, or it contains a number that is too large.
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
        name: its name.
        kind: its subject.
        times: the times of the values in simulated seconds, ascending.
        values: the value from each of these times on.
        unit: the unit of the values, such as `W`; "" for counts.
        lane: the lane in which it is drawn; several series can share one. By default, the name of the series.
        is_step: whether a value holds until the next one; otherwise, it is measured at its time only.
        most: the greatest possible value, such as the number of hosts; 0 if that is not known.
    """

    name: str
    kind: SeriesKind
    times: Sequence[float]
    values: Sequence[float]
    unit: str = ""
    lane: str = ""
    is_step: bool = True
    most: float = 0.0


OFF_DUTY: Final = ("off", "switching", "down", "drained", "closed", "reserved")
"""Why hosts are off duty. Hosts that are reserved are so only for other jobs than those of the window."""


class OffDuty(msgspec.Struct, frozen=True, gc=False):
    """Hosts that were off, switching, away or reserved for a while.

    Args:
        first: the first host.
        last: the last host.
        start: when it began, in simulated seconds.
        end: when it ended, in simulated seconds.
        is_switching: whether they were switching on or off; otherwise, they were off.
        reason: why they were away: `down`, `drained`, `closed` (in a window without jobs) or `reserved` (in a window of
            some users); "": they were off or switching.
    """

    first: int
    last: int
    start: float
    end: float
    is_switching: bool = False
    reason: str = ""

    @property
    def kind(self) -> str:
        """Why they were off duty: one of `OFF_DUTY`."""
        return self.reason or OFF_DUTY[self.is_switching]


class TimelineData:
    """All data that are drawn for one run.

    Args:
        name: the name of the run.
        jobs: its jobs, in any order.
        hosts: the number of computation hosts; by default, that of the hosts up to the last one that a job had.
        host_names: their names, by their numbers.
        offers: what hosts offer: cores, GPUs, partitions. Hosts that are not among them count as one core.
        series: more series to draw. Those of the jobs that wait and of the free hosts are computed from the jobs,
            unless a series of kind `queue` or `hosts` replaces them.
        off_duty: hosts that were off, switching, away or reserved.
        messages: the messages of the run.
        end: when the run ended, in simulated seconds; by default, the last time that is known.

    Raises:
        InputError: a time is not a finite number, or there is nothing to draw.
    """

    def __init__(
        self,
        name: str,
        jobs: Iterable[TimelineJob],
        *,
        hosts: int | None = None,
        host_names: Sequence[str] = (),
        offers: Iterable[Offer] = (),
        series: Iterable[Series] = (),
        off_duty: Iterable[OffDuty] = (),
        messages: Messages | None = None,
        end: float | None = None,
    ) -> None:
        self.name = name
        """The name of the run."""
        self.jobs = sorted(jobs, key=lambda job: (inf if job.started is None else job.started, job.submitted or 0.0))
        """The jobs by their start; those that did not start come last."""
        self.host_names = tuple(host_names)
        self.offers = {offer.id: offer for offer in offers}
        self.messages = messages
        self.given = list(series)
        seen = max((job.hosts[-1][1] + 1 for job in self.jobs if job.hosts), default=0)
        self.host_count = max(seen, hosts or 0)
        """The number of computation hosts."""
        self.off_duty = [
            _within(each, self.host_count) for each in off_duty if not each.reason or each.first < self.host_count
        ]
        self.start, self.end = self._span(end)
        """The start and the end of the run, in simulated seconds."""

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


def _within(off: OffDuty, host_count: int) -> OffDuty:
    """The hosts that exist: an event may name others."""
    return off if off.last < host_count or not off.reason else msgspec.structs.replace(off, last=host_count - 1)


def or_nan(values: Iterable[float | None]) -> array[float]:
    """These values, NaN in place of None."""
    return array("d", [nan if value is None else value for value in values])
