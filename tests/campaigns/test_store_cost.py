"""A cycle of a hundred campaigns takes a part of a second, and no longer for all that has ended."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from clusters import PaperCluster
from sqlalchemy import event, insert, select, update

from batprotocol.campaigns.loop import Loop
from batprotocol.campaigns.model import Campaign, ClusterProperties, GridJobState, GridSettings, TaskState
from batprotocol.campaigns.store import ClusterEntry, GridStore
from batprotocol.campaigns.store import _tables as tables

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

CLUSTERS = ("c1", "c2", "c3", "c4")


def filled(store: GridStore, campaigns: int, tasks: int) -> tuple[Loop, list[PaperCluster]]:
    """A store of many campaigns, and the loop for it."""
    clusters = [PaperCluster(name, 100) for name in CLUSTERS]
    for cluster in clusters:
        store.register(ClusterEntry(name=cluster.name))
    says = tuple(ClusterProperties(cluster=name, exec_file="x") for name in CLUSTERS)
    for number in range(campaigns):
        campaign = Campaign(user=f"u{number % 7}", name=f"n{number}", clusters=says)
        store.submit(campaign, [str(task) for task in range(tasks)], now=0.0)
    return Loop(store, clusters, GridSettings(), lambda: clusters[0].time), clusters


def end_tasks(store: GridStore, share: float, tasks: int) -> None:
    """As if this share of the tasks of all campaigns had ended a moment ago, each in one job."""
    with store._database.writing() as connection:
        for campaign in connection.execute(select(tables.campaigns.c.id)).scalars().all():
            count = int(tasks * share)
            columns = tables.parameters.c
            pending = select(columns.id).where(columns.campaign == campaign, columns.state == "pending")
            chosen = list(connection.execute(pending.order_by(columns.id.desc()).limit(count)).scalars())
            if not chosen:  # it comes first, and has been done
                continue
            for begin in range(0, len(chosen), 500):
                ended = update(tables.parameters).where(columns.id.in_(chosen[begin : begin + 500]))
                connection.execute(ended.values(state=str(TaskState.TERMINATED)))
            rows = [
                {
                    "id": 10_000_000 + task,
                    "campaign": campaign,
                    "task": task,
                    "cluster": CLUSTERS[task % 4],
                    "state": str(GridJobState.TERMINATED),
                    "active": False,
                    "submission_time": 0.0,
                    "start_time": 0.0,
                    "stop_time": 1.0,
                    "exit_code": 0,
                    "weight": 1,
                }
                for task in chosen
            ]
            connection.execute(insert(tables.jobs), rows)
            numbers = tables.campaigns.c
            counted = {"pending": numbers.pending - len(chosen), "terminated": numbers.terminated + len(chosen)}
            connection.execute(update(tables.campaigns).where(numbers.id == campaign).values(**counted))


def cycles(loop: Loop, clusters: list[PaperCluster], count: int) -> list[float]:
    """So many cycles, in which all jobs end; the seconds of this process that each takes."""
    seconds = []
    for _ in range(count):
        for cluster in clusters:
            cluster.pass_time(10.0)
        began = time.process_time()
        loop.cycle()
        seconds.append(time.process_time() - began)
    return seconds


@pytest.fixture
def scanned(store: GridStore) -> Iterator[list[str]]:
    """What the queries of cycles go through without an index."""
    found: list[str] = []

    def plan(connection: object, cursor: object, statement: str, parameters: object, *rest: object) -> None:
        if statement.lstrip().startswith(("SELECT", "UPDATE", "DELETE")) and not rest[1]:
            asked = store._database.engine.raw_connection()
            rows = asked.cursor().execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            found.extend(row[3] for row in rows)
            asked.close()

    if store.url.startswith("sqlite"):
        event.listen(store._database.engine, "before_cursor_execute", plan)
    return found


def test_what_has_ended_is_not_gone_through(store: GridStore, scanned: list[str]) -> None:
    """The large tables are only ever searched by an index; and the same rows are read whatever has ended."""
    loop, clusters = filled(store, 3, 40)
    cycles(loop, clusters, 3)
    large = ("parameters", "jobs", "events", "gridstatus", "forecasts_history", "tasks_affinity", "finished")
    assert [text for text in scanned if text in {f"SCAN {name}" for name in large}] == []
    if scanned:
        assert {"SCAN jobs USING INDEX jobs_active", "SEARCH parameters USING INDEX bag_of_tasks (campaign=?)"} <= set(
            scanned
        )


@pytest.mark.minutes
@pytest.mark.timeout(1800)
def test_a_hundred_campaigns_of_ten_thousand_tasks(store: GridStore) -> None:
    loop, clusters = filled(store, 100, 10_000)
    cycles(loop, clusters, 3)
    before = cycles(loop, clusters, 10)
    end_tasks(store, 0.5, 10_000)
    cycles(loop, clusters, 3)
    middle = cycles(loop, clusters, 10)
    end_tasks(store, 0.4, 10_000)
    cycles(loop, clusters, 3)
    after = cycles(loop, clusters, 10)
    # In each second cycle, jobs are started. The least of several is what the cycles themselves take.
    pairs = [min(map(sum, zip(each[::2], each[1::2], strict=True))) / 2 for each in (before, middle, after)]
    print(store.url.partition(":")[0], [f"{seconds:.3f} s" for seconds in pairs])
    assert max(*before, *middle, *after) < 1.0
    assert pairs[2] < 1.5 * pairs[0]
