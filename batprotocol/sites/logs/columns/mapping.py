"""A mapping of columns: for each value of a logged job, the column of a table, and how its values are read."""

from __future__ import annotations

import os
import re
from typing import Final, TypeAlias

import msgspec

from batprotocol.errors import InputError, hint, shown
from batprotocol.sites.logs.jobs import JobState

__all__ = ["ATTEMPT_KINDS", "JOB_KINDS", "UNITS", "Column", "Join", "Mapping", "mapping_of", "read_mapping"]

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


class Column(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


_Given: TypeAlias = str | Column


class Mapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
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

    def columns(self, group: str) -> dict[str, Column]:
        """The columns of a group: `job`, `attempt`, `gres` or `requested_gres`."""
        given: dict[str, _Given] = getattr(self, group)
        return {name: Column(each) if isinstance(each, str) else each for name, each in given.items()}


def read_mapping(path: str | os.PathLike[str]) -> Mapping:
    """Read a mapping from a TOML file.

    Raises:
        InputError: the file is not a mapping; with its place.
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read()
    return mapping_of(data, os.fspath(path))


def mapping_of(data: bytes, name: str = "") -> Mapping:
    """The mapping of a TOML text.

    >>> mapping_of(b'[job]\\nid = "job"\\n[attempt]\\nsubmitted = "t"\\n').columns("job")["id"].column
    'job'

    Raises:
        InputError: the text is not a mapping; with its place.
    """
    try:
        mapping = msgspec.convert(msgspec.toml.decode(data), Mapping)
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


def _check(mapping: Mapping) -> None:
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


def _check_column(place: str, column: Column, kind: str) -> None:
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
            if state not in JobState.__members__:
                known = ", ".join(JobState.__members__)
                raise InputError(f"expected one of {known}, got {shown(state)}", f"{place}.values.{word}")
