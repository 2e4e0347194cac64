"""`batproto study table`, `plot` and `metrics`: their parameters. They import the modules that do the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from batprotocol.cli.completing import complete_metric
from batprotocol.cli.parameters import file_with_ending, spreadsheet_option
from batprotocol.studies.commands.completing import complete_axis, complete_baseline, complete_only

__all__ = ["metrics", "plot", "table"]


def _wanted(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, list[str]]:
    """The values to select, by their axes."""
    found: dict[str, list[str]] = {}
    for each in given:
        axis, equals, value = each.partition("=")
        if not axis or not equals:
            raise click.BadParameter(f"expected AXIS=VALUE or AXIS=VALUE,VALUE, got {each!r}", context, parameter)
        found.setdefault(axis, []).append(value)
    return found


def _together(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> str:
    """The axes of the rows, with commas between them."""
    return ",".join(given)


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
    help="Select the runs with these values. Can be repeated, for several axes.",
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
    help="Show the metric in this unit, such as kWh or h. CSV and JSON keep the metric's own unit.",
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
    metavar="AXIS,...",
    multiple=True,
    callback=_together,
    shell_complete=complete_axis,
    default=["scheduler"],
    show_default=True,
    help="The axis of the rows. Can be repeated: of several axes, each combination of values is a row.",
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
    shell_complete=complete_metric,
    help='The metric: a name in "batproto study metrics", or your own as FILE.py:FUNCTION. Can be repeated without '
    "--columns.",
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
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    expose_value=False,
    help="Without effect: intervals are not random.",
)
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
@_form("latex", "Print LaTeX. It needs the package booktabs.")
@_form("json", "Print JSON.")
@spreadsheet_option
def table(**options: Any) -> None:
    """Make a table of the results of a study: the means of a metric over seeds, with confidence intervals.

    Seeds, or windows of a log that do not overlap, repeat a measurement. The command averages axes that are neither in
    the rows nor in the columns within each seed first, and the caption names them.

    With --baseline, the cells are differences: the run of the baseline with the same seed, load and so on is subtracted
    from each run. A difference that may be chance has the mark "n.s.". A mean is in bold, or in asterisks, if it is
    better than each other mean of its column by more than chance. A difference is in bold if it is better than the
    baseline.

    The axes partition, qos, account, size, user and workflow group the jobs of each run: the table has the metrics of
    the jobs of each group. One of them can be given as --rows, --columns or in --only.

    If you give the file of a study, the table has the runs of the file as it is now, from NAME.runs.

    \b
    Examples:
      batproto study table study.runs --columns offered_load
      batproto study table study.toml --columns offered_load --baseline FCFS -o table.tex
      batproto study table study.runs --metric mean_waiting_time --metric utilisation
      batproto study table study.runs --rows offered_load --columns seed --only scheduler=easy
      batproto study table study.runs --rows partition --columns scheduler --metric mean_waiting_time
      batproto study table study.runs --rows scheduler --rows offered_load --baseline fcfs,0.9
    """
    from batprotocol.studies.commands import tables

    tables.show(**options)


@click.command()
@_source
@click.option("-o", "--output", metavar="FILE", type=_path, required=True, help="The file: .png, .svg or .pdf.")
@click.option(
    "--kind",
    type=click.Choice(["lines", "boxes", "means", "ecdf", "watts"]),
    help="Lines with bands, boxes over runs, distributions of means, distributions of the waiting times of jobs "
    "(ecdf), or the power of runs over time (watts). The default is lines with --x, and boxes without it.",
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
    help="The axis whose values are the lines or boxes.",
)
@click.option(
    "--metric",
    metavar="NAME",
    default="mean_bounded_slowdown",
    show_default=True,
    shell_complete=complete_metric,
    help="The metric of lines, boxes and means: a name, or your own as FILE.py:FUNCTION.",
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
    help="The metric of jobs for --kind ecdf.",
)
@_only
@_confidence
@_unit
@click.option(
    "--log/--no-log",
    default=None,
    help="Use a logarithmic scale. The default is no, and for --kind ecdf, whether values differ by factors of more "
    "than a hundred.",
)
@click.option("--size", metavar="WxH", callback=_size, help="Width and height in inches, such as 6x3.7.")
@click.option("--title", metavar="TEXT", default="", help="The title above the plot.")
@click.option("--xlabel", metavar="TEXT", help="The label of the x axis.")
@click.option("--ylabel", metavar="TEXT", help="The label of the y axis.")
def plot(**options: Any) -> None:
    """Draw the results of a study: the means of a metric against an axis, with bands of intervals.

    Other kinds of plots are boxes over runs, distributions of means and, with --kind ecdf, the share of jobs that have
    waited for at most each time. With --kind watts, the plot has the watts of runs over time, with the cap, the carbon
    intensity and the price of the study. The command averages other axes within each seed first, and
    a line below the plot names them. As in a table, an axis such as partition groups the jobs of each run.

    \b
    Examples:
      batproto study plot study.runs --x arrival_factor -o slowdown.pdf
      batproto study plot study.runs --x offered_load --baseline easy --panels workload -o differences.pdf
      batproto study plot study.runs --kind means --metric consumed_joules --unit kWh -o energy.svg
      batproto study plot study.runs --kind boxes --x arrival_factor --log -o boxes.svg
      batproto study plot study.runs --kind ecdf --only offered_load=0.9 -o waiting.png
      batproto study plot study.runs --kind watts --only seed=0 -o watts.pdf
    """
    from batprotocol.studies.commands import plotting

    plotting.show(**options)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def metrics(as_json: bool) -> None:
    """List the metrics with their names, definitions, units and sources.

    All metrics are over the jobs that ran. If a study measures classes of jobs, the metric of a class has the class
    before its name, such as short_wide_mean_waiting_time.
    """
    from batprotocol.studies.commands import metrics as work

    work.show(as_json=as_json)
