"""The description of a workload: jobs, users, sizes, times, estimates, its offered load by week, and what looks wrong.

The jobs pass once, so a workload may be larger than memory; numbers of theirs stay.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from typing import Any, Final

import msgspec

from batprotocol._util.distributions import Distribution
from batprotocol.errors import InputError, shown
from batprotocol.model import DelayProfile
from batprotocol.workloads.changes import WEEK
from batprotocol.workloads.columns import StoredJob
from batprotocol.workloads.workload import UNSTEADY, Workload

__all__ = ["WorkloadInfo", "WorkloadRemark", "WorkloadShare", "WorkloadWeek", "workload_info"]

_EXAMPLES: Final = 5
_USERS: Final = 5
_EXACT: Final = 1.0
"""Seconds: an estimate that differs by less is exact. Logs have whole seconds."""
_LONG_GAP: Final = 2 * WEEK
_MANY_EQUAL: Final = 1_000
_MOST_OF_IT: Final = 0.5
_LATE: Final = 1e-3


class WorkloadWeek(msgspec.Struct, frozen=True):
    """A week of a workload, counted from the first submission on.

    Attributes:
        begin: its begin, in seconds.
        seconds: its length: a week, or less for the last one, which ends with the last submission.
        jobs: the number of jobs that were submitted in it.
        work: the hosts x run times of these jobs, in seconds.
        offered_load: the work, relative to the capacity of the hosts in the week; None if it is not known.
    """

    begin: float
    seconds: float
    jobs: int
    work: float
    offered_load: float | None


class WorkloadShare(msgspec.Struct, frozen=True):
    """The part of a user or partition.

    Attributes:
        name: the user or partition.
        jobs: the number of its jobs.
        job_share: their share of all jobs, in [0, 1].
        work_share: the share of their work, in [0, 1]; None if it is not known.
    """

    name: str
    jobs: int
    job_share: float
    work_share: float | None


class WorkloadRemark(msgspec.Struct, frozen=True):
    """A property that looks wrong, or that changes how results are read.

    Attributes:
        kind: a word for programs, such as `too-large`.
        text: a sentence.
        count: the number of jobs, weeks or gaps that it is about.
        jobs: the names of the first such jobs inside the workload.
    """

    kind: str
    text: str
    count: int = 1
    jobs: tuple[str, ...] = ()


class WorkloadInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a workload. Times are in seconds. A value that is not known is None.

    Attributes:
        jobs: the number of jobs.
        left_out: the number of jobs of the file that cannot run.
        hosts: the number of hosts that loads are relative to.
        begin: the first submission; None without jobs.
        end: the last submission.
        users: the number of users; None if no job has one.
        heaviest: the users with the largest shares of the work (or of the jobs, if the work is not known), at most 5.
        partitions: the partitions, the largest first.
        sizes: the hosts that jobs request.
        runtimes: the run times that are known before the jobs run.
        unknown_runtimes: the number of jobs whose run time is not known.
        walltimes: the walltimes of the jobs that have one.
        without_walltime: the number of jobs without a walltime.
        exact_walltimes: the number of walltimes that differ from the run time by less than a second.
        accuracy: run time / walltime, over the jobs that have both; at most 1 unless walltimes end jobs.
        gaps: the time between two submissions.
        waits: the time from the submission to the recorded start, over the jobs with a recording.
        offered_load: see `batprotocol.simulator.offered_load`.
        weeks: the weeks in which jobs were submitted.
        remarks: what looks wrong.
    """

    jobs: int
    left_out: int
    hosts: int
    begin: float | None
    end: float | None
    users: int | None
    heaviest: tuple[WorkloadShare, ...]
    partitions: tuple[WorkloadShare, ...]
    sizes: Distribution | None
    runtimes: Distribution | None
    unknown_runtimes: int
    walltimes: Distribution | None
    without_walltime: int
    exact_walltimes: int
    accuracy: Distribution | None
    gaps: Distribution | None
    waits: Distribution | None
    offered_load: float | None
    weeks: tuple[WorkloadWeek, ...]
    remarks: tuple[WorkloadRemark, ...]


def workload_info(workload: Workload, hosts: int | None = None) -> WorkloadInfo:
    """Describe a workload.

    Args:
        workload: the workload.
        hosts: the number of computation hosts, > 0; None: as many as the workload is made for.

    Raises:
        InputError: the number of hosts is not > 0.

    >>> from batprotocol.simulator import lublin_workload
    >>> info = workload_info(lublin_workload(64, 1000, offered_load=0.7))
    >>> info.jobs, round(info.offered_load, 3), info.without_walltime
    (1000, 0.7, 0)
    """
    machine = workload.resource_count if hosts is None else hosts
    if machine <= 0 and (len(workload) or hosts is not None):
        raise InputError(f"expected a number of hosts > 0, got {shown(machine)}")
    return _JobCounts(workload, machine).info()


class _KnownExtraData(msgspec.Struct, gc=False):
    """The keys of extra data that a description uses, of any kind."""

    user: Any = None
    partition: Any = None
    recorded: Any = None
    cores: Any = None
    memory: Any = None
    gres: Any = None
    tasks: Any = None


