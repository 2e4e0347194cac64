"""Reads what Slurm writes of its jobs: sacct's text and JSON, and the lines of the completion plugin jobcomp/filetxt.

Each job becomes a row of texts, named like sacct's fields, of which `sacct_rows` makes a job. Several versions of the
JSON are read: a number is a number, or `{"set": true, "infinite": false, "number": 3}`; a state or status is a text,
or a list of texts.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import zone_of
from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.jobs import Attempt, LoggedJob
from batprotocol.sites.logs.managers.rows import RepeatedIds, UnfinishedJobs
from batprotocol.sites.logs.managers.sacct_columns import SacctLayout, WholeRows, layout_of
from batprotocol.sites.logs.managers.sacct_rows import NOTHING, SacctRows
from batprotocol.sites.logs.sources import Source, elements_of, opened
from batprotocol.sites.slurm.texts import json_number, keyed

_sacct: Any = None
with suppress(ImportError):  # it was not compiled
    from batprotocol.sites.logs.managers import _sacct

__all__ = [
    "read_jobcomp",
    "read_sacct",
    "read_sacct_json",
]


_BEGIN: Final = "JobId="
_FIELDS: Final = {
    "JobId": "jobidraw",
    "UserId": "user",
    "GroupId": "group",
    "Name": "jobname",
    "JobState": "state",
    "Partition": "partition",
    "TimeLimit": "timelimitraw",
    "StartTime": "start",
    "EndTime": "end",
    "NodeList": "nodelist",
    "NodeCnt": "nnodes",
    "ProcCnt": "ncpus",
    "ReservationName": "reservation",
    "Tres": "reqtres",
    "Account": "account",
    "QOS": "qos",
    "Cluster": "cluster",
    "SubmitTime": "submit",
    "EligibleTime": "eligible",
    "ExitCode": "exitcode",
}
"""The keys that are read, with the names of sacct."""
_OTHERS: Final = frozenset(
    ("WorkDir", "Gres", "WcKey", "ArrayJobId", "ArrayTaskId", "HetJobId", "HetJobOffset", "PackJobId", "PackJobOffset",
     "DerivedExitCode")
)  # fmt: skip
_KEYS: Final = _OTHERS | _FIELDS.keys()
_COMPLETION_NAMES: Final = ("jobid", *_FIELDS.values())


def read_jobcomp(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
    """The jobs in a file of jobcomp/filetxt, in its order. A job with several lines comes when its last line does.

    Args:
        path: the file, compressed by gzip or xz or not; a pipe is copied into a temporary file.
        left_out: where it counts what it leaves out.
        zone: the zone of the times, such as `Europe/Paris`; None: UTC.

    Raises:
        InputError: the file is none of jobcomp/filetxt.
        OSError: the file cannot be read.
    """
    with opened(path) as source:
        first = next((line for _, line in source.lines()), "")
        if not first.startswith(_BEGIN):
            raise InputError(
                f"expected a line of jobcomp/filetxt, which begins with 'JobId=', got {shown(first)}",
                file=source.name,
                line=1,
            )
        rows = SacctRows(_COMPLETION_NAMES, left_out, zone_of(zone), source.name, by_end=True)
        repeated = _repeated_completions(source)
        held = UnfinishedJobs(repeated, left_out)
        for number, line in source.lines(left_out):
            if not line:
                continue
            if not line.startswith(_BEGIN):
                left_out.row("the line does not begin with JobId=", number)
                continue
            values = _completion_values(_pairs(line))
            key = values[rows.key]
            if key in repeated:
                yield from held.add(key, rows.jobs(values, number))
            else:
                yield from rows.jobs(values, number)
        yield from held.rest()


def _repeated_completions(source: Source) -> dict[str, int]:
    repeated = RepeatedIds()
    for _, line in source.lines():
        if line.startswith(_BEGIN):
            repeated.add(line[len(_BEGIN) :].partition(" ")[0])
    return repeated.rows


def _pairs(line: str) -> dict[str, str]:
    """The keys of a line with their values, which may have spaces. The first value of a key counts."""
    seen = set[str]()

    def is_new(name: str) -> bool:
        if name not in _KEYS or name in seen:
            return False
        seen.add(name)
        return True

    return dict(keyed(line, is_new))


def _completion_values(pairs: dict[str, str]) -> list[str]:
    """The texts of a job, in the order of `_NAMES`."""
    values = [_completion_id(pairs), *("" if (text := pairs.get(key, "")) == "(null)" else text for key in _FIELDS)]
    for place in (_COMPLETION_NAMES.index("user"), _COMPLETION_NAMES.index("group")):
        values[place] = values[place].partition("(")[0] or values[place]
    state, end = _COMPLETION_NAMES.index("state"), _COMPLETION_NAMES.index("end")
    if values[state] == "PENDING" and values[end] not in NOTHING:  # it ended, and waits again
        values[state] = "REQUEUED"
    if values[_COMPLETION_NAMES.index("cluster")] == "unknown":
        values[_COMPLETION_NAMES.index("cluster")] = ""
    if not pairs.get("NodeCnt", "1").strip("0"):
        values[_COMPLETION_NAMES.index("nodelist")] = "None assigned"
    return values


def _completion_id(pairs: dict[str, str]) -> str:
    if "ArrayJobId" in pairs and "ArrayTaskId" in pairs:
        return f"{pairs['ArrayJobId']}_{pairs['ArrayTaskId']}"
    for job, offset in (("HetJobId", "HetJobOffset"), ("PackJobId", "PackJobOffset")):
        if job in pairs and offset in pairs:
            return f"{pairs[job]}+{pairs[offset]}"
    return pairs.get("JobId", "")


# sacct --json


_DAMAGED: Final = "the JSON of the job is damaged"
_RECORD_NAMES: Final = (
    "jobid", "jobidraw", "jobname", "user", "group", "account", "partition", "qos", "cluster", "submit", "eligible",
    "start", "end", "elapsedraw", "suspended", "planned", "state", "exitcode", "nnodes", "reqcpus", "alloctres",
    "reqtres", "nodelist", "timelimitraw", "priority", "constraints", "reservation", "submitline",
)  # fmt: skip


class _Record(msgspec.Struct, gc=False):
    """The keys of a job that are read; steps and all the rest are passed over."""

    job_id: Any = None
    time: Any = None
    account: Any = None
    allocation_nodes: Any = None
    array: Any = None
    association: Any = None
    cluster: Any = None
    constraints: Any = None
    exit_code: Any = None
    group: Any = None
    het: Any = None
    name: Any = None
    nodes: Any = None
    partition: Any = None
    priority: Any = None
    qos: Any = None
    required: Any = None
    reservation: Any = None
    state: Any = None
    submit_line: Any = None
    tres: Any = None
    user: Any = None


class _Id(msgspec.Struct, gc=False):
    """A job of which only the id is needed."""

    job_id: Any = None


_NO_JSON: Final = (msgspec.DecodeError, UnicodeDecodeError)
_RECORD: Final = msgspec.json.Decoder(_Record)
_ID: Final = msgspec.json.Decoder(_Id)


def read_sacct_json(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
    """The jobs in the output of `sacct --json`, in its order. A job with several records comes when its last does.

    Args:
        path: the file, compressed by gzip or xz or not; a pipe is copied into a temporary file.
        left_out: where it counts what it leaves out; the lines are the numbers of the jobs in the file, from 1 on.
        zone: not used: all times are seconds since 1970.

    Raises:
        InputError: the file is no output of `sacct --json`.
        OSError: the file cannot be read.
    """
    with opened(path) as source:
        rows = SacctRows(_RECORD_NAMES, left_out, zone_of(zone), source.name)
        repeated = _repeated_records(source)
        held = UnfinishedJobs(repeated, left_out)
        for number, element in enumerate(elements_of(source, "jobs"), 1):
            record = None if element is None else _decoded(element)
            if record is None:
                left_out.row(_DAMAGED, number)
                continue
            if number == 1 and not isinstance(record.time, dict):
                raise InputError(
                    "expected jobs with an object \"time\", as 'sacct --json' has them; 'squeue --json' has no history",
                    file=source.name,
                )
            values = _record_values(record)
            key = values[rows.key]
            if key in repeated:
                yield from held.add(key, rows.jobs(values, number))
            else:
                yield from rows.jobs(values, number)
        yield from held.rest()


def _decoded(element: bytes) -> _Record | None:
    try:
        return _RECORD.decode(element)
    except _NO_JSON:
        pass
    except RecursionError:
        return None
    try:  # names that are no UTF-8
        return _RECORD.decode(element.decode(errors="replace"))
    except _NO_JSON:
        return None


def _repeated_records(source: Source) -> dict[str, int]:
    repeated = RepeatedIds()
    for element in elements_of(source, "jobs"):
        try:
            repeated.add(_number(None if element is None else _ID.decode(element).job_id))
        except (*_NO_JSON, RecursionError):
            continue
    return repeated.rows


def _record_values(record: _Record) -> list[str]:
    """The texts of a job, in the order of `_NAMES`."""
    time, tres = _object(record.time), _object(record.tres)
    return [
        _record_id(record),
        _number(record.job_id),
        _text(record.name),
        _text(record.user) or _text(_object(record.association).get("user")),
        _text(record.group),
        _text(record.account) or _text(_object(record.association).get("account")),
        _text(record.partition),
        _text(record.qos),
        _text(record.cluster),
        *(_number(time.get(name)) for name in ("submission", "eligible", "start", "end")),
        *(_number(time.get(name)) for name in ("elapsed", "suspended", "planned")),
        _text(_object(record.state).get("current")),
        _codes(_object(record.exit_code)),
        _number(record.allocation_nodes),
        _number(_object(record.required).get("CPUs")),
        _resources(tres.get("allocated")),
        _resources(tres.get("requested")),
        _text(record.nodes),
        _number(time.get("limit")),
        _number(record.priority),
        _text(record.constraints),
        _text(_object(record.reservation).get("name")),
        _text(record.submit_line),
    ]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    if isinstance(value, list):
        value = value[0] if value else ""
    return value if isinstance(value, str) else ""


def _number(value: Any) -> str:
    """A number as a text, in all the forms that Slurm has for it; "" if it is not set."""
    value = json_number(value)
    if value == math.inf:
        return "UNLIMITED"
    if value is None or isinstance(value, list | dict | bool):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _record_id(record: _Record) -> str:
    array, het = _object(record.array), _object(record.het)
    first = _number(array.get("job_id"))
    if first not in ("", "0"):
        if tasks := _text(array.get("task")):
            return f"{first}_[{tasks}]"
        if task := _number(array.get("task_id")):
            return f"{first}_{task}"
    first, offset = _number(het.get("job_id")), _number(het.get("job_offset"))
    if first not in ("", "0") and offset:
        return f"{first}+{offset}"
    return _number(record.job_id)


def _codes(codes: dict[str, Any]) -> str:
    signal = _object(codes.get("signal"))
    code, number = _number(codes.get("return_code")), _number(signal.get("signal_id", signal.get("id")))
    return f"{code or 0}:{number or 0}" if code or number else ""


def _resources(listed: Any) -> str:
    """Trackable resources as sacct's text has them."""
    parts: list[str] = []
    for each in listed if isinstance(listed, list) else ():
        count = _number(_object(each).get("count"))
        if count:
            name = _text(each.get("name"))
            parts.append(f"{_text(each.get('type'))}{'/' if name else ''}{name}={count}")
    return ",".join(parts)


