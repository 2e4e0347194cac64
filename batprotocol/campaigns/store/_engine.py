"""The connection to the database, SQLite or PostgreSQL, and their differences.

Only one transaction writes at a time, and readers do not wait. This is the behaviour of SQLite. On PostgreSQL, each
writing transaction takes a lock first. So data that a writing transaction reads do not change until it ends.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Final

import sqlalchemy
from sqlalchemy import BindParameter, Connection, Engine, Executable, Integer, Select, Table, bindparam, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, NoSuchModuleError, OperationalError
from sqlalchemy.pool import StaticPool

from batprotocol._util.requirements import refusal
from batprotocol.errors import PackageMissing, StoreAway, StoreError

with suppress(ImportError):  # without it, no loop runs on a file
    import fcntl


WRITERS: Final = 0xC1624
LOOPS: Final = 0xC1625
"""The locks of PostgreSQL: for writing transactions, and for loops."""

PIECE: Final = 2000
"""The greatest number of numbers in one query."""

NUMBERS: Final[BindParameter[Any]] = bindparam(
    "numbers", type_=Integer, expanding=True, literal_execute=True, required=True
)
"""The placeholder for numbers in a query in pieces. They become text of the query, as parameters are slower."""

PATIENCE_SECONDS: Final = 30.0
"""How long to wait for another writer, and for the lock of a loop that has just been killed."""


class Database:
    """A database.

    Args:
        url: a URL of SQLAlchemy, `sqlite:///file` or `postgresql://user@host/name`; or the name of a file for SQLite.

    Raises:
        StoreError: this is not such a URL.
        PackageMissing: its driver is not installed.
    """

    def __init__(self, url: str) -> None:
        self.url = url if "://" in url else f"sqlite:///{url}"
        if self.url.startswith(("postgresql://", "postgres://")):
            self.url = f"postgresql+psycopg://{self.url.partition('://')[2]}"
        try:
            parsed = sqlalchemy.make_url(self.url)
            if parsed.get_backend_name() not in ("sqlite", "postgresql"):
                raise ValueError(f"got {parsed.get_backend_name()}")
            self.file = parsed.database if parsed.get_backend_name() == "sqlite" else None
            memory = parsed.get_backend_name() == "sqlite" and self.file in (None, "", ":memory:")
            options: dict[str, Any] = {"poolclass": StaticPool} if memory else {}
            self.engine: Engine = sqlalchemy.create_engine(parsed, **options)
        except ImportError as error:
            sentence = f"{parsed.get_backend_name()} needs the package {error.name}: pip install '{error.name}[binary]'"
            raise PackageMissing(sentence) from None
        except (ArgumentError, NoSuchModuleError, ValueError) as error:
            raise StoreError(
                f"{url}: expected the name of a file or the URL of SQLite or PostgreSQL: {error}"
            ) from None
        self.shown = parsed.render_as_string(hide_password=True)
        self._is_sqlite = self.engine.dialect.name == "sqlite"
        self._memory = memory
        if self._is_sqlite and not memory and self.file:
            _make_private(self.file)
        if self._is_sqlite:
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes: all of its changes are kept, or none."""
        with self._explaining(), self.engine.begin() as connection:
            if not self._is_sqlite:
                connection.execute(sqlalchemy.select(sqlalchemy.func.pg_advisory_xact_lock(WRITERS)))
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads one state of all tables, while others may write."""
        options: dict[str, Any] = {"batprotocol_reads": True}
        if not self._is_sqlite:
            options["isolation_level"] = "REPEATABLE READ"
        with self._explaining(), self.engine.connect() as connection:
            connection = connection.execution_options(**options)
            with connection.begin():
                yield connection

    @contextmanager
    def only_loop(self) -> Iterator[None]:
        """A context in which no other loop runs on this database. It raises `StoreError` if one runs."""
        if self._memory:
            yield
        elif self._is_sqlite:
            if sentence := refusal("loops on a file of SQLite", "fcntl.flock"):
                raise StoreError(f"{self.shown}: {sentence}; or use a store on PostgreSQL")
            with self._only_loop_of_file():
                yield
        else:
            with self._only_loop_of_server():
                yield

    @contextmanager
    def _only_loop_of_file(self) -> Iterator[None]:
        try:
            descriptor = os.open(f"{self.file}-loop", os.O_RDONLY | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(f"{error.filename}: {error.strerror}") from None
        try:
            _lock(descriptor, f"{self.shown}: another loop runs its campaigns")
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def _only_loop_of_server(self) -> Iterator[None]:
        until = time.monotonic() + PATIENCE_SECONDS / 6
        with self._explaining(), self.engine.connect() as connection:
            lock = sqlalchemy.select(sqlalchemy.func.pg_try_advisory_lock(LOOPS))
            while not connection.execute(lock).scalar():
                connection.rollback()
                if time.monotonic() > until:
                    raise StoreError(f"{self.shown}: another loop runs its campaigns")
                time.sleep(0.1)
            connection.rollback()  # the lock is the session's: it needs no open transaction
            try:
                yield
            finally:
                with suppress(DBAPIError):  # the server may have gone, and the lock with it
                    connection.execute(sqlalchemy.select(sqlalchemy.func.pg_advisory_unlock(LOOPS)))

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            reason = " ".join(str(error.orig).split())
            kind = StoreAway if not self._is_sqlite and _is_away(error) else StoreError
            raise kind(f"{self.shown}: {reason}") from error

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _make_private(file: str) -> None:
    """Make the file of a new store, for its owner only. SQLite reports errors."""
    with suppress(OSError):
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _is_away(error: DBAPIError) -> bool:
    """Whether the server has closed the connection or cannot be reached, so that it may come back."""
    state = getattr(error.orig, "sqlstate", None)
    lost = isinstance(error, OperationalError | InterfaceError) and (state is None or state.startswith(("08", "57P")))
    return error.connection_invalidated or lost


def _lock(descriptor: int, refusal: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreError(refusal) from None


def _prepare_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # `_begin_sqlite` begins transactions
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {PATIENCE_SECONDS * 1000:.0f}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    reads = connection.get_execution_options().get("batprotocol_reads")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, if there are any."""
    if rows:
        connection.execute(sqlalchemy.insert(table), rows)


