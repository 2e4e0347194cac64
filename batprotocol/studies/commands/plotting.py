"""`batproto study plot`: a plot of results, in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from batprotocol.cli.terminal.output import Output
from batprotocol.simulator import GROUPINGS
from batprotocol.studies.commands.tables import measured_rows
from batprotocol.studies.comparing import (
    Look,
    expect_plots,
    plot_boxes,
    plot_ecdf,
    plot_lines,
    plot_means,
    plot_watts,
    save_plot,
)

__all__ = ["show"]


def show(
    source: str,
    *,
    output: str,
    kind: str | None,
    x: str | None,
    by: str,
    metric: str,
    of: str,
    baseline: str | None,
    panels: str | None,
    where: Mapping[str, Sequence[str]],
    confidence: float,
    unit: str,
    log: bool | None,
    size: tuple[float, float] | None,
    title: str,
    xlabel: str | None,
    ylabel: str | None,
) -> None:
    """Draw the results in a store, or of a study."""
    expect_plots(output)
    look = Look(size=size, title=title, xlabel=xlabel, ylabel=ylabel)
    kind = kind or ("boxes" if x is None else "lines")
    for name, given in (("baseline", baseline), ("panels", panels)):
        if given is not None and kind != "lines":
            raise click.UsageError(f"--{name} is for lines: give --x, and no --kind except lines")
    if kind in ("ecdf", "watts") and any(axis in GROUPINGS for axis in (by, *where)):
        raise click.UsageError(f"--kind {kind} draws whole runs, and no groups of jobs: choose another kind")
    if kind == "watts" and (x is not None or log):
        raise click.UsageError("--kind watts is over time: leave out --x and --log")
    kept, (name,) = measured_rows(source, [metric], where, x, by, panels)
    common: dict[str, Any] = {"by": by, "unit": unit, "log": bool(log), "look": look}
    if kind == "ecdf":
        figure: Any = plot_ecdf(kept, of=of, **{**common, "log": log})
    elif kind == "watts":
        figure = plot_watts(kept, by=by, unit=unit, look=look)
    elif kind == "boxes":
        figure = plot_boxes(kept, x=x, metric=name, **common)
    elif kind == "means":
        figure = plot_means(kept, x=x, metric=name, confidence=confidence, **common)
    elif x is None:
        raise click.UsageError("lines need an x axis: give --x, too")
    else:
        figure = plot_lines(kept, x=x, metric=name, confidence=confidence, baseline=baseline, panels=panels, **common)
    save_plot(figure, output)
    messages = Output()
    for note in figure.notes:
        messages.remark(output, note)
