"""`batproto at`, `stats`, `replay`, `diff`, `timeline`, `tap` and `export`: their parameters.

The modules of their names do the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from batprotocol.cli.parameters import electricity_options, file_with_ending, spreadsheet_option, timeout_option
from batprotocol.wire.commands.command import how_shown

__all__ = ["at", "diff", "export", "replay", "stats", "tap", "timeline"]

# What reads runs is imported when it is called: `batproto --help` and the shell's completion should not wait for it.

_path = click.Path(readable=False, path_type=str)
_full = click.option("--full", is_flag=True, help="Show all jobs, calls and probes, however many there are.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _tolerance(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 <= value < math.inf:
        raise click.BadParameter(f"{value} is not a number of seconds >= 0.", context, parameter)
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
        raise click.BadParameter("expected a simulated time in seconds, got nan.", context, parameter)
    return value


@click.command()
@click.argument("run", metavar="RUN", type=_path)
@click.argument("time", metavar="SECONDS", type=float, callback=_moment)
@_json
@_full
def at(run: str, time: float, as_json: bool, full: bool) -> None:
    """Print what was known in a run at a simulated time: queue, running jobs, free hosts, calls and probes.

    RUN is a recording, see "batproto --help". Messages at that time are included; "inf" is the end. The command derives
    the state from the messages with the rules of the conversation. It covers all that both sides can know about jobs,
    hosts, calls and probes.

    \b
    Examples:
      batproto at run.tar.xz 3600
      batproto at --json run.tar.xz inf | jq '.queue | length'
    """
    from batprotocol.cli.terminal import Output
    from batprotocol.recordings.commands import state as work

    work.at(run, time, Output(), as_json=as_json, full=full)


@click.command()
@click.argument("run", metavar="RUN", type=_path)
@_json
def stats(run: str, as_json: bool) -> None:
    """Print the statistics of a run: messages and their sizes, the time each side took, jobs, waiting, utilisation.

    RUN is a recording, a folder of result files, a jobs.csv, or a run of a study, for example
    "study.runs?scheduler=easy&seed=3". Only a recording has messages. For the others, --json prints "hosts" and "jobs"
    only.

    The time that each side took is known only if the recording has the times of its messages. The times of jobs in a
    recording come from its messages: a job starts when the scheduler executes it, and ends when Batsim reports its end.

    \b
    Examples:
      batproto stats run.tar.xz
      batproto stats results
      batproto stats --json "study.runs?scheduler=easy&seed=3" | jq .jobs.waiting
    """
    from batprotocol.cli.terminal import Output
    from batprotocol.recordings.commands import difference as work

    work.stats(run, Output(), as_json=as_json)


@click.command()
@click.argument("one", metavar="RUN", type=_path)
@click.argument("other", metavar="[RUN]", type=_path, required=False)
@_tolerance_option(
    "1e-06 between messages, 0.001 between schedules, 0.01 if only one schedule comes from messages, 3 with a log"
)
@click.option("--why", is_flag=True, help="Compare the schedules, and print why jobs start otherwise.")
@click.option("--jobs", is_flag=True, help="Print all jobs that differ, and not only the first ones.")
@click.option(
    "--zone",
    metavar="ZONE",
    help="With a log: the zone of times that have none, as for an import.  [default: UTC]",
)
@click.option(
    "--nodes",
    metavar="FILE",
    type=_path,
    help="With a log: the nodes of the site, as for batproto import. Hosts have the numbers that the import gave them. "
    "By default, they are numbered as in an import without this option.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; only set the exit status.")
@_full
@click.pass_context
def diff(
    context: click.Context,
    one: str,
    other: str | None,
    tolerance: float | None,
    why: bool,
    jobs: bool,
    zone: str | None,
    nodes: str | None,
    quiet: bool,
    full: bool,
) -> None:
    """Compare two runs: their first difference, what was known before it, and the jobs that differ.

    The command ignores differences that have no effect: the ids of calls and probes, the order of independent events in
    a message, the notation of host sets, the format, names and versions. Numbers may differ by what JSON loses.

    RUN is a recording, a folder of result files, a jobs.csv, or a run of a study, for example
    "study.runs?scheduler=easy&seed=3". If one of the two has no messages, the command compares the schedules: their
    first difference, and the jobs that differ.

    RUN can also be the log of a resource manager that "batproto import" reads. The command then prints why each job
    starts otherwise, as far as the schedules show it: priority, node, limit, time, reservation, plan, or that it
    follows from another job. Give --zone and --nodes as to the import.

    A recording of a real Slurm, as tools/real_slurm.py makes it, can be RUN, too. Without a second RUN, the policy
    slurm simulates the recorded jobs, and the command compares this replay with the recording. Of an archive with
    several recordings, name one by its seed: "backfill.json.xz?seed=3". The loops of the replay run at the recorded
    moments, which a user of a slurm.conf does not have: a simulation is less equal then. The page "Slurm, as measured"
    has the figures of both.

    The exit status is that of diff: 0 if the runs are alike, 1 if they differ, 2 if one cannot be read.

    \b
    Examples:
      batproto diff before.tar.xz after.tar.xz
      batproto diff --jobs --tolerance 0.01 a.tar.xz b.tar.xz
      batproto diff -q results run.mcap
      batproto diff sacct.txt results --nodes slurm.conf --zone Europe/Paris
      batproto diff recorded/backfill/01.json.xz
    """
    from batprotocol.cli.terminal import Output
    from batprotocol.recordings.commands import difference as work

    options = {"jobs": jobs, "quiet": quiet, "full": full, "why": why}
    context.exit(work.diff(one, other, Output(), tolerance=tolerance, zone=zone, nodes=nodes, **options))


@click.command()
@click.argument("run", metavar="RUN", type=_path)
@click.argument("command", metavar="[FILE:CLASS | POLICY | -- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--edc", metavar="ENDPOINT", help="The endpoint where the decision component listens; {endpoint} in COMMAND."
)
@click.option("--library", metavar="FILE", type=_path, help="Play to the decision component in this shared library.")
@click.option(
    "--in-effect",
    is_flag=True,
    help="Continue as long as replies have the same effect, even if they are written differently.",
)
@_tolerance_option("1e-06")
@click.option("--init", metavar="TEXT", help="The initialization data to send in place of the recorded ones.")
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
    """Play Batsim's side of a recording to a decision component, and find its first reply that differs.

    The command stops at the first reply that differs from the recorded one. It shows both replies, and what was known
    before them. It cannot go on from there, because the recording does not show what Batsim answers to another reply.
    Names and versions of the decision component may differ.

    With --in-effect, the command continues as long as replies have the same effect. Then these may differ: the ids of
    calls and probes (the command sends the new ones), the order of independent decisions, the notation of host sets and
    times, and times by up to the --tolerance.

    The command starts COMMAND, and replaces {endpoint} in it by the endpoint where it has to listen. A Scheduler of a
    Python file, FILE:CLASS, or a POLICY runs inside this process, which is faster.

    The exit status is 0 if all replies are the same, and 1 if a reply differs or is missing.

    \b
    Examples:
      batproto replay run.tar.xz scheduler.py:FCFS
      batproto replay --in-effect run.tar.xz easy
      batproto replay run.tar.xz -- ./my-scheduler --socket {endpoint}
      batproto replay --edc tcp://127.0.0.1:28000 run.tar.xz
    """
    from batprotocol.cli.terminal import Output
    from batprotocol.recordings.canonical import TOLERANCE
    from batprotocol.recordings.commands import live as work

    if not command and edc is None and library is None:
        raise click.UsageError("expected FILE:CLASS, POLICY, -- COMMAND, --edc or --library", context)
    if library is not None and (command or edc is not None):
        raise click.UsageError("--library excludes a command and --edc: leave out one of them", context)
    alone = len(command) == 1 and work.is_scheduler(command[0])
    if alone and (edc is not None or timeout is not None):
        option = "--edc" if edc is not None else "--timeout"
        raise click.UsageError(
            f"{option} needs a socket, and {command[0]} runs in this process: leave out {option}", context
        )
    if command and not alone and edc is None and not any("{endpoint}" in each for each in command):
        raise click.UsageError(
            "the command does not contain {endpoint}: write {endpoint} where it expects its endpoint", context
        )
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
    help="The file: .html for a page; .pdf, .svg or .png for a figure, which needs matplotlib. Can be repeated.",
)
@click.option("--png", metavar="FILE", type=_path, callback=file_with_ending(".png"), hidden=True)
@click.option("--svg", metavar="FILE", type=_path, callback=file_with_ending(".svg"), hidden=True)
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
    help="The property that selects the colour of a job. You can change it in the page.",
)
@click.option("--title", metavar="TEXT", default="", help="The title of the page.")
@electricity_options
@click.pass_context
def timeline(context: click.Context, /, sources: tuple[str, ...], **options: Any) -> None:
    """Draw a run: jobs on hosts over time, jobs that wait, free hosts, power, probes, messages.

    The page is a single file, and works without a network. In it, you can zoom, search for a job, and inspect it.
    Several RUNs are drawn one above the other, with the same time axis.

    RUN is one of these:

    \b
    - a recording, as --record writes it; the page shows its messages as "batproto dump" does
    - a jobs.csv, or its folder, as Batsim and "batproto simulate -o" write them
    - a run of a study, for example "study.runs?scheduler=easy&seed=3"

    Any .csv file with the columns job_id, submission_time, starting_time, finish_time and allocated_resources is a
    jobs.csv. If Batsim's other result files are beside it (consumed_energy.csv, machine_states.csv,
    pstate_changes.csv), they are drawn, too.

    \b
    Examples:
      batproto simulate easy-sjf -o results --record run.tar.xz
      batproto timeline run.tar.xz -o run.html
      batproto timeline results -o run.html
      batproto timeline fcfs.tar.xz easy.tar.xz -o both.html
      batproto timeline "study.runs?scheduler=easy&seed=3" results -o both.html
      batproto timeline results -o run.pdf --colour state
      batproto timeline results -o run.html --carbon "gb.csv?begin=2020-05-01" --cap 8kW
    """
    from batprotocol.recordings.commands import drawing as work
    from batprotocol.recordings.timeline.timelines import MOST_RUNS

    if len(sources) > MOST_RUNS:
        raise click.UsageError(f"a timeline shows at most {MOST_RUNS} runs, got {len(sources)}", context)
    outputs = [*options.pop("outputs"), *filter(None, (options.pop("png"), options.pop("svg")))]
    if not outputs:
        raise click.UsageError("expected a file to write: name it, as in -o run.html or -o run.pdf", context)
    context.exit(work.draw(sources, outputs, **options))


@click.command()
@click.option(
    "--batsim",
    metavar="ENDPOINT",
    default="tcp://*:28000",
    show_default=True,
    help="The endpoint that Batsim connects to.",
)
@click.option("--edc", metavar="ENDPOINT", required=True, help="The endpoint where the decision component listens.")
@click.option(
    "-o",
    "--output",
    "record",
    metavar="FILE.mcap|FILE.tar.xz|DIR",
    type=_path,
    required=True,
    help="The recording to write.",
)
@click.option("-f", "--follow", is_flag=True, help="Show each message as soon as it is recorded.")
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
    """Record one simulation between Batsim and any decision component.

    Batsim connects to the ENDPOINT of this command in place of that of the decision component. The command records each
    message, and then passes its bytes on unchanged, even if they are garbage. With --follow, it also shows messages as
    "batproto dump" does, with the options of that command.

    The command ends when Batsim closes the connection. The exit status is 1 if Batsim or the decision component leaves
    before the end of the simulation. Ctrl-C ends the command and finishes the recording.

    \b
    Examples:
      batproto tap --edc tcp://127.0.0.1:28001 -o run.mcap
      batproto tap --batsim 'tcp://*:28000' --edc ipc:///tmp/edc.sock -o run.mcap --follow -e JobCompleted
    """
    from batprotocol.cli.terminal import Output
    from batprotocol.recordings.commands import live as work
    from batprotocol.wire.commands.dump import Selection, Shown

    if not follow and (shape or events or jobs or full):
        raise click.UsageError(
            "--json, --json-lines, --event, --job and --full select how --follow shows messages: add --follow", context
        )
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
@spreadsheet_option
@click.pass_context
def export(context: click.Context, run: str, target: str | None, rows: Any, to: str | None, spreadsheet: bool) -> None:
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
    from batprotocol.errors import InputError
    from batprotocol.recordings.commands import drawing as work
    from batprotocol.recordings.exports import TABLES, format_of, writer_of

    if target is None and to is not None and not to.endswith("-csv"):
        raise click.UsageError(f"{to} cannot go to standard output: name a file with --output", context)
    is_explicit = context.get_parameter_source("rows") is ParameterSource.COMMANDLINE
    if is_explicit and to is not None:
        raise click.UsageError("--rows and --to both select a format: leave out --to", context)
    try:
        format = to or f"{rows}-csv" if target is None else format_of(target, rows, to)
        writer_of(format, guard=spreadsheet)
        if format not in TABLES and is_explicit:
            raise click.UsageError(
                f"--rows is for tables, and {target} is a trace: leave out --rows, or name a .csv or .parquet file",
                context,
            )
    except InputError as error:
        raise click.UsageError(str(error), context) from None
    context.exit(work.write(run, target, rows=rows, to=to, guard=spreadsheet))