def in_pieces(connection: Connection, query: Select[Any], numbers: Sequence[int]) -> list[Any]:
    """The rows of a query for all of these numbers, which replace `NUMBERS` in it."""
    found: list[Any] = []
    for begin in range(0, len(numbers), PIECE):
        found.extend(connection.execute(query, {"numbers": numbers[begin : begin + PIECE]}))
    return found


def change_in_pieces(
    connection: Connection, change: Executable, numbers: Sequence[int], values: Mapping[str, Any]
) -> None:
    """Change the rows of all of these numbers, which replace `NUMBERS` in the statement, with its other parameters."""
    for begin in range(0, len(numbers), PIECE):
        connection.execute(change, {**values, "numbers": numbers[begin : begin + PIECE]})


def upsert(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], *, add: Iterable[str] = (), least: str = ""
) -> None:
    """Insert rows, or change existing ones.

    Args:
        connection: in a transaction.
        table: the table; its primary key identifies rows.
        rows: the rows, all with the same columns.
        add: the columns whose numbers are added to the existing ones; the others are replaced.
        least: the column in which the smaller number is kept.
    """
    if rows:
        connection.execute(_upserting(connection.dialect.name, table, tuple(rows[0]), tuple(add), least), rows)


@cache
def _upserting(dialect: str, table: Table, names: tuple[str, ...], add: tuple[str, ...], least: str) -> Executable:
    """The statement, made once for each use of `upsert`: making one takes longer than running it."""
    insert: Any = (sqlite if dialect == "sqlite" else postgresql).insert(table)
    keys = [column.name for column in table.primary_key]
    values: dict[str, Any] = {name: insert.excluded[name] for name in names if name not in keys}
    for name in add:
        values[name] = table.c[name] + insert.excluded[name]
    if least:
        there, new = table.c[least], insert.excluded[least]
        values[least] = sqlalchemy.case((there < new, there), else_=new)
    statement: Executable = insert.on_conflict_do_update(index_elements=keys, set_=values)
    return statement
