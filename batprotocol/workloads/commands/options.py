"""The options that several commands of `batproto workload` have, and the options of `batproto workload windows`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import click

from batprotocol.cli.options import argument, option, shared
from batprotocol.cli.parameters import Duration, file_or_print

__all__ = ["DURATION", "PATH", "WindowOptions", "events_file"]

PATH: Final = click.Path(readable=False, path_type=str)
"""The type of the name of a file."""

DURATION: Final = Duration()
"""The type of a duration, such as 6h."""


def events_file(command: Any) -> Any:
    """The option that names the file of events."""
    return click.option(
        "-o",
        "--output",
        metavar="FILE",
        type=PATH,
        callback=file_or_print,
        help="Write the events into this file. By default, print them.",
    )(command)


@dataclass(frozen=True, kw_only=True)
class WindowOptions:
    """The options of `batproto workload windows`."""

    table: str | None = argument(metavar="[TABLE]", required=False, type=PATH)
    hosts: str | None = option("--hosts", metavar="HOSTS", help="The numbers of the hosts, such as 0-7,12.")
    every: float | None = option(
        "--every", metavar="DURATION", type=DURATION, help="The time from one begin to the next."
    )
    at: float = option(
        "--at", metavar="DURATION", type=DURATION, default=0.0, help="The begin of the first window.  [default: 0]"
    )
    duration: float | None = option("--for", metavar="DURATION", type=DURATION, help="How long each window lasts.")
    until: float | None = option("--until", metavar="DURATION", type=DURATION, help="No window begins later than this.")
    announced: float | None = option(
        "--announced",
        metavar="DURATION",
        type=DURATION,
        help="How long before its begin a window is announced. By default, all are announced at time 0.",
    )
    name: str = option("--name", metavar="NAME", default="", help="The name of the windows.")
    users: str = option("--users", metavar="NAMES", default="", help="The users whose jobs may run in the windows.")
    accounts: str = option(
        "--accounts", metavar="NAMES", default="", help="The accounts whose jobs may run in the windows."
    )
    maintenance: bool = option(
        "--maintenance", is_flag=True, help="The windows are planned maintenance: the flag MAINT."
    )
    skip_bad: bool = option(
        "--skip-bad", is_flag=True, help="Count the rows of TABLE that cannot be read, and leave them out."
    )
    output: str | None = shared(events_file)
