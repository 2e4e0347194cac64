"""Stores for the tests of campaigns: each test that asks for one runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# Where the extra is not installed, the tests are skipped, rather than not even found.
if TYPE_CHECKING:
    from databases import PostgreSQL

    from batprotocol.campaigns.store import GridStore


@pytest.fixture(scope="session")
def server() -> Iterator[PostgreSQL]:
    """A PostgreSQL server."""
    from databases import postgresql

    with postgresql() as found:
        yield found


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database that nothing is in."""
    if request.param == "sqlite":
        return str(tmp_path / "grid.db")
    found: PostgreSQL = request.getfixturevalue("server")
    return found.new_database().replace("postgresql://", "postgresql+psycopg://")  # as any SQLAlchemy takes it


@pytest.fixture
def store(store_url: str) -> Iterator[GridStore]:
    """A store that nothing is in."""
    from batprotocol.campaigns.store import GridStore

    found = GridStore(store_url)
    yield found
    found.close()
