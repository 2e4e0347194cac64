"""`batproto study table`: a table of results, in the form that is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from batprotocol.cli.terminal.grids import print_grid
from batprotocol.cli.terminal.output import Output
from batprotocol.simulator import load_metric
from batprotocol.studies import Row, Rows, read_rows, with_metrics
from batprotocol.studies.comparing import table
from batprotocol.studies.comparing.rows import select

__all__ = ["show", "with_named"]


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
) -> None:
    """Print a table of the results in a store, or of a study."""
    kept, names = with_named(select(read_rows(source), where), metrics)
    found = table(
        kept,
        rows=rows,
        columns=columns,
        metric=names,
        baseline=baseline,
        confidence=confidence,
        unit=unit,
        correction="holm" if holm else None,
    )
    output = Output()
    if form is None:
        print_grid(output, found.grid())
    else:
        text = {"csv": found.csv, "markdown": found.markdown, "latex": found.latex, "json": found.json}[form]()
        output.raw(text.rstrip("\n").encode("utf-8", "backslashreplace") + b"\n")


def with_named(rows: Sequence[Row], names: Sequence[str]) -> tuple[Rows, list[str]]:
    """The rows with the metrics that `FILE.py:FUNCTION` names, and the names of all metrics."""
    own = [load_metric(name) for name in names if ":" in name]
    found = iter(own)
    return with_metrics(Rows(rows), own), [next(found).name if ":" in name else name for name in names]