# The text of sacct: values with a delimiter between them, or columns of a fixed width


_STEP: Final = "a step of a job: the row of the job has it all"


def read_sacct(
    path: str | os.PathLike[str],
    left_out: LeftOut,
    *,
    zone: str | None = None,
    fields: Sequence[str] | None = None,
    delimiter: str | None = None,
) -> Iterator[LoggedJob]:
    """The jobs in the output of sacct, in its order. A job with several rows comes when its last row does.

    Args:
        path: the file, compressed by gzip or xz or not; a pipe is copied into a temporary file.
        left_out: where it counts what it leaves out.
        zone: the zone of times that have none, such as `Europe/Paris`; None: UTC.
        fields: the names of the columns, if the file has no header.
        delimiter: the text between values; None: the one that the header has, or `|`.

    Raises:
        InputError: the file is no output of sacct, or its columns do not have the times of jobs.
        OSError: the file cannot be read.
    """
    with opened(path) as source:
        layout = layout_of(source.lines(), source.name, fields, delimiter)
        rows = SacctRows(layout.names, left_out, zone_of(zone), source.name)
        repeated = _repeated(source, layout, rows.key)
        reader = _TextRows(layout, rows, repeated, left_out)
        native = _native_rows(layout, rows, repeated)
        if native is None:
            for number, line in source.lines(left_out, errors=layout.errors):
                yield from reader.line(number, line)
        else:
            for number, piece in source.pieces(left_out, errors=layout.errors):
                native.open(piece, number)
                yield from _mostly_native(native, reader, rows, left_out)
        yield from reader.rest()


