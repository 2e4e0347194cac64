"""Reads the accounting records of PBS Pro, OpenPBS and Torque, the files `server_priv/accounting/YYYYMMDD`.

A line is `MM/DD/YYYY HH:MM:SS;TYPE;ID;key=value key="a value"`. A job comes when its record E does, or at the end of
the log.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import tzinfo
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec.structs import replace

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import CLOCKS_DIFFER, Clock, zone_of
from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.jobs import Attempt, AttemptState, LoggedJob
from batprotocol.sites.logs.managers.rows import (
    LogRow,
    RefusedRow,
    RepeatedIds,
    UnfinishedJobs,
    amount_of,
    moment_of,
    number_of,
)
from batprotocol.sites.logs.managers.sacct_rows import NOTHING, WENT_ON
from batprotocol.sites.logs.sources import Source, opened
from batprotocol.workloads.requests.notation import DEPENDENCY_KINDS, parse_dependency

__all__ = [
    "PASSED",
    "PbsAmounts",
    "PbsRecord",
    "asked_of",
    "given_of",
    "job_of",
    "pairs_of",
    "read_pbs",
    "record_of",
    "size_of",
    "span_of",
]


_RECORD: Final = re.compile(
    r"([0-9]{2})/([0-9]{2})/([0-9]{4}) ([0-9]{2}:[0-9]{2}:[0-9]{2});([A-Za-z]);([^;]{1,300});(.*)",
    re.ASCII | re.DOTALL,
)
_ID: Final = re.compile(r"([0-9]{1,10})(?:\[([0-9]{0,9})\]|-([0-9]{1,9}))?(?:\.([^\s;]*))?", re.ASCII)
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*", re.ASCII)
_QUOTES: Final = ('"', "'")

PASSED: Final = {
    "a": "a record of a job that was altered: its other records have the last values",
    "B": "a record of a reservation",
    "C": "a record of a checkpoint",
    "c": "a record of a job that released hosts: only its last one is read",
    "e": "a record of a job that released hosts: only its last one is read",
    "F": "a record of a reservation",
    "k": "a record of a reservation",
    "K": "a record of a reservation",
    "L": "a record of licenses",
    "M": "a record of a job that went to another server",
    "P": "a record of hosts that were set up for a job",
    "p": "a record of hosts that were set up for a job",
    "T": "a record of a job that went on after a checkpoint",
    "u": "a record of a job that released hosts: only its last one is read",
    "U": "a record of a reservation",
    "Y": "a record of a reservation",
}
"""Types of records that are not read, with the reasons."""


class PbsRecord(NamedTuple):
    """A line.

    Attributes:
        moment: the time of the record, without a zone, as `YYYY-MM-DDTHH:MM:SS`.
        kind: its type.
        job: the id of the job, `123` or `123_4` for a task of an array; "" if it is none of a job.
        array: the array that the job is a task of; None: of none.
        is_array: whether it is of a whole array.
        server: the server in the id.
        text: the values.
    """

    moment: str
    kind: str
    job: str
    array: str | None
    is_array: bool
    server: str
    text: str


def record_of(line: str) -> PbsRecord | None:
    """Divide a line; None if it is not a record.

    >>> record_of("02/11/2026 20:12:21;E;7[3].host;user=ada").job
    '7_3'
    """
    found = _RECORD.fullmatch(line)
    if found is None:
        return None
    month, day, year, time, kind, name, text = found.groups()
    moment = f"{year}-{month}-{day}T{time}"
    id = _ID.fullmatch(name)
    if id is None:
        return PbsRecord(moment, kind, "", None, False, "", text)
    number, task, server = id[1], id[2] if id[2] is not None else id[3], id[4] or ""
    if task is None:
        return PbsRecord(moment, kind, number, None, False, server, text)
    return PbsRecord(moment, kind, f"{number}_{task}", number, not task, server, text)


def pairs_of(text: str) -> dict[str, str]:
    """The keys with their values, which may have spaces, with quotation marks or without. The first of a key counts.

    >>> pairs_of('user=ada account="a b" jobname=x y=1 z')
    {'user': 'ada', 'account': 'a b', 'jobname': 'x', 'y': '1 z'}
    """
    found: dict[str, str] = {}
    key, words, quote = "", list[str](), ""
    for word in text.split(" "):
        if quote:
            words.append(word)
            if word.endswith(quote):
                quote = ""
            continue
        name, equals, value = word.partition("=")
        if not equals or _KEY.fullmatch(name) is None:
            words.append(word)
            continue
        if key:
            found.setdefault(key, _value(words))
        key, words = name, [value]
        if value[:1] in _QUOTES and (len(value) == 1 or not value.endswith(value[0])):
            quote = value[0]
    if key:
        found.setdefault(key, _value(words))
    return found


def _value(words: list[str]) -> str:
    value = " ".join(words).rstrip()
    return value[1:-1] if len(value) > 1 and value[0] in _QUOTES and value[-1] == value[0] else value


# Amounts and names of hosts: sizes, spans of time, chunks, and the places of a job


_SIZE: Final = re.compile(r"([0-9]{1,18})([kmgtp]?)([bw]?)", re.IGNORECASE | re.ASCII)
_UNITS: Final = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}
_WORD: Final = 8
_LARGEST: Final = 2**53
_LONGEST: Final = 20_000  # characters of a text whose amounts are kept
_SPAN: Final = re.compile(r"(?:(?:(?:([0-9]{1,6}):)?([0-9]{1,6}):)?([0-9]{1,8}):)?([0-9]{1,12})", re.ASCII)
_PLACE: Final = re.compile(r"([^\s/:+=()*]{1,300})(?:/([0-9,-]{1,4000}))?(?:\*([0-9]{1,6}))?", re.ASCII)
_VNODE: Final = re.compile(r"([^\s/:+=()\[\]]{1,300})(?:\[[0-9]{1,9}\])?", re.ASCII)
_RANGE: Final = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", re.ASCII)
_LIST: Final = "Resource_List."


class PbsAmounts(NamedTuple):
    """The amounts that a job asks for, or has.

    Attributes:
        names: the names of its hosts.
        hosts: the number of its hosts; None: not known, as are the others.
        cores: its cores.
        memory: its memory in bytes.
        gpus: its GPUs.
    """

    names: tuple[str, ...] = ()
    hosts: int | None = None
    cores: int | None = None
    memory: int | None = None
    gpus: int | None = None


@lru_cache(8192)
def size_of(text: str) -> int:
    """An amount of memory in bytes. `w` counts words of 8 bytes.

    >>> size_of("10gb"), size_of("131900072kb"), size_of("2W")
    (10737418240, 135065673728, 16)

    Raises:
        ValueError: the text is no size.
    """
    found = _SIZE.fullmatch(text)
    size = _LARGEST if found is None else int(found[1]) * _UNITS[found[2].lower()]
    if found is None or size >= _LARGEST:
        raise ValueError(text)
    return size * (_WORD if found[3].lower() == "w" else 1)


@lru_cache(8192)
def span_of(text: str) -> float | None:
    """A span of time in seconds, as `[[DD:]HH:]MM:SS` or seconds; None if it is 0 or empty.

    >>> span_of("01:00:00"), span_of("1:00:00:00"), span_of("90"), span_of("")
    (3600.0, 86400.0, 90.0, None)

    Raises:
        ValueError: the text is no span.
    """
    if not text:
        return None
    found = _SPAN.fullmatch(text)
    if found is None:
        raise ValueError(text)
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return days * 86400.0 + hours * 3600 + minutes * 60 + seconds or None


def given_of(pairs: Mapping[str, str]) -> PbsAmounts:
    """The amounts that a job has, of `exec_vnode`, `exec_host` and Torque's `total_execution_slots`.

    Raises:
        ValueError: a value cannot be read.
    """
    names, slots = _places(pairs.get("exec_host", ""))
    chunks = pairs.get("exec_vnode", "")
    if not chunks:
        return PbsAmounts(names, len(names) or None, amount_of(pairs.get("total_execution_slots")) or slots)
    vnodes: dict[str, None] = {}
    total = [0, 0, 0]
    for chunk in chunks.replace("(", "").replace(")", "").split("+"):
        name, _, rest = chunk.partition(":")
        vnode = _VNODE.fullmatch(name)
        if vnode is None:
            raise ValueError(chunks)
        vnodes[sys.intern(vnode[1])] = None
        for place, amount in enumerate(_resources(rest)):
            total[place] += amount or 0
    names = names or tuple(vnodes)
    cores, memory, gpus = total
    return PbsAmounts(names, len(names), cores or None, memory or None, gpus or None)


def _places(text: str) -> tuple[tuple[str, ...], int | None]:
    """The hosts in `a/0*4+b/1` or Torque's `a/0-3,7+b/1`, with the number of their slots."""
    if not text:
        return (), None
    names: dict[str, None] = {}
    slots = 0
    for part in text.split("+"):
        found = _PLACE.fullmatch(part)
        if found is None:
            raise ValueError(text)
        names[sys.intern(found[1])] = None
        for piece in found[2].split(",") if found[2] else ("0",):
            numbers = _RANGE.fullmatch(piece)
            if numbers is None or int(numbers[2] or numbers[1]) < int(numbers[1]):
                raise ValueError(text)
            slots += (int(numbers[2] or numbers[1]) - int(numbers[1]) + 1) * int(found[3] or 1)
    return tuple(names), slots or None


