"""`batproto study`: the family of its commands."""

from __future__ import annotations

import click

from batprotocol.cli.families import Family
from batprotocol.cli.study.results import metrics, plot, table

__all__ = ["study"]

_OVERVIEW = {
    "Compare": {
        "table": "Make a table of a metric: means, or differences to a baseline.",
        "plot": "Draw a metric against an axis, boxes, or waiting times.",
        "metrics": "List the metrics, with their definitions and sources.",
    },
}


@click.group(cls=Family, overview=_OVERVIEW)
def study() -> None:
    """Run many simulations, and compare them as a paper would."""


for _command in (table, plot, metrics):
    study.add_command(_command)
