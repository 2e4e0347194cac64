"""The values of the cells of a table: the runs of each cell by draws, and pairs of runs of two cells.

Values that were drawn at random (seeds, or windows of a log) repeat a measurement. Values that were chosen (loads,
platforms) do not. If a cell pools chosen values, each draw counts once, with the mean over them.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from batprotocol.simulator import Metric
from batprotocol.studies.comparing.rows import ResultRow, label

__all__ = ["DRAWS", "WINDOWS", "Groups", "Sample", "domain_for", "draws_of", "in_order"]

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


class _Result(NamedTuple):
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
        draws: dict[tuple[str, ...], dict[tuple[str, ...], _Result]] = {}
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
        draws: dict[tuple[str, ...], list[_Result]] = {}
        for place in dict.fromkeys([*one, *another]):
            first, second = one.get(place), another.get(place)
            values = [each.value for each in (first, second) if each is not None and each.value is not None]
            difference = values[0] - values[1] if len(values) == 2 else None
            runs = (
                None if first is None or second is None or None in (first.run, second.run) else (first.run, second.run)
            )
            draw = self._draw(dict(zip(common, place, strict=True)))
            draws.setdefault(draw, []).append(_Result(runs, difference))
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
) -> dict[tuple[str, ...], _Result]:
    """The values by the labels on some axes. Rows that differ on other axes only are averaged."""
    values: dict[tuple[str, ...], dict[tuple[str, ...], _Result]] = {}
    for rest, result in found:
        whole = tuple(sorted(f"{axis}={each}" for axis, each in rest.items()))
        values.setdefault(tuple(rest.get(axis, "") for axis in axes), {})[whole] = _result(result, metric)
    return {place: _mean(list(results.values())) for place, results in values.items()}


def _mean(results: Sequence[_Result]) -> _Result:
    """The mean of some runs as one result. Its value is None if one of them is missing."""
    if len(results) == 1:
        return results[0]
    values = [each.value for each in results if each.value is not None]
    runs = tuple(each.run for each in results)
    complete = len(values) == len(results)
    return _Result(None if None in runs else runs, math.fsum(values) / len(values) if complete else None)


def _result(result: ResultRow, metric: str) -> _Result:
    value = result.metrics.get(metric)
    return _Result(getattr(result, "key", None), value if value is not None and math.isfinite(value) else None)


def _sample(draws: Iterable[Sequence[_Result]]) -> Sample:
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
