"""Tables of metrics: rows and columns are axes of a study, cells the means over its seeds, with confidence intervals.

Or they are differences to a baseline, paired: from each run that run of the baseline is subtracted that has the same
seed, load and so on, so that what chance does to both goes away.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from batprotocol.errors import InputError
from batprotocol.simulator import Metric, metric_named
from batprotocol.studies.comparing import formats
from batprotocol.studies.comparing.bootstrap import CONFIDENCE, RESAMPLES, interval
from batprotocol.studies.comparing.digits import decimals_for, number, signed
from batprotocol.studies.comparing.formats import Entry, Grid
from batprotocol.studies.comparing.rows import (
    ABSENT,
    ResultRow,
    axes_of,
    expect_axis,
    expect_metric,
    label,
    select,
    value_of,
)

__all__ = ["Cell", "Table", "table"]

_EQUAL: Final = 1e-12
_UNSURE: Final = "n.s."


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over runs, or over differences between runs.

    Args:
        mean: the mean; None where no run has the metric.
        low: where its confidence interval begins; None with less than two runs.
        high: where it ends.
        count: over how many runs, or pairs of runs.
        missing: how many runs or pairs are not in it, because they have failed or are not there.
        best: whether no other cell of the column is better, while some are worse.
        is_baseline: whether it is of the baseline itself, whose means are told, while the others are differences.
    """

    mean: float | None = None
    low: float | None = None
    high: float | None = None
    count: int = 0
    missing: int = 0
    best: bool = False
    is_baseline: bool = False

    @property
    def has_zero(self) -> bool | None:
        """Whether 0 is in the interval, so that a difference may be chance; None without an interval."""
        return None if self.low is None or self.high is None else self.low <= 0 <= self.high


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table of means, which texts, other programs and notebooks can show.

    Args:
        metrics: of each column, what is in it.
        row_axis: the axis of the rows.
        column_axis: the axis of the columns; None: each is a metric.
        rows: the labels of the rows.
        columns: the labels of the columns.
        cells: those of each row.
        baseline: the row that the others are compared with; None: all cells are means.
        confidence: that of the intervals.
        over: of each axis that the means are over, how many values it has.
    """

    metrics: tuple[Metric, ...]
    row_axis: str
    column_axis: str | None
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    baseline: str | None
    confidence: float
    over: Mapping[str, int]

    def records(self) -> Iterator[dict[str, Any]]:
        """Each cell with what it is of, for other programs."""
        for row, cells in zip(self.rows, self.cells, strict=True):
            for column, metric, cell in zip(self.columns, self.metrics, cells, strict=True):
                yield {
                    self.row_axis: row,
                    **({} if self.column_axis is None else {self.column_axis: column}),
                    "metric": metric.name,
                    "mean": cell.mean,
                    "low": cell.low,
                    "high": cell.high,
                    "count": cell.count,
                    "missing": cell.missing,
                    "best": cell.best,
                    **({} if self.baseline is None else {"baseline": self.baseline, "has_zero": _has_zero(cell)}),
                }

    @property
    def caption(self) -> str:
        """What the cells are, in a sentence or two."""
        many = [f"{count:,} {_plural(axis)}" for axis, count in self.over.items()]
        whole = f" over {' and '.join(many)}" if many else ""
        what = f"{self.metrics[0].label_with_unit}: " if self.column_axis is not None else ""
        told = [f"{what}means{whole}, with {self.confidence:.0%} bootstrap intervals"]
        if self.baseline is not None:
            told = [
                f"{what}paired differences to {self.baseline}{whole}, with {self.confidence:.0%} bootstrap intervals"
            ]
            told.append(f"{_UNSURE}: 0 is in the interval")
        if any(cell.missing for cells in self.cells for cell in cells):
            told.append("n: how many there were, where some are missing")
        return "; ".join(told)

    def grid(self) -> Grid:
        """The table as texts."""
        decimals = [self._decimals(place) for place in range(len(self.columns))]
        axis = self.row_axis if self.column_axis is None else f"{self.row_axis} \\ {self.column_axis}"
        rows = []
        for name, cells in zip(self.rows, self.cells, strict=True):
            texts = [_shown(cell, digits, self.baseline) for cell, digits in zip(cells, decimals, strict=True)]
            entries = [Entry(text, cell.best) for text, cell in zip(texts, cells, strict=True)]
            rows.append([Entry(f"{name} (baseline)" if name == self.baseline else name), *entries])
        return Grid([axis, *self.columns], rows, self.caption)

    def _decimals(self, place: int) -> int:
        cells = [row[place] for row in self.cells]
        widths = [cell.high - cell.low for cell in cells if cell.low is not None and cell.high is not None]
        return decimals_for(widths, [cell.mean for cell in cells if cell.mean is not None])

    def text(self) -> str:
        """In columns, the best in asterisks."""
        return formats.as_text(self.grid())

    def __str__(self) -> str:
        return self.text()

    def markdown(self) -> str:
        """As Markdown, the best in bold."""
        return formats.as_markdown(self.grid())

    def latex(self) -> str:
        """As a LaTeX `tabular`, the best in bold; it needs the package `booktabs`."""
        return formats.as_latex(self.grid())

    def csv(self) -> str:
        """As CSV, with a line for each cell."""
        return formats.as_csv(list(self.records()))

    def json(self) -> str:
        """As JSON: what the table is of, and its cells."""
        told = {
            "rows": self.row_axis,
            "columns": self.column_axis,
            "metrics": [metric.name for metric in dict.fromkeys(self.metrics)],
            "baseline": self.baseline,
            "confidence": self.confidence,
            "over": dict(self.over),
            "cells": list(self.records()),
        }
        return formats.as_json(told)

    def __repr__(self) -> str:
        of = ", ".join(dict.fromkeys(metric.name for metric in self.metrics))
        cells = "means" if self.baseline is None else f"differences to {self.baseline}"
        return f"<Table of {of}: {len(self.rows)} x {len(self.columns)} {cells}>"

    def _repr_html_(self) -> str:
        return formats.as_html(self.grid())


def table(
    results: Iterable[ResultRow],
    *,
    rows: str = "scheduler",
    columns: str | None = None,
    metric: str | Sequence[str] = "mean_bounded_slowdown",
    baseline: object = None,
    where: Mapping[str, Iterable[object]] | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Table:
    """A table of the results of a study.

    Args:
        results: its rows.
        rows: the axis of the table's rows.
        columns: the axis of its columns; None: the columns are the metrics.
        metric: by its name in `METRICS`; without an axis for the columns, several of them, too.
        baseline: the value on the axis of the rows that the others are compared with, pair by pair; None: none.
        where: the values to look at, on some axes.
        confidence: that of the bootstrap intervals, in (0, 1).
        resamples: how many samples are drawn for each, in [1, 1,000,000].
        seed: of chance.

    Raises:
        InputError: there are no results, or no such axis, value or metric, or a number is out of its range.

    >>> from batprotocol.studies.comparing import PlainRow
    >>> waits = {("fcfs", 1): 10.0, ("fcfs", 2): 14.0, ("easy", 1): 7.0, ("easy", 2): 12.0}
    >>> results = [PlainRow({"scheduler": s, "seed": n}, {"mean_waiting_time": w}) for (s, n), w in waits.items()]
    >>> print(table(results, metric="mean_waiting_time"))
    scheduler  mean waiting time [s]
    fcfs           12.0 [10.0, 14.0]
    easy         **9.5 [7.0, 12.0]**
    means over 2 seeds, with 95% bootstrap intervals
    """
    kept = select(results, where or {})
    if not kept:
        raise InputError("there are no results to make a table of")
    names = [metric] if isinstance(metric, str) else list(metric)
    if not names or (columns is not None and len(names) != 1):
        raise InputError("expected one metric, or several in the columns of a table without an axis for its columns")
    axes = axes_of(kept)
    expect_axis(axes, rows)
    if columns is not None and expect_axis(axes, columns) == rows:
        raise InputError(f"the axis {rows} cannot be that of the rows and that of the columns")
    compared = None if baseline is None else value_of(axes, rows, baseline)
    metrics = [metric_named(expect_metric(kept, name)) for name in names]
    groups = _Groups(kept, rows, columns)
    labels = _labels(kept, axes, rows)
    heads = [each.label_with_unit for each in metrics] if columns is None else _labels(kept, axes, columns)
    found: list[list[Cell]] = [[] for _ in labels]
    for place, head in enumerate(heads):
        each = metrics[place] if columns is None else metrics[0]
        cells = []
        for name in labels:
            values, missing = groups.values(name, None if columns is None else head, each.name, compared)
            among = interval(values, confidence=confidence, resamples=resamples, seed=seed) or (None, None)
            mean = math.fsum(values) / len(values) if values else None
            own = compared is not None and name == compared
            cells.append(
                Cell(mean=mean, low=among[0], high=among[1], count=len(values), missing=missing, is_baseline=own)
            )
        for row, cell in zip(found, _with_best(cells, each), strict=True):
            row.append(cell)
    over = {axis: len(given) for axis, given in axes.items() if axis not in (rows, columns) and len(given) > 1}
    return Table(
        metrics=tuple(metrics if columns is None else metrics * len(heads)),
        row_axis=rows,
        column_axis=columns,
        rows=tuple(labels),
        columns=tuple(heads),
        cells=tuple(map(tuple, found)),
        baseline=compared,
        confidence=confidence,
        over=over,
    )


def _labels(rows: Iterable[ResultRow], axes: Mapping[str, list[str]], axis: str) -> list[str]:
    """What there is on an axis; and what rows have that are not on it."""
    absent = any(axis not in row.axes for row in rows) and ABSENT not in axes[axis]
    return [*axes[axis], *([ABSENT] if absent else [])]


class _Groups:
    """The rows by the cells that they belong to, and in each by what else they are of."""

    def __init__(self, results: Iterable[ResultRow], rows: str, columns: str | None) -> None:
        self._cells: dict[tuple[str, str | None], dict[tuple[tuple[str, str], ...], Mapping[str, float]]] = {}
        for result in results:
            column = None if columns is None else label(result.axes.get(columns))
            rest = tuple(sorted((axis, label(value)) for axis, value in result.axes.items() if axis != rows))
            cell = self._cells.setdefault((label(result.axes.get(rows)), column), {})
            cell[rest] = result.metrics

    def values(self, row: str, column: str | None, metric: str, baseline: str | None) -> tuple[list[float], int]:
        """The values of a cell, or the differences to those of the baseline; and how many are missing."""
        runs = {rest: _finite(metrics.get(metric)) for rest, metrics in self._cells.get((row, column), {}).items()}
        if baseline is None or row == baseline:
            values = [value for value in runs.values() if value is not None]
            return values, len(runs) - len(values)
        others = self._cells.get((baseline, column), {})
        differences = []
        for rest, value in runs.items():
            other = _finite(others.get(rest, {}).get(metric))
            if value is not None and other is not None:
                differences.append(value - other)
        return differences, len(runs.keys() | others.keys()) - len(differences)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _with_best(cells: list[Cell], metric: Metric) -> list[Cell]:
    """The cells of a column, the best ones marked; a baseline that others are compared with counts as 0."""
    sign = {"less": 1.0, "more": -1.0, None: 0.0}[metric.better]
    compared = any(cell.is_baseline for cell in cells)
    means = [
        None if cell.mean is None else sign * (0.0 if cell.is_baseline and compared else cell.mean) for cell in cells
    ]
    known = [mean for mean in means if mean is not None]
    if not sign or not known or max(known) - min(known) <= _EQUAL * max(map(abs, known)):
        return cells
    margin = min(known) + _EQUAL * max(map(abs, known))
    return [
        msgspec.structs.replace(cell, best=mean is not None and mean <= margin)
        for cell, mean in zip(cells, means, strict=True)
    ]


def _has_zero(cell: Cell) -> bool | None:
    return None if cell.is_baseline else cell.has_zero


def _shown(cell: Cell, decimals: int, baseline: str | None) -> str:
    """A cell as text: its mean and interval, whether 0 is in it, how many there were if some are missing."""
    if cell.mean is None:
        return "- (n=0)" if cell.missing else ABSENT
    differs = baseline is not None and not cell.is_baseline
    write = signed if differs else number
    text = write(cell.mean, decimals)
    if cell.low is not None and cell.high is not None:
        text += f" [{write(cell.low, decimals)}, {write(cell.high, decimals)}]"
    if differs and cell.has_zero:
        text += f" {_UNSURE}"
    return f"{text} (n={cell.count})" if cell.missing else text


def _plural(axis: str) -> str:
    return axis if axis.endswith("s") else f"{axis}s"
