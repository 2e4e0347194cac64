"""Reads the output of `flux jobs -a --json`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError
from batprotocol.sites.logs.jobs import AttemptState, LoggedJob
from batprotocol.sites.logs.managers.rows import LogRow, RefusedRow, amount_of, moment_of, number_of, text_of
from batprotocol.sites.logs.managers.sacct_rows import HostNames
from batprotocol.sites.logs.sources import elements_of, objects_in, opened

__all__ = ["read_flux"]

_ARRAY: Final = re.compile(rb'\A\s*\[|"jobs"\s*:\s*\[')
_DAMAGED: Final = "the JSON of the job is damaged"
_RESULTS: Final = {
    "COMPLETED": AttemptState.COMPLETED,
    "FAILED": AttemptState.FAILED,
    "CANCELED": AttemptState.CANCELLED,
    "TIMEOUT": AttemptState.TIMEOUT,
}
_STATES: Final = {
    "NEW": AttemptState.PENDING,
    "DEPEND": AttemptState.PENDING,
    "PRIORITY": AttemptState.PENDING,
    "SCHED": AttemptState.PENDING,
    "RUN": AttemptState.RUNNING,
    "CLEANUP": AttemptState.UNKNOWN,
    "INACTIVE": AttemptState.UNKNOWN,
}
_NEVER_RAN: Final = -128  # the return code of a job that was cancelled before it ran


def read_flux(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
    """The jobs in the output of `flux jobs -a --json`, in its order; or the one of `flux jobs --json ID`.

    Args:
        path: the file, compressed by gzip or xz or not; a pipe is copied into a temporary file.
        left_out: where it counts what it leaves out; the lines are the numbers of the jobs in the file, from 1 on.
        zone: not used: all times are seconds since 1970.

    Raises:
        InputError: the file has neither an array of jobs, nor one job, as `flux jobs --json ID` prints it.
        OSError: the file cannot be read.
    """
    names = HostNames()
    with opened(path) as source:
        begin = source.first()
        has_array = _ARRAY.search(begin) is not None or b'"t_submit"' not in begin
        for number, element in enumerate(elements_of(source, "jobs") if has_array else objects_in(source), 1):
            job = None if element is None else _decoded(element)
            if job is None:
                left_out.row(_DAMAGED, number)
                continue
            if number == 1 and "t_submit" not in job:
                raise InputError('expected jobs with a key "t_submit", as flux jobs --json has them', file=source.name)
            try:
                yield _job(job, LogRow(left_out, number), names)
            except RefusedRow as refused:
                left_out.row(str(refused), number)


def _decoded(element: bytes) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(element.decode(errors="replace"))
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _job(values: Mapping[str, Any], row: LogRow, names: HostNames) -> LoggedJob:
    """The job of an object.

    Raises:
        Refused: it is left out.
    """
    id = text_of(values.get("id"))
    if id is None:
        raise RefusedRow("the job has no id")
    submitted, started, cleanup, inactive = (
        row.needed(name, moment_of, values.get(name)) for name in ("t_submit", "t_run", "t_cleanup", "t_inactive")
    )
    code, signal = _codes(row.read("returncode", number_of, values.get("returncode")))
    hosts = row.read("nodelist", lambda text: names.of(text) if text else (), text_of(values.get("nodelist")))
    attempt = row.attempt(
        submitted,
        started,
        cleanup or inactive,
        _state(values, row),
        hosts=hosts or (),
        exit_code=code,
        signal=signal,
    )
    host_count = row.read("nnodes", amount_of, values.get("nnodes"))
    cores = row.read("ncores", amount_of, values.get("ncores"))
    has_run = attempt.started is not None
    priority = row.read("priority", number_of, values.get("priority"))
    return LoggedJob(
        id=id,
        attempts=(attempt,),
        host_count=host_count or len(attempt.hosts) or 1,
        cores=cores if has_run else None,
        requested_hosts=None if has_run else host_count,
        requested_cores=None if has_run else cores,
        walltime=row.read("duration", number_of, values.get("duration")) or None,
        name=text_of(values.get("name")),
        user=text_of(values.get("username")) or text_of(values.get("userid")),
        account=text_of(values.get("bank")),
        partition=text_of(values.get("queue")),
        priority=None if priority is None else int(priority),
        line=row.line,
    )


def _codes(code: float | None) -> tuple[int | None, int | None]:
    """The exit code and the signal: a signal is a negative return code."""
    if code is None or code <= _NEVER_RAN:
        return None, None
    return (int(code), None) if code >= 0 else (0, int(-code))


def _state(values: Mapping[str, Any], row: LogRow) -> AttemptState:
    result, state = text_of(values.get("result")), text_of(values.get("state"))
    if result:
        found = _RESULTS.get(result)
    else:
        found = _STATES.get(state) if state else AttemptState.UNKNOWN
    if found is None:
        row.note("the values of result and state cannot be read")
    return found or AttemptState.UNKNOWN
