"""`batproto study table`: a table of results, in the form that is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from batprotocol.cli.terminal.grids import print_grid
from batprotocol.cli.terminal.output import Output
from batprotocol.studies import read_rows
from batprotocol.studies.comparing import table

__all__ = ["show"]


def show(
    source: str,
    *,
    rows: str,
    columns: str | None,
    metrics: Sequence[str],
    baseline: str | None,
    where: Mapping[str, Sequence[str]],
    confidence: float,
    form: str | None,
) -> None:
    """Print a table of the results in a store, or of a study."""
    found = table(
        read_rows(source),
        rows=rows,
        columns=columns,
        metric=metrics,
        baseline=baseline,
        where=where,
        confidence=confidence,
    )
    output = Output()
    if form is None:
        print_grid(output, found.grid())
    else:
        text = {"csv": found.csv, "markdown": found.markdown, "latex": found.latex, "json": found.json}[form]()
        output.raw(text.rstrip("\n").encode("utf-8", "backslashreplace") + b"\n")
