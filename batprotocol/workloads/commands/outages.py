"""`batproto workload outages`: a published trace of failures as events of hosts."""

from __future__ import annotations

from batprotocol._util.tables import LeftOut
from batprotocol.cli.terminal import Output, report_left_out
from batprotocol.sites.logs.outages import outage_events, read_outages
from batprotocol.workloads.commands.events import machine_of, write_events

__all__ = ["show"]


def show(
    trace: str,
    *,
    format: str | None,
    platform: str | None,
    hosts: str | None,
    system: str | None,
    zone: str | None,
    begin: str | None,
    end: str | None,
    output: str | None,
) -> None:
    """Write the outages of a trace, and report what was left out. `outage_events` has the arguments."""
    machine = machine_of(platform, hosts)
    left_out = LeftOut()
    since, until = (None if text is None else _moment(text, zone) for text in (begin, end))
    events = outage_events(
        read_outages(trace, left_out, format=format, zone=zone, system=system),
        machine if isinstance(machine, int) else [host.name for host in machine.computation_hosts],
        left_out,
        since=since,
        until=until,
    )
    report_left_out(Output(), trace, left_out, "outage")
    write_events(events, output)


def _moment(text: str, zone: str | None) -> float:
    from batprotocol.sites.logs.imports import moment

    return moment(text, zone)
