"""Logged jobs as tables, Parquet or CSV: written in row groups, and read again equal.

A table has one row for each attempt, with the values of its job in each of them. Parquet needs the package `pyarrow`,
which comes with `batprotocol[tables]`, and is imported when it is used.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from batprotocol._util.tables import LeftOut, guarded
from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.jobs import Attempt, AttemptState, LoggedJob
from batprotocol.sites.logs.sources import LONGEST, PARQUET, arrow, opened, rows_in

__all__ = [
    "COLUMNS",
    "JobsOfRows",
    "TableColumn",
    "as_text",
    "checked",
    "expect_readable",
    "read_table",
    "rows_of",
    "value_of",
    "write_table",
]


_LARGEST: Final = 2**53
_PLAIN: Final = frozenset('[]{},"\\ \t\r\n')


class TableColumn(NamedTuple):
    """A column.

    Attributes:
        kind: the kind of its values: `text`, `number`, `count`, `truth`.
        is_of_job: whether the value is one of the job, and the same in all its rows.
    """

    kind: str
    is_of_job: bool = True


def _listed(values: tuple[str, ...]) -> str | None:
    """Names with commas between them; as JSON, if that cannot be divided again."""
    if not values:
        return None
    if all(value and _PLAIN.isdisjoint(value) for value in values):
        return ",".join(values)
    try:
        return msgspec.json.encode(values).decode()
    except UnicodeEncodeError:
        raise InputError(f"expected texts that UTF-8 can have, got {shown(values)}") from None


def _names(text: str) -> tuple[str, ...]:
    if text.startswith("["):
        return msgspec.json.decode(text, type=tuple[str, ...])
    return tuple(text.split(",")) if text else ()


def _amounts(values: tuple[tuple[str, int], ...]) -> str | None:
    return _listed(tuple(f"{name}={count}" for name, count in values))


def _within(value: Any, kind: Callable[[Any], Any], least: int) -> Any:
    """A number that is large enough, and below 2^53, as all programs have it.

    Raises:
        ValueError: it is not; so for what is not a number.
    """
    number = kind(value)
    if not least <= number < _LARGEST:
        raise ValueError(value)
    return number


def _gres(text: str) -> tuple[tuple[str, int], ...]:
    found = []
    for each in _names(text):
        name, _, count = each.rpartition("=")
        found.append((name, _within(count, int, 0)))
    return tuple(found)


_OF_ATTEMPT: Final = {
    "submitted": "number",
    "eligible": "number",
    "started": "number",
    "ended": "number",
    "state": "text",
    "hosts": "text",
    "suspended": "number",
    "exit_code": "count",
    "signal": "count",
    "is_planned": "truth",
}
_COUNTS: Final = (
    *("host_count", "cores", "memory", "requested_hosts", "requested_cores", "requested_memory", "priority", "line"),
)
_OF_JOB: Final = {
    name: "count"
    if name in _COUNTS
    else {"walltime": "number", "exclusive": "truth", "packed": "truth"}.get(name, "text")
    for name in LoggedJob.__struct_fields__
    if name not in ("id", "attempts")
}

COLUMNS: Final[dict[str, TableColumn]] = {
    "id": TableColumn("text"),
    "attempt": TableColumn("count", is_of_job=False),
    **{name: TableColumn(kind, is_of_job=False) for name, kind in _OF_ATTEMPT.items()},
    **{name: TableColumn(kind) for name, kind in _OF_JOB.items()},
}
"""The columns by their names, in order."""

_WRITTEN: Final[dict[str, Callable[[Any], Any]]] = {
    "state": lambda state: state.value,
    "hosts": _listed,
    "gres": _amounts,
    "requested_gres": _amounts,
}
_LEAST: Final = {
    **dict.fromkeys(_COUNTS, 0),
    **dict.fromkeys(("walltime", "suspended"), 0),
    **dict.fromkeys(("priority", "line"), -_LARGEST),
    "host_count": 1,
}
"""The least values of columns of numbers that cannot have all."""
_READ: Final[dict[str, Callable[[Any], Any]]] = {
    **{
        name: partial(_within, kind={"number": float, "count": int}[column.kind], least=_LEAST.get(name, -_LARGEST))
        for name, column in COLUMNS.items()
        if column.kind in ("number", "count")
    },
    "state": AttemptState,
    "hosts": _names,
    "gres": _gres,
    "requested_gres": _gres,
}


_BOUNDED: Final = tuple(
    (place, name, _LEAST.get(name, -_LARGEST))
    for place, (name, column) in enumerate(COLUMNS.items())
    if column.kind in ("number", "count")
)
_TEXTS: Final = tuple((place, name) for place, (name, column) in enumerate(COLUMNS.items()) if column.kind == "text")


_AMOUNTS: Final = tuple((place, name) for place, name in _TEXTS if name in ("gres", "requested_gres"))


def expect_readable(row: Sequence[Any]) -> None:
    """Refuse a row that could not be read back.

    Args:
        row: its values in the order of `COLUMNS`.

    Raises:
        InputError: a value cannot be one of its column; `path` is the column.
    """
    for place, name, least in _BOUNDED:
        value = row[place]
        if value is not None and not least <= value < _LARGEST:
            raise InputError(f"expected a number >= {least:g} and < 2^53, got {shown(value)}", name)
    for place, name in _TEXTS:
        value = row[place]
        if value is not None and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise InputError(f"expected a text that UTF-8 can have, got {shown(value)}", name) from None
    for place, name in _AMOUNTS:
        try:
            _gres(row[place] or "")
        except ValueError:
            raise InputError(f"expected counts >= 0 and < 2^53, got {shown(row[place])}", name) from None
    if not row[0]:
        raise InputError("expected the id of a job, got nothing", "id")


def rows_of(job: LoggedJob) -> Iterator[list[Any]]:
    """The rows of a job, with the values in the order of `COLUMNS`."""
    ours = [job.id, 0]
    theirs = [
        _WRITTEN[name](value) if name in _WRITTEN else value for name in _OF_JOB for value in (getattr(job, name),)
    ]
    for number, attempt in enumerate(job.attempts, 1):
        ours[1] = number
        values = [
            _WRITTEN[name](value) if name in _WRITTEN else value
            for name in _OF_ATTEMPT
            for value in (getattr(attempt, name),)
        ]
        yield [*ours, *values, *theirs]


class JobsOfRows:
    """Makes jobs of rows. The rows of a job follow one another."""

    def __init__(self) -> None:
        self._job: dict[str, Any] = {}
        self._attempts: list[Attempt] = []

    def add(self, row: Mapping[str, Any]) -> LoggedJob | None:
        """Add a row.

        Args:
            row: its values by the names of the columns; None, or absent: there is none.

        Returns:
            the job before this one, if the row begins another one.

        Raises:
            InputError: a value cannot be one of its column; `path` is the column.
        """
        if not isinstance(row.get("id"), str) or not row["id"]:
            raise InputError(f"expected the id of a job, got {shown(row.get('id'))}", "id")
        if row.get("submitted") is None:
            raise InputError("expected the submission time of a job, got nothing", "submitted")
        attempt = Attempt(**_values(row, _OF_ATTEMPT))
        done = None
        if row.get("attempt") in (None, 1) or row["id"] != self._job.get("id"):
            job = {"id": row["id"], **_values(row, _OF_JOB)}
            done = self.last()
            self._job = job
        self._attempts.append(attempt)
        return done

    def last(self) -> LoggedJob | None:
        """The job of the rows since the last one, or None."""
        if not self._job:
            return None
        job, self._job = self._job, {}
        attempts, self._attempts = tuple(self._attempts), []
        return LoggedJob(attempts=attempts, **job)


def _values(row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in names:
        value = row.get(name)
        if value is None:
            continue
        try:
            found[name] = _READ[name](value) if name in _READ else value
        except (ValueError, OverflowError, msgspec.DecodeError):
            raise InputError(
                f"expected a value such as {_EXAMPLES.get(name, '12.5')}, got {shown(value)}", name
            ) from None
    return found


_EXAMPLES: Final = {
    **dict.fromkeys(_COUNTS, "4"),
    "state": "COMPLETED",
    "hosts": "n1,n2",
    "gres": "gpu=4",
    "requested_gres": "gpu=4",
}


# Values as the texts of a CSV file: each row is one line


_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\0": "\\0"}
_MEANT: Final = {written: meant for meant, written in _ESCAPES.items()}
_ESCAPED: Final = re.compile(r"\\[\\nr0]")
_TRUTHS: Final = {"true": True, "false": False}


def as_text(value: Any) -> str:
    r"""A value as a text.

    >>> as_text(None), as_text(""), as_text(True), as_text(2.5), as_text("a\nb")
    ('', '\\', 'true', '2.5', 'a\\nb')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return "".join(_ESCAPES.get(each, each) for each in value) if value else "\\"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _text(text: str) -> str:
    return "" if text == "\\" else _ESCAPED.sub(lambda found: _MEANT[found[0]], text) if "\\" in text else text


_KINDS: Final[dict[str, Callable[[str], Any]]] = {
    "text": _text,
    "number": float,
    "count": int,
    "truth": _TRUTHS.__getitem__,
}
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "text": (str,),
    "number": (float, int),
    "count": (int,),
    "truth": (bool,),
}
_EXPECTED: Final = {"text": "a text", "number": "a number", "count": "a whole number", "truth": "true or false"}


def checked(value: Any, kind: str) -> Any:
    """A value of a column of this kind.

    Raises:
        InputError: the value is not of this kind.
    """
    if isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind == "truth"):
        return value
    raise InputError(f"expected {_EXPECTED[kind]}, got {shown(value)}")


def value_of(text: str, kind: str) -> Any:
    """The value of a text.

    Raises:
        InputError: the text is not a value of this kind.
    """
    if not text:
        return None
    try:
        return _KINDS[kind](text)
    except (ValueError, KeyError):
        raise InputError(f"expected {_EXPECTED[kind]}, got {shown(text)}") from None


# Reading


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
        jobs, is_text = JobsOfRows(), not source.first().startswith(PARQUET)
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


# Writing


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
