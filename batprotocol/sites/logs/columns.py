"""Tables of published logs as logged jobs, by a file that names the columns (TOML).

Such a file has the column and its kind for each value of a job. The files `ready/NAME.toml` are those of some published
logs: the names of columns are those that the documentation of each log has. A file can be the beginning of a mapping
for another log.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Mapping as Values
from datetime import datetime, tzinfo
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

import msgspec

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import Clock, not_before, zone_of
from batprotocol.errors import InputError, hint, shown
from batprotocol.sites.logs.jobs import Attempt, AttemptState, LoggedJob, LogReader
from batprotocol.sites.logs.managers.sacct_rows import NOTHING as NO_TIME
from batprotocol.sites.logs.sources import UNREADABLE, Source, opened, rows_in
from batprotocol.workloads.requests import expanded_names

__all__ = [
    "ATTEMPT_KINDS",
    "JOB_KINDS",
    "NOTHING",
    "READY",
    "UNITS",
    "ColumnMapping",
    "Join",
    "MappedColumn",
    "getter",
    "mapping_of",
    "read_by",
    "read_mapping",
    "reader",
    "ready_mapping",
]


JOB_KINDS: Final = {
    "id": "text",
    "host_count": "count",
    "cores": "count",
    "memory": "memory",
    "requested_hosts": "count",
    "requested_cores": "count",
    "requested_memory": "memory",
    "walltime": "duration",
    "name": "text",
    "user": "text",
    "group": "text",
    "account": "text",
    "partition": "text",
    "qos": "text",
    "constraint": "text",
    "reservation": "text",
    "priority": "count",
    "dependency": "text",
    "array": "text",
    "exclusive": "truth",
    "packed": "truth",
}
"""The values of a job that can be mapped, with the kinds of their columns."""

ATTEMPT_KINDS: Final = {
    "submitted": "time",
    "eligible": "time",
    "started": "time",
    "ended": "time",
    "state": "state",
    "hosts": "names",
    "suspended": "duration",
    "exit_code": "count",
    "signal": "count",
}
"""The values of an attempt that can be mapped, with the kinds of their columns."""

UNITS: Final[dict[str, dict[str, float]]] = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "duration": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    "memory": {
        "B": 1.0,
        "KB": 1e3,
        "MB": 1e6,
        "GB": 1e9,
        "TB": 1e12,
        "KiB": 2.0**10,
        "MiB": 2.0**20,
        "GiB": 2.0**30,
        "TiB": 2.0**40,
    },
    "count": {"1": 1.0, "percent": 0.01, "milli": 0.001, "exit": 1.0, "signal": 1.0},
}
"""The units of the kinds that have some, with the default first."""

_RESOURCE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*(?::[A-Za-z_][A-Za-z0-9_.-]*)?")


class MappedColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a value is read.

    Attributes:
        column: the column. In objects of JSON, a path: `a.b`, and `a[].b` for all elements of a list.
        unit: the unit of its numbers, one of `UNITS`.
        plus: for a time: the column of a duration that is added, as start + duration.
        plus_unit: the unit of that duration; seconds by default.
        times: for a count or memory: the column of a number that it is multiplied by, as cores for each instance.
        values: other words for its values, such as `{Pass = "COMPLETED"}`.
        missing: values that mean that there is none.
        length: whether the value is the number of elements of a list.
        also: more columns, whose texts are added with a dot between them.
    """

    column: str
    unit: str = ""
    plus: str = ""
    plus_unit: str = ""
    times: str = ""
    values: dict[str, str | int | float | bool] = {}
    missing: tuple[str | int | float, ...] = ()
    length: bool = False
    also: tuple[str, ...] = ()


