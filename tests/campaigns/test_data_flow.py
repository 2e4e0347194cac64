"""The specification's example of control and data flow, step by step against the store's tables.

Two campaigns: the first over the clusters c1, c2 and c3, the second over c2 and c4. The order is that of the note: the
predictor comes right after the updator (its steps 7 and 8 before step 2), and nikita wipes (step 9).
"""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Table, create_engine, select

from batprotocol.campaigns.entities import cycle, failures
from batprotocol.campaigns.model import (
    Campaign,
    ClusterProperties,
    Decisions,
    GridJob,
    GridJobState,
    GridSettings,
    Observation,
    RemoteJob,
)
from batprotocol.campaigns.store import GridStore
from batprotocol.campaigns.store import _tables as tables
from batprotocol.campaigns.store._store import ClusterEntry

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

CLUSTERS = ("c1", "c2", "c3", "c4")
SIZE = 4
SETTINGS = GridSettings(flood_rate=0.5)


def campaign(name: str, *clusters: str) -> Campaign:
    """A campaign on these clusters."""
    properties = tuple(ClusterProperties(cluster=each, exec_file="run.sh") for each in clusters)
    return Campaign(user=name, name=name, clusters=properties)


def rows(url: str, table: Table, *columns: str, **where: Any) -> list[tuple[Any, ...]]:
    """The rows of a table, as another program sees them, in order."""
    engine = create_engine(url if "://" in url else f"sqlite:///{url}")
    query = select(*(table.c[column] for column in columns)).where(
        *(table.c[key] == value for key, value in where.items())
    )
    with engine.connect() as connection:
        found = [tuple(row) for row in connection.execute(query)]
    engine.dispose()
    return sorted(found, key=str)


def run(store: GridStore, now: float, observations: list[Observation]) -> tuple[Decisions, tuple[GridJob, ...]]:
    """One cycle; what the runner is to submit."""
    with store.cycle() as books:
        update = failures.update(books.jobs(), observations, now=now, open_events=books.open_events())
        books.record(update, observations)
        decisions = cycle.decide(books.grid(now, SETTINGS.window), SETTINGS, books.tasks)
        return decisions, books.carry_out(decisions, now)


def test_the_example_step_by_step(store: GridStore, store_url: str) -> None:
    for name in CLUSTERS:
        store.register(ClusterEntry(name=name))
    tasks = [str(number) for number in range(100)]
    first = store.submit(campaign("first", "c1", "c2", "c3"), tasks, now=0.0)
    second = store.submit(campaign("second", "c2", "c4"), tasks, now=0.0)

    idle = [Observation(cluster=name, time=10.0, max=SIZE, free=SIZE) for name in CLUSTERS]
    decisions, launched = run(store, 10.0, idle)

    # 1. The updator retrieves information on resources, and stores it into the table gridstatus.
    assert rows(store_url, tables.gridstatus, "cluster", "max", "free") == [(name, SIZE, SIZE) for name in CLUSTERS]

    # 2., 3. The metascheduler activates the first campaign's scheduler with c1, c2 and c3, the second one's with c4.
    assert [(each.campaign, each.clusters) for each in decisions.launches] == [
        (first, ("c1", "c2", "c3")),
        (second, ("c4",)),
    ]

    # 4. Without an estimation the ratio is one resource for a job; the number of jobs is stored in the table forecasts.
    assert rows(store_url, tables.jobs_to_submit, "campaign", "cluster", "jobs") == [
        (first, "c1", 4),
        (first, "c2", 4),
        (first, "c3", 4),
        (second, "c4", 4),
    ]
    assert rows(store_url, tables.forecasts, "campaign", "cluster", "ratio", "nsub") == [
        (first, "", None, 0),
        (first, "c1", 1.0, 4),
        (first, "c2", 1.0, 4),
        (first, "c3", 1.0, 4),
        (second, "", None, 0),
        (second, "c2", 1.0, 0),
        (second, "c4", 1.0, 4),
    ]

    # 5., 6. The runner takes the jobs, each with a task of its own, and none twice.
    assert rows(store_url, tables.jobs, "state") == [("to_launch",)] * 16
    assert len({job.task for job in launched}) == 16
    by_cluster = {name: [job.id for job in launched if job.cluster == name] for name in CLUSTERS}

    # Then half of what c1 got ends, c2 and c4 run all that they got, and local jobs take all of c3: ours wait there.
    running = [
        *_told(by_cluster["c1"][:2], GridJobState.TERMINATED, exit_code=0, start_time=10.0, stop_time=20.0),
        *_told([number for name in ("c2", "c4") for number in by_cluster[name]], GridJobState.RUNNING, start_time=10.0),
        *_told(by_cluster["c1"][2:], GridJobState.RUNNING, start_time=10.0),
        *_told(by_cluster["c3"], GridJobState.REMOTE_WAITING),
    ]
    free = {"c1": 2, "c2": 0, "c3": 0, "c4": 0}
    seen = [
        Observation(
            cluster=name,
            time=25.0,
            max=SIZE,
            free=free[name],
            jobs=tuple(each for each in running if each.job in by_cluster[name]),
        )
        for name in CLUSTERS
    ]
    decisions, launched = run(store, 25.0, seen)

    # 7., 8. The predictor: 2 of the 4 jobs on c1 run (4 / 2); 4 wait on c3 where 2 may ((4 - 2) / 4). The second
    # campaign has no estimation yet. The throughput foretells the first one's end.
    assert rows(store_url, tables.forecasts, "cluster", "ratio", "nsub", campaign=first)[1:] == [
        ("c1", 2.0, 4),
        ("c2", 1.0, 0),
        ("c3", 0.5, 0),
    ]
    assert rows(store_url, tables.forecasts, "cluster", "ratio", campaign=second)[1:] == [("c2", 1.0), ("c4", 1.0)]
    ((rate, end, method),) = rows(
        store_url, tables.forecasts, "throughput", "end", "method", campaign=first, cluster=""
    )
    assert (rate, method) == (2 / 15, "throughput")
    waiting, alive = 100 - 12 + 4, 6
    assert end == 25.0 + (waiting + alive / 2) / rate

    # 2. to 6. again: two resources are free on c1, which is twice as many jobs now.
    assert rows(store_url, tables.jobs_to_submit, "campaign", "cluster", "jobs") == [(first, "c1", 4)]
    assert [job.cluster for job in launched] == ["c1"] * 4

    # 9. Excessive waiting jobs are wiped, the newest first, yet a small number is left.
    wiped = rows(store_url, tables.jobs, "id", "state", kill="FRAG")
    assert wiped == [(number, "remote_waiting") for number in by_cluster["c3"][2:]]

    # "The aborted jobs will be rescheduled on a further iteration", before others.
    killed = _told(by_cluster["c3"][2:], GridJobState.TERMINATED, exit_code=9)
    on_c1 = _told([*by_cluster["c1"][2:], *(job.id for job in launched)])
    after = [Observation(cluster="c1", time=40.0, max=SIZE, free=0, jobs=on_c1)]
    after.append(Observation(cluster="c3", time=40.0, max=SIZE, free=1, jobs=(*killed, *running[-4:-2])))
    again = rows(store_url, tables.jobs, "task", kill="FRAG")
    decisions, launched = run(store, 40.0, after)
    assert [(job.cluster, job.task) for job in launched] == [("c3", min(again)[0])]


def _told(jobs: list[int], state: GridJobState = GridJobState.RUNNING, **more: Any) -> tuple[RemoteJob, ...]:
    return tuple(RemoteJob(job=number, state=state, remote_id=f"r{number}", **more) for number in jobs)
