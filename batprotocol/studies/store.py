"""A store: the folder of the runs of studies, with an index that is made again from their files.

Several programs may use one store. The folder of a run appears with all its files at once. If two programs run the
same run, the second one finds the folder of the first one.

`runs/AB/ABCD...` is the folder of a run, and its `run.json` describes it. The store survives a kill at any moment, and
can be copied and merged with another one.
"""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from types import TracebackType
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol._util.files import naming
from batprotocol.errors import StudyError
from batprotocol.studies.rows import CSV, PARQUET, USERS, Row, Rows, as_parquet, can_write_parquet
from batprotocol.studies.runs import DONE, FORMAT, TRACEBACK, Measure, Outcome, Run, version

__path__: list[str] = []  # it was a package: its modules are found by their old names

__all__ = [
    "NAME",
    "Index",
    "IndexedRun",
    "Store",
    "Wanted",
    "key_of",
]


# The index of a store, an SQLite file: its runs, their metrics, and the runs that studies want.


NAME: Final = "index.sqlite"
INDEX_FORMAT: Final = 2
_BEFORE: Final = 1
"""The format of versions up to 0.2, in which a run has one set of metrics. Such an index is brought up to date."""
_APPLICATION: Final = 0x62617473  # "bats"
_PATIENCE: Final = 20.0
"""The maximum number of seconds to wait while another program writes, which takes some milliseconds."""
_ANEW: Final = "; run a study with this store: that makes the index anew"

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS runs (
    key TEXT PRIMARY KEY, state TEXT NOT NULL, kind TEXT NOT NULL, error TEXT NOT NULL, axes TEXT NOT NULL,
    facts TEXT NOT NULL, seconds REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS measured (
    key TEXT NOT NULL, measure TEXT NOT NULL, metrics TEXT NOT NULL, PRIMARY KEY (key, measure)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS measures (measure TEXT PRIMARY KEY, description TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS wanted (
    axes TEXT PRIMARY KEY, key TEXT NOT NULL, measure TEXT NOT NULL, place INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS wanted_keys ON wanted (key);
"""

_UPDATE: Final = """
ALTER TABLE runs RENAME TO old_runs;
ALTER TABLE wanted RENAME TO old_wanted;
{tables}
INSERT INTO runs SELECT key, state, kind, error, axes, '{{}}', seconds FROM old_runs;
INSERT INTO measured SELECT key, '', metrics FROM old_runs;
INSERT INTO wanted SELECT axes, key, '', place FROM old_wanted;
DROP TABLE old_runs;
DROP TABLE old_wanted
"""


class IndexedRun(NamedTuple):
    """A run in the index; see `Row`."""

    key: str
    state: str
    kind: str
    error: str
    axes: dict[str, Any]
    facts: dict[str, Any]
    seconds: float


class Wanted(NamedTuple):
    """A run that a study wants: its values on the axes, and its measure."""

    axes: str
    key: str
    measure: str
    place: int


class Index:
    """The index in a folder.

    Args:
        folder: the folder of the store.
        writes: whether the index may be written, and made if it is missing.

    Raises:
        StudyError: it cannot be used.
    """

    def __init__(self, folder: str, *, writes: bool) -> None:
        self._path = os.path.join(folder, NAME)
        with self._explaining():
            if writes and self._is_torn():
                for name in (self._path, f"{self._path}-journal"):
                    with suppress(FileNotFoundError):
                        os.unlink(name)
            where = f"file:{_quoted(self._path)}?mode={'rwc' if writes else 'ro'}"
            self._database = sqlite3.connect(where, timeout=_PATIENCE, isolation_level=None, uri=True)
            try:
                if self._expect_format(writes) == _BEFORE:
                    self._update(writes)
                if writes:
                    # The system writes its buffers even if this process is killed. After a power cut, the folders
                    # still have all runs that are missing here.
                    self._database.execute("PRAGMA synchronous=OFF")
                    self._make()
            except BaseException:
                self._database.close()
                raise

    def _is_torn(self) -> bool:
        """Whether the file is damaged: it was copied while it was written, or a power cut damaged it.

        The store makes it anew from the folders.
        """
        if not os.path.exists(self._path):
            return False
        try:
            with closing(sqlite3.connect(f"file:{_quoted(self._path)}?mode=ro", timeout=_PATIENCE, uri=True)) as found:
                return str(found.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok"
        except sqlite3.OperationalError as error:
            if _is_locked(error):
                raise
            return False  # it cannot be opened: its next use reports that
        except sqlite3.DatabaseError:
            return True

    def _expect_format(self, writes: bool) -> int:
        """The format of the file. It must be a known one, and only a store that is written may be without tables."""
        self._database.execute("BEGIN")  # else another program could make it between two of these readings
        application = self._database.execute("PRAGMA application_id").fetchone()[0]
        version = self._database.execute("PRAGMA user_version").fetchone()[0]
        tables = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        self._database.execute("COMMIT")
        if not tables and not writes:
            raise StudyError(f"the index is empty{_ANEW}", file=self._path)
        if tables and application != _APPLICATION:
            raise StudyError("it is not an index of runs: use another folder as the store", file=self._path)
        if tables and version not in (_BEFORE, INDEX_FORMAT):
            raise StudyError(
                f"a newer batprotocol has made it: its format is {version}, and this version reads {INDEX_FORMAT}; "
                "update batprotocol",
                file=self._path,
            )
        return int(version) if tables else INDEX_FORMAT

    def _update(self, writes: bool) -> None:
        """Bring an index of older versions up to date: in the file, or in memory if nothing may be written."""
        if not writes:
            copy = sqlite3.connect(":memory:", isolation_level=None)
            self._database.backup(copy)
            self._database.close()
            self._database = copy
        with self._writing():
            for statement in _UPDATE.format(tables=_TABLES).split(";"):
                self._database.execute(statement)
            self._database.execute(f"PRAGMA user_version={INDEX_FORMAT}")

    def _make(self) -> None:
        with self._writing():
            for statement in _TABLES.split(";"):
                self._database.execute(statement)
            self._database.execute(f"PRAGMA application_id={_APPLICATION}")
            self._database.execute(f"PRAGMA user_version={INDEX_FORMAT}")

    def keys(self) -> dict[str, str]:
        """The states of all runs, by their keys."""
        with self._explaining():
            return dict(self._database.execute("SELECT key, state FROM runs"))

    def unmeasured(self) -> set[str]:
        """The runs without metrics that have ended well, by their keys."""
        query = "SELECT key FROM runs WHERE state = ? AND key NOT IN (SELECT key FROM measured)"
        with self._explaining():
            return {key for (key,) in self._database.execute(query, (DONE,))}

    def add(
        self,
        entries: Iterable[IndexedRun],
        measured: Iterable[tuple[str, str, Mapping[str, float]]] = (),
        measures: Mapping[str, Any] | None = None,
    ) -> None:
        """Add runs, with their metrics or without: all of this, or nothing.

        Args:
            entries: the runs. They replace runs with the same keys, and the metrics of these.
            measured: metrics, by the keys of runs and measures.
            measures: the descriptions of measures, by their keys.
        """
        rows = [(*map(_storable, each[:4]), _text(each.axes), _text(each.facts), each.seconds) for each in entries]
        found = _measured_rows(measured, measures or {})
        with self._explaining(), self._writing():
            self._database.executemany("DELETE FROM measured WHERE key = ?", [(row[0],) for row in rows])
            self._database.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            self._put_measured(*found)

    def add_measured(self, found: Iterable[tuple[str, str, Mapping[str, float]]], measures: Mapping[str, Any]) -> None:
        """Add metrics, by the keys of runs and measures, and the descriptions of these measures."""
        rows = _measured_rows(found, measures)
        with self._explaining(), self._writing():
            self._put_measured(*rows)

    def _put_measured(self, rows: list[tuple[str, str, str]], described: list[tuple[str, str]]) -> None:
        self._database.executemany("INSERT OR REPLACE INTO measured VALUES (?, ?, ?)", rows)
        self._database.executemany("INSERT OR REPLACE INTO measures VALUES (?, ?)", described)

    def measured(self, keys: Iterable[str] | None = None) -> dict[tuple[str, str], dict[str, float]]:
        """The metrics of all runs, or of the given runs, by the keys of runs and measures."""
        chosen = None if keys is None else set(keys)
        with self._explaining():
            return {
                (key, measure): json.loads(metrics)
                for key, measure, metrics in self._database.execute("SELECT key, measure, metrics FROM measured")
                if chosen is None or key in chosen
            }

    def measures(self) -> dict[str, Any]:
        """The description of each measure, by its key."""
        with self._explaining():
            return {
                measure: json.loads(description)
                for measure, description in self._database.execute("SELECT measure, description FROM measures")
            }

    def drop(self, keys: Iterable[str]) -> None:
        """Forget runs."""
        with self._explaining(), self._writing():
            gone = [(key,) for key in keys]
            self._database.executemany("DELETE FROM runs WHERE key = ?", gone)
            self._database.executemany("DELETE FROM measured WHERE key = ?", gone)

    def want(self, runs: Iterable[tuple[Any, str, str]]) -> None:
        """Record that a study wants these runs: values on the axes, and the keys of runs and measures.

        Each run is wanted once. Its new axes and measure replace the former ones.
        """
        rows = [(_text(axes), key, measure, place) for place, (axes, key, measure) in enumerate(runs)]
        with self._explaining(), self._writing():
            self._database.executemany("DELETE FROM wanted WHERE key = ?", {(row[1],) for row in rows})
            self._database.executemany("INSERT OR REPLACE INTO wanted VALUES (?, ?, ?, ?)", rows)

    def wanted(self) -> list[Wanted]:
        """The runs that studies want, in their order."""
        with self._explaining():
            query = "SELECT axes, key, measure, place FROM wanted ORDER BY place, axes"
            return [Wanted(*row) for row in self._database.execute(query)]

    def add_wanted(self, rows: Sequence[Wanted]) -> None:
        """Add the wanted runs of another index, except at axes at which a run is wanted here."""
        with self._explaining(), self._writing():
            self._database.executemany("INSERT OR IGNORE INTO wanted VALUES (?, ?, ?, ?)", rows)

    def entries(self) -> dict[str, IndexedRun]:
        """All runs, by their keys."""
        query = "SELECT key, state, kind, error, axes, facts, seconds FROM runs ORDER BY key"
        with self._explaining():
            return {
                key: IndexedRun(key, state, kind, error, json.loads(axes), json.loads(facts), seconds)
                for key, state, kind, error, axes, facts, seconds in self._database.execute(query)
            }

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # what came first is raised; a full disk has ended the transaction already
                self._database.execute("ROLLBACK")
            raise

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Raise a `StudyError` with a sentence for each error of SQLite."""
        try:
            yield
        except sqlite3.Error as error:
            raise StudyError(_reason(error), file=self._path) from None


def _measured_rows(
    found: Iterable[tuple[str, str, Mapping[str, float]]], measures: Mapping[str, Any]
) -> tuple[list[tuple[str, str, str]], list[tuple[str, str]]]:
    """The rows of metrics, and those of measures."""
    rows = [(key, measure, _text(metrics)) for key, measure, metrics in found]
    return rows, [(measure, _text(description)) for measure, description in measures.items()]


def _is_locked(error: sqlite3.Error) -> bool:
    return "locked" in str(error)


def _reason(error: sqlite3.Error) -> str:
    """The cause in words, and a remedy if there is one, in place of an error of SQLite."""
    text = str(error)
    if _is_locked(error):
        return f"another program has kept it locked for {_PATIENCE:g} seconds: end that program, and try again"
    if "is full" in text:
        return os.strerror(errno.ENOSPC).lower()
    if text == "disk I/O error":
        return f"{text}: the disk may be full or damaged, or files may have a limit"
    is_damaged = type(error) is sqlite3.DatabaseError or text.startswith(("no such table", "no such column"))
    return f"{text}{_ANEW}" if is_damaged else text


def _indented(value: Mapping[str, Any]) -> bytes:
    """A value as indented JSON. Python's own indentation takes as long as a tenth of a small run."""
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
    try:
        return msgspec.json.format(text, indent=2)
    except msgspec.DecodeError:  # NaN, or characters that UTF-8 does not have
        return json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _storable(text: str) -> str:
    """A text that SQLite can have: names of files may have bytes that are not UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _text(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if text == _storable(text) else json.dumps(value)


def _quoted(path: str) -> str:
    from urllib.parse import quote

    return quote(os.path.abspath(path))


with suppress(ImportError):  # without it, files that other programs have left behind are not deleted
    from fcntl import LOCK_EX, LOCK_NB, flock


_RUNS: Final = "runs"
_UNFINISHED: Final = "unfinished"
_RUN: Final = "run.json"
_USUAL: Final = Measure()
_INDEX_SECONDS: Final = 0.25
"""The seconds between two writings of the index: a transaction takes as long as a tenth of a small run."""


class Store:
    """The runs in a folder. Use it in a `with` statement, or close it.

    Args:
        path: the folder.
        writes: whether the store may be written, and is made if it does not exist. By default, it must exist.

    Raises:
        StudyError: the folder is not a store, or is one of a newer version.
        OSError: it cannot be read, or written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(folder + "/runs", writes=True) as store:
    ...     len(store.rows())
    0
    """

    def __init__(self, path: str | os.PathLike[str], *, writes: bool = False) -> None:
        self.path = os.fspath(path)
        self.others = 0
        """The number of other programs that wrote to it when it was opened."""
        self._lock: int | None = None
        self._unfinished = ""
        self._new: list[_KnownRuns] = []  # they have their folders, and the index lacks them
        self._indexed_at = -math.inf
        self._others: dict[str, _KnownRuns] = {}  # the index lacked them when the store was opened to be read
        self._expect_store(writes)
        if writes:
            for name in (_RUNS, _UNFINISHED):
                os.makedirs(os.path.join(self.path, name), exist_ok=True)
        self._index_file = Index(self.path, writes=writes)
        try:
            if writes:
                self._take_place()
                self._reconcile()
            else:
                self._look_for_others()
        except BaseException:
            self.close()
            raise
        self._parquet = writes and can_write_parquet()

    def _expect_store(self, writes: bool) -> None:
        if os.path.isfile(os.path.join(self.path, NAME)) or (writes and not os.path.exists(self.path)):
            return
        if not os.path.isdir(self.path):
            reason = "it is not a folder" if os.path.exists(self.path) else "there is no such store"
            raise StudyError(reason, file=self.path)
        rest = set(os.listdir(self.path)) - {_RUNS, _UNFINISHED}
        if not writes or (rest and not {_RUNS} <= set(os.listdir(self.path))):
            raise StudyError(f"it is not a store of runs: there is no {NAME} in it", file=self.path)

    def _take_place(self) -> None:
        """Make a folder for unfinished runs, and delete those of programs that were killed."""
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
            # Another program has deleted it before it was locked.

    def _reconcile(self) -> None:
        """Bring the index in line with the folders: a program may have been killed between the two."""
        folders = set(self._folders())
        known = self._index.keys()
        gone = known.keys() - folders
        if gone:
            self._index.drop(gone)
        self._take(found for found in map(self._read, sorted(folders - known.keys())) if found is not None)
        # Older versions wrote runs and their metrics one after the other: a disk may have become full between the two.
        bare = [found for found in map(self._read, sorted(self._index.unmeasured())) if found is not None]
        if any(found.metrics for found in bare):
            self._index.add_measured(*_measured_in(bare))

    def _look_for_others(self) -> None:
        """Read the folders of runs that the index lacks: their program was killed, or writes the index soon."""
        known = self._index.keys()
        with suppress(OSError):
            found = map(self._read, sorted(set(self._folders()) - known.keys()))
            self._others = {each.entry.key: each for each in found if each is not None}

    def _entries(self) -> dict[str, IndexedRun]:
        """All runs, by their keys."""
        found = self._index.entries() | {key: each.entry for key, each in self._others.items()}
        return dict(sorted(found.items()))

    def _measured(self, keys: set[str] | None = None) -> dict[tuple[str, str], dict[str, float]]:
        """The metrics of all runs, or of the given runs, by the keys of runs and measures."""
        found = self._index.measured(keys)
        for key, each in self._others.items():
            if keys is None or key in keys:
                found |= {(key, measure): dict(metrics) for measure, metrics in each.metrics.items()}
        return found

    def _take(self, found: Iterable[_KnownRuns]) -> None:
        """Add these runs to the index, at the latest with the first ones after a quarter of a second."""
        self._new += found
        if time.monotonic() - self._indexed_at >= _INDEX_SECONDS:
            self._bring_up_to_date()

    def _bring_up_to_date(self) -> None:
        """Write the index. If that fails, the next program that writes the store finds the runs in their folders."""
        known, self._new = self._new, []
        if known:
            self._index_file.add([each.entry for each in known], *_measured_in(known))
            self._indexed_at = time.monotonic()

    @property
    def _index(self) -> Index:
        """The index, with all runs that were added."""
        self._bring_up_to_date()
        return self._index_file

    def _folders(self) -> Iterator[str]:
        """The keys of the runs that have a folder."""
        parent = os.path.join(self.path, _RUNS)
        for name in os.listdir(parent):
            with suppress(NotADirectoryError):
                yield from os.listdir(os.path.join(parent, name))

    def _read(self, key: str) -> _KnownRuns | None:
        """A run as its folder describes it; None if that cannot be read. The store ignores such a folder."""
        try:
            with open(os.path.join(self.folder(key), _RUN), "rb") as file:
                found: Any = msgspec.json.decode(file.read())
            if found["format"] not in (1, FORMAT) or found["key"] != key:
                raise ValueError
            entry = IndexedRun(
                key, found["state"], found["kind"], found["error"], found["axes"], found.get("facts", {}), 0.0
            )
            if found["format"] == 1:
                return _KnownRuns(entry, {"": found["metrics"]}, {})
            metrics = {each["measure"]: each["metrics"] for each in found["measured"]}
            return _KnownRuns(entry, metrics, {each["measure"]: each["how"] for each in found["measured"]})
        except (OSError, ValueError, KeyError, TypeError, msgspec.DecodeError):
            return None

    def folder(self, key: str) -> str:
        """The folder of a run."""
        return os.path.join(self.path, _RUNS, key[:2], key)

    def has(self, key: str) -> bool:
        """Whether the folder of a run exists, also if another program has made it."""
        return os.path.isdir(self.folder(key))

    def states(self) -> dict[str, str]:
        """The states of all runs in the store, by their keys."""
        return self._index.keys() | {key: each.entry.state for key, each in self._others.items()}

    def want(self, runs: Sequence[Run]) -> None:
        """Record that a study wants these runs. `rows` returns them in place of others with the same axes."""
        keys: dict[int, str] = {}
        self._index.want([(run.axes, run.key, key_of(run.measure, keys)) for run in runs])

    def add(self, found: Iterable[tuple[Run, Outcome]], measures: Mapping[str, Measure]) -> None:
        """Add the results of runs. A run that is in the store already stays, unless it failed.

        Args:
            found: the runs, and their outcomes.
            measures: their measures, by the keys in the outcomes.

        Raises:
            OSError: a folder cannot be written. The runs that were there before stay.
            StudyError: the index cannot be written.
        """
        known = []
        described = {key: msgspec.to_builtins(each) for key, each in measures.items()}
        for run, outcome in found:
            facts = {"drawn": list(run.drawn), "model": run.is_model, "hosts": outcome.hosts}
            entry = IndexedRun(
                run.key, outcome.state, outcome.kind, outcome.error, dict(run.axes), facts, outcome.seconds
            )
            how = {key: described[key] for key in outcome.measured}
            own = _KnownRuns(entry, outcome.measured, how)
            if self._put(run, outcome, own):
                known.append(own)
            else:
                other = self._read(run.key)
                known += [other] if other is not None else []
        self._take(known)

    def add_measured(self, found: Iterable[tuple[str, Measure, Mapping[str, float]]]) -> None:
        """Add further metrics of runs in the store, from other measures.

        Raises:
            StudyError: the index cannot be written.
        """
        rows = [(key, measure.key, measure, metrics) for key, measure, metrics in found]
        measures = {key: msgspec.to_builtins(measure) for _, key, measure, _ in rows}
        self._index.add_measured([(key, measure, metrics) for key, measure, _, metrics in rows], measures)

    def measured(self) -> set[tuple[str, str]]:
        """The keys of runs with those of the measures in which they were measured."""
        return set(self._index.measured())

    def _put(self, run: Run, outcome: Outcome, known: _KnownRuns) -> bool:
        """Write the folder of a run. Return whether it took its place: a run that did not fail stays there."""
        made = os.path.join(self._unfinished, run.key)
        with suppress(FileNotFoundError):
            shutil.rmtree(made)
        os.mkdir(made)
        try:
            for name, data in self._files(run, outcome, known).items():
                path = os.path.join(made, name)
                with naming(path), open(path, "wb") as file:
                    file.write(data)
            return self._settle(made, run.key)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise

    def _files(self, run: Run, outcome: Outcome, known: _KnownRuns) -> dict[str, bytes]:
        files = dict(outcome.files)
        if self._parquet and CSV in files and outcome.state == DONE:
            files[PARQUET] = as_parquet(files.pop(CSV), files.pop(USERS, None))
        if outcome.traceback:
            files[TRACEBACK] = outcome.traceback.encode("utf-8", "backslashreplace")
        described = {
            "format": FORMAT,
            "version": version(),
            "key": run.key,
            "axes": run.axes,
            "task": run.task.described,
            "state": outcome.state,
            "kind": outcome.kind,
            "error": outcome.error,
            "facts": known.entry.facts,
            "measured": [
                {"measure": key, "how": known.measures[key], "metrics": metrics}
                for key, metrics in known.metrics.items()
            ],
        }
        files[_RUN] = _indented(described) + b"\n"
        return files

    def _settle(self, made: str, key: str) -> bool:
        """Move the folder of a run to its place. Return False if a run that did not fail is there already."""
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
            if before is not None and before.entry.state == DONE:
                shutil.rmtree(made)
                return False
            with suppress(FileNotFoundError):  # another program may be as fast
                os.rename(place, f"{made}-{uuid.uuid4().hex}")
        raise StudyError("another program writes the same run again and again: stop one of them", file=place)

    def rows(self, *, all: bool = False) -> Rows:
        """The rows of the runs in the store.

        Args:
            all: whether to include runs that no study wants any more, for example because a scheduler has changed
                since. Then a run has a row for each measure.
        """
        entries, metrics, measures = self._entries(), self._measured(), self._measures()
        if not all:
            return Rows(
                [
                    self._row(entries[each.key]._replace(axes=json.loads(each.axes)), each.measure, metrics, measures)
                    for each in self._index.wanted()
                    if each.key in entries
                ]
            )
        ways: dict[str, list[str]] = {}
        for key, measure in metrics:
            ways.setdefault(key, []).append(measure)
        return Rows(
            [
                self._row(entry, measure, metrics, measures)
                for key, entry in entries.items()
                for measure in ways.get(key, [""])
            ]
        )

    def rows_of(self, runs: Sequence[Run]) -> Rows:
        """The rows of those of the given runs that are in the store, with the order and the axes of the given runs."""
        known, metrics = self._entries(), self._measured({run.key for run in runs})
        keys: dict[int, str] = {}
        found = []
        for run in runs:
            if run.key in known:
                key = key_of(run.measure, keys)
                entry = known[run.key]._replace(axes=dict(run.axes))
                found.append(self._row(entry, key, metrics, {key: run.measure}))
        return Rows(found)

    def _measures(self) -> dict[str, Measure]:
        return {key: msgspec.convert(described, Measure) for key, described in self._described().items()}

    def _described(self) -> dict[str, Any]:
        """The description of each measure, by its key."""
        found = self._index.measures()
        for each in self._others.values():
            found |= dict(each.measures)
        return found

    def _row(
        self,
        entry: IndexedRun,
        measure: str,
        metrics: Mapping[tuple[str, str], Mapping[str, float]],
        measures: Mapping[str, Measure],
    ) -> Row:
        facts = entry.facts
        return Row(
            key=entry.key,
            axes=entry.axes,
            state=entry.state,
            kind=entry.kind,
            error=entry.error,
            metrics=metrics.get((entry.key, measure), {}),
            seconds=entry.seconds,
            folder=self.folder(entry.key),
            drawn=tuple(facts.get("drawn", ())),
            is_model=facts.get("model"),
            hosts=facts.get("hosts", 0),
            measure=measures.get(measure, _USUAL),
        )

    def merge(self, other: Store) -> int:
        """Copy the runs of another store that are not in this one, or that failed in this one only.

        Returns:
            The number of copied runs.

        Raises:
            OSError: a run cannot be read or written. The runs that were here before stay.
        """
        count = 0
        here = self._index.keys()
        metrics, measures = other._measured(), other._described()
        ways: dict[str, dict[str, Mapping[str, float]]] = {}
        for (key, measure), values in metrics.items():
            ways.setdefault(key, {})[measure] = values
        for entry in other._entries().values():
            state = here.get(entry.key)
            if state is not None and (state == DONE or entry.state != DONE):
                continue
            made = os.path.join(self._unfinished, entry.key)
            try:
                shutil.copytree(other.folder(entry.key), made)
                if self._settle(made, entry.key):
                    own = ways.get(entry.key, {})
                    self._take([_KnownRuns(entry, own, {key: measures[key] for key in own if key in measures})])
                    count += 1
            finally:
                shutil.rmtree(made, ignore_errors=True)
        self._index.add_wanted(other._index.wanted())
        return count

    def close(self) -> None:
        """Write the rest of the index, and close the files.

        Raises:
            StudyError: the index cannot be written. All files are closed.
        """
        try:
            self._bring_up_to_date()
        finally:
            self._index_file.close()
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
        with suppress(StudyError) if error is not None else nullcontext():  # what came first is raised
            self.close()


class _KnownRuns(NamedTuple):
    """A run in the store: its metrics by the keys of measures, and the descriptions of these."""

    entry: IndexedRun
    metrics: Mapping[str, Mapping[str, float]]
    measures: Mapping[str, Any]


def _measured_in(runs: Sequence[_KnownRuns]) -> tuple[list[tuple[str, str, Mapping[str, float]]], dict[str, Any]]:
    """The metrics of runs by the keys of runs and measures, and the descriptions of these measures."""
    measured = [(each.entry.key, key, each.metrics[key]) for each in runs for key in each.metrics]
    return measured, {key: how for each in runs for key, how in each.measures.items()}


def key_of(measure: Measure, keys: dict[int, str]) -> str:
    """The key of a measure. It is computed once, as the runs of a study share a few measures."""
    found = keys.get(id(measure))
    if found is None:
        found = keys[id(measure)] = measure.key
    return found


def _locked(folder: str) -> int | None:
    """A descriptor that holds the lock on a folder; None if another program holds it."""
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
