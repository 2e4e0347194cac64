"""`batproto compare`: its parameters. `comparison` does the work, which is imported when it is wanted."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from batprotocol.cli.completing import completions

__all__ = ["compare"]


def _complete_metric(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from batprotocol.simulator import METRICS

    return completions(tuple(METRICS), start)


@click.command()
@click.argument("first", metavar="A", type=click.Path(readable=False, path_type=str))
@click.argument("second", metavar="B", type=click.Path(readable=False, path_type=str))
@click.option(
    "--metric",
    "metrics",
    metavar="NAME",
    multiple=True,
    shell_complete=_complete_metric,
    help='Show these metrics only, "all" for all; "batproto study metrics" lists them, and FILE.py:NAME is a function '
    "of your own. Can be repeated.",
)
@click.option(
    "-n",
    "--most",
    metavar="N",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="How many of the jobs that gained and lost most are shown.",
)
@click.option(
    "--tau",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="What a job counts as having run, at least, for bounded slowdowns.",
)
@click.option(
    "--tolerance",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    help="Times that are less than this apart are the same.  [default: 0.001; 0.01 where messages tell one run's]",
)
@click.option(
    "--hosts", metavar="N", type=click.IntRange(min=1), help="How many hosts there are, where the run does not tell."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all metrics.")
def compare(**options: Any) -> None:
    """Compare two runs of the same jobs: metric by metric, job by job, and where the two schedules first part.

    A and B are folders with Batsim's result files, jobs.csv files, recordings, or runs of a study, which are named by
    the store or the study and by where they are on its axes: "study.runs?scheduler=easy&seed=3". B is told as compared
    with A: a job that "ends later by -60 s" ends a minute earlier in B. The better value of each metric is in bold, or
    in asterisks.

    Of a recording that does not hold its jobs.csv, jobs are as messages tell: starts and ends are some milliseconds
    from those in a jobs.csv.

    \b
    Examples:
      batproto simulate fcfs -o fcfs && batproto simulate easy -o easy
      batproto compare fcfs easy
      batproto compare "study.runs?scheduler=fcfs&seed=1" "study.runs?scheduler=easy&seed=1"
      batproto compare --metric all --most 20 fcfs easy
      batproto compare --metric mine.py:late fcfs easy
      batproto compare fcfs run.mcap
      batproto compare --json a_jobs.csv b_jobs.csv | jq .parting
    """
    from batprotocol.cli.compare import comparison

    comparison.show(**options)
