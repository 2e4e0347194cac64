"""Plots of metrics against an axis, of distributions, and of power over time.

They are made for papers: their colours are distinct for people with colour vision deficiencies (M. Okabe and K. Ito,
2008), markers and dashes are distinct without colours, axes have units, and the caption replaces a title.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypedDict

from batprotocol._util.files import naming
from batprotocol.errors import InputError, shown
from batprotocol.results import bounded_slowdown
from batprotocol.results.catalogue import in_unit, usual_unit
from batprotocol.simulator import OF_POWER, TAU, Electricity, JobRow, Metric, metric_named
from batprotocol.studies.comparing._drawing import (
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
    DRAWS,
    Groups,
    ResultRow,
    axes_of,
    axis_label,
    domain_for,
    draws_of,
    expect_axis,
    expect_metric,
    in_order,
    label,
    select,
)
from batprotocol.studies.comparing.tables import Cell, StudyTable, notes_of, runs_sentence, table
from batprotocol.workloads.electricity import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from typing_extensions import Unpack

    from batprotocol.studies.comparing._figure import Plot


FORMATS: Final = ("png", "svg", "pdf")

_USUAL: Final = Look()
_DOTS: Final = 200
_MOST_BANDS: Final = 3
"""The number of lines that have bands; more have bars."""
_LOADS: Final = ("arrival_factor", "offered_load", "load")
"""The axes that change the offered load."""


class AxisScale(TypedDict, total=False):
    """The scale of a metric: its unit, and whether it is logarithmic."""

    unit: str
    log: bool


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
    look: Look = _USUAL,
    **scale: Unpack[AxisScale],
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
        look: size, title and labels.
        scale: `unit`, the unit of the metric in the plot, such as `kWh` or `h`, by default the usual one; and `log`,
            whether the metric is on a logarithmic scale, by default not.

    Raises:
        PackageMissing: matplotlib is not installed.
        InputError: there are no results, or no such axis, value, metric or unit.
    """
    kept = expect_results(select(results, where or {}))
    axes = axes_of(kept)
    axis, x_metric = _axis_to_the_right(kept, axes, x, (by, panels))
    names = _panel_names(axes, panels)
    options: dict[str, Any] = {"rows": by, "columns": axis, "metric": metric, "confidence": confidence}
    parts = [_part(kept, panels, name) for name in names]
    found = [table(part, baseline=baseline, **options) for part in parts]
    shown_metric, divisor = _unit(
        found[0].metrics[0], scale.get("unit", ""), (cell.mean for each in found for row in each.cells for cell in row)
    )
    lines = axes[by] if baseline is None else [each for each in axes[by] if each != found[0].baseline]
    figure, drawn = canvas(look, len(names))
    for (_, panel), part, each in zip(panels_of(names, panels, drawn), parts, found, strict=True):
        _draw_panel(panel, part, each, lines, axis, x_metric, divisor)
        panel.set_xlabel(axis_label(kept, axis) if x_metric is None else x_metric.label_with_unit)
        panel.set_ylabel(_y_label(shown_metric, found[0].baseline))
    note = (
        f"{'means' if baseline is None else 'paired differences'} over {found[0].sentence}, {confidence:.0%} intervals"
    )
    finish(figure, drawn, look, log=scale.get("log", False), legend=by, note=note)
    figure.notes = tuple(dict.fromkeys(each for one in found for each in one.notes))
    return figure


def _axis_to_the_right(
    rows: Sequence[ResultRow], axes: Mapping[str, Sequence[str]], x: str, taken: Sequence[str | None]
) -> tuple[str, Metric | None]:
    """The axis of the groups of runs, and the metric whose means are their x values, if `x` is a metric."""
    if x in axes:
        return x, None
    try:
        x_metric = expect_metric(rows, x)
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
    return found[0], x_metric


