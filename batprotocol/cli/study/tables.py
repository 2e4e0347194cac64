"""`batproto study table`: a table of results, in the form that is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import click

from batprotocol.cli.terminal.grids import print_grid
from batprotocol.cli.terminal.output import Output
from batprotocol.simulator import load_metric
from batprotocol.studies import Row, Rows, read_rows, with_metrics
from batprotocol.studies.comparing import table
from batprotocol.studies.comparing.rows import select
from batprotocol.writing import by_ending, whole

__all__ = ["show", "with_named"]

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
    seed: int,
    holm: bool,
    form: str | None,
    output: str | None,
) -> None:
    """Print a table of the results in a store, or of a study, or write it to a file."""
    if output is not None:
        of_ending = by_ending(output, _FORMS)
        if form not in (None, of_ending):
            raise click.UsageError(f"--{form} and {output} are two formats: leave out --{form}, or pick another ending")
        form = of_ending
    kept, names = with_named(select(read_rows(source), where), metrics)
    found = table(
        kept,
        rows=rows.split(",") if "," in rows else rows,
        columns=columns,
        metric=names,
        baseline=baseline,
        confidence=confidence,
        unit=unit,
        seed=seed,
        correction="holm" if holm else None,
    )
    printer = Output()
    if form is None and output is None:
        print_grid(printer, found.grid())
        return
    made = {"csv": found.csv, "markdown": found.markdown, "latex": found.latex, "json": found.json}
    text = (made[form]() if form else str(found)).rstrip("\n").encode("utf-8", "backslashreplace") + b"\n"
    if output is None:
        printer.raw(text)
        return
    with whole(output) as file:
        file.write(text)


def with_named(rows: Sequence[Row], names: Sequence[str]) -> tuple[Rows, list[str]]:
    """The rows with the metrics that `FILE.py:FUNCTION` names, and the names of all metrics."""
    own = [load_metric(name) for name in names if ":" in name]
    found = iter(own)
    return with_metrics(Rows(rows), own), [next(found).name if ":" in name else name for name in names]
