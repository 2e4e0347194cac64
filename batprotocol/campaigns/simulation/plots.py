"""Plots of a simulated grid, by matplotlib, which comes with `batprotocol[plots]` and is imported when it is used."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from batprotocol.campaigns.simulation.report import GridReport, Regulation
from batprotocol.campaigns.simulation.usage import UsagePoint
from batprotocol.errors import PackageMissing

__all__ = ["FORMATS", "write_plots"]

FORMATS = ("png", "svg")


def write_plots(
    folder: str | os.PathLike[str],
    report: GridReport,
    usage: Mapping[str, Sequence[UsagePoint]],
    regulation: Sequence[Regulation],
) -> list[Path]:
    """Draw what came of a simulation, as `grid.png` and `grid.svg`; which files.

    Args:
        folder: where they are written; made if it is missing.
        report: what came of it.
        usage: the series of each cluster, by its name.
        regulation: what regulated the flow of jobs.

    Raises:
        PackageMissing: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise PackageMissing("plots need the package matplotlib: pip install 'batprotocol[plots]'") from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    with matplotlib.rc_context({"svg.hashsalt": "batprotocol"}):
        figure: Any
        figure, ((resources, waiting), (rates, areas)) = pyplot.subplots(2, 2, figsize=(12, 7), layout="constrained")
        _draw_resources(resources, usage)
        _draw_waiting(waiting, usage)
        _draw_regulation(rates, regulation)
        _draw_areas(areas, report)
        Path(folder).mkdir(parents=True, exist_ok=True)
        paths = [Path(folder) / f"grid.{format}" for format in FORMATS]
        for path in paths:
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        pyplot.close(figure)
    return paths


def _draw_resources(axis: Any, usage: Mapping[str, Sequence[UsagePoint]]) -> None:
    """Who uses how many resources, over all clusters."""
    times = sorted({point.time for points in usage.values() for point in points})
    local, campaigns = [0] * len(times), [0] * len(times)
    for points in usage.values():
        place = 0
        for number, time in enumerate(times):
            while place + 1 < len(points) and points[place + 1].time <= time:
                place += 1
            local[number] += points[place].local
            campaigns[number] += points[place].campaigns
    axis.stackplot(times, local, campaigns, labels=("local jobs", "campaigns"), step="post", linewidth=0)
    _dress(axis, "resources used", legend=True)


def _draw_waiting(axis: Any, usage: Mapping[str, Sequence[UsagePoint]]) -> None:
    for name, points in usage.items():
        axis.step([point.time for point in points], [point.waiting for point in points], where="post", label=name)
    _dress(axis, "jobs of campaigns that wait", legend=True)


def _draw_regulation(axis: Any, regulation: Sequence[Regulation]) -> None:
    lines: dict[str, list[Regulation]] = defaultdict(list)
    for each in regulation:
        lines[f"{each.campaign} on {each.cluster}"].append(each)
    for name, points in lines.items():
        axis.step([point.time for point in points], [point.value for point in points], where="post", label=name)
    _dress(axis, "ratio, or jobs a cycle", legend=0 < len(lines) <= 12)


def _draw_areas(axis: Any, report: GridReport) -> None:
    """What was harvested and what was wasted, in resource hours."""
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


def _dress(axis: Any, title: str, *, legend: bool) -> None:
    axis.set_title(title, fontsize=10)
    axis.set_xlabel("simulated seconds")
    axis.set_ylim(bottom=0)
    axis.grid(alpha=0.3)
    if legend:
        axis.legend(fontsize=8)
