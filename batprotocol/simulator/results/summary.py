"""What a terminal shows of a result: its numbers, and two small charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from batprotocol.model import FinalJobState

if TYPE_CHECKING:
    from batprotocol.simulator.results.result import Result

__all__ = ["Summary", "chart", "facts"]

_BLOCKS = " ▁▂▃▄▅▆▇█"
_HEIGHT = 4
_MARGIN = 10  # of the numbers beside a chart
_WIDEST = 100
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))
_WORDS = (
    (FinalJobState.COMPLETED_SUCCESSFULLY, "succeeded"),
    (FinalJobState.COMPLETED_FAILED, "failed"),
    (FinalJobState.COMPLETED_WALLTIME_REACHED, "reached their walltime"),
    (FinalJobState.COMPLETED_KILLED, "killed"),
    (FinalJobState.REJECTED, "rejected"),
)


class Summary:
    """The numbers of a result, and below them utilisation and queue over time, as wide as the console; for `rich`."""

    def __init__(self, result: Result) -> None:
        self.result = result

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        result = self.result
        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold")
        table.add_column()
        for name, value in facts(result):
            table.add_row(name, Text(value))
        yield table
        if result.nb_jobs_finished:
            yield Text()
            yield _charts(result, min(max(options.max_width - _MARGIN, 10), _WIDEST))


def _charts(result: Result, columns: int) -> Table:
    utilisation = result.utilisation_over_time(columns)
    queue = result.queue_over_time(columns)
    highest = max(*utilisation, 1.0)
    most = max(queue)
    end = duration(result.makespan)
    axis = Text("0 s".ljust(columns - len(end)) + end, style="dim", no_wrap=True)
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_row("", Text("utilisation", style="bold"))
    _add_chart(table, utilisation, highest, f"{highest:.0%}", "green")
    table.add_row("", axis)
    table.add_row("", Text("jobs waiting", style="bold"))
    _add_chart(table, queue, most or 1.0, f"{most:.3g}", "yellow")
    table.add_row("", axis)
    return table


def _add_chart(table: Table, values: Sequence[float], highest: float, label: str, style: str) -> None:
    for row, line in enumerate(chart(values, highest, _HEIGHT)):
        table.add_row(label if row == 0 else "0" if row == _HEIGHT - 1 else "", Text(line, style=style))


def chart(values: Sequence[float], highest: float, height: int) -> list[str]:
    """Bars of these values, `highest` being as high as the chart, as lines of text from the top down.

    >>> chart([0, 0.5, 1], 1.0, 2)
    ['  █', ' ██']
    """
    levels = [min(max(round(value / highest * height * 8), 0), height * 8) for value in values]
    return ["".join(_BLOCKS[min(max(level - 8 * row, 0), 8)] for level in levels) for row in reversed(range(height))]


def facts(result: Result) -> list[tuple[str, str]]:
    """The numbers worth telling, as names and texts."""
    jobs = ", ".join(f"{result.counts[state]:,} {word}" for state, word in _WORDS if result.counts[state])
    found = [("jobs", f"{result.nb_jobs:,}" + (f" ({jobs})" if jobs else ""))]
    if result.nb_jobs_finished:
        found += [
            ("makespan", duration(result.makespan)),
            ("waiting time", f"{duration(result.mean_waiting_time)} mean, {duration(result.max_waiting_time)} at most"),
            ("slowdown", f"{_ratio(result.mean_slowdown)} mean, {_ratio(result.max_slowdown)} at most"),
            (
                "turnaround time",
                f"{duration(result.mean_turnaround_time)} mean, {duration(result.max_turnaround_time)} at most",
            ),
            ("utilisation", f"{result.utilisation:.1%} of {result.host_count:,} hosts"),
        ]
    if result.consumed_joules is not None:
        found.append(("energy", f"{joules(result.consumed_joules)} consumed"))
    if not result.is_complete:
        found.append(("end", "the simulation did not come to its end"))
    return found


def _ratio(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Seconds, and from a minute on what they are in larger units.

    >>> duration(12.3456), duration(5400)
    ('12.3 s', '5,400 s (1.5 h)')
    """
    if abs(seconds) < 60:
        return f"{seconds:.3g} s"
    factor, unit = next((factor, unit) for factor, unit in _UNITS if abs(seconds) >= factor)
    return f"{seconds:,.0f} s ({seconds / factor:.3g} {unit})"


def joules(amount: float) -> str:
    """Joules with a prefix that leaves few digits.

    >>> joules(1234567.0), joules(12.0)
    ('1.23 MJ', '12 J')
    """
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(amount) >= factor:
            return f"{amount / factor:.3g} {prefix}J"
    return f"{amount:.3g} J"
