"""When jobs waited and ran, for metrics: one by one, joined where a job ran several times, and in the measured time.

This module must not know metrics.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from batprotocol.model import FinalJobState
from batprotocol.results.extended import SHORTEST
from batprotocol.results.observing import JobRow
from batprotocol.workloads.requests import Attempt
from batprotocol.workloads.requests.usage import RERUN_WORKLOAD, submitted_id

__all__ = ["JobTimes", "MeasuredTime", "RunRows", "WholeJob", "joined_rows", "overlap", "whole_jobs"]


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


def joined_rows(rows: Iterable[JobRow], attempts: Iterable[Attempt] = ()) -> list[JobRow]:
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
