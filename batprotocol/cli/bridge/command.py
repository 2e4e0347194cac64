"""`batproto bridge`: its parameters, and those that other commands share with it. `ends` does the work."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from batprotocol.cli.parameters import old_protocol, schema_option, timeout_option

if TYPE_CHECKING:
    from batprotocol.reflection import Schema

__all__ = ["bridge", "jobs_option", "old_options", "redis_option"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


redis_option = click.option(
    "--redis",
    metavar="HOST:PORT[,PREFIX]",
    help="Jobs are told through this Redis server, as text-2 and text-3 need it; needs batprotocol[redis].",
)


def old_options(command: _Command) -> _Command:
    """What the command line of an older Batsim decides on, and its schedulers are told."""
    for option in (
        click.option("--enable-dynamic-jobs", is_flag=True, help="An older scheduler may register jobs."),
        click.option("--acknowledge-dynamic-jobs", is_flag=True, help="... and is told when they are submitted."),
        click.option("--forward-profiles-on-submission", is_flag=True, help="An older scheduler is told the profiles."),
        redis_option,
    ):
        command = option(command)
    return command


jobs_option = click.option(
    "--jobs",
    metavar="FILE",
    type=click.Path(readable=False, path_type=str),
    help="The workload file of a Batsim that speaks text-0 or text-1: what jobs ask for is there, and is not said.",
)


def _end(context: click.Context, parameter: click.Parameter, text: str) -> tuple[str, str | Schema | None]:
    endpoint, comma, protocol = text.partition(",")
    if not endpoint:
        raise click.BadParameter("expected ENDPOINT or ENDPOINT,PROTOCOL", context, parameter)
    if not comma or protocol in ("5", "today"):
        return endpoint, None
    if protocol.endswith((".bfbs", ".fbs", ".txt")) or _AGE.fullmatch(protocol):
        from batprotocol.cli.bridge.ends import spoken

        return endpoint, spoken(None, protocol)
    return endpoint, old_protocol(context, parameter, protocol)


_AGE = re.compile(r"\d{4}-\d\d(-\d\d)?")


@click.command()
@click.option("--batsim", metavar="ENDPOINT[,PROTOCOL]", required=True, callback=_end, help="Where Batsim connects to.")
@click.option("--edc", metavar="ENDPOINT[,PROTOCOL]", required=True, callback=_end, help="Where the scheduler listens.")
@schema_option("Batsim speaks by")
@old_options
@jobs_option
@timeout_option
@click.option(
    "--record",
    metavar="DIR|FILE.tar.xz|FILE.mcap",
    type=click.Path(path_type=str),
    help="Record what Batsim says and is told, for dump and check.",
)
@click.option("-q", "--quiet", is_flag=True, help="Do not tell in the end what could not be carried.")
@click.pass_context
def bridge(context: click.Context, /, schema: str | None, **options: Any) -> None:
    """Let a Batsim and a scheduler of different versions speak with each other, for one simulation.

    PROTOCOL is 5, which is today's and the default, a version from 1.0 to 4.2, or text-0 to text-3. Over ZeroMQ, Batsim
    connects to its ENDPOINT and the scheduler listens at its own, as they always do. With text, ENDPOINT is the path of
    a Unix socket, unix:PATH: the scheduler connects to it, and Batsim listens there.

    Text says of a job its name only. What it asks for is in Redis with text-2 and text-3, where PREFIX is the absolute
    path of the socket unless told otherwise, and in the workload file (--jobs) with text-0 and text-1.

    PROTOCOL can also be a schema of another age, 2021-10 to 2024-10, or a file of one (.bfbs, .fbs): what means the
    same there is carried by name. --schema is the same for Batsim's end.

    In the end, what could not be carried is told on standard error: which event, which field, and what was done
    instead.

    \b
    Examples:
      batproto bridge --batsim 'tcp://*:28000' --edc tcp://127.0.0.1:28001,4.2
      batproto bridge --batsim 'tcp://*:28000,4.2' --edc tcp://127.0.0.1:28001
      batproto bridge --batsim 'tcp://*:28000' --edc unix:/tmp/bat_socket,text-3 --redis 127.0.0.1:6379
      batproto bridge --batsim unix:/tmp/bat_socket,text-1 --edc tcp://127.0.0.1:28001 --jobs workload.json
      batproto bridge --batsim 'tcp://*:28000,2024-10' --edc tcp://127.0.0.1:28001
    """
    from batprotocol.cli.bridge import ends as work

    if schema is not None:
        endpoint, protocol = options["batsim"]
        if protocol is not None:
            raise click.UsageError("--schema and a PROTOCOL behind --batsim's endpoint say different things", context)
        options["batsim"] = endpoint, work.spoken(None, schema)
    context.exit(work.bridge(**options))
