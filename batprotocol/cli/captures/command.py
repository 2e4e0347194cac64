"""`batproto at`, `stats`, `replay`, `diff`, `timeline`, `tap` and `export`: their parameters.

The modules of their names do the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click

from batprotocol.cli.messages.command import how_shown
from batprotocol.cli.parameters import file_with_ending, timeout_option

__all__ = ["at", "diff", "export", "replay", "stats", "tap", "timeline"]

# What reads runs is imported when it is called: `batproto --help` and the shell's completion should not wait for it.

_path = click.Path(readable=False, path_type=str)
_full = click.option("--full", is_flag=True, help="Show all jobs, calls and probes, however many there are.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _tolerance(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 <= value < math.inf:
        raise click.BadParameter(f"{value} is no number of seconds >= 0.", context, parameter)
    return value


def _tolerance_option(default: str) -> Callable[[Any], Any]:
    return click.option(
        "--tolerance",
        metavar="SECONDS",
        type=float,
        callback=_tolerance,
        help=f"How much simulated times may differ.  [default: {default}]",
    )


def _moment(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if math.isnan(value):
        raise click.BadParameter("a simulated time is wanted, in seconds.", context, parameter)
    return value


@click.command()
@click.argument("run", metavar="RUN", type=_path)
@click.argument("time", metavar="SECONDS", type=float, callback=_moment)
@_json
@_full
def at(run: str, time: float, as_json: bool, full: bool) -> None:
    """Print what was known in a run at a simulated time: queue, running jobs, free hosts, calls and probes.

    RUN is a recording, see "batproto --help". What was said at that time counts; "inf" is the end. It is what the rules
    of the conversation make of it: of jobs, hosts, calls and probes, they know all that both sides can know.

    \b
    Examples:
      batproto at run.tar.xz 3600
      batproto at --json run.tar.xz inf | jq '.queue | length'
    """
    from batprotocol.cli.captures import at as work
    from batprotocol.cli.terminal.output import Output

    work.at(run, time, Output(), as_json=as_json, full=full)


@click.command()
@click.argument("run", metavar="RUN", type=_path)
@_json
def stats(run: str, as_json: bool) -> None:
    """Print the numbers of a run: messages and their sizes, how long each side took, jobs, waiting, utilisation.

    RUN is a recording; or a folder of result files, a jobs.csv, or a run of a study, "study.runs?scheduler=easy&seed=3"
    for example. Of these there are jobs and no messages, and --json prints "hosts" and "jobs" only.

    Of a recording, how long the sides took can only be told where times were recorded. The times of jobs are those of
    the messages: a job starts when it is executed, and ends when that is told.

    \b
    Examples:
      batproto stats run.tar.xz
      batproto stats results
      batproto stats --json "study.runs?scheduler=easy&seed=3" | jq .jobs.waiting
    """
    from batprotocol.cli.captures import stats as work
    from batprotocol.cli.terminal.output import Output

    work.stats(run, Output(), as_json=as_json)


@click.command()
@click.argument("one", metavar="RUN", type=_path)
@click.argument("other", metavar="RUN", type=_path)
@_tolerance_option("1e-06 between messages, 0.001 between schedules, 0.01 where one of these is told by messages")
@click.option("--jobs", is_flag=True, help="Print all jobs that come to something else, and not just the first ones.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing: the exit status tells.")
@_full
@click.pass_context
def diff(
    context: click.Context, one: str, other: str, tolerance: float | None, jobs: bool, quiet: bool, full: bool
) -> None:
    """Compare two runs: where they part first, what was known then, and which jobs come to something else.

    Left aside is what does not matter: the ids of calls and probes, the order of what has nothing to do with one
    another in a message, how host sets are written, the format, names and versions. Numbers may differ by what JSON
    loses.

    RUN is a recording; or a folder of result files, a jobs.csv, or a run of a study, "study.runs?scheduler=easy&seed=3"
    for example. Where one of the two has no messages, the schedules are compared: where they part first, and which jobs
    differ.

    The exit status is that of diff: 0 if they are alike, 1 if they differ, 2 if one cannot be read.

    \b
    Examples:
      batproto diff before.tar.xz after.tar.xz
      batproto diff --jobs --tolerance 0.01 a.tar.xz b.tar.xz
      batproto diff -q results run.mcap
    """
    from batprotocol.cli.captures import diff as work
    from batprotocol.cli.terminal.output import Output

    context.exit(work.diff(one, other, Output(), tolerance=tolerance, jobs=jobs, quiet=quiet, full=full))


@click.command()
@click.argument("run", metavar="RUN", type=_path)
@click.argument("command", metavar="[FILE:CLASS | POLICY | -- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--edc", metavar="ENDPOINT", help="Where the decision component listens; {endpoint} in COMMAND.")
@click.option("--library", metavar="FILE", type=_path, help="The decision component in this shared library.")
@click.option("--in-effect", is_flag=True, help="Go on while replies come to the same, however they are written.")
@_tolerance_option("1e-06")
@click.option("--init", metavar="TEXT", help="Initialization data in place of the recorded ones.")
@timeout_option
@_full
@click.pass_context
def replay(
    context: click.Context,
    run: str,
    command: tuple[str, ...],
    edc: str | None,
    library: str | None,
    in_effect: bool,
    tolerance: float | None,
    init: str | None,
    timeout: float | None,
    full: bool,
) -> None:
    """Play Batsim's side of a recording to a decision component: where does it decide differently from then?

    It stops at the first reply that differs from the recorded one, and shows both, and what was known before them.
    Nobody knows what Batsim would have said after another reply. Names and versions of the decision component do not
    count.

    With --in-effect, it goes on while replies come to the same: ids of calls and probes may be others (Batsim then says
    the new ones), as may the order of decisions that have nothing to do with one another, the way to write host sets
    and times, and times by the --tolerance.

    COMMAND is started, with {endpoint} filled in, where it has to listen. A Scheduler of a Python file, FILE:CLASS, or
    a POLICY is played to inside this process, which is faster.

    The exit status is 0 if all replies are the same, and 1 if one differs or does not come.

    \b
    Examples:
      batproto replay run.tar.xz scheduler.py:FCFS
      batproto replay --in-effect run.tar.xz easy
      batproto replay run.tar.xz -- ./my-scheduler --socket {endpoint}
      batproto replay --edc tcp://127.0.0.1:28000 run.tar.xz
    """
    from batprotocol.capture.meaning import TOLERANCE
    from batprotocol.cli.captures import replay as work
    from batprotocol.cli.terminal.output import Output

    if not command and edc is None and library is None:
        raise click.UsageError("expected FILE:CLASS, POLICY, -- COMMAND, --edc or --library", context)
    if library is not None and (command or edc is not None):
        raise click.UsageError("--library goes without a command and an endpoint", context)
    alone = len(command) == 1 and work.is_scheduler(command[0])
    if alone and (edc is not None or timeout is not None):
        option = "--edc" if edc is not None else "--timeout"
        raise click.UsageError(f"{option} is for the socket, and there is none for {command[0]}", context)
    if command and not alone and edc is None and not any("{endpoint}" in each for each in command):
        raise click.UsageError("the command is not told where to listen: {endpoint} is missing in it", context)
    status = work.run(
        run,
        command,
        Output(),
        edc=edc,
        library=library,
        in_effect=in_effect,
        tolerance=TOLERANCE if tolerance is None else tolerance,
        init=init,
        timeout=timeout,
        full=full,
    )
    context.exit(status)


def _number_of_texts(context: click.Context, parameter: click.Parameter, value: str) -> int | None:
    """A number; 0 for `none`, and None for `all`."""
    if value in ("all", "none"):
        return None if value == "all" else 0
    if not (value.isascii() and value.isdigit()) or len(value) > 9:
        raise click.BadParameter(f"{value!r} is not a number: write a number, 'all' or 'none'.", context, parameter)
    return int(value)


_figure_or_page = file_with_ending(".html", ".pdf", ".svg", ".png")


@click.command()
@click.argument("sources", metavar="RUN...", nargs=-1, required=True, type=_path)
@click.option(
    "-o",
    "--output",
    "outputs",
    metavar="FILE",
    type=_path,
    multiple=True,
    callback=_figure_or_page,
    help="The file: .html is a page, .pdf, .svg or .png a figure for papers, with matplotlib. Can be repeated.",
)
@click.option("--png", metavar="FILE", type=_path, callback=_figure_or_page, hidden=True)
@click.option("--svg", metavar="FILE", type=_path, callback=_figure_or_page, hidden=True)
@click.option(
    "--messages",
    metavar="N|all|none",
    callback=_number_of_texts,
    default="20000",
    show_default=True,
    help="Keep the texts of the first N messages of each run in the page.",
)
@click.option(
    "--colour",
    type=click.Choice(["job", "state", "waiting", "user", "profile", "workload"]),
    default="job",
    show_default=True,
    help="By what jobs are coloured; in the page, at first.",
)
@click.option("--title", metavar="TEXT", default="", help="The title of the page.")
@click.pass_context
def timeline(context: click.Context, /, sources: tuple[str, ...], **options: Any) -> None:
    """Show what happened in a run: jobs on hosts over time, jobs that wait, free hosts, power, probes, messages.

    The page is one file that needs nothing else, not even a network: to zoom, to find a job, to look at it. Several
    RUNs are drawn one above the other, over the same time.

    RUN is what --record writes, whose messages the page shows as "batproto dump" does. Or it is a jobs.csv, or the
    folder that it is in: of Batsim, of "batproto simulate -o", or any other with the columns job_id, submission_time,
    starting_time, finish_time and allocated_resources. Or it is a run of a study, "study.runs?scheduler=easy&seed=3".
    What Batsim writes beside jobs (consumed_energy.csv, machine_states.csv, pstate_changes.csv) is drawn, too.

    \b
    Examples:
      batproto simulate easy-sjf -o results --record run.tar.xz
      batproto timeline run.tar.xz -o run.html
      batproto timeline results -o run.html
      batproto timeline fcfs.tar.xz easy.tar.xz -o both.html
      batproto timeline "study.runs?scheduler=easy&seed=3" results -o both.html
      batproto timeline results -o run.pdf --colour state
    """
    from batprotocol.capture.timeline.pages import MOST_RUNS
    from batprotocol.cli.captures import timeline as work

    if len(sources) > MOST_RUNS:
        raise click.UsageError(f"a timeline has room for {MOST_RUNS} runs, got {len(sources)}", context)
    outputs = [*options.pop("outputs"), *filter(None, (options.pop("png"), options.pop("svg")))]
    if not outputs:
        raise click.UsageError("no file is named: write -o run.html, or -o run.pdf", context)
    context.exit(work.draw(sources, outputs, **options))


@click.command()
@click.option(
    "--batsim",
    metavar="ENDPOINT",
    default="tcp://*:28000",
    show_default=True,
    help="Where Batsim connects to.",
)
@click.option("--edc", metavar="ENDPOINT", required=True, help="Where the decision component listens.")
@click.option(
    "-o",
    "--output",
    "record",
    metavar="FILE.mcap|FILE.tar.xz|DIR",
    type=_path,
    required=True,
    help="Where to record what is said.",
)
@click.option("-f", "--follow", is_flag=True, help="Show what is said, as it is said.")
@how_shown
@timeout_option
@click.pass_context
def tap(
    context: click.Context,
    batsim: str,
    edc: str,
    record: str,
    follow: bool,
    shape: str | None,
    events: frozenset[str],
    jobs: tuple[str, ...],
    full: bool,
    timeout: float | None,
) -> None:
    """Record what a Batsim and any decision component say, between the two, for one simulation.

    Batsim connects to this one's ENDPOINT in place of the decision component's. Bytes are handed on as they are, even
    garbage, and each message is on record before it is. With --follow, they are shown as by "dump", with its options.

    The tap ends when Batsim has left; before the end of the simulation, with the exit status 1, as when the decision
    component leaves. Ctrl-C ends it and finishes the recording.

    \b
    Examples:
      batproto tap --edc tcp://127.0.0.1:28001 -o run.mcap
      batproto tap --batsim 'tcp://*:28000' --edc ipc:///tmp/edc.sock -o run.mcap --follow -e JobCompleted
    """
    from batprotocol.cli.captures import tap as work
    from batprotocol.cli.messages.dump import Selection, Shown
    from batprotocol.cli.terminal.output import Output

    if not follow and (shape or events or jobs or full):
        raise click.UsageError("what is shown is told by --follow, and what of it by the other options", context)
    output = Output()
    shown = Shown(output, Selection(events, frozenset(jobs)), shape or "tree", full=full) if follow else None
    context.exit(work.tap(batsim, edc, record, shown, output, timeout=timeout))


@click.command()
@click.argument("run", metavar="RUN", type=_path)
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    type=_path,
    help="The file: .pftrace, .json, .csv or .parquet. An existing file is overwritten.",
)
@click.option(
    "--rows",
    type=click.Choice(["jobs", "events"]),
    default="jobs",
    show_default=True,
    help="Write a row for each job, or a row for each event, into a .csv or .parquet.",
)
@click.option("--to", type=click.Choice(["perfetto", "jobs-csv", "events-csv", "parquet"]), hidden=True)
@click.pass_context
def export(context: click.Context, run: str, target: str | None, rows: Any, to: str | None) -> None:
    """Write a run as a file for other programs. The ending of the file selects the format.

    \b
    .pftrace  a trace for https://ui.perfetto.dev, in simulated time
    .json     the same trace in Chrome's format, for Perfetto and others
    .csv      a table of jobs, or of events
    .parquet  likewise, for pandas, Polars, DuckDB and others

    A trace shows jobs on hosts, the queue, probes and messages. A table of jobs has the columns of Batsim's jobs.csv; a
    .csv is that file itself if the recording holds it. Without --output, CSV goes to standard output.

    \b
    Examples:
      batproto export run.mcap -o run.pftrace
      batproto export run.tar.xz -o jobs.csv
      batproto export run.tar.xz --rows events -o events.parquet
      batproto export run.tar.xz | head
    """
    from batprotocol.capture.exporting.formats import format_of
    from batprotocol.cli.captures import export as work
    from batprotocol.errors import InputError

    if target is None and to is not None and not to.endswith("-csv"):
        raise click.UsageError(f"{to} does not go to a terminal: name a file with --output", context)
    try:
        if target is not None:
            format_of(target, rows, to)
    except InputError as error:
        raise click.UsageError(str(error), context) from None
    context.exit(work.write(run, target, rows=rows, to=to))
