"""`batproto study plot`: a plot of results, in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from batprotocol.studies import read_rows
from batprotocol.studies.comparing import expect_plots, plot_boxes, plot_ecdf, plot_lines, save_plot

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
    where: Mapping[str, Sequence[str]],
    confidence: float,
    log: bool,
) -> None:
    """Draw the results in a store, or of a study."""
    expect_plots(output)
    rows = read_rows(source)
    if kind == "ecdf":
        figure = plot_ecdf(rows, of=of, by=by, where=where, log=log)
    elif kind == "boxes" or (kind is None and x is None):
        figure = plot_boxes(rows, x=x, by=by, metric=metric, where=where, log=log)
    elif x is None:
        raise click.UsageError("lines need an axis to the right: give --x, too")
    else:
        figure = plot_lines(rows, x=x, by=by, metric=metric, where=where, confidence=confidence, log=log)
    save_plot(figure, output)
