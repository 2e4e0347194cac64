"""The columns of tables of logged jobs: one row for each attempt, with the values of its job in each of them.

Times are in seconds since 1970 (UTC), memory is in bytes. Hosts and generic resources are texts. It must not know
files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.jobs import Attempt, JobState, LoggedJob

__all__ = ["COLUMNS", "Column", "Jobs", "expect_readable", "rows_of"]

_LARGEST: Final = 2**53
_PLAIN: Final = frozenset('[]{},"\\ \t\r\n')


class Column(NamedTuple):
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

COLUMNS: Final[dict[str, Column]] = {
    "id": Column("text"),
    "attempt": Column("count", is_of_job=False),
    **{name: Column(kind, is_of_job=False) for name, kind in _OF_ATTEMPT.items()},
    **{name: Column(kind) for name, kind in _OF_JOB.items()},
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
    "state": JobState,
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


class Jobs:
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
