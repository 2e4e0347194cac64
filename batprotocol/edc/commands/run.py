"""`batproto run` and `library`: their parameters. `over_socket` and `in_process` do the work, imported when needed."""

from __future__ import annotations

import click

from batprotocol.cli.completing import complete_old_protocol, complete_scheduler
from batprotocol.cli.parameters import (
    WithCommand,
    jobs_option,
    old_protocol,
    redis_option,
    schema_option,
    timeout_option,
)

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
@click.argument("target", metavar="FILE:CLASS|POLICY", shell_complete=complete_scheduler)
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--endpoint", metavar="ENDPOINT", help="The address to wait at for Batsim.  [default: tcp://*:28000]")
@click.option("--format", type=click.Choice(["binary", "json"]), default="binary", show_default=True)
@timeout_option
@click.option("--init", metavar="TEXT", help="Initialization data, instead of those that Batsim sends.")
@click.option(
    "--record",
    metavar="DIR|FILE.tar.xz|FILE.mcap",
    type=click.Path(readable=False, path_type=str),
    help="Record all messages, for dump and check. A FILE.tar, which is not compressed, is the fastest.",
)
@click.option(
    "--allocations",
    metavar="FILE",
    type=click.Path(readable=False, path_type=str),
    help="Write what jobs took of shared hosts, an allocations.csv, for a built-in policy.",
)
@click.option(
    "--attempts",
    metavar="FILE",
    type=click.Path(readable=False, path_type=str),
    help="Write the runs of jobs that were interrupted, an attempts.csv, for a built-in policy.",
)
@click.option("--in-process", is_flag=True, help="Let COMMAND load the scheduler: no socket, the fastest way.")
@click.option(
    "--protocol",
    metavar="VERSION",
    callback=old_protocol,
    shell_complete=complete_old_protocol,
    help="Run with a Batsim of an older version: 1.0 to 4.2, or text-0 to text-3 (ENDPOINT is unix:PATH then).",
)
@schema_option("Batsim speaks by")
@redis_option
@jobs_option
@click.option("--pin", is_flag=True, help="Keep the scheduler and COMMAND on one core: twice as fast or more.")
@click.option("-v", "--verbose", is_flag=True, help="Show the log of the scheduler at level INFO, too.")
@click.pass_context
def run(
    context: click.Context,
    target: str,
    command: tuple[str, ...],
    endpoint: str | None,
    format: str,
    timeout: float | None,
    init: str | None,
    record: str | None,
    allocations: str | None,
    attempts: str | None,
    in_process: bool,
    protocol: str | None,
    schema: str | None,
    redis: str | None,
    jobs: str | None,
    pin: bool,
    verbose: bool,
) -> None:
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
    if protocol is None and (redis is not None or jobs is not None):
        option = "--jobs" if redis is None else "--redis"
        raise click.UsageError(f"{option} is for a Batsim of an older version: give --protocol, too", context)
    if in_process:
        from batprotocol.edc.commands import drivers as inside

        of_the_socket = {
            "--endpoint": endpoint,
            "--timeout": timeout,
            "--schema": schema,
            "--allocations": allocations,
            "--attempts": attempts,
        }
        if protocol is not None:
            raise click.UsageError(
                "a Batsim of an older protocol does not load schedulers: leave out --in-process", context
            )
        for option, value in of_the_socket.items():
            if value is not None:
                raise click.UsageError(f"{option} is for the socket: leave it out with --in-process", context)
        context.exit(
            inside.run_in_process(target, command, pin, init=init or "", format=format, record=record, verbose=verbose)
        )
    if schema is not None and protocol is not None:
        raise click.UsageError("--schema is for the current protocol: leave it out with --protocol", context)
    from batprotocol.edc.commands import drivers as work

    status = work.run_over_socket(
        target,
        endpoint=endpoint,
        format=format,
        timeout=timeout,
        init=init,
        record=record,
        allocations=allocations,
        attempts=attempts,
        pin=pin,
        verbose=verbose,
        command=command,
        protocol=protocol,
        schema=schema,
        old={"redis": redis, "jobs": jobs},
    )
    context.exit(status)
