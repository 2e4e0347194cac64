"""`batproto mcp`: a server of the Model Context Protocol on standard input and output, until its input ends."""

from __future__ import annotations

import click

from batprotocol.cli.parameters import seconds

__all__ = ["mcp"]


@click.command()
@click.argument("folder", metavar="[FOLDER]", default=".", type=click.Path(exists=True, file_okay=False, path_type=str))
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=float,
    callback=seconds,
    default=300.0,
    show_default=True,
    help="The longest real time of a call of a tool.",
)
@click.option(
    "--characters",
    metavar="N",
    type=click.IntRange(min=1000, max=10_000_000),
    default=50_000,
    show_default=True,
    help="Cut longer answers.",
)
@click.option(
    "--memory",
    metavar="MIB",
    type=click.IntRange(min=1024),
    default=4096,
    show_default=True,
    help="The address space of a call. The processes of a study share it.",
)
@click.option(
    "--runs",
    metavar="N",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Refuse studies with more runs.",
)
@click.option(
    "--schedulers",
    is_flag=True,
    help="Also run schedulers and metrics in Python files of the folder, which can do all that you can do.",
)
def mcp(folder: str, timeout: float, characters: int, memory: int, runs: int, schedulers: bool) -> None:
    """Serve an assistant by the Model Context Protocol (MCP), on standard input and output.

    The assistant can list policies, metrics, rules and schemas, simulate policies, run studies, and look at recorded
    messages. It uses the files of FOLDER only, by default the current folder, and no network. Each call is a process of
    its own, with limits.

    The program of the assistant starts the command; its settings name it. It needs the package mcp.

    \b
    Examples:
      batproto mcp experiments
      batproto mcp experiments --timeout 60 --runs 100
    """
    from batprotocol.cli.mcp_server import CommandLimits
    from batprotocol.cli.mcp_server.server import serve

    serve(CommandLimits(folder, timeout, characters, memory << 20, schedulers, runs))
