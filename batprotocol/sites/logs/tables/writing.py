"""Writes logged jobs as Parquet or CSV, a row group at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, Final

from batprotocol._util.tables import LeftOut, guarded
from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.jobs import LoggedJob
from batprotocol.sites.logs.lines import LONGEST
from batprotocol.sites.logs.tables.columns import COLUMNS, expect_readable, rows_of
from batprotocol.sites.logs.tables.rows import arrow
from batprotocol.sites.logs.tables.text import as_text

__all__ = ["write_table"]

_ROWS: Final = 10_000
_DICTIONARIES: Final = (
    *("id", "state", "name", "user", "group", "account", "partition", "qos", "constraint", "reservation", "array"),
    *("hosts", "gres", "requested_gres", "dependency"),
)


def write_table(
    file: BinaryIO,
    jobs: Iterable[LoggedJob],
    kind: str = "parquet",
    *,
    group: int = _ROWS,
    left_out: LeftOut | None = None,
    guard: bool = False,
) -> int:
    """Write jobs as a table, in their order.

    Args:
        file: the file.
        jobs: the jobs. They are not kept.
        kind: `parquet` or `csv`.
        group: the rows of a row group of Parquet; so many are kept in memory.
        left_out: where jobs are counted that could not be read back; None: such a job is an error.
        guard: for CSV: whether an apostrophe is written before texts that a spreadsheet would compute as formulas. They
            are read back with it.

    Returns:
        the number of jobs.

    Raises:
        PackageMissing: the package for Parquet is missing.
        InputError: a job could not be read back, for example because a number is too large; the error names the job,
            and the column.
        OSError: the file cannot be written.
    """
    rows = _readable(jobs, left_out, expect_readable if kind == "parquet" else _expect_short)
    return _write_csv(file, rows, guard) if kind == "csv" else _write_parquet(file, rows, group)


def _expect_short(row: Sequence[Any]) -> None:
    """Refuse a row that could not be read back from a CSV file, where a line has a limit, and so has a value."""
    expect_readable(row)
    texts = [as_text(value) for value in row if isinstance(value, str)]
    longest = max(map(len, texts), default=0)
    if longest > csv.field_size_limit():
        raise InputError(f"expected texts of at most {csv.field_size_limit():,} characters, got {longest:,}")
    size = 2 * sum(map(len, texts))  # quotation marks are written twice
    if size > LONGEST:
        raise InputError(f"expected texts of at most {LONGEST // 2:,} characters in all, got {size // 2:,}")


def _readable(
    jobs: Iterable[LoggedJob], left_out: LeftOut | None, expect: Callable[[Sequence[Any]], None]
) -> Iterator[list[list[Any]]]:
    """The rows of each job that can be read back."""
    for job in jobs:
        try:
            rows = list(rows_of(job))
            if not rows:
                raise InputError("expected an attempt at least, got none")
            for row in rows:
                expect(row)
        except InputError as error:
            if left_out is None:
                raise InputError(f"a table cannot have the job {shown(job.id)}: {error.reason}", error.path) from None
            reason = error.reason.partition(", got ")[0]
            left_out.row(f"a table cannot have it: {f'{error.path}: ' if error.path else ''}{reason}", job.line)
            continue
        yield rows


def _write_csv(file: BinaryIO, jobs: Iterable[list[list[Any]]], guard: bool) -> int:

    def written(value: Any) -> str:
        return as_text(guarded(value) if guard else value)

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    count = 0
    for job in jobs:
        count += 1
        for row in job:
            writer.writerow([written(value) for value in row])
        if text.tell() >= 1 << 16:
            file.write(text.getvalue().encode())
            text.seek(0)
            text.truncate()
    file.write(text.getvalue().encode())
    return count


def _write_parquet(file: BinaryIO, jobs: Iterable[list[list[Any]]], group: int) -> int:
    pyarrow = arrow("parquet")
    of_kind = {
        "text": pyarrow.string(),
        "number": pyarrow.float64(),
        "count": pyarrow.int64(),
        "truth": pyarrow.bool_(),
    }
    schema = pyarrow.schema([(name, of_kind[column.kind]) for name, column in COLUMNS.items()])
    count = 0
    options = {"use_dictionary": list(_DICTIONARIES), "write_page_checksum": True}
    with pyarrow.parquet.ParquetWriter(file, schema, **options) as writer:
        rows: list[list[Any]] = []
        for job in jobs:
            count += 1
            rows.extend(job)
            if len(rows) >= group:
                writer.write_table(_table(pyarrow, schema, rows))
                rows = []
        if rows:
            writer.write_table(_table(pyarrow, schema, rows))
    return count


def _table(pyarrow: Any, schema: Any, rows: list[list[Any]]) -> Any:
    return pyarrow.table(
        [pyarrow.array(values, field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)],
        schema=schema,
    )
