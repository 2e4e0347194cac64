"""A plot of watts over time, with the cap, and the carbon intensity and the price below. It needs matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from batprotocol.errors import InputError
from batprotocol.simulator import OF_POWER, Electricity
from batprotocol.studies.comparing.drawing import Look, expect_results, finish, looks, missing
from batprotocol.studies.comparing.rows import ResultRow, axes_of, expect_axis, label, select
from batprotocol.studies.comparing.units import in_unit, usual_unit
from batprotocol.workloads.electricity import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from batprotocol.studies.comparing.figures import Plot

__all__ = ["plot_watts"]

_USUAL: Final = Look()
_MOST: Final = 2000
"""The maximum number of steps of a line. More are not visible, and become means."""
_UNITS: Final = ((2 * 86400.0, 86400.0, "d"), (2 * 3600.0, 3600.0, "h"), (0.0, 1.0, "s"))
"""The shortest time for a unit, its seconds, and its name."""
_BELOW: Final = ("carbon", "price")


def plot_watts(
    results: Iterable[ResultRow],
    *,
    by: str = "scheduler",
    where: Mapping[str, Iterable[object]] | None = None,
    unit: str = "",
    look: Look = _USUAL,
) -> Figure:
    """The watts of all hosts over time: a line for each value of an axis, and the caps as dotted lines.

    The carbon intensity and the price of the study are below, over the same time.

    Args:
        results: the rows of a study, one for each value of `by`. Their energy is read.
        by: the axis of the lines: each of its values is a line.
        where: the values to select, by their axes.
        unit: the unit of the watts in the plot, such as `kW`; "": the usual one.
        look: size, title and labels.

    Raises:
        PackageMissing: matplotlib is not installed.
        InputError: there are no results, no such axis, value or unit, several runs for a line, or no energy.
    """
    kept = [row for row in expect_results(select(results, where or {})) if row.metrics]
    known = axes_of(kept)
    expect_axis(known, by)
    lines = {label(row.axes.get(by)): row for row in kept}
    if len(lines) < len(kept):
        others = [axis for axis, labels in known.items() if len(labels) > 1 and axis != by]
        raise InputError(f"a line is one run: choose one value of {' and of '.join(others)}")
    watts = {name: _watts(row) for name, row in lines.items()}
    if not any(each for each in watts.values()):
        raise InputError("no run has measured its energy over time: set energy, or watts")
    told, divisor = _unit(unit, watts.values())
    end = max(times[-1] for times, _ in filter(None, watts.values()))
    electricity = {name: _electricity(row) for name, row in lines.items()}
    below = [(name, traces) for name in _BELOW if (traces := _different(electricity, name))]
    figure, axes = _stacked(look, 1 + len(below))
    scale, word = next((seconds, word) for least, seconds, word in _UNITS if end >= least)
    for number, (name, found) in enumerate(watts.items()):
        if found is not None:
            colour, _, dashes = looks(number)
            times, values = _thinned(*found)
            heights = [value / divisor for value in values]
            axes[0].stairs(
                heights, [time / scale for time in times], baseline=None, color=colour, ls=dashes, label=name
            )
    for trace in _different(electricity, "cap"):
        times, values = _steps(trace, end)
        axes[0].step(
            [time / scale for time in times], [each / divisor for each in values], "k:", where="post", label="cap"
        )
    axes[0].set_ylabel(told.label_with_unit.replace("mean ", ""))
    axes[0].set_ylim(bottom=0)
    for axis, (name, traces) in zip(axes[1:], below, strict=True):
        for number, trace in enumerate(traces):
            times, values = _steps(trace, end)
            axis.step([time / scale for time in times], values, where="post", color=looks(number)[0])
        axis.set_ylabel(f"{name}\n[{traces[0].unit}]")
    axes[-1].set_xlabel(f"time [{word}]")
    finish(figure, axes, look, log=False, legend=by)
    return figure


_Line = tuple[list[float], list[float]]
"""The edges of steps, and their values: one less."""


def _watts(row: ResultRow) -> _Line | None:
    """The mean watts between the readings of a run."""
    readings = getattr(row, "energy_over_time", lambda: None)()
    if not readings:
        return None
    times, values, before = [0.0], [], 0.0
    for time, joules in readings:
        if time > times[-1]:
            values.append((joules - before) / (time - times[-1]))
            times.append(time)
            before = joules
    return (times, values) if values else None


def _electricity(row: ResultRow) -> Electricity:
    known = getattr(row, "electricity", None)
    return known() if known is not None else Electricity()


def _different(electricity: Mapping[str, Electricity], key: str) -> list[Trace]:
    """The different traces of the runs."""
    found = {id(trace): trace for each in electricity.values() if isinstance(trace := getattr(each, key), Trace)}
    return list(found.values())


def _unit(unit: str, lines: Iterable[_Line | None]) -> tuple[Any, float]:
    metric = OF_POWER["mean_watts"]
    values = [max(values) for _, values in filter(None, lines)]
    return in_unit(metric, unit) if unit else usual_unit(metric, values)


def _thinned(times: Sequence[float], values: Sequence[float]) -> _Line:
    """The line in at most `_MOST` steps: each has the mean of the steps that it joins."""
    if len(values) <= _MOST:
        return list(times), list(values)
    every, joules = (times[-1] - times[0]) / _MOST, 0.0
    edges, means = [times[0]], list[float]()
    for (begin, end), value in zip(pairwise(times), values, strict=True):
        joules += value * (end - begin)
        if end - edges[-1] >= every or end == times[-1]:
            means.append(joules / (end - edges[-1]))
            edges.append(end)
            joules = 0.0
    return edges, means


def _steps(trace: Trace, end: float) -> tuple[list[float], list[float]]:
    """The values of a trace from time 0, with the last one at the end."""
    times, values = [], []
    time, shortest = 0.0 if trace.repeats else max(0.0, trace.begin), end / _MOST
    until = end if trace.repeats else min(end, trace.end)
    while time < until:
        times.append(time)
        values.append(trace.at(time))
        time = max(trace.next_change(time), time + shortest)
    return [*times, until], [*values, *values[-1:]]


def _stacked(look: Look, panels: int) -> tuple[Plot, list[Any]]:
    """A figure with panels one above the other, the first one higher, which share the time."""
    try:
        import matplotlib

        from batprotocol.studies.comparing.figures import SIZE, STYLE, Plot
    except ImportError:
        raise missing() from None
    with matplotlib.rc_context(STYLE):
        figure = Plot(look.size or (SIZE[0], SIZE[1] * (1 + 0.4 * (panels - 1))))
        heights = [1.0, *[0.4] * (panels - 1)]
        found = figure.subplots(panels, 1, sharex=True, squeeze=False, height_ratios=heights)
    return figure, [row[0] for row in found]
