"""Stores that are asked for much, and a server that goes away."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from databases import PostgreSQL
from memory import peak_memory
from sqlalchemy import event, text

from batprotocol.campaigns.jdl import read_jdl
from batprotocol.campaigns.loop import Cycle, run_campaigns
from batprotocol.campaigns.model import Campaign, ClusterProperties, GridSettings, TaskPriority, TaskState
from batprotocol.campaigns.store import ClusterEntry, GridStore
from batprotocol.campaigns.store._engine import PIECE
from batprotocol.errors import StoreAway, StoreError

WITHOUT_ENGINE = True

TASKS = 12_000


@pytest.mark.slow
def test_tasks_are_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each task, no more than its parameters are in memory at a time; a dict of each would be 500 bytes."""
    jdl = json.dumps({"name": "n", "nb_jobs": TASKS, "exec_file": "x", "clusters": {"a": {}}})
    monkeypatch.setattr("batprotocol.campaigns.store._requests.ROWS", 1000)
    store = GridStore("sqlite://")
    store.submit(Campaign(user="u", name="n", clusters=()), ["0"], now=0.0)
    with peak_memory() as peak:
        read = read_jdl(jdl, user="u")
        number = store.submit(read.campaign, read.parameters, now=0.0, jdl=read.jdl)
    assert len(store.tasks(number)) == TASKS
    assert peak.bytes < 400 * TASKS
    store.close()


def fill(store: GridStore, events: int) -> None:
    """A campaign with a task for each event, all of which are open. The database makes the rows, as that is faster."""
    store.submit(Campaign(user="u", name="n", clusters=()), [], now=0.0)
    rows = {
        "parameters (id, campaign, name, parameters, priority, state)": (
            "n, 1, CAST(n AS TEXT), CAST(n AS TEXT), 10, 'event'"
        ),
        "jobs (id, campaign, task, cluster, state, active, submission_time, best_effort, replica, weight)": (
            "n, 1, n, 'a', 'event', false, 0, true, false, 1"
        ),
        "events (id, class, code, state, date, job, campaign, message, blacklists)": (
            "n, 'job', 'EXIT_ERROR', 'open', 0, n, 1, '', false"
        ),
    }
    numbers = f"WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {events})"
    with store._database.writing() as connection:
        for table, values in rows.items():
            connection.execute(text(f"INSERT INTO {table} {numbers} SELECT {values} FROM s"))
        connection.execute(text(f"UPDATE campaigns SET total = {events}, failed = {events}, events = {events}"))


def check_fix(store: GridStore, events: int) -> None:
    fill(store, events)
    assert store.fix("u", campaign=1, resubmit=True) == events
    status = store.campaign(1)
    assert status is not None
    assert (status.pending, status.failed, status.events) == (events, 0, 0)
    assert {task.priority for task in store.tasks(1)} == {TaskPriority.RESUBMITTED}


def test_events_are_closed_in_pieces(store: GridStore) -> None:
    """No query has a parameter for each of them."""
    most = 0

    def count(connection: object, cursor: object, statement: str, parameters: Any, *rest: object) -> None:
        nonlocal most
        most = max(most, len(parameters))

    event.listen(store._database.engine, "before_cursor_execute", count)
    check_fix(store, 2 * PIECE + 1)
    assert most < 100


@pytest.mark.minutes
def test_more_events_than_a_query_of_postgresql_takes_numbers(server: PostgreSQL) -> None:
    store = GridStore(server.new_database())
    check_fix(store, 66_000)
    store.close()


@pytest.mark.slow
def test_a_server_that_is_started_anew_is_waited_for(server: PostgreSQL, tmp_path: Path) -> None:
    store = GridStore(server.new_database())
    store.register(ClusterEntry(name="here", batch="local", address=str(tmp_path / "here"), resources=2))
    says = ClusterProperties(cluster="here", exec_file="echo >> runs; true", exec_directory=str(tmp_path))
    store.submit(Campaign(user="u", name="n", clusters=(says,)), [str(task) for task in range(12)], now=time.time())
    troubles: list[str] = []
    seen: list[Cycle] = []

    def after(cycle: Cycle) -> None:
        seen.append(cycle)
        if len(seen) == 2:
            server.stop()

    def told(trouble: str) -> None:
        troubles.append(trouble)
        if len(troubles) == 2:
            server.start()

    settings = GridSettings(finalize=False)
    run_campaigns(store, settings, cycle_seconds=0.05, until_idle=True, on_cycle=after, on_trouble=told)
    assert len(troubles) >= 2
    assert {task.state for task in store.tasks(1)} == {TaskState.TERMINATED}
    assert len((tmp_path / "runs").read_text().split("\n")) == 13
    store.close()


def test_a_server_that_was_never_there_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(StoreAway):
        GridStore(f"postgresql://nobody@/nothing?host={tmp_path}")
    assert issubclass(StoreAway, StoreError)


def test_a_store_of_before_is_taken_over(tmp_path: Path) -> None:
    """Its tables had no groups and no outputs."""
    path = str(tmp_path / "grid.db")
    store = GridStore(path)
    with store._database.writing() as connection:
        connection.execute(text('ALTER TABLE jobs DROP COLUMN "group"'))
        connection.execute(text("DROP TABLE outputs"))
        connection.execute(text("UPDATE grid SET value = '1' WHERE key = 'schema'"))
    store.close()
    again = GridStore(path)
    assert again.jobs() == ()
    assert list(again.outputs(1)) == []
    again.close()
    GridStore(path).close()
