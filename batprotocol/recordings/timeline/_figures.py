"""Timelines as figures for papers, drawn by matplotlib, which `batprotocol[plots]` installs and the first use imports.

A figure contains few shapes as shapes. It contains many shapes as one picture, so an SVG of 100,000 jobs is as small as
one of a few thousand jobs.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from batprotocol._util.files import whole
from batprotocol._util.requirements import installing
from batprotocol.errors import InputError, PackageMissing
from batprotocol.recordings.timeline._sharing import HostRows, overlaps_of, rectangles
from batprotocol.recordings.timeline.packing import all_series, size, state_number
from batprotocol.recordings.timeline.values import Series, TimelineData, TimelineJob

Colouring: TypeAlias = Literal["job", "state", "waiting", "user", "profile", "workload"]
"""The property that selects the colour of a job."""
COLOURINGS: Final = ("job", "state", "waiting", "user", "profile", "workload")

_MOST_SHAPES: Final = 3000
"""More shapes than this become a picture."""
_WIDTH: Final = 7.2
"""Inches: two columns of a paper."""
_GANTT: Final = 2.6
_LANE: Final = 0.75
_RATIO: Final = {".png": 200, ".svg": 300, ".pdf": 300}
"""Pixels per inch."""
_UNITS: Final = ((2 * 86400.0, 86400.0, "d"), (2 * 3600.0, 3600.0, "h"), (600.0, 60.0, "min"), (0.0, 1.0, "s"))
_UNDATED: Final = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
"""No dates: the same run always gives the same file."""
_OFF_DUTY: Final = {
    "off": ("", "#dfe3e9"),
    "switching": ("", "#f5e6c9"),
    "down": ("hosts down", "#efc4c0"),
    "drained": ("hosts drained", "#ecdcb4"),
    "closed": ("closed windows", "#d8d3ea"),
    "reserved": ("reservations", "#cfe5dc"),
}
"""The name in the legend, and the colour, of hosts that are off duty."""
_STYLE: Final[Any] = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # TrueType, which publishers ask for
    "svg.hashsalt": "batprotocol",
}

_LONG_NAME: Final = 11
"""The unit of a series with a longer name and unit is in a line of its own."""


class _Colours(NamedTuple):
    """The colour of each job, and the meaning of the colours."""

    of_jobs: list[str]
    legend: list[tuple[str, str]]


def save_figure(runs: Sequence[TimelineData], path: str | os.PathLike[str], colour: Colouring) -> None:
    """Write the figure; see `Timeline.save`."""
    figure = draw(runs, colour)
    import matplotlib

    suffix = Path(path).suffix.lower()
    metadata = _UNDATED.get(suffix)
    with matplotlib.rc_context(_STYLE), whole(path) as file:
        figure.savefig(file, format=suffix[1:], dpi=_RATIO[suffix], metadata=metadata)


def draw(runs: Sequence[TimelineData], colour: Colouring) -> Any:
    """The figure: for each run its jobs on hosts, and its series below, over the same time.

    Raises:
        InputError: jobs cannot be coloured by this property.
        PackageMissing: matplotlib is not installed.
    """
    if colour not in COLOURINGS:
        raise InputError(f"jobs are coloured by {', '.join(COLOURINGS)}, got {colour!r}")
    try:
        import matplotlib
    except ImportError:
        raise PackageMissing(f"figures (.pdf, .svg, .png) need the package matplotlib: {installing('plots')}") from None
    from matplotlib.figure import Figure

    series = [_lanes(all_series(run)) for run in runs]
    heights = [height for each in series for height in (_GANTT, *[_LANE] * len(each))]
    palette = json.loads((files("batprotocol.recordings.timeline") / "page" / "colours.json").read_text("utf-8"))
    colours = _coloured(runs, colour, palette)
    with matplotlib.rc_context(_STYLE):
        # Not by pyplot: it would keep the figure, and choose where it is shown.
        figure: Any = Figure(figsize=(_WIDTH, sum(heights) + 0.6), layout="constrained")
        grid = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)
        axes = list(grid[:, 0])
        factor, unit = _time_unit(runs)
        for run, lanes, chosen in zip(runs, series, colours, strict=True):
            _draw_jobs(axes.pop(0), run, chosen.of_jobs, factor, len(runs) > 1)
            for lane in lanes:
                _draw_series(axes.pop(0), lane, run.end, factor, palette["lines"][lane[0].kind])
        last = grid[-1, 0]
        last.set_xlabel(f"simulated time ({unit})")
        last.set_xlim(min(run.start for run in runs) / factor, max(run.end for run in runs) / factor or 1.0)
        kinds = {off.kind for run in runs for off in run.off_duty}
        _add_legend(figure, colours, [entry for kind, entry in _OFF_DUTY.items() if kind in kinds and entry[0]])
        figure.align_ylabels()
    return figure


def _time_unit(runs: Sequence[TimelineData]) -> tuple[float, str]:
    span = max(run.end for run in runs) - min(run.start for run in runs)
    return next((factor, unit) for least, factor, unit in _UNITS if span >= least)


def _draw_jobs(axis: Any, run: TimelineData, colours: Sequence[str], factor: float, is_named: bool) -> None:
    from matplotlib.collections import PolyCollection

    corners: list[tuple[tuple[float, float], ...]] = []
    filled: list[str] = []
    for off in run.off_duty:
        left, right = off.start / factor, off.end / factor
        corners.append(((left, off.first), (right, off.first), (right, off.last + 1), (left, off.last + 1)))
        filled.append(_OFF_DUTY[off.kind][1])
    spans = rectangles(run, HostRows((), None), overlaps_of(run.jobs))
    for job, colour, places in zip(run.jobs, colours, spans, strict=True):
        if job.started is None:
            continue
        left, right = job.started / factor, (run.end if job.finished is None else job.finished) / factor
        for top, bottom in places:
            corners.append(((left, top), (right, top), (right, bottom), (left, bottom)))
            filled.append(colour)
    are_many = len(corners) > _MOST_SHAPES
    edges = {"linewidths": 0} if are_many else {"edgecolors": "white", "linewidths": 0.25}
    axis.add_collection(PolyCollection(corners, facecolors=filled, rasterized=are_many, **edges), autolim=False)
    axis.set_ylim(max(1, run.host_count), 0)
    axis.set_ylabel("hosts")
    axis.yaxis.get_major_locator().set_params(integer=True)
    if is_named:
        axis.set_title(f"{_plain(run.name)}: {size(run)}", loc="left", fontsize=8)


def _lanes(series: Iterable[Series]) -> list[list[Series]]:
    """The series that are drawn together: the cap with the power."""
    found: list[list[Series]] = []
    for each in series:
        if each.kind == "power" and found and found[-1][0].kind == "power" and found[-1][0].lane == each.lane:
            found[-1].append(each)
        else:
            found.append([each])
    return found


def _draw_series(axis: Any, lane: Sequence[Series], end: float, factor: float, colour: str) -> None:
    """Draw a series, and the others of its lane as dashed lines."""
    _draw_values(axis, lane[0], end, factor, colour)
    (_, highest), names = axis.get_ylim(), [_plain(each.name) for each in lane[1:]]
    for other in lane[1:]:
        times, values = _points(other, end, factor)
        axis.plot(times, values, drawstyle="steps-post", color="#444444", linewidth=0.8, linestyle="--")
        highest = max(highest, *(value * 1.05 for value in values if isfinite(value)))
    if names:
        axis.set_ylim(0, highest)
        axis.annotate(
            f"dashed: {', '.join(names)}", (0.995, 0.07), xycoords="axes fraction", ha="right", va="bottom", fontsize=6
        )


def _points(series: Series, end: float, factor: float) -> tuple[list[float], list[float]]:
    """The times and values of a series; a value that holds is drawn to the end."""
    times = [time / factor for time in (*series.times, *((end,) if series.is_step and len(series.times) else ()))]
    values = [*series.values, *series.values[-1:]] if len(times) > len(series.times) else list(series.values)
    return times, values


def _draw_values(axis: Any, series: Series, end: float, factor: float, colour: str) -> None:
    times, values = _points(series, end, factor)
    are_many = len(times) > _MOST_SHAPES
    style = "steps-post" if series.is_step else "default"
    axis.plot(times, values, drawstyle=style, color=colour, linewidth=0.8, rasterized=are_many)
    if series.is_step:
        axis.fill_between(times, values, step="post", color=colour, alpha=0.2, linewidth=0, rasterized=are_many)
    known = [value for value in values if isfinite(value)]
    least, most = min([*known, 0.0]), series.most or max([*known, 0.0])
    axis.set_ylim(least * 1.05, (most if most > least else 1.0) * 1.05)
    name = _plain(series.name).replace(" ", "\n", 1)
    gap = "\n" if len(name) + len(series.unit) > _LONG_NAME else " "
    axis.set_ylabel(f"{name}{gap}({series.unit})" if series.unit else name)
    axis.yaxis.get_major_locator().set_params(nbins=3)


def _plain(text: str) -> str:
    """A text without formulas: matplotlib reads the text between two dollar signs as a formula."""
    return text.replace("$", r"\$")


# Colours


def _coloured(runs: Sequence[TimelineData], way: Colouring, palette: dict[str, Any]) -> list[_Colours]:
    hues, others = palette["hues"], palette["others"]
    if way == "job":
        return [_Colours([hues[_hash(job.job_id) % len(hues)] for job in run.jobs], []) for run in runs]
    if way == "state":
        return [_placed([state_number(job) for job in run.jobs], palette["states"]) for run in runs]
    if way == "waiting":
        limits = [most for most, _, _ in palette["waiting"][:-1]]
        classes = [(name, colour) for _, name, colour in palette["waiting"]]
        return [_placed([bisect_left(limits, _waited(job)) for job in run.jobs], classes) for run in runs]
    words = [[getattr(job, way) for job in run.jobs] for run in runs]
    frequent = [word for word, _ in Counter(word for each in words for word in each).most_common(len(hues))]
    places = {word: place for place, word in enumerate(frequent)}
    classes = [(word or "none", hue) for word, hue in zip(frequent, hues, strict=False)] + [("others", others)]
    return [_placed([places.get(word, len(classes) - 1) for word in each], classes) for each in words]


def _placed(places: Sequence[int], classes: Sequence[Sequence[str]]) -> _Colours:
    """The colours of the jobs by the places of their classes, and a legend of the classes that occur."""
    used = set(places)
    legend = [(name, colour) for place, (name, colour) in enumerate(classes) if place in used]
    return _Colours([classes[place][1] for place in places], legend)


def _waited(job: TimelineJob) -> float:
    return 0.0 if job.started is None or job.submitted is None else max(0.0, job.started - job.submitted)


def _hash(text: str) -> int:
    """The hash by which the page colours jobs (FNV-1a): a job has the same colour in both."""
    found = 2166136261
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        found = (found ^ unit) * 16777619 & 0xFFFFFFFF
    return found ^ found >> 15


def _add_legend(figure: Any, colours: Sequence[_Colours], others: Sequence[tuple[str, str]]) -> None:
    entries = dict(entry for each in colours for entry in each.legend) | dict(others)
    if entries:
        from matplotlib.patches import Patch

        handles = [Patch(facecolor=colour, label=_plain(name)) for name, colour in entries.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 5), frameon=False)
