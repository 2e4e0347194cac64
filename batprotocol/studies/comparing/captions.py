"""The captions of tables of results: the runs of the means, and the limits of the numbers.

It must not know how means and intervals are computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from batprotocol.results.text import WAITING, grows
from batprotocol.simulator import Metric
from batprotocol.studies.comparing.intervals import FEWEST, FEWEST_WINDOWS
from batprotocol.studies.comparing.rows import Groups, ResultRow, axes_of, in_order, label
from batprotocol.workloads.workload import UNSTEADY

__all__ = [
    "draws_sentence",
    "equal_pairs",
    "equal_rows",
    "factor_note",
    "load_note",
    "notes_of",
    "pooled_sentence",
    "runs_sentence",
]

FACTOR: Final = "arrival_factor"
_ROUGH: Final = 5
"""Up to this number of draws, intervals are rough."""
_ALIKE: Final = 0.3
"""From this share of pairs that do not differ, a caption says so."""
_USUAL: Final = 10
"""The number of draws from which intervals are not rough."""
_SHORT: Final = 50
"""Intervals of this number of windows or more contain the true mean often enough (`tests/studies/test_series.py`)."""
_SEEDS: Final = {
    ("workload",): "{} of the workload",
    ("weeks",): "{} of the weeks of {log}",
    ("estimates",): "{} of the estimates, {log}",
    ("weeks", "estimates"): "{} of the weeks and the estimates of {log}",
    ("scheduler",): "{} of the scheduler's random numbers, {workload}",
    ("workload", "scheduler"): "{} of the workload and of the scheduler's random numbers",
    ("weeks", "scheduler"): "{} of the weeks of {log} and of the scheduler's random numbers",
    ("estimates", "scheduler"): "{} of the estimates and of the scheduler's random numbers, {log}",
    ("weeks", "estimates", "scheduler"): "{} of the weeks, the estimates and the scheduler's random numbers, {log}",
    ("failures",): "{} of the failures, {workload}",
    ("workload", "failures"): "{} of the workload and of the failures",
    ("weeks", "failures"): "{} of the weeks of {log} and of the failures",
}
"""A description of the draws, by the parts that the seeds of the rows draw."""
_PLURALS: Final = {
    **{axis: f"{axis}s" for axis in ("load", "log", "platform", "scheduler", "seed", "workload")},
    "arrival_factor": "arrival factors",
    "offered_load": "offered loads",
}
_REDRAWING: Final = {"workload", "weeks"}
"""The parts that are another workload when they are drawn again."""
_OF_SEEDS: Final = ("seed", "failure_seed")


def draws_sentence(rows: Sequence[ResultRow], draws: Sequence[str], counts: Sequence[int]) -> str:
    """The number of draws, and the parts that are drawn: `10 draws of the estimates, one log`.

    Args:
        rows: the rows of the table.
        draws: the axes that repeat a measurement.
        counts: the numbers of draws of the cells.
    """
    many = _range(counts)
    if not draws or not set(draws) <= set(_OF_SEEDS):
        return f"{many} windows of {_many(rows, 'workload', 'log')}" if draws else "single runs"
    found = _drawn(rows)
    if len(found) == 1 and found[0] in _SEEDS:
        words = {"log": _many(rows, "workload", "log"), "workload": _many(rows, "workload", "workload")}
        return _SEEDS[found[0]].format(f"{many} {'draw' if many == '1' else 'draws'}", **words)
    return f"{many} {'seed' if many == '1' else 'seeds'}"


def pooled_sentence(rows: Iterable[ResultRow], axis: str, pooled: Iterable[str]) -> str:
    """The values over which each draw is averaged, or "".

    A scheduler's argument belongs to it, and is not an axis of the others. Then the sentence names the rows that are
    averaged over it.

    Args:
        rows: the rows of the table.
        axis: the axis of its rows.
        pooled: the axes that are averaged.
    """
    found: dict[str, dict[str, set[str]]] = {each: {} for each in pooled}
    for row in rows:
        for each, known in found.items():
            known.setdefault(label(row.axes.get(axis)), set()).update(
                [label(row.axes[each])] if each in row.axes else []
            )
    parts: dict[str, list[str]] = {}
    for each, known in found.items():
        counts = {name: len(labels) for name, labels in known.items()}
        for count in dict.fromkeys(count for count in counts.values() if count > 1):
            named = [name for name, other in counts.items() if other == count]
            only = f" in {' and '.join(named)}" if len(named) < len(counts) else ""
            parts.setdefault(only, []).append(_values(each, count))
    return "".join(f", each the mean over {' x '.join(values)}{only}" for only, values in parts.items())


def _times(over: Mapping[str, int]) -> str:
    """`3 loads x 2 values of off`."""
    return " x ".join(_values(axis, count) for axis, count in over.items())


def _values(axis: str, count: int) -> str:
    """`3 loads`, or `2 values of off`."""
    return f"{count:,} {_PLURALS.get(axis, f'values of {axis}')}"


def runs_sentence(axes: Mapping[str, Sequence[str]], shown: Iterable[str | None]) -> str:
    """The axes over which runs are mixed, or ""."""
    many = {axis: len(labels) for axis, labels in axes.items() if len(labels) > 1 and axis not in set(shown)}
    return f"runs of {_times(many)}" if many else ""


def notes_of(rows: Sequence[ResultRow], draws: Sequence[str], counts: Sequence[int]) -> list[str]:
    """Advice on these means, as sentences."""
    notes = []
    few = [count for count in counts if count]
    if few and max(few) < 2:
        what, remedy = "draw", "repeat with several seeds"
        if any("window" in row.axes for row in rows):  # of a log, which seeds do not repeat
            what, remedy = "window", "cut the log into ten windows or more (batproto whatif LOG --windows 1d)"
        notes.append(f"n = 1: one {what} a cell has no interval, and no row is the best; {remedy}")
    elif few and in_order(draws):
        notes += _notes_of_windows(few)
    elif few and min(few) < FEWEST:
        notes.append(f"cells with fewer than {FEWEST} draws have no interval")
    if not in_order(draws) and any(3 <= count <= _ROUGH for count in few):
        notes.append(f"intervals of 3 to {_ROUGH} draws are rough: use 10 or more")
    drawn = _drawn(rows)
    if (
        draws
        and set(draws) <= set(_OF_SEEDS)
        and len(few)
        and max(few) > 1
        and any(not set(each) & _REDRAWING for each in drawn)
    ):
        notes.append("the seeds do not redraw the workload: intervals do not cover other workloads")
    note = load_note(rows)
    return [*notes, note] if note else notes


def factor_note(rows: Sequence[ResultRow], shown: Iterable[str | None]) -> str:
    """The offered loads that belong to the arrival factors of a table, or "" if it does not show factors.

    Args:
        rows: the rows of the table.
        shown: the axes of its rows and columns.
    """
    if FACTOR not in set(shown):
        return ""
    loads: dict[str, list[float]] = {}
    for row in rows:
        load = row.metrics.get("offered_load")
        if load is not None and load == load and FACTOR in row.axes:
            loads.setdefault(label(row.axes[FACTOR]), []).append(load)
    factors = axes_of(rows).get(FACTOR, [])
    parts = [f"{_between(loads[factor])} at factor {factor}" for factor in factors if factor in loads]
    return f"offered load: {', '.join(parts)}" if parts else ""


def _between(loads: Sequence[float]) -> str:
    """`0.84`, or `0.79 to 0.91`."""
    least, most = f"{min(loads):.3g}", f"{max(loads):.3g}"
    return least if least == most else f"{least} to {most}"


def _notes_of_windows(counts: Sequence[int]) -> list[str]:
    """Advice on means over windows of a log."""
    if max(counts) < FEWEST_WINDOWS:
        return [
            f"no interval can be given for fewer than {FEWEST_WINDOWS} windows: use a longer log, or shorter windows"
        ]
    notes = ["windows follow one another: intervals are wider if neighbours are alike"]
    if min(counts) < FEWEST_WINDOWS:
        notes.append(f"cells with fewer than {FEWEST_WINDOWS} windows have no interval")
    if min(count for count in counts if count >= FEWEST_WINDOWS) < _SHORT:
        notes.append(f"intervals of fewer than {_SHORT} windows are too narrow if neighbours are much alike")
    return notes


def equal_pairs(counts: Iterable[tuple[int, int]]) -> Iterator[str]:
    """A sentence on differences of which many are 0, so that few pairs show how large the others are.

    Args:
        counts: for each difference of a table, the number of pairs without one, and the number of all pairs.

    >>> list(equal_pairs([(0, 10), (4, 10)]))
    ['up to 4 of 10 pairs do not differ: intervals are wide; with 17 draws, about 10 would differ']
    """
    found = [(alike, pairs) for alike, pairs in counts if _ALIKE * pairs <= alike < pairs < _USUAL + alike]
    if found:
        alike, pairs = max(found, key=lambda each: each[0] / each[1])
        enough = math.ceil(_USUAL * pairs / (pairs - alike))
        yield (
            f"up to {alike:,} of {pairs:,} pairs do not differ: intervals are wide; "
            f"with {enough:,} draws, about {_USUAL} would differ"
        )


def equal_rows(
    groups: Groups, labels: Sequence[str], columns: Sequence[str | None], metrics: Iterable[Metric]
) -> Iterator[str]:
    """Sentences on rows with the same numbers in each run: a setting of them may have no effect."""
    names = [metric.name for metric in metrics]
    rest = list(labels)
    while rest:
        first = rest.pop(0)
        same = [other for other in rest if all(groups.are_equal(first, other, columns, name) for name in names)]
        if same:
            rest = [other for other in rest if other not in same]
            yield f"{' and '.join([first, *same])} have the same numbers in each run"


def load_note(rows: Iterable[ResultRow]) -> str:
    """A warning that some results depend on the length of the workload, or ""."""
    known = [row.metrics for row in rows if "offered_load" in row.metrics or "waiting_at_end" in row.metrics]
    above = [each["offered_load"] for each in known if each.get("offered_load", 0.0) > 1]
    growing = [each for each in known if _grows(each)]
    reasons = []
    if above:
        reasons.append(f"in {len(above):,} of {len(known):,} runs the offered load is above 1 (up to {max(above):.3g})")
    if growing:
        reasons.append(
            f"in {len(growing):,} of {len(known):,} runs more than {WAITING:.0%} of the jobs wait at the end"
        )
    if not reasons:
        return ""
    return f"{'; '.join(reasons)}: {UNSTEADY}"


def _grows(metrics: Mapping[str, float]) -> bool:
    """Whether the queue grew to the end."""
    jobs = metrics.get("nb_jobs", 0.0)
    return grows(metrics.get("waiting_at_end", 0.0) * jobs, jobs)


def _drawn(rows: Iterable[ResultRow]) -> list[tuple[str, ...]]:
    """The parts that the seeds of the rows draw, each combination once; runs that draw nothing do not count."""
    found = dict.fromkeys(tuple(getattr(row, "drawn", ())) for row in rows if row.metrics)
    return [each for each in found if each]


def _many(rows: Iterable[ResultRow], axis: str, word: str) -> str:
    """`one log`, or `3 logs`."""
    count = len({label(row.axes.get(axis)) for row in rows})
    return f"one {word}" if count == 1 else f"{count:,} {word}s"


def _range(counts: Sequence[int]) -> str:
    known = [count for count in counts if count]
    if not known:
        return "0"
    return f"{known[0]:,}" if min(known) == max(known) else f"{min(known):,} to {max(known):,}"
