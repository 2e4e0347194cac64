"""The work of `batproto study`: runs, lists, tables and plots."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import click
import msgspec

from batprotocol._util.files import by_ending, whole
from batprotocol._util.signals import Interrupts
from batprotocol.cli.terminal import Output, ProgressBar, number_of, print_grid, printable
from batprotocol.errors import StudyError
from batprotocol.results.catalogue import ALL_METRICS
from batprotocol.simulator import GROUPINGS, load_metric
from batprotocol.studies import Progress, Row, Rows, Run, Store, Study, loads_of, read_rows, with_groups, with_metrics
from batprotocol.studies.comparing import (
    Look,
    expect_plots,
    plot_boxes,
    plot_ecdf,
    plot_lines,
    plot_means,
    plot_watts,
    save_plot,
    table,
)
from batprotocol.studies.comparing.rows import select
from batprotocol.studies.comparing.tables import load_note
from batprotocol.studies.execution import is_study
from batprotocol.studies.runs import DONE

# Lists of runs


_SHOWN = 8
"""The number of characters that are printed of a run's name."""


def print_runs(output: Output, runs: Sequence[Run], states: Mapping[str, str]) -> None:
    """Print runs with their states."""
    for run in runs:
        state = states.get(run.key, "to run")
        output.line(("number", run.key[:_SHOWN]), ("", f"  {state:7}"), ("", f" {run}"))


def list_runs(
    path: str, store: str | None, *, only: Sequence[str], failed: bool, everything: bool, as_json: bool
) -> None:
    """Print runs.

    Args:
        path: a study, or a store.
        store: the store of the study, or None.
        only: the runs to print, `AXIS=VALUE,VALUE`.
        failed: whether to print failed runs only.
        everything: whether to include runs that no study wants any more, from a store.
        as_json: whether to print JSON.
    """
    output = Output()
    if not is_study(path):
        with Store(path) as opened:
            rows = opened.rows(all=everything)
    else:
        study = Study.read(path)
        rows = study.rows(store)
        if not as_json and not failed:
            runs = study.runs(only)
            print_runs(output, runs, {row.key: row.state for row in rows})
            return
    for row in _chosen(rows, only):
        if failed and row.state == DONE:
            continue
        if as_json:
            record = {"key": row.key, "axes": row.axes, "state": row.state, "kind": row.kind, "error": row.error}
            output.json(json.dumps({**record, "metrics": row.metrics, "folder": row.folder}, ensure_ascii=False))
            continue
        axes = " ".join(f"{name}={value}" for name, value in row.axes.items())
        why = f": {row.error}" if row.error else ""
        output.line(("number", row.key[:_SHOWN]), ("", f"  {row.state:7} {axes}{why}"))


def _chosen(rows: Rows, only: Sequence[str]) -> list[Row]:
    wanted: dict[str, list[str]] = {}
    for each in only:
        axis, equals, text = each.partition("=")
        if not equals or axis not in rows.axes:
            raise StudyError(f"expected AXIS=VALUE with one of the axes {', '.join(rows.axes)}, got {each!r}")
        wanted.setdefault(axis, []).append(text)
    return select(rows, wanted)


def print_run(path: str, store: str | None, key: str) -> None:
    """Print a run: its axes, metrics and files, and its failure.

    Args:
        path: a study, or a store.
        store: the store of the study, or None.
        key: the beginning of the run's name.
    """
    found = [row for row in read_rows(path, store, all=True) if row.key.startswith(key)]
    if len(found) != 1:
        if found:
            raise click.UsageError(f"several runs begin with {key!r}: give more characters of the name")
        raise click.UsageError(f"there is no run that begins with {key!r}: batproto study list prints the names")
    (row,) = found
    output = Output()
    pairs = [("run", row.key), *((name, str(value)) for name, value in row.axes.items()), ("state", row.state)]
    pairs += [("error", row.error)] if row.error else []
    pairs += [(name, f"{value:g}") for name, value in row.metrics.items()]
    pairs.append(("folder", row.folder))
    if row.recording:
        pairs.append(("recording", row.recording))
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        output.line(("field", name.ljust(width)), ("", f"  {value}"))
    if row.traceback:
        output.line()
        for line in row.traceback.rstrip().split("\n"):
            output.line(("", line))


