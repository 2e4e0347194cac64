"""Reads the output of `oarstat -J`, with `-f`, `--sql` or `--gantt`, and of CiGri's `gridstat -j`."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import Clock, zone_of
from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.jobs import AttemptState, LoggedJob
from batprotocol.sites.logs.managers.rows import LogRow, RefusedRow, amount_of, moment_of, number_of, text_of
from batprotocol.sites.logs.managers.sacct_rows import NOTHING
from batprotocol.sites.logs.sources import Source, members_of, opened

__all__ = [
    "read_gridstat",
    "read_oar",
]


_BEGIN: Final = re.compile(r'([ \t]{1,40})"([0-9]{1,18})"[ \t]{0,9}:[ \t]{0,9}\{[ \t]{0,9}', re.ASCII)
_WHOLE: Final = re.compile(r'([ \t]{1,40})"([0-9]{1,18})"[ \t]{0,9}:[ \t]{0,9}\{(.*)\},?[ \t]{0,9}', re.ASCII)
_ID: Final = re.compile(rb'"([0-9]{1,18})"')
_GANTT: Final = re.compile(rb'\s*\{\s*"(?:jobs|dead_resources|resources)"')
_LONGEST: Final = 1 << 25
_INDENTS: Final = 100  # different spaces before objects
_SUBMISSIONS: Final = ('"submissionTime"', '"submission_time"')
_DAMAGED: Final = "the JSON of the job is damaged"
_KEYS: Final = {
    "array": ("array_id",),
    "exit": ("exit_code",),
    "hosts": ("assigned_network_address", "network_addresses", "network_address"),
    "name": ("name", "job_name"),
    "queue": ("queue", "queue_name"),
    "resources": ("assigned_resources", "resources", "resource_id"),
    "start": ("startTime", "start_time"),
    "stop": ("stopTime", "stop_time"),
    "submission": ("submissionTime", "submission_time"),
    "user": ("owner", "user"),
    "walltime": ("walltime",),
}
"""The values of a job, with their keys in the lists of jobs, and in the history (`--gantt`)."""
_STATES: Final = {
    "Waiting": AttemptState.PENDING,
    "Hold": AttemptState.PENDING,
    "toAckReservation": AttemptState.PENDING,
    "toLaunch": AttemptState.RUNNING,
    "Launching": AttemptState.RUNNING,
    "Running": AttemptState.RUNNING,
    "Finishing": AttemptState.RUNNING,
    "Resuming": AttemptState.SUSPENDED,
    "Suspended": AttemptState.SUSPENDED,
    "Terminated": AttemptState.COMPLETED,
    "Error": AttemptState.FAILED,
    "toError": AttemptState.FAILED,
}
_EVENTS: Final = {
    "WALLTIME": AttemptState.TIMEOUT,
    "BESTEFFORT_KILL": AttemptState.PREEMPTED,
    "FRAG_JOB_REQUEST": AttemptState.CANCELLED,
}
"""Events that say why a job ended, before its state does."""
_GO_ON: Final = frozenset({AttemptState.PENDING, AttemptState.RUNNING, AttemptState.SUSPENDED})


def read_oar(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
    """The jobs in the output of `oarstat -J`, in its order, which is not that of their ids.

    Args:
        path: the file, compressed by gzip or xz or not; a pipe is copied into a temporary file.
        left_out: where it counts what it leaves out, by the line that a job begins at. If the file has no line for
            each value, the lines are the numbers of the jobs in the file, from 1 on.
        zone: not used: all times are seconds since 1970.

    Raises:
        InputError: the file has no job.
        OSError: the file cannot be read.
    """
    with opened(path) as source:
        number = 0
        indent = _indent(source)
        for number, text in _objects(source, left_out, indent) if indent else _members(source, left_out):
            try:
                yield _job(_decoded(text), LogRow(left_out, number))
            except RefusedRow as refused:
                left_out.row(str(refused), number)
        if not number:
            raise InputError(
                "expected the output of oarstat -J, an object with the ids of jobs as its keys",
                file=source.name,
                line=1,
            )


def _indent(source: Source) -> str:
    """The spaces before the jobs: those of most objects that have a time of submission.

    So neither damaged lines nor objects in jobs count as jobs.
    """
    begins: dict[str, int] = {}
    found: Counter[str] = Counter()
    for number, line in source.lines():
        if not line.startswith((" ", "\t")):
            continue
        text = line.lstrip(" \t")
        if text.startswith(_SUBMISSIONS):
            around = [each for each in begins if len(each) < len(line) - len(text)]
            found.update([max(around, key=lambda each: begins[each])] if around else [])
        elif len(begins) < _INDENTS and text.startswith('"') and (begin := _BEGIN.fullmatch(line)) is not None:
            begins[begin[1]] = number
    return found.most_common(1)[0][0] if found else min(begins, key=len, default="")


def _members(source: Source, left_out: LeftOut) -> Iterator[tuple[int, str]]:
    """The jobs as texts, with their numbers, of a file that does not have a line for each value."""
    listed = members_of(source, "jobs" if _GANTT.match(source.first()) else "")
    for number, (name, value) in enumerate(listed, 1):
        id = _ID.fullmatch(name)
        if value is None or id is None or not value.startswith(b"{"):
            left_out.row(_DAMAGED if value is None else "the key is not the id of a job", number)
            continue
        yield number, _with_id(id[1].decode(), value[1:-1].decode(errors="replace"))


def _with_id(id: str, inside: str) -> str:
    """The text of an object, of what is between its brackets, with the id of the job among its values."""
    return f'{{"id":{id.lstrip("0") or "0"}{"," if inside.strip() else ""}{inside}}}'


def _objects(source: Source, left_out: LeftOut, indent: str) -> Iterator[tuple[int, str]]:
    """The jobs as texts, with the lines at which they begin. One that has no end is an empty text.

    Args:
        source: the file.
        left_out: where lines are counted that are too long.
        indent: the spaces before the jobs.
    """
    closing = (f"{indent}}}", f"{indent}}},")
    begin, size, id = 0, 0, ""
    lines: list[str] = []
    for number, line in source.lines(left_out):
        if begin and line.rstrip() in closing:
            yield begin, _with_id(id, "".join(lines)) if lines else ""
            begin, lines = 0, []
            continue
        found = (_BEGIN.fullmatch(line) or _WHOLE.fullmatch(line)) if line.startswith(indent) else None
        if found is not None and found[1] == indent:
            if begin:
                yield begin, ""
            begin, id = number, found[2]
            lines, size = [], 0
            if found.re is _WHOLE:
                yield begin, _with_id(id, found[3])
                begin = 0
        elif begin and size <= _LONGEST:
            lines.append(line)
            size += len(line)
            if size > _LONGEST:
                lines = []
    if begin:
        yield begin, ""


def _decoded(text: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise RefusedRow(_DAMAGED)
    return found


def _job(values: Mapping[str, Any], row: LogRow) -> LoggedJob:
    """The job of an object.

    Raises:
        Refused: it is left out.
    """
    given = {key: next((values[name] for name in names if name in values), None) for key, names in _KEYS.items()}
    id = str(values["id"])
    state = _state(values, row)
    submitted, started, ended = (
        row.needed(f"{key} time", moment_of, given[key]) for key in ("submission", "start", "stop")
    )
    goes_on = state in _GO_ON
    if state is AttemptState.PENDING:
        started = None
    if not goes_on and ended is None:
        raise RefusedRow("the job has ended, and the output does not have its stop time: write it with oarstat -J -f")
    status = row.read("exit_code", number_of, given["exit"])
    status = None if status is None or status < 0 else int(status)
    if status and state is AttemptState.COMPLETED:
        state = AttemptState.FAILED
    names = _list(given["hosts"])
    hosts = tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name))
    attempt = row.attempt(
        submitted,
        started,
        None if goes_on else ended,
        state,
        hosts=hosts,
        exit_code=None if status is None else status >> 8 & 0xFF,
        signal=None if status is None else status & 0x7F,
    )
    has_run = attempt.started is not None
    array = text_of(given["array"])
    resources = given["resources"]
    return LoggedJob(
        id=id,
        attempts=(attempt,),
        host_count=len(hosts) or 1,
        cores=(len(resources) if isinstance(resources, list | dict) else 0) or None if has_run else None,
        walltime=row.read("walltime", _walltime, given["walltime"]),
        name=text_of(given["name"]),
        user=text_of(given["user"]),
        account=text_of(values.get("project")),
        partition=text_of(given["queue"]),
        dependency=_dependency(values.get("dependencies"), row),
        array=array if array not in ("0", id) else None,
        line=row.line,
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _walltime(value: Any) -> float | None:
    found = amount_of(value)
    return None if found is None else float(found)


def _state(values: Mapping[str, Any], row: LogRow) -> AttemptState:
    state = _STATES.get(text_of(values.get("state")) or "")
    if state is None:
        row.note("the value of state cannot be read")
        return AttemptState.UNKNOWN
    if state in _GO_ON:
        return state
    for event in _list(values.get("events")):
        kind = event.get("type") if isinstance(event, dict) else None
        if isinstance(kind, str) and kind in _EVENTS:
            return _EVENTS[kind]
    return state


def _dependency(value: Any, row: LogRow) -> str | None:
    """The jobs that a job waits for: their ids."""
    if not value:
        return None
    ids = [text_of(each) or "" for each in _list(value)]
    if not 0 < len(ids) <= 1_000 or not all(id.isascii() and id.isdecimal() and len(id) < 20 for id in ids):
        row.note("the value of dependencies cannot be read")
        return None
    return ":".join(["afterany", *ids])


# CiGri 3: a line `key: value` for each column of its table


_CIGRI_STATES: Final = {
    "to_launch": AttemptState.PENDING,
    "launching": AttemptState.PENDING,
    "submitted": AttemptState.PENDING,
    "remote_waiting": AttemptState.PENDING,
    "batch_waiting": AttemptState.PENDING,
    "running": AttemptState.RUNNING,
    "terminated": AttemptState.COMPLETED,
    "event": AttemptState.FAILED,
}
"""The states of CiGri's jobs."""
_CIGRI_KEYS: Final = frozenset(
    ("campaign_id", "cluster_name", "grid_user", "id", "param", "return_code", "start_time", "state", "stop_time",
     "submission_time")
)  # fmt: skip
_LONGEST_LINE: Final = 10_000
_OTHERS: Final = ("$ ", "[exit status")


