"""Running a study: what is not there yet goes to an engine, and what comes of it into a store.

Whatever happens to this process, the runs that are in the store stay there, and the next one goes on with the others.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from batprotocol.engines import Ended, Engine, Processes
from batprotocol.errors import StudyError
from batprotocol.studies import measuring
from batprotocol.studies.checking import checked
from batprotocol.studies.executing import FUNCTION
from batprotocol.studies.files import Files
from batprotocol.studies.outcomes import DONE, FAILED, Outcome
from batprotocol.studies.runs import Limits, Measure, Run
from batprotocol.studies.store import Rows, Store
from batprotocol.studies.store.store import key_of
from batprotocol.studies.study import Description, read_description

__all__ = ["Progress", "Study", "read_rows"]

_BEFOREHAND: Final = 4
"""So many runs a place are given to an engine before they can begin."""
_LOOK_SECONDS: Final = 0.2
"""How often it is looked around while nothing ends."""
_GRACE: Final = 1.1
_GRACE_SECONDS: Final = 5.0
"""How much longer than it may take a run has, before its process is killed."""
_ATTEMPTS: Final = 2
"""How often a run is given to processes that die."""


class Progress(msgspec.Struct):
    """How far a study is.

    Args:
        total: how many runs it has.
        there: how many were in the store before.
        done: how many have come to their end since.
        failed: how many have failed since.
        seconds: of real time since it began.
        error: the sentence of the last one that failed, or "".
        run: that run, or None.
        place: where it ran, if that was not in a process of this machine, or "".
        notes: what to know of the study before its numbers are used, as sentences.
        measured: how many runs that were there have been measured in another way since.
    """

    total: int
    there: int = 0
    done: int = 0
    failed: int = 0
    seconds: float = 0.0
    error: str = ""
    run: Run | None = None
    place: str = ""
    notes: tuple[str, ...] = ()
    measured: int = 0

    @property
    def rate(self) -> float:
        """Runs a second."""
        return (self.done + self.failed) / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> int:
        """How many runs are still to come."""
        return self.total - self.there - self.done - self.failed


class Study:
    """Many simulations: each key is a value, or several, and every combination of values is a run.

    Args:
        scheduler: policies (`easy-sjf`), `FILE:CLASS`, classes, or tables of these with a `name`, `arguments` and other
            `files` that count as their source.
        name: what the study is called.
        folder: where the files that it names are looked for.
        timeout: how many seconds a run may take.
        memory: how many bytes of addresses the process of a run may have, such as `"2GB"`; 0: as many as it likes.
        metrics: metrics that files define, `FILE.py:FUNCTION`, or as `batprotocol.simulator.metric` makes them.
        axes: all other keys: `workload`, `platform`, `load`, `seed`... `batprotocol.studies.KEYS` has them all.

    Raises:
        StudyError: it cannot be run as it is described.
        OSError: a file cannot be read.

    >>> study = Study(scheduler=["fcfs", "easy"], workload="lublin:32?jobs=20", seed=range(3))
    >>> len(study.runs())
    6
    """

    def __init__(
        self,
        *,
        scheduler: Any,
        name: str = "study",
        folder: str | os.PathLike[str] = "",
        timeout: float = 3600.0,
        memory: int | str = 0,
        metrics: Any = (),
        **axes: Any,
    ) -> None:
        keys = {**axes, "scheduler": scheduler, "name": name, "timeout": timeout, "memory": memory, "metrics": metrics}
        self._description = Description(keys, os.fspath(folder))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Study:
        """The study that a TOML file describes. It is called as the file unless it says otherwise.

        Raises:
            StudyError: it cannot be read, or not be run as it is described.
            OSError: a file cannot be read.
        """
        made = cls.__new__(cls)
        made._description = read_description(path)
        return made

    @property
    def name(self) -> str:
        """What it is called."""
        return self._description.name

    @property
    def axes(self) -> Mapping[str, Sequence[Any]]:
        """Its axes, and the values on each."""
        return self._description.axes

    def runs(self, only: Iterable[str] = (), *, batsim: Sequence[str] = (), in_process: bool = False) -> list[Run]:
        """Its runs. What the arguments mean, `run` tells."""
        return self._description.runs(only, batsim=batsim, in_process=in_process)[0]

    def place(self, store: str | os.PathLike[str] | None = None) -> str:
        """The folder for its runs: the one that is named, or else `NAME.runs` beside its files."""
        return os.path.join(self._description.folder, f"{self.name}.runs") if store is None else os.fspath(store)

    def rows(self, store: str | os.PathLike[str] | None = None) -> Rows:
        """What those of its runs came to that are in a store, as its files are now.

        Raises:
            StudyError: there is no such store.
            OSError: a file cannot be read.
        """
        runs, files = self._description.runs()
        place = self.place(store)
        with Store(place) as opened:
            todo = _unmeasured(opened, runs)
            if not todo:
                return opened.rows_of(runs)
            found = _measured(opened, runs, todo, files, None)
            rows = opened.rows_of(runs)
        with (
            suppress(StudyError, OSError),
            Store(place, writes=True) as opened,
        ):  # where it may not be written, it stays
            opened.add_measured(found)
        by_place = {(key, measure.key): metrics for key, measure, metrics in found}
        return rows.measured_as(by_place)

    def count(self, only: Iterable[str] = ()) -> int:
        """How many runs it has, without a list of them. What the argument means, `run` documents.

        Raises:
            StudyError: there is no such axis, or no such value on it.
        """
        return self._description.count(tuple(only))

    def run(
        self,
        store: str | os.PathLike[str] | None = None,
        *,
        only: Iterable[str] = (),
        retry_failed: bool = False,
        processes: int | None = None,
        dask: str | None = None,
        batsim: Sequence[str] = (),
        in_process: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Rows:
        """Run what is not in the store yet, and give the rows of all.

        Args:
            store: its folder; None: see `place`. What is there is not run again, unless something has
                changed that decides what comes of it.
            only: `AXIS=VALUE` or `AXIS=VALUE,VALUE`: some of the runs.
            retry_failed: also run again what has failed.
            processes: how many processes of this machine run; None: as many as there are processors.
            dask: the address of a Dask scheduler, on whose workers it runs instead.
            batsim: the command that simulates, as a list of words; none is the embedded Batsim.
            in_process: whether that loads the scheduler into its own process.
            on_progress: told how far it is, several times a second. What it raises ends it.

        However it ends, what has been done is in the store: `KeyboardInterrupt` ends it within a second.

        Raises:
            StudyError: a run cannot be named, or the store cannot be used.
            ClusterError: Dask does not answer.
            PackageMissing: Dask is not installed.
            OSError: a file cannot be read, or the store not be written.
        """
        runs, files = self._description.runs(tuple(only), batsim=batsim, in_process=in_process)
        with Store(self.place(store), writes=True) as opened:
            states = opened.states()
            again = (None, FAILED) if retry_failed else (None,)
            todo = [run for run in runs if states.get(run.key) in again]
            todo = _in_turn(list({run.key: run for run in todo}.values()), opened.others)
            progress = Progress(total=len({run.key for run in runs}))
            progress.there = progress.total - len(todo)
            progress.notes = checked(todo, files)
            opened.want(runs)
            if on_progress is not None:
                on_progress(progress)
            if todo:
                limits = self._description.limits
                seconds = limits.seconds * _GRACE + _GRACE_SECONDS
                engine = _engine(dask, _count(processes, len(todo)), seconds, limits.memory)
                try:
                    _Loop(engine, opened, limits, files, progress, on_progress, states, _ways(runs)).run(todo)
                finally:
                    engine.close()
            again_measured = _unmeasured(opened, runs)
            if again_measured:
                opened.add_measured(_measured(opened, runs, again_measured, files, processes))
                progress.measured = len(again_measured)
                if on_progress is not None:
                    on_progress(progress)
            return opened.rows_of(runs)


def _ways(runs: Iterable[Run]) -> dict[str, tuple[Measure, ...]]:
    """How each run is measured, by its key."""
    found: dict[str, dict[int, Measure]] = {}
    for run in runs:
        found.setdefault(run.key, {})[id(run.measure)] = run.measure
    return {key: tuple(measures.values()) for key, measures in found.items()}


def _unmeasured(store: Store, runs: Iterable[Run]) -> dict[str, tuple[Measure, ...]]:
    """The runs that have come to their end and are to be measured in ways in which they were not."""
    known, states = store.measured(), store.states()
    done = {key: measures for key, measures in _ways(runs).items() if states.get(key) == DONE}
    keys: dict[int, str] = {}
    found = {}
    for key, measures in done.items():
        missing = tuple(each for each in measures if (key, key_of(each, keys)) not in known)
        if missing:
            found[key] = missing
    return found


def _measured(
    store: Store,
    runs: Sequence[Run],
    todo: Mapping[str, tuple[Measure, ...]],
    files: Mapping[str, Files],
    processes: int | None,
) -> list[tuple[str, Measure, dict[str, float]]]:
    """The metrics of runs that are kept, measured anew.

    Raises:
        StudyError: one cannot be measured.
    """
    hosts = {row.key: row.hosts for row in store.rows_of(runs)}
    keys = list(todo)
    engine = Processes(measuring.FUNCTION, _count(processes, len(keys)))
    found = []
    try:
        for digest in {digest for measures in todo.values() for each in measures for digest in each.shared}:
            engine.share(digest, files[digest])
        for number, key in enumerate(keys):
            shared = [digest for each in todo[key] for digest in each.shared]
            engine.submit(number, (store.folder(key), hosts[key], todo[key]), shared)
        left = len(keys)
        while left:
            for ended in engine.wait(_LOOK_SECONDS):
                left -= 1
                if not isinstance(ended.value, dict):
                    raise StudyError(ended.value or ended.lost, file=store.folder(keys[ended.number]))
                ways = {each.key: each for each in todo[keys[ended.number]]}
                found += [(keys[ended.number], ways[way], metrics) for way, metrics in ended.value.items()]
    finally:
        engine.close()
    return found


def is_study(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the file of a study, right or wrong, and no store."""
    return os.path.isfile(path) or os.fspath(path).lower().endswith(".toml")


