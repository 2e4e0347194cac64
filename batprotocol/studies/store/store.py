"""A store of runs: the folders of the runs, and the index of them.

Several programs may use one store: the folder of a run appears there at once, with all its files, and whoever comes
second finds it.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final

import msgspec

from batprotocol.errors import StudyError
from batprotocol.files import naming
from batprotocol.studies.outcomes import DONE, TRACEBACK, Outcome
from batprotocol.studies.runs import FORMAT, Run, version
from batprotocol.studies.store.index import NAME, Entry, Index
from batprotocol.studies.store.jobs import CSV, PARQUET, as_parquet, can_write_parquet
from batprotocol.studies.store.rows import Row, Rows

with suppress(ImportError):  # where it is missing, what others have left is not taken away
    from fcntl import LOCK_EX, LOCK_NB, flock

__all__ = ["Store"]

_RUNS: Final = "runs"
_UNFINISHED: Final = "unfinished"
_RUN: Final = "run.json"


class Store:
    """The runs in a folder. Use it in a `with`, or close it.

    Args:
        path: the folder.
        writes: whether it is made if there is none, and may be written; else it must be there.

    Raises:
        StudyError: it is no store, or one of another version.
        OSError: it cannot be read, or written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(folder + "/runs", writes=True) as store:
    ...     len(store.rows())
    0
    """

    def __init__(self, path: str | os.PathLike[str], *, writes: bool = False) -> None:
        self.path = os.fspath(path)
        self.others = 0
        """How many programs wrote to it already when it was opened."""
        self._lock: int | None = None
        self._unfinished = ""
        self._expect_store(writes)
        if writes:
            for name in (_RUNS, _UNFINISHED):
                os.makedirs(os.path.join(self.path, name), exist_ok=True)
        self._index = Index(self.path, writes=writes)
        try:
            if writes:
                self._take_place()
                self._reconcile()
        except BaseException:
            self.close()
            raise
        self._parquet = writes and can_write_parquet()

    def _expect_store(self, writes: bool) -> None:
        if os.path.isfile(os.path.join(self.path, NAME)) or (writes and not os.path.exists(self.path)):
            return
        if not os.path.isdir(self.path):
            reason = "it is no folder" if os.path.exists(self.path) else "there is no such store"
            raise StudyError(reason, file=self.path)
        rest = set(os.listdir(self.path)) - {_RUNS, _UNFINISHED}
        if not writes or (rest and not {_RUNS} <= set(os.listdir(self.path))):
            raise StudyError(f"it is no store of runs: there is no {NAME} in it", file=self.path)

    def _take_place(self) -> None:
        """A folder of our own for what is not finished, and none for those who were killed."""
        parent = os.path.join(self.path, _UNFINISHED)
        for name in os.listdir(parent):
            folder = os.path.join(parent, name)
            lock = _locked(folder)
            if lock is None:
                self.others += 1
                continue
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
        while True:
            self._unfinished = os.path.join(parent, uuid.uuid4().hex)
            os.mkdir(self._unfinished)
            self._lock = _locked(self._unfinished)
            if os.path.isdir(self._unfinished):
                return
            # Somebody took it for one of the dead before it was locked.

    def _reconcile(self) -> None:
        """Let the index have what is in the folders: who was killed between the two left it behind."""
        there = set(self._folders())
        known = self._index.keys()
        gone = known.keys() - there
        if gone:
            self._index.drop(gone)
        found = [entry for entry in map(self._read, sorted(there - known.keys())) if entry is not None]
        if found:
            self._index.add(found)

    def _folders(self) -> Iterator[str]:
        """The keys of the runs that have a folder."""
        parent = os.path.join(self.path, _RUNS)
        for name in os.listdir(parent):
            with suppress(NotADirectoryError):
                yield from os.listdir(os.path.join(parent, name))

    def _read(self, key: str) -> Entry | None:
        """What the folder of a run says of it; None if that cannot be read, and it is as if it were not there."""
        try:
            with open(os.path.join(self.folder(key), _RUN), "rb") as file:
                found: Any = msgspec.json.decode(file.read())
            if found["format"] != FORMAT or found["key"] != key:
                raise ValueError
            state, kind, error = found["state"], found["kind"], found["error"]
            return Entry(key, state, kind, error, found["axes"], found["metrics"], seconds=0.0)
        except (OSError, ValueError, KeyError, TypeError, msgspec.DecodeError):
            return None

    def folder(self, key: str) -> str:
        """The folder of a run."""
        return os.path.join(self.path, _RUNS, key[:2], key)

    def has(self, key: str) -> bool:
        """Whether a run is there, of whoever."""
        return os.path.isdir(self.folder(key))

    def states(self) -> dict[str, str]:
        """The states of all runs that are there, by their keys."""
        return self._index.keys()

    def want(self, runs: Sequence[Run]) -> None:
        """From now on, a study wants these runs: `rows` gives them, in the place of others on the same axes."""
        self._index.want([(run.axes, run.key) for run in runs])

    def add(self, found: Iterable[tuple[Run, Outcome]]) -> None:
        """Keep what came of runs. A run that is there already stays, unless it failed.

        Raises:
            OSError: it cannot be written; what was there before is.
            StudyError: the index cannot be written.
        """
        entries = []
        for run, outcome in found:
            if self._put(run, outcome):
                told = (outcome.state, outcome.kind, outcome.error, dict(run.axes), dict(outcome.metrics))
                entries.append(Entry(run.key, *told, outcome.seconds))
            else:
                other = self._read(run.key)
                entries += [other] if other is not None else []
        if entries:
            self._index.add(entries)

    def _put(self, run: Run, outcome: Outcome) -> bool:
        """The folder of a run; whether there was none that is as good."""
        made = os.path.join(self._unfinished, run.key)
        with suppress(FileNotFoundError):
            shutil.rmtree(made)
        os.mkdir(made)
        try:
            for name, data in self._files(run, outcome).items():
                path = os.path.join(made, name)
                with naming(path), open(path, "wb") as file:
                    file.write(data)
            return self._settle(made, run.key)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise

    def _files(self, run: Run, outcome: Outcome) -> dict[str, bytes]:
        files = dict(outcome.files)
        if self._parquet and CSV in files and outcome.state == DONE:
            files[PARQUET] = as_parquet(files.pop(CSV))
        if outcome.traceback:
            files[TRACEBACK] = outcome.traceback.encode("utf-8", "backslashreplace")
        described = {
            "format": FORMAT,
            "version": version(),
            "key": run.key,
            "axes": run.axes,
            "task": msgspec.to_builtins(run.task),
            "state": outcome.state,
            "kind": outcome.kind,
            "error": outcome.error,
            "metrics": outcome.metrics,
        }
        files[_RUN] = json.dumps(described, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        return files

    def _settle(self, made: str, key: str) -> bool:
        """Let the folder of a run take its place; whether it did."""
        place = self.folder(key)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        for _ in range(100):
            try:
                os.rename(made, place)
                return True
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
            before = self._read(key)
            if before is not None and before.state == DONE:
                shutil.rmtree(made)
                return False
            with suppress(FileNotFoundError):  # another program may be as fast
                os.rename(place, f"{made}-{uuid.uuid4().hex}")
        raise StudyError("another program is writing the same run again and again", file=place)

    def rows(self, *, all: bool = False) -> Rows:
        """The rows of the runs that are there.

        Args:
            all: also those that no study wants any more, because a scheduler has changed since, for example.
        """
        entries = self._index.entries(wanted=not all)
        return Rows([Row(**entry._asdict(), folder=self.folder(entry.key)) for entry in entries])

    def rows_of(self, runs: Sequence[Run]) -> Rows:
        """The rows of these runs, of those that are there; in the order and with the axes that they have here."""
        known = {entry.key: entry for entry in self._index.entries(wanted=False)}
        return Rows(
            [
                Row(**known[run.key]._replace(axes=dict(run.axes))._asdict(), folder=self.folder(run.key))
                for run in runs
                if run.key in known
            ]
        )

    def merge(self, other: Store) -> int:
        """Take over the runs of another store that are not here, or that failed here and not there; how many.

        Raises:
            OSError: one cannot be read or written; what was here before is.
        """
        count = 0
        here = self._index.keys()
        for entry in other._index.entries(wanted=False):
            state = here.get(entry.key)
            if state is not None and (state == DONE or entry.state != DONE):
                continue
            made = os.path.join(self._unfinished, entry.key)
            try:
                shutil.copytree(other.folder(entry.key), made)
                if self._settle(made, entry.key):
                    self._index.add([entry])
                    count += 1
            finally:
                shutil.rmtree(made, ignore_errors=True)
        self._index.add_wanted(other._index.wanted())
        return count

    def close(self) -> None:
        """Let go of the files."""
        self._index.close()
        if self._unfinished:
            shutil.rmtree(self._unfinished, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _locked(folder: str) -> int | None:
    """A descriptor that holds the lock on a folder; None if somebody else does."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        return None
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except (OSError, NameError):
        os.close(descriptor)
        return None
    return descriptor
