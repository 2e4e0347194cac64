"""`batproto study table`, `plot` and `metrics`: their parameters. The work is imported when it is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from batprotocol.cli.completing import completions
from batprotocol.cli.study.completing import complete_axis, complete_baseline, complete_only
from batprotocol.cli.parameters import file_with_ending

__all__ = ["metrics", "plot", "table"]


def _complete_metric(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from batprotocol.simulator import METRICS

    return completions(tuple(METRICS), start)


def _wanted(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, list[str]]:
    """The values to look at, by their axes."""
    found: dict[str, list[str]] = {}
    for each in given:
        axis, equals, value = each.partition("=")
        if not axis or not equals:
            raise click.BadParameter(f"expected AXIS=VALUE or AXIS=VALUE,VALUE, got {each!r}", context, parameter)
        found.setdefault(axis, []).append(value)
    return found


def _form(name: str, sentence: str) -> Callable[[Any], Any]:
    return click.option(f"--{name}", "form", flag_value=name, help=sentence)


_path = click.Path(readable=False, path_type=str)
_source = click.argument("source", metavar="STORE|STUDY.toml", type=_path)
_only = click.option(
    "--only",
    "where",
    metavar="AXIS=VALUE,...",
    multiple=True,
    callback=_wanted,
    shell_complete=complete_only,
    help="Only these runs. Can be repeated, for several axes.",
)
_confidence = click.option(
    "--confidence",
    metavar="SHARE",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="The confidence of the intervals.",
)
_unit = click.option(
    "--unit",
    metavar="UNIT",
    default="",
    help="Show the metric in this unit, such as kWh or h; CSV and JSON keep their own.",
)


def _size(context: click.Context, parameter: click.Parameter, given: str | None) -> tuple[float, float] | None:
    """Width and height in inches."""
    if given is None:
        return None
    try:
        width, height = map(float, given.lower().split("x"))
    except ValueError:
        raise click.BadParameter(f"expected WIDTHxHEIGHT, such as 6x3.7, got {given!r}", context, parameter) from None
    return width, height


@click.command()
@_source
@click.option(
    "--rows",
    metavar="AXIS",
    shell_complete=complete_axis,
    default="scheduler",
    show_default=True,
    help="The axis of the rows.",
)
@click.option(
    "--columns",
    metavar="AXIS",
    shell_complete=complete_axis,
    help="The axis of the columns; without it, they are the metrics.",
)
@click.option(
    "--metric",
    "metrics",
    metavar="NAME",
    multiple=True,
    default=["mean_bounded_slowdown"],
    show_default=True,
    shell_complete=_complete_metric,
    help='The metric; "batproto study metrics" lists them, FILE.py:FUNCTION is one of your own. Without --columns, it '
    "can be repeated.",
)
@click.option(
    "--baseline",
    metavar="VALUE",
    shell_complete=complete_baseline,
    help="Show differences to this row, paired by seed and so on.",
)
@_only
@_confidence
@_unit
@click.option("--holm", is_flag=True, help="Correct for the number of comparisons by Holm's method.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=_path,
    callback=file_with_ending(".csv", ".md", ".tex", ".json", ".txt"),
    help="Write the table to a file: .csv, .md, .tex, .json or .txt.",
)
@_form("csv", "Print CSV, a line for each cell.")
@_form("markdown", "Print Markdown.")
@_form("latex", "Print LaTeX, which needs booktabs.")
@_form("json", "Print JSON.")
def table(**options: Any) -> None:
    """Make a table of the results of a study: the means of a metric over seeds, with bootstrap intervals.

    Whole seeds are resampled, or windows of a log that are apart. Other axes that are neither in the rows nor in the
    columns are averaged within each seed first, and the caption names them.

    With --baseline, the cells are differences: from each run, that of the baseline with the same seed, load and so on
    is subtracted. A difference that may be chance is marked "n.s.". A mean is in bold, or in asterisks, where it is
    better than each other one of its column by more than chance; a difference, where it is better than the baseline.

    Of a study that is named by its file, the runs are those of the file as it is now, in NAME.runs.

    \b
    Examples:
      batproto study table study.runs --columns load
      batproto study table study.toml --columns load --baseline FCFS -o table.tex
      batproto study table study.runs --metric mean_waiting_time --metric utilisation
      batproto study table study.runs --rows load --columns seed --only scheduler=easy
    """
    from batprotocol.cli.study import tables

    tables.show(**options)


@click.command()
@_source
@click.option("-o", "--output", metavar="FILE", type=_path, required=True, help="The file: .png, .svg or .pdf.")
@click.option(
    "--kind",
    type=click.Choice(["lines", "boxes", "means", "ecdf"]),
    help="Lines with bands, boxes over runs, distributions of means, or of what jobs waited; lines with --x and boxes "
    "without it, if not given.",
)
@click.option(
    "--x", metavar="AXIS", shell_complete=complete_axis, help="The axis to the right, or a metric such as offered_load."
)
@click.option(
    "--by",
    metavar="AXIS",
    shell_complete=complete_axis,
    default="scheduler",
    show_default=True,
    help="The axis of which each value is a line or box.",
)
@click.option(
    "--metric",
    metavar="NAME",
    default="mean_bounded_slowdown",
    show_default=True,
    shell_complete=_complete_metric,
    help="The metric of lines, boxes and means; FILE.py:FUNCTION is one of your own.",
)
@click.option(
    "--baseline",
    metavar="VALUE",
    shell_complete=complete_baseline,
    help="Draw differences to this line, paired by seed and so on.",
)
@click.option(
    "--panels", metavar="AXIS", shell_complete=complete_axis, help="Draw a panel for each value of this axis."
)
@click.option(
    "--of",
    type=click.Choice(["waiting_time", "turnaround_time", "slowdown", "bounded_slowdown"]),
    default="waiting_time",
    show_default=True,
    help="What of jobs --kind ecdf shows.",
)
@_only
@_confidence
@_unit
@click.option("--log", is_flag=True, help="Take a logarithmic scale.")
@click.option("--size", metavar="WxH", callback=_size, help="Width and height in inches, such as 6x3.7.")
@click.option("--title", metavar="TEXT", default="", help="What stands above the plot.")
@click.option("--xlabel", metavar="TEXT", help="What stands at the axis to the right.")
@click.option("--ylabel", metavar="TEXT", help="What stands at the axis upwards.")
def plot(**options: Any) -> None:
    """Draw the results of a study: a metric against an axis, with bands that are bootstrap intervals of its means.

    Or boxes over runs, distributions of means, or, with --kind ecdf, which share of the jobs have waited at most so
    long. Whole seeds are resampled; other axes are averaged within each seed first, and a line below names them.

    \b
    Examples:
      batproto study plot study.runs --x load -o slowdown.pdf
      batproto study plot study.runs --x offered_load --baseline easy --panels workload -o differences.pdf
      batproto study plot study.runs --kind means --metric consumed_joules --unit kWh -o energy.svg
      batproto study plot study.runs --kind boxes --x load --log -o boxes.svg
      batproto study plot study.runs --kind ecdf --only load=1.2 -o waiting.png
    """
    from batprotocol.cli.study import plotting

    plotting.show(**options)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def metrics(as_json: bool) -> None:
    """List the metrics by their names, with what each is, its unit and its source.

    All are over the jobs that ran. Of a class of jobs, where classes are measured, the name has that in front, such as
    short_wide_mean_waiting_time.
    """
    from batprotocol.cli.study import metrics as work

    work.show(as_json=as_json)
