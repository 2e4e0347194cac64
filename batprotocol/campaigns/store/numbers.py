"""Unique numbers, and the single values of a store.

A number is never used again, even if its row is gone: resource managers may remember it.
"""

from __future__ import annotations

import secrets
from typing import Final

from sqlalchemy import Connection, insert, select, text, update

from batprotocol.campaigns.store import tables
from batprotocol.errors import StoreError

__all__ = ["initialise", "mark_of", "next_cycle", "next_numbers"]

SCHEMA: Final = "2"
"""The version of the tables."""


def initialise(connection: Connection) -> None:
    """Make the tables if they are missing. It raises `StoreError` if their version is unknown."""
    tables.METADATA.create_all(connection)
    found = _value(connection, "schema")
    if found is None:
        rows = [{"key": "schema", "value": SCHEMA}, {"key": "mark", "value": f"cigri-{secrets.token_hex(4)}"}]
        connection.execute(insert(tables.grid), rows)
    elif found == "1":  # jobs were not in groups yet; new tables are made above
        connection.execute(text('ALTER TABLE jobs ADD COLUMN "group" INTEGER'))
        connection.execute(update(tables.grid).where(tables.grid.c.key == "schema").values(value=SCHEMA))
    elif found != SCHEMA:
        raise StoreError(
            f"the tables have version {found}, expected {SCHEMA}: use another file, or the version that made it"
        )


def mark_of(connection: Connection) -> str:
    """The prefix of the names of jobs, for clusters that other stores use, too."""
    return _value(connection, "mark") or "cigri"


def next_cycle(connection: Connection) -> int:
    """The number of a new cycle."""
    return next_numbers(connection, "cycle", 1)


def next_numbers(connection: Connection, of: str, count: int) -> int:
    """The first of `count` new numbers of this kind."""
    last = _value(connection, f"last {of}")
    if last is None:
        connection.execute(insert(tables.grid).values(key=f"last {of}", value=str(count)))
        return 1
    changed = update(tables.grid).where(tables.grid.c.key == f"last {of}")
    connection.execute(changed.values(value=str(int(last) + count)))
    return int(last) + 1


def _value(connection: Connection, key: str) -> str | None:
    found: str | None = connection.execute(select(tables.grid.c.value).where(tables.grid.c.key == key)).scalar()
    return found
