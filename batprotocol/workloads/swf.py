"""Files in the Standard Workload Format of the Parallel Workloads Archive: one job per line, with eighteen numbers.

The fields have these uses (-1 stands for unknown everywhere):

- 1, job number: the job's id.
- 2, submit time: the submission time, in seconds.
- 3, wait time: with the option `recorded`, when the job started: the extra data `{"recorded":{"start":2}}` have the sum
  of the fields 2 and 3, if the wait time is known.
- 4, run time: a `DelayProfile` of this number of seconds. Jobs with an unknown run time, or with 0 seconds, are
  skipped, and counted (`Workload.skipped`).
- 8, requested number of processors, or, if unknown, 5, the allocated number: the resources that the job requests, one
  host each. Jobs with neither number, or with 0, are skipped.
- 9, requested time: the walltime; the job has no walltime if it is unknown or 0.
- 11, status: 2, 3 and 4 are those of partial executions of a job that was swapped out or checkpointed. Their lines
  follow one another, behind a line for the whole job with the status 0 or 1: then this line counts, and the others do
  not. Without such a line, they are one job: its run time is their sum, and all else is that of the first.
- 12, user, and 13, group: the extra data `{"user":12,"group":3}`, if known.
- 16, partition: with the option `partitions`, the extra data `{"partition":"16"}`, if it is known.
- 17, preceding job, and 18, think time: not followed, but jobs with one of them are counted (`Workload.dependent`).

The other fields are not used; there may be more than eighteen. Jobs may be in any order of time. The header comments
(`;`) have the size of the machine: `MaxProcs`, or without it `MaxNodes`. It may have separators of thousands. If a job
requests more than that, the machine is as large as this job (`Workload.declared`).
"""

from __future__ import annotations

import gzip
import math
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BufferedReader
from typing import Any, NamedTuple

from batprotocol.errors import InputError, shown
from batprotocol.model import DelayProfile
from batprotocol.workloads.columns import ColumnBlock, DuplicateId, FileRows, JobColumns, JobFile, JobTable, StoredJob
from batprotocol.workloads.workload import MOST_RESOURCES, Workload, WorkloadProfile

__all__ = ["read_swf"]

_FIELDS = 18
_USED = 9  # fields at least: a line may end after the requested time
_WAIT, _RUN, _STATUS, _USER, _GROUP, _PARTITION = 3, 4, 11, 12, 13, 16
_PARTIAL = frozenset("234")  # it will be continued; the last one, and the job completed; the last one, and it failed
_PRECEDING, _THINK_TIME = 17, 18
_MOST_PARTS = 100_000
_LONGEST_LINE = 1 << 16
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{0,15})?")
_HEADER = re.compile(
    r";\s*(MaxProcs|MaxNodes)\s*:\s*([0-9]{1,3}(?:([,.'_\xa0])[0-9]{3})(?:\3[0-9]{3})?|[0-9]{1,9})(?![0-9]|[,.'_\xa0][0-9])"
)
_UNKNOWN = -1.0
_PROFILE = "delay"
_BLOCK = 1 << 20
"""The number of bytes that C reads at once."""

_swf: Any = None
with suppress(ImportError):  # it was not compiled, or this is not the main interpreter
    from batprotocol.workloads import _swf


def read_swf(
    path: str | os.PathLike[str],
    *,
    name: str = "w0",
    lazy: bool = False,
    larger: bool = False,
    runtime_limits: bool = False,
    recorded: bool = False,
    partitions: bool = False,
) -> Workload:
    """Read a file in the Standard Workload Format, compressed by gzip or not; see above for the use of its fields.

    Args:
        path: the file. Its first bytes show whether it is compressed; its name does not matter.
        name: the workload's name.
        lazy: whether jobs stay in the file, and are read again when they are needed; they must be sorted for this.
        larger: whether jobs request the larger number of the fields 5 and 8, as in some published tables.
        runtime_limits: whether the run time is the walltime of jobs without a requested time, and ends them.
        recorded: whether the extra data have the recorded start of each job, for the policy `recorded`.
        partitions: whether the extra data have the partition of each job. Policies other than `recorded` reject jobs of
            partitions that neither the platform nor the rules of a site have.

    Raises:
        InputError: a line is not a job; the error names file, line and field.
        OSError: the file cannot be read.
    """
    filename = os.path.abspath(path)
    reading = _Reading(larger, runtime_limits, recorded, partitions)
    plain = None if lazy or recorded or partitions else _read_plain(filename, name, reading)
    if plain is not None:
        return plain
    jobs = JobFile(_SwfRows(filename, reading)) if lazy else JobColumns()
    profiles: dict[str, WorkloadProfile] = {}
    header: dict[str, int] = {}
    lines = dependent = 0
    try:
        for number, place, words in _whole(_lines(filename), header):
            lines += 1
            try:
                job = _job(words, reading)
                if job is None:
                    continue
                dependent += _is_dependent(words)
                if job.profile not in profiles:
                    profiles[job.profile] = WorkloadProfile(DelayProfile(float(words[3])))
                if isinstance(jobs, JobFile) and jobs.wants_place:
                    jobs.begin_block(place)
                jobs.append(*job)
            except InputError as error:
                raise InputError(error.reason, error.path, file=filename, line=number) from None
            jobs.check_ids_on_the_way()
        workload = _made(name, filename, profiles, jobs, header)
    except DuplicateId as error:
        earlier, later = _lines_of(filename, reading, error.earlier, error.row)
        raise InputError(f"line {earlier} has the job number {error.id}, too", file=filename, line=later) from None
    except InputError as error:
        raise error if error.file else InputError(error.reason, error.path, file=filename) from None
    workload.skipped, workload.dependent = lines - len(jobs), dependent
    return workload


