"""`batproto bridge`: its parameters, and those that other commands share with it. `ends` does the work."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from batprotocol.cli.parameters import old_protocol, schema_option, timeout_option

if TYPE_CHECKING:
    from batprotocol.wire.reflection import Schema

__all__ = ["bridge", "jobs_option", "old_options", "redis_option"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


redis_option = click.option(
    "--redis",
    metavar="HOST:PORT[,PREFIX]",
    help="Exchange jobs through this Redis server, which text-2 and text-3 need. Needs batprotocol[redis].",
)


def old_options(command: _Command) -> _Command:
    """Add the options of an older Batsim's command line, which its schedulers receive in messages."""
    for option in (
        click.option("--enable-dynamic-jobs", is_flag=True, help="Let an older scheduler register jobs."),
        click.option("--acknowledge-dynamic-jobs", is_flag=True, help="Send it JOB_SUBMITTED for these jobs."),
        click.option("--forward-profiles-on-submission", is_flag=True, help="Send the profiles to it."),
        redis_option,
    ):
        command = option(command)
    return command


jobs_option = click.option(
    "--jobs",
    metavar="FILE",
    type=click.Path(readable=False, path_type=str),
    help="The workload file of a Batsim that uses text-0 or text-1. It has what jobs request; the messages do not.",
)


def _end(context: click.Context, parameter: click.Parameter, text: str) -> tuple[str, str | Schema | None]:
    endpoint, comma, protocol = text.partition(",")
    if not endpoint:
        raise click.BadParameter("expected ENDPOINT or ENDPOINT,PROTOCOL", context, parameter)
    if not comma or protocol in ("5", "today"):
        return endpoint, None
    if protocol.endswith((".bfbs", ".fbs", ".txt")) or _AGE.fullmatch(protocol):
        from batprotocol.legacy.commands.ends import spoken

        return endpoint, spoken(None, protocol)
    return endpoint, old_protocol(context, parameter, protocol)


_AGE = re.compile(r"\d{4}-\d\d(-\d\d)?")


@click.command()
@click.option(
    "--batsim",
    metavar="ENDPOINT[,PROTOCOL]",
    required=True,
    callback=_end,
    help="The endpoint that Batsim connects to.",
)
@click.option(
    "--edc",
    metavar="ENDPOINT[,PROTOCOL]",
    required=True,
    callback=_end,
    help="The endpoint that the scheduler listens at.",
)
@schema_option("Batsim speaks by")
@old_options
@jobs_option
@timeout_option
@click.option(
    "--record",
    metavar="DIR|FILE.tar.xz|FILE.mcap",
    type=click.Path(path_type=str),
    help="Record the messages at Batsim's end, for dump and check.",
)
@click.option("-q", "--quiet", is_flag=True, help="Do not print what could not be translated.")
@click.pass_context
def bridge(context: click.Context, /, schema: str | None, **options: Any) -> None:
    """Connect a Batsim and a scheduler of different versions, for one simulation.

    PROTOCOL is 5, the current version and the default, a version from 1.0 to 4.2, or text-0 to text-3. Over ZeroMQ,
    Batsim connects to its ENDPOINT and the scheduler listens at its own, as they always do. With text, ENDPOINT is the
    path of a Unix socket, unix:PATH: the scheduler connects to it, and Batsim listens there.

    In text, a message has only the name of a job. Text-2 and text-3 have the job's requests in Redis; the default for
    PREFIX is the absolute path of the socket. Text-0 and text-1 have them in the workload file (--jobs).

    PROTOCOL can also be a schema of another age, 2021-10 to 2024-10, or a schema file (.bfbs, .fbs). The bridge
    translates events and fields by their names. --schema sets the schema of Batsim's end.

    At the end, the command prints on standard error what it could not translate: the event, the field, and what it did
    instead.

    \b
    Examples:
      batproto bridge --batsim 'tcp://*:28000' --edc tcp://127.0.0.1:28001,4.2
      batproto bridge --batsim 'tcp://*:28000,4.2' --edc tcp://127.0.0.1:28001
      batproto bridge --batsim 'tcp://*:28000' --edc unix:/tmp/bat_socket,text-3 --redis 127.0.0.1:6379
      batproto bridge --batsim unix:/tmp/bat_socket,text-1 --edc tcp://127.0.0.1:28001 --jobs workload.json
      batproto bridge --batsim 'tcp://*:28000,2024-10' --edc tcp://127.0.0.1:28001
    """
    from batprotocol.legacy.commands import ends as work

    if schema is not None:
        endpoint, protocol = options["batsim"]
        if protocol is not None:
            raise click.UsageError(
                "--schema and the PROTOCOL of --batsim contradict each other: use one of them", context
            )
        options["batsim"] = endpoint, work.spoken(None, schema)
    context.exit(work.bridge(**options))
