"""Reads the accounting of PBS: the records of a job, from its submission to its end, become one job.

A job is complete with its last record, so only jobs that wait or run are kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from batprotocol.history.jobs import Attempt, JobState, LoggedJob
from batprotocol.history.left_out import LeftOut
from batprotocol.history.lines import opened
from batprotocol.history.pbs.records import (
    PbsRecord,
    amount_of,
    count_of,
    held_hosts,
    record_of,
    seconds_of_span,
    vnode_resources,
)
from batprotocol.history.slurm.times import Clock, zone_of

__all__ = ["read_pbs"]

_Value = TypeVar("_Value")

NO_RECORD: Final = "the line is not a record of PBS's accounting"
OTHER_KIND: Final = "a record that is not about the submission, start or end of a job"
NO_SUBMISSION: Final = "the submission of the job is not in the log"
PARENT: Final = "an array: its tasks have records of their own"
_QUEUED, _STARTED, _RERUN, _ENDED = "Q", "S", "R", "E"
_GIVEN_UP: Final = frozenset("DA")
_SIGNALS: Final = 256
_LATEST: Final = 1e12


class _Open:
    """A job that has not ended.

    Attributes:
        line: the line of its first record.
        queued: the time of its record of submission.
        started: its last record of a start; None if it waits.
        values: the values of its last record that has any.
        attempts: its attempts before.
        was_deleted: whether somebody deleted it.
    """

    __slots__ = ("attempts", "line", "queued", "started", "values", "was_deleted")

    def __init__(self, line: int) -> None:
        self.line = line
        self.queued: float | None = None
        self.started: float | None = None
        self.values: dict[str, str] = {}
        self.attempts: list[Attempt] = []
        self.was_deleted = False


def read_pbs(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
    """The jobs of PBS's accounting, in the order of their ends; then those that run or wait at the end of the log.

    Args:
        path: the file, compressed or not: the files of several days, one after the other, are one log.
        left_out: where it counts what it leaves out.
        zone: the zone of the times of records; None: UTC. The times of jobs are in seconds since 1970.

    Raises:
        OSError: the file cannot be read.
    """
    clock = Clock(zone_of(zone))
    reader = _Reader(left_out)
    with opened(path) as source:
        for number, line in source.lines(left_out):
            if not line.strip():
                continue
            try:
                record = record_of(line.rstrip("\r"), clock)
            except ValueError:
                left_out.row(NO_RECORD, number)
                continue
            job = reader.job(record, number)
            if job is not None:
                yield job
    yield from reader.rest()


class _Reader:
    """Puts the records of jobs together."""

    def __init__(self, left_out: LeftOut) -> None:
        self._left_out = left_out
        self._open: dict[str, _Open] = {}

    def job(self, record: PbsRecord, number: int) -> LoggedJob | None:
        """The job that a record ends, or None."""
        kind, id = record.kind, record.id
        if kind not in (_QUEUED, _STARTED, _RERUN, _ENDED, *_GIVEN_UP):
            self._left_out.row(OTHER_KIND, number)
            return None
        if "[]" in id:
            self._left_out.row(PARENT, number)
            return None
        job = self._open.setdefault(id, _Open(number))
        if record.values and (kind not in _GIVEN_UP or not job.values):
            job.values = {**job.values, **record.values}
        if kind == _QUEUED:
            job.queued = record.time if job.queued is None else job.queued
        elif kind == _STARTED:
            job.started = self._time(record.values, "start", number) or record.time
        elif kind == _RERUN:
            self._run_again(job, record, number)
        elif kind == _ENDED:
            return self._end(id, record.time, number)
        else:
            job.was_deleted = True
            if job.started is None:
                return self._end(id, record.time, number)
        return None

    def rest(self) -> Iterator[LoggedJob]:
        """The jobs that have not ended."""
        for id in list(self._open):
            job = self._open.pop(id)
            found = self._job(id, job, None, job.line)
            if found is not None:
                yield found

    def _run_again(self, job: _Open, record: PbsRecord, number: int) -> None:
        """An attempt ended, and the job waits again."""
        started = self._time(record.values, "start", number) or job.started
        submitted = self._submitted(job, number)
        ended = self._time(record.values, "end", number) or record.time
        if started is not None and submitted is not None:
            hosts = self._read(job.values, "exec_host", held_hosts, number)
            names = () if hosts is None else hosts.hosts
            attempt = Attempt(submitted=submitted, started=started, ended=ended, state=JobState.REQUEUED, hosts=names)
            job.attempts.append(attempt)
        job.started = None
        for key in ("start", "end", "exec_host", "exec_vnode", "Exit_status"):
            job.values.pop(key, None)

    def _end(self, id: str, time: float, number: int) -> LoggedJob | None:
        job = self._open.pop(id)
        return self._job(id, job, time, number)

    def _submitted(self, job: _Open, number: int) -> float | None:
        if job.attempts:
            return job.attempts[-1].ended
        found = self._time(job.values, "qtime", number) or self._time(job.values, "ctime", number)
        return job.queued if found is None else found

    def _job(self, id: str, job: _Open, ended: float | None, number: int) -> LoggedJob | None:
        """The job of all records; None if its submission is not known."""
        values = job.values
        submitted = self._submitted(job, number)
        if submitted is None:
            self._left_out.row(NO_SUBMISSION, number)
            return None
        started = job.started if job.started is not None else self._time(values, "start", number)
        if ended is not None:
            ended = self._time(values, "end", number) or ended
        held = self._read(values, "exec_host", held_hosts, number)
        vnodes = self._read(values, "exec_vnode", vnode_resources, number) or {}
        asked = {key: self._read(values, f"Resource_List.{key}", count_of, number) for key in _COUNTS}
        memory = self._read(values, "Resource_List.mem", amount_of, number)
        walltime = self._read(values, "Resource_List.walltime", seconds_of_span, number)
        code = self._code(values, number)
        attempt = Attempt(
            submitted=submitted,
            eligible=self._time(values, "etime", number),
            started=started,
            ended=ended,
            state=_state(job, started, ended, code, walltime),
            hosts=() if held is None else held.hosts,
            exit_code=None if code is None else code % _SIGNALS if code >= _SIGNALS else code,
            signal=code - _SIGNALS if code is not None and code > _SIGNALS else None,
        )
        gpus = vnodes.get("ngpus") or asked["ngpus"]
        hosts = len(attempt.hosts) or asked["nodect"] or 1
        name, array = _names(id)
        place = values.get("Resource_List.place", "")
        return LoggedJob(
            id=name,
            attempts=(*job.attempts, attempt),
            host_count=hosts,
            cores=vnodes.get("ncpus") or (held.cores if held is not None else None) or asked["ncpus"],
            memory=vnodes.get("mem") or memory,
            gres=(("gpu", gpus),) if gpus else (),
            requested_hosts=asked["nodect"],
            requested_cores=asked["ncpus"],
            requested_memory=memory,
            requested_gres=(("gpu", asked["ngpus"]),) if asked["ngpus"] else (),
            walltime=walltime or None,
            name=values.get("jobname"),
            user=values.get("user"),
            group=values.get("group"),
            account=values.get("account") or values.get("project"),
            partition=values.get("queue"),
            reservation=values.get("resvname") or values.get("resvID"),
            array=array,
            exclusive=True if "excl" in place else None,
            line=job.line,
        )

    # Values

    def _read(self, values: Mapping[str, str], key: str, read: Callable[[str], _Value], number: int) -> _Value | None:
        text = values.get(key)
        if not text:
            return None
        try:
            return read(text)
        except ValueError:
            self._left_out.value(f"the value of {key} cannot be read", number)
            return None

    def _time(self, values: Mapping[str, str], key: str, number: int) -> float | None:
        """A time of a record; None if there is none, which PBS writes as 0."""
        return self._read(values, key, _moment, number) or None

    def _code(self, values: Mapping[str, str], number: int) -> int | None:
        return self._read(values, "Exit_status", _code, number)


_COUNTS: Final = ("nodect", "ncpus", "ngpus")


def _moment(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < _LATEST:
        raise ValueError(text)
    return seconds


def _code(text: str) -> int:
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    return sign * count_of(digits)


def _state(
    job: _Open, started: float | None, ended: float | None, code: int | None, walltime: float | None
) -> JobState:
    if ended is None:
        return JobState.PENDING if started is None else JobState.RUNNING
    if started is None or job.was_deleted:
        return JobState.CANCELLED
    if code is None:
        return JobState.UNKNOWN
    if code == 0:
        return JobState.COMPLETED
    if code > _SIGNALS and walltime and ended - started >= walltime:
        return JobState.TIMEOUT
    return JobState.FAILED


def _names(id: str) -> tuple[str, Any]:
    """The id of a job without its server, and its array: `12[3].head` is the task 3 of the array 12."""
    name = id.partition(".")[0] or id
    array, bracket, rest = name.partition("[")
    return (f"{array}_{rest.rstrip(']')}", array) if bracket and array else (name, None)
