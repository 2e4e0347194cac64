"""How much of the machine jobs use: the one definition for utilisation, offered load and loss of capacity.

A job uses the hosts that it has. A job that shares hosts uses the share of their cores that it takes. If the cores are
not known, hosts with jobs are in use as a whole, and a host that several jobs have counts once. This module must not
know metrics.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from batprotocol.results.observing import JobRow
from batprotocol.results.series import StepSeries
from batprotocol.results.times import JobTimes, SeenJobs
from batprotocol.workloads.requests import Allocated
from batprotocol.workloads.requests.usage import busy_hosts, share_hosts

__all__ = ["COUNTED", "Counted", "SharedUse", "Usage", "stays_of"]

Counted: TypeAlias = Literal["hosts", "cores", "shared hosts"]
"""What is counted, a key of `COUNTED`."""

COUNTED: Final[Mapping[Counted, str]] = {
    "hosts": "jobs have hosts for themselves: hosts are counted",
    "cores": "jobs share hosts: their share of the cores is counted",
    "shared hosts": "jobs share hosts, and their cores are not known: hosts with jobs count as a whole",
}
"""The units that are counted, with the end of a sentence that says so."""


class Usage(msgspec.Struct, frozen=True):
    """The hosts that jobs use.

    Args:
        counted: what is counted.
        held: the hosts that each job uses by its cores, by its full name; other jobs use all of their hosts.
    """

    counted: Counted = "hosts"
    held: Mapping[str, float] = {}

    @classmethod
    def of(cls, jobs: Iterable[JobTimes], allocations: Iterable[Allocated] = ()) -> Usage:
        """What is counted in a run.

        Args:
            jobs: all times that jobs ran.
            allocations: the amounts that jobs took of shared hosts, as far as they are known.

        >>> jobs = [JobTimes(0.0, 0.0, 9.0, 1, f"w0!{number}", allocated="0") for number in range(2)]
        >>> Usage.of(jobs).counted, Usage.of(jobs[:1]).counted
        ('shared hosts', 'hosts')
        >>> taken = [Allocated(job_id=each.name, first_id=each.name, starting_time=0.0, hosts="0", cores=1, held=0.25)
        ...          for each in jobs]
        >>> Usage.of(jobs, taken).area(jobs)
        4.5
        """
        parts = [each for each in allocations if not each.whole]
        if parts and all(each.held is not None for each in parts):
            held = {each.first_id: each.held or 0.0 for each in parts}
            held.update((each.job_id, each.held or 0.0) for each in parts)
            return cls("cores", held)
        return cls("shared hosts" if share_hosts(stays_of(jobs)) else "hosts")

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

    def changes(self, jobs: Sequence[JobTimes]) -> list[tuple[float, float]]:
        """Times, and by how much the number of hosts in use changes there; in any order, and a time may come twice."""
        if self.counted != "shared hosts":
            return [change for job in jobs for change in ((job.start, self.hosts(job)), (job.finish, -self.hosts(job)))]
        found, before = [], 0
        for time, busy in busy_hosts(stays_of(jobs)):
            found.append((time, float(busy - before)))
            before = busy
        return found


def stays_of(jobs: Iterable[JobTimes]) -> Iterable[tuple[float, float, str]]:
    """When each of these jobs had which hosts."""
    return ((job.start, job.finish, job.allocated) for job in jobs)


class SharedUse(NamedTuple):
    """The use of a machine whose hosts jobs share: what is counted, host-seconds, and hosts in use over time."""

    usage: Usage
    area: float
    work: float
    series: StepSeries

    @classmethod
    def of(cls, rows: Iterable[JobRow], allocations: Iterable[Allocated]) -> SharedUse | None:
        """That of these jobs; None if they do not share hosts."""
        jobs = SeenJobs(rows).jobs
        usage = Usage.of(jobs, allocations)
        if usage.counted == "hosts":
            return None
        series, busy, last = StepSeries(), 0.0, 0.0
        for time, change in sorted(usage.changes(jobs)):
            if busy > 0:
                series.add(last, time, busy)
            busy, last = busy + change, time
        return cls(usage, usage.area(jobs), usage.work(jobs), series)
