"""The output of a result for a terminal: its numbers, and two small charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from batprotocol.results.words import chart, duration

__all__ = ["Summary"]

_HEIGHT = 4
_MARGIN = 10  # of the numbers beside a chart
_WIDEST = 100
_NOBODY = 1e-6  # so few jobs wait on average only where time goes on in steps that are next to nothing
_Series: TypeAlias = Callable[[int], list[float]]


class Summary:
    """The numbers of a result, and below them utilisation and queue over time, as wide as the console; for `rich`.

    Args:
        facts: the numbers, as names and texts.
        end: the length of the charts in seconds, or None where there is nothing to chart.
        utilisation: returns the utilisation in a number of equal parts of this time.
        queue: returns the number of waiting jobs in a number of equal parts of this time.
    """

    def __init__(self, facts: list[tuple[str, str]], end: float | None, utilisation: _Series, queue: _Series) -> None:
        self.facts = facts
        self.end = end
        self.utilisation = utilisation
        self.queue = queue

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold")
        table.add_column()
        for name, value in self.facts:
            table.add_row(name, Text(value))
        yield table
        if self.end is not None:
            yield Text()
            columns = min(max(options.max_width - _MARGIN, 10), _WIDEST)
            yield _charts(self.utilisation(columns), self.queue(columns), duration(self.end), options.encoding)


def _charts(utilisation: list[float], queue: list[float], end: str, encoding: str) -> Table:
    highest = max(*utilisation, 1.0)
    most = max(queue)
    if most < _NOBODY:
        most = 0.0
    axis = Text("0 s".ljust(len(queue) - len(end)) + end, style="dim", no_wrap=True)
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_row("", Text("utilisation", style="bold"))
    _add_chart(table, utilisation, highest, f"{highest:.0%}", "green", encoding)
    table.add_row("", axis)
    table.add_row("", Text("jobs waiting", style="bold"))
    _add_chart(table, queue, most or 1.0, f"{most:.3g}", "yellow", encoding)
    table.add_row("", axis)
    return table


def _add_chart(table: Table, values: Sequence[float], highest: float, label: str, style: str, encoding: str) -> None:
    for row, line in enumerate(chart(values, highest, _HEIGHT, encoding)):
        table.add_row(label if row == 0 else "0" if row == _HEIGHT - 1 else "", Text(line, style=style))
