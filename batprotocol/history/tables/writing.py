"""Writes logged jobs as Parquet or CSV, a row group at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any, BinaryIO, Final

from batprotocol.errors import InputError
from batprotocol.history.jobs import LoggedJob
from batprotocol.history.tables.columns import COLUMNS, rows_of
from batprotocol.history.tables.rows import arrow
from batprotocol.history.tables.text import as_text

__all__ = ["write_table"]

_ROWS: Final = 10_000
_DICTIONARIES: Final = (
    *("id", "state", "name", "user", "group", "account", "partition", "qos", "constraint", "reservation", "array"),
    *("hosts", "gres", "requested_gres", "dependency"),
)


def write_table(file: BinaryIO, jobs: Iterable[LoggedJob], kind: str = "parquet", *, group: int = _ROWS) -> int:
    """Write jobs as a table, in their order.

    Args:
        file: the file.
        jobs: the jobs. They are not kept.
        kind: `parquet` or `csv`.
        group: the rows of a row group of Parquet; so many are kept in memory.

    Returns:
        the number of jobs.

    Raises:
        PackageMissing: the package for Parquet is missing.
        InputError: a number is too large for a table.
        OSError: the file cannot be written.
    """
    return _write_csv(file, jobs) if kind == "csv" else _write_parquet(file, jobs, group)


def _write_csv(file: BinaryIO, jobs: Iterable[LoggedJob]) -> int:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    count = 0
    for job in jobs:
        count += 1
        for row in rows_of(job):
            writer.writerow([as_text(value) for value in row])
        if text.tell() >= 1 << 16:
            file.write(text.getvalue().encode("utf-8", "replace"))
            text.seek(0)
            text.truncate()
    file.write(text.getvalue().encode("utf-8", "replace"))
    return count


def _write_parquet(file: BinaryIO, jobs: Iterable[LoggedJob], group: int) -> int:
    pyarrow = arrow("parquet")
    of_kind = {
        "text": pyarrow.string(),
        "number": pyarrow.float64(),
        "count": pyarrow.int64(),
        "truth": pyarrow.bool_(),
    }
    schema = pyarrow.schema([(name, of_kind[column.kind]) for name, column in COLUMNS.items()])
    count = 0
    with pyarrow.parquet.ParquetWriter(file, schema, use_dictionary=list(_DICTIONARIES)) as writer:
        rows: list[list[Any]] = []
        for job in jobs:
            count += 1
            rows.extend(rows_of(job))
            if len(rows) >= group:
                writer.write_table(_table(pyarrow, schema, rows))
                rows = []
        if rows:
            writer.write_table(_table(pyarrow, schema, rows))
    return count


def _table(pyarrow: Any, schema: Any, rows: list[list[Any]]) -> Any:
    try:
        return pyarrow.table(
            [pyarrow.array(values, field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)],
            schema=schema,
        )
    except (pyarrow.ArrowInvalid, OverflowError) as error:
        raise InputError(f"a table cannot have a value of a job: {error}") from None