class _TextRows:
    """Makes jobs of lines, one after the other."""

    def __init__(self, layout: SacctLayout, rows: SacctRows, repeated: dict[str, int], left_out: LeftOut) -> None:
        self.whole = WholeRows(layout, left_out)
        self.held = UnfinishedJobs(repeated, left_out)
        self._layout, self._rows, self._repeated, self._left_out = layout, rows, repeated, left_out
        self._width = len(layout.names)
        self._begins_with_id = bool(layout.delimiter) and not rows.id

    def line(self, number: int, line: str) -> Iterable[LoggedJob]:
        """The jobs whose last row ends with this line."""
        row = self.whole.add(number, line)
        if row is None:
            return ()
        number, line = row
        rows, between = self._rows, self._layout.delimiter
        if self._begins_with_id and "." in line[: line.find(between)]:
            self._left_out.row(_STEP, number)
            return ()
        values: list[str] | None = line.split(between) if between else None
        if (values is None or len(values) != self._width) and (values := self._layout.values(line)) is None:
            self._left_out.row("the row cannot be divided into the columns of the header", number)
            return ()
        if "." in values[rows.id]:
            self._left_out.row(_STEP, number)
            return ()
        key = values[rows.key]
        if key in self._repeated:
            return self.held.add(key, rows.jobs(values, number))
        if "[" in values[rows.id]:
            return rows.jobs(values, number)
        one = rows.job(values, number)
        return () if one is None else (one,)

    def rest(self) -> Iterator[LoggedJob]:
        """The jobs of which rows were expected that did not come."""
        self.whole.end()
        yield from self.held.rest()


