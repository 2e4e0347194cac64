"""Conformance in many simulations: they are split into chunks, which an engine plays as it runs studies.

The chunks depend on the number of simulations and on the seed only, and the finding is that of the first chunk that
has one. So any number of workers reports the same. The package `hypothesis` is needed here and on the workers.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol._util.engines import Ended, Engine, cores
from batprotocol._util.files import reason_of
from batprotocol.errors import ClusterError
from batprotocol.studies.execution import SLURM_WORKERS, engine_on
from batprotocol.studies.sources import ChosenScheduler, Shelf, StudyFiles, chosen
from batprotocol.testing.conformance import CannotRun, Command, InProcess, Library, Report, Target, find

__all__ = ["CHUNK", "Chunk", "Tested", "chunks", "find_on"]

CHUNK: Final = 200
"""The largest number of simulations of a chunk. A third of them are those of the first stages."""

FUNCTION: Final = f"{__name__}:searched"
_FILES: Final = "files"
_AHEAD: Final = 2
"""The number of chunks for each place that an engine gets before they can begin."""
_LOOK_SECONDS: Final = 0.2
_ATTEMPTS: Final = 2
"""The number of attempts for a chunk whose process dies."""


class Chunk(NamedTuple):
    """A part of the simulations.

    Attributes:
        examples: the largest number of simulations.
        seed: their seed.
    """

    examples: int
    seed: int


class Tested(msgspec.Struct, frozen=True):
    """The decision component to test. The machines that test a program or a library have it at the same path.

    Args:
        scheduler: a scheduler in Python, or None.
        command: a program with its arguments.
        library: a shared library, or "".
    """

    scheduler: ChosenScheduler | None = None
    command: tuple[str, ...] = ()
    library: str = ""

    @classmethod
    def of(cls, command: Sequence[str] = (), library: str | None = None, scheduler: str | None = None) -> Tested:
        """A program, a library, or a scheduler (`FILE:CLASS` or a policy).

        Raises:
            StudyError: there is no such scheduler.
            OSError: its file cannot be read.
        """
        if scheduler is not None:
            return cls(scheduler=chosen(scheduler, os.getcwd(), "scheduler")[0])
        return cls(command=tuple(command), library="" if library is None else os.path.abspath(library))

    def target(self, root: str) -> Target:
        """A target of conformance. The files of the scheduler are in this folder."""
        if self.scheduler is not None:
            return InProcess(_shelf().loaded(self.scheduler.target, self.scheduler.arguments, root))
        return Library(self.library) if self.library else Command(self.command)


class _Unable(NamedTuple):
    """There is no report: nothing can be tested, or (without a name) an argument makes no sense."""

    name: str
    reason: str


def chunks(examples: int, seed: int) -> list[Chunk]:
    """Split simulations into chunks. The first has the seed that is given, and each other one a seed of its own.

    >>> [each.examples for each in chunks(500, 0)]
    [167, 167, 166]
    """
    count = -(-examples // CHUNK)
    sizes = [examples // count + (number < examples % count) for number in range(count)] if count > 0 else [examples]
    return [Chunk(size, seed if not number else _seed(seed, number)) for number, size in enumerate(sizes)]


def _seed(seed: int, number: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed} {number}".encode()).digest()[:8], "big")


@cache
def _shelf() -> Shelf:
    return Shelf()


def searched(
    argument: tuple[Tested, Chunk, dict[str, Any]], shared: Mapping[str, StudyFiles], scratch: str
) -> Report | _Unable:
    """Play a chunk.

    Args:
        argument: what to test, the chunk, and the other arguments of `find`.
        shared: the files of the scheduler, by `files`.
        scratch: an empty folder.
    """
    tested, chunk, options = argument
    files = shared.get(_FILES)
    root = files.located(os.path.join(os.path.dirname(scratch), "files")) if files is not None else ""
    try:
        with tested.target(root) as target:
            report = find(target, examples=chunk.examples, seed=chunk.seed, **options)
    except CannotRun as error:
        return _Unable(str(error.filename or target.name), reason_of(error))
    except ValueError as error:
        return _Unable("", str(error))
    found = report.finding
    if files is not None and found is not None and found.place is not None:
        path, line = found.place
        if path.startswith(os.path.join(root, "")):
            report.finding = found._replace(place=(os.path.join(files.root, os.path.relpath(path, root)), line))
    return report


def find_on(
    tested: Tested,
    *,
    examples: int,
    seed: int = 0,
    processes: int | None = None,
    dask: str | None = None,
    slurm: str | None = None,
    wheels: str | os.PathLike[str] | None = None,
    on_progress: Callable[[float], None] = lambda share: None,
    on_note: Callable[[str], None] = lambda note: None,
    **options: Any,
) -> Report:
    """`batprotocol.testing.conformance.find` in several processes, here or elsewhere.

    Args:
        tested: the decision component.
        examples: as for `find`.
        seed: as for `find`. The simulations differ from those that `find` plays.
        processes: the number of processes on this machine, or of workers on Slurm; None: one for each processor, or 16
            workers.
        dask: the address of a Dask scheduler whose workers play the simulations, or None.
        slurm: the partition of Slurm for the workers, "" for the default one, or None.
        wheels: the folder of the wheels that nodes of Slurm install, or None.
        on_progress: called with the share of the work that is done.
        on_note: called with a sentence if a worker on Slurm cannot work, from other threads.
        options: the others of `find`.

    Returns:
        A report on the simulations of the chunks up to the one with the finding, or of all.

    Raises:
        CannotRun: there is no decision component to test.
        ClusterError: Dask or Slurm does not answer, or the process of a chunk dies twice.
        StudyError: the folder has no wheel of this version of batprotocol.
        PackageMissing: Dask is not installed.
        ValueError: an argument makes no sense.
    """
    began = time.monotonic()
    every = chunks(examples, seed)
    count = min(processes or (cores() if slurm is None else SLURM_WORKERS), len(every))
    with engine_on(FUNCTION, count=count, dask=dask, slurm=slurm, wheels=wheels, on_note=on_note) as engine:
        reports = _Search(engine, tested, every, options).run(on_progress)
    total = Report(reports[0].rules)
    for each in reports:
        total.join(each)
    total.seconds = time.monotonic() - began
    return total


class _Search:
    """Gives chunks to an engine, until all before the first finding have ended."""

    def __init__(self, engine: Engine, tested: Tested, every: Sequence[Chunk], options: dict[str, Any]) -> None:
        self._engine = engine
        files = tested.scheduler.files if tested.scheduler is not None else None
        self._shared = () if files is None else (_FILES,)
        if files is not None:
            engine.share(_FILES, files.packed() if engine.is_remote else files)
        self._tested = tested
        self._chunks = every
        self._options = options
        self._reports: dict[int, Report] = {}
        self._attempts: dict[int, int] = {}
        self._end = len(every)

    def run(self, on_progress: Callable[[float], None]) -> list[Report]:
        """The reports of the chunks up to the finding, in their order."""
        following = 0
        while any(number not in self._reports for number in range(self._end)):
            most = len(self._reports) + max(self._engine.places, 1) * _AHEAD
            while following < min(self._end, most):
                self._submit(following)
                following += 1
            for ended in self._engine.wait(_LOOK_SECONDS):
                self._take(ended)
            on_progress(min(1.0, len(self._reports) / self._end))
        return [self._reports[number] for number in range(self._end)]

    def _submit(self, number: int) -> None:
        self._attempts[number] = self._attempts.get(number, 0) + 1
        self._engine.submit(number, (self._tested, self._chunks[number], self._options), self._shared)

    def _take(self, ended: Ended) -> None:
        if ended.number >= self._end:
            return
        if ended.lost:
            if self._attempts[ended.number] < _ATTEMPTS:
                self._submit(ended.number)
                return
            last = ended.printed.strip().rpartition("\n")[2]
            raise ClusterError(f"simulations cannot be played on {ended.place}: {ended.lost}{last and ': '}{last}")
        if isinstance(ended.value, _Unable):
            if not ended.value.name:
                raise ValueError(ended.value.reason)
            raise CannotRun(0, ended.value.reason, ended.value.name)
        report: Report = ended.value
        self._reports[ended.number] = report
        if report.finding is not None:
            self._end = ended.number + 1
