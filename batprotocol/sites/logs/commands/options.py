"""The options of `batproto import`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from batprotocol.cli.completing import complete_log_format
from batprotocol.cli.options import argument, option, shared
from batprotocol.cli.parameters import file_with_ending, spreadsheet_option

__all__ = ["ImportOptions"]

_FILE = click.Path(readable=False, path_type=str)


def _fields(_: click.Context, __: click.Parameter, value: str | None) -> list[str] | None:
    """Names with commas between them."""
    if value is None:
        return None
    names = [name.strip() for name in value.split(",")]
    if not all(names):
        raise click.BadParameter(f"expected names with commas between them, such as JobID,Submit,Start, got {value!r}")
    return names


def _some_text(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value == "":
        raise click.BadParameter("expected a text, got nothing")
    return value


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """The options of `batproto import`."""

    logs: Sequence[str] = argument(
        metavar="LOG...", nargs=-1, required=True, type=click.Path(readable=False, allow_dash=True, path_type=str)
    )
    format: str | None = option(
        "-f",
        "--format",
        metavar="FORMAT",
        shell_complete=complete_log_format,
        help="The format of LOG: a name in the list below, or a file of columns, .toml. By default, its content "
        "shows it.",
    )
    output: str | None = option(
        "-o",
        "--output",
        metavar="FILE",
        type=_FILE,
        help="Write a workload for Batsim (.json), or all that is known of the jobs as a table (.parquet, .csv). For a "
        "capture of network traffic, write a recording (.mcap, .tar.xz, .tar or a new folder).",
    )
    platform: str | None = option(
        "-p",
        "--platform",
        metavar="FILE",
        type=_FILE,
        callback=file_with_ending(".txt", ".xml"),
        help="Write the machine: as lines for --hosts of batproto simulate (.txt), or for SimGrid and Batsim (.xml).",
    )
    nodes: str | None = option(
        "--nodes",
        metavar="FILE",
        type=_FILE,
        help="The nodes of the site: the output of scontrol show node (also --json), slurm.conf, or the output of "
        "pbsnodes -a -F json. By default, the machine is the smallest one that the log fits on.",
    )
    fields: Sequence[str] | None = option(
        "--fields",
        metavar="LIST",
        callback=_fields,
        help="The fields of sacct --noheader, with commas between them, as for sacct --format.",
    )
    delimiter: str | None = option(
        "--delimiter",
        metavar="TEXT",
        callback=_some_text,
        help="The text between the values of sacct, as for sacct --delimiter. By default, its header shows it, "
        "or it is |.",
    )
    zone: str | None = option(
        "--zone", metavar="ZONE", help="The zone of times that have none, such as Europe/Paris.  [default: UTC]"
    )
    begin: str | None = option(
        "--from", metavar="TIME", help="Take only jobs that were submitted at this time or later."
    )
    end: str | None = option("--to", metavar="TIME", help="Take only jobs that were submitted before this time.")
    attempts: str = option(
        "--attempts",
        type=click.Choice(["last", "all"]),
        default="last",
        show_default=True,
        help="Which attempts of a job that ran several times become jobs of the workload.",
    )
    unit: str | None = option(
        "--unit",
        type=click.Choice(["hosts", "shares", "cores"]),
        help="The unit that jobs ask for: whole hosts; shares of hosts by cores, memory and GPUs; or cores, each as a "
        "host. By default, the log decides.",
    )
    priority: bool = option(
        "--priority", is_flag=True, help="Keep the priority of each job in place of the policy's own."
    )
    reservations: bool = option(
        "--reservations",
        is_flag=True,
        help="Keep the reservation of each job. A policy rejects the job unless --events or its site=FILE has the "
        "reservation.",
    )
    anonymous: bool = option(
        "--anonymous",
        is_flag=True,
        help="Replace users, groups, accounts and names of jobs, always in the same way for one key.",
    )
    key: str | None = option(
        "--key",
        metavar="FILE",
        type=_FILE,
        help="The file with the key for --anonymous. By default, a new key is made, and printed once.",
    )
    others: Sequence[str] = option(
        "--anonymous-also",
        multiple=True,
        type=click.Choice(["partition", "qos", "reservation"]),
        help="Replace these names, too.",
    )
    check: bool = option(
        "--check",
        is_flag=True,
        help="Simulate the log as it was, and print how good this copy is; and when hosts were down or lent.",
    )
    policies: str | None = option(
        "--policies",
        metavar="NAMES",
        help="With --check: print how well these policies explain the log, with commas between them.  "
        "[default: fcfs,easy,conservative]",
    )
    events: str | None = option(
        "--events",
        metavar="FILE",
        type=_FILE,
        help="Write when hosts were down, or lent to reservations, as events for --events of batproto simulate, "
        ".jsonl.",
    )
    spreadsheet: bool = shared(spreadsheet_option, False)
    as_json: bool = option("--json", is_flag=True, help="Print JSON.")
