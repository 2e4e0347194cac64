"""`batproto workload`: its parameters. The modules beside it do the work."""

from __future__ import annotations

from typing import Any

import click

from batprotocol.cli.families import Family

__all__ = ["workload"]

_OVERVIEW = {
    "Workloads": {
        "info": "Print jobs, users, times, and the offered load by week.",
    },
    "Workflows": {
        "workflows": "Make a workload of workflows in WfCommons' WfFormat.",
        "measure": "Print makespan, stretch and efficiency of each workflow of a run.",
    },
}


@click.group(cls=Family, overview=_OVERVIEW)
def workload() -> None:
    """Describe workloads, make workloads of other formats, and measure workflows."""


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
    from batprotocol.cli.workload import info as work

    work.show(**options)


@workload.command("workflows")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(readable=False, path_type=str))
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(readable=False, path_type=str),
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
    from batprotocol.cli.workload import workflows as work

    work.show(**options)


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
    from batprotocol.cli.workload import measure as work

    work.show(**options)
