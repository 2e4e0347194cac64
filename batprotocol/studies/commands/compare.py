"""`batproto compare`: its parameters. It imports `comparison`, which does the work."""

from __future__ import annotations

from typing import Any

import click

from batprotocol.cli.completing import complete_metric
from batprotocol.cli.parameters import electricity_options

__all__ = ["compare"]


@click.command()
@click.argument("first", metavar="A", type=click.Path(readable=False, path_type=str))
@click.argument("second", metavar="B", type=click.Path(readable=False, path_type=str))
@click.option(
    "--metric",
    "metrics",
    metavar="NAME",
    multiple=True,
    shell_complete=complete_metric,
    help='Show this metric only: a name in "batproto study metrics", your own as FILE.py:NAME, or "all". Can be '
    "repeated.",
)
@click.option(
    "-n",
    "--most",
    metavar="N",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="The number of jobs to show of those that gained most, and of those that lost most.",
)
@click.option(
    "--tau",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="The minimum run time of jobs in bounded slowdowns.",
)
@click.option(
    "--tolerance",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    help="Times that differ by less are equal.  [default: 0.001; 0.01 if only one run's times come from messages]",
)
@click.option(
    "--hosts", metavar="N", type=click.IntRange(min=1), help="The number of hosts, if a run does not contain it."
)
@electricity_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all metrics.")
def compare(**options: Any) -> None:
    """Compare two runs of the same jobs: metric by metric, job by job, with the first difference of the schedules.

    A and B are folders with Batsim's result files, jobs.csv files, recordings, or runs of a study. The name of a run of
    a study is the store or the study, and the values of the run on its axes: "study.runs?scheduler=easy&seed=3".
    Differences are those of B to A: a job that "ends later by -60 s" ends a minute earlier in B. The better value of
    each metric is in bold, or in asterisks.

    If a recording does not contain a jobs.csv, the jobs come from its messages: their starts and ends differ by some
    milliseconds from those in a jobs.csv.

    Carbon, costs and the time above a cap are computed from the consumed_energy.csv of each run.

    \b
    Examples:
      batproto simulate fcfs -o fcfs && batproto simulate easy -o easy
      batproto compare fcfs easy
      batproto compare "study.runs?scheduler=fcfs&seed=1" "study.runs?scheduler=easy&seed=1"
      batproto compare --metric all --most 20 fcfs easy
      batproto compare --metric mine.py:late fcfs easy
      batproto compare --carbon daily:300 --metric carbon_grams fcfs easy
      batproto compare fcfs run.mcap
      batproto compare --json a_jobs.csv b_jobs.csv | jq .parting
    """
    from batprotocol.studies.commands import _compare_work as comparison

    comparison.show(comparison.CompareOptions(**options))
