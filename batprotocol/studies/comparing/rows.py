"""The results to compare: rows, each with the axes of a run and its metrics.

It must not know their source: a study's store, a file, or your own loop (`PlainRow`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, Protocol, TypeVar

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.results.catalogue import ALL_METRICS
from batprotocol.simulator import TAU, JobRow, Metric, metric_named

__all__ = [
    "ABSENT",
    "PlainRow",
    "ResultRow",
    "axes_of",
    "axis_label",
    "expect_axis",
    "expect_metric",
    "joined",
    "joined_value",
    "label",
    "select",
    "select_one",
    "value_of",
]

_OLD_AXES: Final = {"load": ("arrival_factor", "offered_load")}
"""The old names of axes, each with the new ones."""
_LABELS: Final = {"arrival_factor": "arrival factor", "offered_load": "offered load"}
ABSENT: Final = "-"
"""The label for a row that has no value on an axis."""


class ResultRow(Protocol):
    """The result of a run."""

    @property
    def axes(self) -> Mapping[str, Any]:
        """The values of the run on the axes: `{"scheduler": "fcfs", "arrival_factor": 1.2, "seed": 3}`."""

    @property
    def metrics(self) -> Mapping[str, float]:
        """Its metrics, by the names of `METRICS`. A failed run has none."""

    def jobs(self) -> Iterable[JobRow]:
        """The rows of its jobs."""


_Row = TypeVar("_Row", bound=ResultRow)


class PlainRow(msgspec.Struct, frozen=True):
    """A row of results that are not in a store.

    Args:
        axes: the values of the run on the axes.
        metrics: its metrics, such as `result.metrics().flat()`.
        job_rows: the rows of its jobs, such as `tuple(result.jobs)`.

    >>> row = PlainRow({"scheduler": "fcfs", "seed": 1}, {"mean_waiting_time": 12.5})
    >>> row.axes["scheduler"]
    'fcfs'
    """

    axes: Mapping[str, Any]
    metrics: Mapping[str, float] = {}
    job_rows: Sequence[JobRow] = ()

    def jobs(self) -> Iterator[JobRow]:
        """The rows of its jobs."""
        return iter(self.job_rows)


def label(value: object) -> str:
    """The label of a value of an axis in tables. Values with equal labels are the same value.

    >>> label(1.0), label("easy"), label(None)
    ('1', 'easy', '-')
    """
    if value is None:
        return ABSENT
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value)


class _Joined:
    """A row of which several axes became one."""

    def __init__(self, row: ResultRow, axes: Mapping[str, Any]) -> None:
        self._row = row
        self.axes = axes
        self.metrics = row.metrics

    def jobs(self) -> Iterable[JobRow]:
        """The rows of its jobs."""
        return self._row.jobs()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)


def joined(rows: Iterable[ResultRow], names: Sequence[str]) -> tuple[str, list[ResultRow]]:
    """The rows with one axis in place of several, and its name. Its values are those of the axes, with commas.

    Args:
        rows: the rows.
        names: the axes, in the order in which their values are joined.

    Raises:
        InputError: there is no such axis, or an axis is named twice.

    >>> name, found = joined([PlainRow({"scheduler": "easy", "load": 0.9, "seed": 1})], ["scheduler", "load"])
    >>> name, found[0].axes
    ('scheduler, load', {'scheduler, load': 'easy, 0.9', 'seed': 1})
    """
    kept = list(rows)
    axes = axes_of(kept)
    for name in names:
        expect_axis(axes, name)
    if len(set(names)) < len(names):
        raise InputError(f"an axis is named twice in {', '.join(names)}: name each once")
    if len(names) == 1:
        return names[0], kept
    whole = ", ".join(names)
    found: list[ResultRow] = []
    for row in kept:
        rest = {axis: value for axis, value in row.axes.items() if axis not in names}
        found.append(_Joined(row, {whole: ", ".join(label(row.axes.get(name)) for name in names), **rest}))
    return whole, found


def joined_value(labels: Sequence[str], given: object) -> object:
    """The label of several values with commas between them, with or without spaces."""
    wanted = str(given).replace(", ", ",")
    return next((each for each in labels if each.replace(", ", ",") == wanted), given)


def axes_of(rows: Iterable[ResultRow]) -> dict[str, list[str]]:
    """All axes of some rows, with the labels on each: numbers by size, others in the order of the rows."""
    values: dict[str, dict[str, Any]] = {}
    for row in rows:
        for axis, value in row.axes.items():
            values.setdefault(axis, {}).setdefault(label(value), value)
    return {axis: _ordered(found) for axis, found in values.items()}


def _ordered(found: Mapping[str, Any]) -> list[str]:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in found.values())
    return sorted(found, key=found.__getitem__) if numbers else list(found)


def expect_axis(axes: Mapping[str, Sequence[str]], name: str) -> str:
    """The name of an axis.

    Raises:
        InputError: there is no such axis.
    """
    if name in axes:
        return name
    for new in _OLD_AXES.get(name, ()):
        if new in axes:
            warnings.warn(f"the axis {name} is deprecated: use {new} instead", DeprecationWarning, stacklevel=3)
            return new
    if not axes:
        raise InputError(f"there is no axis {shown(name)}: the rows have no axes")
    near = get_close_matches(name, axes, n=1, cutoff=0.6)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InputError(f"there is no axis {shown(name)}, only {', '.join(axes)}{hint}")


def value_of(axes: Mapping[str, Sequence[str]], axis: str, given: object) -> str:
    """The label of a value on an axis. Case does not matter, and the class is enough for a scheduler FILE:CLASS.

    Raises:
        InputError: there is no such value, or several values match.

    >>> value_of({"scheduler": ["my.py:EASY", "fcfs"]}, "scheduler", "FCFS")
    'fcfs'
    >>> value_of({"offered_load": ["0.5", "1"]}, "offered_load", "1.0")
    '1'
    """
    labels, wanted = axes[expect_axis(axes, axis)], label(given)
    if wanted == ABSENT:
        return ABSENT
    for each in (wanted, label(_number(wanted))):
        if each in labels:
            return each
    lower = wanted.casefold()
    for short in (str.casefold, lambda each: each.rpartition(":")[2].casefold()):
        found = [each for each in labels if short(each) == lower]
        if len(found) == 1:
            return found[0]
    near = get_close_matches(wanted, labels, n=3, cutoff=0.6) or list(labels[:8])
    raise InputError(f"there is no {axis} {shown(wanted)}; there {'is' if len(near) == 1 else 'are'} {', '.join(near)}")


def _number(text: str) -> float | None:
    """The number in a text, so that 1.0 matches 1."""
    try:
        return float(text)
    except ValueError:
        return None


def select(rows: Iterable[_Row], where: Mapping[str, Iterable[object]]) -> list[_Row]:
    """The rows with one of these values on each of these axes.

    Args:
        rows: the rows.
        where: the values by their axes, as they are or as texts. `"0.8,1.0"` is two values, unless it is a value.

    Raises:
        InputError: there is no such axis, or no such value on it.
    """
    kept = list(rows)
    axes = axes_of(kept)
    for axis, values in where.items():
        axis = expect_axis(axes, axis)  # it may have an old name
        wanted = {each for value in values for each in _values_of(axes, axis, value)}
        kept = [row for row in kept if label(row.axes.get(axis)) in wanted]
    return kept


def _values_of(axes: Mapping[str, Sequence[str]], axis: str, given: object) -> list[str]:
    """The label of a value, or the labels of several values with commas between them."""
    if not isinstance(given, str) or "," not in given or given in axes[expect_axis(axes, axis)]:
        return [value_of(axes, axis, given)]
    parts = given.split(",")
    expect_one_axis(axes, axis, parts)
    return [value_of(axes, axis, part) for part in parts]


def expect_one_axis(axes: Mapping[str, Iterable[object]], axis: str, parts: Iterable[str]) -> None:
    """Refuse values of an axis of which one is `OTHER=VALUE`, with another axis.

    Args:
        axes: all axes, with their values.
        axis: the axis that the values are of.
        parts: the values.

    Raises:
        InputError: the name of an axis and an equals sign are before a value.
    """
    known = {str(each) for each in axes[axis]}
    for part in parts:
        other, equals, _ = part.partition("=")
        if equals and other in axes and part not in known:
            raise InputError(f"{shown(part)} is not a value of {axis}: repeat --only for another axis: --only {part}")


def select_one(rows: Iterable[_Row], where: Mapping[str, Iterable[object]]) -> _Row:
    """The one row with these values on these axes.

    Raises:
        InputError: there is no such row, or there are several.
    """
    found = select(rows, where)
    if len(found) == 1:
        return found[0]
    given = " ".join(f"{axis}={label(next(iter(values)))}" for axis, values in where.items())
    if not found:
        raise InputError(f"there is no run with {given}" if given else "there are no runs")
    open_axes = [axis for axis, labels in axes_of(found).items() if len(labels) > 1]
    hint = f": give the {' and the '.join(open_axes)}, too" if open_axes else ""
    raise InputError(f"there are {len(found):,} runs{f' with {given}' if given else ''}{hint}")


def expect_metric(rows: Sequence[ResultRow], name: str | Metric) -> Metric:
    """A metric that at least one of the rows has, as these rows measured it.

    Raises:
        InputError: there is no such metric, or no row has it.
    """
    own = {each.name: each for row in rows for each in getattr(row, "own_metrics", ())}
    taus = {getattr(row, "tau", None) or TAU for row in rows}
    currencies = {getattr(row, "currency", "") for row in rows}
    if isinstance(name, str) and name not in ALL_METRICS and any(name in row.metrics for row in rows):
        own.setdefault(name, Metric(name, name.replace("_", " "), "", "", "", None, "own"))  # of the user's own loop
    tau, currency = taus.pop() if len(taus) == 1 else TAU, currencies.pop() if len(currencies) == 1 else ""
    found = metric_named(name, own=own.values(), tau=tau, currency=currency)
    if not any(found.name in row.metrics for row in rows):
        raise InputError(f"no run has {found.name}")
    return found


def axis_label(rows: Iterable[ResultRow], axis: str) -> str:
    """The label of an axis in tables and plots. In older stores, the load of a log is the factor of its arrivals."""
    of_files = axis == "load" and all(getattr(row, "is_model", None) is False for row in rows)
    return _LABELS["arrival_factor"] if of_files else _LABELS.get(axis, axis)
