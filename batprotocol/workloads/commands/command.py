"""`batproto workload`: its commands. The modules beside it do the work."""

from __future__ import annotations

from typing import Any

import click

from batprotocol.cli.families import Family
from batprotocol.cli.options import options_of
from batprotocol.cli.parameters import file_or_print
from batprotocol.workloads.commands.options import DURATION, PATH, WindowOptions, events_file

__all__ = ["workload"]

_OVERVIEW = {
    "Workloads": {
        "info": "Print jobs, users, times, and the offered load by week.",
    },
    "Workflows": {
        "workflows": "Make a workload of workflows in WfCommons' WfFormat.",
        "measure": "Print makespan, stretch and efficiency of each workflow of a run.",
    },
    "Hosts that fail": {
        "failures": "Draw failures and repairs of hosts from their laws.",
        "windows": "Write maintenance and reservations, repeated or from a table.",
        "outages": "Make events of hosts of a published trace of failures.",
    },
    "Electricity": {
        "trace": "Describe carbon intensities or prices, or write them as events.",
    },
}


@click.group(cls=Family, overview=_OVERVIEW)
def workload() -> None:
    """Describe workloads, make them of other formats, measure workflows, let hosts fail, read traces."""


@workload.command("info")
@click.argument("name", metavar="LOG", type=click.Path(readable=False, path_type=str))
@click.option(
    "--hosts",
    metavar="N",
    type=click.IntRange(min=1),
    help="The number of hosts that loads are relative to. By default, the number that the workload is made for.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(**options: Any) -> None:
    """Print a description of a workload: jobs, users, sizes, times, estimates, gaps, the offered load by week.

    LOG is the name of a workload, as for `-w` of `simulate`: a file in Batsim's JSON, .swf or .swf.gz, a part of one,
    or a model. It can also be a log of a resource manager, as for `batproto import`. The offered load is the work that
    is submitted in a time (hosts x run times), relative to the hosts in this time. The last lines are about properties
    that look wrong.

    \b
    Examples:
      batproto workload info log.swf.gz
      batproto workload info "log.swf.gz?time=0-2592000" --hosts 128 --json
    """
    from batprotocol.workloads.commands.info import show_info

    show_info(**options)


@workload.command("workflows")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(readable=False, path_type=str))
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(readable=False, path_type=str),
    callback=file_or_print,
    help="Write the workload into this file, and print a line for each workflow. By default, print the workload.",
)
@click.option(
    "--arrival",
    "arrivals",
    metavar="SECONDS",
    multiple=True,
    type=click.FloatRange(min=0),
    help="The arrival of a workflow: once for each FILE.",
)
@click.option(
    "--every",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Without --arrival: the seconds between two arrivals.  [default: 0]",
)
@click.option(
    "--speed",
    metavar="FACTOR",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    help="Divide run times by this factor.  [default: 1]",
)
@click.option(
    "--walltimes",
    metavar="FACTOR",
    type=click.FloatRange(min=1),
    help="Give each job this factor of its run time as its walltime. By default, jobs have no walltimes.",
)
def workflows(**options: Any) -> None:
    """Make a workload of workflows: each task is a job that waits for its parents.

    Each FILE is an instance of a workflow in WfFormat 1.4, 1.5 or 1.6, with run times, compressed by gzip or not. All
    jobs of a workflow are submitted at its arrival. They ask for cores and memory.

    \b
    Examples:
      batproto workload workflows montage.json -o w.json
      batproto workload workflows montage.json genome.json --every 60 --walltimes 2 -o w.json
      batproto simulate easy --hosts 'n[0-3] cores=8' -w w.json
    """
    from batprotocol.workloads.commands.info import write_workflows

    write_workflows(**options)