def _draw_panel(
    panel: Any,
    rows: Sequence[ResultRow],
    found: StudyTable,
    lines: Sequence[str],
    axis: str,
    x_metric: Metric | None,
    divisor: float,
) -> None:
    """Draw the lines of a panel. Those without an x value are horizontal."""
    places = [place for place, each in enumerate(found.columns) if each != ABSENT]
    values = {label(row.axes.get(axis)): row.axes.get(axis) for row in rows}
    at: list[Any] = [values.get(found.columns[place]) for place in places]
    numeric = x_metric is not None or all(isinstance(each, int | float) and not isinstance(each, bool) for each in at)
    across = found.columns.index(ABSENT) if ABSENT in found.columns else None
    for number, name in enumerate(lines):
        if name not in found.rows:
            continue
        row = found.cells[found.rows.index(name)]
        cells = [row[place].divided(divisor) for place in places]
        if x_metric is not None:
            right = [
                _mean_of(rows, {found.row_axis: name, axis: found.columns[place]}, x_metric.name) for place in places
            ]
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
    if x_metric is None and numeric and len(at) <= MOST_TICKS:
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
    names, x_metric = known[expect_axis(known, by)], expect_metric(kept, metric)
    groups = [""] if x is None else known[expect_axis(known, x)]
    draws = draws_of(known, DRAWS, [by, x])
    cells = Groups(kept, by, x, draws)
    values = {
        (group, name): cells.values(name, None if x is None else group, x_metric.name).values
        for group in groups
        for name in names
    }
    shown_metric, divisor = _unit(x_metric, unit, (value for each in values.values() for value in each))
    figure, (axes,) = canvas(look)
    for number, name in enumerate(names):
        colour, marker, _ = looks(number)
        for place, group in enumerate(groups):
            given = values[group, name]
            if given:
                domain, ordered = domain_for(x_metric, given), in_order(draws)
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
    names, drawn_metric = known[expect_axis(known, by)], expect_metric(kept, metric)
    groups = [""] if x is None else known[expect_axis(known, x)]
    values: dict[tuple[str, str], list[float]] = {}
    for row in kept:
        value = row.metrics.get(drawn_metric.name)
        if value is not None and math.isfinite(value):
            group = "" if x is None else label(row.axes.get(x))
            values.setdefault((group, label(row.axes.get(by))), []).append(value)
    shown_metric, divisor = _unit(drawn_metric, unit, (value for each in values.values() for value in each))
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

    from batprotocol.studies.comparing._figure import STYLE

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


# A plot of jobs: the share of jobs that waited for at most a time. It needs matplotlib.


OF_JOBS: Final = ("waiting_time", "turnaround_time", "slowdown", "bounded_slowdown")
"""The metrics of jobs whose distributions can be drawn."""
_MUCH: Final = 100
_MOST_STEPS: Final = 2000
"""The maximum number of steps of a line. More are not visible."""


def plot_ecdf(
    results: Iterable[ResultRow],
    *,
    of: str = "waiting_time",
    by: str = "scheduler",
    where: Mapping[str, Iterable[object]] | None = None,
    unit: str = "",
    log: bool | None = None,
    look: Look = _USUAL,
) -> Figure:
    """The empirical distribution function of a metric over the jobs of all runs.

    Args:
        results: the rows of a study. Their jobs are read.
        of: the metric of jobs: `waiting_time`, `turnaround_time`, `slowdown` or `bounded_slowdown` (tau = 10 s).
        by: the axis of the lines: each of its values is a line.
        where: the values to select, by their axes.
        unit: the unit of times in the plot, such as `h`; "": seconds.
        log: whether times are on a logarithmic scale, which is linear below 1; None: if the longest one is more than a
            hundred times as long as half of those above 1 are.
        look: size, title and labels.

    Raises:
        PackageMissing: matplotlib is not installed.
        InputError: there are no results, or no such axis, value or unit, or no job ran.
    """
    if of not in OF_JOBS:
        raise InputError(f"expected {', '.join(OF_JOBS)}, got {shown(of)}")
    kept = expect_results(select(results, where or {}))
    known = axes_of(kept)
    whole = metric_named(f"mean_{of}")
    drawn_metric, divisor = in_unit(whole, unit) if unit else (whole, 1.0)
    values: dict[str, list[float]] = {name: [] for name in known[expect_axis(known, by)]}
    for row in kept:
        if row.metrics:
            found = (_of_job(job, of) for job in row.jobs())
            values.setdefault(label(row.axes.get(by)), []).extend(
                value / divisor for value in found if value is not None
            )
    if not any(values.values()):
        raise InputError("no job ran")
    figure, (axes,) = canvas(look)
    from matplotlib.ticker import MaxNLocator, SymmetricalLogLocator

    for number, (name, each) in enumerate(values.items()):
        colour, _, dashes = looks(number)
        right, share = _steps(each)
        axes.step(right, share, where="post", color=colour, linestyle=dashes, label=name)
    axes.set_xlabel(drawn_metric.label_with_unit.removeprefix("mean "))
    axes.set_ylabel("share of jobs")
    axes.set_ylim(0, 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    if log or (log is None and _spans_decades([each for some in values.values() for each in some])):
        axes.set_xscale("symlog", linthresh=1.0)
        axes.xaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=1.0))
    axes.set_xlim(left=0 if of.endswith("time") else 1)
    finish(
        figure,
        [axes],
        look,
        log=False,
        legend=by,
        note=runs_sentence(known, (by, None)).replace("runs", "jobs of runs"),
    )
    return figure


