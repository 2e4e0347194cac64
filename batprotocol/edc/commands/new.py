"""`batproto new`: its parameters. `scheduler` has the files that it writes."""

from __future__ import annotations

import click

from batprotocol.cli.families import Family

__all__ = ["new"]


_OVERVIEW = {"Files": {"scheduler": "Write a scheduler and its test into the current directory."}}


@click.group(cls=Family, overview=_OVERVIEW)
def new() -> None:
    """Write files to start from."""


@new.command("scheduler")
@click.argument("name")
def new_scheduler(name: str) -> None:
    """Write a scheduler called NAME (for example MyScheduler) and its test into the current directory."""
    from batprotocol.edc.commands import template as work

    for file in work.new_scheduler(name):
        click.echo(f"wrote {file}")