def asked_of(pairs: Mapping[str, str]) -> PbsAmounts:
    """The amounts that a job asks for: the totals in `Resource_List`, or the chunks of `select` or Torque's `nodes`.

    Raises:
        ValueError: a value cannot be read.
    """
    chunks = _chunks(pairs.get(f"{_LIST}select") or pairs.get(f"{_LIST}nodes") or "")
    memory = pairs.get(f"{_LIST}mem")
    return PbsAmounts(
        hosts=amount_of(pairs.get(f"{_LIST}nodect")) or chunks.hosts,
        cores=amount_of(pairs.get(f"{_LIST}ncpus")) or chunks.cores or amount_of(pairs.get(f"{_LIST}procs")),
        memory=(size_of(memory) if memory else None) or chunks.memory,
        gpus=amount_of(pairs.get(f"{_LIST}ngpus")) or chunks.gpus,
    )


@lru_cache(1024)
def _chunks(text: str) -> PbsAmounts:
    """The totals of chunks such as `2:ncpus=4:mem=1gb+1:ngpus=1`, or `2:ppn=4:gpus=1+node7:ppn=2`."""
    if not text:
        return PbsAmounts()
    if len(text) > _LONGEST:
        raise ValueError(text)
    hosts = 0
    total = [0, 0, 0]
    for chunk in text.split("+"):
        first, _, rest = chunk.partition(":")
        is_count = first.isascii() and first.isdecimal() and len(first) <= len("999999")
        count = int(first) if is_count else 1
        hosts += count
        cores, memory, gpus = _resources(rest if is_count else chunk)
        for place, amount in enumerate((1 if cores is None else cores, memory or 0, gpus or 0)):
            total[place] += count * amount
    if max(total) > _LARGEST:
        raise ValueError(text)
    return PbsAmounts((), hosts or None, total[0] or None, total[1] or None, total[2] or None)


