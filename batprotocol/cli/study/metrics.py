"""`batproto study metrics`: all metrics, as text for people or as JSON."""

from __future__ import annotations

import json

import msgspec

from batprotocol.cli.terminal.output import Output
from batprotocol.simulator import METRICS

__all__ = ["show"]


def show(*, as_json: bool) -> None:
    """Print the names, definitions, units and sources of all metrics."""
    output = Output()
    if as_json:
        output.json(json.dumps([msgspec.to_builtins(each) for each in METRICS.values()], indent=2))
        return
    widest = max(map(len, METRICS))
    for metric in METRICS.values():
        unit = f" [{metric.unit}]" if metric.unit else ""
        output.line(("type", metric.name.ljust(widest)), ("", f"  {metric.definition}{unit}"))
        if metric.source:
            output.line(("detail", f"{' ' * widest}  {metric.source}"))
