"""Reads `sacct --json`: each job becomes a row of texts, named like sacct's fields.

The forms of several versions are read: a number is a number, or `{"set": true, "infinite": false, "number": 3}`; a
state or status is a text, or a list of texts.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import zone_of
from batprotocol.errors import InputError
from batprotocol.sites.logs.elements import elements_of
from batprotocol.sites.logs.jobs import LoggedJob
from batprotocol.sites.logs.lines import Source, opened
from batprotocol.sites.logs.slurm.attempts import Held
from batprotocol.sites.logs.slurm.ids import Repeated
from batprotocol.sites.logs.slurm.rows import Rows
from batprotocol.sites.slurm.texts import json_number

__all__ = ["read_sacct_json"]

_DAMAGED: Final = "the JSON of the job is damaged"
_NAMES: Final = (
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
        rows = Rows(_NAMES, left_out, zone_of(zone), source.name)
        repeated = _repeated(source)
        held = Held(repeated, left_out)
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
            values = _values(record)
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


def _repeated(source: Source) -> dict[str, int]:
    repeated = Repeated()
    for element in elements_of(source, "jobs"):
        try:
            repeated.add(_number(None if element is None else _ID.decode(element).job_id))
        except (*_NO_JSON, RecursionError):
            continue
    return repeated.rows


def _values(record: _Record) -> list[str]:
    """The texts of a job, in the order of `_NAMES`."""
    time, tres = _object(record.time), _object(record.tres)
    return [
        _id(record),
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


def _id(record: _Record) -> str:
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