@lru_cache(1024)
def _resources(text: str) -> tuple[int | None, int | None, int | None]:
    """The cores, memory and GPUs in `ncpus=4:mem=1gb:ngpus=1`. Others than these are passed over."""
    if len(text) > _LONGEST:
        raise ValueError(text)
    found: dict[str, str] = {}
    for part in text.split(":"):
        name, _, amount = part.partition("=")
        found[name] = amount
    memory = found.get("mem")
    return (
        _whole(found.get("ncpus", found.get("ppn"))),
        size_of(memory) if memory else None,
        _whole(found.get("ngpus", found.get("gpus"))),
    )


def _whole(text: str | None) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= len("999999999")):
        raise ValueError(text)
    return int(text)


# The job of a record


_SIGNALS: Final = 256
_STATES: Final = {
    0: AttemptState.COMPLETED,
    -29: AttemptState.TIMEOUT,
    -28: AttemptState.TIMEOUT,
    -27: AttemptState.OUT_OF_MEMORY,
    -26: AttemptState.OUT_OF_MEMORY,
}
"""The states of exit statuses. The negative ones are those of jobs that PBS killed for using too much."""
_EXCLUSIVE: Final = frozenset({"excl", "exclhost"})
_NO_PROJECT: Final = "_pbs_project_default"


