"""Numbers of a result as text for readers: durations, joules, ratios, sentences, and small charts for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from batprotocol.workloads.workload import UNSTEADY

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

    from batprotocol.results.metrics import FailureMetrics, Metrics
    from batprotocol.results.times import Resource

__all__ = [
    "WAITING",
    "Summary",
    "chart",
    "duration",
    "energy",
    "facts_of_failures",
    "facts_of_power",
    "facts_of_resources",
    "facts_of_times",
    "grams",
    "grows",
    "joules",
    "percent",
    "ratio",
    "unsteady_sentence",
    "watts",
]


_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:-=+*%#"
_DIGITS = 1e15
"""From this number on, numbers have exponents, because a double has no more digits."""
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def chart(values: Sequence[float], highest: float, height: int, encoding: str = "utf-8") -> list[str]:
    """Bars of these values as lines of text, from the top down. `highest` is as high as the chart.

    >>> chart([0, 0.5, 1], 1.0, 2)
    ['  █', ' ██']
    >>> chart([0, 0.5, 1], 1.0, 2, "ascii")
    ['  #', ' ##']
    """
    blocks = _BLOCKS if _can_write(_BLOCKS, encoding) else _ASCII
    # A value that is not a number, because a sum has left the range of doubles, has no bar.
    levels = [round(min(max(0.0, value / highest), 1.0) * height * 8) for value in values]
    return ["".join(blocks[min(max(level - 8 * row, 0), 8)] for level in levels) for row in reversed(range(height))]


def _can_write(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def ratio(value: float) -> str:
    """A ratio with three digits, or more for large numbers.

    >>> ratio(1.2345), ratio(12345.6), ratio(1e300)
    ('1.23', '12,346', '1e+300')
    """
    return f"{value:,.0f}" if 100 <= value < _DIGITS else f"{value:.3g}"


def percent(share: float) -> str:
    """A share in percent, and as a number where it is very large.

    >>> percent(0.8331), percent(1e300)
    ('83.3%', '1e+300')
    """
    return f"{share:.1%}" if abs(share) < 1000 else f"{share:.3g}"


def duration(seconds: float) -> str:
    """Seconds, and from a minute on also in larger units. Less than a nanosecond is 0.

    >>> duration(12.3456), duration(5400), duration(1e300), duration(1e-308)
    ('12.3 s', '5,400 s (1.5 h)', '1e+300 s', '0 s')
    """
    if abs(seconds) < 1e-9:  # the least steps in which time goes on where messages take none
        return "0 s"
    if not 60 <= abs(seconds) < _DIGITS:
        return f"{seconds:.3g} s"
    factor, unit = next((factor, unit) for factor, unit in _UNITS if abs(seconds) >= factor)
    return f"{seconds:,.0f} s ({seconds / factor:.3g} {unit})"


def joules(amount: float) -> str:
    """Joules with a prefix that leaves few digits.

    >>> joules(1234567.0), joules(12.0)
    ('1.23 MJ', '12 J')
    """
    return _prefixed(amount, "J")


def energy(amount: float) -> str:
    """Joules, and from a watt-hour on also as watt-hours.

    >>> energy(3.2e8), energy(12.0)
    ('320 MJ (88.9 kWh)', '12 J')
    """
    return f"{joules(amount)} ({_prefixed(amount / 3600, 'Wh')})" if abs(amount) >= 3600 else joules(amount)


def watts(power: float) -> str:
    """Watts with a prefix that leaves few digits.

    >>> watts(8123.0)
    '8.12 kW'
    """
    return _prefixed(power, "W")


def grams(amount: float) -> str:
    """Grams, kilograms or tonnes.

    >>> grams(12.3), grams(45678.0), grams(2.5e7)
    ('12.3 g', '45.7 kg', '25 t')
    """
    return f"{amount / 1e6:,.3g} t" if abs(amount) >= 1e6 else _prefixed(amount, "g")


def _prefixed(amount: float, unit: str) -> str:
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(amount) >= factor:
            return f"{amount / factor:.3g} {prefix}{unit}"
    return f"{amount:.3g} {unit}"


# Numbers with their names


_SHOWN = 5e-4
"""Smaller shares would be shown as 0.0%."""


def facts_of_times(metrics: Metrics) -> list[tuple[str, str]]:
    """The times and slowdowns of jobs, as names and texts."""
    times = [
        ("waiting time", duration, metrics.waiting),
        ("slowdown", ratio, metrics.slowdown),
        ("bounded slowdown", ratio, metrics.bounded_slowdown),
        ("turnaround time", duration, metrics.turnaround),
    ]
    return [(name, f"{write(each.mean)} mean, {write(each.max)} at most") for name, write, each in times]


def facts_of_resources(use: Mapping[Resource, float | None]) -> list[tuple[str, str]]:
    """The known utilisations of memory and of GPUs, as names and texts."""
    from batprotocol.results.times import RESOURCES

    known = ((RESOURCES[each], value) for each, value in use.items() if value is not None)
    return [(f"utilisation of {name}", f"{value:.1%} of all hosts") for name, value in known]


def facts_of_failures(failures: FailureMetrics) -> list[tuple[str, str]]:
    """The numbers of failures, as names and texts."""
    found = []
    if failures.availability is not None:
        found.append(("availability", percent(failures.availability)))
    count = failures.nb_interruptions
    text = f"{count:,}"
    if count:
        text += f", one in {duration(failures.mean_time_to_interrupt)} that jobs ran"
    if failures.nb_given_up:
        text += f"; jobs given up: {failures.nb_given_up:,}"
    found.append(("interruptions", text))
    lost = f"{failures.lost_work / 3600:,.4g} host hours lost" if failures.lost_work else ""
    overhead = f"{percent(failures.checkpoint_overhead)} for checkpoints" if failures.checkpoint_overhead else ""
    found.append(("goodput", ", ".join(filter(None, (percent(failures.goodput), lost, overhead)))))
    return found


def facts_of_power(metrics: Metrics) -> list[tuple[str, str]]:
    """The numbers of electricity, as names and texts: the energy, and all that is known about it."""
    joules, power = metrics.consumed_joules, metrics.power
    found = []
    if joules is not None:
        text = f"{energy(joules)} consumed"
        if power is not None and power.idle_joules is not None and power.idle_joules >= _SHOWN * joules > 0:
            text += f", {percent(power.idle_joules / joules)} of it without jobs"
        found.append(("energy", text))
    if power is None:
        return found
    if power.mean_watts is not None and power.peak_watts is not None:
        found.append(("power", f"{watts(power.mean_watts)} mean, {watts(power.peak_watts)} peak"))
    if power.carbon_grams is not None:
        each = power.grams_per_core_hour
        more = "" if each is None else f", {grams(each)} for each core hour of useful work"
        found.append(("carbon", f"{grams(power.carbon_grams)} CO2eq{more}"))
    if power.cost is not None:
        found.append(("cost", f"{power.cost:,.2f} {power.currency}"))
    if power.seconds_above_cap is not None and power.joules_above_cap is not None:
        above = f"above it for {duration(power.seconds_above_cap)}, by {energy(power.joules_above_cap)}"
        found.append(("cap", above if power.seconds_above_cap else "never above it"))
    return found


# The length of a simulation


WAITING: Final = 0.1
"""If a larger share of the jobs waits at the last submission, the queue counts as growing to the end."""
_WAITING_JOBS: Final = 10
"""The minimum number of waiting jobs: a few waiting jobs at the end of a short workload mean nothing."""


def grows(waiting: float, jobs: float) -> bool:
    """Whether a queue grows to the end of a workload.

    Args:
        waiting: the number of jobs that still waited when the last one was submitted.
        jobs: the number of all jobs.

    >>> grows(30, 200), grows(5, 20), grows(12, 400)
    (True, False, False)
    """
    return waiting >= _WAITING_JOBS and waiting > WAITING * jobs


def unsteady_sentence(offered_load: float, waiting: int, jobs: int) -> str:
    """A sentence for a simulation whose results depend on its length; "" if they do not.

    >>> unsteady_sentence(1.2, 0, 100)
    'the offered load is above 1: nothing is steady there, and results depend on the length of the workload'
    """
    reasons = ["the offered load is above 1"] if offered_load > 1 else []
    if grows(waiting, jobs):
        reasons.append(f"{waiting:,} of {jobs:,} jobs still wait when the last one is submitted")
    return f"{', and '.join(reasons)}: {UNSTEADY}" if reasons else ""


# Charts


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
        from rich.table import Table  # it is slow, and many simulations show nothing
        from rich.text import Text

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
    from rich.table import Table
    from rich.text import Text

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
    from rich.text import Text

    for row, line in enumerate(chart(values, highest, _HEIGHT, encoding)):
        table.add_row(label if row == 0 else "0" if row == _HEIGHT - 1 else "", Text(line, style=style))
