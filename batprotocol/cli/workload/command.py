"""`batproto workload`: its parameters. The modules beside it do the work."""

from __future__ import annotations

from typing import Any

import click

from batprotocol.cli.families import Family

__all__ = ["workload"]

_OVERVIEW = {"Workloads of other formats": {"workflows": "Make a workload of workflows in WfCommons' WfFormat."}}


@click.group(cls=Family, overview=_OVERVIEW)
def workload() -> None:
    """Make workloads of other formats."""


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