class _OpenJob:
    """A job that has not ended.

    Attributes:
        line: the line of its first record.
        array: the array that it is a task of.
        queued: when its first record was written.
        text: the values of the last record that has its values.
        dependency: what it waited for.
        submitted: when it began to wait again; None: it waits, or ran, for the first time.
        started: when its record S was written; None: it waits.
        deleted: when it was deleted.
        paused: when it was suspended; None: it is not.
        suspended: seconds that it was suspended for before.
        attempts: its earlier attempts.
    """

    __slots__ = (
        *("array", "attempts", "deleted", "dependency", "line", "paused", "queued", "started", "submitted"),
        *("suspended", "text"),
    )

    def __init__(self, line: int, array: str | None) -> None:
        self.line = line
        self.array = array
        self.queued: float | None = None
        self.text = ""
        self.dependency = ""
        self.submitted: float | None = None
        self.started: float | None = None
        self.deleted: float | None = None
        self.paused: float | None = None
        self.suspended = 0.0
        self.attempts: tuple[Attempt, ...] = ()


def job_of(
    job: _OpenJob, id: str, text: str, row: LogRow, state: AttemptState | None = None, moment: float | None = None
) -> LoggedJob:
    """The job of a record.

    Args:
        job: the records of this job before.
        id: its id.
        text: the values of the record.
        row: counts values that cannot be read.
        state: the state of the attempt; None: the exit status decides.
        moment: when it stopped, or was deleted, if the values do not have its end.

    Raises:
        RefusedRow: its times cannot be read, or be.
    """
    pairs = pairs_of(text)
    started, ended, suspended = job.started, moment, job.suspended
    if job.paused is not None and moment is not None:
        suspended += moment - job.paused
    suspended = max(suspended, 0.0)
    times = [row.needed(name, moment_of, pairs.get(name)) for name in ("ctime", "qtime", "start", "end")]
    submitted = job.submitted or times[0] or times[1] or job.queued
    waits = job.started is None and state in (AttemptState.PENDING, AttemptState.CANCELLED)
    if not waits:  # else the starts and ends in the values are of earlier attempts
        started, ended = times[2] or started, times[3] or ended
    if state in WENT_ON:
        ended = None
    walltime = row.read("Resource_List.walltime", span_of, pairs.get("Resource_List.walltime", ""))
    status = row.read("Exit_status", number_of, pairs.get("Exit_status"))
    given = row.read("exec_vnode and exec_host", given_of, pairs) or PbsAmounts()
    asked = row.read("Resource_List", asked_of, pairs) or PbsAmounts()
    if state is None:
        state = _state(status, walltime, started, ended, suspended, job.deleted is not None)
    signal = int(status) - _SIGNALS if status is not None and status >= _SIGNALS else None
    attempt = row.attempt(
        submitted,
        started,
        ended,
        state,
        eligible=row.read("etime", moment_of, pairs.get("etime")),
        hosts=given.names,
        suspended=suspended,
        exit_code=None if status is None or status < 0 else int(status) if signal is None else 0,
        signal=signal,
    )
    has_run = attempt.started is not None
    project = pairs.get("project", "")
    place = frozenset(pairs.get("Resource_List.place", "").split(":"))
    return LoggedJob(
        id=id,
        attempts=(*job.attempts, attempt),
        host_count=(given.hosts if has_run else None) or asked.hosts or 1,
        cores=given.cores if has_run else None,
        memory=given.memory if has_run else None,
        gres=_gres(given) if has_run else (),
        requested_hosts=asked.hosts,
        requested_cores=asked.cores,
        requested_memory=asked.memory,
        requested_gres=_gres(asked),
        walltime=walltime,
        name=pairs.get("jobname") or None,
        user=pairs.get("user") or None,
        group=pairs.get("group") or None,
        account=pairs.get("account") or (project if project != _NO_PROJECT else "") or None,
        partition=pairs.get("queue") or None,
        reservation=pairs.get("resvname") or pairs.get("resvID") or None,
        dependency=_dependency(pairs.get("depend") or job.dependency, row),
        array=job.array,
        exclusive=True if place & _EXCLUSIVE else None,
        line=row.line,
    )


def _gres(amounts: PbsAmounts) -> tuple[tuple[str, int], ...]:
    return (("gpu", amounts.gpus),) if amounts.gpus else ()


