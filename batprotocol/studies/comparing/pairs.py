"""Two runs, job by job: what differs, where they part, and why."""

from __future__ import annotations

import heapq
import html
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol._util.grids import Grid, GridEntry, as_html, decimals_for, number, signed
from batprotocol.errors import InputError, shown
from batprotocol.model.hosts import parse_hosts
from batprotocol.results.catalogue import OF_RUNS, usual_unit
from batprotocol.results.times import joined_rows
from batprotocol.simulator import (
    OF_FAILURES,
    OF_POWER,
    TAU,
    Electricity,
    JobRow,
    Metric,
    OwnMetric,
    metric_named,
    own_metrics,
)
from batprotocol.studies.comparing.schedules import Schedule

__all__ = [
    "KINDS",
    "TOLERANCE",
    "Cause",
    "Comparison",
    "JobPair",
    "Parting",
    "causes_of",
    "compare",
]


SHOWN: Final = (
    "mean_waiting_time",
    "p95_waiting_time",
    "max_waiting_time",
    "mean_turnaround_time",
    "mean_bounded_slowdown",
    "p95_bounded_slowdown",
    "max_bounded_slowdown",
    "mean_per_processor_bounded_slowdown",
    "utilisation",
    "memory_utilisation",
    "gpu_utilisation",
    "loss_of_capacity",
    "makespan",
    "throughput",
    "fairness",
    "consumed_joules",
    "nb_jobs",
    "nb_rejected",
    *OF_FAILURES,
    *OF_POWER,
)
"""The metrics that are shown by default."""

TOLERANCE: Final = 1e-3
"""The default tolerance in seconds: times that differ only by the duration of Batsim's messages count as equal."""
_EQUAL: Final = 1e-9


class JobPair(msgspec.Struct, frozen=True):
    """A job in both runs.

    Args:
        name: its full name.
        one: its row in the first run, or None if it is not in that run.
        other: its row in the second run, or None.
    """

    name: str
    one: JobRow | None
    other: JobRow | None

    @property
    def gain(self) -> float | None:
        """The number of seconds by which it ended earlier in the second run; None if it did not run in both."""
        if self.one is None or self.other is None:
            return None
        before, after = self.one.turnaround_time, self.other.turnaround_time
        return None if before is None or after is None else before - after


