"""When jobs waited and ran, what they used of the machine, and when hosts were down: the numbers below all metrics.

Rows are joined where a job ran several times, and cut to the measured time. `HostUse` is the one definition of use for
utilisation, offered load and loss of capacity: a job uses the hosts that it has. A job that shares hosts uses the share
of their cores that it takes. If the cores are not known, hosts with jobs are in use as a whole, and a host that several
jobs have counts once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from batprotocol.errors import InputError
from batprotocol.model import FinalJobState
from batprotocol.model.hosts import parse_hosts
from batprotocol.results.arithmetic import SHORTEST, StepSeries
from batprotocol.results.observers import JobRow
from batprotocol.workloads.events import ExternalEventList
from batprotocol.workloads.host_events import HostChange, HostEvent, HostStates, Window, read_host_event
from batprotocol.workloads.requests import Allocated, AttemptReport
from batprotocol.workloads.requests.usage import RERUN_WORKLOAD, busy_hosts, share_hosts, submitted_id

__all__ = [
    "COUNTED",
    "RESOURCES",
    "Counted",
    "HostDowntime",
    "HostUse",
    "JobTimes",
    "MeasuredTime",
    "Resource",
    "RunRows",
    "SharedUse",
    "TimedHostEvent",
    "WholeJob",
    "host_downtime",
    "host_events_of",
    "joined_rows",
    "overlap",
    "share_of_time",
    "stays_of",
    "use_of_resources",
    "whole_jobs",
]


def overlap(first: float, last: float, begin: float, end: float) -> float:
    """The seconds that an interval has in common with another one."""
    return max(min(last, end) - max(first, begin), 0.0)


class JobTimes(NamedTuple):
    """The data of a job that ran, for metrics.

    Args:
        submission: its submission time, in seconds.
        start: its starting time, in seconds.
        finish: the time of its end, in seconds.
        hosts: the number of its hosts.
        name: its full name.
        paused: seconds between its start and its end in which it did not run, because it waited to run again.
        repeated: seconds that it ran in vain: it did this work again.
        joules: the energy of its hosts while it ran; None if it is not known, or if it ran several times.
        allocated: its hosts, as in jobs.csv; "" if it ran several times.
    """

    submission: float
    start: float
    finish: float
    hosts: int
    name: str
    paused: float = 0.0
    repeated: float = 0.0
    joules: float | None = None
    allocated: str = ""

    @classmethod
    def of(cls, row: JobRow) -> JobTimes | None:
        """The data of a row of jobs.csv; None if the job was rejected."""
        start, finish = row.starting_time, row.finish_time
        if start is None or finish is None:
            return None
        joules = None if row.consumed_energy is None or row.consumed_energy < 0 else float(row.consumed_energy)
        name = f"{row.workload_name}!{row.job_id}"
        return cls(row.submission_time, start, finish, row.host_count, name, 0.0, 0.0, joules, row.allocated_resources)

    @property
    def waiting(self) -> float:
        """Seconds from its submission to its end in which it did not run."""
        return self.start - self.submission + self.paused

    @property
    def turnaround(self) -> float:
        """Seconds from its submission to its end."""
        return self.finish - self.submission

    @property
    def runtime(self) -> float:
        """Seconds that it ran, without the work that it did again."""
        if self.paused or self.repeated:
            return max(self.finish - self.start - self.paused - self.repeated, SHORTEST)
        return self.finish - self.start

    def within(self, begin: float, end: float) -> JobTimes:
        """The part of the job in this interval."""
        if begin <= self.submission and self.finish <= end:
            return self
        submission, start, finish = (min(max(time, begin), end) for time in self[:3])
        return JobTimes(submission, start, finish, self.hosts, self.name, allocated=self.allocated)


class RunRows:
    """The rows of a run, as metrics need them.

    Attributes:
        jobs: each row that ran, in the order of the rows.
        rejected: the submission times and names of the others.
        killed: the hosts of each job that was killed, by its full name.
        continued: the jobs that went on from the progress of the job before: they have a profile of their own.
        runs_again: whether some job ran again, so that several rows are one job.
    """

    def __init__(self, rows: Iterable[JobRow]) -> None:
        self.jobs: list[JobTimes] = []
        self.rejected: list[tuple[float, str]] = []
        self.killed: dict[str, str] = {}
        self.continued: set[str] = set()
        self.runs_again = False
        for row in rows:
            job = JobTimes.of(row)
            if job is None:
                self.rejected.append((row.submission_time, f"{row.workload_name}!{row.job_id}"))
            else:
                self.jobs.append(job)
                if row.final_state is FinalJobState.COMPLETED_KILLED:
                    self.killed[job.name] = row.allocated_resources
            if row.workload_name == RERUN_WORKLOAD:
                name = f"{RERUN_WORKLOAD}!{row.job_id}"
                self.runs_again |= submitted_id(name) is not None
                if row.profile == name:
                    self.continued.add(name)


class WholeJob(NamedTuple):
    """A job with all its attempts to run.

    Attributes:
        name: the name under which it was submitted.
        submission: when it was submitted first, in seconds.
        attempts: the times that it ran, in order; none: it was rejected.
    """

    name: str
    submission: float
    attempts: Sequence[JobTimes]

    def times(self, repeated: Mapping[str, float]) -> JobTimes:
        """Its data: from its first submission to its last end.

        Args:
            repeated: the seconds of work of each attempt that a later one did again, by its name.
        """
        first, last = self.attempts[0], self.attempts[-1]
        if len(self.attempts) == 1 and first.submission == self.submission and first.name == self.name:
            return first
        ran = math.fsum(each.finish - each.start for each in self.attempts)
        paused = max(last.finish - first.start - ran, 0.0) if len(self.attempts) > 1 else 0.0
        again = math.fsum(repeated.get(each.name, 0.0) for each in self.attempts[:-1])
        return JobTimes(self.submission, first.start, last.finish, last.hosts, self.name, paused, again)


def whole_jobs(seen: RunRows, first_ids: Mapping[str, str]) -> list[WholeJob]:
    """The jobs of a run, in the order of their first rows: rows of a job that ran several times are one.

    Args:
        seen: the rows.
        first_ids: the name under which a job was submitted first, by its own name, where that is known; other jobs are
            joined by their ids alone.
    """
    submitted = {name: time for time, name in seen.rejected}
    submitted.update((job.name, job.submission) for job in seen.jobs)
    found: dict[str, list[tuple[int, str]]] = {}
    flat = {name.replace("!", "-"): name for name in reversed(submitted) if submitted_id(name) is None}
    ran = {job.name: job for job in seen.jobs}
    for name in submitted:
        rerun = submitted_id(name)
        first = first_ids.get(name)
        if first is None:
            first = name if rerun is None else flat.get(rerun[0], rerun[0])
        found.setdefault(first, []).append((0 if rerun is None else rerun[1], name))
    whole = []
    for first, runs in found.items():
        names = [name for _, name in sorted(runs)]
        attempts = [ran[name] for name in names if name in ran]
        submission = min(submitted[name] for name in names)
        whole.append(WholeJob(first if first in submitted else names[0], submission, attempts))
    return whole


def joined_rows(rows: Iterable[JobRow], attempts: Iterable[AttemptReport] = ()) -> list[JobRow]:
    """The rows of a run, where a job that ran several times has one row: from its first start to its last end.

    It has the name and the submission under which it was submitted first, and all else of its last attempt.

    Args:
        rows: the rows.
        attempts: the attempts as the scheduler reports them; empty: jobs are joined by their ids.
    """
    every = list(rows)
    seen = RunRows(every)
    if not seen.runs_again:
        return every
    by_name = {f"{row.workload_name}!{row.job_id}": row for row in every}
    found = []
    for job in whole_jobs(seen, {each.job_id: each.first_id for each in attempts}):
        row = by_name[job.attempts[-1].name if job.attempts else job.name]
        workload, _, name = job.name.partition("!")
        row = replace(row, workload_name=workload, job_id=name, submission_time=job.submission)
        if job.attempts:
            first, last = job.attempts[0], job.attempts[-1]
            row = replace(row, starting_time=first.start, execution_time=last.finish - first.start)
            row = replace(row, execution_time_rest=0.0) if len(job.attempts) > 1 else row
        found.append(row)
    return found


class MeasuredTime(NamedTuple):
    """The measured time; None: from the first submission on, and to the last end."""

    begin: float | None
    end: float | None
    is_window: bool = False
    """Whether both are given as times, and not by the submissions of jobs."""

    @classmethod
    def between(
        cls, jobs: Collection[JobTimes], rejected: Collection[float], warm_up: float, cool_down: float
    ) -> MeasuredTime:
        """The time without these shares of the time of submissions."""
        submissions = [job.submission for job in jobs] + list(rejected) if warm_up or cool_down else []
        if not submissions:
            return cls(None, None)
        first, last = min(submissions), max(submissions)
        span = last - first
        return cls(first + warm_up * span if warm_up else None, last - cool_down * span if cool_down else None)

    def within(self, begin: float | None, end: float | None) -> MeasuredTime:
        """The same time, from `begin` on and until shortly before `end`."""
        last = self.end if end is None else math.nextafter(end, -math.inf)
        return MeasuredTime(self.begin if begin is None else begin, last, begin is not None and end is not None)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return self.begin is None and self.end is None

    def has(self, submission: float) -> bool:
        """Whether a job with this submission time counts."""
        return (self.begin is None or self.begin <= submission) and (self.end is None or submission <= self.end)

    def of(self, jobs: Collection[JobTimes]) -> tuple[float, float]:
        """The beginning and the end of the measured time of these jobs."""
        begin = min((job.submission for job in jobs), default=0.0) if self.begin is None else self.begin
        end = max((job.finish for job in jobs), default=begin) if self.end is None else self.end
        return begin, max(begin, end)


# Use of the machine


Counted: TypeAlias = Literal["hosts", "cores", "shared hosts"]
"""The unit that is counted, a key of `COUNTED`."""

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


# Hosts that were down, drained or in a closed window, by the events of hosts; bad events have no effect


TimedHostEvent: TypeAlias = tuple[float, HostEvent | Window]
"""The time of an event in seconds, and the event."""

_DOWN: Final = 1
_DRAINED: Final = 2
_CLOSED: Final = 4
_UNABLE: Final = _DOWN | _CLOSED
"""The reasons for which a host is away, as bits; and those for which no job can run there."""
"""jobs.csv has six decimals, so that a job may seem to end shortly before the event that ended it."""


def _table(cleared: int, added: int) -> bytes:
    return bytes((state & ~cleared | added) & 0xFF for state in range(256))


_END, _CHANGE, _BEGIN, _LOOK = range(4)
"""The changes at one time come in this order."""
_CHANGES: Final = {
    HostChange.DOWN: _table(_DRAINED, _DOWN),
    HostChange.DRAIN: _table(0, _DRAINED),
    HostChange.UP: _table(_DOWN | _DRAINED, 0),
}
_CLOSES: Final = {_BEGIN: _table(0, _CLOSED), _END: _table(_CLOSED, 0)}
_IS_UNABLE: Final = bytes(bool(state & _UNABLE) for state in range(256))


class HostDowntime(NamedTuple):
    """The hosts that were away.

    Attributes:
        steps: from each time on, the number of hosts that are away, and of those on which no job can run: drained hosts
            are away, and run their jobs to the ends.
        victims: the killed jobs that had a host on which no job could run any more.
    """

    steps: list[tuple[float, int, int]]
    victims: frozenset[str]

    def area(self, begin: float, end: float) -> tuple[float, float]:
        """The host-seconds away between two times, and those in which no job could run."""
        parts = [
            (steps[1], steps[2], min(until, end) - max(steps[0], begin))
            for steps, (until, _, _) in pairwise([*self.steps, (math.inf, 0, 0)])
            if steps[0] < end and until > begin
        ]
        return math.fsum(away * time for away, _, time in parts), math.fsum(unable * time for _, unable, time in parts)

    def complete(self, begin: float, end: float) -> float:
        """The seconds between two times in which no host was away."""
        return (end - begin) - math.fsum(
            min(until, end) - max(since, begin)
            for (since, away, _), (until, _, _) in pairwise([*self.steps, (math.inf, 0, 0)])
            if away and since < end and until > begin
        )


def host_events_of(lists: Iterable[ExternalEventList]) -> Iterator[TimedHostEvent]:
    """The events of hosts among external events, by their times. Those that cannot be read are left out.

    >>> events = ExternalEventList.of([(9.0, "the cooling fails"), (5.0, '{"hosts": "0", "state": "down"}')])
    >>> [(time, event.state.value) for time, event in host_events_of([events])]
    [(5.0, 'down')]
    """
    for timed in sorted((event for each in lists for event in each.events), key=_timestamp):
        try:
            event = read_host_event(timed.data)
        except InputError:
            continue
        if event is not None:
            yield timed.timestamp, event


def _timestamp(event: tuple[float, str, str]) -> float:
    return event[0]


def host_downtime(
    events: Iterable[TimedHostEvent], host_count: int, killed: Mapping[str, tuple[float, str]] | None = None
) -> HostDowntime:
    """The hosts that were away, by events.

    Args:
        events: the events, by their times.
        host_count: the number of hosts.
        killed: the time of the end, and the hosts, of each killed job by its name.
    """
    changes: list[tuple[float, int, int, object]] = []
    known = HostStates(host_count)
    for time, event in events:
        try:
            known.take(time, event)
        except InputError:
            continue
        place = len(changes)
        if isinstance(event, HostEvent):
            changes.append((time, _CHANGE, place, event))
        elif event.is_closed:
            changes += [(event.begin, _BEGIN, place, event), (event.end, _END, place, event)]
    changes += [(end + _ROUNDED, _LOOK, 0, name) for name, (end, _) in (killed or {}).items()] if changes else []
    changes.sort(key=_order)
    states = bytearray(host_count)
    steps: list[tuple[float, int, int]] = [(-math.inf, 0, 0)]
    victims = set()
    for time, kind, _, what in changes:
        if kind == _LOOK:
            assert killed is not None
            assert isinstance(what, str)
            if any(states[host : host + 1].translate(_IS_UNABLE) == b"\1" for host in parse_hosts(killed[what][1])):
                victims.add(what)
            continue
        assert isinstance(what, HostEvent | Window)
        table = _CHANGES[what.state] if isinstance(what, HostEvent) else _CLOSES[kind]
        _, away, unable = steps[-1]
        for first, last in what.hosts.intervals:
            part = states[first : last + 1]
            changed = part.translate(table)
            away += part.count(0) - changed.count(0)
            unable += changed.translate(_IS_UNABLE).count(1) - part.translate(_IS_UNABLE).count(1)
            states[first : last + 1] = changed
        if steps[-1][0] == time:
            steps.pop()
        steps.append((time, away, unable))
    return HostDowntime(steps, frozenset(victims))


def _order(changes: tuple[float, int, int, object]) -> tuple[float, int, int]:
    return changes[:3]
