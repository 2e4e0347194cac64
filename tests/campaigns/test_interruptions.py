"""The loop is interrupted anywhere, again and again: nothing is lost or started twice, and all numbers are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from clusters import PaperCluster
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select

from batprotocol.campaigns.loop import Loop
from batprotocol.campaigns.model import (
    Campaign,
    ClusterProperties,
    GridJobState,
    GridSettings,
    Regulator,
    TaskState,
)
from batprotocol.campaigns.store import ClusterEntry, GridStore
from batprotocol.campaigns.store import _tables as tables

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

TASKS = 12


class Interrupted(Exception):
    """Something that nobody catches: what is not committed is rolled back, as after SIGKILL."""


class Fuse:
    """Counts what happens, and interrupts it at certain numbers."""

    def __init__(self, numbers: set[int]) -> None:
        self.count = 0
        self.safe = False
        self._numbers = numbers

    def burn(self, *_: object, **__: object) -> None:
        self.count += not self.safe
        if self.count in self._numbers and not self.safe:
            raise Interrupted


class Fragile(PaperCluster):
    """A cluster before and after each word to which the loop may be interrupted."""

    fuse = Fuse(set())

    def _guarded(self, work: Callable[[list[object]], None], items: list[object]) -> None:
        for item in items:
            self.fuse.burn()
            work([item])
        self.fuse.burn()


for _name in ("submit", "kill", "forget"):

    def _guard(self: Fragile, items: object, name: str = _name) -> None:
        self._guarded(getattr(super(Fragile, self), name), list(items))  # type: ignore[call-overload]

    setattr(Fragile, _name, _guard)


def check_numbers(store: GridStore) -> None:
    """What is counted is what there is."""
    with store._database.reading() as connection:
        for campaign in connection.execute(select(tables.campaigns)).all():
            of_campaign = select(tables.parameters.c.state).where(tables.parameters.c.campaign == campaign.id)
            states = Counter(connection.execute(of_campaign).scalars())
            failed = states[TaskState.EVENT] + states[TaskState.CANCELLED]
            assert (campaign.total, campaign.pending) == (sum(states.values()), states[TaskState.PENDING])
            assert (campaign.active, campaign.terminated) == (states[TaskState.ACTIVE], states[TaskState.TERMINATED])
            assert campaign.failed == failed
            open = select(tables.events.c.id).where(tables.events.c.campaign == campaign.id, tables.OPEN)
            assert campaign.events == len(connection.execute(open).all())


def run(store: GridStore, clusters: list[Fragile], regulator: Regulator, most: int = 200) -> None:
    """Cycles until all is done, each of which may be interrupted; then another loop goes on."""
    for _ in range(most):
        for cluster in clusters:
            cluster.pass_time(10.0)
        loop = Loop(store, clusters, GridSettings(regulator=regulator), lambda: clusters[0].time)
        try:
            if loop.cycle().idle:
                return
        except Interrupted:
            fuse = clusters[0].fuse
            fuse.safe = True
            check_numbers(store)
            fuse.safe = False
    raise AssertionError("it does not end")


def fragile(url: str, fuse: Fuse, grouped: bool = False) -> tuple[GridStore, list[Fragile]]:
    store = GridStore(url)
    clusters = [Fragile(name, 3) for name in ("a", "b")]
    for cluster in clusters:
        cluster.fuse = fuse
        store.register(ClusterEntry(name=cluster.name))
    says = tuple(
        ClusterProperties(cluster=cluster.name, exec_file="x", temporal_grouping=grouped) for cluster in clusters
    )
    store.submit(Campaign(user="u", name="n", clusters=says), [str(task) for task in range(TASKS)], now=0.0)
    event.listen(store._database.engine, "before_cursor_execute", fuse.burn)
    event.listen(store._database.engine, "commit", fuse.burn)
    return store, clusters


def check_all(store: GridStore, clusters: list[Fragile]) -> None:
    check_numbers(store)
    assert max(count for cluster in clusters for count in cluster.starts.values()) == 1
    assert {task.state for task in store.tasks(1)} == {TaskState.TERMINATED}
    well = Counter(job.task for job in store.jobs(1) if job.state is GridJobState.TERMINATED and not job.replica)
    assert set(well.values()) == {1}
    # Each job that was written down was started, unless it was to be killed before.
    started = {job for cluster in clusters for job in cluster.starts}
    assert {job.id for job in store.jobs(1) if job.kill is None} <= started
    assert all(cluster.look().jobs == () for cluster in clusters)


@settings(max_examples=10, deadline=None)
@given(
    numbers=st.sets(st.integers(1, 1500), max_size=40),
    regulator=st.sampled_from(["slow-start", "two-way", "exponential", "rate", "controller"]),
    grouped=st.booleans(),
)
def test_it_goes_on(numbers: set[int], regulator: Regulator, grouped: bool) -> None:
    fuse = Fuse(set())
    store, clusters = fragile("sqlite://", fuse, grouped)
    fuse._numbers = {fuse.count + number for number in numbers}
    run(store, clusters, regulator)
    fuse._numbers = set()
    run(store, clusters, regulator)  # what was to be forgotten is forgotten
    check_all(store, clusters)
    store.close()


@pytest.mark.minutes
@pytest.mark.timeout(1800)
def test_it_goes_on_from_everywhere(store_url: str) -> None:
    """Each single statement and word of a whole run is the place of an interruption."""
    fuse = Fuse(set())
    store, clusters = fragile("sqlite://", fuse)
    before = fuse.count
    run(store, clusters, "two-way")
    for number in range(1, fuse.count - before + 1):
        again = Fuse(set())
        store, clusters = fragile("sqlite://", again)
        again._numbers = {again.count + number}
        run(store, clusters, "two-way")
        run(store, clusters, "two-way")
        check_all(store, clusters)
        store.close()