class Parting(msgspec.Struct, frozen=True):
    """The first difference between the schedules of two runs.

    Args:
        time: its time, in seconds.
        pair: the job that differs; of several jobs, the first one by name.
        what: the kind of difference: `start`, `hosts`, `end`, `rejected` (in one run), `absent` (from one run).
    """

    time: float
    pair: JobPair
    what: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The differences between two runs.

    Args:
        names: the names of the two runs.
        metrics: the two values of each metric that a run has; None for a run without it.
        pairs: all jobs, in the order of their submission.
        parting: the first difference; None if the schedules are equal.
        differing: the number of jobs whose schedules differ.
        moved: the number of jobs with different submission times. If there are any, the workloads differ.
        tolerance: the number of seconds by which equal times may differ.
        own: the metrics of the user's own among `metrics`.
        tau: the bound of bounded slowdowns, in seconds.
        currency: the currency of costs; "" if it is unknown.
    """

    names: tuple[str, str]
    metrics: Mapping[str, tuple[float | None, float | None]]
    pairs: tuple[JobPair, ...]
    parting: Parting | None
    differing: int
    moved: int
    tolerance: float
    own: tuple[OwnMetric, ...] = ()
    tau: float = TAU
    currency: str = ""

    @property
    def gained(self) -> int:
        """The number of jobs that ended earlier in the second run."""
        return sum(pair.gain is not None and pair.gain > self.tolerance for pair in self.pairs)

    @property
    def lost(self) -> int:
        """The number of jobs that ended later in the second run."""
        return sum(pair.gain is not None and pair.gain < -self.tolerance for pair in self.pairs)

    def gained_most(self, count: int) -> list[JobPair]:
        """The jobs that ended earlier in the second run. Those that gained most come first."""
        found = [(pair.gain, pair) for pair in self.pairs if pair.gain is not None and pair.gain > self.tolerance]
        return [pair for _, pair in heapq.nlargest(count, found, key=lambda each: each[0])]

    def lost_most(self, count: int) -> list[JobPair]:
        """The jobs that ended later in the second run. Those that lost most come first."""
        found = [(pair.gain, pair) for pair in self.pairs if pair.gain is not None and pair.gain < -self.tolerance]
        return [pair for _, pair in heapq.nsmallest(count, found, key=lambda each: each[0])]

    def metrics_grid(self, metrics: Iterable[str | Metric] | None = None) -> Grid:
        """A table of metrics of both runs, and their differences. Metrics that neither run has are left out.

        Args:
            metrics: their names; None: the default metrics, and the user's own.

        Raises:
            InputError: there is no such metric.
        """
        rows = []
        wanted: Iterable[str | Metric] = [*SHOWN, *self.own] if metrics is None else metrics
        for name in wanted:
            metric = metric_named(name, tau=self.tau, currency=self.currency, own=self.own)
            one, other = self.metrics.get(metric.name, (None, None))
            if one is not None or other is not None:
                metric, divisor = usual_unit(metric, (one, other))
                one, other = (None if value is None else value / divisor for value in (one, other))
                rows.append([GridEntry(metric.label_with_unit), *_change(metric, one, other)])
        return Grid(["", *self.names, "difference", "%"], rows)

    def facts(self) -> list[str]:
        """Sentences on the number of jobs whose schedules differ, and on the first difference."""
        first, second = self.names
        count = len(self.pairs)
        facts = [f"{count:,} jobs, of which {self.differing:,} are scheduled differently"]
        if self.differing:
            facts[0] += f"; {self.gained:,} end earlier in {second}, and {self.lost:,} later"
        rows = ([pair.one for pair in self.pairs], [pair.other for pair in self.pairs])
        for name, run in zip(self.names, rows, strict=True):
            if missing := run.count(None):
                which = "1 job is" if missing == 1 else f"{missing:,} jobs are"
                facts.append(f"{which} not in {name}: the metrics of the two runs are over other jobs")
        if self.moved:
            facts.append(f"{self.moved:,} jobs are submitted at other times: the workloads are not the same")
        if self.parting is None:
            return [*facts, "the schedules are the same"]
        pair = self.parting.pair
        one, other = (_words(row) for row in (pair.one, pair.other))
        time = f"{self.parting.time:,.3f}".rstrip("0").rstrip(".")
        facts.append(f"the first difference is at {time} s: {pair.name} {one} in {first}, and {other} in {second}")
        return facts

    def jobs_grid(self, pairs: Iterable[JobPair], header: str) -> Grid:
        """A table of some jobs: their gains, and their times in each run."""
        rows = []
        for pair in pairs:
            gain = "" if pair.gain is None else signed(-pair.gain, 1)
            rows.append(
                [GridEntry(pair.name), GridEntry(gain), *(GridEntry(_span(row)) for row in (pair.one, pair.other))]
            )
        return Grid([header, "ends later by [s]", *(f"{name} [s]" for name in self.names)], rows)

    def __repr__(self) -> str:
        return f"<Comparison of {' and '.join(self.names)}: {self.facts()[0]}>"

    def _repr_html_(self) -> str:
        parts = [as_html(self.metrics_grid()), *(f"<p>{html.escape(fact)}</p>" for fact in self.facts())]
        for header, pairs in (("gained most", self.gained_most(5)), ("lost most", self.lost_most(5))):
            if pairs:
                parts.append(as_html(self.jobs_grid(pairs, header)))
        return "".join(parts)

    def record(self, count: int) -> dict[str, Any]:
        """All values for other programs, with `count` of the jobs that gained most and that lost most."""
        parting = self.parting
        return {
            "names": list(self.names),
            "metrics": {name: {"one": one, "other": other} for name, (one, other) in self.metrics.items()},
            "jobs": len(self.pairs),
            "differing": self.differing,
            "moved": self.moved,
            "gained": self.gained,
            "lost": self.lost,
            "gained_most": [_pair_record(pair) for pair in self.gained_most(count)],
            "lost_most": [_pair_record(pair) for pair in self.lost_most(count)],
            "parting": None
            if parting is None
            else {"time": parting.time, "what": parting.what, **_pair_record(parting.pair)},
        }


def compare(
    one: Schedule,
    other: Schedule,
    *,
    tau: float = TAU,
    tolerance: float = TOLERANCE,
    metrics: Iterable[OwnMetric | Callable[..., Any] | str] = (),
    electricity: Electricity | None = None,
) -> Comparison:
    """The differences between two runs of the same jobs. A job that ran several times is one job.

    Args:
        one: the first run.
        other: the second run.
        tau: the bound of bounded slowdowns, in seconds, > 0.
        tolerance: times that differ by less are equal, in seconds, >= 0.
        metrics: further metrics of your own, also as functions or by their names (`FILE.py:NAME`).
        electricity: the carbon intensity and the price of the energy of both runs, and the cap; None: they are not
            known.

    Raises:
        InputError: the runs have no common job, an argument is out of its range, a trace is too short, or one of your
            metrics cannot be measured.
    """
    if not 0 <= tolerance < math.inf:
        raise InputError(f"expected a tolerance >= 0, got {shown(tolerance)}")
    ones, others = (
        {f"{job.workload_name}!{job.job_id}": job for job in joined_rows(each.jobs, each.attempts)}
        for each in (one, other)
    )
    if not ones.keys() & others.keys():
        raise InputError(f"{one.name} and {other.name} have no job in common: compare runs of the same workload")
    pairs = [JobPair(name, ones.get(name), others.get(name)) for name in {**ones, **others}]
    pairs.sort(key=lambda pair: (_submission(pair), pair.name))
    partings = [found for pair in pairs if (found := _parting(pair, tolerance)) is not None]
    both = [(pair.one, pair.other) for pair in pairs]
    own = own_metrics(metrics)
    flat, others_flat = (each.metrics(tau, own, electricity).flat() for each in (one, other))
    names = [*OF_RUNS, *(each.name for each in own)]
    return Comparison(
        names=(one.name, other.name),
        metrics={
            name: (flat.get(name), others_flat.get(name)) for name in names if name in flat or name in others_flat
        },
        pairs=tuple(pairs),
        parting=min(partings, key=lambda parting: parting.time, default=None),
        differing=len(partings),
        moved=sum(
            a is not None and b is not None and abs(a.submission_time - b.submission_time) > tolerance for a, b in both
        ),
        tolerance=tolerance,
        own=own,
        tau=tau,
        currency="" if electricity is None else electricity.currency,
    )


def _submission(pair: JobPair) -> float:
    row = pair.one or pair.other
    assert row is not None
    return row.submission_time


def _parting(pair: JobPair, tolerance: float) -> Parting | None:
    """The first difference in the schedules of a job; None if they are equal."""
    one, other = pair.one, pair.other
    if one is None or other is None:
        return Parting(_submission(pair), pair, "absent")
    if one.starting_time is None or other.starting_time is None:
        if one.starting_time is other.starting_time:
            return None
        ran = one if other.starting_time is None else other
        return Parting(ran.submission_time, pair, "rejected")
    began = min(one.starting_time, other.starting_time)
    if abs(one.starting_time - other.starting_time) > tolerance:
        return Parting(began, pair, "start")
    if one.allocated_resources != other.allocated_resources:
        return Parting(began, pair, "hosts")
    ends = [one.finish_time or began, other.finish_time or began]
    return Parting(min(ends), pair, "end") if abs(ends[0] - ends[1]) > tolerance else None


def _change(metric: Metric, one: float | None, other: float | None) -> list[GridEntry]:
    """Two values, the better one in bold, their difference, and its percentage of the first one."""
    decimals = decimals_for([], [each for each in (one, other) if each is not None])
    if one is None or other is None:
        return [GridEntry("-" if each is None else number(each, decimals)) for each in (one, other)] + [
            GridEntry("")
        ] * 2
    difference = other - one
    sign = {"less": 1, "more": -1, None: 0}[metric.better]
    equal = abs(difference) <= _EQUAL * max(abs(one), abs(other))
    better = 0.0 if equal else sign * difference
    share = "" if not one else signed(100 * difference / abs(one), 1)
    values = [GridEntry(number(one, decimals), better > 0), GridEntry(number(other, decimals), better < 0)]
    return [*values, GridEntry(signed(difference, decimals)), GridEntry(share)]


def _words(row: JobRow | None) -> str:
    if row is None:
        return "is missing"
    if row.starting_time is None:
        return "is rejected"
    return f"runs at {_span(row)} s on {row.allocated_resources or 'no hosts'}"


def _span(row: JobRow | None) -> str:
    if row is None or row.starting_time is None or row.finish_time is None:
        return "-" if row is None else "rejected"
    return f"{number(row.starting_time, 1)} - {number(row.finish_time, 1)}"


def _pair_record(pair: JobPair) -> dict[str, Any]:
    def run(row: JobRow | None) -> dict[str, Any] | None:
        if row is None:
            return None
        return {
            "submission_time": row.submission_time,
            "starting_time": row.starting_time,
            "finish_time": row.finish_time,
            "allocated_resources": row.allocated_resources,
            "final_state": row.final_state.name,
        }

    return {"job": pair.name, "gain": pair.gain, "one": run(pair.one), "other": run(pair.other)}


# Why jobs start at other times, or on other hosts, in two schedules of the same jobs.


KINDS: Final[Mapping[str, str]] = {
    "priority": "another job was taken first in one run only",
    "follows": "its hosts run a job that starts at another time itself",
    "node": "it starts on other hosts, and those of the first run were free",
    "limit": "one run ended it, or a job on its hosts, at its time limit",
    "time": "its hosts were free: the scheduler looked for jobs later, or a job on its hosts ended later",
    "reservation": "its hosts were free, and it has a reservation",
    "plan": "its hosts were free, and stayed free for long: for a plan, a reservation or a limit of the scheduler",
}
"""The kinds of causes, with their meanings."""

SOON: Final = 60.0
"""Seconds within which the loops of a scheduler come round again."""


class Cause(NamedTuple):
    """Why a job differs.

    Attributes:
        kind: a key of `KINDS`.
        sentence: what the schedules show, for a line of a report.
    """

    kind: str
    sentence: str


class _RunsOfJob:
    """The jobs of a schedule that ran, by host and time."""

    def __init__(self, jobs: Iterable[JobRow]) -> None:
        self.by_name = {_name(job): job for job in jobs}
        self._hosts = {name: frozenset(parse_hosts(job.allocated_resources)) for name, job in self.by_name.items()}
        on: dict[int, list[tuple[float, float, str]]] = {}
        for name, job in self.by_name.items():
            start, end = job.starting_time, job.finish_time
            if start is not None and end is not None:
                for host in self._hosts[name]:
                    on.setdefault(host, []).append((start, end, name))
        for runs in on.values():
            runs.sort()
        self._on = on
        self._longest = {host: max(end - start for start, end, _ in runs) for host, runs in on.items()}
        self.starts = sorted(
            (job.starting_time, name) for name, job in self.by_name.items() if job.starting_time is not None
        )

    def hosts(self, name: str) -> frozenset[int]:
        """The hosts of a job."""
        return self._hosts[name]

    def at(self, time: float, hosts: Iterable[int]) -> dict[str, int]:
        """The jobs that run on hosts at a time, each with one of these hosts."""
        found: dict[str, int] = {}
        for host in sorted(hosts):
            runs = self._on.get(host, ())
            place = bisect_right(runs, (time, float("inf"), ""))
            while place:
                place -= 1
                start, end, name = runs[place]
                if start < time - self._longest[host]:
                    break
                if end > time:
                    found.setdefault(name, host)
        return found

    def between(self, begin: float, end: float) -> list[str]:
        """The jobs that start after one time and before another."""
        first, last = (bisect_right(self.starts, (time, "")) for time in (begin, end))
        return [name for _, name in self.starts[first:last]]


def causes_of(one: Schedule, other: Schedule, *, tolerance: float) -> dict[str, Cause]:
    """For each job that starts at another time or on other hosts, or ends otherwise, the cause.

    Args:
        one: the first schedule.
        other: the second one.
        tolerance: the number of seconds by which equal times may differ.
    """
    mine, theirs = _RunsOfJob(one.jobs), _RunsOfJob(other.jobs)
    asked = {**other.asked, **one.asked}
    finder = _Finder(mine, theirs, tolerance, asked)
    found = {name: finder.cause(name) for name in mine.by_name if name in theirs.by_name}
    return {name: _with_starters(cause, one, other, name) for name, cause in found.items() if cause is not None}


def _with_starters(cause: Cause, one: Schedule, other: Schedule, name: str) -> Cause:
    """A cause that also says which parts of the schedulers started the job, if they differ."""
    first, second = one.by.get(name), other.by.get(name)
    if first is None or second is None or first == second:
        return cause
    return cause._replace(
        sentence=f"{cause.sentence}; {first} starts it in the first run, and {second} in the second one"
    )


class _Finder:
    """Finds causes.

    Args:
        one: the jobs of the first run.
        other: the jobs of the second run.
        tolerance: the seconds by which equal times may differ.
        asked: what jobs asked for.
    """

    def __init__(
        self, one: _RunsOfJob, other: _RunsOfJob, tolerance: float, asked: Mapping[str, Mapping[str, object]]
    ) -> None:
        self._one, self._other, self._tolerance, self._asked = one, other, tolerance, asked

    def cause(self, name: str) -> Cause | None:
        """The cause of a job; None if it does not differ."""
        first, second = self._one.by_name[name].starting_time, self._other.by_name[name].starting_time
        if first is None or second is None:
            return None
        if abs(first - second) > self._tolerance:
            early = self._one if first < second else self._other
            late = self._other if first < second else self._one
            return self._later(name, min(first, second), max(first, second), early, late)
        if self._one.hosts(name) and self._other.hosts(name) and self._one.hosts(name) != self._other.hosts(name):
            return self._elsewhere(name, first, second)
        return self._limit(name)

    def _limit(self, name: str) -> Cause | None:
        one, other = self._one.by_name[name], self._other.by_name[name]
        if one.final_state is other.final_state or one.requested_time is None:
            return None
        if "WALLTIME" not in one.final_state.name + other.final_state.name:
            return None
        return Cause("limit", "one run ended it at its time limit")

    def _elsewhere(self, name: str, first: float, second: float) -> Cause:
        missing = self._one.hosts(name) - self._other.hosts(name)
        taken = self._blockers(missing, first, second, self._one, self._other)
        if taken:
            job, host = taken
            return Cause("follows", f"host {host} has job {_short(job)} in the second run")
        return Cause("node", "the hosts of the first run are as free in the second one")

    def _blockers(
        self, hosts: Iterable[int], time: float, there: float, early: _RunsOfJob, late: _RunsOfJob
    ) -> tuple[str, int] | None:
        """A job that has one of these hosts in the run where the job is later, and not in the other one."""
        before = early.at(time, hosts)
        for job, host in late.at(min(there, time + self._tolerance), hosts).items():
            if job not in before:
                return job, host
        return None

    def _later(self, name: str, begin: float, end: float, early: _RunsOfJob, late: _RunsOfJob) -> Cause:
        """The cause of a job that starts at `begin` in one run, and at `end` in the other."""
        which = "second" if late is self._other else "first"
        taken = self._blockers(early.hosts(name), begin, begin + self._tolerance, early, late)
        if taken is not None:
            job, host = taken
            return self._blocked(
                begin, job, host, (early, late), f"host {host} has job {_short(job)} in the {which} run"
            )
        for job in late.between(begin - self._tolerance, end):
            there = early.by_name.get(job)
            if job != name and there is not None and (there.starting_time or 0.0) > begin and self._is_near(name, job):
                return Cause("priority", f"job {_short(job)} starts before it in the {which} run only")
        if self._asked.get(name, {}).get("reservation"):
            return Cause("reservation", f"its hosts are as free in the {which} run, and it has a reservation")
        if end - begin <= SOON:
            return Cause("time", f"its hosts are as free in the {which} run, which looks for jobs later")
        return Cause("plan", f"its hosts are as free in the {which} run, and it does not start there")

    def _blocked(self, begin: float, job: str, host: int, runs: tuple[_RunsOfJob, _RunsOfJob], sentence: str) -> Cause:
        early, late = runs
        there = early.by_name.get(job)
        if there is None or there.starting_time is None:
            return Cause("follows", f"{sentence} only")
        if there.starting_time >= begin:
            return Cause("priority", f"{sentence}, and later in the other one")
        if host not in early.hosts(job):
            return Cause("follows", f"{sentence}, which is on other hosts in the other one")
        if "WALLTIME" in there.final_state.name + late.by_name[job].final_state.name:
            return Cause("limit", f"{sentence}, until a later check of its time limit")
        if self._parts(job):
            return Cause("follows", f"{sentence}, which starts later there")
        return Cause("time", f"{sentence}, which ends later there")

    def _parts(self, name: str) -> bool:
        one, other = self._one.by_name.get(name), self._other.by_name.get(name)
        if one is None or other is None or one.starting_time is None or other.starting_time is None:
            return True
        return abs(one.starting_time - other.starting_time) > self._tolerance

    def _is_near(self, name: str, job: str) -> bool:
        """Whether two jobs compete, as far as that is known: for the hosts of a partition."""
        mine, theirs = (self._asked.get(each, {}).get("partition") for each in (name, job))
        return mine is None or theirs is None or mine == theirs


def _name(job: JobRow) -> str:
    return f"{job.workload_name}!{job.job_id}"


def _short(name: str) -> str:
    return name.rpartition("!")[2]
