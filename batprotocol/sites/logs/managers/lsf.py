"""Reads LSF's `lsb.acct`: the records JOB_FINISH, whose fields are known by their places.

Places are those of LSF's documentation and of records of versions 5.1 to 10.1. Later versions have more fields at the
end.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.jobs import AttemptState, LoggedJob
from batprotocol.sites.logs.managers.rows import (
    LogRow,
    RefusedRow,
    RepeatedIds,
    UnfinishedJobs,
    amount_of,
    moment_of,
    number_of,
)
from batprotocol.sites.logs.sources import Source, opened
from batprotocol.sites.slurm.texts import MOST_DIGITS

__all__ = ["read_lsf"]

_FIELD: Final = re.compile(r'"[^"]*(?:""[^"]*)*"|[^ "]+')
_SLOTS: Final = re.compile(r"(?:([0-9]{1,6})\*)?([^\s*]{1,300})", re.ASCII)
_CONDITION: Final = re.compile(r"(done|ended|exit|started)\(([0-9]{1,10})\)", re.ASCII)
_FINISH: Final = '"JOB_FINISH"'
_TYPES: Final = {
    '"JOB_RESIZE"': "a record of a job that changed its size: only its record JOB_FINISH is read",
    '"EVENT_ADRSV_FINISH"': "a record of a reservation",
}
_EXCLUSIVE: Final = 0x40  # SUB_EXCLUSIVE in the options
_DONE: Final = 64
_EXIT: Final = 32
_ID: Final = 3  # the place of jobId
_ASKED: Final = 22  # the place of numAskedHosts
_TASK: Final = 29  # idx is so far behind jStatus
_TEXTS: Final = {
    **dict(enumerate(("userName", "queue", "resReq", "dependCond", "preExecCmd", "fromHost", "cwd"), 11)),
    **dict(enumerate(("inFile", "outFile", "errFile", "jobFile"), 18)),
    _ASKED + 2: "jobName",
    _ASKED + 3: "command",
    _ASKED + 23: "mailUser",
    _ASKED + 24: "projectName",
    _ASKED + 27: "loginShell",
    _ASKED + 28: "timeEvent",
}
"""The fields that are texts in quotation marks: before the hosts by their places, and from jStatus on as if it were at
`_ASKED`."""
_KINDS: Final = {"done": "afterok", "ended": "afterany", "exit": "afternotok", "started": "after"}
_REASONS: Final = {
    1: AttemptState.PREEMPTED,
    5: AttemptState.TIMEOUT,
    6: AttemptState.DEADLINE,
    8: AttemptState.CANCELLED,
    9: AttemptState.CANCELLED,
    10: AttemptState.REQUEUED,
    11: AttemptState.REQUEUED,
    12: AttemptState.TIMEOUT,
    14: AttemptState.CANCELLED,
    15: AttemptState.CANCELLED,
    16: AttemptState.OUT_OF_MEMORY,
    23: AttemptState.CANCELLED,
}
"""The states of reasons of termination; others are `FAILED`."""

Value = TypeVar("Value")


def read_lsf(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
    """The jobs in a file `lsb.acct`, in its order. A job that was requeued comes when its last record does.

    Args:
        path: the file, compressed by gzip or xz or not; a pipe is copied into a temporary file.
        left_out: where it counts what it leaves out.
        zone: not used: all times are seconds since 1970.

    Raises:
        InputError: the file is none of LSF's.
        OSError: the file cannot be read.
    """
    with opened(path) as source:
        first = next((line for _, line in source.lines()), "")
        if first.partition(" ")[0] not in (_FINISH, *_TYPES):
            raise InputError(
                f'expected a record of lsb.acct, such as \'"JOB_FINISH" "10.1" 1527327585 ...\', got {shown(first)}',
                file=source.name,
                line=1,
            )
        repeated = _repeated(source)
        held = UnfinishedJobs(repeated, left_out)
        for number, line in source.lines(left_out):
            if not line.strip():
                continue
            fields = _divided(line)
            try:
                job = _job(line, fields, LogRow(left_out, number))
            except RefusedRow as refused:
                left_out.row(str(refused), number)
                job = None
            if repeated and (key := _key(fields)) in repeated:
                yield from held.add(key, () if job is None else (job,))
            elif job is not None:
                yield job
        yield from held.rest()


def _repeated(source: Source) -> dict[str, int]:
    """The jobs with several records, with the number of these."""
    repeated = RepeatedIds()
    for _, line in source.lines():
        repeated.add(_key(_divided(line)))
    return repeated.rows


def _divided(line: str) -> list[str]:
    """The fields of a record, as they are; none of another line."""
    return _FIELD.findall(line) if line.startswith(f"{_FINISH} ") else []


def _status_place(fields: list[str]) -> int:
    """The place of jStatus, behind two lists of hosts.

    Raises:
        ValueError: a number of hosts cannot be read.
        IndexError: the record ends before.
    """
    executed = _ASKED + 1 + (amount_of(fields[_ASKED]) or 0)
    return executed + 1 + (amount_of(fields[executed]) or 0)


def _key(fields: list[str]) -> str:
    """The id of the job of a record, or "": it cannot be read."""
    try:
        task = fields[_status_place(fields) + _TASK]
    except (ValueError, IndexError):
        return ""
    return fields[_ID] if task == "0" else f"{fields[_ID]}_{task}"


class _LsfFields:
    """The fields of a record, one after another.

    Args:
        fields: the fields.
        place: the place of the next one.
    """

    def __init__(self, fields: list[str], place: int) -> None:
        self._fields = fields
        self._place = place

    def raw(self, name: str) -> str:
        """The next field, as it is.

        Raises:
            Refused: there is none.
        """
        if self._place >= len(self._fields):
            raise RefusedRow(f"the record ends before {name}")
        self._place += 1
        return self._fields[self._place - 1]

    def text(self, name: str) -> str:
        """The next field, which must be a text in quotation marks."""
        return _text(self.raw(name), name)

    def value(self, name: str, reader: Callable[[Any], Value]) -> Value:
        """The next field, which must be a number."""
        return _value(self.raw(name), name, reader)

    def count(self, name: str) -> int:
        """The next field, which must be a number of fields that follow."""
        return min(self.value(name, amount_of) or 0, len(self._fields))

    def skip(self, count: int) -> None:
        """Pass over fields."""
        self._place += count


def _text(field: str, name: str) -> str:
    if not field.startswith('"'):
        raise RefusedRow(f"{name} is not at its place in the record")
    return field[1:-1].replace('""', '"')


def _value(field: str, name: str, reader: Callable[[Any], Value]) -> Value:
    try:
        return reader(field)
    except ValueError:
        raise RefusedRow(f"{name} is not at its place in the record") from None


class _LsfHead(NamedTuple):
    """The first fields of a record, up to the index in an array, and the place behind them."""

    ended: float | None
    id: int
    options: int
    processors: int | None
    submitted: float | None
    begin: float | None
    started: float | None
    user: str
    queue: str
    dependency: str
    hosts: tuple[str, ...]
    slots: int
    status: int
    name: str
    project: str
    exit_status: int
    task: int
    end: int


def _whole(value: Any) -> int:
    number = number_of(value)
    if number is None or not number.is_integer():
        raise ValueError(value)
    return int(number)


def _head(fields: list[str]) -> _LsfHead:
    """The first fields.

    Raises:
        Refused: a field is not at its place.
    """
    try:
        place = _status_place(fields)
        fields[place + _TASK]
    except IndexError:
        raise RefusedRow("the record ends before idx") from None
    except ValueError:
        raise RefusedRow("the hosts are not at their place in the record") from None
    for index, name in _TEXTS.items():
        if fields[index if index < _ASKED else index - _ASKED + place][0] != '"':
            raise RefusedRow(f"{name} is not at its place in the record")
    hosts, slots = _hosts(fields[_ASKED + 2 + (amount_of(fields[_ASKED]) or 0) : place])
    _value(fields[place + 1], "hostFactor", number_of)
    return _LsfHead(
        ended=_value(fields[2], "the time of the record", moment_of),
        id=_value(fields[_ID], "jobId", _whole),
        options=_value(fields[5], "options", _whole),
        processors=_value(fields[6], "numProcessors", amount_of),
        submitted=_value(fields[7], "submitTime", moment_of),
        begin=_value(fields[8], "beginTime", moment_of),
        started=_value(fields[10], "startTime", moment_of),
        user=_text(fields[11], "userName"),
        queue=_text(fields[12], "queue"),
        dependency=_text(fields[14], "dependCond"),
        hosts=hosts,
        slots=slots,
        status=_value(fields[place], "jStatus", _whole),
        name=_text(fields[place + 2], "jobName"),
        project=_text(fields[place + 24], "projectName"),
        exit_status=_value(fields[place + 25], "exitStatus", _whole),
        task=_value(fields[place + _TASK], "idx", _whole),
        end=place + _TASK + 1,
    )


def _hosts(listed: list[str]) -> tuple[tuple[str, ...], int]:
    """The hosts, each once, with the number of slots: `n1 n1 n2`, or `2*n1 1*n2`."""
    names: dict[str, None] = {}
    slots = 0
    for each in listed:
        found = _SLOTS.fullmatch(each.strip('"'))
        if found is None:
            raise RefusedRow("execHosts is not at its place in the record")
        names[sys.intern(found[2])] = None
        slots += int(found[1] or 1)
    return tuple(names), slots


def _id(head: _LsfHead) -> tuple[str, str | None]:
    """The id of a job, and the array that it is a task of."""
    if not 0 < head.id < 10**MOST_DIGITS or not 0 <= head.task < 10**9:
        raise RefusedRow("the id is not one of LSF's jobs")
    return (f"{head.id}_{head.task}", str(head.id)) if head.task else (str(head.id), None)


class _LsfTail(NamedTuple):
    """The fields behind the index.

    Attributes:
        reservation: the reservation.
        reason: the reason of the termination.
        walltime: the run limit in seconds.
        runtime: the time in the state RUN, in seconds.
    """

    reservation: str = ""
    reason: int = 0
    walltime: int | None = None
    runtime: float | None = None


def _tail(fields: _LsfFields, row: LogRow) -> _LsfTail:
    """What can be read: old versions have fewer fields."""
    found = _LsfTail()
    try:
        fields.skip(4)
        found = found._replace(reservation=fields.text("rsvId"))
        fields.skip(3)
        found = found._replace(reason=fields.value("exitInfo", _whole))
        fields.skip(10)
        fields.text("resizeNotifyCmd")
        fields.skip(1)
        for name in ("rsvId", "jobDescription"):
            fields.text(name)
        fields.skip(2 * fields.count("submitExt"))
        for _ in range(fields.count("numHostRusage")):
            fields.skip(5)
            fields.skip(2 * fields.count("hostRusage"))
        walltime = fields.value("runLimit", amount_of)
        fields.skip(2)
        fields.text("effectiveResReq")
        found = found._replace(walltime=walltime)
        fields.skip(8)
        fields.text("outdir")
        return found._replace(runtime=fields.value("runTime", number_of))
    except RefusedRow:
        row.note("the record does not have all fields up to runTime: the run limit may be missing")
        return found


def _job(line: str, divided: list[str], row: LogRow) -> LoggedJob:
    """The job of a record, of which there are the line and its fields.

    Raises:
        Refused: it is left out.
    """
    if not divided:
        raise RefusedRow(_TYPES.get(line.partition(" ")[0], "the line is not a record of lsb.acct"))
    if sum(map(len, divided)) + len(divided) - 1 != len(line) and _FIELD.sub("", line).strip(" \r\t"):
        raise RefusedRow("the record cannot be divided into fields")
    head = _head(divided)
    id, array = _id(head)
    tail = _tail(_LsfFields(divided, head.end), row)
    if head.ended is None:
        raise RefusedRow("the record has no time")
    suspended = 0.0
    if tail.runtime is not None and head.started is not None:
        suspended = max(head.ended - head.started - tail.runtime, 0.0) if tail.runtime >= 0 else 0.0
    attempt = row.attempt(
        head.submitted,
        head.started,
        head.ended,
        _state(head.status, tail.reason, row),
        eligible=head.begin,
        hosts=head.hosts,
        suspended=suspended,
        exit_code=head.exit_status >> 8 & 0xFF,
        signal=head.exit_status & 0x7F,
    )
    has_run = attempt.started is not None
    return LoggedJob(
        id=id,
        attempts=(attempt,),
        host_count=(len(attempt.hosts) if has_run else 0) or 1,
        cores=(head.slots or head.processors) if has_run else None,
        requested_cores=head.processors,
        walltime=None if tail.walltime is None else float(tail.walltime),
        name=head.name or None,
        user=head.user or None,
        account=head.project or None,
        partition=head.queue or None,
        reservation=tail.reservation or None,
        dependency=_dependency(head.dependency, row),
        array=array,
        exclusive=True if head.options & _EXCLUSIVE else None,
        line=row.line,
    )


def _state(status: int, reason: int, row: LogRow) -> AttemptState:
    if status == _DONE:
        return AttemptState.COMPLETED
    if status != _EXIT:
        row.note("the value of jStatus cannot be read")
        return AttemptState.UNKNOWN
    return _REASONS.get(reason, AttemptState.FAILED)


def _dependency(text: str, row: LogRow) -> str | None:
    """A dependency such as `done(12) && ended(13)`, in the vocabulary of requests."""
    if not text.strip():
        return None
    between = "||" if "||" in text else "&&"
    conditions = [_CONDITION.fullmatch(part.strip()) for part in text.split(between)]
    found = [f"{_KINDS[each[1]]}:{each[2]}" for each in conditions if each is not None]
    if len(found) < len(conditions) or len(found) > 1_000:
        row.note("a dependency that is not made of done, ended, exit and started, with the ids of jobs")
        return None
    return ("?" if between == "||" else ",").join(found)