def read_rows(path: str | os.PathLike[str], store: str | os.PathLike[str] | None = None, *, all: bool = False) -> Rows:
    """The rows of a study, or of a store.

    Args:
        path: the TOML file of a study, of which the runs are wanted as its files are now; or the folder of a store.
        store: of the study, None: see `Study.place`.
        all: of a store: also the runs that no study wants any more.

    Raises:
        StudyError: there is no such study or store.
        OSError: a file cannot be read.
    """
    if is_study(path):
        return Study.read(path).rows(store)
    with Store(path) as opened:
        return opened.rows(all=all)


def _engine(dask: str | None, count: int, seconds: float, memory: int) -> Engine:
    if dask is None:
        return Processes(FUNCTION, count, seconds=seconds, memory=memory)
    from batprotocol.engines.dask import DaskEngine

    return DaskEngine(FUNCTION, dask, seconds=seconds, memory=memory)


def _count(processes: int | None, runs: int) -> int:
    from batprotocol.engines.processes import cores

    if processes is not None and processes < 1:
        raise StudyError(f"expected at least one process, got {processes}")
    return min(processes or cores(), runs)


def _in_turn(runs: list[Run], others: int) -> list[Run]:
    """The order in which they are run. A second program begins at the end, and meets the first one in the middle."""
    if others == 1:
        runs.reverse()
    elif others:
        random.shuffle(runs)
    return runs