def _state(
    status: float | None,
    walltime: float | None,
    started: float | None,
    ended: float | None,
    suspended: float,
    deleted: bool,
) -> AttemptState:
    if status is None:
        return AttemptState.CANCELLED if deleted else AttemptState.UNKNOWN
    found = _STATES.get(int(status))
    if found is not None:
        return found
    if deleted:
        return AttemptState.CANCELLED
    if status >= _SIGNALS and walltime is not None and started is not None and ended is not None:
        return AttemptState.TIMEOUT if ended - started - suspended >= walltime else AttemptState.FAILED
    return AttemptState.FAILED


def _dependency(text: str, row: LogRow) -> str | None:
    """A dependency such as `afterok:12.host:13.host`, in the vocabulary of requests."""
    if not text:
        return None
    parts = []
    for part in text.split(","):
        kind, *jobs = part.split(":")
        if kind.startswith("before") or kind == "on":
            continue  # the other job has it too, or it is only a number of jobs
        if kind not in DEPENDENCY_KINDS or not jobs:
            row.note("the value of depend cannot be read")
            return None
        names = [job.partition("@")[0].partition(".")[0].replace("[", "_").rstrip("]_") for job in jobs]
        parts.append(":".join([kind, *names]))
    try:
        if parts:
            parse_dependency(",".join(parts))
    except InputError:
        row.note("the value of depend cannot be read")
        return None
    return ",".join(parts) or None


# Records of one job


_MOST: Final = 200_000
_NO_TEXT: Final = "the log has neither the submission, the start nor the end of the job"


