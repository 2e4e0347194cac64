"""How much of the machine jobs use: the one definition for utilisation, offered load and loss of capacity.

A job uses the hosts that it has. A job that shares hosts uses the share of their cores that it takes. If the cores are
not known, hosts with jobs are in use as a whole, and a host that several jobs have counts once. This module must not
know metrics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from batprotocol.results.observing import JobRow
from batprotocol.results.series import StepSeries
from batprotocol.results.times import JobTimes, RunRows
from batprotocol.workloads.requests import Allocated
from batprotocol.workloads.requests.usage import busy_hosts, share_hosts

__all__ = [
    "COUNTED",
    "RESOURCES",
    "Counted",
    "HostUse",
    "Resource",
    "SharedUse",
    "share_of_time",
    "stays_of",
    "use_of_resources",
]

Counted: TypeAlias = Literal["hosts", "cores", "shared hosts"]
"""What is counted, a key of `COUNTED`."""

Resource: TypeAlias = Literal["memory", "gpu"]
"""A resource of hosts beside their cores whose use is measured."""

RESOURCES: Final[Mapping[Resource, str]] = {"memory": "memory", "gpu": "GPUs"}
"""The resources, with their names in sentences."""

COUNTED: Final[Mapping[Counted, str]] = {
    "hosts": "jobs have hosts for themselves: hosts are counted",
    "cores": "jobs share hosts: their share of the cores is counted",
    "shared hosts": "jobs share hosts, and their cores are not known: hosts with jobs count as a whole",
}
"""The units that are counted, with the end of a sentence that says so."""


class HostUse(msgspec.Struct, frozen=True):
    """The hosts that jobs use.

    Args:
        counted: what is counted.
        held: the hosts that each job uses by its cores, by its full name; other jobs use all of their hosts.
        shares: the share of all memory and of all GPUs of the machine that each job holds, as far as they are known.
    """

    counted: Counted = "hosts"
    held: Mapping[str, float] = {}
    shares: Mapping[Resource, Mapping[str, float]] = {}

    @classmethod
    def of(cls, jobs: Iterable[JobTimes], allocations: Iterable[Allocated] = ()) -> HostUse:
        """What is counted in a run.

        Args:
            jobs: all times that jobs ran.
            allocations: the amounts that jobs took of shared hosts, as far as they are known.

        >>> jobs = [JobTimes(0.0, 0.0, 9.0, 1, f"w0!{number}", allocated="0") for number in range(2)]
        >>> HostUse.of(jobs).counted, HostUse.of(jobs[:1]).counted
        ('shared hosts', 'hosts')
        >>> taken = [Allocated(job_id=each.name, first_id=each.name, starting_time=0.0, hosts="0", cores=1, held=0.25)
        ...          for each in jobs]
        >>> HostUse.of(jobs, taken).area(jobs)
        4.5
        """
        taken = list(allocations)
        parts = [each for each in taken if not each.whole]
        shares = _shares_of(taken)
        if parts and all(each.held is not None for each in parts):
            held = {each.first_id: each.held or 0.0 for each in parts}
            held.update((each.job_id, each.held or 0.0) for each in parts)
            return cls("cores", held, shares)
        return cls("shared hosts" if share_hosts(stays_of(jobs)) else "hosts", shares=shares)

    def hosts(self, job: JobTimes) -> float:
        """The hosts that a job uses while it runs, if it is alone on them or its cores are known."""
        return self.held.get(job.name, job.hosts) if self.held else job.hosts

    def work(self, jobs: Iterable[JobTimes]) -> float:
        """The host-seconds of jobs one by one: hosts that several jobs have at the same time count for each of them."""
        if not self.held:
            return math.fsum(job.hosts * job.runtime for job in jobs)
        return math.fsum(self.hosts(job) * job.runtime for job in jobs)

    def area(self, jobs: Sequence[JobTimes]) -> float:
        """The host-seconds that these jobs used together."""
        if self.counted != "shared hosts":
            return self.work(jobs)
        points = pairwise(busy_hosts(stays_of(jobs)))
        return math.fsum(busy * (after - time) for (time, busy), (after, _) in points if busy)

    def seconds(self, resource: Resource, jobs: Iterable[JobTimes]) -> float | None:
        """The seconds in which the whole of a resource would be in use, for what these jobs held of it.

        None if the share of a job is not known.

        >>> job = JobTimes(0.0, 0.0, 8.0, 1, "w0!1")
        >>> taken = Allocated(job_id="w0!1", first_id="w0!1", starting_time=0.0, hosts="0", cores=1, gpu_share=0.25)
        >>> use = HostUse.of([job], [taken])
        >>> use.seconds("gpu", [job]), use.seconds("memory", [job])
        (2.0, None)
        """
        shares = self.shares.get(resource)
        if not shares:
            return None
        found = []
        for job in jobs:
            if job.runtime > 0:
                share = shares.get(job.name)
                if share is None:
                    return None
                found.append(share * job.runtime)
        return math.fsum(found)

    def changes_of(self, resource: Resource, jobs: Iterable[JobTimes]) -> list[tuple[float, float]]:
        """Times, and by how much the share of a resource that is held changes there; jobs of unknown shares hold 0."""
        shares = self.shares.get(resource, {})
        known = ((job, shares.get(job.name, 0.0)) for job in jobs)
        return [change for job, share in known for change in ((job.start, share), (job.finish, -share))]

    def changes(self, jobs: Sequence[JobTimes]) -> list[tuple[float, float]]:
        """Times, and by how much the number of hosts in use changes there; in any order, and a time may come twice."""
        if self.counted != "shared hosts":
            return [change for job in jobs for change in ((job.start, self.hosts(job)), (job.finish, -self.hosts(job)))]
        found, before = [], 0
        for time, busy in busy_hosts(stays_of(jobs)):
            found.append((time, float(busy - before)))
            before = busy
        return found


def _shares_of(taken: Sequence[Allocated]) -> dict[Resource, Mapping[str, float]]:
    """The known shares of memory and GPUs, by the full names of jobs, also by their first ones."""
    found: dict[Resource, Mapping[str, float]] = {}
    for resource, share_of in _SHARES:
        known = {each.job_id: share for each in taken if (share := share_of(each)) is not None}
        if known:
            for each in taken:
                share = share_of(each)
                if share is not None:
                    known.setdefault(each.first_id, share)
            found[resource] = known
    return found


_SHARES: Final[Sequence[tuple[Resource, Callable[[Allocated], float | None]]]] = (
    ("memory", attrgetter("memory_share")),
    ("gpu", attrgetter("gpu_share")),
)


def share_of_time(seconds: float | None, duration: float) -> float | None:
    """The part of a time that some seconds are. Times have six decimals, so a full hour may seem to be fuller.

    >>> share_of_time(1.0, 4.0), share_of_time(4.0000001, 4.0)
    (0.25, 1.0)
    """
    if seconds is None:
        return None
    share = seconds / duration if duration else 0.0
    return 1.0 if 1.0 < share < 1 + _ROUNDED else share


_ROUNDED: Final = 1e-6


def use_of_resources(
    rows: Callable[[], Iterable[JobRow]], allocations: Sequence[Allocated], span: float
) -> Mapping[Resource, float | None]:
    """The utilisation of memory and of GPUs, as far as the scheduler said what jobs take.

    Args:
        rows: returns the jobs.
        allocations: the amounts that jobs took of their hosts.
        span: the seconds from the first submission to the last end of a job.
    """
    if span <= 0 or all(each.memory_share is None and each.gpu_share is None for each in allocations):
        return {}
    jobs = RunRows(rows()).jobs
    usage = HostUse.of(jobs, allocations)
    return {each: share_of_time(usage.seconds(each, jobs), span) for each in RESOURCES}


def stays_of(jobs: Iterable[JobTimes]) -> Iterable[tuple[float, float, str]]:
    """When each of these jobs had which hosts."""
    return ((job.start, job.finish, job.allocated) for job in jobs)


class SharedUse(NamedTuple):
    """The use of a machine whose hosts jobs share: what is counted, host-seconds, and hosts in use over time."""

    usage: HostUse
    area: float
    work: float
    series: StepSeries

    @classmethod
    def of(cls, rows: Iterable[JobRow], allocations: Iterable[Allocated]) -> SharedUse | None:
        """That of these jobs; None if they do not share hosts."""
        jobs = RunRows(rows).jobs
        usage = HostUse.of(jobs, allocations)
        if usage.counted == "hosts":
            return None
        series, busy, last = StepSeries(), 0.0, 0.0
        for time, change in sorted(usage.changes(jobs)):
            if busy > 0:
                series.add(last, time, busy)
            busy, last = busy + change, time
        return cls(usage, usage.area(jobs), usage.work(jobs), series)
