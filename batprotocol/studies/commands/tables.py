"""`batproto study table`: a table of results, in the form that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import click

from batprotocol._util.files import by_ending, whole
from batprotocol.cli.terminal.grids import print_grid
from batprotocol.cli.terminal.output import Output
from batprotocol.simulator import GROUPINGS, load_metric
from batprotocol.studies import Rows, read_rows, with_groups, with_metrics
from batprotocol.studies.comparing import table
from batprotocol.studies.comparing.rows import select

__all__ = ["measured_rows", "show"]

_FORMS: Final = {".csv": "csv", ".md": "markdown", ".tex": "latex", ".json": "json", ".txt": None}


def show(
    source: str,
    *,
    rows: str,
    columns: str | None,
    metrics: Sequence[str],
    baseline: str | None,
    where: Mapping[str, Sequence[str]],
    confidence: float,
    unit: str,
    holm: bool,
    form: str | None,
    output: str | None,
    spreadsheet: bool,
) -> None:
    """Print a table of the results in a store, or of a study, or write it to a file."""
    if output is not None:
        of_ending = by_ending(output, _FORMS)
        if form not in (None, of_ending):
            raise click.UsageError(f"--{form} and {output} are two formats: leave out --{form}, or pick another ending")
        form = of_ending
    if spreadsheet and form != "csv":
        raise click.UsageError("--spreadsheet is for CSV: add --csv, or name a .csv file")
    kept, names = measured_rows(source, metrics, where, rows, columns)
    found = table(
        kept,
        rows=rows.split(",") if "," in rows else rows,
        columns=columns,
        metric=names,
        baseline=baseline,
        confidence=confidence,
        unit=unit,
        correction="holm" if holm else None,
    )
    printer = Output()
    if form is None and output is None:
        print_grid(printer, found.grid())
        return
    made: dict[str | None, Callable[[], str]] = {
        "csv": partial(found.csv, guard=spreadsheet),
        "markdown": found.markdown,
        "latex": found.latex,
        "json": found.json,
    }
    text = made.get(form, found.__str__)().rstrip("\n").encode("utf-8", "backslashreplace") + b"\n"
    if output is None:
        printer.raw(text)
        return
    with whole(output) as file:
        file.write(text)


def measured_rows(
    source: str, metrics: Sequence[str], where: Mapping[str, Sequence[str]], *axes: str | None
) -> tuple[Rows, list[str]]:
    """The selected rows with the metrics that `FILE.py:FUNCTION` names, and the names of all metrics.

    If one of the axes groups jobs, such as `partition`, there is a row for each group of jobs of each run.

    Args:
        source: a store, or the file of a study.
        metrics: the names of metrics, some of which may be your own.
        where: the values to select, by their axes.
        axes: the axes of the table or plot.
    """
    rows = read_rows(source)
    by = grouping_of(rows, *axes, *where)
    kept = Rows(select(rows, {axis: values for axis, values in where.items() if axis != by}))
    own = [load_metric(name) for name in metrics if ":" in name]
    if by is None:
        kept = with_metrics(kept, own)
    else:
        kept = Rows(select(with_groups(kept, by, own), {by: where[by]} if by in where else {}))
    found = iter(own)
    return kept, [next(found).name if ":" in name else name for name in metrics]


def grouping_of(rows: Rows, *axes: str | None) -> str | None:
    """The one of these axes that groups jobs, and is not an axis of the study; None if none does."""
    found = list(dict.fromkeys(axis for axis in axes if axis is not None and axis in GROUPINGS.keys() - rows.axes))
    if len(found) > 1:
        raise click.UsageError(f"jobs can be grouped in one way only, and {' and '.join(found)} are two: choose one")
    return found[0] if found else None
