"""Tables of a scheduler's own reports on jobs, one row for each start of a job: written only if they can be read back.

This module must not know what is reported.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from batprotocol._util.tables import quoted
from batprotocol.errors import InputError, shown

__all__ = ["expect_values", "is_seconds", "parse_reports", "reports_text"]

Report = TypeVar("Report")

_TIME: Final = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,20})?", re.ASCII)


def parse_reports(
    lines: Iterable[str],
    name: str,
    kind: str,
    columns: Sequence[str],
    read: Callable[[Mapping[str, str]], Report],
    newer: Collection[int] = (),
) -> list[Report]:
    """Read a table.

    Args:
        lines: its lines, with their ends.
        name: its name in error messages.
        kind: the usual name of such a file.
        columns: its columns; `job_id` is one of them, and has no value twice.
        read: makes a report of the values of a row; it raises an InputError if they are wrong.
        newer: numbers of the last columns that are missing in older tables.

    Raises:
        InputError: the table is not of this kind; the error names the line.
    """
    rows = csv.reader(lines, strict=True)
    begin = 1
    found: dict[str, Report] = {}
    try:
        for values in rows:
            if begin == 1:
                columns = next((columns[:-each] for each in newer if values == list(columns[:-each])), columns)
                _expect_header(values, kind, columns)
            else:
                if len(values) != len(columns):
                    raise InputError(f"expected {len(columns)} values, got {len(values)}")
                row = dict(zip(columns, values, strict=True))
                report = read(row)
                if row["job_id"] in found:
                    raise InputError(f"job {shown(row['job_id'])} has a row already, and a job starts once", "job_id")
                found[row["job_id"]] = report
            begin = rows.line_num + 1
        if begin == 1:
            _expect_header([], kind, columns)
    except InputError as error:
        raise InputError(error.reason, error.path, file=name, line=begin) from None
    except (csv.Error, UnicodeDecodeError) as error:
        reason = "it is not text in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise InputError(f"it is not an {kind}: {reason}", file=name, line=begin) from None
    return list(found.values())


def reports_text(
    kind: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    read: Callable[[Mapping[str, str]], Report],
) -> str:
    """The text of a table, which `parse_reports` reads.

    Args:
        kind: the usual name of such a file.
        columns: its columns; `job_id` is one of them.
        rows: the values of each row, in the order of the columns.
        read: makes a report of the values of a row; it raises an InputError if they are wrong.

    Raises:
        InputError: a row could not be read back; the error names the job, and the column.
    """
    lines = [",".join(columns) + "\n"]
    known: set[str] = set()
    for values in rows:
        row = dict(zip(columns, values, strict=True))
        id = row["job_id"]
        try:
            read(row)
            for column, text in row.items():
                if len(text) > csv.field_size_limit() or not _is_text(text):
                    raise InputError(f"expected a text of UTF-8 that is not too long, got {shown(text)}", column)
            if id in known:
                raise InputError("the job has a row already, and a job starts once", "job_id")
        except InputError as error:
            raise InputError(f"an {kind} cannot have the job {shown(id)}: {error.reason}", error.path) from None
        known.add(id)
        lines.append(",".join(map(quoted, values)) + "\n")
    return "".join(lines)


def _is_text(text: str) -> bool:
    """Whether UTF-8 can have a text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _expect_header(values: list[str], kind: str, columns: Sequence[str]) -> None:
    if values != list(columns):
        raise InputError(f"it is not an {kind}: expected the columns {','.join(columns)}, got {shown(values)}")


def expect_values(row: Mapping[str, str], checks: Iterable[tuple[str, str, bool]]) -> None:
    """Refuse a row with a wrong value.

    Args:
        row: its values by their columns.
        checks: a column, a description of its values, and whether the value is right.

    Raises:
        InputError: a value is wrong.
    """
    for column, expected, is_right in checks:
        if not is_right:
            raise InputError(f"expected {expected}, got {shown(row[column])}", column)


def is_seconds(text: str) -> bool:
    """Whether a text is a number of seconds, as these tables write it.

    >>> is_seconds("1.500000"), is_seconds("nan"), is_seconds("1e3")
    (True, False, False)
    """
    return _TIME.fullmatch(text) is not None and math.isfinite(float(text))
