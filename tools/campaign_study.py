"""Simulates campaigns with each regulator over lengths of tasks: tables and plot of docs/explanation/campaigns.md.

python tools/campaign_study.py run results.jsonl     half an hour of one core; goes on where it stopped
python tools/campaign_study.py tables results.jsonl
python tools/campaign_study.py plot results.jsonl docs/figures/campaigns.svg
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

from batprotocol.campaigns.model import GridSettings, Regulator
from batprotocol.campaigns.simulation.report import RegulatorCase, run_case

LENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
JOBS = dict.fromkeys(LENGTHS, 10_000) | {100.0: 2_000}
"""How many tasks a campaign has. With as many as the others, the longest would take a quarter of an hour each."""

REGULATORS: tuple[Regulator, ...] = get_args(Regulator)


def cases() -> Iterator[RegulatorCase]:
    """All cases, the short ones first."""
    for length in LENGTHS:
        for regulator in REGULATORS:
            for finalize in (True, False):
                yield RegulatorCase(
                    settings=GridSettings(regulator=regulator, finalize=finalize), length=length, jobs=JOBS[length]
                )


def run(path: Path) -> None:
    """Simulate what is not in the file yet."""
    done = {(row["regulator"], row["length"], row["finalize"]) for row in read(path)}
    for case in cases():
        settings = case.settings
        key = (settings.regulator, case.length, settings.finalize)
        if key in done:
            continue
        report, _ = run_case(case)
        work = case.jobs * case.length * case.cycle
        row = {
            "regulator": settings.regulator,
            "length": case.length,
            "finalize": settings.finalize,
            "load": report.load,
            "harvested": report.harvested,
            "lost": report.lost / work,
            "copied": sum(cluster.copied for cluster in report.clusters) / work,
            "peak": report.peak,
            "duration": report.duration,
            "cycles": report.cycles,
        }
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """The results so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


MEASURES: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "harvested": ("Share of the idle resources that is harvested", lambda row: f"{100 * row['harvested']:.1f} %"),
    "lost": ("Work lost to kills, as a share of the campaign's work", lambda row: f"{100 * row['lost']:.1f} %"),
    "peak": ("Most jobs that wait on a cluster of 128 hosts", lambda row: f"{row['peak']:,}"),
    "duration": ("Time to the end, in cycles", lambda row: f"{row['duration'] / 15:,.0f}"),
}


def tables(path: Path) -> None:
    """Print the tables, in Markdown."""
    rows = {(row["regulator"], row["length"], row["finalize"]): row for row in read(path)}
    head = "| tasks of | " + " | ".join(REGULATORS) + " |\n|---:|" + "---:|" * len(REGULATORS)
    for title, write in MEASURES.values():
        print(f"### {title}\n\n{head}")
        for length in LENGTHS:
            cells = (write(rows[regulator, length, True]) for regulator in REGULATORS)
            print(f"| {length:g} cycles | {' | '.join(cells)} |")
        print()
    print(f"### Time that finalize saves, in cycles, and the cost of its copies, as a share of the work\n\n{head}")
    for length in LENGTHS:
        saved_cells: list[str] = []
        for regulator in REGULATORS:
            with_copies, without = rows[regulator, length, True], rows[regulator, length, False]
            saved = (without["duration"] - with_copies["duration"]) / 15
            saved_cells.append(f"{saved:,.0f} ({100 * with_copies['copied']:.1f} %)")
        print(f"| {length:g} cycles | {' | '.join(saved_cells)} |")


def plot(path: Path, target: Path) -> None:
    """Draw the measures over the lengths."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    rows = [row for row in read(path) if row["finalize"]]
    matplotlib.rcParams["svg.hashsalt"] = "campaigns"
    figure, axes = pyplot.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    shown = (
        ("harvested", "harvested share of idle resources"),
        ("lost", "work lost to kills"),
        ("peak", "peak of waiting jobs"),
    )
    for axis, (measure, title) in zip(axes, shown, strict=True):
        for regulator in REGULATORS:
            points = sorted((row["length"], row[measure]) for row in rows if row["regulator"] == regulator)
            axis.plot(*zip(*points, strict=True), marker="o", markersize=3, label=regulator)
        axis.set_xscale("log")
        axis.set_xlabel("length of a task, in cycles")
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.3)
    axes[2].set_yscale("log")
    axes[2].set_ylim(10, 3000)
    axes[0].legend(fontsize=8)
    figure.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None)


if __name__ == "__main__":
    logging.getLogger().setLevel(logging.ERROR)
    command, *paths = sys.argv[1:]
    commands: dict[str, Callable[..., None]] = {"run": run, "tables": tables, "plot": plot}
    commands[command](*map(Path, paths))
