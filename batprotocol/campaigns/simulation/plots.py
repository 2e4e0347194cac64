"""Plots of a simulated grid, with matplotlib of `batprotocol[plots]`, which is imported at its first use."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from batprotocol._util.extras import installing
from batprotocol._util.files import naming
from batprotocol.campaigns.simulation.report import GridReport, Regulation
from batprotocol.campaigns.simulation.usage import UsagePoint
from batprotocol.errors import PackageMissing

__all__ = ["FORMATS", "draw", "write_plots"]

FORMATS = ("png", "svg")
_BEFORE = 0.1
"""The part of the time before the campaigns that is drawn, as a share of their time."""
_MOST_NAMED = 12


def write_plots(
    folder: str | os.PathLike[str],
    report: GridReport,
    usage: Mapping[str, Sequence[UsagePoint]],
    regulation: Sequence[Regulation],
) -> list[Path]:
    """Plot the results of a simulation, as `grid.png` and `grid.svg`; return the files.

    Args:
        folder: the folder of the files; made if it is missing.
        report: the results.
        usage: the series of each cluster, by name.
        regulation: the series of the regulators.

    Raises:
        PackageMissing: matplotlib is not installed.
    """
    figure = draw(report, usage, regulation)
    import matplotlib
    from matplotlib import pyplot

    with matplotlib.rc_context({"svg.hashsalt": "batprotocol"}):
        Path(folder).mkdir(parents=True, exist_ok=True)
        paths = [Path(folder) / f"grid.{format}" for format in FORMATS]
        for path in paths:
            with naming(path):
                figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        pyplot.close(figure)
    return paths


def draw(report: GridReport, usage: Mapping[str, Sequence[UsagePoint]], regulation: Sequence[Regulation]) -> Any:
    """The figure that `write_plots` writes: resources, waiting jobs and regulation over time, and areas.

    Raises:
        PackageMissing: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise PackageMissing(f"plots need the package matplotlib: {installing('plots')}") from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    shown = _Time(report)
    figure: Any
    figure, ((resources, waiting), (rates, areas)) = pyplot.subplots(2, 2, figsize=(12, 7), layout="constrained")
    _draw_resources(resources, usage, report.hosts, shown)
    _draw_waiting(waiting, usage, shown)
    _draw_regulation(rates, regulation, shown)
    _draw_areas(areas, report)
    return figure


class _Time:
    """The time that is drawn: it begins a little before the submission of the first campaign.

    Without campaigns, it is the whole time.
    """

    def __init__(self, report: GridReport) -> None:
        self.zero = report.began or 0.0
        ended = None if report.began is None else report.ended
        span = (report.over if ended is None else ended) - self.zero
        self.last = 1.02 * span or 1.0
        self.first = max(-self.zero, -_BEFORE * span)
        self.words = "seconds since the first campaign was submitted" if report.began else "simulated seconds"

    def cut(self, times: Sequence[float]) -> tuple[list[float], slice]:
        """The times on the axis, and their slice: with the last one before and the first one after."""
        moved = [time - self.zero for time in times]
        begin, end = max(0, bisect_right(moved, self.first) - 1), bisect_left(moved, self.last) + 1
        return [min(max(time, self.first), self.last) for time in moved[begin:end]], slice(begin, end)


def _draw_resources(axis: Any, usage: Mapping[str, Sequence[UsagePoint]], hosts: int, shown: _Time) -> None:
    """The used resources over time, of all clusters."""
    times = sorted({point.time for points in usage.values() for point in points})
    local, campaigns = [0] * len(times), [0] * len(times)
    for points in usage.values():
        place = 0
        for number, time in enumerate(times):
            while place + 1 < len(points) and points[place + 1].time <= time:
                place += 1
            local[number] += points[place].local
            campaigns[number] += points[place].campaigns
    drawn, part = shown.cut(times)
    labels = ("local jobs", "campaigns")
    axis.stackplot(drawn, local[part], campaigns[part], labels=labels, step="post", linewidth=0)
    axis.axhline(hosts, color="black", linestyle="--", linewidth=1, label=f"all {hosts:,} hosts")
    _dress(axis, "resources used", shown, legend=True)


def _draw_waiting(axis: Any, usage: Mapping[str, Sequence[UsagePoint]], shown: _Time) -> None:
    for name, points in usage.items():
        drawn, part = shown.cut([point.time for point in points])
        axis.step(drawn, [point.waiting for point in points[part]], where="post", label=name)
    axis.yaxis.get_major_locator().set_params(integer=True)
    _dress(axis, "jobs of campaigns that wait", shown, legend=len(usage) <= _MOST_NAMED)


def _draw_regulation(axis: Any, regulation: Sequence[Regulation], shown: _Time) -> None:
    lines: dict[str, list[Regulation]] = defaultdict(list)
    for each in regulation:
        lines[f"{each.campaign} on {each.cluster}"].append(each)
    for name, points in lines.items():
        drawn, part = shown.cut([point.time for point in points])
        axis.step(drawn, [point.value for point in points[part]], where="post", label=name)
    _dress(axis, "ratio, or jobs a cycle", shown, legend=0 < len(lines) <= _MOST_NAMED)


def _draw_areas(axis: Any, report: GridReport) -> None:
    """The harvested and the wasted resources, in resource hours."""
    names = [cluster.name for cluster in report.clusters]
    wasted = [(cluster.lost + cluster.copied) / 3600 for cluster in report.clusters]
    used = [cluster.used / 3600 for cluster in report.clusters]
    idle = [max(0.0, cluster.idle - cluster.used) / 3600 for cluster in report.clusters]
    useful = [max(0.0, all_used - waste) for all_used, waste in zip(used, wasted, strict=True)]
    axis.bar(names, useful, label="harvested")
    axis.bar(names, wasted, bottom=useful, label="wasted: killed or copied")
    axis.bar(names, idle, bottom=[a + b for a, b in zip(useful, wasted, strict=True)], label="left idle", alpha=0.3)
    axis.set_title("resource hours while there were tasks to start", fontsize=10)
    axis.legend(fontsize=8)


def _dress(axis: Any, title: str, shown: _Time, *, legend: bool) -> None:
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(shown.words)
    axis.set_xlim(shown.first, shown.last)
    axis.set_ylim(bottom=0)
    axis.grid(alpha=0.3)
    if legend:
        axis.legend(fontsize=8)
