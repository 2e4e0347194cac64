"""The options of `batproto run`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import click

from batprotocol.cli.completing import complete_old_protocol, complete_scheduler
from batprotocol.cli.options import argument, option, shared
from batprotocol.cli.parameters import jobs_option, old_protocol, redis_option, schema_option, timeout_option

__all__ = ["SchedulerRunOptions"]

_FILE: Final = click.Path(readable=False, path_type=str)


@dataclass(frozen=True, kw_only=True)
class SchedulerRunOptions:
    """The options of `batproto run`.

    Attributes:
        target: the file and the class in it, `path/to/file.py:Class`, or the name of a policy.
        command: the command and its arguments, in which `{endpoint}` and `{init}` are replaced; may be empty.
        endpoint: where to bind; None is a private endpoint if the command contains `{endpoint}`, else the default.
        timeout: seconds to wait for each message, or None.
        init: the initialization data, instead of those that the simulator sends.
        record: the path of a recording of the conversation, or None.
        allocations: the file for what jobs take of shared hosts, or None.
        attempts: the file for the runs of jobs that are interrupted, or None.
        protocol: the version of an older protocol that Batsim speaks, or None.
        schema: the schema of a Batsim of another version, or None.
        redis: the Redis that has the jobs of a Batsim that speaks text; see `bridge.command`.
        jobs: the workload that has these jobs.
        pin: keep the scheduler and the command on one core.
        verbose: show everything that the scheduler logs.
    """

    target: str = argument(metavar="FILE:CLASS|POLICY", shell_complete=complete_scheduler)
    command: tuple[str, ...] = argument(metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
    endpoint: str | None = option(
        "--endpoint", metavar="ENDPOINT", help="The address to wait at for Batsim.  [default: tcp://*:28000]"
    )
    format: str = option("--format", type=click.Choice(["binary", "json"]), default="binary", show_default=True)
    timeout: float | None = shared(timeout_option)
    init: str | None = option("--init", metavar="TEXT", help="Initialization data, instead of those that Batsim sends.")
    record: str | None = option(
        "--record",
        metavar="DIR|FILE.tar.xz|FILE.mcap",
        type=_FILE,
        help="Record all messages, for dump and check. A FILE.tar, which is not compressed, is the fastest.",
    )
    allocations: str | None = option(
        "--allocations",
        metavar="FILE",
        type=_FILE,
        help="Write what jobs took of shared hosts, an allocations.csv, for a built-in policy.",
    )
    attempts: str | None = option(
        "--attempts",
        metavar="FILE",
        type=_FILE,
        help="Write the runs of jobs that were interrupted, an attempts.csv, for a built-in policy.",
    )
    in_process: bool = option(
        "--in-process", is_flag=True, help="Let COMMAND load the scheduler: no socket, the fastest way."
    )
    protocol: str | None = option(
        "--protocol",
        metavar="VERSION",
        callback=old_protocol,
        shell_complete=complete_old_protocol,
        help="Run with a Batsim of an older version: 1.0 to 4.2, or text-0 to text-3 (ENDPOINT is unix:PATH then).",
    )
    schema: str | None = shared(schema_option("Batsim speaks by"))
    redis: str | None = shared(redis_option)
    jobs: str | None = shared(jobs_option)
    pin: bool = option("--pin", is_flag=True, help="Keep the scheduler and COMMAND on one core: twice as fast or more.")
    verbose: bool = option("-v", "--verbose", is_flag=True, help="Show the log of the scheduler at level INFO, too.")
