"""Reads Grid Engine's accounting: the file `accounting`, and the text of `qacct -j`.

A record of the file is a line whose fields are known by their places. Its times are seconds or milliseconds since 1970.
A parallel job with `accounting_summary` FALSE has a record for each task beside its own. Versions after 8.1 have more
fields at the end.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import Final, NamedTuple

from msgspec.structs import replace

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import Clock, zone_of
from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.jobs import AttemptState, LoggedJob
from batprotocol.sites.logs.managers.rows import (
    LogRow,
    RefusedRow,
    RepeatedIds,
    UnfinishedJobs,
    amount_of,
    merged_attempts,
    number_of,
)
from batprotocol.sites.logs.sources import Source, opened
from batprotocol.sites.slurm.texts import MOST_DIGITS

__all__ = ["read_gridengine", "read_qacct"]

Values = Mapping[str, str]
"""The values of a record by the names of accounting(5); absent or empty: the record does not have it."""

_LEADING: Final = {
    **dict(enumerate(("qname", "hostname", "group", "owner", "job_name", "job_number", "account"))),
    **dict(enumerate(("submission_time", "start_time", "end_time", "failed", "exit_status"), 8)),
    31: "project",
    **dict(enumerate(("granted_pe", "slots", "task_number"), 33)),
}
_CATEGORY: Final = 39
_TRAILING: Final = {1: "pe_taskid", 3: "arid", 6: "qdel_info"}
"""The fields behind `category`, by their places from `iow` on."""
_LEAST: Final = 43
_DECIMAL: Final = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?", re.ASCII)
_TASK_OF_JOB: Final = re.compile(r"[^\s:]{1,300}")
_LIMIT: Final = re.compile(r"(?:^|[ ,])([hs]_rt)=([0-9]{1,12})(?![^ ,])", re.ASCII)
_ASKED: Final = re.compile(r"(?:^| )-pe [^ ]{1,300} ([0-9]{1,9})(?![^ ])", re.ASCII)
_FIRST_LINES: Final = 1000
_FINE: Final = ((10**14, 10**6), (10**11, 10**3))
"""From this time on, a time is in this part of a second: microseconds, milliseconds."""
_LATEST: Final = 10**17
_RESCHEDULED: Final = frozenset({24, 25})
_OVER_LIMIT: Final = 37
_KILLED: Final = frozenset({_OVER_LIMIT, 100})
_ENDING: Final = frozenset({9, 10, 24})
"""The signals that end a job at a limit of its run time: SIGKILL, SIGUSR1, SIGXCPU."""
_SIGNALS: Final = 128
_NO_TIMES: Final = "the record of a job that was rescheduled has no times: its next record counts"
_TASK: Final = "a record of a task of a parallel job: the record of the job has its slots and times"
_MOST_TASKED: Final = 100_000
_NOT_SAID: Final = frozenset({"", "NONE", "none", "undefined", "0"})
_NO_HOST: Final = frozenset({"", "UNKNOWN", "NONE"})


class _GridRecord(NamedTuple):
    """A record, or the reason why it cannot be read."""

    line: int
    values: Values
    reason: str = ""


# The file


def read_gridengine(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
    """The jobs in a file `accounting`, in its order. A job with several records comes when the last of them does.

    Args:
        path: the file, compressed by gzip or xz or not; a pipe is copied into a temporary file.
        left_out: where it counts what it leaves out.
        zone: not used: all times are seconds or milliseconds since 1970.

    Raises:
        InputError: the file is none of Grid Engine's.
        OSError: the file cannot be read.
    """
    with opened(path) as source:
        _expect(source, _lines, "'main.q:node1:group:user:name:7:sge:0:1795866079:...'")
        ids = RepeatedIds()
        for record in _lines(source):
            if _is_of_job(record.values):
                ids.add(_id(record.values))
        repeated = ids.rows
        held = UnfinishedJobs(repeated, left_out)
        hosts: dict[str, dict[str, None]] = {}
        for record in _lines(source, left_out):
            key = _id(record.values)
            job = None
            try:
                if record.reason:
                    raise RefusedRow(record.reason)
                if not _is_of_job(record.values):
                    if len(hosts) < _MOST_TASKED:
                        hosts.setdefault(key, {})[record.values["hostname"]] = None
                    raise RefusedRow(_TASK)
                job = _job(record.values, LogRow(left_out, record.line), _moment)
                if record.values["granted_pe"] not in _NOT_SAID:
                    job = _on(job, hosts.pop(key, None))
            except RefusedRow as refused:
                left_out.row(str(refused), record.line)
            if key in repeated and _is_of_job(record.values):
                yield from held.add(key, () if job is None else (job,))
            elif job is not None:
                yield job
        yield from held.rest()


def _expect(source: Source, records: Callable[[Source], Iterator[_GridRecord]], example: str) -> None:
    """Refuse a file that has lines, but no record among its first ones.

    Raises:
        InputError: it has none.
    """
    number = 0
    for number, record in enumerate(records(source), 1):
        if not record.reason:
            return
        if number == 1:
            first = next((text for line, text in source.lines() if line == record.line), "")
        if number >= _FIRST_LINES:
            break
    if number:
        raise InputError(f"expected a record of Grid Engine such as {example}, got {shown(first)}", file=source.name)


def _lines(source: Source, left_out: LeftOut | None = None) -> Iterator[_GridRecord]:
    """The records of a file. Comments, and lines of one character or less, are none."""
    for number, line in source.lines(left_out):
        if len(line.strip()) > 1 and not line.startswith("#"):
            try:
                yield _GridRecord(number, _divided(line))
            except RefusedRow as refused:
                yield _GridRecord(number, {}, str(refused))


def _divided(line: str) -> Values:
    """The values of a line. Only `category` can have colons, as a job may ask for any text of a resource.

    Raises:
        RefusedRow: it is no record.
    """
    fields = line.split(":")
    if len(fields) < _LEAST:
        is_cut = len(fields) > len(_LEADING) and fields[5].isdecimal()
        raise RefusedRow("the record ends before maxvmem" if is_cut else "the line is not an accounting record")
    for place in (5, 8, 9, 10, 11, 12, 34, 35):
        if not _DECIMAL.fullmatch(fields[place]):
            raise RefusedRow(f"{_LEADING[place]} is not at its place in the record")
    behind = next((place for place in range(_CATEGORY + 1, len(fields) - 2) if _is_behind(fields, place)), None)
    if behind is None:
        raise RefusedRow("maxvmem is not at its place in the record")
    values = {name: fields[place] for place, name in _LEADING.items()}
    values["category"] = ":".join(fields[_CATEGORY:behind])
    for place, name in _TRAILING.items():
        values[name] = fields[behind + place] if behind + place < len(fields) else ""
    return values


def _is_behind(fields: list[str], place: int) -> bool:
    """Whether `iow`, `pe_taskid` and `maxvmem` are at this place."""
    return (
        _DECIMAL.fullmatch(fields[place]) is not None
        and _TASK_OF_JOB.fullmatch(fields[place + 1]) is not None
        and _DECIMAL.fullmatch(fields[place + 2]) is not None
    )


def _is_of_job(values: Values) -> bool:
    """Whether a record is that of a whole job, and can be read."""
    return bool(values) and values.get("pe_taskid", "") in _NOT_SAID


def _moment(text: str) -> float | None:
    """A time in seconds, of one in seconds, milliseconds or microseconds.

    Raises:
        ValueError: it is none.
    """
    number = number_of(text)
    if number is None or number == 0:
        return None
    if not 0 < number < _LATEST:
        raise ValueError(text)
    return next((number / part for least, part in _FINE if number >= least), number)


# The text of qacct


_NAMES: Final = {
    "jobname": "job_name",
    "jobnumber": "job_number",
    "taskid": "task_number",
    "qsub_time": "submission_time",
    **{
        name: name
        for name in (
            *("qname", "hostname", "group", "owner", "account", "start_time", "end_time", "failed", "exit_status"),
            *("project", "granted_pe", "slots", "pe_taskid", "arid", "category"),
        )
    },
    "deleted_by": "qdel_info",
    "qdel_info": "qdel_info",
}
"""The names of qacct, with those of accounting(5)."""
_FIRST_WORD: Final = frozenset({"failed", "exit_status"})
_SEPARATOR: Final = "=" * 20
_NO_TIME: Final = frozenset({"-/-", "", "NONE"})
_NAMES_OF_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS: Final = {name: number for number, name in enumerate(_NAMES_OF_MONTHS, 1)}
_CTIME: Final = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}([0-9]{1,2}) ([0-9:]{8}) ([0-9]{4})", re.ASCII)
_BEFORE: Final = frozenset({"1969", "1970"})
"""The years of the time 0 in all zones: qacct prints it for a time that a record does not have."""
_SLASHES: Final = re.compile(r"([0-9]{2})/([0-9]{2})/([0-9]{4}) ([0-9:]{8}(?:\.[0-9]{1,6})?)", re.ASCII)
_NEEDED: Final = ("jobnumber", "qsub_time", "end_time")


def read_qacct(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
    """The jobs in the text of `qacct -j`, in its order. A job with several records comes when the last of them does.

    The text does not say which records are those of tasks of a parallel job. A record of the same job that was
    submitted and started at once, while another record of it ran, counts as one.

    Args:
        path: the file, compressed by gzip or xz or not; a pipe is copied into a temporary file.
        left_out: where it counts what it leaves out.
        zone: the zone of times, such as `Europe/Paris`; None: UTC.

    Raises:
        InputError: the file is none of qacct's.
        OSError: the file cannot be read.
    """
    moment = _TextMoments(zone_of(zone)).at
    with opened(path) as source:
        _expect(source, _texts, "a line of '====' and lines such as 'jobnumber    7'")
        ids = RepeatedIds()
        for record in _texts(source):
            if not record.reason:
                ids.add(_id(record.values))
        repeated = ids.rows
        held: dict[str, list[_GridRecord]] = {}
        for record in _texts(source, left_out):
            if record.reason:
                left_out.row(record.reason, record.line)
                continue
            key = _id(record.values)
            records = held.setdefault(key, [])
            records.append(record)
            if len(records) >= repeated.get(key, 1):
                yield from _of_one(held.pop(key), left_out, moment)
        for records in held.values():
            yield from _of_one(records, left_out, moment)


def _of_one(
    records: list[_GridRecord], left_out: LeftOut, moment: Callable[[str], float | None]
) -> Iterable[LoggedJob]:
    """The jobs of the records with one id: without tasks, and with attempts put together."""
    jobs: list[LoggedJob] = []
    parallel: list[LoggedJob] = []
    for record in records:
        try:
            job = _job(record.values, LogRow(left_out, record.line), moment)
        except RefusedRow as refused:
            left_out.row(str(refused), record.line)
            continue
        (jobs if record.values.get("granted_pe", "") in _NOT_SAID else parallel).append(job)
    # The record of the job is the one that was submitted first. It ends last, and is written last.
    parallel.sort(key=lambda job: (job.last.submitted, -(job.last.ended or 0.0), -job.line))
    whole: list[LoggedJob] = []
    hosts: dict[int, dict[str, None]] = {}
    for job in parallel:
        other = next((other for other in whole if _is_task(job, other)), None)
        if other is None:
            whole.append(job)
        else:
            left_out.row(_TASK, job.line)
            hosts.setdefault(other.line, {}).update(dict.fromkeys(job.last.hosts))
    return merged_attempts([*jobs, *(_on(job, hosts.get(job.line)) for job in whole)], left_out)


def _on(job: LoggedJob, task_hosts: Iterable[str] | None) -> LoggedJob:
    """A parallel job on the hosts of its tasks and its own; without tasks, its hosts are not known."""
    if job.cores == 1 or job.last.started is None:
        return job
    hosts = tuple(dict.fromkeys((*job.last.hosts, *sorted(task_hosts)))) if task_hosts else ()
    return replace(job, attempts=(replace(job.last, hosts=hosts),), host_count=len(hosts) or 1)


def _is_task(job: LoggedJob, other: LoggedJob) -> bool:
    """Whether a record was submitted and began while another one of the same job ran.

    A job that is rescheduled is submitted again when it stops, and not before.
    """
    one, two = job.last, other.last
    if one.started is None or one.ended is None or two.started is None or two.ended is None:
        return False
    if not two.started <= one.submitted <= one.started <= two.ended:
        return False
    if two.state is AttemptState.REQUEUED:
        return one.ended <= two.ended
    return one.submitted < two.ended or two.started == two.ended


def _texts(source: Source, left_out: LeftOut | None = None) -> Iterator[_GridRecord]:
    """The records of a text."""
    begin, found = 0, dict[str, str]()
    for number, line in source.lines(left_out):
        if line.startswith(_SEPARATOR):
            if begin:
                yield _text_record(begin, found)
            begin, found = number, {}
            continue
        name, _, value = line.strip().partition(" ")
        if not begin and name:
            yield _GridRecord(number, {}, "the line is before the first record")
        elif name in _NAMES:
            value = value.strip()
            found[name] = value.partition(" ")[0] if name in _FIRST_WORD else value
    if begin and found:
        yield _text_record(begin, found)


def _text_record(line: int, found: Mapping[str, str]) -> _GridRecord:
    missing = next((name for name in _NEEDED if name not in found), None)
    values = {_NAMES[name]: value for name, value in found.items()}
    return _GridRecord(line, values, f"the record does not have {missing}" if missing else "")


class _TextMoments:
    """Times of qacct, as `Sat Nov 28 11:38:41 2026`, `11/28/2026 11:38:41.123` or `2026-11-28 11:38:41.123`."""

    def __init__(self, zone: tzinfo) -> None:
        self._clock = Clock(zone, _NO_TIME)

    def at(self, text: str) -> float | None:
        """A time in seconds since 1970; None if there is none.

        Raises:
            ValueError: it is no time.
        """
        found = _CTIME.fullmatch(text)
        if found is not None and found[1] in _MONTHS:
            if found[4] in _BEFORE:
                return None
            return self._clock.at(f"{found[4]}-{_MONTHS[found[1]]:02}-{int(found[2]):02}T{found[3]}")
        slashes = _SLASHES.fullmatch(text)
        if slashes is not None:
            return self._clock.at(f"{slashes[3]}-{slashes[1]}-{slashes[2]}T{slashes[4]}")
        return self._clock.at(text)


# The job of a record


def _id(values: Values) -> str:
    """The id of a job, `7` or `7_3` for a task of an array; "" if it cannot be read."""
    number, task = values.get("job_number", ""), values.get("task_number", "")
    if task in _NOT_SAID:
        return number
    return f"{number}_{task}"


def _job(values: Values, row: LogRow, moment: Callable[[str], float | None]) -> LoggedJob:
    """The job of a record, on the one host that the record names.

    Args:
        values: its values.
        row: counts values that cannot be read.
        moment: reads a time.

    Raises:
        RefusedRow: it is left out.
    """
    id = _id(values)
    number, _, task = id.partition("_")
    if not _is_number(number) or int(number) == 0 or (task and not _is_number(task)):
        raise RefusedRow("the id is not one of Grid Engine's jobs")
    failed = row.needed("failed", _whole, values.get("failed"))
    submitted, started, ended = (
        row.needed(name, moment, values.get(name, "")) for name in ("submission_time", "start_time", "end_time")
    )
    if submitted is None and failed in _RESCHEDULED:
        raise RefusedRow(_NO_TIMES)
    status = row.read("exit_status", _whole, values.get("exit_status")) or 0
    category = values.get("category", "")
    limits = {name: float(seconds) for name, seconds in _LIMIT.findall(category)}
    signal = status - _SIGNALS if failed in _KILLED and status > _SIGNALS else None
    deleter = values.get("qdel_info", "")
    state = (
        AttemptState.CANCELLED if deleter not in _NOT_SAID else _state(failed, status, signal, limits, started, ended)
    )
    slots = row.read("slots", amount_of, values.get("slots"))
    host = values.get("hostname", "")
    ran = started is not None
    attempt = row.attempt(
        submitted,
        started,
        ended,
        state,
        hosts=() if host in _NO_HOST else (host,),
        exit_code=None if not ran else status if signal is None else 0,
        signal=signal,
    )
    asked = _ASKED.search(category)
    account, project = values.get("account", ""), values.get("project", "")
    reservation = values.get("arid", "")
    return LoggedJob(
        id=id,
        attempts=(attempt,),
        cores=slots if ran else None,
        requested_cores=int(asked[1]) or None if asked else 1 if values.get("granted_pe", "") in _NOT_SAID else None,
        walltime=limits.get("h_rt") or None,
        name=values.get("job_name") or None,
        user=values.get("owner") or None,
        group=values.get("group") or None,
        account=project if project not in _NOT_SAID else account if account not in ("", "sge") else None,
        partition=None if values.get("qname", "") in _NO_HOST else values["qname"],
        reservation=None if reservation in _NOT_SAID else reservation,
        array=number if task else None,
        line=row.line,
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS


def _whole(value: object) -> int:
    number = number_of(value)
    if number is None or not number.is_integer():
        raise ValueError(value)
    return int(number)


def _state(
    failed: int,
    status: int,
    signal: int | None,
    limits: Mapping[str, float],
    started: float | None,
    ended: float | None,
) -> AttemptState:
    """How an attempt ended: by its exit status, the reason of a failure, and its limits of run time."""
    if failed == 0:
        return AttemptState.COMPLETED if status == 0 else AttemptState.FAILED
    if failed in _RESCHEDULED:
        return AttemptState.REQUEUED
    if failed in _KILLED and (signal is None or signal in _ENDING) and started is not None and ended is not None:
        is_over = any(ended - started >= limit for limit in limits.values())
        if is_over or (failed == _OVER_LIMIT and not limits):
            return AttemptState.TIMEOUT
    return AttemptState.FAILED