def _made(
    name: str, filename: str, profiles: dict[str, WorkloadProfile], jobs: JobTable, header: dict[str, int]
) -> Workload:
    """The workload of a log with this header, for a machine of the size that the log has."""
    most = jobs.most_resources
    declared = header.get("MaxProcs") or header.get("MaxNodes") or most
    workload = Workload.of_columns(name, filename, profiles, jobs, resource_count=max(declared, most, 1))
    workload.declared = declared if declared < most else None
    return workload


def _read_plain(filename: str, name: str, reading: _Reading) -> Workload | None:
    """The same workload if C can read all lines, and finds no fault; else None."""
    if _swf is None:
        return None
    jobs, header, texts = JobColumns(), dict[str, int](), dict[str, int]()
    lines = dependent = 0
    last, rest = -1, b""
    with open(filename, "rb") as raw:
        stream, block = _stream(raw), b"\n"
        while block:
            try:
                block = stream.read(_BLOCK)
            except (EOFError, zlib.error, gzip.BadGzipFile):
                return None
            end = block.rfind(b"\n") + 1
            whole, rest = (rest + block[:end], block[end:]) if end or not block else (b"", rest + block)
            numbers = jobs.profile_numbers, texts, last, jobs.id_length
            found = _swf.read(whole, *numbers, reading.larger, reading.runtime_limits)
            if found is None or len(rest) >= _LONGEST_LINE:
                return None
            comments, count, others, last, columns = found
            for comment in comments:
                _note(comment.decode("latin-1"), header)
            lines, dependent = lines + count, dependent + others
            jobs.extend(ColumnBlock(*columns), list(texts), are_distinct=last >= -1)
    cut = len(_PROFILE)
    profiles = {each: WorkloadProfile(DelayProfile(float(each[cut:]))) for each in jobs.profiles}
    try:
        workload = _made(name, filename, profiles, jobs, header)
    except InputError:
        return None
    workload.skipped, workload.dependent = lines - len(jobs), dependent
    return workload


class _Reading(NamedTuple):
    """The options for reading a line."""

    larger: bool
    runtime_limits: bool
    recorded: bool
    partitions: bool


class _SwfRows(FileRows):
    """A reader that reads jobs from a file again."""

    def __init__(self, filename: str, reading: _Reading) -> None:
        super().__init__(filename)
        self.reading = reading

    def read(self, place: int) -> Iterator[StoredJob]:
        for _, job in _numbered_jobs(self.filename, self.reading, place):
            yield job


def _numbered_jobs(filename: str, reading: _Reading, place: int = 0) -> Iterator[tuple[int, StoredJob]]:
    """The jobs of the lines from a place on, with the numbers of these lines."""
    for number, _, words in _whole(_lines(filename, place), {}):
        job = _job(words, reading)
        if job is not None:
            yield number, job


def _lines_of(filename: str, reading: _Reading, *rows: int) -> list[int]:
    """The line numbers of some jobs, which are counted from 0 and in ascending order."""
    jobs = enumerate(_numbered_jobs(filename, reading))
    return [next(line for row, (line, _) in jobs if row == wanted) for wanted in rows]


def _whole(lines: Iterable[tuple[int, int, str]], header: dict[str, int]) -> Iterator[tuple[int, int, list[str]]]:
    """The words of each job, with the number and the place of its first line: lines of partial executions are joined.

    Args:
        lines: lines with their numbers and places.
        header: gets the numbers of the header.
    """
    first, parts = (0, 0), list[list[str]]()
    for number, place, line in lines:
        if line.startswith(";"):
            _note(line, header)
            continue
        words = line.split()
        if not words:
            continue
        if parts and words[0] == parts[0][0] and (_is_partial(words) or _is_partial(parts[0])):
            parts.append(words)
            if len(parts) > _MOST_PARTS:
                raise InputError(f"a job has more than {_MOST_PARTS:,} lines", "field 1 (job number)")
            continue
        if parts:
            yield (*first, _joined(parts))
        first, parts = (number, place), [words]
    if parts:
        yield (*first, _joined(parts))