def merge(store: str, others: Sequence[str]) -> None:
    """Copy the runs of other stores."""
    output = Output()
    with Store(store, writes=True) as here:
        for other in others:
            with Store(other) as opened:
                count = here.merge(opened)
            output.line(("", f"{other}: {count:,} {'run' if count == 1 else 'runs'} copied"))


_MOST_LISTED = 100_000
"""The maximum number of runs that a dry run lists. For more, it prints the number only."""
_BETWEEN_SECONDS = 60.0
"""The time between two lines on the progress, if the output is not a terminal."""
_MOST_LOADS = 20
"""The maximum number of offered loads that are printed."""
_MOST_REASONS = 10
"""The maximum number of reasons for failures that are printed. The store has all of them."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of `batproto study run`.

    Args:
        file: the description of the study.
        store: the folder for its runs, or None.
        only: the runs to run, `AXIS=VALUE,VALUE`.
        dry_run: whether to list the runs only.
        retry_failed: whether failed runs run again.
        at_most: the greatest number of runs of the study, with those in the store, or None.
        processes: the number of processes, or None.
        dask: the address of a Dask scheduler, or None.
        slurm: the partition of Slurm for its workers, "" for the default one, or None.
        wheels: the folder of the wheels that nodes of Slurm install, or None.
        batsim: the command that simulates, as a shell reads it, or None.
        in_process: whether that command loads the scheduler.
    """

    file: str
    store: str | None
    only: Sequence[str]
    dry_run: bool
    retry_failed: bool
    at_most: int | None
    processes: int | None
    dask: str | None
    slurm: str | None
    wheels: str | None
    batsim: str | None
    in_process: bool


def run(options: RunOptions) -> int:
    """Run a study, and return the exit status."""
    study = Study.read(options.file)
    try:
        command = shlex.split(options.batsim or "")
    except ValueError as error:
        raise click.UsageError(f"--batsim: {str(error).lower()}") from None
    output = Output()
    place = study.place(options.store)
    if options.at_most is not None and study.count(options.only) > options.at_most:
        reason = f"the study has more than {number_of(options.at_most, 'run')}; use fewer values, or --only AXIS=VALUE"
        raise StudyError(reason, file=options.file)
    if options.dry_run:
        count = study.count(options.only)
        if count > _MOST_LISTED:
            output.line(("", f"{count:,} runs: too many to list; --only AXIS=VALUE lists some"))
            return 0
        runs = study.runs(options.only, batsim=command, in_process=options.in_process)
        print_runs(output, runs, _states(place))
        return 0
    status, rows = execute(
        study,
        place,
        output,
        only=options.only,
        retry_failed=options.retry_failed,
        processes=options.processes,
        dask=options.dask,
        slurm=options.slurm,
        wheels=options.wheels,
        batsim=command,
        in_process=options.in_process,
    )
    _print_loads(output, rows)
    return status


def execute(study: Study, place: str, output: Output, **options: Any) -> tuple[int, Rows]:
    """Run a study with the options of `Study.run`, print its progress, and return the exit status and the rows."""
    with output.progress() as bar:
        reporter = _Reporter(output, bar, place)
        try:
            with Interrupts() as interrupts, interrupts.immediately():

                def report(progress: Progress) -> None:
                    reporter(progress)
                    interrupts.check()  # for an interrupt where Python ignores exceptions, such as in a destructor

                rows = study.run(place, **options, on_progress=report)
        except (KeyboardInterrupt, SystemExit):
            done = reporter.last.total - reporter.last.remaining
            output.remark(
                place,
                f"interrupted; {done:,} of {reporter.last.total:,} runs are in the store, and the same command goes on",
            )
            raise
    return reporter.conclude(), rows


def _print_loads(output: Output, rows: Rows) -> None:
    """Print the offered load of each workload, and warn of those for which results depend on its length."""
    loads = loads_of(rows)
    for load in loads[:_MOST_LOADS]:
        output.line(("", printable(str(load))))
    if len(loads) > _MOST_LOADS:
        output.line(
            ("", f"and {len(loads) - _MOST_LOADS:,} more: batproto study table --metric offered_load prints them")
        )
    note = load_note(rows)
    if note:
        output.line(("detail", note))


def _states(place: str) -> dict[str, str]:
    """The states of the runs in a store. If there is no store, there are none."""
    try:
        with Store(place) as store:
            return store.states()
    except StudyError as error:
        if "there is no such store" in error.reason:
            return {}
        raise


