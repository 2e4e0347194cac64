"""`batproto library`: its options. The work is done by `cli/in_process.py`, which is imported when it is wanted."""

from __future__ import annotations

import click

from batprotocol.cli.parameters import complete_file

__all__ = ["library"]


@click.command()
@click.argument("target", metavar="FILE:CLASS", shell_complete=complete_file)
@click.option("--init", metavar="TEXT", default="", help="Initialization data for the scheduler.")
@click.option("--format", type=click.Choice(["binary", "json"]), default="binary", show_default=True)
@click.option(
    "--record", metavar="DIR|FILE.tar.xz", type=click.Path(path_type=str), help="Record all that is said, as run does."
)
@click.option("-v", "--verbose", is_flag=True, help="Show what the scheduler logs for information, too.")
def library(target: str, init: str, format: str, record: str | None, verbose: bool) -> None:
    """Print what Batsim needs to load the scheduler CLASS of a Python FILE into its own process.

    The first line is the path of the shared library, the second one Batsim's options, written for a shell: the library,
    and initialization data that tell it which Python and which scheduler to load, and what to tell the scheduler.

    \b
    Examples:
      batproto library scheduler.py:FCFS
      eval "batsim -p platform.xml -w workload.json $(batproto library scheduler.py:FCFS | tail -n 1)"
    """
    from batprotocol.cli import in_process as work

    work.show(target, init=init, format=format, record=record, verbose=verbose)
