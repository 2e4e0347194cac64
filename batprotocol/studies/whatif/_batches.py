"""The jobs of a run of the whole log, cut into windows after the simulation: batch means.

All alternatives simulate the whole log once. So each window begins with the running jobs, the queue and the usage that
the alternative itself has at that moment, and a backlog is carried along. A window has a sum and a count for each
metric, such as the seconds that its jobs waited, and the number of its jobs: the sums over the sums are the metric of
the whole log, however it is cut.

A job belongs to the window in which it came in the log, by any alternative. It waits from the moment at which it could
have started: after its begin, and after the jobs that it waits for.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from batprotocol._util.distributions import percentile
from batprotocol.errors import InputError
from batprotocol.results.times import HostUse, JobTimes, Resource, RunRows, whole_jobs
from batprotocol.simulator import METRICS, JobRow, Metric, Workload, bounded_slowdown
from batprotocol.workloads.requests import Allocated, AttemptReport
from batprotocol.workloads.requests.notation import Dependency, parse_dependency

FROM_SUBMISSION: Final = Metric(
    "mean_time_from_submission",
    "mean time from submission to start",
    "The mean time from the submission of a job to its start, also while it was held, or waited for its begin or for "
    "other jobs. The waiting time does not include these.",
    "s",
    "",
    "less",
    "waiting.mean",
)
"""The metric that counts from submissions. It is in a report only if it differs from the waiting time."""
_P95: Final = 0.95
_BUSY: Final = "utilisation"
_HELD: Final[Mapping[str, Resource]] = {"memory_utilisation": "memory", "gpu_utilisation": "gpu"}
_JOULES: Final = "consumed_joules"

Parts = Sequence[tuple[float, float]]
"""A numerator and a denominator for each window."""


class Facts(NamedTuple):
    """The data of the log on a job that could not start when it was submitted.

    Attributes:
        held: the seconds from its submission until it comes in the simulation.
        begin: the moment before which it does not start, in seconds; 0 if there is none.
        dependency: the jobs that it waits for, or None.
    """

    held: float = 0.0
    begin: float = 0.0
    dependency: Dependency | None = None


class _Recorded(msgspec.Struct, gc=False):
    held: float = 0.0


class _TimesOfJob(msgspec.Struct, gc=False):
    recorded: _Recorded | None = None
    begin: Any = None
    dependency: Any = None


def metric_of(name: str) -> Metric:
    """The metric of a report that has this name."""
    return FROM_SUBMISSION if name == FROM_SUBMISSION.name else METRICS[name]


def facts_of(workload: Workload) -> Mapping[str, Facts]:
    """The jobs that could not start when they were submitted, by their full names."""
    found = {}
    for place in range(len(workload)):
        job = workload.record(place)
        text = job.extra_data or ""
        if '"held"' in text or '"begin"' in text or '"dependency"' in text:
            facts = _facts(text)
            if facts != Facts():
                found[f"{workload.name}!{job.id}"] = facts
    return found


def _facts(text: str) -> Facts:
    try:
        extra = msgspec.json.decode(text, type=_TimesOfJob)
    except (msgspec.DecodeError, RecursionError):
        return Facts()
    begin = float(extra.begin) if isinstance(extra.begin, int | float) and math.isfinite(extra.begin) else 0.0
    try:
        dependency = parse_dependency(extra.dependency) if extra.dependency else None
    except InputError:
        dependency = None
    return Facts(extra.recorded.held if extra.recorded else 0.0, begin, dependency)


class WindowRun(Protocol):
    """A run of a log, as far as windows need it: see `Row`."""

    @property
    def hosts(self) -> int:
        """The number of computation hosts."""

    @property
    def metrics(self) -> Mapping[str, float]:
        """Its metrics over the part of the log that counts."""

    def jobs(self) -> Iterable[JobRow]:
        """The rows of its jobs."""

    def attempts(self) -> Sequence[AttemptReport]:
        """The attempts of jobs that were interrupted."""

    def allocations(self) -> Sequence[Allocated]:
        """The amounts that jobs took of shared hosts."""

    def energy_over_time(self) -> Sequence[tuple[float, float]] | None:
        """The joules of all hosts until some times, or None."""


class RunJob(NamedTuple):
    """A job of a run.

    Attributes:
        came: when it came, in seconds of the log.
        name: its full name.
        waited: the seconds that it waited since it could have started.
        since_submission: the seconds from its submission to its start.
        slowdown: its bounded slowdown.
        work: its host-seconds.
    """

    came: float
    name: str
    waited: float
    since_submission: float
    slowdown: float
    work: float


class RunOfLog:
    """A run of the whole log.

    Args:
        row: the run.
        factor: its factor of arrivals: times of the log are divided by it.
        facts: the jobs that could not start when they were submitted.

    Attributes:
        jobs: the jobs that ran, in the order in which they came.
    """

    def __init__(self, row: WindowRun, factor: float, facts: Mapping[str, Facts]) -> None:
        seen = RunRows(row.jobs())
        attempts = row.attempts()
        jobs = seen.jobs
        if seen.runs_again or attempts:
            whole = whole_jobs(seen, {each.job_id: each.first_id for each in attempts})
            jobs = [each.times({}) for each in whole if each.attempts]
        usage = HostUse.of(seen.jobs, row.allocations())
        self._factor, self._hosts = factor, row.hosts
        self._busy = _areas(usage.changes(seen.jobs))
        self._held = {
            metric: _areas(usage.changes_of(resource, seen.jobs))
            for metric, resource in _HELD.items()
            if metric in row.metrics
        }
        self._energy = row.energy_over_time() or [] if _JOULES in row.metrics else []
        ends = {job.name: job for job in jobs} if any(each.dependency for each in facts.values()) else {}
        self.jobs = sorted(_job(each, factor, facts.get(each.name), ends, usage.hosts(each)) for each in jobs)
        self._times = [job.came for job in self.jobs]
        self._until: dict[str, list[float]] = {}
        self._sorted: dict[tuple[int, int], list[float]] = {}
        self._percentiles: dict[tuple[int, ...], tuple[float, list[float], list[float | None]]] = {}

    def parts(self, metric: str, edges: Sequence[float]) -> Parts:
        """The sum and the count of a metric in each window.

        Args:
            metric: its name; not that of a percentile.
            edges: the ends of the windows, in seconds of the log.
        """
        if metric == _BUSY:
            areas = self._at(self._busy, edges)
            lengths = [(after - before) / self._factor * self._hosts for before, after in pairwise(edges)]
            return [
                (max(after - before, 0.0), each) for (before, after), each in zip(pairwise(areas), lengths, strict=True)
            ]
        if metric in _HELD:
            areas = self._at(self._held.get(metric, ()), edges)
            lengths = [(after - before) / self._factor for before, after in pairwise(edges)]
            return [(after - before, each) for (before, after), each in zip(pairwise(areas), lengths, strict=True)]
        if metric == _JOULES:
            areas = self._at(self._energy, edges)
            return [(after - before, 1 / (len(edges) - 1)) for before, after in pairwise(areas)]
        return self._sums(_FIELDS[metric], edges)

    def windows(self, edges: Sequence[float]) -> list[list[RunJob]]:
        """The jobs of each window."""
        return [self.jobs[first:last] for first, last in pairwise(self._places(edges))]

    def loads(self, edges: Sequence[float]) -> Parts:
        """The host-seconds of the jobs of each window, and those that its hosts have."""
        lengths = [(after - before) / self._factor * self._hosts for before, after in pairwise(edges)]
        return [(work, length) for (work, _), length in zip(self._sums("work", edges), lengths, strict=True)]

    def percentiles(self, edges: Sequence[float]) -> tuple[float, list[float], list[float | None]]:
        """The 95th percentile of waiting times: of all jobs, without the jobs of each window, and of these alone."""
        places = tuple(self._places(edges))
        if places not in self._percentiles:
            span = places[0], places[-1]
            if span not in self._sorted:
                self._sorted[span] = self._waits(*span)
            waits, own = self._sorted[span], [self._waits(*each) for each in pairwise(places)]
            without = [_without(waits, each) for each in own]
            alone = [percentile(each, _P95) if each else None for each in own]
            self._percentiles[places] = percentile(waits, _P95), without, alone
        return self._percentiles[places]

    def _waits(self, first: int, last: int) -> list[float]:
        """The waiting times of the jobs from one to another, in ascending order."""
        return sorted(job.waited for job in self.jobs[first:last])

    def _places(self, edges: Sequence[float]) -> list[int]:
        return [bisect_left(self._times, round(edge, _DECIMALS)) for edge in edges]

    def _sums(self, field: str, edges: Sequence[float]) -> Parts:
        """The sum of a field over the jobs of each window, and their number."""
        if field not in self._until:
            self._until[field] = list(accumulate((getattr(job, field) for job in self.jobs), initial=0.0))
        until = self._until[field]
        return [(until[last] - until[first], last - first) for first, last in pairwise(self._places(edges))]

    def _at(self, areas: Sequence[tuple[float, float]], edges: Sequence[float]) -> list[float]:
        """The values of a function that grows evenly between its points, at these times of the log."""
        return [_value(areas, edge / self._factor) for edge in edges]


_FIELDS: Final = {
    "mean_waiting_time": "waited",
    FROM_SUBMISSION.name: "since_submission",
    "mean_bounded_slowdown": "slowdown",
}
_DECIMALS: Final = 5


def _job(job: JobTimes, factor: float, facts: Facts | None, ends: Mapping[str, JobTimes], hosts: float) -> RunJob:
    """A job, with the time that it waited since it could have started."""
    late, held = 0.0, 0.0
    if facts is not None:
        ready = max(job.submission, facts.begin, _awaited(job, facts.dependency, ends))
        late, held = min(max(ready - job.submission, 0.0), job.start - job.submission), facts.held
    return RunJob(
        came=round(job.submission * factor, _DECIMALS),
        name=job.name,
        waited=job.waiting - late,
        since_submission=job.waiting + held,
        slowdown=bounded_slowdown(job.turnaround - late, job.runtime),
        work=hosts * job.runtime,
    )


def _awaited(job: JobTimes, dependency: Dependency | None, ends: Mapping[str, JobTimes]) -> float:
    """The time at which the jobs that a job waits for let it start."""
    if dependency is None:
        return 0.0
    workload = job.name.partition("!")[0]
    times = []
    for each in dependency.conditions:
        other = ends.get(f"{workload}!{each.job}")
        if other is not None:
            times.append(other.start + each.delay if each.kind == "after" else other.finish)
    if not times:
        return 0.0
    return max(times) if dependency.needs_all else min(times)


def _areas(changes: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Times, and the host-seconds in use until then."""
    found: list[tuple[float, float]] = [(0.0, 0.0)]
    busy = area = last = 0.0
    for time, change in sorted(changes):
        if time > last:
            area += busy * (time - last)
            found.append((time, area))
            last = time
        busy += change
    return found