class _Reporter:
    """Prints the progress of a study, and the runs that have failed."""

    def __init__(self, output: Output, bar: ProgressBar, place: str) -> None:
        self.last = Progress(total=0)
        self._output = output
        self._bar = bar
        self._place = place
        self._failed = 0
        self._reasons: Counter[str] = Counter()
        self._notes: tuple[str, ...] = ()
        self._next = _BETWEEN_SECONDS

    def __call__(self, progress: Progress) -> None:
        self.last = progress
        if progress.notes != self._notes:
            new, self._notes = progress.notes[len(self._notes) :], progress.notes
            for note in new:
                self._output.remark(self._place, note)
        if progress.failed > self._failed and progress.run is not None:
            self._failed = progress.failed
            self._reasons[progress.error] += 1
            if self._reasons[progress.error] == 1 and len(self._reasons) <= _MOST_REASONS:
                where = f" on {progress.place}" if progress.place else ""
                self._output.remark(f"{progress.run}{where}", progress.error)
        failed = f", {progress.failed:,} failed" if progress.failed else ""
        share = (progress.total - progress.remaining) / max(progress.total, 1)
        text = f"{progress.total - progress.remaining:,} of {progress.total:,} runs{failed}, {progress.rate:.3g}/s"
        self._bar.at(share, text)
        if progress.seconds >= self._next and not self._output.shows_progress:
            self._next = progress.seconds + _BETWEEN_SECONDS
            self._output.line(("", f"{text}, {_time_remaining(progress)}"))
            self._output.flush()

    def conclude(self) -> int:
        """Print the numbers of runs and failures, and return the exit status."""
        last = self.last
        took = f"{last.seconds:.1f} s, {last.rate:.3g} runs a second" if last.done + last.failed else "nothing to do"
        before = f", {last.completed:,} were in the store" if last.completed else ""
        if last.measured:
            before += f", {last.measured:,} of them measured anew"
        runs = "run" if last.total == 1 else "runs"
        self._output.line(("", f"{last.total:,} {runs}: {last.done:,} done, {last.failed:,} failed{before}; {took}"))
        if last.failed:
            often = [f"{count:,} x {reason}" for reason, count in self._reasons.most_common() if count > 1]
            for text in often[:_MOST_REASONS]:
                self._output.remark(self._place, text)
            self._output.remark(
                self._place,
                "batproto study list --failed lists failed runs, and batproto study show prints the reasons",
            )
        return int(last.failed > 0)


def _time_remaining(progress: Progress) -> str:
    """The approximate time for the other runs at this rate."""
    if not progress.rate:
        return "no run has ended yet"
    minutes = progress.remaining / progress.rate / 60
    return f"some {minutes:,.0f} min left" if minutes >= 1 else "less than a minute left"


# Metrics


def print_metrics(*, as_json: bool) -> None:
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


# Tables


_FORMS: Final = {".csv": "csv", ".md": "markdown", ".tex": "latex", ".json": "json", ".txt": None}


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """The options of `batproto study table`."""

    source: str
    rows: str
    columns: str | None
    metrics: Sequence[str]
    baseline: str | None
    where: Mapping[str, Sequence[str]]
    confidence: float
    unit: str
    holm: bool
    form: str | None
    output: str | None
    spreadsheet: bool


def print_table(options: TableOptions) -> None:
    """Print a table of the results in a store, or of a study, or write it to a file."""
    form = options.form
    if options.output is not None:
        of_ending = by_ending(options.output, _FORMS)
        if form not in (None, of_ending):
            raise click.UsageError(
                f"--{form} and {options.output} are two formats: leave out --{form}, or pick another ending"
            )
        form = of_ending
    if options.spreadsheet and form != "csv":
        raise click.UsageError("--spreadsheet is for CSV: add --csv, or name a .csv file")
    kept, names = measured_rows(options.source, options.metrics, options.where, options.rows, options.columns)
    found = table(
        kept,
        rows=options.rows.split(",") if "," in options.rows else options.rows,
        columns=options.columns,
        metric=names,
        baseline=options.baseline,
        confidence=options.confidence,
        unit=options.unit,
        correction="holm" if options.holm else None,
    )
    printer = Output()
    if form is None and options.output is None:
        print_grid(printer, found.grid())
        return
    made: dict[str | None, Callable[[], str]] = {
        "csv": partial(found.csv, guard=options.spreadsheet),
        "markdown": found.markdown,
        "latex": found.latex,
        "json": found.json,
    }
    text = made.get(form, found.__str__)().rstrip("\n").encode("utf-8", "backslashreplace") + b"\n"
    if options.output is None:
        printer.raw(text)
        return
    with whole(options.output) as file:
        file.write(text)


