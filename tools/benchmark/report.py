"""The results of the formats' benchmark, compared with the goals."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from benchmark.competitors import GENERATED, Competitor
from benchmark.tables import table
from benchmark.workloads import Workload

__all__ = ["GOALS", "Results", "machine"]

GOALS = {"decode": 9.0, "encode": 12.0}
"""How many times faster than the generated classes the pure-Python engine must be."""

Times = Mapping[tuple[str, str], float]
"""Nanoseconds by competitor and direction."""


@dataclass(frozen=True)
class Results:
    """The results: for each workload the times, and the size of each competitor's output."""

    times: Mapping[Workload, Times]
    sizes: Mapping[Workload, Mapping[str, int]]

    def directions(self, engine: Competitor, others: Sequence[Competitor], markdown: bool) -> Iterable[str]:
        """A table for each direction: nanoseconds per event, and how many times faster the engine is than each."""
        for direction in GOALS:
            rows = [["ns per event", engine.name, *(each.name for each in others)]]
            for workload, times in self.times.items():
                own = times[engine.name, direction]
                cells = [f"{own / workload.events:,.0f}"]
                for each in others:
                    time = times[each.name, direction]
                    cells.append(f"{time / workload.events:,.0f} ({_ratio(time / own)})")
                rows.append([workload.name, *cells])
            title = f"{direction.capitalize()}, and how many times faster the {engine.name} is:"
            yield f"{title}\n\n{table(rows, markdown)}"

    def message_sizes(self, writers: Sequence[Competitor], markdown: bool) -> str:
        """The table of the sizes of the messages, as some competitors write them."""
        rows = [["bytes", "events", *(each.name for each in writers)]]
        for workload, sizes in self.sizes.items():
            rows.append([workload.name, f"{workload.events:,}", *(f"{sizes[each.name]:,}" for each in writers)])
        return f"Sizes of the messages:\n\n{table(rows, markdown)}"

    def shortfalls(self, engine: Competitor) -> list[str]:
        """Where an engine misses the goals."""
        found = []
        for workload, times in self.times.items():
            for direction, goal in GOALS.items():
                ratio = times[GENERATED.name, direction] / times[engine.name, direction]
                if ratio < goal:
                    found.append(f"{direction}, {workload.name}: {_ratio(ratio)} of {goal:g}x")
        return found


def _ratio(ratio: float) -> str:
    return f"{ratio:.{0 if ratio >= 99.5 else 1 if ratio >= 9.95 else 2}f}x"


def machine() -> str:
    """One line that says what was measured on, and with what."""
    versions = [f"{name} {_version(name)}" for name in ("batprotocol", "flatbuffers", "orjson", "msgspec", "numpy")]
    return f"{_processor()}, {sys.implementation.name} {platform.python_version()}, {', '.join(versions)}"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "(source tree)"


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