def _value(points: Sequence[tuple[float, float]], time: float) -> float:
    place = bisect_left(points, (time, -math.inf))
    if place == 0 or place == len(points):
        return points[min(place, len(points) - 1)][1] if points else 0.0
    (before, low), (after, high) = points[place - 1 : place + 1]
    return low + (high - low) * (time - before) / (after - before) if after > before else high


def _without(ordered: Sequence[float], left_out: Sequence[float]) -> float:
    """The percentile of some numbers without others of them; both are in ascending order."""
    count = len(ordered) - len(left_out)
    if count < 1:
        return ordered[0] if ordered else math.nan
    target = _P95 * (count - 1)
    low = math.floor(target)
    below, above = (_nth(ordered, left_out, min(place, count - 1)) for place in (low, low + 1))
    return below + (above - below) * (target - low)


def _nth(ordered: Sequence[float], left_out: Sequence[float], place: int) -> float:
    """The number at a place of those that are not left out: its place among all, found by halving."""
    first, last = place, place + len(left_out)
    while first < last:
        middle = (first + last) // 2
        value = ordered[middle]
        kept = _until(ordered, value) - _until(left_out, value)
        if kept > place:
            last = middle
        else:
            first = middle + 1
    return ordered[first]


def _until(ordered: Sequence[float], value: float) -> int:
    """How many numbers are at most this."""
    return bisect_left(ordered, math.nextafter(value, math.inf))
