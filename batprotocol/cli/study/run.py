"""`batproto study run`: the runs of a study that are not there yet, with a word on each that fails."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

import click

from batprotocol.cli.study.listing import print_runs
from batprotocol.cli.terminal.output import Output, ProgressBar
from batprotocol.errors import StudyError
from batprotocol.signals import Interrupts
from batprotocol.studies import Progress, Store, Study

__all__ = ["run"]

_MOST_LISTED = 100_000
"""Of more runs, a dry run prints the number only."""
_BETWEEN_SECONDS = 60.0
"""How often a line says how far a study is, where there is no terminal to show it."""
_TOLD = 10
"""So many different reasons of failures are told at once; the store has all."""


def run(
    file: str,
    store: str | None,
    *,
    only: Sequence[str],
    dry_run: bool,
    retry_failed: bool,
    processes: int | None,
    dask: str | None,
    batsim: str | None,
    in_process: bool,
) -> int:
    """Run a study; the exit status.

    Args:
        file: its description.
        store: the folder for its runs, or None.
        only: which runs, `AXIS=VALUE,VALUE`.
        dry_run: whether they are only listed.
        retry_failed: whether what failed is run again.
        processes: how many at once, or None.
        dask: the address of a Dask scheduler, or None.
        batsim: the command that simulates, as a shell reads it, or None.
        in_process: whether that loads the scheduler.
    """
    study = Study.read(file)
    try:
        command = shlex.split(batsim or "")
    except ValueError as error:
        raise click.UsageError(f"--batsim: {str(error).lower()}") from None
    output = Output()
    place = study.place(store)
    if dry_run:
        count = study.count(only)
        if count > _MOST_LISTED:
            output.line(("", f"{count:,} runs: too many to list them; --only AXIS=VALUE lists some"))
            return 0
        runs = study.runs(only, batsim=command, in_process=in_process)
        print_runs(output, runs, _states(place))
        return 0
    with output.progress() as bar:
        teller = _Teller(output, bar, place)
        try:
            with Interrupts() as interrupts, interrupts.immediately():

                def told(progress: Progress) -> None:
                    teller(progress)
                    interrupts.check()  # one that came where Python lets nothing out, such as in a destructor

                study.run(
                    place,
                    only=only,
                    retry_failed=retry_failed,
                    processes=processes,
                    dask=dask,
                    batsim=command,
                    in_process=in_process,
                    on_progress=told,
                )
        except (KeyboardInterrupt, SystemExit):
            done = teller.last.total - teller.last.left
            output.remark(place, f"interrupted; {done:,} of {teller.last.total:,} runs are there, and stay there")
            raise
    return teller.conclude()


def _states(place: str) -> dict[str, str]:
    """How the runs in a store ended; without a store, there are none."""
    try:
        with Store(place) as store:
            return store.states()
    except StudyError as error:
        if "there is no such store" in error.reason:
            return {}
        raise


class _Teller:
    """Tells on the terminal how far a study is, and which runs have failed."""

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
            self._notes = progress.notes
            for note in progress.notes:
                self._output.remark(self._place, note)
        if progress.failed > self._failed and progress.run is not None:
            self._failed = progress.failed
            self._reasons[progress.error] += 1
            if self._reasons[progress.error] == 1 and len(self._reasons) <= _TOLD:
                where = f" on {progress.place}" if progress.place else ""
                self._output.remark(f"{progress.run}{where}", progress.error)
        failed = f", {progress.failed:,} failed" if progress.failed else ""
        share = (progress.total - progress.left) / max(progress.total, 1)
        text = f"{progress.total - progress.left:,} of {progress.total:,} runs{failed}, {progress.rate:.3g}/s"
        self._bar.at(share, text)
        if progress.seconds >= self._next and not self._output.shows_progress:
            self._next = progress.seconds + _BETWEEN_SECONDS
            self._output.line(("", f"{text}, {_time_left(progress)}"))
            self._output.flush()

    def conclude(self) -> int:
        """Print how it ended; the exit status."""
        last = self.last
        took = f"{last.seconds:.1f} s, {last.rate:.3g} runs a second" if last.done + last.failed else "nothing to do"
        before = f", {last.there:,} were there" if last.there else ""
        if last.measured:
            before += f", {last.measured:,} of them measured anew"
        runs = "run" if last.total == 1 else "runs"
        self._output.line(("", f"{last.total:,} {runs}: {last.done:,} done, {last.failed:,} failed{before}; {took}"))
        if last.failed:
            often = [f"{count:,} x {reason}" for reason, count in self._reasons.most_common() if count > 1]
            for text in often[:_TOLD]:
                self._output.remark(self._place, text)
            self._output.remark(self._place, "batproto study list --failed lists what failed, and show tells why")
        return int(last.failed > 0)


def _time_left(progress: Progress) -> str:
    """How long the rest takes at this rate, roughly."""
    if not progress.rate:
        return "no run has ended yet"
    minutes = progress.left / progress.rate / 60
    return f"some {minutes:,.0f} min left" if minutes >= 1 else "less than a minute left"