class _Loop:
    """Gives runs to an engine, and what came of them to a store."""

    def __init__(
        self,
        engine: Engine,
        store: Store,
        limits: Limits,
        files: Mapping[str, Files],
        progress: Progress,
        on_progress: Callable[[Progress], None] | None,
        states: Mapping[str, str],
        measures: Mapping[str, tuple[Measure, ...]],
    ) -> None:
        self._measures = measures
        ways = {id(each): each for found in measures.values() for each in found}
        self._ways = {each.key: each for each in ways.values()}
        self._states = states
        self._engine = engine
        self._store = store
        self._limits = limits
        self._files = files
        self._progress = progress
        self._tell = on_progress or (lambda progress: None)
        self._began = time.monotonic()
        self._shared: set[str] = set()
        self._attempts: dict[int, int] = {}

    def run(self, runs: Sequence[Run]) -> None:
        """Until all have ended."""
        following = 0
        under_way = 0
        while following < len(runs) or under_way:
            room = max(self._engine.places, 1) * _BEFOREHAND - under_way
            while room > 0 and following < len(runs):
                run = runs[following]
                if run.key not in self._states and self._store.has(run.key):  # another program was faster
                    self._progress.there += 1
                else:
                    self._submit(following, run)
                    under_way += 1
                    room -= 1
                following += 1
            ended = self._engine.wait(_LOOK_SECONDS)
            found = []
            for each in ended:
                outcome = self._outcome(each, runs)
                if outcome is not None:
                    under_way -= 1
                    found.append((runs[each.number], outcome))
            self._keep(found)
            self._progress.seconds = time.monotonic() - self._began
            self._tell(self._progress)

    def _submit(self, number: int, run: Run) -> None:
        for digest in run.shared:
            if digest not in self._shared:
                files = self._files[digest]
                self._engine.share(digest, files.packed() if self._engine.is_remote else files)
                self._shared.add(digest)
        self._engine.submit(number, (run.task, self._limits, self._measures[run.key]), run.shared)

    def _outcome(self, ended: Ended, runs: Sequence[Run]) -> Outcome | None:
        """How a run ended; None if its process died, and it is tried once more."""
        if not ended.lost:
            outcome: Outcome = ended.value
            return msgspec.structs.replace(outcome, place=ended.place if self._engine.is_remote else "")
        attempt = self._attempts[ended.number] = self._attempts.get(ended.number, 0) + 1
        if attempt < _ATTEMPTS and not ended.is_late:
            self._submit(ended.number, runs[ended.number])
            return None
        return Outcome(
            state=FAILED,
            kind="time" if ended.is_late else "died",
            error=f"it took more than {self._limits.seconds:g} s" if ended.is_late else ended.lost,
            traceback=ended.printed,
            place=ended.place if self._engine.is_remote else "",
        )

    def _keep(self, found: Sequence[tuple[Run, Outcome]]) -> None:
        for run, outcome in found:
            if outcome.kind == "disk":
                raise StudyError(f"where {run} ran: {outcome.error}")
        self._store.add(found, self._ways)
        for run, outcome in found:
            if outcome.state == DONE:
                self._progress.done += 1
            else:
                self._progress.failed += 1
                self._progress.error, self._progress.run, self._progress.place = outcome.error, run, outcome.place
                self._tell(self._progress)
