"""`batproto study metrics`: all metrics, as text for people or as JSON."""

from __future__ import annotations

import json

import msgspec

from batprotocol.cli.terminal.output import Output
from batprotocol.results.catalogue import ALL_METRICS

__all__ = ["show"]


def show(*, as_json: bool) -> None:
    """Print the names, definitions, units and sources of all metrics."""
    output = Output()
    metrics = list(ALL_METRICS.values())
    if as_json:
        output.json(json.dumps([msgspec.to_builtins(each) for each in metrics], indent=2))
        return
    widest = max(len(each.name) for each in metrics)
    for metric in metrics:
        unit = f" [{metric.unit}]" if metric.unit else ""
        output.line(("type", metric.name.ljust(widest)), ("", f"  {metric.definition}{unit}"))
        if metric.source:
            output.line(("detail", f"{' ' * widest}  {metric.source}"))
