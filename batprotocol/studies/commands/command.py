"""`batproto study`: the family of its commands."""

from __future__ import annotations

import click

from batprotocol.cli.families import Family
from batprotocol.studies.commands.results import metrics, plot, table
from batprotocol.studies.commands.runs import list_runs, merge, run, show

__all__ = ["study"]

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
