"""Reads the output of CiGri 3's `gridstat -j`: a line `key: value` for each column of its table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import Clock, zone_of
from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.jobs import JobState, LoggedJob
from batprotocol.sites.logs.lines import opened
from batprotocol.sites.logs.managers.making import Refused, Row, number_of, text_of
from batprotocol.sites.logs.slurm.times import NOTHING

__all__ = ["read_gridstat"]

_STATES: Final = {
    "to_launch": JobState.PENDING,
    "launching": JobState.PENDING,
    "submitted": JobState.PENDING,
    "remote_waiting": JobState.PENDING,
    "batch_waiting": JobState.PENDING,
    "running": JobState.RUNNING,
    "terminated": JobState.COMPLETED,
    "event": JobState.FAILED,
}
"""The states of CiGri's jobs."""
_KEYS: Final = frozenset(
    ("campaign_id", "cluster_name", "grid_user", "id", "param", "return_code", "start_time", "state", "stop_time",
     "submission_time")
)  # fmt: skip
_LONGEST: Final = 10_000
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
            if colon and key in _KEYS:
                values.setdefault(key, value.strip()[:_LONGEST])
        yield from _jobs(values, begin, left_out, clock)


def _jobs(values: Mapping[str, str], begin: int, left_out: LeftOut, clock: Clock) -> Iterator[LoggedJob]:
    if not begin:
        return
    try:
        yield _job(values, Row(left_out, begin), clock)
    except Refused as refused:
        left_out.row(str(refused), begin)


def _job(values: Mapping[str, str], row: Row, clock: Clock) -> LoggedJob:
    """The job of these values.

    Raises:
        Refused: it is left out.
    """
    id, state = values.get("id", ""), _STATES.get(values.get("state", ""))
    if not (id.isascii() and id.isdecimal()):
        raise Refused("the id is not one of CiGri's jobs")
    if state is None:
        row.note("the value of state cannot be read")
    moments: list[float | None] = []
    for name in ("submission_time", "start_time", "stop_time"):
        latest = max((each for each in moments if each is not None), default=0.0)
        moments.append(row.needed(name, partial(clock.after, before=latest), values.get(name, "")))
    submitted, started, ended = moments
    if state in (JobState.PENDING, JobState.RUNNING):
        ended = None
        started = None if state is JobState.PENDING else started
    code = row.read("return_code", number_of, values.get("return_code"))
    status = None if code is None or code < 0 else int(code)
    attempt = row.attempt(
        submitted,
        started,
        ended,
        state or JobState.UNKNOWN,
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