def read_pbs(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
    """The jobs in accounting records of PBS Pro, OpenPBS or Torque, in the order of their ends.

    Args:
        path: the file, or several days one after another, compressed by gzip or xz or not; a pipe is copied into a
            temporary file.
        left_out: where it counts what it leaves out.
        zone: the zone of the times of records, such as `Europe/Paris`; None: UTC. Only jobs without a record E need it.

    Raises:
        InputError: the file has no accounting records, or too many jobs have no end.
        OSError: the file cannot be read.
    """
    with opened(path) as source:
        first = next((line for _, line in source.lines()), "")
        if record_of(first) is None:
            raise InputError(
                f"expected a record of PBS such as '02/11/2026 20:12:21;E;7.host;user=ada', got {shown(first)}",
                file=source.name,
                line=1,
            )
        repeated = _repeated(source)
        held = UnfinishedJobs(repeated, left_out)
        jobs = _PbsJobs(left_out, zone_of(zone), source.name)
        for number, line in source.lines(left_out):
            if not line.strip():
                continue
            record = record_of(line)
            if record is None:
                left_out.row("the line is not an accounting record", number)
                continue
            try:
                job = jobs.take(record, number)
            except RefusedRow as refused:
                left_out.row(str(refused), number)
                job = None
            if record.kind == "E" and record.job in repeated:
                yield from held.add(record.job, () if job is None else _parts(job))
            elif job is not None:
                yield job
        yield from held.rest()
        yield from jobs.rest()


def _repeated(source: Source) -> dict[str, int]:
    """The jobs that end more than once, with the number of their records E."""
    repeated = RepeatedIds()
    for _, line in source.lines():
        if ";E;" in line[:32] and (record := record_of(line)) is not None and record.kind == "E":
            repeated.add(record.job)
    return repeated.rows


def _parts(job: LoggedJob) -> list[LoggedJob]:
    return [replace(job, attempts=(attempt,)) for attempt in job.attempts]


class _PbsJobs:
    """The jobs that have not ended."""

    def __init__(self, left_out: LeftOut, zone: tzinfo, file: str) -> None:
        self._left_out = left_out
        self._clock = Clock(zone, NOTHING)
        self._file = file
        self._open: dict[str, _OpenJob] = {}
        self._server: str | None = None
        self._latest = 0.0

    def take(self, record: PbsRecord, line: int) -> LoggedJob | None:
        """Take a record. It returns the job, if it ends with this record.

        Raises:
            Refused: the record is left out.
        """
        if record.kind in PASSED:
            raise RefusedRow(PASSED[record.kind])
        act = _ACTS.get(record.kind)
        if act is None:
            raise RefusedRow("a record of a type that PBS does not have")
        if not record.job:
            raise RefusedRow("the id is not one of PBS's jobs")
        if record.is_array:
            raise RefusedRow("a record of a whole array: its tasks have records of their own")
        if self._server is None:
            self._server = record.server
        if record.server != self._server:
            raise RefusedRow("the job is of another server than the first one of the log")
        moment = self._moment(record.moment)
        job = self._open.get(record.job)
        if job is None:
            job = _OpenJob(line, record.array)
            if record.kind != "E":
                if len(self._open) >= _MOST:
                    raise InputError(
                        f"more than {_MOST:,} jobs have no end; import months one by one", file=self._file, line=line
                    )
                self._open[record.job] = job
        return act(self, job, record, moment, line)

    def _moment(self, text: str) -> float:
        """The time of a record. Of a time that comes twice, the one that is not before the last record."""
        try:
            moment = self._clock.after(text, self._latest - CLOCKS_DIFFER)
        except ValueError:
            moment = None
        if moment is None:
            raise RefusedRow("the time of the record cannot be read")
        self._latest = max(self._latest, moment)
        return moment

    def _queue(self, job: _OpenJob, record: PbsRecord, moment: float, line: int) -> None:
        if job.queued is None:
            job.queued = moment
        if not job.text:
            job.text = record.text
        if "depend=" in record.text:
            job.dependency = pairs_of(record.text).get("depend", "")

    def _start(self, job: _OpenJob, record: PbsRecord, moment: float, line: int) -> None:
        if job.started is not None:
            self._left_out.value("a start without its end: the job started again", line)
        job.started, job.text = moment, record.text
        job.paused, job.suspended = None, 0.0

    def _end(self, job: _OpenJob, record: PbsRecord, moment: float, line: int) -> LoggedJob:
        self._open.pop(record.job, None)
        row = LogRow(self._left_out, job.line)
        return job_of(job, record.job, record.text, row, None, moment)

    def _rerun(self, job: _OpenJob, record: PbsRecord, moment: float, line: int) -> None:
        text = record.text if "start=" in record.text else job.text
        if "start=" not in text and job.started is None:
            self._open.pop(record.job, None)
            raise RefusedRow("a job runs again that has not started")
        found = job_of(job, record.job, text, LogRow(self._left_out, line), AttemptState.REQUEUED, moment)
        job.attempts = found.attempts
        job.submitted, job.started, job.text = found.last.ended, None, text
        job.paused, job.suspended = None, 0.0

    def _delete(self, job: _OpenJob, record: PbsRecord, moment: float, line: int) -> LoggedJob | None:
        if job.started is None and job.text:
            del self._open[record.job]
            return job_of(job, record.job, job.text, LogRow(self._left_out, job.line), AttemptState.CANCELLED, moment)
        job.deleted = moment
        return None

    def _suspend(self, job: _OpenJob, record: PbsRecord, moment: float, line: int) -> None:
        if job.paused is None:
            job.paused = moment

    def _resume(self, job: _OpenJob, record: PbsRecord, moment: float, line: int) -> None:
        if job.paused is not None:
            job.suspended += moment - job.paused
        job.paused = None

    def rest(self) -> Iterator[LoggedJob]:
        """The jobs that wait or run at the end of the log."""
        while self._open:
            id = next(iter(self._open))
            job = self._open.pop(id)
            try:
                if not job.text:
                    raise RefusedRow(_NO_TEXT)
                state, moment = AttemptState.PENDING, job.deleted
                if job.deleted is not None:
                    state = AttemptState.CANCELLED
                elif job.started is not None:
                    state = AttemptState.RUNNING if job.paused is None else AttemptState.SUSPENDED
                yield job_of(job, id, job.text, LogRow(self._left_out, job.line), state, moment)
            except RefusedRow as refused:
                self._left_out.row(str(refused), job.line)


_ACTS: Final[dict[str, Callable[[_PbsJobs, _OpenJob, PbsRecord, float, int], LoggedJob | None]]] = {
    "Q": _PbsJobs._queue,
    "S": _PbsJobs._start,
    "E": _PbsJobs._end,
    "R": _PbsJobs._rerun,
    "D": _PbsJobs._delete,
    "A": _PbsJobs._delete,
    "z": _PbsJobs._suspend,
    "r": _PbsJobs._resume,
}
"""The effect of the records of each type."""
