"""Tables on a terminal: what stands out is bold, or in asterisks where there are no styles."""

from __future__ import annotations

from batprotocol._util.grids import Grid, text_lines
from batprotocol.cli.terminal.output import Output

__all__ = ["print_grid"]


def print_grid(output: Output, grid: Grid) -> None:
    """Print a table, and its caption below it."""
    lines = text_lines(grid, marked=not output.has_styles)
    output.lines([("heading" if entry.bold else "", entry.text) for entry in line] for line in lines)
    if grid.caption:
        output.line(("detail", grid.caption))