class Join(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Columns of another table, in a file beside this one.

    Attributes:
        file: the name of that file.
        on: the column that both have.
        columns: the new names of columns, with their names in that file.
        header: the names of the columns of that file, if it has no header.
    """

    file: str
    on: str
    columns: dict[str, str]
    header: tuple[str, ...] = ()


_Given: TypeAlias = str | MappedColumn


class ColumnMapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A mapping of columns.

    Attributes:
        title: the log.
        source: where its documentation is.
        notes: what is particular about it, as sentences.
        zone: the zone of times that have none, such as `Asia/Shanghai`.
        planned: whether it is a workload for a simulator, which has no starts; they are mapped to submissions.
        header: the names of the columns, if a CSV file has no header.
        attempts: the path of the list of attempts in an object of JSON; "": a row has one attempt.
        join: columns of another table.
        job: the values of a job.
        attempt: the values of an attempt.
        gres: the generic resources of a job, such as `gpu`.
        requested_gres: the generic resources that it asked for.
    """

    title: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    zone: str = ""
    planned: bool = False
    header: tuple[str, ...] = ()
    attempts: str = ""
    join: Join | None = None
    job: dict[str, _Given]
    attempt: dict[str, _Given]
    gres: dict[str, _Given] = {}
    requested_gres: dict[str, _Given] = {}

    def columns(self, group: str) -> dict[str, MappedColumn]:
        """The columns of a group: `job`, `attempt`, `gres` or `requested_gres`."""
        given: dict[str, _Given] = getattr(self, group)
        return {name: MappedColumn(each) if isinstance(each, str) else each for name, each in given.items()}


def read_mapping(path: str | os.PathLike[str]) -> ColumnMapping:
    """Read a mapping from a TOML file.

    Raises:
        InputError: the file is not a mapping; with its place.
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read()
    return mapping_of(data, os.fspath(path))


def mapping_of(data: bytes, name: str = "") -> ColumnMapping:
    """The mapping of a TOML text.

    >>> mapping_of(b'[job]\\nid = "job"\\n[attempt]\\nsubmitted = "t"\\n').columns("job")["id"].column
    'job'

    Raises:
        InputError: the text is not a mapping; with its place.
    """
    try:
        mapping = msgspec.convert(msgspec.toml.decode(data), ColumnMapping)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at ")
        raise InputError(f"{reason[:1].lower()}{reason[1:]}", place.strip("`$."), file=name) from None
    except (msgspec.DecodeError, ValueError, RecursionError) as error:  # a number can have too many digits
        raise InputError(f"this is not TOML: {error}", file=name) from None
    try:
        _check(mapping)
    except InputError as error:
        raise InputError(error.reason, error.path, file=name) from None
    return mapping


def _check(mapping: ColumnMapping) -> None:
    for group, known in (("job", JOB_KINDS), ("attempt", ATTEMPT_KINDS)):
        for field, column in mapping.columns(group).items():
            if field not in known:
                raise InputError(f"expected one of {', '.join(known)}, got {shown(field)}{hint(field, known)}", group)
            _check_column(f"{group}.{field}", column, known[field])
    for group in ("gres", "requested_gres"):
        for field, column in mapping.columns(group).items():
            if not _RESOURCE.fullmatch(field):
                raise InputError(f"expected the name of a resource such as gpu or gpu:a100, got {shown(field)}", group)
            _check_column(f"{group}.{field}", column, "count")
    for group, field in (("job", "id"), ("attempt", "submitted")):
        if field not in getattr(mapping, group):
            raise InputError(f"add the column of {field}, which each job has", group)
    if mapping.join is not None and os.path.basename(mapping.join.file) != mapping.join.file:
        raise InputError(f"expected the name of a file beside the log, got {shown(mapping.join.file)}", "join.file")


def _check_column(place: str, column: MappedColumn, kind: str) -> None:
    units = UNITS.get(kind, {})
    if column.unit and column.unit not in units:
        expected = f"one of {', '.join(units)}" if units else f"no unit for a value of the kind {kind}"
        raise InputError(f"expected {expected}, got {shown(column.unit)}", f"{place}.unit")
    if column.plus_unit and column.plus_unit not in UNITS["duration"]:
        known_units = ", ".join(UNITS["duration"])
        raise InputError(f"expected one of {known_units}, got {shown(column.plus_unit)}", f"{place}.plus_unit")
    only: tuple[tuple[str, bool, tuple[str, ...]], ...] = (
        ("plus", bool(column.plus), ("time",)),
        ("plus_unit", bool(column.plus_unit), ("time",)),
        ("times", bool(column.times), ("count", "memory")),
        ("length", column.length, ("count",)),
        ("also", bool(column.also), ("text",)),
    )
    for key, is_given, kinds in only:
        if is_given and kind not in kinds:
            raise InputError(
                f"only values of the kind {' or '.join(kinds)} have it, and this one is a {kind}", f"{place}.{key}"
            )
    if kind == "state":
        for word, state in column.values.items():
            if state not in AttemptState.__members__:
                known = ", ".join(AttemptState.__members__)
                raise InputError(f"expected one of {known}, got {shown(state)}", f"{place}.values.{word}")


# Places of values in rows: a column, or a path into objects of JSON such as `detail[].ip`


Getter = Callable[[Mapping[str, Any]], Any]
"""Finds a value in a row; None: there is none."""


def getter(path: str) -> Getter:
    """A function that finds the value at a place of a row.

    A column whose name is the whole path comes first. Otherwise, `.` goes into an object, and `[]` to all elements of a
    list: what is behind it is found in each of them, and the result is a list.

    >>> row = {"a.b": 1, "detail": [{"ip": "m1", "gpus": [0, 1]}, {"ip": "m2", "gpus": [4]}]}
    >>> getter("a.b")(row), getter("detail[].ip")(row), getter("detail[].gpus[]")(row), getter("none.x")(row)
    (1, ['m1', 'm2'], [0, 1, 4], None)
    """
    steps = path.replace("[]", ".[]").split(".")
    if len(steps) == 1:
        return lambda row: row.get(path)

    def find(row: Values[str, Any]) -> Any:
        return row[path] if path in row else _found(row, steps, 0)

    return find


def _found(value: Any, steps: list[str], place: int) -> Any:
    for number in range(place, len(steps)):
        step = steps[number]
        if step == "[]":
            if not isinstance(value, list):
                return None
            found = []
            for element in value:
                inner = _found(element, steps, number + 1)
                if isinstance(inner, list):
                    found.extend(inner)
                elif inner is not None:
                    found.append(inner)
            return found
        value = value.get(step) if isinstance(value, dict) else None
    return value


# Values by their kinds: times, durations, counts, memory, names of hosts, states


NOTHING: Final = frozenset({"", "nan", "NaN", "None", "null", "NULL", "NaT", "N/A"})
"""The texts that mean that there is no value."""

_LARGEST: Final = 2.0**53
_LATEST: Final = 1e12
_OF_STATUS: Final[dict[str, Callable[[int], int]]] = {
    "exit": lambda status: status >> 8 & 0xFF,
    "signal": lambda status: status & 0x7F,
}
"""The exit code and the signal in a status of `wait`."""
_NAME: Final = re.compile(r"[A-Za-z0-9_.:-]+")

Read = Callable[[Mapping[str, Any]], Any]
"""Reads a value of a row; None: there is none. It raises a ValueError if the value is not of its kind."""


def reader(column: MappedColumn, kind: str, zone: tzinfo) -> Read:
    """A function that reads the value of a column.

    Args:
        column: the column.
        kind: the kind of the value.
        zone: the zone of times that have none.
    """
    find = getter(column.column)
    convert = _KINDS[kind](column, zone)
    missing = NOTHING | {str(each) for each in column.missing}
    values = column.values

    def read(row: Mapping[str, Any]) -> Any:
        value = find(row)
        if value is None or value != value:  # a missing number of Parquet may be NaN
            return None
        if value is UNREADABLE or isinstance(value, dict):
            raise ValueError(value)
        if isinstance(value, str):
            value = value.strip()
        if not isinstance(value, list) and (missing and str(value) in missing):
            return None
        if values and not isinstance(value, list):
            value = values.get(str(value), value)
        return convert(value, row)

    return read


def _time(column: MappedColumn, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
    factor = UNITS["time"][column.unit or "s"]
    clock = Clock(zone, NO_TIME)
    added = reader(MappedColumn(column.plus, column.plus_unit), "duration", zone) if column.plus else None

    latest: float | None = -math.inf  # None: the rows are not in the order of this column

    def convert(value: Any, row: Mapping[str, Any]) -> float | None:
        nonlocal latest
        moment: float | None
        before = -math.inf if latest is None else latest
        if isinstance(value, datetime):
            moment = (value if value.tzinfo else value.replace(tzinfo=zone)).timestamp()
            moment = moment if value.tzinfo else not_before(moment, before, zone)
        elif isinstance(value, str) and not _is_number(value):
            moment = clock.after(value, before)
        else:
            moment = _number(value) * factor
        if moment is not None and latest is not None:
            latest = moment if moment >= latest else None
        if moment is not None and added is not None:
            more = added(row)
            moment = None if more is None else moment + more
        if moment is not None and not abs(moment) < _LATEST:
            raise ValueError(value)
        return moment

    return convert


def _duration(column: MappedColumn, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
    factor = UNITS["duration"][column.unit or "s"]

    def convert(value: Any, row: Mapping[str, Any]) -> float:
        seconds = _number(value) * factor
        if not 0 <= seconds < _LATEST:
            raise ValueError(value)
        return seconds

    return convert


def _amount(kind: str) -> Callable[[MappedColumn, tzinfo], Callable[[Any, Mapping[str, Any]], Any]]:
    def make(column: MappedColumn, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
        units = UNITS[kind]
        factor = units[column.unit or next(iter(units))]
        by = reader(MappedColumn(column.times), "number", zone) if column.times else None

        def convert(value: Any, row: Mapping[str, Any]) -> int | None:
            if column.length:
                if not isinstance(value, list):
                    raise ValueError(value)
                return len(value)
            number: float = value if type(value) is int and factor == 1.0 else _number(value) * factor
            if by is not None:
                times = by(row)
                if times is None:
                    return None
                number *= times
            if not 0 <= number < _LARGEST:
                raise ValueError(value)
            if column.unit in _OF_STATUS:
                return _OF_STATUS[column.unit](int(number))
            return math.ceil(round(number, 6))

        return convert

    return make


def _plain_number(column: MappedColumn, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
    return lambda value, row: _number(value)


def _text(column: MappedColumn, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
    others = [reader(MappedColumn(each), "text", zone) for each in column.also]

    def convert(value: Any, row: Mapping[str, Any]) -> str:
        if isinstance(value, list):
            raise ValueError(value)
        if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST:
            value = int(value)  # a column of whole numbers with a missing one is read as doubles by some programs
        return ".".join([str(value), *(str(found) for other in others if (found := other(row)) is not None)])

    return convert


def _names(column: MappedColumn, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
    def convert(value: Any, row: Mapping[str, Any]) -> tuple[str, ...]:
        if isinstance(value, list):
            return tuple(dict.fromkeys(str(each) for each in value if each is not None))
        text = str(value)
        if "[" in text and not text.startswith("["):
            try:
                return tuple(expanded_names(text))
            except InputError:
                raise ValueError(value) from None
        return tuple(dict.fromkeys(_NAME.findall(text)))

    return convert


def _state(column: MappedColumn, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
    # Of a word that is no state, the caller counts that it cannot be read: an attempt has the state UNKNOWN then.
    return lambda value, row: AttemptState(str(value).upper().partition(" ")[0])


_TRUTHS: Final = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


def _truth(column: MappedColumn, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
    def convert(value: Any, row: Mapping[str, Any]) -> bool:
        found = _TRUTHS.get(str(value).lower())
        if found is None:
            raise ValueError(value)
        return found

    return convert


_KINDS: Final = {
    "time": _time,
    "duration": _duration,
    "count": _amount("count"),
    "memory": _amount("memory"),
    "number": _plain_number,
    "text": _text,
    "names": _names,
    "state": _state,
    "truth": _truth,
}
"""For each kind, the function that makes the conversion of a column."""


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).isdecimal()


def _number(value: Any) -> float:
    """A finite number.

    Raises:
        ValueError: the value is not a number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(shown(value))
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(shown(value)) from None
    if not math.isfinite(number):
        raise ValueError(shown(value))
    return number


# Jobs of a table


_SHOWN: Final = 20
"""The columns that an error shows."""
_ENOUGH: Final = 1_000
"""The rows after which a column that has no value is one that the table does not have."""
_LAST: Final = "last"
"""The name of the last attempt in a row, for values of a job that only its attempts have."""


def read_by(
    mapping: ColumnMapping, path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None
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
    rows = _MappedRows(mapping, zone_of(zone or mapping.zone or None), left_out)
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


def _joined(mapping: ColumnMapping, source: Source, left_out: LeftOut) -> dict[Any, dict[str, Any]]:
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


class _MappedRows:
    """Makes jobs of rows."""

    def __init__(self, mapping: ColumnMapping, zone: tzinfo, left_out: LeftOut) -> None:
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
                values["state"] = AttemptState.REQUEUED
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


def _readers(mapping: ColumnMapping, group: str, kinds: Values[str, str], zone: tzinfo) -> dict[str, Read]:
    return {name: reader(column, kinds[name], zone) for name, column in mapping.columns(group).items()}


# Mappings of published logs


READY: Final = ("pm100", "fugaku", "philly", "helios", "alibaba-2020", "alibaba-2023", "cigri", "opendc")
"""The names of the formats."""


@cache
def ready_mapping(name: str) -> ColumnMapping:
    """The mapping of a published log.

    >>> ready_mapping("helios").columns("gres")["gpu"].column
    'gpu_num'
    """
    return mapping_of(files(__package__).joinpath("ready").joinpath(f"{name}.toml").read_bytes(), name)


def _reader(name: str) -> LogReader:
    def read(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
        return read_by(ready_mapping(name), path, left_out, zone=zone)

    return read


read_pm100: Final = _reader("pm100")
read_fugaku: Final = _reader("fugaku")
read_philly: Final = _reader("philly")
read_helios: Final = _reader("helios")
read_alibaba_2020: Final = _reader("alibaba-2020")
read_alibaba_2023: Final = _reader("alibaba-2023")
read_cigri: Final = _reader("cigri")
read_opendc: Final = _reader("opendc")
