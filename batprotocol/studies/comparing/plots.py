"""Plots of results, by matplotlib, which comes with `batprotocol[plots]` and is imported when it is used.

They are made for papers: colours that people tell apart who do not see all of them (M. Okabe and K. Ito, 2008), markers
and dashes that stay where there is no colour at all, units at the axes, and no title, which the caption is.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from batprotocol.errors import InputError, PackageMissing, shown
from batprotocol.files import naming
from batprotocol.simulator import TAU, JobRow, metric_named
from batprotocol.simulator.results import bounded_slowdown
from batprotocol.studies.comparing.bootstrap import CONFIDENCE
from batprotocol.studies.comparing.rows import (
    ResultRow,
    axes_of,
    expect_axis,
    expect_metric,
    label,
    select,
)
from batprotocol.studies.comparing.tables import Cell, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "OF_JOBS", "expect_plots", "plot_boxes", "plot_ecdf", "plot_lines", "save_plot"]

FORMATS: Final = ("png", "svg", "pdf")
OF_JOBS: Final = ("waiting_time", "turnaround_time", "slowdown", "bounded_slowdown")
"""What of jobs distributions can be drawn of."""

_MISSING: Final = "plots need the package matplotlib: pip install 'batprotocol[plots]'"
_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES: Final[tuple[Any, ...]] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (7, 2, 1, 2)))
_HATCHES: Final = ("", "//", "\\\\", "..", "xx", "--", "++", "oo")
_DOTS: Final = 200
_MOST_STEPS: Final = 2000
"""Of so many steps, no eye sees each."""
_MOST_TICKS: Final = 10
_FEW_POWERS: Final = 1000
"""A logarithmic scale that is not longer has numbers between the powers of ten."""
_THOUSANDS: Final = 10_000
_LINE: Final = 72
"""Characters of a legend that fit above a plot."""


def plot_lines(
    results: Iterable[ResultRow],
    *,
    x: str,
    by: str = "scheduler",
    metric: str = "mean_bounded_slowdown",
    where: Mapping[str, Iterable[object]] | None = None,
    confidence: float = CONFIDENCE,
    log: bool = False,
) -> Figure:
    """A metric against an axis: a line for each value of another one, means with bands that are bootstrap intervals.

    Args:
        results: the rows of a study.
        x: the axis to the right; where its values are no numbers, there are points with bars instead of lines.
        by: the axis of which each value is a line.
        metric: by its name in `METRICS`.
        where: the values to look at, on some axes.
        confidence: that of the bands, in (0, 1).
        log: whether the metric is on a logarithmic scale.

    Raises:
        PackageMissing: matplotlib is not installed.
        InputError: there are no results, or no such axis, value or metric.
    """
    figure, axes = _canvas()
    kept = select(results, where or {})
    found = table(kept, rows=by, columns=x, metric=metric, confidence=confidence)
    values = {label(row.axes.get(x)): row.axes.get(x) for row in kept}
    at: list[Any] = [values.get(each) for each in found.columns]
    numeric = all(isinstance(each, int | float) and not isinstance(each, bool) for each in at)
    for number, (name, cells) in enumerate(zip(found.rows, found.cells, strict=True)):
        beside = 0.1 * (number - (len(found.rows) - 1) / 2)
        right = at if numeric else [place + beside for place in range(len(at))]
        _draw_line(axes, right, cells, number, name, joined=numeric)
    if numeric and len(at) <= _MOST_TICKS:
        axes.set_xticks(at, found.columns)
    if not numeric:
        _name_places(axes, found.columns)
        axes.set_xlim(-0.5, len(found.columns) - 0.5)
    axes.set_xlabel(x)
    axes.set_ylabel(found.metrics[0].label_with_unit)
    _finish(axes, log, title=f"{by} (mean, {confidence:.0%} interval)")
    return figure


def _draw_line(axes: Any, right: Sequence[float], cells: Sequence[Cell], number: int, name: str, joined: bool) -> None:
    """The means of a row, where there are any: joined, with a band, or each with a bar."""
    known = [
        (place, cell.mean, cell.mean if cell.low is None else cell.low, cell.mean if cell.high is None else cell.high)
        for place, cell in zip(right, cells, strict=True)
        if cell.mean is not None
    ]
    places, means, low, high = zip(*known, strict=True) if known else ((), (), (), ())
    colour, marker, dashes = _looks(number)
    if joined:
        axes.plot(places, means, color=colour, marker=marker, label=name, linestyle=dashes)
        axes.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0)
        return
    below = [mean - bound for mean, bound in zip(means, low, strict=True)]
    above = [bound - mean for mean, bound in zip(means, high, strict=True)]
    axes.errorbar(
        places, means, yerr=[below, above], color=colour, marker=marker, label=name, linestyle="none", capsize=3
    )


def plot_boxes(
    results: Iterable[ResultRow],
    *,
    x: str | None = None,
    by: str = "scheduler",
    metric: str = "mean_bounded_slowdown",
    where: Mapping[str, Iterable[object]] | None = None,
    log: bool = False,
) -> Figure:
    """How a metric is distributed over runs: a box from the first to the third quartile, with the median in it.

    Whiskers reach as far as runs are within 1.5 times the height of the box; those beyond are points.

    Args:
        results: the rows of a study.
        x: the axis of which each value is a group of boxes; None: one group.
        by: the axis of which each value is a box.
        metric: by its name in `METRICS`.
        where: the values to look at, on some axes.
        log: whether the metric is on a logarithmic scale.

    Raises:
        PackageMissing: matplotlib is not installed.
        InputError: there are no results, or no such axis, value or metric.
    """
    figure, axes = _canvas()
    kept = _expect_results(select(results, where or {}))
    known = axes_of(kept)
    names, told = known[expect_axis(known, by)], metric_named(expect_metric(kept, metric))
    groups = [""] if x is None else known[expect_axis(known, x)]
    values: dict[tuple[str, str], list[float]] = {}
    for row in kept:
        value = row.metrics.get(metric)
        if value is not None and math.isfinite(value):
            group = "" if x is None else label(row.axes.get(x))
            values.setdefault((group, label(row.axes.get(by))), []).append(value)
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        colour = _looks(number)[0]
        places = [
            place + width * (number - (len(names) - 1) / 2) if x is not None else number for place in range(len(groups))
        ]
        drawn = axes.boxplot(
            [values.get((group, name), []) for group in groups],
            positions=places,
            widths=0.85 * width if x is not None else 0.6,
            patch_artist=True,
            manage_ticks=False,
            medianprops={"color": "black", "linewidth": 1.6},
            flierprops={"marker": ".", "markersize": 5, "markerfacecolor": colour, "markeredgecolor": colour},
        )
        for box in drawn["boxes"]:
            box.set(facecolor=colour, alpha=0.6, hatch=_HATCHES[number % len(_HATCHES)], edgecolor="black")
            box.set_label(name if box is drawn["boxes"][0] else "")
    _name_places(axes, names if x is None else groups)
    axes.set_xlabel(by if x is None else x)
    axes.set_ylabel(told.label_with_unit)
    axes.grid(visible=False, axis="x")
    _finish(axes, log, title=by, legend=x is not None)
    return figure


def plot_ecdf(
    results: Iterable[ResultRow],
    *,
    of: str = "waiting_time",
    by: str = "scheduler",
    where: Mapping[str, Iterable[object]] | None = None,
    log: bool = False,
) -> Figure:
    """Which share of the jobs have at most so much: the empirical distribution over the jobs of all runs.

    Args:
        results: the rows of a study; their jobs are read.
        of: what of jobs: `waiting_time`, `turnaround_time`, `slowdown` or `bounded_slowdown` (tau = 10 s).
        by: the axis of which each value is a line.
        where: the values to look at, on some axes.
        log: whether times are on a logarithmic scale, which is linear below 1.

    Raises:
        PackageMissing: matplotlib is not installed.
        InputError: there are no results, or no such axis or value, or no job ran.
    """
    if of not in OF_JOBS:
        raise InputError(f"expected {', '.join(OF_JOBS)}, got {shown(of)}")
    figure, axes = _canvas()
    from matplotlib.ticker import MaxNLocator

    kept = _expect_results(select(results, where or {}))
    known = axes_of(kept)
    values: dict[str, list[float]] = {name: [] for name in known[expect_axis(known, by)]}
    for row in kept:
        if row.metrics:
            found = (_of_job(job, of) for job in row.jobs())
            values.setdefault(label(row.axes.get(by)), []).extend(value for value in found if value is not None)
    if not any(values.values()):
        raise InputError("no job ran")
    for number, (name, each) in enumerate(values.items()):
        colour, _, dashes = _looks(number)
        right, share = _steps(each)
        axes.step(right, share, where="post", color=colour, linestyle=dashes, label=name)
    axes.set_xlabel(metric_named(f"mean_{of}").label_with_unit.removeprefix("mean "))
    axes.set_ylabel("share of jobs")
    axes.set_ylim(0, 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    if log:
        axes.set_xscale("symlog", linthresh=1.0)
    axes.set_xlim(left=0 if of.endswith("time") else 1)
    _finish(axes, log=False, title=by)
    return figure


def _of_job(job: JobRow, of: str) -> float | None:
    turnaround, runtime = job.turnaround_time, job.shown_execution_time
    if turnaround is None or runtime is None:
        return None
    if of == "bounded_slowdown":
        return bounded_slowdown(turnaround, runtime, TAU)
    return {"waiting_time": job.waiting_time, "turnaround_time": turnaround, "slowdown": job.stretch}[of]


def _steps(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Where the share of values rises, and to what; of very many, as many as can be seen."""
    ordered = sorted(values)
    count = len(ordered)
    every = max(1, count // _MOST_STEPS)
    places = sorted({*range(every - 1, count, every), count - 1} if count else set())
    start = [ordered[0]] if count else []
    return [*start, *(ordered[place] for place in places)], [
        *([0.0] if count else []),
        *((place + 1) / count for place in places),
    ]


def save_plot(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a plot, as PNG, SVG or PDF by the name of the file. The same plot is the same file.

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
    """The format of a plot in a file of that name, before anything is drawn.

    Raises:
        InputError: plots are not written into files of such names.
        PackageMissing: matplotlib is not installed.
    """
    name = os.fspath(path)
    format = os.path.splitext(name)[1].removeprefix(".").lower()
    if format not in FORMATS:
        raise InputError(f"expected a name that ends in .{', .'.join(FORMATS)}, got {shown(name)}")
    if find_spec("matplotlib") is None:
        raise PackageMissing(_MISSING)
    return format


def _canvas() -> tuple[Figure, Any]:
    """A figure and its axes."""
    try:
        import matplotlib

        from batprotocol.studies.comparing.figures import STYLE, Plot
    except ImportError:
        raise PackageMissing(_MISSING) from None
    with matplotlib.rc_context(STYLE):
        figure = Plot()
        return figure, figure.add_subplot()


def _looks(number: int) -> tuple[str, str, Any]:
    """Colour, marker and dashes of a line: with more than eight, the dashes go on by one."""
    round = number // len(_COLOURS)
    return _COLOURS[number % 8], _MARKERS[number % 8], _DASHES[(number + round) % 8]


def _expect_results(results: list[ResultRow]) -> list[ResultRow]:
    if not results:
        raise InputError("there are no results to draw")
    return results


def _name_places(axes: Any, names: Sequence[str]) -> None:
    """What is at each place of an axis that has no numbers; long names lean."""
    leans = {"rotation": 25, "ha": "right", "rotation_mode": "anchor"} if sum(map(len, names)) > _LINE else {}
    axes.set_xticks(range(len(names)), names, **leans)


def _finish(axes: Any, log: bool, *, title: str, legend: bool = True) -> None:
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    if log:
        axes.set_yscale("log")
        lowest, highest = axes.get_ylim()
        if highest < _FEW_POWERS * lowest:
            axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
            axes.yaxis.set_minor_formatter(StrMethodFormatter("{x:,g}"))
    for axis in (axes.xaxis, axes.yaxis):
        lowest, highest = axis.get_view_interval()
        if axis.get_scale() == "linear" and max(abs(lowest), abs(highest)) >= _THOUSANDS:
            axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    handles, names = axes.get_legend_handles_labels()
    if legend and names:  # above the plot, where it hides nothing
        columns = max(1, min(len(names), _LINE // (max(map(len, names)) + 6)))
        axes.figure.legend(
            handles, names, title=title, loc="outside upper center", ncols=columns, frameon=False, fontsize=10
        )
