"""Why jobs start at other times, or on other hosts, in two schedules of the same jobs, as far as the schedules show it.

The module compares what ran at the moment when a job could have started. It must not know policies, nor where schedules
come from.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from batprotocol.model.hosts import parse_hosts
from batprotocol.simulator import JobRow
from batprotocol.studies.comparing.schedules import Schedule

__all__ = ["KINDS", "Cause", "causes_of"]

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


class _Runs:
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
    mine, theirs = _Runs(one.jobs), _Runs(other.jobs)
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

    def __init__(self, one: _Runs, other: _Runs, tolerance: float, asked: Mapping[str, Mapping[str, object]]) -> None:
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
        self, hosts: Iterable[int], time: float, there: float, early: _Runs, late: _Runs
    ) -> tuple[str, int] | None:
        """A job that has one of these hosts in the run where the job is later, and not in the other one."""
        before = early.at(time, hosts)
        for job, host in late.at(min(there, time + self._tolerance), hosts).items():
            if job not in before:
                return job, host
        return None

    def _later(self, name: str, begin: float, end: float, early: _Runs, late: _Runs) -> Cause:
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

    def _blocked(self, begin: float, job: str, host: int, runs: tuple[_Runs, _Runs], sentence: str) -> Cause:
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
