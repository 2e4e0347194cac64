"""The rows of tables: CSV with a header or without, Parquet, JSON as an array or with an object on each line.

It reads them one after the other, and must not know the meaning of columns.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from batprotocol._util.requirements import installing
from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError, PackageMissing
from batprotocol.sites.logs.elements import elements_of
from batprotocol.sites.logs.lines import Source

__all__ = ["PARQUET", "UNREADABLE", "arrow", "csv_rows", "json_rows", "parquet_columns", "parquet_rows", "rows_in"]

PARQUET: Final = b"PAR1"
"""The first bytes of a Parquet file."""

UNREADABLE: Final = object()
"""A value that Python does not have: a time after the year 9999, or a text of Parquet that is not UTF-8."""

_BATCH: Final = 5_000

Row = tuple[int, dict[str, Any]]
"""The number of a row (its line in a text), and its values by the names of the columns."""


def rows_in(
    source: Source, left_out: LeftOut, header: Sequence[str] = (), columns: Iterable[str] = ()
) -> Iterator[Row]:
    """The rows of a table, whose first bytes show its kind.

    Args:
        source: the bytes.
        left_out: where rows are counted that cannot be read.
        header: the names of the columns of a CSV file without a header.
        columns: the columns that are read of a Parquet file; none: all.

    Raises:
        InputError: the table as a whole cannot be read.
        PackageMissing: the package for Parquet is missing.
        OSError: the file cannot be read.
    """
    begin = source.first()
    if begin.startswith(PARQUET):
        return parquet_rows(source, columns)
    first = begin.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return json_rows(source, left_out, first == b"[") if first in (b"[", b"{") else csv_rows(source, left_out, header)


def csv_rows(source: Source, left_out: LeftOut, header: Sequence[str] = ()) -> Iterator[Row]:
    """The rows of a CSV file. All values are texts; an empty one is None."""
    taken: list[int] = []  # the lines of the row

    def lines() -> Iterator[str]:
        for number, line in source.lines(left_out):
            taken.append(number)
            yield f"{line}\n"

    def leave_out(reason: str) -> None:
        for number in taken:  # a quotation mark too many may take many lines
            left_out.row(reason, number)

    reader = csv.reader(lines(), strict=True)
    names = list(header)
    while True:
        taken.clear()
        try:
            values = next(reader, None)
        except csv.Error as error:
            if not names:
                raise InputError(f"the header cannot be read: {error}", file=source.name, line=taken[0]) from None
            leave_out("the row cannot be divided into columns")
            continue
        if values is None:
            break
        if not names:
            names = [name.strip() for name in values]
        elif taken == [1] and values == names:
            continue  # the file has a header after all
        elif len(values) == len(names):
            yield taken[0], {name: value or None for name, value in zip(names, values, strict=True)}
        elif values:
            leave_out("the row does not have as many values as there are columns")
    if not names:
        raise InputError("expected a header with the names of columns, but the file is empty", file=source.name)


def json_rows(source: Source, left_out: LeftOut, is_array: bool = False) -> Iterator[Row]:
    """The rows of a JSON file: the objects of an array, or of lines. A row that is damaged does not end the reading."""
    is_table = not is_array
    for number, text in _elements(source) if is_array else source.lines(left_out):
        if text is None:
            left_out.row("the file ends, or is damaged, within the rows", number)
            continue
        if not text.strip():
            continue
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            left_out.row("the row is not JSON", number)
            continue
        if isinstance(value, dict):
            is_table = True
            yield number, value
        else:
            left_out.row("the row is not an object", number)
    if not is_table and left_out.rows:
        raise InputError("expected an array of objects, and none of its elements is one", file=source.name)


def _elements(source: Source) -> Iterator[tuple[int, str | None]]:
    for number, element in enumerate(elements_of(source), 1):
        yield number, None if element is None else element.decode(errors="replace")


def arrow(module: str) -> Any:
    """The package `pyarrow`, with one of its modules.

    Raises:
        PackageMissing: it is missing.
    """
    from importlib import import_module

    try:
        import_module(f"pyarrow.{module}")
        return import_module("pyarrow")
    except ImportError as error:
        raise PackageMissing(f"Parquet needs pyarrow: {installing('tables')}", name=error.name) from None


def _opened(source: Source) -> tuple[Any, Any]:
    pyarrow = arrow("parquet")
    try:
        return pyarrow, pyarrow.parquet.ParquetFile(source.stream(), page_checksum_verification=True)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"the Parquet file cannot be read: {_sentence(error)}", file=source.name) from None


def _sentence(error: Exception) -> str:
    return (str(error).splitlines() or ["it is damaged"])[0].rstrip(".")


def parquet_columns(source: Source) -> list[str]:
    """The names of the columns of a Parquet file."""
    _, file = _opened(source)
    return list(file.schema_arrow.names)


def parquet_rows(source: Source, columns: Iterable[str] = ()) -> Iterator[Row]:
    """The rows of a Parquet file. Times are `datetime` values."""
    pyarrow, file = _opened(source)
    present = set(file.schema_arrow.names)
    wanted = [name for name in dict.fromkeys(columns) if name in present] or None
    number = 0
    try:
        for batch in file.iter_batches(batch_size=_BATCH, columns=wanted):
            names = batch.schema.names
            lists = [_values(pyarrow, column) for column in batch.columns]
            for values in zip(*lists, strict=True):
                number += 1
                yield number, dict(zip(names, values, strict=True))
        if number != file.metadata.num_rows:
            raise ValueError(f"it has {file.metadata.num_rows:,} rows")
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = f"the Parquet file cannot be read after row {number:,}: {_sentence(error)}"
        raise InputError(reason, file=source.name) from None


def _values(pyarrow: Any, column: Any) -> list[Any]:
    """The values of a column, with times in microseconds: Python has no others."""
    if pyarrow.types.is_timestamp(column.type):
        column = column.cast(pyarrow.timestamp("us", column.type.tz), safe=False)
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        values = [_cell(scalar) for scalar in column]
    return values


def _cell(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return UNREADABLE