def _native_rows(layout: SacctLayout, rows: SacctRows, repeated: dict[str, int]) -> _sacct.Rows | None:
    """The maker of jobs in C; None if it was not compiled, or does not know such a layout."""
    width, delimiter = len(layout.names), layout.delimiter
    if _sacct is None or width > _sacct.MOST_WIDTH or not (len(delimiter) == 1 and delimiter.isascii()):
        return None
    models = LoggedJob(id="", attempts=()), Attempt(submitted=0.0)
    places = (*rows.places, rows.key)
    return _sacct.Rows(*models, width, delimiter, places, rows.readers(), repeated)


def _mostly_native(native: _sacct.Rows, reader: _TextRows, rows: SacctRows, left_out: LeftOut) -> Iterator[LoggedJob]:
    """The jobs of the lines that were opened: in C, but for odd lines and the rest of rows that go on with the next."""
    while True:
        if not reader.whole.part:
            jobs, steps, repeated = native.read()
            last = None if repeated is None else jobs.pop()
            yield from jobs
            left_out.rows_at(_STEP, steps)
            if repeated is not None and last is not None:
                yield from reader.held.add(repeated, (last,))
                continue
        found = native.line()
        if found is None:
            return
        rows.seen = native.seen
        yield from reader.line(*found)
        native.seen = rows.seen


def _repeated(source: Source, layout: SacctLayout, column: int) -> dict[str, int]:
    """The ids that have several rows, with their numbers."""
    repeated = RepeatedIds()
    delimiter, is_last = layout.delimiter, column + 1 == len(layout.names)
    if delimiter and not is_last and layout.is_plain_before(column):  # whatever the rest is: this is its first line
        for _, piece in source.pieces():
            repeated.add_column(piece, delimiter, column)
    else:
        whole = WholeRows(layout)
        for number, line in source.lines(errors=layout.errors):
            row = whole.add(number, line)
            if row is not None and (values := layout.values(row[1])) is not None:
                repeated.add(values[column])
    return repeated.rows
