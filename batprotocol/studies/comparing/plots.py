"""Plots of results, by matplotlib, which comes with `batprotocol[plots]` and is imported on its first use.

They are made for papers: their colours are distinct for people with colour vision deficiencies (M. Okabe and K. Ito,
2008), markers and dashes are distinct without colours, axes have units, and the caption replaces a title.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from batprotocol._util.files import naming
from batprotocol.errors import InputError, shown
from batprotocol.simulator import Metric
from batprotocol.studies.comparing.captions import notes_of, runs_sentence
from batprotocol.studies.comparing.cells import DRAWS, Groups, domain_for, draws_of, in_order
from batprotocol.studies.comparing.drawing import (
    HATCHES,
    MOST_TICKS,
    Look,
    canvas,
    expect_results,
    finish,
    looks,
    missing,
    name_places,
    panels_of,
)
from batprotocol.studies.comparing.intervals import CONFIDENCE, interval, means_of
from batprotocol.studies.comparing.rows import (
    ABSENT,
    ResultRow,
    axes_of,
    axis_label,
    expect_axis,
    expect_metric,
    label,
    select,
)
from batprotocol.studies.comparing.tables import Cell, Table, table
from batprotocol.studies.comparing.units import in_unit, usual_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "FORMATS",
    "Look",
    "expect_plots",
    "plot_boxes",
    "plot_lines",
    "plot_means",
    "save_plot",
]

FORMATS: Final = ("png", "svg", "pdf")

_USUAL: Final = Look()
_DOTS: Final = 200
_MOST_BANDS: Final = 3
"""The number of lines that have bands; more have bars."""
_LOADS: Final = ("arrival_factor", "offered_load", "load")
"""The axes that change the offered load."""


def plot_lines(
    results: Iterable[ResultRow],
    *,
    x: str,
    by: str = "scheduler",
    metric: str | Metric = "mean_bounded_slowdown",
    baseline: object = None,
    panels: str | None = None,
    where: Mapping[str, Iterable[object]] | None = None,
    confidence: float = CONFIDENCE,
    unit: str = "",
    log: bool = False,
    look: Look = _USUAL,
) -> Figure:
    """A metric against an axis: a line of means for each value of another axis, with bands of intervals.

    Intervals of more than three lines are bars: so many bands would hide the lines. Means and intervals are those of
    `table`. A value of `by` without a value on the x axis, such as a scheduler without that parameter, is a horizontal
    line.

    Args:
        results: the rows of a study.
        x: the x axis: an axis of the study, or a metric such as `offered_load`, whose means are the x values. If the
            values are not numbers, there are points with bars instead of lines.
        by: the axis of the lines: each of its values is a line.
        metric: a name in `METRICS`, or a metric of your own.
        baseline: the value on the axis `by` that the others are compared with, pair by pair. The plot shows the
            differences; None: it shows means.
        panels: the axis of the panels: each of its values is a panel; None: one panel.
        where: the values to select, by their axes.
        confidence: the confidence of the bands, in (0, 1).
        unit: the unit of the metric in the plot, such as `kWh` or `h`; "": the usual one.
        log: whether the metric is on a logarithmic scale.
        look: size, title and labels.

    Raises:
        PackageMissing: matplotlib is not installed.
        InputError: there are no results, or no such axis, value, metric or unit.
    """
    kept = expect_results(select(results, where or {}))
    axes = axes_of(kept)
    axis, told = _axis_to_the_right(kept, axes, x, (by, panels))
    names = _panel_names(axes, panels)
    options: dict[str, Any] = {"rows": by, "columns": axis, "metric": metric, "confidence": confidence}
    parts = [_part(kept, panels, name) for name in names]
    found = [table(part, baseline=baseline, **options) for part in parts]
    shown_metric, divisor = _unit(
        found[0].metrics[0], unit, (cell.mean for each in found for row in each.cells for cell in row)
    )
    lines = axes[by] if baseline is None else [each for each in axes[by] if each != found[0].baseline]
    figure, drawn = canvas(look, len(names))
    for (_, panel), part, each in zip(panels_of(names, panels, drawn), parts, found, strict=True):
        _draw_panel(panel, part, each, lines, axis, told, divisor)
        panel.set_xlabel(axis_label(kept, axis) if told is None else told.label_with_unit)
        panel.set_ylabel(_y_label(shown_metric, found[0].baseline))
    note = (
        f"{'means' if baseline is None else 'paired differences'} over {found[0].sentence}, {confidence:.0%} intervals"
    )
    finish(figure, drawn, look, log=log, legend=by, note=note)
    figure.notes = tuple(dict.fromkeys(each for one in found for each in one.notes))
    return figure


def _axis_to_the_right(
    rows: Sequence[ResultRow], axes: Mapping[str, Sequence[str]], x: str, taken: Sequence[str | None]
) -> tuple[str, Metric | None]:
    """The axis of the groups of runs, and the metric whose means are their x values, if `x` is a metric."""
    if x in axes:
        return x, None
    try:
        told = expect_metric(rows, x)
    except InputError:
        return expect_axis(axes, x), None
    varying = [axis for axis, labels in axes.items() if len(labels) > 1 and axis not in (*taken, *DRAWS)]
    found = [axis for axis in _LOADS if axis in varying] or varying
    if len(found) != 1:
        hint = (
            f"select one value of all of {', '.join(found)} except one"
            if found
            else "it needs an axis such as arrival_factor"
        )
        raise InputError(f"{x} is a metric, whose means are drawn for each value of one axis: {hint}")
    return found[0], told


def _draw_panel(
    panel: Any,
    rows: Sequence[ResultRow],
    found: Table,
    lines: Sequence[str],
    axis: str,
    told: Metric | None,
    divisor: float,
) -> None:
    """Draw the lines of a panel. Those without an x value are horizontal."""
    places = [place for place, each in enumerate(found.columns) if each != ABSENT]
    values = {label(row.axes.get(axis)): row.axes.get(axis) for row in rows}
    at: list[Any] = [values.get(found.columns[place]) for place in places]
    numeric = told is not None or all(isinstance(each, int | float) and not isinstance(each, bool) for each in at)
    across = found.columns.index(ABSENT) if ABSENT in found.columns else None
    for number, name in enumerate(lines):
        if name not in found.rows:
            continue
        row = found.cells[found.rows.index(name)]
        cells = [row[place].divided(divisor) for place in places]
        if told is not None:
            right = [_mean_of(rows, {found.row_axis: name, axis: found.columns[place]}, told.name) for place in places]
            ordered = sorted(zip(right, cells, strict=True), key=lambda each: each[0])
            right, cells = [each for each, _ in ordered], [each for _, each in ordered]
        else:
            beside = 0.1 * (number - (len(lines) - 1) / 2)
            right = at if numeric else [place + beside for place in range(len(at))]
        if all(cell.mean is None for cell in cells) and across is not None and row[across].mean is not None:
            _draw_across(panel, row[across].divided(divisor), number, name)
        else:
            _draw_line(panel, right, cells, number, name, joined=numeric, banded=len(lines) <= _MOST_BANDS)
    if found.baseline is not None:
        panel.axhline(0.0, color="#000000", linewidth=0.8)
    if told is None and numeric and len(at) <= MOST_TICKS:
        panel.set_xticks(at, [found.columns[place] for place in places])
    if not numeric:
        name_places(panel, [found.columns[place] for place in places])
        panel.set_xlim(-0.5, len(places) - 0.5)


def _draw_across(axes: Any, cell: Cell, number: int, name: str) -> None:
    """Draw a mean without an x value, with its interval, as a horizontal line."""
    colour, _, dashes = looks(number)
    axes.axhline(cell.mean, color=colour, linestyle=dashes, label=name)
    if cell.low is not None and cell.high is not None:
        axes.axhspan(cell.low, cell.high, color=colour, alpha=0.12, linewidth=0)


def _draw_line(
    axes: Any, right: Sequence[float], cells: Sequence[Cell], number: int, name: str, joined: bool, banded: bool
) -> None:
    """Draw the known means of a row: joined, with a band, or each with a bar. Many bands would hide the lines."""
    known = [
        (place, cell.mean, cell.mean if cell.low is None else cell.low, cell.mean if cell.high is None else cell.high)
        for place, cell in zip(right, cells, strict=True)
        if cell.mean is not None
    ]
    places, means, low, high = zip(*known, strict=True) if known else ((), (), (), ())
    colour, marker, dashes = looks(number)
    if joined and banded:
        axes.plot(places, means, color=colour, marker=marker, label=name, linestyle=dashes)
        axes.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0)
        return
    below = [mean - bound for mean, bound in zip(means, low, strict=True)]
    above = [bound - mean for mean, bound in zip(means, high, strict=True)]
    bars = {"yerr": [below, above], "capsize": 3, "elinewidth": 0.8 if joined else None}
    axes.errorbar(
        places, means, color=colour, marker=marker, label=name, linestyle=dashes if joined else "none", **bars
    )


def plot_means(
    results: Iterable[ResultRow],
    *,
    x: str | None = None,
    by: str = "scheduler",
    metric: str | Metric = "mean_bounded_slowdown",
    where: Mapping[str, Iterable[object]] | None = None,
    confidence: float = CONFIDENCE,
    unit: str = "",
    log: bool = False,
    look: Look = _USUAL,
) -> Figure:
    """The uncertainty of each mean: its distribution over draws, with the mean and its interval.

    Args:
        results: the rows of a study.
        x: the axis of the groups: each of its values is a group; None: one group.
        by: the axis of the means: each of its values has a mean.
        metric: a name in `METRICS`, or a metric of your own.
        where: the values to select, by their axes.
        confidence: the confidence of the intervals, in (0, 1).
        unit: the unit of the metric in the plot; "": the usual one.
        log: whether the metric is on a logarithmic scale.
        look: size, title and labels.

    Raises:
        PackageMissing: matplotlib is not installed.
        InputError: there are no results, or no such axis, value, metric or unit.
    """
    kept = expect_results(select(results, where or {}))
    known = axes_of(kept)
    names, told = known[expect_axis(known, by)], expect_metric(kept, metric)
    groups = [""] if x is None else known[expect_axis(known, x)]
    draws = draws_of(known, DRAWS, [by, x])
    cells = Groups(kept, by, x, draws)
    values = {
        (group, name): cells.values(name, None if x is None else group, told.name).values
        for group in groups
        for name in names
    }
    shown_metric, divisor = _unit(told, unit, (value for each in values.values() for value in each))
    figure, (axes,) = canvas(look)
    for number, name in enumerate(names):
        colour, marker, _ = looks(number)
        for place, group in enumerate(groups):
            given = values[group, name]
            if given:
                domain, ordered = domain_for(told, given), in_order(draws)
                spread = [each / divisor for each in means_of(given, domain=domain, ordered=ordered)]
                ends = interval(given, confidence=confidence, domain=domain, ordered=ordered)
                mean = math.fsum(given) / len(given)
                low, high = (each / divisor for each in ends or (mean, mean))
                at, width = (
                    (float(number), 0.7) if x is None else (_place_of(place, number, len(names)), 0.7 / len(names))
                )
                _draw_spread(axes, spread, at, width, colour)
                _draw_mean(axes, (low, mean / divisor, high), at, colour, marker, name)
    name_places(axes, names if x is None else groups)
    axes.set_xlabel(by if x is None else axis_label(kept, x))
    axes.set_ylabel(shown_metric.label_with_unit)
    axes.grid(visible=False, axis="x")
    counts = [len(each) for each in values.values()]
    sentence = table(kept, rows=by, columns=x, metric=metric).sentence
    note = f"distributions of means over {sentence}, {confidence:.0%} intervals"
    finish(figure, [axes], look, log=log, legend=by if x is not None else "", note=note)
    figure.notes = tuple(notes_of(kept, draws, counts))
    return figure


def _draw_spread(axes: Any, spread: Sequence[float], at: float, width: float, colour: str) -> None:
    """Draw the distribution of a mean, if it has one."""
    if spread[0] < spread[-1]:
        drawn = axes.violinplot([spread], positions=[at], widths=width, showextrema=False)
        for body in drawn["bodies"]:
            body.set(facecolor=colour, alpha=0.35, edgecolor=colour)


def _draw_mean(axes: Any, known: tuple[float, float, float], at: float, colour: str, marker: str, name: str) -> None:
    """Draw a mean between the ends of its interval."""
    low, mean, high = known
    labels = axes.get_legend_handles_labels()[1]
    axes.errorbar(
        [at],
        [mean],
        yerr=[[mean - low], [high - mean]],
        color=colour,
        marker=marker,
        linestyle="none",
        capsize=4,
        label=name if name not in labels else "_",
    )


def plot_boxes(
    results: Iterable[ResultRow],
    *,
    x: str | None = None,
    by: str = "scheduler",
    metric: str | Metric = "mean_bounded_slowdown",
    where: Mapping[str, Iterable[object]] | None = None,
    unit: str = "",
    log: bool = False,
    look: Look = _USUAL,
) -> Figure:
    """The distribution of a metric over runs: a box from the first to the third quartile, with the median in it.

    Whiskers reach the last runs within 1.5 times the height of the box. Runs beyond them are points.

    Args:
        results: the rows of a study.
        x: the axis of the groups: each of its values is a group of boxes; None: one group.
        by: the axis of the boxes: each of its values is a box.
        metric: a name in `METRICS`, or a metric of your own.
        where: the values to select, by their axes.
        unit: the unit of the metric in the plot; "": the usual one.
        log: whether the metric is on a logarithmic scale.
        look: size, title and labels.

    Raises:
        PackageMissing: matplotlib is not installed.
        InputError: there are no results, or no such axis, value, metric or unit.
    """
    kept = expect_results(select(results, where or {}))
    known = axes_of(kept)
    names, told = known[expect_axis(known, by)], expect_metric(kept, metric)
    groups = [""] if x is None else known[expect_axis(known, x)]
    values: dict[tuple[str, str], list[float]] = {}
    for row in kept:
        value = row.metrics.get(told.name)
        if value is not None and math.isfinite(value):
            group = "" if x is None else label(row.axes.get(x))
            values.setdefault((group, label(row.axes.get(by))), []).append(value)
    shown_metric, divisor = _unit(told, unit, (value for each in values.values() for value in each))
    figure, (axes,) = canvas(look)
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        colour = looks(number)[0]
        places = [_place_of(place, number, len(names)) if x is not None else number for place in range(len(groups))]
        drawn = axes.boxplot(
            [[value / divisor for value in values.get((group, name), [])] for group in groups],
            positions=places,
            widths=0.85 * width if x is not None else 0.6,
            patch_artist=True,
            manage_ticks=False,
            medianprops={"color": "black", "linewidth": 1.6},
            flierprops={"marker": ".", "markersize": 5, "markerfacecolor": colour, "markeredgecolor": colour},
        )
        for box in drawn["boxes"]:
            box.set(facecolor=colour, alpha=0.6, hatch=HATCHES[number % len(HATCHES)], edgecolor="black")
            box.set_label(name if box is drawn["boxes"][0] else "")
    name_places(axes, names if x is None else groups)
    axes.set_xlabel(by if x is None else axis_label(kept, x))
    axes.set_ylabel(shown_metric.label_with_unit)
    axes.grid(visible=False, axis="x")
    finish(figure, [axes], look, log=log, legend=by if x is not None else "", note=runs_sentence(known, (by, x)))
    figure.notes = tuple(notes_of(kept, (), []))
    return figure


def _part(rows: Sequence[ResultRow], axis: str | None, name: str) -> list[ResultRow]:
    """The rows of a panel."""
    return [row for row in rows if axis is None or label(row.axes.get(axis)) == name]


def _panel_names(axes: Mapping[str, Sequence[str]], panels: str | None) -> Sequence[str]:
    return [""] if panels is None else axes[expect_axis(axes, panels)]


def _mean_of(rows: Iterable[ResultRow], where: Mapping[str, str], metric: str) -> float:
    """The mean of a metric over the runs with these labels on the axes; NaN without runs."""
    values = [
        row.metrics[metric]
        for row in rows
        if metric in row.metrics and all(label(row.axes.get(axis)) == each for axis, each in where.items())
    ]
    return math.fsum(values) / len(values) if values else math.nan


def _place_of(group: int, number: int, count: int) -> float:
    """The x value of a mark in its group of `count` marks."""
    return group + 0.8 / count * (number - (count - 1) / 2)


def _unit(metric: Metric, unit: str, values: Iterable[float | None]) -> tuple[Metric, float]:
    return in_unit(metric, unit) if unit else usual_unit(metric, values)


def _y_label(metric: Metric, baseline: str | None) -> str:
    if baseline is None:
        return metric.label_with_unit
    unit = f" [{metric.unit}]" if metric.unit else ""
    return f"{metric.label},\ndifference to {baseline}{unit}"


def save_plot(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a plot as PNG, SVG or PDF, depending on the name of the file. Equal plots are equal files.

    Raises:
        InputError: the name has another ending.
        OSError: the file cannot be written.
    """
    name = os.fspath(path)
    format = expect_plots(name)
    import matplotlib

    from batprotocol.studies.comparing.figures import STYLE

    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None, "Producer": None}}[
        format
    ]
    with matplotlib.rc_context(STYLE), naming(name):
        figure.savefig(name, format=format, dpi=_DOTS, metadata=metadata)


def expect_plots(path: str | os.PathLike[str]) -> str:
    """Check that a plot can be written to a file of that name, and return its format.

    Raises:
        InputError: the ending of the name is not that of a format.
        PackageMissing: matplotlib is not installed.
    """
    name = os.fspath(path)
    format = os.path.splitext(name)[1].removeprefix(".").lower()
    if format not in FORMATS:
        raise InputError(f"expected a name that ends in .{', .'.join(FORMATS)}, got {shown(name)}")
    if find_spec("matplotlib") is None:
        raise missing()
    return format
