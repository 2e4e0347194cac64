"""`batproto workload windows`: maintenance and reservations, repeated or from a table."""

from __future__ import annotations

from batprotocol._util.tables import LeftOut
from batprotocol.cli.terminal import Output, report_left_out
from batprotocol.errors import InputError
from batprotocol.workloads.commands.events import write_events
from batprotocol.workloads.host_events import planned_windows, read_windows, repeated_windows

__all__ = ["show"]


def show(
    table: str | None,
    *,
    hosts: str | None,
    every: float | None,
    at: float,
    duration: float | None,
    until: float | None,
    announced: float | None,
    name: str,
    users: str,
    accounts: str,
    maintenance: bool,
    skip_bad: bool,
    output: str | None,
) -> None:
    """Write windows, those of a table or repeated ones. `read_windows` and `repeated_windows` have the arguments."""
    if table is not None:
        if any(each is not None for each in (hosts, every, duration, until)):
            raise InputError("a TABLE has all windows: leave out --hosts, --every, --for and --until")
        left_out = LeftOut()
        planned = read_windows(table, announced=announced, left_out=left_out if skip_bad else None)
        report_left_out(Output(), table, left_out, "window")
    elif hosts is None or every is None or duration is None or until is None:
        raise InputError("expected a TABLE, or --hosts, --every, --for and --until: name the windows")
    else:
        try:
            windows = repeated_windows(
                hosts,
                every=every,
                at=at,
                duration=duration,
                until=until,
                name=name,
                users=_names(users),
                accounts=_names(accounts),
                maintenance=maintenance,
            )
        except InputError as error:
            raise InputError(error.reason, f"--{'for' if error.path == 'duration' else error.path}") from None
        planned = planned_windows(windows, announced=announced)
    write_events(planned, output)


def _names(text: str) -> list[str]:
    return [name for name in (part.strip() for part in text.split(",")) if name]
