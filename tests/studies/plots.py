"""Plots of fixed results, and their contents as text. This program writes `tests/data/plots.txt` anew.

Look at the plots before you keep a change: the file says what they were when somebody last looked.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from batprotocol.model import FinalJobState
from batprotocol.simulator import JobRow
from batprotocol.studies.comparing import Look, PlainRow, plot_boxes, plot_ecdf, plot_lines, plot_means

KEPT = Path(__file__).parent.parent / "data" / "plots.txt"


def jobs(count: int, wait: float) -> tuple[JobRow, ...]:
    """Jobs of 4 s that wait longer and longer; each fifth one was rejected."""
    return tuple(
        JobRow(
            job_id=str(number),
            workload_name="w0",
            profile="w0!d",
            submission_time=float(number),
            requested_number_of_resources=1,
            requested_time=None,
            final_state=FinalJobState.REJECTED if rejected else FinalJobState.COMPLETED_SUCCESSFULLY,
            starting_time=None if rejected else number + wait * number,
            execution_time=None if rejected else 4.0,
            allocated_resources="" if rejected else "0",
        )
        for number in range(count)
        for rejected in (number % 5 == 4,)
    )


def results() -> list[PlainRow]:
    """Two schedulers at three loads of two logs with four seeds each, and one without a load."""
    names = enumerate(("fcfs", "easy"))
    found = [
        PlainRow(
            {"scheduler": name, "load": load, "log": log, "seed": seed},
            {
                "mean_waiting_time": (2 - place) * 5000 * load + (seed + 1) ** 3 * (1 + (log == "b")),
                "offered_load": load * 0.8 + seed / 100,
                "consumed_joules": 1e6 * (seed + place + 1),
            },
            jobs(6 + seed, 3.0 - place),
        )
        for place, name in names
        for load in (0.5, 1.0, 2.0)
        for log in "ab"
        for seed in range(4)
    ]
    found[3] = PlainRow(found[3].axes, {}, jobs(3, 99.0))  # it has failed
    mine = [
        PlainRow(
            {"scheduler": "mine", "log": log, "seed": seed}, {"mean_waiting_time": 3000.0 + 10 * seed}, jobs(2, 1.0)
        )
        for log in "ab"
        for seed in range(4)
    ]
    return [*found, *mine]


def figures() -> Iterator[tuple[str, Any]]:
    """All plots, with their names."""
    rows = results()
    wait: dict[str, Any] = {"metric": "mean_waiting_time"}
    loads = {"scheduler": ["fcfs", "easy"]}
    look = Look(size=(5, 4), title="title", xlabel="right", ylabel="up")
    yield "lines", plot_lines(rows, x="load", **wait)
    yield "lines in hours", plot_lines(rows, x="load", unit="h", log=True, look=look, **wait)
    yield "differences", plot_lines(rows, x="load", baseline="easy", where=loads, confidence=0.9, **wait)
    yield "points", plot_lines(rows, x="log", by="load", where=loads, **wait)
    yield "panels", plot_lines(rows, x="load", panels="log", **wait)
    yield "realised loads", plot_lines(rows, x="offered_load", where=loads, **wait)
    yield "boxes", plot_boxes(rows, **wait)
    yield "groups of boxes", plot_boxes(rows, x="log", unit="min", look=look, **wait)
    yield "boxes of joules", plot_boxes(rows, metric="consumed_joules", where=loads)
    yield "means", plot_means(rows, where={"log": ["a"]}, **wait)
    yield "groups of means", plot_means(rows, x="log", unit="h", **wait)
    yield "jobs", plot_ecdf(rows)
    yield "slowdowns", plot_ecdf(rows, of="slowdown", log=True, where=loads)
    yield "bounded slowdowns", plot_ecdf(rows, of="bounded_slowdown", by="log", where={"load": [1.0]})
    yield "turnaround in minutes", plot_ecdf(rows, of="turnaround_time", unit="min", look=look)


def described(figure: Any) -> Iterator[str]:
    """The contents of a plot: all that is drawn, with its numbers."""
    yield f"size {_numbers(figure.get_size_inches())}"
    yield f"below {figure.get_supxlabel()!r}, above {figure.get_suptitle()!r}"
    yield f"notes {getattr(figure, 'notes', ())!r}"
    for legend in figure.legends:
        texts = [text.get_text() for text in legend.get_texts()]
        yield f"legend {legend.get_title().get_text()!r} {texts} in {legend._ncols} columns"
    for axes in figure.axes:
        yield f"axes {axes.get_title()!r} {axes.get_xlabel()!r} {axes.get_ylabel()!r}"
        yield f"  scales {axes.get_xscale()} {axes.get_yscale()}"
        yield f"  from {_numbers(axes.get_xlim()[:1])} to {_numbers(axes.get_xlim()[1:])}"
        labels = [text.get_text() for text in axes.get_xticklabels()]
        yield f"  ticks {_numbers(axes.get_xticks())} {labels}"
        for line in axes.get_lines():
            where = f"{_numbers(line.get_xdata())} {_numbers(line.get_ydata())}"
            look = f"{line.get_color()} {line.get_marker()} {line.get_linestyle()} {line.get_linewidth()}"
            yield f"  line {_name(line)} {look}: {where}"
        for each in axes.collections:
            paths = [_numbers(path.vertices, 4) for path in each.get_paths()]
            yield f"  area {_name(each)} {each.get_alpha()}: {paths}"
        for patch in axes.patches:
            corners = patch.get_bbox() if hasattr(patch, "get_bbox") else patch.get_path().vertices
            yield f"  box {_name(patch)} {patch.get_alpha()} {patch.get_hatch()!r}: {_numbers(corners)}"


def _name(artist: Any) -> str:
    """The label of what is in the legend."""
    name = str(artist.get_label())
    return "-" if name.startswith("_") else repr(name)


def _numbers(values: Any, digits: int = 5) -> str:
    """Some numbers; of many ones, about twenty, and how many there are."""
    found = np.asarray(values, dtype=float).ravel()
    shown = found if len(found) <= 24 else found[:: len(found) // 20]
    text = " ".join(f"{value + 0.0:.{digits}g}" for value in shown)
    return text if len(found) == len(shown) else f"{text} (of {len(found)})"


def text() -> str:
    """All plots as text."""
    return "".join(f"# {name}\n" + "".join(f"{line}\n" for line in described(figure)) for name, figure in figures())


if __name__ == "__main__":
    KEPT.write_text(text(), encoding="utf-8")
