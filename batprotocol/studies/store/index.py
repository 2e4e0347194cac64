"""The index of a store, an SQLite file: its runs, their metrics, and the runs that studies want.

It can be made anew from the folders of the runs, except for the runs that studies want. It must not know of folders.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, Final, NamedTuple

from batprotocol.errors import StudyError

__all__ = ["NAME", "Entry", "Index", "Wanted"]

NAME: Final = "index.sqlite"
FORMAT: Final = 2
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


class Entry(NamedTuple):
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
        if tables and version not in (_BEFORE, FORMAT):
            raise StudyError(
                f"a newer batprotocol has made it: its format is {version}, and this version reads {FORMAT}; "
                "update batprotocol",
                file=self._path,
            )
        return int(version) if tables else FORMAT

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
            self._database.execute(f"PRAGMA user_version={FORMAT}")

    def _make(self) -> None:
        with self._writing():
            for statement in _TABLES.split(";"):
                self._database.execute(statement)
            self._database.execute(f"PRAGMA application_id={_APPLICATION}")
            self._database.execute(f"PRAGMA user_version={FORMAT}")

    def keys(self) -> dict[str, str]:
        """The states of all runs, by their keys."""
        with self._explaining():
            return dict(self._database.execute("SELECT key, state FROM runs"))

    def add(self, entries: Iterable[Entry]) -> None:
        """Add runs. They replace runs with the same keys, and the metrics of these."""
        rows = [(*map(_storable, each[:4]), _text(each.axes), _text(each.facts), each.seconds) for each in entries]
        with self._explaining(), self._writing():
            self._database.executemany("DELETE FROM measured WHERE key = ?", [(row[0],) for row in rows])
            self._database.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def add_measured(self, found: Iterable[tuple[str, str, Mapping[str, float]]], measures: Mapping[str, Any]) -> None:
        """Add metrics, by the keys of runs and measures, and the descriptions of these measures."""
        rows = [(key, measure, _text(metrics)) for key, measure, metrics in found]
        described = [(measure, _text(description)) for measure, description in measures.items()]
        with self._explaining(), self._writing():
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

    def entries(self) -> dict[str, Entry]:
        """All runs, by their keys."""
        query = "SELECT key, state, kind, error, axes, facts, seconds FROM runs ORDER BY key"
        with self._explaining():
            return {
                key: Entry(key, state, kind, error, json.loads(axes), json.loads(facts), seconds)
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


def _storable(text: str) -> str:
    """A text that SQLite can have: names of files may have bytes that are not UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _text(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if text == _storable(text) else json.dumps(value)


def _quoted(path: str) -> str:
    from urllib.parse import quote

    return quote(os.path.abspath(path))