_NOTHING: Final = _KnownExtraData()
_decode: Final = msgspec.json.Decoder(_KnownExtraData).decode


def _extra(text: str | None) -> _KnownExtraData:
    if text is None:
        return _NOTHING
    try:
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _NOTHING


class _Totals:
    """The jobs that a remark is about: their number, and the first ones."""

    def __init__(self) -> None:
        self.count = 0
        self.jobs: list[str] = []

    def add(self, job_id: str) -> None:
        self.count += 1
        if len(self.jobs) < _EXAMPLES:
            self.jobs.append(job_id)


class _GroupTotals:
    """The jobs of users or partitions, by name: their number and their work."""

    def __init__(self) -> None:
        self.jobs: Counter[str] = Counter()
        self.work: dict[str, float] = {}

    def add(self, name: Any, work: float) -> None:
        if isinstance(name, list):
            name = ",".join(map(str, name))
        if isinstance(name, str | int) and not isinstance(name, bool):
            self.jobs[str(name)] += 1
            self.work[str(name)] = self.work.get(str(name), 0.0) + work

    def shares(self, jobs: int, work: float | None) -> tuple[WorkloadShare, ...]:
        """The shares, the largest first."""
        found = [
            WorkloadShare(name, count, count / jobs, self.work[name] / work if work else None)
            for name, count in self.jobs.items()
        ]
        found.sort(key=lambda share: (-(share.work_share or 0.0), -share.jobs, share.name))
        return tuple(found)


