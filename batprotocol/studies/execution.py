"""The execution of a study: it runs the runs that are not in the store, on one of the engines.

If this process dies, the runs in the store stay there, and the next process runs the others.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

import msgspec

from batprotocol._util.deprecation import OldName
from batprotocol._util.engines import Ended, Engine, Processes
from batprotocol.errors import StudyError
from batprotocol.studies import _measurement as measuring
from batprotocol.studies._description import Description, read_description
from batprotocol.studies._inputs import checked
from batprotocol.studies._simulation import FUNCTION
from batprotocol.studies.rows import Rows
from batprotocol.studies.runs import DONE, FAILED, Measure, Outcome, Run, RunLimits
from batprotocol.studies.sources import StudyFiles
from batprotocol.studies.store import Store, key_of

__all__ = [
    "SLURM_WORKERS",
    "Progress",
    "Study",
    "engine_on",
    "read_rows",
]


# Where the runs of a study execute: on this machine, on the workers of a Dask scheduler, or on workers on Slurm.


SLURM_WORKERS: Final = 16
"""The number of workers on Slurm if none is given."""


@contextmanager
def engine_on(
    function: str,
    *,
    count: int,
    dask: str | None = None,
    slurm: str | None = None,
    wheels: str | os.PathLike[str] | None = None,
    seconds: float = float("inf"),
    memory: int = 0,
    on_note: Callable[[str], None] = lambda note: None,
) -> Iterator[Engine]:
    """An engine. At the end, it is closed, and workers on Slurm are cancelled.

    Args:
        function: the function that it calls, `module:name`.
        count: the number of processes on this machine, or of workers on Slurm.
        dask: the address of a Dask scheduler, or None.
        slurm: the partition of workers on Slurm, "" for the default one, or None.
        wheels: the folder of the wheels that nodes of Slurm install, or None.
        seconds: the time limit of a call.
        memory: the limit of the address space of a process, in bytes; 0: no limit.
        on_note: called with a sentence if a worker on Slurm cannot work, from other threads, one at a time.

    Raises:
        StudyError: the folder has no wheel of this version of batprotocol.
        ClusterError: Dask or Slurm does not answer.
        PackageMissing: Dask is not installed.
        OSError: a wheel cannot be read.
    """
    engine: Engine
    with ExitStack() as ends:
        if slurm is not None:
            from batprotocol._util.engines import DaskEngine
            from batprotocol.sites.slurm.client import LocalRunner, SlurmCommands
            from batprotocol.studies._slurm_workers import SlurmWorkers, Wheels

            found = None if wheels is None else Wheels.read(wheels)
            workers = SlurmWorkers(SlurmCommands(LocalRunner()), count, slurm, wheels=found, on_note=on_note)
            ends.callback(workers.close)
            security = workers.security
            engine = DaskEngine(function, workers.address, seconds=seconds, memory=memory, security=security)
        elif dask is not None:
            from batprotocol._util.engines import DaskEngine

            engine = DaskEngine(function, dask, seconds=seconds, memory=memory)
        else:
            engine = Processes(function, count, seconds=seconds, memory=memory)
        ends.callback(engine.close)
        yield engine


_BEFOREHAND: Final = 4
"""The number of runs for each place that an engine gets before they can begin."""
_LOOK_SECONDS: Final = 0.2
"""The time between two looks at the engine while no run ends."""
_GRACE: Final = 1.1
_GRACE_SECONDS: Final = 5.0
"""A process is killed if a run takes this factor, and these seconds, more than its timeout."""
_ATTEMPTS: Final = 2
"""The number of attempts for a run whose process dies."""


class Progress(msgspec.Struct):
    """The progress of a study.

    Args:
        total: the number of its runs.
        completed: the number of runs that were already in the store.
        done: the number of runs that have ended since, without a failure.
        failed: the number of runs that have failed since.
        seconds: the real time since the beginning.
        error: a sentence on the last failure, or "".
        run: the last run that failed, or None.
        place: the machine of that run, or "" if it was this one.
        notes: advice on the study and its numbers, as sentences.
        measured: the number of runs from the store that were measured in another way since.
    """

    there = OldName("completed")
    left = OldName("remaining")

    total: int
    completed: int = 0
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
    def remaining(self) -> int:
        """The number of runs that have not ended yet."""
        return self.total - self.completed - self.done - self.failed


class Study:
    """Many simulations: each key has one or several values, and every combination of values is a run.

    Args:
        scheduler: policies (`easy-sjf`), `FILE:CLASS`, classes, or tables of these with a `name`, `arguments` and other
            `files` that belong to their source.
        name: the name of the study.
        folder: the folder of the files that it names.
        timeout: the maximum real time of a run in seconds.
        memory: the maximum address space of the process of a run, in bytes or as a text such as `"2GB"`; 0: no limit.
        metrics: metrics that files define, as `FILE.py:FUNCTION` or made by `batprotocol.simulator.metric`.
        axes: all other keys: `workload`, `platform`, `offered_load`, `seed`... `batprotocol.studies.KEYS` has all of
            them.

    Raises:
        StudyError: the description is not valid.
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
        """The study that a TOML file describes. Without the key `name`, it has the name of the file.

        Raises:
            StudyError: it cannot be read, or the description is not valid.
            OSError: a file cannot be read.
        """
        made = cls.__new__(cls)
        made._description = read_description(path)
        return made

    @property
    def name(self) -> str:
        """Its name."""
        return self._description.name

    @property
    def axes(self) -> Mapping[str, Sequence[Any]]:
        """Its axes, and the values on each."""
        return self._description.axes

    def runs(self, only: Iterable[str] = (), *, batsim: Sequence[str] = (), in_process: bool = False) -> list[Run]:
        """Its runs. `run` documents the arguments."""
        return self._description.runs(only, batsim=batsim, in_process=in_process)[0]

    def place(self, store: str | os.PathLike[str] | None = None) -> str:
        """The folder for its runs: `store`, or by default `NAME.runs` in the folder of the study."""
        return os.path.join(self._description.folder, f"{self.name}.runs") if store is None else os.fspath(store)

    def rows(self, store: str | os.PathLike[str] | None = None) -> Rows:
        """The rows of its runs that are in the store. Runs of an older version of its files are not among them.

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
        ):  # without the right to write, the store stays as it is
            opened.add_measured(found)
        by_place = {(key, measure.key): metrics for key, measure, metrics in found}
        return rows.measured_as(by_place)

    def count(self, only: Iterable[str] = ()) -> int:
        """The number of its runs, computed without a list of them. `run` documents the argument.

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
        slurm: str | None = None,
        wheels: str | os.PathLike[str] | None = None,
        batsim: Sequence[str] = (),
        in_process: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Rows:
        """Run the runs that are not in the store yet, and return the rows of all runs.

        Args:
            store: its folder; None: see `place`. A run in the store does not run again, unless something has changed
                that decides its result.
            only: `AXIS=VALUE` or `AXIS=VALUE,VALUE`: only the runs with these values.
            retry_failed: whether failed runs run again.
            processes: the number of processes on this machine; None: one for each processor. With `slurm`, the number
                of workers; None: 16.
            dask: the address of a Dask scheduler. Its workers run the study instead of this machine.
            slurm: the partition of Slurm whose nodes run the study instead of this machine; "": the default one. The
                nodes must have this Python with its packages, at the same path, or install `wheels`.
            wheels: a folder of wheels, with those of batprotocol and all that it needs. Nodes of Slurm install them
                in their `TMPDIR`, for their own Python of this version.
            batsim: the command that simulates, as a list of words; by default, the embedded Batsim simulates.
            in_process: whether that command loads the scheduler into its own process.
            on_progress: a function that is called with the progress several times a second. If it raises an exception,
                the study ends.

        All runs that have ended are in the store, also after an exception. `KeyboardInterrupt` ends the study within a
        second.

        Raises:
            StudyError: a run cannot be named, or the store cannot be used.
            ClusterError: Dask or Slurm does not answer.
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
            progress.completed = progress.total - len(todo)
            progress.notes = (*self._description.notes, *checked(todo, files))
            opened.want(runs)
            if on_progress is not None:
                on_progress(progress)
            if todo:
                limits = self._description.limits
                seconds = limits.seconds * _GRACE + _GRACE_SECONDS
                count = (
                    min(processes or SLURM_WORKERS, len(todo)) if slurm is not None else _count(processes, len(todo))
                )

                def note(text: str) -> None:
                    progress.notes = (*progress.notes, text)

                with engine_on(
                    FUNCTION,
                    count=count,
                    dask=dask,
                    slurm=slurm,
                    wheels=wheels,
                    seconds=seconds,
                    memory=limits.memory,
                    on_note=note,
                ) as engine:
                    _RunLoop(engine, opened, limits, files, progress, on_progress, states, _ways(runs)).run(todo)
            again_measured = _unmeasured(opened, runs)
            if again_measured:
                opened.add_measured(_measured(opened, runs, again_measured, files, processes))
                progress.measured = len(again_measured)
                if on_progress is not None:
                    on_progress(progress)
            return opened.rows_of(runs)


def _ways(runs: Iterable[Run]) -> dict[str, tuple[Measure, ...]]:
    """The measures of each run, by its key."""
    found: dict[str, dict[int, Measure]] = {}
    for run in runs:
        found.setdefault(run.key, {})[id(run.measure)] = run.measure
    return {key: tuple(measures.values()) for key, measures in found.items()}


def _unmeasured(store: Store, runs: Iterable[Run]) -> dict[str, tuple[Measure, ...]]:
    """The runs that have ended, with the measures that are missing in the store."""
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
    files: Mapping[str, StudyFiles],
    processes: int | None,
) -> list[tuple[str, Measure, dict[str, float]]]:
    """The metrics of runs in the store, measured anew.

    Raises:
        StudyError: one of them cannot be measured.
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
        remaining = len(keys)
        while remaining:
            for ended in engine.wait(_LOOK_SECONDS):
                remaining -= 1
                if not isinstance(ended.value, dict):
                    raise StudyError(ended.value or ended.lost, file=store.folder(keys[ended.number]))
                ways = {each.key: each for each in todo[keys[ended.number]]}
                found += [(keys[ended.number], ways[way], metrics) for way, metrics in ended.value.items()]
    finally:
        engine.close()
    return found


