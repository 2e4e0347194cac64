"""`batproto study run`: run the runs of a study that are not in the store, and report those that fail."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from batprotocol._util.signals import Interrupts
from batprotocol.cli.terminal.output import Output, ProgressBar
from batprotocol.cli.terminal.text import number_of, printable
from batprotocol.errors import StudyError
from batprotocol.studies import Progress, Rows, Store, Study, loads_of
from batprotocol.studies.commands.listing import print_runs
from batprotocol.studies.comparing.captions import load_note

__all__ = ["execute", "run"]

_MOST_LISTED = 100_000
"""The maximum number of runs that a dry run lists. For more, it prints the number only."""
_BETWEEN_SECONDS = 60.0
"""The time between two lines on the progress, if the output is not a terminal."""
_MOST_LOADS = 20
"""The maximum number of offered loads that are printed."""
_MOST_REASONS = 10
"""The maximum number of reasons for failures that are printed. The store has all of them."""


def run(
    file: str,
    store: str | None,
    *,
    only: Sequence[str],
    dry_run: bool,
    retry_failed: bool,
    at_most: int | None,
    processes: int | None,
    dask: str | None,
    slurm: str | None,
    wheels: str | None,
    batsim: str | None,
    in_process: bool,
) -> int:
    """Run a study, and return the exit status.

    Args:
        file: its description.
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
    study = Study.read(file)
    try:
        command = shlex.split(batsim or "")
    except ValueError as error:
        raise click.UsageError(f"--batsim: {str(error).lower()}") from None
    output = Output()
    place = study.place(store)
    if at_most is not None and study.count(only) > at_most:
        reason = f"the study has more than {number_of(at_most, 'run')}; use fewer values, or --only AXIS=VALUE"
        raise StudyError(reason, file=file)
    if dry_run:
        count = study.count(only)
        if count > _MOST_LISTED:
            output.line(("", f"{count:,} runs: too many to list; --only AXIS=VALUE lists some"))
            return 0
        runs = study.runs(only, batsim=command, in_process=in_process)
        print_runs(output, runs, _states(place))
        return 0
    status, rows = execute(
        study,
        place,
        output,
        only=only,
        retry_failed=retry_failed,
        processes=processes,
        dask=dask,
        slurm=slurm,
        wheels=wheels,
        batsim=command,
        in_process=in_process,
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