@workload.command("measure")
@click.argument("jobs", metavar="DIR|JOBS.CSV", type=click.Path(readable=False, path_type=str))
@click.option(
    "-w",
    "--workload",
    metavar="FILE",
    required=True,
    type=click.Path(readable=False, path_type=str),
    help="The workload of the run.",
)
@click.option("--name", metavar="NAME", default="w0", show_default=True, help="The name of the workload in the run.")
@click.option(
    "--cores", metavar="N", type=click.IntRange(min=1), help="The number of cores of all hosts, for the efficiency."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def measure(**options: Any) -> None:
    """Print the makespan, critical path, stretch, work and efficiency of each workflow of a run.

    The run is a folder with Batsim's result files, or a jobs.csv. A workflow is the jobs whose extra data name the same
    "workflow". If a task was rejected or has failed, the numbers of its workflow are not known.

    \b
    Example:
      batproto simulate easy --hosts 'n[0-3] cores=8' -w w.json -o out
      batproto workload measure out -w w.json --cores 32
    """
    from batprotocol.workloads.commands.info import show_workflow_results

    show_workflow_results(**options)


def _machine(command: Any) -> Any:
    """The options that name the machine."""
    command = click.option(
        "--hosts",
        metavar="N|TEXT",
        help="The number of hosts, or a description of them as for --hosts of `simulate`, instead of a platform file.",
    )(command)
    return click.option(
        "-p", "--platform", metavar="FILE", type=PATH, help="The platform: a SimGrid XML file, or a .txt."
    )(command)


@workload.command("failures")
@_machine
@click.option(
    "--each",
    "kinds",
    metavar="GROUP LAW LAW",
    nargs=3,
    multiple=True,
    help="The hosts that fail together, the law of the times between their failures, and the law of their repairs. Can "
    "be repeated. GROUP is host, machine, rack=SIZE, property=NAME or zone.",
)
@click.option(
    "--preset",
    "preset_name",
    type=click.Choice(["lanl", "opendc"]),
    help="The laws of a published study, for each host: lanl (Weibull and lognormal; needs --mtbf) or opendc.",
)
@click.option("--mtbf", metavar="DURATION", type=DURATION, help="With --preset lanl: the mean time between failures.")
@click.option("--until", metavar="DURATION", type=DURATION, required=True, help="No host fails later than this.")
@click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="The seed of the random numbers.")
@click.option(
    "--age",
    metavar="DURATION",
    type=DURATION,
    default=0.0,
    help="How long the hosts have worked and failed before the simulation begins.  [default: 0, all are new]",
)
@events_file
def failures(**options: Any) -> None:
    """Draw failures and repairs of hosts, and write them as external events.

    A LAW is exponential:30d, weibull:shape=0.7,mean=30d (or scale=30d), lognormal:mean=355min,median=54min (or mu=8,
    sigma=1.9 of seconds) or fixed:2h. Durations have the units y, mo, w, d, h, min and s. A host of several groups is
    down as long as any of them is. It fails at the same times whatever the number of hosts is.

    \b
    Examples:
      batproto workload failures --hosts 1000 --until 30d --preset lanl --mtbf 1y -o failures.jsonl
      batproto workload failures -p p.xml --until 1y --each host exponential:1y fixed:2h \\
          --each rack=32 exponential:5y lognormal:mean=6h,median=2h -o failures.jsonl
      batproto simulate easy -p p.xml -w log.swf.gz --events failures.jsonl
    """
    from batprotocol.workloads.commands.events import write_failures

    write_failures(**options)


@workload.command("windows")
@options_of(WindowOptions)
def windows(options: WindowOptions) -> None:
    """Write windows that are known in advance, maintenance and reservations, as external events.

    The windows are repeated, or they come from a TABLE in CSV with the columns hosts, begin, end, and perhaps name,
    users, accounts, flags and announced. No job may run in a window without users and accounts.

    \b
    Examples:
      batproto workload windows --hosts 0-127 --every 7d --at 1d8h --for 6h --until 1y --announced 3d --maintenance
      batproto workload windows reservations.csv -o windows.jsonl
      batproto simulate easy -p p.xml -w log.swf.gz --events failures.jsonl --events windows.jsonl
    """
    from batprotocol.workloads.commands.events import write_windows

    write_windows(options)


@workload.command("outages")
@click.argument("trace", metavar="TRACE", type=PATH)
@click.option(
    "-f",
    "--format",
    type=click.Choice(["fta", "lanl"]),
    help="The format: a table event_trace of the Failure Trace Archive, or the table of Los Alamos. By default, the "
    "file shows it.",
)
@_machine
@click.option("--system", metavar="NAME", help="Only the nodes of this system (or platform) of the trace.")
@click.option(
    "--zone", metavar="ZONE", help="The zone of times that have none, such as America/Denver.  [default: UTC]"
)
@click.option("--from", "begin", metavar="TIME", help="The time 0 of the simulation.  [default: the first outage]")
@click.option("--to", "end", metavar="TIME", help="Take only outages that begin before this time.")
@events_file
def outages(**options: Any) -> None:
    """Make events of hosts of a published trace of failures, and report what is left out.

    A node of the trace is the host of its name. If no node has the name of a host, the nodes are the hosts in their
    natural order.

    \b
    Examples:
      batproto workload outages event_trace.tab --hosts 64 -o failures.jsonl
      batproto workload outages LA-UR-05-7318-failure-data-1996-2005.csv --system 20 --zone America/Denver \\
          --hosts 512 --from 2003-01-01 --to 2004-01-01 -o failures.jsonl
    """
    from batprotocol.workloads.commands.events import write_outages

    write_outages(**options)


@workload.command("trace")
@click.argument("name", metavar="TRACE")
@click.option("--price", is_flag=True, help="The values are prices. By default, they are carbon intensities.")
@click.option("--until", metavar="DURATION", type=DURATION, help="Write the events of this time, from the begin on.")
@events_file
def trace(**options: Any) -> None:
    """Describe a trace of carbon intensities or prices. With --until, write it as external events.

    TRACE is a table in CSV, as Electricity Maps, WattTime, National Grid, ENTSO-E or Ember write it, or
    daily:MEAN, a curve that repeats each day. Options follow a question mark: begin, repeat, step, column, unit, region
    and zone of a table, and swing, peak, step and unit of a curve.

    \b
    Examples:
      batproto workload trace gb.csv
      batproto workload trace "prices.csv?begin=2026-01-05&zone=Europe/Paris" --price --until 7d -o prices.jsonl
      batproto workload trace "daily:300?swing=100&peak=19h" --until 1d
    """
    from batprotocol.workloads.commands.events import show_trace

    show_trace(**options)