def is_study(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the file of a study, valid or not, and not a store."""
    return os.path.isfile(path) or os.fspath(path).lower().endswith(".toml")


def read_rows(path: str | os.PathLike[str], store: str | os.PathLike[str] | None = None, *, all: bool = False) -> Rows:
    """The rows of a study, or of a store.

    Args:
        path: the TOML file of a study, or the folder of a store. `Study.rows` documents which runs of a study.
        store: the store of the study; None: see `Study.place`.
        all: whether to include runs that no study wants any more, from a store.

    Raises:
        StudyError: there is no such study or store.
        OSError: a file cannot be read.
    """
    if is_study(path):
        return Study.read(path).rows(store)
    with Store(path) as opened:
        return opened.rows(all=all)


def _count(processes: int | None, runs: int) -> int:
    from batprotocol._util.engines import cores

    if processes is not None and processes < 1:
        raise StudyError(f"expected at least one process, got {processes}; use 1 or more")
    return min(processes or cores(), runs)


def _in_turn(runs: list[Run], others: int) -> list[Run]:
    """The order in which they run. A second program begins at the end, and meets the first one in the middle."""
    if others == 1:
        runs.reverse()
    elif others:
        random.shuffle(runs)
    return runs


class _RunLoop:
    """Gives runs to an engine, and their results to a store."""

    def __init__(
        self,
        engine: Engine,
        store: Store,
        limits: RunLimits,
        files: Mapping[str, StudyFiles],
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
        self._report = on_progress or (lambda progress: None)
        self._began = time.monotonic()
        self._shared: set[str] = set()
        self._attempts: dict[int, int] = {}

    def run(self, runs: Sequence[Run]) -> None:
        """Run all, and return when they have ended."""
        following = 0
        under_way = 0
        while following < len(runs) or under_way:
            free = max(self._engine.places, 1) * _BEFOREHAND - under_way
            while free > 0 and following < len(runs):
                run = runs[following]
                if run.key not in self._states and self._store.has(run.key):  # another program was faster
                    self._progress.completed += 1
                else:
                    self._submit(following, run)
                    under_way += 1
                    free -= 1
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
            self._report(self._progress)

    def _submit(self, number: int, run: Run) -> None:
        measures = self._measures[run.key]
        shared = tuple(dict.fromkeys((*run.task.shared, *(each for how in measures for each in how.shared))))
        for digest in shared:
            if digest not in self._shared:
                files = self._files[digest]
                self._engine.share(digest, files.packed() if self._engine.is_remote else files)
                self._shared.add(digest)
        self._engine.submit(number, (run.task, self._limits, measures), shared)

    def _outcome(self, ended: Ended, runs: Sequence[Run]) -> Outcome | None:
        """The outcome of a run; None if its process died and it runs once more."""
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
            error=f"it took more than {self._limits.seconds:g} s: raise `timeout`" if ended.is_late else ended.lost,
            traceback=ended.printed,
            place=ended.place if self._engine.is_remote else "",
        )

    def _keep(self, found: Sequence[tuple[Run, Outcome]]) -> None:
        for run, outcome in found:
            if outcome.kind == "disk":
                raise StudyError(f"the results of {run} cannot be written on its machine: {outcome.error}")
        self._store.add(found, self._ways)
        for run, outcome in found:
            if outcome.state == DONE:
                self._progress.done += 1
            else:
                self._progress.failed += 1
                self._progress.error, self._progress.run, self._progress.place = outcome.error, run, outcome.place
                self._report(self._progress)
