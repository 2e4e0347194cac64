"""`batproto study`: its commands and their options. `_study_work` does the work, and is imported when it is called."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem, split_arg_string

from batprotocol.cli.completing import complete_file, complete_metric, completions
from batprotocol.cli.families import Family
from batprotocol.cli.parameters import file_with_ending, spreadsheet_option, worker_options

__all__ = ["study"]

# Completion of axes and of values on them: a study that cannot be read has none.


def complete_only(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """`AXIS=VALUE` for each value, and one more value behind a comma."""
    axis, _, values = start.partition("=")
    before, comma, _ = values.rpartition(",")
    found = _axes(context)
    if comma and axis in found:
        left = [str(value) for value in found[axis] if str(value) not in before.split(",")]
        return completions([f"{axis}={before},{value}" for value in left], start)
    return completions([f"{name}={value}" for name, values in found.items() for value in values], start)


def complete_axis(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The axes."""
    return completions(tuple(_axes(context)), start)


def complete_baseline(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The values on the axis of the rows of a table, or of the lines of a plot."""
    axis = context.params.get("rows") or context.params.get("by") or "scheduler"
    return completions([str(value) for value in _axes(context).get(axis, ())], start)


def _axes(context: click.Context) -> Mapping[str, Sequence[Any]]:
    """The axes of the study, or of the store, that was named before, with their values.

    click forgets the arguments where the value of an option is still missing, so the words themselves are searched.
    """
    words = [context.params.get(name) for name in ("file", "source", "path")]
    words += split_arg_string(os.environ.get("COMP_WORDS", ""))[2:]
    path = next((word for word in words if word and os.path.exists(word)), None)
    if path is None:
        return {}
    from batprotocol.studies import Store, Study
    from batprotocol.studies.execution import is_study

    try:
        if is_study(path):
            return Study.read(path).axes
        with Store(path) as store:
            return store.rows().axes
    except Exception:  # in the middle of a line, nobody wants to read why
        return {}


# The commands that run, list, show and merge runs.


_path = click.Path(readable=False, path_type=str)
_only = click.option(
    "--only",
    metavar="AXIS=VALUE,...",
    multiple=True,
    shell_complete=complete_only,
    help="Select the runs with these values. Can be repeated, for several axes.",
)
_store = click.option(
    "-s", "--store", metavar="DIR", type=_path, help="The folder of the runs.  [default: NAME.runs beside STUDY]"
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, one value on each line.")


@click.command()
@click.argument("file", metavar="STUDY", type=_path, shell_complete=complete_file)
@_store
@_only
@click.option("-n", "--dry-run", is_flag=True, help="List the runs and their states, and run nothing.")
@click.option("--retry-failed", is_flag=True, help="Run failed runs again.")
@click.option("--at-most", metavar="N", type=click.IntRange(min=1), help="Refuse a study that has more runs.")
@click.option(
    "-j",
    "--processes",
    metavar="N",
    type=click.IntRange(min=1),
    help="The number of runs at a time.  [default: the number of processors; with --slurm: 16]",
)
@worker_options("Run", "Run")
@click.option(
    "--batsim",
    metavar="COMMAND",
    help="Let this command simulate, such as batsim. See below for its options and placeholders.",
)
@click.option("--in-process", is_flag=True, help="With --batsim: Batsim loads the scheduler, without a socket.")
@click.pass_context
def run(context: click.Context, /, **options: Any) -> None:
    """Run the runs of a STUDY that are not in its store, and those whose inputs or scheduler have changed.

    If a run fails, the others still run, and the exit status is 1. "batproto study show" prints why a run failed, and
    the path of its recording.

    COMMAND may have the placeholders {platform}, {workload}, {events}, {output}, {endpoint}, {library} and {init}. If
    it has none of them, Batsim's options are added. A word {energy}WORD becomes WORD if energy is measured, and is left
    out otherwise.

    \b
    Examples:
      batproto study run study.toml
      batproto study run study.toml --slurm -j 64
      batproto study run study.toml --slurm short --wheels wheels
      batproto study run study.toml --batsim batsim --in-process
      batproto study run study.toml --batsim "batproto simulate -p {platform} -w {workload} -o {output}
          --endpoint {endpoint} --init {init} {energy}--energy"
    """
    from batprotocol.studies.commands import _study_work as work

    if options["processes"] is not None and options["dask"] is not None:
        raise click.UsageError(
            "--processes is for this machine: leave it out with --dask, whose workers decide the number", context
        )
    if options["slurm"] is not None and options["dask"] is not None:
        raise click.UsageError("give one of --slurm and --dask", context)
    if options["wheels"] is not None and options["slurm"] is None:
        raise click.UsageError("--wheels is for nodes of Slurm: give --slurm, too", context)
    if options["in_process"] and options["batsim"] is None:
        raise click.UsageError("--in-process is for a real Batsim: give --batsim, too", context)
    context.exit(work.run(work.RunOptions(**options)))


@click.command("list")
@click.argument("path", metavar="STUDY|STORE", type=_path, shell_complete=complete_file)
@_store
@_only
@click.option("--failed", is_flag=True, help="List failed runs only.")
@click.option("--all", "everything", is_flag=True, help="Include the runs of a STORE that no study wants any more.")
@_json
def list_runs(
    path: str, store: str | None, only: tuple[str, ...], failed: bool, everything: bool, as_json: bool
) -> None:
    """List the runs of a STUDY, or those in a STORE: their names, states, and values on each axis."""
    from batprotocol.studies.commands import _study_work as work

    work.list_runs(path, store, only=only, failed=failed, everything=everything, as_json=as_json)


@click.command()
@click.argument("path", metavar="STUDY|STORE", type=_path, shell_complete=complete_file)
@click.argument("key", metavar="KEY")
@_store
def show(path: str, key: str, store: str | None) -> None:
    """Show a run: its axes and metrics, its files, and the reason if it failed. KEY is the beginning of its name."""
    from batprotocol.studies.commands import _study_work as work

    work.print_run(path, store, key)


@click.command()
@click.argument("store", metavar="STORE", type=_path, shell_complete=complete_file)
@click.argument("others", metavar="OTHER...", nargs=-1, required=True, type=_path, shell_complete=complete_file)
def merge(store: str, others: tuple[str, ...]) -> None:
    """Copy into a STORE the runs of OTHER stores that it does not have, or that failed in it only."""
    from batprotocol.studies.commands import _study_work as work

    work.merge(store, others)


# The commands that make tables and plots, and list metrics.


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


_source = click.argument("source", metavar="STORE|STUDY.toml", type=_path)
_where = click.option(
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
@_where
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
    from batprotocol.studies.commands import _study_work as work

    work.print_table(work.TableOptions(**options))


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
@_where
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
    from batprotocol.studies.commands import _study_work as work

    work.draw(work.PlotOptions(**options))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def metrics(as_json: bool) -> None:
    """List the metrics with their names, definitions, units and sources.

    All metrics are over the jobs that ran. If a study measures classes of jobs, the metric of a class has the class
    before its name, such as short_wide_mean_waiting_time.
    """
    from batprotocol.studies.commands import _study_work as work

    work.print_metrics(as_json=as_json)


# The family of these commands.


_OVERVIEW = {
    "Run": {
        "run": "Run the runs that are not in the store, or that have changed.",
        "list": "List the runs and their states.",
        "show": "Show a run with its metrics, or the reason of its failure.",
        "merge": "Copy the runs of other stores.",
    },
    "Compare": {
        "table": "Make a table of a metric: means, or differences to a baseline.",
        "plot": "Draw a metric against an axis, boxes, or waiting times.",
        "metrics": "List the metrics, with their definitions and sources.",
    },
}


@click.group(cls=Family, overview=_OVERVIEW, files=(".toml",))
def study() -> None:
    """Run many simulations: each scheduler with each workload, load, seed and so on, each combination once.

    A study is a TOML file with one or several values for each key. Every combination of values is a run. Its name is a
    hash of everything that decides its result, and its files are in a store, a folder. If the study is interrupted, the
    machine fails, or a scheduler changes, give the same command again: it runs the missing runs.

    \b
    A study of 150 runs:
      scheduler = ["fcfs", "easy", "easy-sjf"]
      workload = "lublin:64?jobs=250"
      offered_load = [0.5, 0.6, 0.7, 0.8, 0.9]
      seed = "0-9"

    \b
    Examples:
      batproto study run study.toml
      batproto study run study.toml --only scheduler=easy --dry-run
      batproto study run study.toml --dask tcp://cluster:8786
      batproto study list study.toml --failed
      batproto study table study.toml --rows scheduler --columns offered_load
    """


for _command in (run, list_runs, show, merge, table, plot, metrics):
    study.add_command(_command)
