"""`batproto workload trace`: a trace of carbon intensities or prices, described or as external events."""

from __future__ import annotations

from typing import Final

from batprotocol._util.tables import LeftOut
from batprotocol.cli.terminal import Output, report_left_out
from batprotocol.errors import InputError
from batprotocol.results.text import duration
from batprotocol.workloads.commands.events import write_events
from batprotocol.workloads.electricity import CARBON, PRICE, Trace
from batprotocol.workloads.electricity.tables import trace_named
from batprotocol.workloads.electricity.trace import power_events

__all__ = ["show"]

_WIDTH: Final = 15


def show(name: str, *, price: bool, until: float | None, output: str | None) -> None:
    """Describe a trace, or write its events."""
    left_out = LeftOut()
    kind = PRICE if price else CARBON
    trace = trace_named(name, kind, left_out=left_out)
    report_left_out(Output(), name, left_out, "value")
    if until is not None:
        write_events(power_events(trace, kind, until), output)
        return
    if output is not None:
        raise InputError("to write events, give --until, too")
    lines = Output()
    for title, text in _facts(trace):
        lines.line(("heading", title.ljust(_WIDTH)), ("", f" {text}"))


def _facts(trace: Trace) -> list[tuple[str, str]]:
    values = trace.values
    mean = trace.mean(trace.begin, trace.end)
    return [
        ("values", f"{len(values):,}, for {duration(trace.period)}{', repeated' if trace.repeats else ''}"),
        (trace.unit, f"{mean:.6g} mean, {min(values):.6g} to {max(values):.6g}"),
        ("begin", f"{trace.begin:.15g} s of the simulation"),
        ("end", "none" if trace.repeats else f"{trace.end:.15g} s of the simulation"),
    ]
