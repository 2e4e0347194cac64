"""The index of a store, an SQLite file: which runs there are, and which of them a study wants.

All that is in it can be made anew of the folders, but for which run a study wants last. It must not know of these.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, Final, NamedTuple

from batprotocol.errors import StudyError

__all__ = ["NAME", "Entry", "Index"]

NAME: Final = "index.sqlite"
FORMAT: Final = 1
_APPLICATION: Final = 0x62617473  # "bats"
_PATIENCE: Final = 60.0
"""Seconds that another program may write before it is given up."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS runs (
    key TEXT PRIMARY KEY, state TEXT NOT NULL, kind TEXT NOT NULL, error TEXT NOT NULL, axes TEXT NOT NULL,
    metrics TEXT NOT NULL, seconds REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS wanted (axes TEXT PRIMARY KEY, key TEXT NOT NULL, place INTEGER NOT NULL) WITHOUT ROWID;
"""


class Entry(NamedTuple):
    """A run, as the index has it; see `Row`."""

    key: str
    state: str
    kind: str
    error: str
    axes: dict[str, Any]
    metrics: dict[str, float]
    seconds: float


class Index:
    """The index in a folder.

    Args:
        folder: of the store.
        writes: whether it may be written, and made if there is none.

    Raises:
        StudyError: it cannot be used.
    """

    def __init__(self, folder: str, *, writes: bool) -> None:
        self._path = os.path.join(folder, NAME)
        if writes and self._is_torn():
            for name in (self._path, f"{self._path}-journal"):
                with suppress(FileNotFoundError):
                    os.unlink(name)
        with self._telling():
            where = f"file:{_quoted(self._path)}?mode={'rwc' if writes else 'ro'}"
            self._database = sqlite3.connect(where, timeout=_PATIENCE, isolation_level=None, uri=True)
            try:
                self._expect_format()
                if writes:
                    # What the system has, it writes down even if this process is killed; and after a power cut, what
                    # is missing here is still in the folders.
                    self._database.execute("PRAGMA synchronous=OFF")
                    self._make()
            except BaseException:
                self._database.close()
                raise

    def _is_torn(self) -> bool:
        """Whether there is a file that nobody can read: it was copied while it was written, or lost in a power cut.

        Who opens the store makes it anew of the folders.
        """
        if not os.path.exists(self._path):
            return False
        try:
            with closing(sqlite3.connect(f"file:{_quoted(self._path)}?mode=ro", timeout=_PATIENCE, uri=True)) as found:
                return str(found.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok"
        except sqlite3.OperationalError:
            return False  # it is locked, or cannot be opened: that is told where it matters
        except sqlite3.DatabaseError:
            return True

    def _expect_format(self) -> None:
        application = self._database.execute("PRAGMA application_id").fetchone()[0]
        version = self._database.execute("PRAGMA user_version").fetchone()[0]
        tables = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and application != _APPLICATION:
            raise StudyError("it is no index of runs", file=self._path)
        if tables and version != FORMAT:
            hint = "a newer batprotocol" if version > FORMAT else "an older one"
            raise StudyError(f"{hint} has made it: its format is {version}, and this is for {FORMAT}", file=self._path)

    def _make(self) -> None:
        with self._writing():
            for statement in _TABLES.split(";"):
                self._database.execute(statement)
            self._database.execute(f"PRAGMA application_id={_APPLICATION}")
            self._database.execute(f"PRAGMA user_version={FORMAT}")

    def keys(self) -> dict[str, str]:
        """The states of all runs, by their keys."""
        with self._telling():
            return dict(self._database.execute("SELECT key, state FROM runs"))

    def add(self, entries: Iterable[Entry]) -> None:
        """Add runs, in the place of those of the same keys."""
        rows = [(*each[:4], _text(each.axes), _text(each.metrics), each.seconds) for each in entries]
        with self._telling(), self._writing():
            self._database.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def drop(self, keys: Iterable[str]) -> None:
        """Forget runs."""
        with self._telling(), self._writing():
            self._database.executemany("DELETE FROM runs WHERE key = ?", [(key,) for key in keys])

    def want(self, runs: Iterable[tuple[Any, str]]) -> None:
        """A study wants these: axes, and the keys of the runs that are there now."""
        rows = [(_text(axes), key, place) for place, (axes, key) in enumerate(runs)]
        with self._telling(), self._writing():
            self._database.executemany("INSERT OR REPLACE INTO wanted VALUES (?, ?, ?)", rows)

    def wanted(self) -> list[tuple[str, str, int]]:
        """What studies have wanted: axes, as text, keys, and places."""
        with self._telling():
            return list(self._database.execute("SELECT axes, key, place FROM wanted"))

    def add_wanted(self, rows: Sequence[tuple[str, str, int]]) -> None:
        """Add what another index has, where nothing is wanted here."""
        with self._telling(), self._writing():
            self._database.executemany("INSERT OR IGNORE INTO wanted VALUES (?, ?, ?)", rows)

    def entries(self, *, wanted: bool) -> list[Entry]:
        """All runs; or those that a study wants, with its axes and in its order."""
        chosen = "runs" if not wanted else "wanted JOIN runs USING (key)"
        axes = "wanted.axes" if wanted else "runs.axes"
        order = "ORDER BY place, wanted.axes" if wanted else "ORDER BY key"
        query = f"SELECT key, state, kind, error, {axes}, metrics, seconds FROM {chosen} {order}"
        with self._telling():
            return [
                Entry(key, state, kind, error, json.loads(axes), json.loads(metrics), seconds)
                for key, state, kind, error, axes, metrics, seconds in self._database.execute(query)
            ]

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """What SQLite finds wrong is told in a sentence."""
        try:
            yield
        except sqlite3.Error as error:
            hint = ""
            if type(error) is sqlite3.DatabaseError:
                hint = "; whoever runs a study with this store makes it anew"
            raise StudyError(f"{error}{hint}", file=self._path) from None


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _quoted(path: str) -> str:
    from urllib.parse import quote

    return quote(os.path.abspath(path))