class _JobCounts:
    """The numbers of a workload, job by job."""

    def __init__(self, workload: Workload, hosts: int) -> None:
        self._workload, self._hosts = workload, hosts
        self._sizes, self._runtimes, self._walltimes = array("d"), array("d"), array("d")
        self._accuracy, self._gaps, self._waits = array("d"), array("d"), array("d")
        self._work = array("d")
        self._unknown = self._exact = self._partial = 0
        self._users, self._partitions = _GroupTotals(), _GroupTotals()
        self._wrong: dict[str, _Totals] = {}
        self._equal: Counter[tuple[Any, ...]] = Counter()
        self._most_equal = 0
        count = len(workload)
        self._begin = workload.record(0).time if count else 0.0
        self._span = workload.record(count - 1).time - self._begin if count else 0.0
        self._weeks: dict[int, tuple[list[float], list[int]]] = {}
        before: float | None = None
        for number in range(count):
            job = workload.record(number)
            if before is not None:
                self._gap(job, before)
            before = job.time
            self._count(job)
        self._end_of_time()

    def _found(self, kind: str, job_id: str) -> None:
        self._wrong.setdefault(kind, _Totals()).add(job_id)

    def _gap(self, job: StoredJob, before: float) -> None:
        gap = job.time - before
        self._gaps.append(gap)
        if gap:
            self._end_of_time()
        if gap >= _LONG_GAP:
            self._found("long-gaps", job.id)

    def _end_of_time(self) -> None:
        """No more jobs are submitted at this time."""
        if self._equal:
            self._most_equal = max(self._most_equal, max(self._equal.values()))
            self._equal.clear()

    def _count(self, job: StoredJob) -> None:
        extra = _extra(job.extra_data)
        runtime = self._runtime(job)
        lasts = runtime if runtime is None or job.walltime is None else min(runtime, job.walltime)
        work = 0.0 if lasts is None else job.resources * lasts
        self._sizes.append(job.resources)
        self._times(job, runtime)
        self._work.append(work)
        works, jobs = self._weeks.setdefault(self._week_of(job.time), ([], [0]))
        works.append(work)
        jobs[0] += 1
        self._users.add(extra.user, work)
        self._partitions.add(extra.partition, work)
        if job.resources > self._hosts:
            self._found("too-large", job.id)
        elif not job.resources:
            self._found("no-hosts", job.id)
        if extra.cores or extra.memory or extra.gres or extra.tasks:
            self._partial += 1
        self._wait(job, extra.recorded)
        key = (extra.user, job.resources, job.profile, job.walltime)
        self._equal[key if isinstance(extra.user, str | int | None) else key[1:]] += 1

    def _runtime(self, job: StoredJob) -> float | None:
        profile = self._workload.profiles[f"{self._workload.name}!{job.profile}"].profile
        return profile.delay if isinstance(profile, DelayProfile) and profile.delay > 0 else None

    def _times(self, job: StoredJob, runtime: float | None) -> None:
        if job.walltime is not None:
            self._walltimes.append(job.walltime)
        if runtime is None:
            self._unknown += 1
            return
        self._runtimes.append(runtime)
        if job.walltime is None:
            return
        self._accuracy.append(runtime / job.walltime)
        if abs(runtime - job.walltime) < _EXACT:
            self._exact += 1
        elif runtime > job.walltime:
            self._found("over-walltime", job.id)

    def _wait(self, job: StoredJob, recorded: Any) -> None:
        start = recorded.get("start") if isinstance(recorded, dict) else None
        if isinstance(start, int | float) and not isinstance(start, bool) and abs(start) <= 2**53:
            self._waits.append(start - job.time)
            if start < job.time - _LATE:
                self._found("negative-waits", job.id)

    def _week_of(self, time: float) -> int:
        """The number of a week. The last submission belongs to the week that it ends."""
        last = max(math.ceil(self._span / WEEK) - 1, 0)
        return min(math.floor((time - self._begin) / WEEK), last)

    # Results

    def info(self) -> WorkloadInfo:
        """The description."""
        count = len(self._workload)
        is_known = not self._unknown
        work = math.fsum(self._work) if is_known else None
        load = None if work is None or not self._span > 0 else work / (self._hosts * self._span)
        users = self._users.shares(count, work)
        weeks = tuple(self._week(number, is_known) for number in sorted(self._weeks))
        return WorkloadInfo(
            jobs=count,
            left_out=self._workload.skipped,
            hosts=self._hosts,
            begin=self._begin if count else None,
            end=self._begin + self._span if count else None,
            users=len(users) or None,
            heaviest=users[:_USERS],
            partitions=self._partitions.shares(count, work),
            sizes=_distribution(self._sizes),
            runtimes=_distribution(self._runtimes),
            unknown_runtimes=self._unknown,
            walltimes=_distribution(self._walltimes),
            without_walltime=count - len(self._walltimes),
            exact_walltimes=self._exact,
            accuracy=_distribution(self._accuracy),
            gaps=_distribution(self._gaps),
            waits=_distribution(self._waits),
            offered_load=load,
            weeks=weeks,
            remarks=tuple(self._remarks(load, weeks, users)),
        )

    def _week(self, number: int, is_known: bool) -> WorkloadWeek:
        works, jobs = self._weeks[number]
        seconds = min(WEEK, self._span - number * WEEK)
        work = math.fsum(works)
        load = work / (self._hosts * seconds) if is_known and seconds > 0 else None
        return WorkloadWeek(self._begin + number * WEEK, seconds, jobs[0], work, load)

    def _remarks(
        self, load: float | None, weeks: tuple[WorkloadWeek, ...], users: tuple[WorkloadShare, ...]
    ) -> list[WorkloadRemark]:
        found = []
        if load is not None and load > 1:
            found.append(WorkloadRemark("overloaded", f"the offered load is above 1: {UNSTEADY}"))
        else:
            above = sum(week.offered_load is not None and week.offered_load > 1 for week in weeks)
            if above:
                found.append(
                    WorkloadRemark("overloaded-weeks", f"the offered load is above 1 in {_of(above, 'week')}", above)
                )
        declared = self._workload.declared
        if declared is not None and declared < self._hosts:
            sentence = f"the header declares {declared:,} hosts, and loads are relative to {self._hosts:,}"
            found.append(WorkloadRemark("declared-hosts", sentence))
        for kind, (one, text) in _SENTENCES.items():
            jobs = self._wrong.get(kind)
            if jobs is not None:
                sentence = f"{_of(jobs.count, one)} {text.format(hosts=f'{self._hosts:,}')}"
                found.append(WorkloadRemark(kind, sentence, jobs.count, tuple(jobs.jobs)))
        if self._most_equal >= _MANY_EQUAL:
            sentence = f"{self._most_equal:,} jobs are equal: one time, user, size, run time and walltime"
            found.append(WorkloadRemark("equal-jobs", sentence, self._most_equal))
        for share in users if len(users) > 1 else ():
            parts = {"jobs": share.job_share, "work": share.work_share or 0.0}
            most = [f"{part:.1%} of the {what}" for what, part in parts.items() if part > _MOST_OF_IT]
            if most:
                sentence = f"the user {shown(share.name)} has {' and '.join(most)}"
                found.append(WorkloadRemark("one-user", sentence, share.jobs))
        missing = len(self._workload) - len(self._walltimes)
        if missing:
            sentence = f"{_of(missing, 'job')} without a walltime: policies expect them to run without end"
            found.append(WorkloadRemark("no-walltime", sentence, missing))
        if self._unknown:
            sentence = f"{_of(self._unknown, 'job')} with an unknown run time: the offered load is not known"
            found.append(WorkloadRemark("unknown-run-time", sentence, self._unknown))
        if self._partial:
            sentence = f"{_of(self._partial, 'job')} for parts of hosts: the offered load counts them as whole hosts"
            found.append(WorkloadRemark("parts-of-hosts", sentence, self._partial))
        return found


_SENTENCES: Final = {
    "too-large": ("job", "larger than the machine of {hosts} hosts: policies reject them"),
    "no-hosts": ("job", "without hosts: policies reject them"),
    "over-walltime": ("job", "with a run time above the walltime, which ends them"),
    "negative-waits": ("job", "with a recorded start before the submission"),
    "long-gaps": ("gap", "of two weeks or more without a submission"),
}
"""The kinds of remarks that are counted job by job: the counted noun, and the rest of the sentence."""


def _of(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _distribution(values: array[float]) -> Distribution | None:
    return Distribution.of(values) if values else None
