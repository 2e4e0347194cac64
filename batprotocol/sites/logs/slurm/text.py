"""Reads the output of sacct: values with a delimiter between them (`sacct -P`), or columns of a fixed width."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import zone_of
from batprotocol.sites.logs.jobs import LoggedJob
from batprotocol.sites.logs.lines import Source, opened
from batprotocol.sites.logs.slurm.attempts import Held
from batprotocol.sites.logs.slurm.columns import Layout, layout_of, whole_rows
from batprotocol.sites.logs.slurm.ids import Repeated
from batprotocol.sites.logs.slurm.rows import Rows

__all__ = ["read_sacct"]

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
        rows = Rows(layout.names, left_out, zone_of(zone), source.name)
        repeated = _repeated(source, layout, rows.key)
        held = Held(repeated, left_out)
        between, width = layout.delimiter, len(layout.names)
        begins_with_id = bool(between) and not rows.id
        for number, line in whole_rows(source.lines(left_out, errors=layout.errors), layout, left_out):
            if begins_with_id and "." in line[: line.find(between)]:
                left_out.row(_STEP, number)
                continue
            values: list[str] | None = line.split(between) if between else None
            if (values is None or len(values) != width) and (values := layout.values(line)) is None:
                left_out.row("the row cannot be divided into the columns of the header", number)
                continue
            if "." in values[rows.id]:
                left_out.row(_STEP, number)
                continue
            key = values[rows.key]
            if key in repeated:
                yield from held.add(key, rows.jobs(values, number))
            elif "[" in values[rows.id]:
                yield from rows.jobs(values, number)
            elif (one := rows.job(values, number)) is not None:
                yield one
        yield from held.rest()


def _repeated(source: Source, layout: Layout, column: int) -> dict[str, int]:
    """The ids that have several rows, with their numbers."""
    repeated = Repeated()
    add, delimiter, most = repeated.add, layout.delimiter, column + 1
    if delimiter and layout.is_plain_before(column):  # whatever the rest of the row is: this is its first line
        for _, line in source.lines():
            pieces = line.split(delimiter, most)
            if len(pieces) > most:
                add(pieces[column])
    else:
        for _, line in whole_rows(source.lines(errors=layout.errors), layout):
            if (values := layout.values(line)) is not None:
                add(values[column])
    return repeated.rows
