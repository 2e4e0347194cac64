"""Tables of means and of differences to a baseline, with captions that say how far to trust them.

Rows and columns are axes of a study. Cells are means over its seeds, with confidence intervals, or paired differences
to a baseline: the run of the baseline with the same seed, load and so on is subtracted from each run, so that chance
with an equal effect on both cancels out.

A mean is in bold if it is better than each other mean of its column by more than chance, pair by pair. A difference is
in bold if it is better than the baseline.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from batprotocol._util import grids as formats
from batprotocol._util.grids import Grid, GridEntry, cell_decimals, number, signed
from batprotocol.errors import InputError, shown
from batprotocol.results.catalogue import in_unit, usual_unit
from batprotocol.results.text import WAITING, grows
from batprotocol.simulator import Metric
from batprotocol.studies.comparing.intervals import (
    CONFIDENCE,
    FEWEST,
    FEWEST_WINDOWS,
    holm,
    interval,
    p_value,
    warn_of_resamples,
)
from batprotocol.studies.comparing.rows import (
    ABSENT,
    DRAWS,
    Groups,
    ResultRow,
    Sample,
    axes_of,
    axis_label,
    domain_for,
    draws_of,
    expect_axis,
    expect_metric,
    in_order,
    joined,
    joined_value,
    label,
    select,
    value_of,
)
from batprotocol.workloads.workload import UNSTEADY

__all__ = [
    "UNKNOWABLE",
    "Cell",
    "StudyTable",
    "draws_sentence",
    "equal_pairs",
    "equal_rows",
    "factor_note",
    "load_note",
    "notes_of",
    "pooled_sentence",
    "runs_sentence",
    "table",
]


# The captions of tables of results: the runs of the means, and the limits of the numbers.


FACTOR: Final = "arrival_factor"
_ROUGH: Final = 5
"""Up to this number of draws, intervals are rough."""
_ALIKE: Final = 0.3
"""From this share of pairs that do not differ, a caption says so."""
_USUAL: Final = 10
"""The number of draws from which intervals are not rough."""
_SHORT: Final = 50
"""Intervals of this number of windows or more contain the true mean often enough (`tests/studies/test_series.py`)."""
_SEEDS: Final = {
    ("workload",): "{} of the workload",
    ("weeks",): "{} of the weeks of {log}",
    ("estimates",): "{} of the estimates, {log}",
    ("weeks", "estimates"): "{} of the weeks and the estimates of {log}",
    ("scheduler",): "{} of the scheduler's random numbers, {workload}",
    ("workload", "scheduler"): "{} of the workload and of the scheduler's random numbers",
    ("weeks", "scheduler"): "{} of the weeks of {log} and of the scheduler's random numbers",
    ("estimates", "scheduler"): "{} of the estimates and of the scheduler's random numbers, {log}",
    ("weeks", "estimates", "scheduler"): "{} of the weeks, the estimates and the scheduler's random numbers, {log}",
    ("failures",): "{} of the failures, {workload}",
    ("workload", "failures"): "{} of the workload and of the failures",
    ("weeks", "failures"): "{} of the weeks of {log} and of the failures",
}
"""A description of the draws, by the parts that the seeds of the rows draw."""
_PLURALS: Final = {
    **{axis: f"{axis}s" for axis in ("load", "log", "platform", "scheduler", "seed", "workload")},
    "arrival_factor": "arrival factors",
    "offered_load": "offered loads",
}
_REDRAWING: Final = {"workload", "weeks"}
"""The parts that are another workload when they are drawn again."""
_OF_SEEDS: Final = ("seed", "failure_seed")


def draws_sentence(rows: Sequence[ResultRow], draws: Sequence[str], counts: Sequence[int]) -> str:
    """The number of draws, and the parts that are drawn: `10 draws of the estimates, one log`.

    Args:
        rows: the rows of the table.
        draws: the axes that repeat a measurement.
        counts: the numbers of draws of the cells.
    """
    many = _range(counts)
    if not draws or not set(draws) <= set(_OF_SEEDS):
        return f"{many} windows of {_many(rows, 'workload', 'log')}" if draws else "single runs"
    found = _drawn(rows)
    if len(found) == 1 and found[0] in _SEEDS:
        words = {"log": _many(rows, "workload", "log"), "workload": _many(rows, "workload", "workload")}
        return _SEEDS[found[0]].format(f"{many} {'draw' if many == '1' else 'draws'}", **words)
    return f"{many} {'seed' if many == '1' else 'seeds'}"


def pooled_sentence(rows: Iterable[ResultRow], axis: str, pooled: Iterable[str]) -> str:
    """The values over which each draw is averaged, or "".

    A scheduler's argument belongs to it, and is not an axis of the others. Then the sentence names the rows that are
    averaged over it.

    Args:
        rows: the rows of the table.
        axis: the axis of its rows.
        pooled: the axes that are averaged.
    """
    found: dict[str, dict[str, set[str]]] = {each: {} for each in pooled}
    for row in rows:
        for each, known in found.items():
            known.setdefault(label(row.axes.get(axis)), set()).update(
                [label(row.axes[each])] if each in row.axes else []
            )
    parts: dict[str, list[str]] = {}
    for each, known in found.items():
        counts = {name: len(labels) for name, labels in known.items()}
        for count in dict.fromkeys(count for count in counts.values() if count > 1):
            named = [name for name, other in counts.items() if other == count]
            only = f" in {' and '.join(named)}" if len(named) < len(counts) else ""
            parts.setdefault(only, []).append(_values(each, count))
    return "".join(f", each the mean over {' x '.join(values)}{only}" for only, values in parts.items())


def _times(over: Mapping[str, int]) -> str:
    """`3 loads x 2 values of off`."""
    return " x ".join(_values(axis, count) for axis, count in over.items())


def _values(axis: str, count: int) -> str:
    """`3 loads`, or `2 values of off`."""
    return f"{count:,} {_PLURALS.get(axis, f'values of {axis}')}"


def runs_sentence(axes: Mapping[str, Sequence[str]], shown: Iterable[str | None]) -> str:
    """The axes over which runs are mixed, or ""."""
    many = {axis: len(labels) for axis, labels in axes.items() if len(labels) > 1 and axis not in set(shown)}
    return f"runs of {_times(many)}" if many else ""


def notes_of(rows: Sequence[ResultRow], draws: Sequence[str], counts: Sequence[int]) -> list[str]:
    """Advice on these means, as sentences."""
    notes = []
    few = [count for count in counts if count]
    if few and max(few) < 2:
        what, remedy = "draw", "repeat with several seeds"
        if any("window" in row.axes for row in rows):  # of a log, which seeds do not repeat
            what, remedy = "window", "cut the log into ten windows or more (batproto whatif LOG --windows 1d)"
        notes.append(f"n = 1: one {what} a cell has no interval, and no row is the best; {remedy}")
    elif few and in_order(draws):
        notes += _notes_of_windows(few)
    elif few and min(few) < FEWEST:
        notes.append(f"cells with fewer than {FEWEST} draws have no interval")
    if not in_order(draws) and any(3 <= count <= _ROUGH for count in few):
        notes.append(f"intervals of 3 to {_ROUGH} draws are rough: use 10 or more")
    drawn = _drawn(rows)
    if (
        draws
        and set(draws) <= set(_OF_SEEDS)
        and len(few)
        and max(few) > 1
        and any(not set(each) & _REDRAWING for each in drawn)
    ):
        notes.append("the seeds do not redraw the workload: intervals do not cover other workloads")
    note = load_note(rows)
    return [*notes, note] if note else notes


def factor_note(rows: Sequence[ResultRow], shown: Iterable[str | None]) -> str:
    """The offered loads that belong to the arrival factors of a table, or "" if it does not show factors.

    Args:
        rows: the rows of the table.
        shown: the axes of its rows and columns.
    """
    if FACTOR not in set(shown):
        return ""
    loads: dict[str, list[float]] = {}
    for row in rows:
        load = row.metrics.get("offered_load")
        if load is not None and load == load and FACTOR in row.axes:
            loads.setdefault(label(row.axes[FACTOR]), []).append(load)
    factors = axes_of(rows).get(FACTOR, [])
    parts = [f"{_between(loads[factor])} at factor {factor}" for factor in factors if factor in loads]
    return f"offered load: {', '.join(parts)}" if parts else ""


def _between(loads: Sequence[float]) -> str:
    """`0.84`, or `0.79 to 0.91`."""
    least, most = f"{min(loads):.3g}", f"{max(loads):.3g}"
    return least if least == most else f"{least} to {most}"


def _notes_of_windows(counts: Sequence[int]) -> list[str]:
    """Advice on means over windows of a log."""
    if max(counts) < FEWEST_WINDOWS:
        return [
            f"no interval can be given for fewer than {FEWEST_WINDOWS} windows: use a longer log, or shorter windows"
        ]
    notes = ["windows follow one another: intervals are wider if neighbours are alike"]
    if min(counts) < FEWEST_WINDOWS:
        notes.append(f"cells with fewer than {FEWEST_WINDOWS} windows have no interval")
    if min(count for count in counts if count >= FEWEST_WINDOWS) < _SHORT:
        notes.append(f"intervals of fewer than {_SHORT} windows are too narrow if neighbours are much alike")
    return notes


def equal_pairs(counts: Iterable[tuple[int, int]]) -> Iterator[str]:
    """A sentence on differences of which many are 0, so that few pairs show how large the others are.

    Args:
        counts: for each difference of a table, the number of pairs without one, and the number of all pairs.

    >>> list(equal_pairs([(0, 10), (4, 10)]))
    ['up to 4 of 10 pairs do not differ: intervals are wide; with 17 draws, about 10 would differ']
    """
    found = [(alike, pairs) for alike, pairs in counts if _ALIKE * pairs <= alike < pairs < _USUAL + alike]
    if found:
        alike, pairs = max(found, key=lambda each: each[0] / each[1])
        enough = math.ceil(_USUAL * pairs / (pairs - alike))
        yield (
            f"up to {alike:,} of {pairs:,} pairs do not differ: intervals are wide; "
            f"with {enough:,} draws, about {_USUAL} would differ"
        )


def equal_rows(
    groups: Groups, labels: Sequence[str], columns: Sequence[str | None], metrics: Iterable[Metric]
) -> Iterator[str]:
    """Sentences on rows with the same numbers in each run: a setting of them may have no effect."""
    names = [metric.name for metric in metrics]
    rest = list(labels)
    while rest:
        first = rest.pop(0)
        same = [other for other in rest if all(groups.are_equal(first, other, columns, name) for name in names)]
        if same:
            rest = [other for other in rest if other not in same]
            yield f"{' and '.join([first, *same])} have the same numbers in each run"


def load_note(rows: Iterable[ResultRow]) -> str:
    """A warning that some results depend on the length of the workload, or ""."""
    known = [row.metrics for row in rows if "offered_load" in row.metrics or "waiting_at_end" in row.metrics]
    above = [each["offered_load"] for each in known if each.get("offered_load", 0.0) > 1]
    growing = [each for each in known if _grows(each)]
    reasons = []
    if above:
        reasons.append(f"in {len(above):,} of {len(known):,} runs the offered load is above 1 (up to {max(above):.3g})")
    if growing:
        reasons.append(
            f"in {len(growing):,} of {len(known):,} runs more than {WAITING:.0%} of the jobs wait at the end"
        )
    if not reasons:
        return ""
    return f"{'; '.join(reasons)}: {UNSTEADY}"


def _grows(metrics: Mapping[str, float]) -> bool:
    """Whether the queue grew to the end."""
    jobs = metrics.get("nb_jobs", 0.0)
    return grows(metrics.get("waiting_at_end", 0.0) * jobs, jobs)


def _drawn(rows: Iterable[ResultRow]) -> list[tuple[str, ...]]:
    """The parts that the seeds of the rows draw, each combination once; runs that draw nothing do not count."""
    found = dict.fromkeys(tuple(getattr(row, "drawn", ())) for row in rows if row.metrics)
    return [each for each in found if each]


def _many(rows: Iterable[ResultRow], axis: str, word: str) -> str:
    """`one log`, or `3 logs`."""
    count = len({label(row.axes.get(axis)) for row in rows})
    return f"one {word}" if count == 1 else f"{count:,} {word}s"


def _range(counts: Sequence[int]) -> str:
    known = [count for count in counts if count]
    if not known:
        return "0"
    return f"{known[0]:,}" if min(known) == max(known) else f"{min(known):,} to {max(known):,}"


_UNSURE: Final = "n.s."
UNKNOWABLE: Final = "cannot tell"
"""It stands before a difference that is smaller than the error of the model."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over draws, or over differences between runs.

    Args:
        mean: the mean; None if no run has the metric.
        low: the lower end of its confidence interval; None with fewer than three draws.
        high: the upper end of its confidence interval.
        draws: the number of draws.
        count: the number of runs, or of pairs of runs. It is larger than `draws` if other axes are pooled.
        missing: the number of runs or pairs that have failed or are missing.
        best: whether it is better than each other cell of the column by more than chance; for a difference, whether it
            is better than the baseline.
        is_baseline: whether it is a cell of the baseline, which has means, while the other rows have differences.
        p: the probability of such a difference to the baseline by chance, corrected if the table is; None without one.
        is_unknowable: whether the difference is smaller than the error of the model that the runs are of, so that
            its sign is unknown.
    """

    mean: float | None = None
    low: float | None = None
    high: float | None = None
    draws: int = 0
    count: int = 0
    missing: int = 0
    best: bool = False
    is_baseline: bool = False
    p: float | None = None
    is_unknowable: bool = False

    def divided(self, divisor: float) -> Cell:
        """The same in a unit that is larger by this factor."""
        if self.mean is None:
            return self
        low, high = (None if end is None else end / divisor for end in (self.low, self.high))
        return msgspec.structs.replace(self, mean=self.mean / divisor, low=low, high=high)

    @property
    def has_zero(self) -> bool | None:
        """Whether 0 is in the interval, so that a difference may be chance; None if there is no interval."""
        return None if self.low is None or self.high is None else self.low <= 0 <= self.high


class StudyTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table of means, for texts, other programs and notebooks.

    Args:
        metrics: the metric of each column.
        row_axis: the axis of the rows.
        column_axis: the axis of the columns; None: each column is a metric.
        rows: the labels of the rows.
        columns: the labels of the columns.
        cells: the cells of each row.
        baseline: the row that the others are compared with; None: all cells are means.
        confidence: the confidence of the intervals.
        over: the axes of the means, with the number of values on each.
        draws: those of these axes whose values were drawn, and so repeat a measurement.
        comparisons: the number of tested pairs of cells.
        correction: the correction of p-values for the number of comparisons; None: there is none.
        head: the names of the axes, in the corner of the table.
        sentence: the runs of the means, as a part of the caption.
        notes: advice on the numbers, as sentences.
        unit: the unit of the printed numbers; "": the usual unit of each metric. Records are in the metric's own unit.
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
    draws: tuple[str, ...] = ()
    comparisons: int = 0
    correction: str | None = None
    head: str = ""
    sentence: str = ""
    notes: tuple[str, ...] = ()
    unit: str = ""

    def records(self) -> Iterator[dict[str, Any]]:
        """Each cell with its labels, for other programs."""
        for row, cells in zip(self.rows, self.cells, strict=True):
            for column, metric, cell in zip(self.columns, self.metrics, cells, strict=True):
                yield {
                    self.row_axis: row,
                    **({} if self.column_axis is None else {self.column_axis: column}),
                    "metric": metric.name,
                    "mean": cell.mean,
                    "low": cell.low,
                    "high": cell.high,
                    "draws": cell.draws,
                    "count": cell.count,
                    "missing": cell.missing,
                    "best": cell.best,
                    **({} if self.baseline is None else self._of_difference(cell)),
                }

    def _of_difference(self, cell: Cell) -> dict[str, Any]:
        return {"baseline": self.baseline, "has_zero": None if cell.is_baseline else cell.has_zero, "p": cell.p}

    @property
    def caption(self) -> str:
        """A description of the cells, and advice on their numbers, one sentence on each line."""
        cells = [cell for row in self.cells for cell in row]
        what = f"{self._units()[0][0].label_with_unit}: " if self.column_axis is not None else ""
        kind = "means" if self.baseline is None else f"paired differences to {self.baseline}"
        intervals = f", with {self.confidence:.0%} intervals" if any(cell.low is not None for cell in cells) else ""
        said = [f"{what}{kind} over {self.sentence}{intervals}"]
        if any(self._is_unsure(cell) for cell in cells):
            said.append(f"{_UNSURE}: may be chance")
        if any(cell.best for cell in cells):
            than = "each other row" if self.baseline is None else self.baseline
            said.append(f"bold: better than {than}, by more than chance")
        if self.comparisons > 1 and (self.baseline is not None or any(cell.best for cell in cells)):
            corrected = "corrected by Holm" if self.correction else "not corrected for their number"
            said.append(f"{self.comparisons:,} comparisons, {corrected}")
        if any(cell.is_unknowable for cell in cells):
            said.append(f"{UNKNOWABLE}: the model's own error is not smaller than the difference")
        if any(cell.missing for cell in cells):
            said.append("n: the number of runs, where some are missing")
        return "\n".join(["; ".join(said), *self.notes])

    def _is_unsure(self, cell: Cell) -> bool:
        """Whether a difference may be chance."""
        if self.baseline is None or cell.is_baseline or cell.low is None or cell.is_unknowable:
            return False
        return cell.p is None or cell.p >= 1 - self.confidence

    def _units(self) -> list[tuple[Metric, float]]:
        """The metric of each column in the unit of the table, and the divisor of its numbers."""
        columns = list(zip(*self.cells, strict=True))
        if self.column_axis is not None:
            columns = [tuple(cell for column in columns for cell in column)] * len(columns)
        return [
            in_unit(metric, self.unit) if self.unit else usual_unit(metric, (cell.mean for cell in column))
            for metric, column in zip(self.metrics, columns, strict=True)
        ]

    def grid(self) -> Grid:
        """The table as texts."""
        units = self._units()
        columns = self.columns if self.column_axis is not None else [metric.label_with_unit for metric, _ in units]
        draws = {cell.draws for row in self.cells for cell in row}
        rows = []
        for name, cells in zip(self.rows, self.cells, strict=True):
            entries = [
                GridEntry(self._shown(cell.divided(divisor), len(draws) > 1), cell.best)
                for cell, (_, divisor) in zip(cells, units, strict=True)
            ]
            rows.append([GridEntry(f"{name} (baseline)" if name == self.baseline else name), *entries])
        return Grid([self.head, *columns], rows, self.caption)

    def _shown(self, cell: Cell, differ: bool) -> str:
        """A cell as text: its mean and interval, a mark if it may be chance, and n if numbers differ."""
        if cell.mean is None:
            return "- (n=0)" if cell.missing else ABSENT
        differs = self.baseline is not None and not cell.is_baseline
        write = signed if differs else number
        width = None if cell.low is None or cell.high is None else cell.high - cell.low
        decimals, coarse = cell_decimals(cell.mean, width)
        text = write(cell.mean, decimals)
        if cell.low is not None and cell.high is not None:
            text += f" [{write(cell.low, coarse)}, {write(cell.high, coarse)}]"
        if cell.is_unknowable:
            text = f"{UNKNOWABLE} ({text})"
        elif differs and self._is_unsure(cell):
            text += f" {_UNSURE}"
        if cell.missing:
            return f"{text} (n={cell.count})"
        return f"{text} (n={cell.draws})" if differ or cell.draws < 3 else text

    def text(self) -> str:
        """The table as text in columns, with the best means in asterisks."""
        return formats.as_text(self.grid())

    def __str__(self) -> str:
        return self.text()

    def markdown(self) -> str:
        """The table as Markdown, with the best means in bold."""
        return formats.as_markdown(self.grid())

    def latex(self) -> str:
        """The table as a LaTeX `tabular`, with the best means in bold. It needs the package `booktabs`."""
        return formats.as_latex(self.grid())

    def csv(self, *, guard: bool = False) -> str:
        """The table as CSV, with a line for each cell.

        Args:
            guard: whether an apostrophe is written before texts that a spreadsheet would compute as formulas.
        """
        return formats.as_csv(list(self.records()), guard=guard)

    def json(self) -> str:
        """The table as JSON: its description and its cells."""
        record = {
            "rows": self.row_axis,
            "columns": self.column_axis,
            "metrics": [metric.name for metric in dict.fromkeys(self.metrics)],
            "baseline": self.baseline,
            "confidence": self.confidence,
            "over": dict(self.over),
            "draws": list(self.draws),
            "comparisons": self.comparisons,
            "correction": self.correction,
            "caption": self.caption,
            "cells": list(self.records()),
        }
        return formats.as_json(record)

    def __repr__(self) -> str:
        of = ", ".join(dict.fromkeys(metric.name for metric in self.metrics))
        cells = "means" if self.baseline is None else f"differences to {self.baseline}"
        return f"<Table of {of}: {len(self.rows)} x {len(self.columns)} {cells}>"

    def _repr_html_(self) -> str:
        return formats.as_html(self.grid())


def table(
    results: Iterable[ResultRow],
    *,
    rows: str | Sequence[str] = "scheduler",
    columns: str | None = None,
    metric: str | Metric | Sequence[str | Metric] = "mean_bounded_slowdown",
    baseline: object = None,
    where: Mapping[str, Iterable[object]] | None = None,
    confidence: float = CONFIDENCE,
    correction: Literal["holm"] | None = None,
    draws: Sequence[str] = DRAWS,
    unit: str = "",
    **deprecated: int | None,
) -> StudyTable:
    """A table of the results of a study.

    Draws (seeds, or windows of a log that do not overlap) repeat a measurement. Other axes (loads,
    platforms) are averaged within each draw first.

    Args:
        results: the rows of a study.
        rows: the axis of the table's rows; of several axes, each combination of values is a row, such as `easy, 0.9`.
        columns: the axis of its columns; None: the columns are the metrics.
        metric: a name in `METRICS`, or a metric of your own. If the columns have no axis, it can be several of them.
        baseline: the value on the axis of the rows that the others are compared with, pair by pair; None: no baseline.
        where: the values to select, by their axes.
        confidence: the confidence of the intervals, in (0, 1).
        correction: the correction of p-values for the number of comparisons: `holm`, or None.
        draws: the axes whose values were drawn at random.
        unit: the unit of printed numbers, such as `kWh` or `h`; "": the usual unit of each metric.
        deprecated: `resamples` and `seed`, which have no effect.

    Raises:
        InputError: there are no results, or no such axis, value or metric, or a number is out of its range.

    >>> from batprotocol.studies.comparing import PlainRow
    >>> waits = {"fcfs": (10.0, 14.0, 11.0), "easy": (7.0, 12.0, 9.0)}
    >>> results = [
    ...     PlainRow({"scheduler": name, "seed": seed}, {"mean_waiting_time": wait})
    ...     for name, found in waits.items() for seed, wait in enumerate(found)
    ... ]
    >>> found = table(results, metric="mean_waiting_time", baseline="fcfs")
    >>> found.rows, found.cells[1][0].mean, found.over
    (('fcfs', 'easy'), -2.3333333333333335, {'seed': 3})
    """
    warn_of_resamples(**deprecated)
    if correction not in (None, "holm"):
        raise InputError(f"expected holm or None as the correction, got {shown(correction)}")
    kept = select(results, where or {})
    if not kept:
        raise InputError("there are no results to make a table of")
    if not isinstance(rows, str):
        rows, kept = joined(kept, rows)
        baseline = None if baseline is None else joined_value(axes_of(kept)[rows], baseline)
    given = [metric] if isinstance(metric, str | Metric) else list(metric)
    if not given or (columns is not None and len(given) != 1):
        raise InputError("expected one metric; for several metrics, leave out the axis of the columns")
    axes = axes_of(kept)
    rows = expect_axis(axes, rows)
    columns = None if columns is None else expect_axis(axes, columns)
    if columns == rows:
        raise InputError(f"the axis {rows} cannot be both in the rows and in the columns: choose another one")
    compared = None if baseline is None else value_of(axes, rows, baseline)
    metrics = [expect_metric(kept, each) for each in given]
    for each in metrics if unit else ():
        in_unit(each, unit)
    found_draws = draws_of(axes, draws, [rows, columns])
    groups = Groups(kept, rows, columns, found_draws)
    labels = _labels(kept, axes, rows)
    heads = [each.label_with_unit for each in metrics] if columns is None else _labels(kept, axes, columns)
    made = [
        _Column(groups, labels, None if columns is None else head, metrics[place if columns is None else 0], compared)
        for place, head in enumerate(heads)
    ]
    tests = _Tests(confidence, correction, in_order(found_draws))
    for column in made:
        column.ask(tests)
    tests.settle()
    cells = [column.cells(tests) for column in made]
    counts = [cell.draws for column in cells for cell in column if cell.mean is not None]
    over = {axis: len(found) for axis, found in axes.items() if axis not in (rows, columns) and len(found) > 1}
    pooled = pooled_sentence(kept, rows, (axis for axis in over if axis not in found_draws))
    named = [None] if columns is None else heads
    return StudyTable(
        metrics=tuple(metrics if columns is None else metrics * len(heads)),
        row_axis=rows,
        column_axis=columns,
        head=axis_label(kept, rows) if columns is None else f"{axis_label(kept, rows)} \\ {axis_label(kept, columns)}",
        rows=tuple(labels),
        columns=tuple(heads),
        cells=tuple(zip(*cells, strict=True)),
        baseline=compared,
        confidence=confidence,
        over=over,
        draws=found_draws,
        comparisons=tests.count,
        correction=correction,
        sentence=draws_sentence(kept, found_draws, counts) + pooled,
        unit=unit,
        notes=(
            *filter(None, [factor_note(kept, (rows, columns))]),
            *notes_of(kept, found_draws, counts),
            *equal_pairs(pair for column in made for pair in column.alike()),
            *equal_rows(groups, labels, named, metrics),
        ),
    )


def _labels(rows: Iterable[ResultRow], axes: Mapping[str, list[str]], axis: str) -> list[str]:
    """The values of an axis, and `-` if some rows are not on it."""
    absent = any(axis not in row.axes for row in rows) and ABSENT not in axes[axis]
    return [*axes[axis], *([ABSENT] if absent else [])]


class _Tests:
    """The comparisons of a table: each pair of cells once, with one correction for their number."""

    def __init__(self, confidence: float, correction: str | None, ordered: bool) -> None:
        self.confidence, self.ordered = confidence, ordered
        self._correction = correction
        self._found: dict[tuple[Any, ...], float | None] = {}

    @property
    def count(self) -> int:
        """The number of comparisons."""
        return sum(p is not None for p in self._found.values())

    def ask(self, pair: tuple[Any, ...], sample: Sample) -> None:
        """Compare a pair of cells, by their differences."""
        if pair not in self._found:
            self._found[pair] = p_value(sample.values, ordered=self.ordered)

    def settle(self) -> None:
        """Correct the p-values, once all comparisons are known."""
        if self._correction is not None:
            self._found = dict(zip(self._found, holm(list(self._found.values())), strict=True))

    def p(self, pair: tuple[Any, ...]) -> float | None:
        """The probability of such a difference by chance; None if there are too few pairs."""
        return self._found.get(pair)

    def interval(self, values: Sequence[float], metric: Metric | None) -> tuple[float, float] | tuple[None, None]:
        """The confidence interval of the mean of a metric, or of differences."""
        domain = domain_for(metric, values)
        return interval(values, confidence=self.confidence, domain=domain, ordered=self.ordered) or (None, None)


class _Column:
    """A column of a table."""

    def __init__(
        self, groups: Groups, labels: Sequence[str], column: str | None, metric: Metric, baseline: str | None
    ) -> None:
        self._groups, self._labels, self._column, self._metric = groups, labels, column, metric
        self._baseline = baseline
        self._samples = {name: groups.values(name, column, metric.name) for name in labels}
        self._first = self._candidate()

    def _differences(self, name: str, other: str) -> Sample:
        return self._groups.differences(name, other, self._column, self._metric.name)

    def _candidate(self) -> str | None:
        """The row with the best mean, if there are several rows and the metric has a better direction."""
        sign = {"less": 1.0, "more": -1.0, None: 0.0}[self._metric.better]
        means = {name: sign * sample.mean for name, sample in self._samples.items() if sample.mean is not None}
        if not sign or len(means) < 2:
            return None
        return min(means, key=means.__getitem__)

    def _pair(self, name: str, other: str) -> tuple[Any, ...]:
        return (self._column, self._metric.name, *sorted((name, other)))

    def _others(self, name: str) -> Iterator[str]:
        return (other for other in self._labels if other != name and self._samples[other].values)

    def ask(self, tests: _Tests) -> None:
        """Ask for all comparisons that the cells need."""
        for name in self._labels if self._baseline is not None else ():
            if name != self._baseline:
                tests.ask(self._pair(name, str(self._baseline)), self._differences(name, str(self._baseline)))
        if self._baseline is None and self._first is not None:
            for other in self._others(self._first):
                tests.ask(self._pair(self._first, other), self._differences(self._first, other))

    def cells(self, tests: _Tests) -> list[Cell]:
        """The cells, in the order of the rows."""
        return [self._cell(name, tests) for name in self._labels]

    def _cell(self, name: str, tests: _Tests) -> Cell:
        is_difference = self._baseline is not None and name != self._baseline
        sample = self._differences(name, str(self._baseline)) if is_difference else self._samples[name]
        low, high = tests.interval(sample.values, None if is_difference else self._metric)
        return Cell(
            mean=sample.mean,
            low=low,
            high=high,
            draws=len(sample.values),
            count=sample.runs,
            missing=sample.missing,
            best=self._is_better(name, str(self._baseline), tests) if is_difference else self._is_best(name, tests),
            is_baseline=name == self._baseline,
            p=tests.p(self._pair(name, str(self._baseline))) if is_difference else None,
        )

    def alike(self) -> Iterator[tuple[int, int]]:
        """For each difference to the baseline, the number of pairs without one, and of all pairs."""
        for name in self._labels if self._baseline is not None else ():
            if name != self._baseline:
                values = self._differences(name, str(self._baseline)).values
                yield sum(not value for value in values), len(values)

    def _is_best(self, name: str, tests: _Tests) -> bool:
        """Whether a row is better than each other row by more than chance."""
        if self._baseline is not None or name != self._first:
            return False
        return all(self._is_better(name, other, tests) for other in self._others(name))

    def _is_better(self, name: str, other: str, tests: _Tests) -> bool:
        """Whether a row is better than another row by more than chance."""
        p, mean = tests.p(self._pair(name, other)), self._differences(name, other).mean
        if p is None or p >= 1 - tests.confidence or mean is None or self._metric.better is None:
            return False
        return mean < 0 if self._metric.better == "less" else mean > 0
