"""Reads a table as logged jobs, by a mapping of its columns."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from collections.abc import Mapping as Values
from datetime import tzinfo
from typing import Any, Final

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import not_before, zone_of
from batprotocol.errors import InputError
from batprotocol.sites.logs.columns.mapping import ATTEMPT_KINDS, JOB_KINDS, Mapping
from batprotocol.sites.logs.columns.places import getter
from batprotocol.sites.logs.columns.values import Read, reader
from batprotocol.sites.logs.jobs import Attempt, JobState, LoggedJob
from batprotocol.sites.logs.lines import Source, opened
from batprotocol.sites.logs.tables.rows import rows_in

__all__ = ["read_by"]

_SHOWN: Final = 20
"""The columns that an error shows."""
_ENOUGH: Final = 1_000
"""The rows after which a column that has no value is one that the table does not have."""
_LAST: Final = "last"
"""The name of the last attempt in a row, for values of a job that only its attempts have."""


def read_by(
    mapping: Mapping, path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None
) -> Iterator[LoggedJob]:
    """The jobs of a table, in its order.

    Args:
        mapping: the mapping of its columns.
        path: the file: CSV or JSON, compressed or not, or Parquet.
        left_out: where it counts what it leaves out.
        zone: the zone of times that have none; None: that of the mapping, or UTC.

    Raises:
        InputError: the table cannot be read, or does not have the columns of ids and submissions.
        PackageMissing: the package for Parquet is missing.
        OSError: the file cannot be read.
    """
    rows = _Rows(mapping, zone_of(zone or mapping.zone or None), left_out)
    with opened(path) as source:
        joined = _joined(mapping, source, left_out)
        for number, row in rows_in(source, left_out, mapping.header, rows.roots):
            rows.expect(row, source.name)
            if mapping.join is not None:
                more = joined.get(_key(row.get(mapping.join.on)))
                if more is None:
                    left_out.row(f"{mapping.join.file} does not have the row", number)
                    continue
                row |= more
            job = rows.job(row, number)
            if job is not None:
                yield job
        rows.expect_some(source.name)


def _joined(mapping: Mapping, source: Source, left_out: LeftOut) -> dict[Any, dict[str, Any]]:
    """The columns of the other table, by the value that both have."""
    join = mapping.join
    if join is None:
        return {}
    path = os.path.join(os.path.dirname(os.path.abspath(source.name)), join.file)
    found: dict[Any, dict[str, Any]] = {}
    texts: dict[str, str] = {}
    try:
        with opened(path) as other:
            for _, row in rows_in(other, LeftOut(), join.header, [join.on, *join.columns.values()]):
                key = _key(row.get(join.on))
                if key is not None:
                    values = {new: row[old] for new, old in join.columns.items() if old in row}
                    found[key] = {
                        new: texts.setdefault(value, value) if isinstance(value, str) else value
                        for new, value in values.items()
                    }
    except FileNotFoundError:
        raise InputError(
            f"put the file {join.file} beside it, which has the columns {', '.join(join.columns)}", file=source.name
        ) from None
    return found


def _key(value: Any) -> Any:
    """A value that two tables share. A list or an object of JSON or Parquet cannot be one: None."""
    return value if isinstance(value, str | int | float) else None


class _Rows:
    """Makes jobs of rows."""

    def __init__(self, mapping: Mapping, zone: tzinfo, left_out: LeftOut) -> None:
        self._mapping = mapping
        self._left_out = left_out
        self._zone = zone
        self._job = _readers(mapping, "job", JOB_KINDS, zone)
        self._attempt = _readers(mapping, "attempt", ATTEMPT_KINDS, zone)
        self._gres = {
            group: _readers(mapping, group, dict.fromkeys(getattr(mapping, group), "count"), zone)
            for group in ("gres", "requested_gres")
        }
        self._attempts = getter(mapping.attempts) if mapping.attempts else None
        needed = [mapping.columns("job")["id"].column]
        if mapping.join is None and not mapping.attempts:
            needed.append(mapping.columns("attempt")["submitted"].column)
        self._needed = {path: getter(path) for path in needed}
        self._seen = 0
        self._first: list[str] = []

    @property
    def roots(self) -> list[str]:
        """The columns of the table that the mapping names."""
        found = [self._mapping.attempts, *(() if self._mapping.join is None else (self._mapping.join.on,))]
        for group in ("job", "attempt", "gres", "requested_gres"):
            for column in self._mapping.columns(group).values():
                found += [column.column, column.plus, column.times, *column.also]
        paths = [each for each in found if each]
        return [*paths, *(path.split(".")[0].split("[")[0] for path in paths)]

    def expect(self, row: Values[str, Any], name: str) -> None:
        """Check that a table is the one that the mapping is for. A single row may lack a value, and is counted later.

        Raises:
            InputError: many rows do not have a column that each job has.
        """
        if not self._needed:
            return
        self._first = self._first or list(row)[:_SHOWN]
        self._seen += 1
        for path in [path for path, find in self._needed.items() if find(row) is not None]:
            del self._needed[path]
        if self._seen >= _ENOUGH:
            self.expect_some(name)

    def expect_some(self, name: str) -> None:
        """Check that each column that jobs need has a value in one of the rows, if there are rows.

        Raises:
            InputError: a column has none.
        """
        if self._needed and self._seen:
            path, known = next(iter(self._needed)), ", ".join(self._first)
            raise InputError(f"expected the column {path!r}; the columns of the first row are {known}", file=name)

    def job(self, row: dict[str, Any], number: int) -> LoggedJob | None:
        """The job of a row, or None if it is left out."""
        attempts = self._attempts_of(row, number)
        if attempts is None:
            return None
        values = self._values(self._job, row, number)
        if not values.get("id"):
            self._left_out.row("the row does not have an id", number)
            return None
        if values.get("host_count", 1) < 1 or "host_count" not in values:
            values["host_count"] = max(len(attempts[-1].hosts), 1)
        for group, readers in self._gres.items():
            found = self._values(readers, row, number)
            values[group] = tuple((name, count) for name, count in found.items() if count)
        return LoggedJob(attempts=attempts, line=number, **values)

    def _attempts_of(self, row: dict[str, Any], number: int) -> tuple[Attempt, ...] | None:
        given = [row]
        if self._attempts is not None:
            listed = self._attempts(row)
            inner = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
            given = [{**row, **each} for each in inner] or given
            row[_LAST] = inner[-1] if inner else {}
        attempts: list[Attempt] = []
        for place, each in enumerate(given):
            values = self._values(self._attempt, each, number)
            if values.get("submitted") is None:
                self._left_out.row("the row does not have a submission time", number)
                return None
            self._expect_order(values)
            if place < len(given) - 1:
                values["state"] = JobState.REQUEUED
            if attempts and attempts[-1].ended is not None:
                values["submitted"] = max(values["submitted"], attempts[-1].ended)
            attempts.append(Attempt(**values, is_planned=self._mapping.planned))
        return tuple(attempts)

    def _expect_order(self, moments: dict[str, Any]) -> None:
        """Let the moments of an attempt follow one another, where clocks were set back."""
        latest = -math.inf
        for name in ("submitted", "started", "ended"):
            moment = moments.get(name)
            if moment is not None:
                latest = moments[name] = moment if moment >= latest else not_before(moment, latest, self._zone)

    def _values(self, readers: dict[str, Read], row: Values[str, Any], number: int) -> dict[str, Any]:
        found = {}
        for name, read in readers.items():
            try:
                value = read(row)
            except (ValueError, OverflowError, ArithmeticError):
                self._left_out.value(f"the value of {name} cannot be read", number)
                continue
            if value is not None:
                found[name] = value
        return found


def _readers(mapping: Mapping, group: str, kinds: Values[str, str], zone: tzinfo) -> dict[str, Read]:
    return {name: reader(column, kinds[name], zone) for name, column in mapping.columns(group).items()}