def measured_rows(
    source: str, metrics: Sequence[str], where: Mapping[str, Sequence[str]], *axes: str | None
) -> tuple[Rows, list[str]]:
    """The selected rows with the metrics that `FILE.py:FUNCTION` names, and the names of all metrics.

    If one of the axes groups jobs, such as `partition`, there is a row for each group of jobs of each run.

    Args:
        source: a store, or the file of a study.
        metrics: the names of metrics, some of which may be your own.
        where: the values to select, by their axes.
        axes: the axes of the table or plot.
    """
    rows = read_rows(source)
    by = grouping_of(rows, *axes, *where)
    kept = Rows(select(rows, {axis: values for axis, values in where.items() if axis != by}))
    own = [load_metric(name) for name in metrics if ":" in name]
    if by is None:
        kept = with_metrics(kept, own)
    else:
        kept = Rows(select(with_groups(kept, by, own), {by: where[by]} if by in where else {}))
    found = iter(own)
    return kept, [next(found).name if ":" in name else name for name in metrics]


def grouping_of(rows: Rows, *axes: str | None) -> str | None:
    """The one of these axes that groups jobs, and is not an axis of the study; None if none does."""
    found = list(dict.fromkeys(axis for axis in axes if axis is not None and axis in GROUPINGS.keys() - rows.axes))
    if len(found) > 1:
        raise click.UsageError(f"jobs can be grouped in one way only, and {' and '.join(found)} are two: choose one")
    return found[0] if found else None


# Plots


@dataclass(frozen=True, kw_only=True)
class PlotOptions:
    """The options of `batproto study plot`."""

    source: str
    output: str
    kind: str | None
    x: str | None
    by: str
    metric: str
    of: str
    baseline: str | None
    panels: str | None
    where: Mapping[str, Sequence[str]]
    confidence: float
    unit: str
    log: bool | None
    size: tuple[float, float] | None
    title: str
    xlabel: str | None
    ylabel: str | None


def draw(options: PlotOptions) -> None:
    """Draw the results in a store, or of a study."""
    expect_plots(options.output)
    look = Look(size=options.size, title=options.title, xlabel=options.xlabel, ylabel=options.ylabel)
    kind = options.kind or ("boxes" if options.x is None else "lines")
    for name, given in (("baseline", options.baseline), ("panels", options.panels)):
        if given is not None and kind != "lines":
            raise click.UsageError(f"--{name} is for lines: give --x, and no --kind except lines")
    if kind in ("ecdf", "watts") and any(axis in GROUPINGS for axis in (options.by, *options.where)):
        raise click.UsageError(f"--kind {kind} draws whole runs, and no groups of jobs: choose another kind")
    if kind == "watts" and (options.x is not None or options.log):
        raise click.UsageError("--kind watts is over time: leave out --x and --log")
    kept, (name,) = measured_rows(
        options.source, [options.metric], options.where, options.x, options.by, options.panels
    )
    common: dict[str, Any] = {"by": options.by, "unit": options.unit, "log": bool(options.log), "look": look}
    if kind == "ecdf":
        figure: Any = plot_ecdf(kept, of=options.of, **{**common, "log": options.log})
    elif kind == "watts":
        figure = plot_watts(kept, by=options.by, unit=options.unit, look=look)
    elif kind == "boxes":
        figure = plot_boxes(kept, x=options.x, metric=name, **common)
    elif kind == "means":
        figure = plot_means(kept, x=options.x, metric=name, confidence=options.confidence, **common)
    elif options.x is None:
        raise click.UsageError("lines need an x axis: give --x, too")
    else:
        figure = plot_lines(
            kept,
            x=options.x,
            metric=name,
            confidence=options.confidence,
            baseline=options.baseline,
            panels=options.panels,
            **common,
        )
    save_plot(figure, options.output)
    messages = Output()
    for note in figure.notes:
        messages.remark(options.output, note)