def read_gridstat(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
    """The jobs in outputs of `gridstat -j ID`, one after another, in their order.

    Args:
        path: the file, compressed by gzip or xz or not; a pipe is copied into a temporary file.
        left_out: where it counts what it leaves out, by the line that a job begins at.
        zone: the zone of times that have none, such as `Europe/Paris`; None: UTC. The database writes it.

    Raises:
        InputError: the first job does not begin with a line `id: `.
        OSError: the file cannot be read.
    """
    clock = Clock(zone_of(zone), NOTHING)
    with opened(path) as source:
        first = next((line for _, line in source.lines() if line.strip() and not line.startswith(_OTHERS)), "")
        if not first.startswith("id: "):
            raise InputError(
                f"expected the output of gridstat -j, which begins with 'id: ', got {shown(first)}",
                file=source.name,
                line=1,
            )
        values: dict[str, str] = {}
        begin = 0
        for number, line in source.lines(left_out):
            if line.startswith("id: "):
                yield from _jobs(values, begin, left_out, clock)
                values, begin = {}, number
            elif not begin and line.strip() and not line.startswith(_OTHERS):
                left_out.row("the line is not one of a job", number)
            key, colon, value = line.partition(":")
            if colon and key in _CIGRI_KEYS:
                values.setdefault(key, value.strip()[:_LONGEST_LINE])
        yield from _jobs(values, begin, left_out, clock)


def _jobs(values: Mapping[str, str], begin: int, left_out: LeftOut, clock: Clock) -> Iterator[LoggedJob]:
    if not begin:
        return
    try:
        yield _cigri_job(values, LogRow(left_out, begin), clock)
    except RefusedRow as refused:
        left_out.row(str(refused), begin)


def _cigri_job(values: Mapping[str, str], row: LogRow, clock: Clock) -> LoggedJob:
    """The job of these values.

    Raises:
        Refused: it is left out.
    """
    id, state = values.get("id", ""), _CIGRI_STATES.get(values.get("state", ""))
    if not (id.isascii() and id.isdecimal()):
        raise RefusedRow("the id is not one of CiGri's jobs")
    if state is None:
        row.note("the value of state cannot be read")
    moments: list[float | None] = []
    for name in ("submission_time", "start_time", "stop_time"):
        latest = max((each for each in moments if each is not None), default=0.0)
        moments.append(row.needed(name, partial(clock.after, before=latest), values.get(name, "")))
    submitted, started, ended = moments
    if state in (AttemptState.PENDING, AttemptState.RUNNING):
        ended = None
        started = None if state is AttemptState.PENDING else started
    code = row.read("return_code", number_of, values.get("return_code"))
    status = None if code is None or code < 0 else int(code)
    attempt = row.attempt(
        submitted,
        started,
        ended,
        state or AttemptState.UNKNOWN,
        exit_code=None if status is None else status >> 8 & 0xFF,
        signal=None if status is None else status & 0x7F,
    )
    return LoggedJob(
        id=id,
        attempts=(attempt,),
        name=text_of(values.get("param", "").partition(" ")[0]),
        user=text_of(values.get("grid_user")),
        account=text_of(values.get("campaign_id")),
        partition=text_of(values.get("cluster_name")),
        line=row.line,
    )
