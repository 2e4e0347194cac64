"""What is compared: rows of results, each with the axes of its run and the metrics that it came to.

It must not know where they come from: a study's store, a file, or a loop of one's own (`PlainRow`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, Protocol, TypeVar

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.simulator import METRICS, TAU, JobRow, Metric, metric_named

__all__ = [
    "ABSENT",
    "PlainRow",
    "ResultRow",
    "axes_of",
    "axis_label",
    "expect_axis",
    "expect_metric",
    "label",
    "select",
    "select_one",
    "value_of",
]

_FACTOR: Final = "load (compression of arrivals)"
ABSENT: Final = "-"
"""The label of an axis that a row has not."""


class ResultRow(Protocol):
    """What a run came to."""

    @property
    def axes(self) -> Mapping[str, Any]:
        """What the run was of, by the names of the axes: `{"scheduler": "fcfs", "load": 1.2, "seed": 3}`."""

    @property
    def metrics(self) -> Mapping[str, float]:
        """What it came to, by the names of `METRICS`. A run that has failed has none."""

    def jobs(self) -> Iterable[JobRow]:
        """The rows of its jobs."""


_Row = TypeVar("_Row", bound=ResultRow)


class PlainRow(msgspec.Struct, frozen=True):
    """A row of results that are not in a store.

    Args:
        axes: what the run was of, by the names of the axes.
        metrics: what it came to, such as `result.metrics().flat()`.
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
    """A value of an axis as tables show it; values of one label are one.

    >>> label(1.0), label("easy"), label(None)
    ('1', 'easy', '-')
    """
    if value is None:
        return ABSENT
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value)


def axes_of(rows: Iterable[ResultRow]) -> dict[str, list[str]]:
    """All axes of some rows, and the labels on each: numbers by their size, others as they first come."""
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
    raise InputError(f"there is no axis {shown(name)}, only {', '.join(axes) or 'none at all'}")


def value_of(axes: Mapping[str, Sequence[str]], axis: str, given: object) -> str:
    """The label of a value on an axis: upper and lower case are alike, and of FILE:CLASS the class is enough.

    Raises:
        InputError: there is no such value, or there are several.

    >>> value_of({"scheduler": ["my.py:EASY", "fcfs"]}, "scheduler", "FCFS")
    'fcfs'
    >>> value_of({"load": ["0.5", "1"]}, "load", "1.0")
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
    """The number that a text is, so that 1.0 is found as 1."""
    try:
        return float(text)
    except ValueError:
        return None


def select(rows: Iterable[_Row], where: Mapping[str, Iterable[object]]) -> list[_Row]:
    """The rows with one of these values on each of these axes.

    Args:
        rows: the rows.
        where: the values by their axes, as they are or as texts; `"0.8,1.0"` is two, unless there is such a value.

    Raises:
        InputError: there is no such axis, or no such value on it.
    """
    kept = list(rows)
    axes = axes_of(kept)
    for axis, values in where.items():
        wanted = {each for value in values for each in _values_of(axes, axis, value)}
        kept = [row for row in kept if label(row.axes.get(axis)) in wanted]
    return kept


def _values_of(axes: Mapping[str, Sequence[str]], axis: str, given: object) -> list[str]:
    """The label of a value, or those of several with commas between them."""
    if not isinstance(given, str) or "," not in given or given in axes[expect_axis(axes, axis)]:
        return [value_of(axes, axis, given)]
    return [value_of(axes, axis, part) for part in given.split(",")]


def select_one(rows: Iterable[_Row], where: Mapping[str, Iterable[object]]) -> _Row:
    """The one row with these values on these axes.

    Raises:
        InputError: there is none, or there are several.
    """
    found = select(rows, where)
    if len(found) == 1:
        return found[0]
    told = " ".join(f"{axis}={label(next(iter(values)))}" for axis, values in where.items())
    if not found:
        raise InputError(f"there is no run with {told}" if told else "there are no runs")
    open_axes = [axis for axis, labels in axes_of(found).items() if len(labels) > 1]
    hint = f": say which {' and '.join(open_axes)}, too" if open_axes else ""
    raise InputError(f"there are {len(found):,} runs{f' with {told}' if told else ''}{hint}")


def expect_metric(rows: Sequence[ResultRow], name: str | Metric) -> Metric:
    """A metric that at least one of the rows has, as these rows measured it.

    Raises:
        InputError: there is no such metric, or no row has it.
    """
    own = {each.name: each for row in rows for each in getattr(row, "own_metrics", ())}
    taus = {getattr(row, "tau", None) or TAU for row in rows}
    if isinstance(name, str) and name not in METRICS and any(name in row.metrics for row in rows):
        own.setdefault(name, Metric(name, name.replace("_", " "), "", "", "", None, "own"))  # of a loop of one's own
    found = metric_named(name, own=own.values(), tau=taus.pop() if len(taus) == 1 else TAU)
    if not any(found.name in row.metrics for row in rows):
        raise InputError(f"no run has {found.name}")
    return found


def axis_label(rows: Iterable[ResultRow], axis: str) -> str:
    """What tables and plots call an axis: the load of a log is a factor, by which its arrivals are compressed."""
    if axis == "load" and all(getattr(row, "is_model", None) is False for row in rows):
        return _FACTOR
    return axis
