"""`batproto run` and `library`. `drivers` does the work, and is imported when it is needed."""

from __future__ import annotations

from typing import NoReturn

import click

from batprotocol.cli.completing import complete_scheduler
from batprotocol.cli.options import options_of
from batprotocol.cli.parameters import WithCommand
from batprotocol.edc.commands.options import SchedulerRunOptions

__all__ = ["library", "run"]


@click.command()
@click.argument("target", metavar="FILE:CLASS|POLICY", shell_complete=complete_scheduler)
@click.option("--init", metavar="TEXT", default="", help="Initialization data for the scheduler.")
@click.option("--format", type=click.Choice(["binary", "json"]), default="binary", show_default=True)
@click.option(
    "--record",
    metavar="DIR|FILE.tar.xz|FILE.mcap",
    type=click.Path(path_type=str),
    help="Record all messages, as run does.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show the log of the scheduler at level INFO, too.")
def library(target: str, init: str, format: str, record: str | None, verbose: bool) -> None:
    """Print the options with which Batsim loads the scheduler CLASS of a Python FILE into its own process.

    The first line is the path of the shared library. The second line has Batsim's options, written for a shell: the
    library, and initialization data. The data name the Python and the scheduler to load, and contain the text of
    --init.

    \b
    Examples:
      batproto library scheduler.py:FCFS
      eval "batsim -p platform.xml -w workload.json $(batproto library scheduler.py:FCFS | tail -n 1)"
    """
    from batprotocol.edc.commands import drivers as work

    work.show(target, init=init, format=format, record=record, verbose=verbose)


@click.command(cls=WithCommand)
@options_of(SchedulerRunOptions)
@click.pass_context
def run(context: click.Context, /, options: SchedulerRunOptions) -> None:
    """Run the scheduler CLASS of a Python FILE, or a built-in policy, for one simulation.

    "batproto policies" lists the policies. ENDPOINT is an address of ZeroMQ, such as tcp://127.0.0.1:* (any free port),
    or ipc:///tmp/batsim.sock.

    COMMAND is the command line of Batsim. The command starts Batsim as soon as it can connect, replaces {endpoint} and
    {init} in COMMAND, and exits with Batsim's status. If COMMAND contains {endpoint}, the default endpoint is a private
    one. If the scheduler or Batsim ends too early, the command reports which one, and ends the other, too.

    With --in-process, Batsim loads the scheduler into its own process. The command adds Batsim's option
    --edc-library-str to COMMAND. If COMMAND contains {library}, it only replaces {library} and {init}.

    With a built-in policy, --allocations writes the cores, memory and GPUs that each job took of its hosts, and
    --attempts the work that was lost when hosts failed. Batsim does not know them.

    A recording has a file for each message, in a new folder or in an archive. A recording of a run that was killed can
    be read up to its last message. During the run, FILE.tar.xz is not compressed yet, and DIR holds an archive.

    \b
    Examples:
      batproto run scheduler.py:FCFS
      batproto run --pin scheduler.py:FCFS -- batsim -p platform.xml -w workload.json \\
          --edc-socket-str {endpoint} ""
      batproto run --protocol text-3 --redis 127.0.0.1:6379 --endpoint unix:/tmp/bat_socket scheduler.py:FCFS
      batproto run --in-process scheduler.py:FCFS -- batsim -p platform.xml -w workload.json
    """
    _check(options, context)
    from batprotocol.edc.commands import drivers as work

    context.exit(work.run_in_process(options) if options.in_process else work.run_over_socket(options))


def _check(options: SchedulerRunOptions, context: click.Context) -> None:
    """Refuse options that do not belong together."""

    def refuse(sentence: str) -> NoReturn:
        raise click.UsageError(sentence, context)

    if options.protocol is None and (options.redis is not None or options.jobs is not None):
        option = "--jobs" if options.redis is None else "--redis"
        refuse(f"{option} is for a Batsim of an older version: give --protocol, too")
    if options.in_process:
        if options.protocol is not None:
            refuse("a Batsim of an older protocol does not load schedulers: leave out --in-process")
        for name in ("endpoint", "timeout", "schema", "allocations", "attempts"):
            if getattr(options, name) is not None:
                refuse(f"--{name} is for the socket: leave it out with --in-process")
    elif options.schema is not None and options.protocol is not None:
        refuse("--schema is for the current protocol: leave it out with --protocol")
