"""Reads tables of logged jobs that `write_table` wrote, or that have the same columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError
from batprotocol.sites.logs.jobs import LoggedJob
from batprotocol.sites.logs.lines import opened
from batprotocol.sites.logs.tables.columns import COLUMNS, Jobs
from batprotocol.sites.logs.tables.rows import PARQUET, rows_in
from batprotocol.sites.logs.tables.text import checked, value_of

__all__ = ["read_table"]


def read_table(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
    """The jobs of a table, in its order.

    Args:
        path: the file: Parquet or CSV, the latter compressed or not.
        left_out: where it counts rows with a value that their column cannot have.
        zone: not used: times are seconds since 1970.

    Raises:
        InputError: the file is not such a table.
        PackageMissing: the package for Parquet is missing.
        OSError: the file cannot be read.
    """
    with opened(path) as source:
        jobs, is_text = Jobs(), not source.first().startswith(PARQUET)
        is_known = False
        for number, row in rows_in(source, left_out):
            if not is_known:
                is_known = _is_ours(row, source.name)
            try:
                done = jobs.add(_typed(row, is_text))
            except InputError as error:
                left_out.row(f"{error.path}: {error.reason.partition(', got ')[0]}", number)
                continue
            if done is not None:
                yield done
        last = jobs.last()
        if last is not None:
            yield last


def _is_ours(row: Mapping[str, Any], name: str) -> bool:
    """Whether a row has the columns that each job needs.

    Raises:
        InputError: it does not.
    """
    if "id" in row and "submitted" in row:
        return True
    raise InputError("expected a table with the columns id and submitted, as batproto import writes it", file=name)


def _typed(row: Mapping[str, Any], is_text: bool) -> dict[str, Any]:
    """The values of the columns that tables of jobs have. Those of a CSV file are texts."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        column = COLUMNS.get(name)
        if column is None or value is None:
            continue
        try:
            found[name] = (value_of if is_text else checked)(value, column.kind)
        except InputError as error:
            raise InputError(error.reason, name) from None
    return found