def _note(line: str, header: dict[str, int]) -> None:
    """Note the number in a line of the header, if it has one."""
    found = _HEADER.match(line)
    if found:
        header[found[1]] = int("".join(filter(str.isdigit, found[2])))


def _is_partial(words: list[str]) -> bool:
    return len(words) >= _STATUS and words[_STATUS - 1] in _PARTIAL


def _joined(parts: list[list[str]]) -> list[str]:
    """The words of a job: those of the line of the whole job, or of the first line with the sum of the run times."""
    if len(parts) == 1:
        return parts[0]
    summary = next((words for words in parts if not _is_partial(words)), None)
    if summary is not None and summary[_RUN - 1] != "-1":
        return summary
    whole = list(summary or parts[0])
    known = [words[_RUN - 1] for words in parts if _is_partial(words) and words[_RUN - 1] != "-1"]
    if known and all(map(_NUMBER.fullmatch, known)):
        total = round(math.fsum(map(float, known)), 6)
        whole[_RUN - 1] = str(int(total)) if total.is_integer() else str(total)
    return whole


def _lines(filename: str, place: int = 0) -> Iterator[tuple[int, int, str]]:
    """The lines from a place on, with their numbers and places (in the uncompressed text)."""
    with open(filename, "rb") as raw:
        stream, number = _stream(raw), 0
        try:
            stream.seek(place)
            while line := stream.readline(_LONGEST_LINE):
                number += 1
                if len(line) >= _LONGEST_LINE:
                    raise InputError(f"a line has {_LONGEST_LINE} bytes or more", file=filename, line=number)
                yield number, place, line.decode("latin-1").lstrip()
                place += len(line)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"the compressed file is damaged: {error}", file=filename, line=number + 1) from None


def _stream(raw: BufferedReader) -> gzip.GzipFile | BufferedReader:
    """The uncompressed bytes of a file."""
    compressed = raw.read(2) == b"\x1f\x8b"
    raw.seek(0)
    return gzip.GzipFile(fileobj=raw) if compressed else raw


def _job(words: list[str], reading: _Reading) -> StoredJob | None:
    """The job of a line, or None if it cannot run."""
    if len(words) < _USED:
        raise InputError(f"expected {_FIELDS} fields in a job, but this line has {len(words)}")
    job = _field(words, 1, "job number")
    submitted = _field(words, 2, "submit time")
    runtime = _field(words, 4, "run time")
    allocated = _field(words, 5, "number of allocated processors")
    requested = _field(words, 8, "requested number of processors")
    walltime = _field(words, 9, "requested time")
    processors = max(requested, allocated) if reading.larger or requested <= 0 else requested
    if processors != math.floor(processors) or processors > MOST_RESOURCES:
        raise InputError(f"expected a whole number of processors, got {processors}", "field 8")
    if job != math.floor(job) or job < 0:
        raise InputError(f"expected a whole number >= 0, got {shown(words[0])}", "field 1 (job number)")
    if runtime <= 0 or processors <= 0:
        return None
    time = 0.0 if submitted == _UNKNOWN else submitted
    limit = walltime if walltime > 0 else runtime if reading.runtime_limits else None
    return StoredJob(str(int(job)), time, int(processors), f"{_PROFILE}{words[3]}", limit, _extra(words, time, reading))


def _is_dependent(words: list[str]) -> bool:
    """Whether a job names another job to wait for, which is not followed."""
    return any(
        len(words) >= number and words[number - 1].strip("0.") not in ("", "-1") for number in (_PRECEDING, _THINK_TIME)
    )


def _extra(words: list[str], submitted: float, reading: _Reading) -> str | None:
    """All else that is known of a job, as JSON; None if nothing is."""
    known = []
    for number, what in ((_USER, "user"), (_GROUP, "group")):
        who = _known(words, number, what)
        if who is not None:
            known.append(f'"{what}":{int(who)}')
    if reading.partitions:
        partition = _known(words, _PARTITION, "partition")
        if partition is not None:
            known.append(f'"partition":"{int(partition)}"')
    if reading.recorded:
        wait = _field(words, _WAIT, "wait time")
        if wait != _UNKNOWN:
            known.append(f'"recorded":{{"start":{submitted + wait!r}}}')
    return "{" + ",".join(known) + "}" if known else None


def _known(words: list[str], number: int, meaning: str) -> float | None:
    """A field that is not negative; None if it is, or is missing."""
    value = _field(words, number, meaning) if len(words) >= number else _UNKNOWN
    return value if value >= 0 else None


def _field(words: list[str], number: int, meaning: str) -> float:
    word = words[number - 1]
    if not _NUMBER.fullmatch(word):
        raise InputError(f"expected a number, got {shown(word)}", f"field {number} ({meaning})")
    return float(word)