def _spans_decades(values: Sequence[float]) -> bool:
    """Whether a linear scale would show most values as one line at its left end."""
    above = sorted(value for value in values if value > 1)
    return bool(above) and above[-1] > _MUCH * above[len(above) // 2]


def _of_job(job: JobRow, of: str) -> float | None:
    turnaround, runtime = job.turnaround_time, job.shown_execution_time
    if turnaround is None or runtime is None:
        return None
    if of == "bounded_slowdown":
        return bounded_slowdown(turnaround, runtime, TAU)
    return {"waiting_time": job.waiting_time, "turnaround_time": turnaround, "slowdown": job.stretch}[of]


def _steps(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """The steps of the share of values: where it rises, and to which share. Very many steps are thinned out."""
    ordered = sorted(values)
    count = len(ordered)
    every = max(1, count // _MOST_STEPS)
    places = sorted({*range(every - 1, count, every), count - 1} if count else set())
    start = [ordered[0]] if count else []
    return [*start, *(ordered[place] for place in places)], [
        *([0.0] if count else []),
        *((place + 1) / count for place in places),
    ]


# A plot of watts over time, with the cap, and the carbon intensity and the price below. It needs matplotlib.


_MOST: Final = 2000
"""The maximum number of steps of a line. More are not visible, and become means."""
_UNITS: Final = ((2 * 86400.0, 86400.0, "d"), (2 * 3600.0, 3600.0, "h"), (0.0, 1.0, "s"))
"""The shortest time for a unit, its seconds, and its name."""
_BELOW: Final = ("carbon", "price")


def plot_watts(
    results: Iterable[ResultRow],
    *,
    by: str = "scheduler",
    where: Mapping[str, Iterable[object]] | None = None,
    unit: str = "",
    look: Look = _USUAL,
) -> Figure:
    """The watts of all hosts over time: a line for each value of an axis, and the caps as dotted lines.

    The carbon intensity and the price of the study are below, over the same time.

    Args:
        results: the rows of a study, one for each value of `by`. Their energy is read.
        by: the axis of the lines: each of its values is a line.
        where: the values to select, by their axes.
        unit: the unit of the watts in the plot, such as `kW`; "": the usual one.
        look: size, title and labels.

    Raises:
        PackageMissing: matplotlib is not installed.
        InputError: there are no results, no such axis, value or unit, several runs for a line, or no energy.
    """
    kept = [row for row in expect_results(select(results, where or {})) if row.metrics]
    known = axes_of(kept)
    expect_axis(known, by)
    lines = {label(row.axes.get(by)): row for row in kept}
    if len(lines) < len(kept):
        others = [axis for axis, labels in known.items() if len(labels) > 1 and axis != by]
        raise InputError(f"a line is one run: choose one value of {' and of '.join(others)}")
    watts = {name: _watts(row) for name, row in lines.items()}
    if not any(each for each in watts.values()):
        raise InputError("no run has measured its energy over time: set energy, or watts")
    drawn_metric, divisor = _unit_of_watts(unit, watts.values())
    end = max(times[-1] for times, _ in filter(None, watts.values()))
    electricity = {name: _electricity(row) for name, row in lines.items()}
    below = [(name, traces) for name in _BELOW if (traces := _different(electricity, name))]
    figure, axes = _stacked(look, 1 + len(below))
    scale, word = next((seconds, word) for least, seconds, word in _UNITS if end >= least)
    for number, (name, found) in enumerate(watts.items()):
        if found is not None:
            colour, _, dashes = looks(number)
            times, values = _thinned(*found)
            heights = [value / divisor for value in values]
            axes[0].stairs(
                heights, [time / scale for time in times], baseline=None, color=colour, ls=dashes, label=name
            )
    for trace in _different(electricity, "cap"):
        times, values = _steps_of_power(trace, end)
        axes[0].step(
            [time / scale for time in times], [each / divisor for each in values], "k:", where="post", label="cap"
        )
    axes[0].set_ylabel(drawn_metric.label_with_unit.replace("mean ", ""))
    axes[0].set_ylim(bottom=0)
    for axis, (name, traces) in zip(axes[1:], below, strict=True):
        for number, trace in enumerate(traces):
            times, values = _steps_of_power(trace, end)
            axis.step([time / scale for time in times], values, where="post", color=looks(number)[0])
        axis.set_ylabel(f"{name}\n[{traces[0].unit}]")
    axes[-1].set_xlabel(f"time [{word}]")
    finish(figure, axes, look, log=False, legend=by)
    return figure


_Line = tuple[list[float], list[float]]
"""The edges of steps, and their values: one less."""


def _watts(row: ResultRow) -> _Line | None:
    """The mean watts between the readings of a run."""
    readings = getattr(row, "energy_over_time", lambda: None)()
    if not readings:
        return None
    times, values, before = [0.0], [], 0.0
    for time, joules in readings:
        if time > times[-1]:
            values.append((joules - before) / (time - times[-1]))
            times.append(time)
            before = joules
    return (times, values) if values else None


def _electricity(row: ResultRow) -> Electricity:
    known = getattr(row, "electricity", None)
    return known() if known is not None else Electricity()


def _different(electricity: Mapping[str, Electricity], key: str) -> list[Trace]:
    """The different traces of the runs."""
    found = {id(trace): trace for each in electricity.values() if isinstance(trace := getattr(each, key), Trace)}
    return list(found.values())


def _unit_of_watts(unit: str, lines: Iterable[_Line | None]) -> tuple[Any, float]:
    metric = OF_POWER["mean_watts"]
    values = [max(values) for _, values in filter(None, lines)]
    return in_unit(metric, unit) if unit else usual_unit(metric, values)


def _thinned(times: Sequence[float], values: Sequence[float]) -> _Line:
    """The line in at most `_MOST` steps: each has the mean of the steps that it joins."""
    if len(values) <= _MOST:
        return list(times), list(values)
    every, joules = (times[-1] - times[0]) / _MOST, 0.0
    edges, means = [times[0]], list[float]()
    for (begin, end), value in zip(pairwise(times), values, strict=True):
        joules += value * (end - begin)
        if end - edges[-1] >= every or end == times[-1]:
            means.append(joules / (end - edges[-1]))
            edges.append(end)
            joules = 0.0
    return edges, means


def _steps_of_power(trace: Trace, end: float) -> tuple[list[float], list[float]]:
    """The values of a trace from time 0, with the last one at the end."""
    times, values = [], []
    time, shortest = 0.0 if trace.repeats else max(0.0, trace.begin), end / _MOST
    until = end if trace.repeats else min(end, trace.end)
    while time < until:
        times.append(time)
        values.append(trace.at(time))
        time = max(trace.next_change(time), time + shortest)
    return [*times, until], [*values, *values[-1:]]


def _stacked(look: Look, panels: int) -> tuple[Plot, list[Any]]:
    """A figure with panels one above the other, the first one higher, which share the time."""
    try:
        import matplotlib

        from batprotocol.studies.comparing._figure import SIZE, STYLE, Plot
    except ImportError:
        raise missing() from None
    with matplotlib.rc_context(STYLE):
        figure = Plot(look.size or (SIZE[0], SIZE[1] * (1 + 0.4 * (panels - 1))))
        heights = [1.0, *[0.4] * (panels - 1)]
        found = figure.subplots(panels, 1, sharex=True, squeeze=False, height_ratios=heights)
    return figure, [row[0] for row in found]
