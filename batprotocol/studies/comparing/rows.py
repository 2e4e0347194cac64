"""Rows of results with their axes, and the cells that tables and plots make of them."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.results.catalogue import ALL_METRICS
from batprotocol.simulator import TAU, JobRow, Metric, metric_named

__all__ = [
    "ABSENT",
    "DRAWS",
    "WINDOWS",
    "Groups",
    "PlainRow",
    "ResultRow",
    "Sample",
    "axes_of",
    "axis_label",
    "domain_for",
    "draws_of",
    "expect_axis",
    "expect_metric",
    "in_order",
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


# The values of the cells of a table: the runs of each cell by draws, and pairs of runs of two cells.


DRAWS: Final = ("seed", "failure_seed", "jobs", "time", "window")
"""The axes whose values are drawn by default. Windows of a log are draws if they do not overlap."""
WINDOWS: Final = ("jobs", "time", "window")
"""The axes of parts of a log, which follow one another."""
_WINDOW: Final = re.compile(r"([0-9.]+)-([0-9.]*)")


class Sample(NamedTuple):
    """The values of a cell.

    Args:
        values: one for each draw: the mean over the pooled runs.
        runs: the number of runs, or of pairs of runs.
        missing: the number of runs or pairs that have failed or are missing.
    """

    values: list[float]
    runs: int
    missing: int

    @property
    def mean(self) -> float | None:
        """The mean over the draws; None without draws."""
        return math.fsum(self.values) / len(self.values) if self.values else None


class _Pooled(NamedTuple):
    """A value of a run. `run` is the name of the run, if it has one: several seeds may be the same run."""

    run: Hashable
    value: float | None


def draws_of(axes: Mapping[str, Sequence[str]], names: Iterable[str], taken: Iterable[str | None]) -> tuple[str, ...]:
    """The axes that repeat the measurement of a cell.

    Windows of a log that do not overlap come first: seeds are averaged within a window, as they share its jobs.

    Args:
        axes: all axes of the results, with their labels.
        names: the axes whose values may have been drawn.
        taken: the axes of the rows and columns.

    >>> draws_of({"seed": ["0", "1"], "jobs": ["0-99", "100-199"]}, DRAWS, ["scheduler"])
    ('jobs',)
    >>> draws_of({"seed": ["0", "1"], "jobs": ["100", "1000"]}, DRAWS, ["scheduler"])
    ('seed',)
    """
    free = [name for name in names if name in axes and name not in set(taken)]
    windows = tuple(name for name in free if name in WINDOWS and len(axes[name]) > 1 and _are_apart(axes[name]))
    return windows or tuple(name for name in free if name not in WINDOWS)


def in_order(draws: Sequence[str]) -> bool:
    """Whether draws follow one another, as windows of a log do, so that neighbours may be alike.

    >>> in_order(["window"]), in_order(["seed"])
    (True, False)
    """
    return bool(draws) and set(draws) <= set(WINDOWS)


def domain_for(metric: Metric | None, values: Sequence[float]) -> tuple[float, float]:
    """The lowest and the highest mean that can be: those of the metric, or wider ones if a value is outside of them.

    Args:
        metric: the metric of the values; None: they are differences.
        values: the values.

    >>> from batprotocol.simulator import METRICS
    >>> domain_for(METRICS["utilisation"], [0.5, 0.9]), domain_for(METRICS["utilisation"], [0.5, 1.2])
    ((0.0, 1.0), (0.0, inf))
    """
    anywhere = (-math.inf, math.inf)
    known = [] if metric is None else [metric.domain, (0.0, math.inf)] if metric.domain != anywhere else []
    return next((each for each in known if all(each[0] <= value <= each[1] for value in values)), anywhere)


def _are_apart(labels: Sequence[str]) -> bool:
    """Whether these are intervals that do not overlap."""
    found = []
    for each in labels:
        match = _WINDOW.fullmatch(each)
        if match is None:
            return False
        try:
            found.append((float(match[1]), float(match[2]) if match[2] else math.inf))
        except ValueError:
            return False
    found.sort()
    return all(before[1] <= after[0] for before, after in itertools.pairwise(found))


class Groups:
    """The rows by the cells that they belong to.

    Args:
        results: the rows.
        rows: the axis of the table's rows.
        columns: the axis of its columns, or None.
        draws: the axes that repeat a measurement, see `draws_of`.
    """

    def __init__(self, results: Iterable[ResultRow], rows: str, columns: str | None, draws: tuple[str, ...]) -> None:
        self._draws = draws
        self._cells: dict[tuple[str, str | None], list[tuple[dict[str, str], ResultRow]]] = {}
        for result in results:
            column = None if columns is None else label(result.axes.get(columns))
            rest = {axis: label(value) for axis, value in result.axes.items() if axis not in (rows, columns)}
            self._cells.setdefault((label(result.axes.get(rows)), column), []).append((rest, result))

    def rows(self, row: str, column: str | None) -> list[ResultRow]:
        """The rows of a cell."""
        return [result for _, result in self._cells.get((row, column), ())]

    def values(self, row: str, column: str | None, metric: str) -> Sample:
        """The values of a cell."""
        draws: dict[tuple[str, ...], dict[tuple[str, ...], _Pooled]] = {}
        for rest, result in self._cells.get((row, column), ()):
            place = tuple(sorted(f"{axis}={each}" for axis, each in rest.items()))
            draws.setdefault(self._draw(rest), {})[place] = _result(result, metric)
        return _sample([list(draws[draw].values()) for draw in self._in_order(draws)])

    def differences(self, row: str, other: str, column: str | None, metric: str) -> Sample:
        """The differences of the runs of a cell to the runs of another row with equal values on all common axes.

        An axis on which all runs of the cell have one value, and all runs of the other row another value, belongs to
        the rows, and need not be equal. So rows by a parameter of one scheduler can be compared with another scheduler,
        which has no such parameter.
        """
        ones, others = self._cells.get((row, column), []), self._cells.get((other, column), [])
        on, on_others = (_labels(found) for found in (ones, others))
        common = [
            axis
            for axis in sorted(on.keys() & on_others.keys())
            if axis in self._draws or len(on[axis] | on_others[axis]) != 2 or on[axis] & on_others[axis]
        ]
        one, another = (_by_place(found, common, metric) for found in (ones, others))
        draws: dict[tuple[str, ...], list[_Pooled]] = {}
        for place in dict.fromkeys([*one, *another]):
            first, second = one.get(place), another.get(place)
            values = [each.value for each in (first, second) if each is not None and each.value is not None]
            difference = values[0] - values[1] if len(values) == 2 else None
            runs = (
                None if first is None or second is None or None in (first.run, second.run) else (first.run, second.run)
            )
            draw = self._draw(dict(zip(common, place, strict=True)))
            draws.setdefault(draw, []).append(_Pooled(runs, difference))
        return _sample([draws[draw] for draw in self._in_order(draws)])

    def are_equal(self, row: str, other: str, columns: Iterable[str | None], metric: str) -> bool:
        """Whether two rows have equal values in each run of all columns, with at least two pairs of runs."""
        pairs = 0
        for column in columns:
            found = self.differences(row, other, column, metric)
            if found.missing or any(found.values):
                return False
            pairs += found.runs
        return pairs > 1

    def _in_order(self, draws: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """The draws in the order of time, if they are windows of a log."""
        if not in_order(self._draws):
            return list(draws)
        return sorted(draws, key=lambda draw: [_begin(each) for each in draw])

    def _draw(self, rest: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(rest.get(axis, "") for axis in self._draws)


def _begin(window: str) -> float:
    match = _WINDOW.fullmatch(window)
    return math.inf if match is None else float(match[1])


def _labels(found: Iterable[tuple[dict[str, str], ResultRow]]) -> dict[str, set[str]]:
    """The labels of some rows on each axis."""
    labels: dict[str, set[str]] = {}
    for rest, _ in found:
        for axis, each in rest.items():
            labels.setdefault(axis, set()).add(each)
    return labels


def _by_place(
    found: Iterable[tuple[dict[str, str], ResultRow]], axes: Sequence[str], metric: str
) -> dict[tuple[str, ...], _Pooled]:
    """The values by the labels on some axes. Rows that differ on other axes only are averaged."""
    values: dict[tuple[str, ...], dict[tuple[str, ...], _Pooled]] = {}
    for rest, result in found:
        whole = tuple(sorted(f"{axis}={each}" for axis, each in rest.items()))
        values.setdefault(tuple(rest.get(axis, "") for axis in axes), {})[whole] = _result(result, metric)
    return {place: _mean(list(results.values())) for place, results in values.items()}


def _mean(results: Sequence[_Pooled]) -> _Pooled:
    """The mean of some runs as one result. Its value is None if one of them is missing."""
    if len(results) == 1:
        return results[0]
    values = [each.value for each in results if each.value is not None]
    runs = tuple(each.run for each in results)
    complete = len(values) == len(results)
    return _Pooled(None if None in runs else runs, math.fsum(values) / len(values) if complete else None)


def _result(result: ResultRow, metric: str) -> _Pooled:
    value = result.metrics.get(metric)
    return _Pooled(getattr(result, "key", None), value if value is not None and math.isfinite(value) else None)


def _sample(draws: Iterable[Sequence[_Pooled]]) -> Sample:
    """A value for each draw. Draws with the same runs count once."""
    values: list[float] = []
    seen: set[Hashable] = set()
    count = missing = 0
    for results in draws:
        known = [each for each in results if each.value is not None]
        missing += len(results) - len(known)
        runs = tuple((each.run, each.value) for each in known)
        if not known or (runs in seen and all(each.run is not None for each in known)):
            continue
        seen.add(runs)
        count += len(known)
        values.append(math.fsum(each.value for each in known if each.value is not None) / len(known))
    return Sample(values, count, missing)
