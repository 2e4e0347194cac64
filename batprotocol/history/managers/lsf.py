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

from batprotocol.errors import InputError, shown
from batprotocol.history.jobs import JobState, LoggedJob
from batprotocol.history.left_out import LeftOut
from batprotocol.history.lines import Source, opened
from batprotocol.history.managers.making import Refused, Row, amount_of, moment_of, number_of
from batprotocol.history.slurm.attempts import Held
from batprotocol.history.slurm.ids import MOST_DIGITS, Repeated

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
_USAGE: Final = 19  # the numbers of getrusage
_KINDS: Final = {"done": "afterok", "ended": "afterany", "exit": "afternotok", "started": "after"}
_REASONS: Final = {
    1: JobState.PREEMPTED,
    5: JobState.TIMEOUT,
    6: JobState.DEADLINE,
    8: JobState.CANCELLED,
    9: JobState.CANCELLED,
    10: JobState.REQUEUED,
    11: JobState.REQUEUED,
    12: JobState.TIMEOUT,
    14: JobState.CANCELLED,
    15: JobState.CANCELLED,
    16: JobState.OUT_OF_MEMORY,
    23: JobState.CANCELLED,
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
        held = Held(repeated, left_out)
        for number, line in source.lines(left_out):
            if not line.strip():
                continue
            try:
                job = _job(line, Row(left_out, number))
            except Refused as refused:
                left_out.row(str(refused), number)
                job = None
            if repeated and (key := _key(line)) in repeated:
                yield from held.add(key, () if job is None else (job,))
            elif job is not None:
                yield job
        yield from held.rest()


def _repeated(source: Source) -> dict[str, int]:
    """The jobs with several records, with the number of these."""
    repeated = Repeated()
    for _, line in source.lines():
        repeated.add(_key(line))
    return repeated.rows


def _key(line: str) -> str:
    """The id of the job of a record, or "": it is the same for the tasks of an array whose index cannot be read."""
    if not line.startswith(_FINISH):
        return ""
    try:
        return _id(_head(_Fields(line)))[0]
    except Refused:
        return ""


class _Fields:
    """The fields of a record, one after another.

    Raises:
        Refused: the line cannot be divided into fields.
    """

    def __init__(self, line: str) -> None:
        self._fields = _FIELD.findall(line)
        self._place = 0
        if _FIELD.sub("", line).strip(" \r\t"):
            raise Refused("the record cannot be divided into fields")

    @property
    def has_more(self) -> bool:
        """Whether there are fields behind the place."""
        return self._place < len(self._fields)

    def next(self, name: str) -> str:
        """The next field, without quotation marks.

        Raises:
            Refused: there is none.
        """
        return _plain(self.raw(name))

    def raw(self, name: str) -> str:
        """The next field, as it is."""
        if not self.has_more:
            raise Refused(f"the record ends before {name}")
        self._place += 1
        found: str = self._fields[self._place - 1]
        return found

    def text(self, name: str) -> str:
        """The next field, which must be a text in quotation marks."""
        raw = self.raw(name)
        if not raw.startswith('"'):
            raise Refused(f"{name} is not at its place in the record")
        return _plain(raw)

    def value(self, name: str, reader: Callable[[Any], Value]) -> Value:
        """The next field, which must be a number."""
        raw = self.raw(name)
        try:
            return reader(raw)
        except ValueError:
            raise Refused(f"{name} is not at its place in the record") from None

    def count(self, name: str) -> int:
        """The next field, which must be a number of fields that follow."""
        return min(self.value(name, amount_of) or 0, len(self._fields))

    def skip(self, count: int, name: str) -> None:
        """Pass over fields."""
        self._place += count
        if self._place > len(self._fields):
            raise Refused(f"the record ends before {name}")


def _plain(field: str) -> str:
    return field[1:-1].replace('""', '"') if field.startswith('"') else field


class _Head(NamedTuple):
    """The first fields of a record, up to the status of the exit and the index in an array."""

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


def _whole(value: Any) -> int:
    number = number_of(value)
    if number is None or not number.is_integer():
        raise ValueError(value)
    return int(number)


def _head(fields: _Fields) -> _Head:
    fields.skip(1, "the version")
    fields.text("the version")
    ended, id = fields.value("eventTime", moment_of), fields.value("jobId", _whole)
    fields.skip(1, "options")
    options, processors = fields.value("options", _whole), fields.value("numProcessors", amount_of)
    submitted, begin = fields.value("submitTime", moment_of), fields.value("beginTime", moment_of)
    fields.skip(1, "startTime")
    started = fields.value("startTime", moment_of)
    user, queue = fields.text("userName"), fields.text("queue")
    fields.text("resReq")
    dependency = fields.text("dependCond")
    for name in ("preExecCmd", "fromHost", "cwd", "inFile", "outFile", "errFile", "jobFile"):
        fields.text(name)
    fields.skip(fields.count("numAskedHosts"), "numExHosts")
    hosts, slots = _hosts([fields.next("execHosts") for _ in range(fields.count("numExHosts"))])
    status = fields.value("jStatus", _whole)
    fields.value("hostFactor", number_of)
    name = fields.text("jobName")
    fields.text("command")
    fields.skip(_USAGE, "mailUser")
    fields.text("mailUser")
    project, exit_status = fields.text("projectName"), fields.value("exitStatus", _whole)
    fields.skip(1, "loginShell")
    for each in ("loginShell", "timeEvent"):
        fields.text(each)
    task = fields.value("idx", _whole)
    return _Head(
        *(ended, id, options, processors, submitted, begin, started, user, queue, dependency, hosts, slots),
        *(status, name, project, exit_status, task),
    )


def _hosts(listed: list[str]) -> tuple[tuple[str, ...], int]:
    """The hosts, each once, with the number of slots: `n1 n1 n2`, or `2*n1 1*n2`."""
    names: dict[str, None] = {}
    slots = 0
    for each in listed:
        found = _SLOTS.fullmatch(each)
        if found is None:
            raise Refused("execHosts is not at its place in the record")
        names[sys.intern(found[2])] = None
        slots += int(found[1] or 1)
    return tuple(names), slots


def _id(head: _Head) -> tuple[str, str | None]:
    """The id of a job, and the array that it is a task of."""
    if not 0 < head.id < 10**MOST_DIGITS or not 0 <= head.task < 10**9:
        raise Refused("the id is not one of LSF's jobs")
    return (f"{head.id}_{head.task}", str(head.id)) if head.task else (str(head.id), None)


class _Tail(NamedTuple):
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


def _tail(fields: _Fields, row: Row) -> _Tail:
    """What can be read: old versions have fewer fields."""
    found = _Tail()
    try:
        fields.skip(4, "rsvId")
        found = found._replace(reservation=fields.text("rsvId"))
        fields.skip(3, "exitInfo")
        found = found._replace(reason=fields.value("exitInfo", _whole))
        fields.skip(10, "resizeNotifyCmd")
        fields.text("resizeNotifyCmd")
        fields.skip(1, "rsvId")
        for name in ("rsvId", "jobDescription"):
            fields.text(name)
        fields.skip(2 * fields.count("submitExt"), "numHostRusage")
        for _ in range(fields.count("numHostRusage")):
            fields.skip(5, "hostRusage")
            fields.skip(2 * fields.count("hostRusage"), "runLimit")
        walltime = fields.value("runLimit", amount_of)
        fields.skip(2, "effectiveResReq")
        fields.text("effectiveResReq")
        found = found._replace(walltime=walltime)
        fields.skip(8, "outdir")
        fields.text("outdir")
        return found._replace(runtime=fields.value("runTime", number_of))
    except Refused:
        row.note("the record does not have all fields up to runTime: the run limit may be missing")
        return found


def _job(line: str, row: Row) -> LoggedJob:
    """The job of a record.

    Raises:
        Refused: it is left out.
    """
    if not line.startswith(f"{_FINISH} "):
        raise Refused(_TYPES.get(line.partition(" ")[0], "the line is not a record of lsb.acct"))
    fields = _Fields(line)
    head = _head(fields)
    id, array = _id(head)
    tail = _tail(fields, row)
    if head.ended is None:
        raise Refused("the record has no time")
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


def _state(status: int, reason: int, row: Row) -> JobState:
    if status == _DONE:
        return JobState.COMPLETED
    if status != _EXIT:
        row.note("the value of jStatus cannot be read")
        return JobState.UNKNOWN
    return _REASONS.get(reason, JobState.FAILED)


def _dependency(text: str, row: Row) -> str | None:
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
