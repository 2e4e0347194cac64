"""A plot of jobs: the share of jobs that waited for at most a time. It needs matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from batprotocol.errors import InputError, shown
from batprotocol.results import bounded_slowdown
from batprotocol.simulator import TAU, JobRow, metric_named
from batprotocol.studies.comparing.captions import runs_sentence
from batprotocol.studies.comparing.drawing import Look, canvas, expect_results, finish, looks
from batprotocol.studies.comparing.rows import ResultRow, axes_of, expect_axis, label, select
from batprotocol.studies.comparing.units import in_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["OF_JOBS", "plot_ecdf"]

OF_JOBS: Final = ("waiting_time", "turnaround_time", "slowdown", "bounded_slowdown")
"""The metrics of jobs whose distributions can be drawn."""
_USUAL: Final = Look()
_MUCH: Final = 100
_MOST_STEPS: Final = 2000
"""The maximum number of steps of a line. More are not visible."""


def plot_ecdf(
    results: Iterable[ResultRow],
    *,
    of: str = "waiting_time",
    by: str = "scheduler",
    where: Mapping[str, Iterable[object]] | None = None,
    unit: str = "",
    log: bool | None = None,
    look: Look = _USUAL,
) -> Figure:
    """The empirical distribution function of a metric over the jobs of all runs.

    Args:
        results: the rows of a study. Their jobs are read.
        of: the metric of jobs: `waiting_time`, `turnaround_time`, `slowdown` or `bounded_slowdown` (tau = 10 s).
        by: the axis of the lines: each of its values is a line.
        where: the values to select, by their axes.
        unit: the unit of times in the plot, such as `h`; "": seconds.
        log: whether times are on a logarithmic scale, which is linear below 1; None: if the longest one is more than a
            hundred times as long as half of those above 1 are.
        look: size, title and labels.

    Raises:
        PackageMissing: matplotlib is not installed.
        InputError: there are no results, or no such axis, value or unit, or no job ran.
    """
    if of not in OF_JOBS:
        raise InputError(f"expected {', '.join(OF_JOBS)}, got {shown(of)}")
    kept = expect_results(select(results, where or {}))
    known = axes_of(kept)
    whole = metric_named(f"mean_{of}")
    told, divisor = in_unit(whole, unit) if unit else (whole, 1.0)
    values: dict[str, list[float]] = {name: [] for name in known[expect_axis(known, by)]}
    for row in kept:
        if row.metrics:
            found = (_of_job(job, of) for job in row.jobs())
            values.setdefault(label(row.axes.get(by)), []).extend(
                value / divisor for value in found if value is not None
            )
    if not any(values.values()):
        raise InputError("no job ran")
    figure, (axes,) = canvas(look)
    from matplotlib.ticker import MaxNLocator, SymmetricalLogLocator

    for number, (name, each) in enumerate(values.items()):
        colour, _, dashes = looks(number)
        right, share = _steps(each)
        axes.step(right, share, where="post", color=colour, linestyle=dashes, label=name)
    axes.set_xlabel(told.label_with_unit.removeprefix("mean "))
    axes.set_ylabel("share of jobs")
    axes.set_ylim(0, 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    if log or (log is None and _spans_decades([each for some in values.values() for each in some])):
        axes.set_xscale("symlog", linthresh=1.0)
        axes.xaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=1.0))
    axes.set_xlim(left=0 if of.endswith("time") else 1)
    finish(
        figure,
        [axes],
        look,
        log=False,
        legend=by,
        note=runs_sentence(known, (by, None)).replace("runs", "jobs of runs"),
    )
    return figure


def _spans_decades(values: Sequence[float]) -> bool:
    """Whether a linear scale would show most values as one line at its left end."""
    above = sorted(value for value in values if value > 1)
    return bool(above) and above[-1] > _MUCH * above[len(above) // 2]


def _of_job(job: JobRow, of: str) -> float | None:
    turnaround, runtime = job.turnaround_time, job.shown_execution_time
    if turnaround is None or runtime is None:
        return None
    if of == "bounded_slowdown":
        return bounded_slowdown(turnaround, runtime, TAU)
    return {"waiting_time": job.waiting_time, "turnaround_time": turnaround, "slowdown": job.stretch}[of]


def _steps(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """The steps of the share of values: where it rises, and to which share. Very many steps are thinned out."""
    ordered = sorted(values)
    count = len(ordered)
    every = max(1, count // _MOST_STEPS)
    places = sorted({*range(every - 1, count, every), count - 1} if count else set())
    start = [ordered[0]] if count else []
    return [*start, *(ordered[place] for place in places)], [
        *([0.0] if count else []),
        *((place + 1) / count for place in places),
    ]
