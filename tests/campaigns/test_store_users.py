"""What users ask of the store: it is done, or refused with nothing changed; and who may ask at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from clusters import PaperCluster

from batprotocol.campaigns.loop import Loop
from batprotocol.campaigns.model import (
    Campaign,
    CampaignState,
    ClusterProperties,
    GridJobState,
    GridSettings,
    KillReason,
    TaskState,
    UserPriority,
)
from batprotocol.campaigns.store import ClusterEntry, GridStore
from batprotocol.errors import StoreError

WITHOUT_ENGINE = True

SAYS = (ClusterProperties(cluster="a", exec_file="x"),)


def submit(store: GridStore, tasks: int = 5, user: str = "alice") -> int:
    store.register(ClusterEntry(name="a"))
    campaign = Campaign(user=user, name="n", clusters=SAYS)
    return store.submit(campaign, [f"t{number} x" for number in range(tasks)], now=1.0, jdl='{"name":"n"}')


def loop_of(store: GridStore, cluster: PaperCluster) -> Loop:
    return Loop(store, [cluster], GridSettings(finalize=False), lambda: cluster.time)


def test_a_campaign_without_a_name_is_called_by_its_number(store: GridStore) -> None:
    """Its expected number may be wrong: other campaigns were submitted meanwhile."""
    store.register(ClusterEntry(name="a"))
    given = [("", 0), ("1", 1), ("7", 7), ("1", 0), ("0", 0), ("n", 4)]
    for name, expected in given:
        store.submit(Campaign(id=expected, user="u", name=name, clusters=SAYS), ["x"], now=1.0, jdl="{}")
    called = [each.campaign.name for each in sorted(store.campaigns(), key=lambda status: status.campaign.id)]
    assert called == ["1", "2", "3", "1", "0", "n"]


def test_what_is_submitted_is_there(store: GridStore) -> None:
    number = submit(store)
    status = store.campaign(number)
    assert status is not None
    assert (status.campaign.user, status.campaign.clusters, status.total, status.pending) == ("alice", SAYS, 5, 5)
    assert [task.name for task in store.tasks(number)] == ["t0", "t1", "t2", "t3", "t4"]
    assert store.jdl(number) == '{"name":"n"}'
    assert (store.campaigns("bob"), len(store.campaigns("alice"))) == ((), 1)
    store.add_tasks(number, "alice", ["t5", "t6"])
    assert [task.name for task in store.tasks(number, after=store.tasks(number)[4].id)] == ["t5", "t6"]


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (lambda store: store.add_tasks(1, "alice", ["new", "t0"]), "a new task has the name of an existing one"),
        (lambda store: store.add_tasks(1, "alice", ["new", "new"]), "two tasks have the name 'new'"),
        (lambda store: store.add_tasks(1, "bob", ["new"]), "user 'bob' is not the owner of campaign 1, but 'alice' is"),
        (lambda store: store.pause(2, "alice"), "there is no campaign 2"),
        (lambda store: store.resume(1, "alice"), "campaign 1 is in_treatment: it cannot be resumed"),
        (lambda store: store.cancel(1, "bob"), "user 'bob' is not the owner"),
        (lambda store: store.purge(1, "alice"), "campaign 1 has not ended"),
        (lambda store: store.kill_job(1, "alice"), "there is no job 1"),
        (lambda store: store.fix("alice", event=1), "there is no event 1"),
        (lambda store: store.fix("bob", campaign=1), "user 'bob' is not the owner"),
        (lambda store: store.enable("b", False), "there is no cluster b"),
    ],
)
def test_what_is_refused_changes_nothing(store: GridStore, ask: Callable[[GridStore], object], reason: str) -> None:
    number = submit(store)
    before = (store.campaign(number), store.tasks(number), store.clusters())
    with pytest.raises(StoreError, match=reason.replace("(", r"\(")):
        ask(store)
    assert (store.campaign(number), store.tasks(number), store.clusters()) == before


def test_a_paused_campaign_gets_nothing(store: GridStore) -> None:
    number, cluster = submit(store), PaperCluster("a", 2)
    store.pause(number, "alice")
    assert loop_of(store, cluster).cycle().launched == ()
    store.resume(number, "alice")
    assert len(loop_of(store, cluster).cycle().launched) == 2


def test_a_cancelled_campaign_ends(store: GridStore) -> None:
    number, cluster = submit(store), PaperCluster("a", 2)
    loop = loop_of(store, cluster)
    loop.cycle()
    loop.cycle()
    store.cancel(number, "alice")
    with pytest.raises(StoreError, match="campaign 1 is already cancelled"):
        store.cancel(number, "alice")
    assert {job.kill for job in store.jobs(number, active=True)} == {KillReason.USER}
    for _ in range(3):
        cluster.time += 5.0
        loop.cycle()
    assert {job.state for job in store.jobs(number)} == {GridJobState.EVENT}
    assert {task.state for task in store.tasks(number)} == {TaskState.CANCELLED}
    assert cluster.look().jobs == ()
    store.purge(number, "alice")
    assert (store.campaign(number), store.jobs(number), store.tasks(number)) == (None, (), ())


def test_numbers_are_never_given_again(store: GridStore) -> None:
    first = submit(store)
    store.cancel(first, "alice")
    store.purge(first, "alice")
    assert submit(store) == first + 1


def test_what_failed_is_fixed_and_done_again(store: GridStore) -> None:
    number, cluster = submit(store, tasks=2), PaperCluster("a", 4)
    loop = loop_of(store, cluster)
    for _ in range(3):
        cluster.pass_time(5.0, exit_code=256)
        loop.cycle()
    status = store.campaign(number)
    assert status is not None
    assert (status.failed, status.campaign.state) == (2, CampaignState.TERMINATED)
    events = store.events(number)
    assert [event.code for event in events] == ["EXIT_ERROR", "BLACKLIST", "EXIT_ERROR", "BLACKLIST"]
    assert [event.parent for event in events if event.code == "BLACKLIST"] == [events[0].id, events[2].id]
    assert store.fix("alice", campaign=number, resubmit=True) == 4
    for _ in range(3):
        cluster.pass_time(5.0)
        loop.cycle()
    status = store.campaign(number)
    assert status is not None
    assert (status.terminated, status.failed, status.events) == (2, 0, 0)
    assert store.events(number) == ()
    assert len(store.events(number, closed=True)) == 4


def test_clusters_and_preferences(store: GridStore) -> None:
    first = store.register(ClusterEntry(name="a", batch="local", address="/a", resources=4))
    assert store.register(ClusterEntry(name="b", batch="dask", address="tcp://h:1", power=2.0)).id == 2
    assert store.register(ClusterEntry(name="a", batch="local", address="/b")).id == first.id
    store.enable("b", False)
    assert [(each.name, each.address, each.enabled) for each in store.clusters()] == [
        ("a", "/b", True),
        ("b", "tcp://h:1", False),
    ]
    store.prefer(UserPriority("alice", "a", 3))
    store.prefer(UserPriority("alice", "a", 4))
    with store.cycle() as books:
        assert books.grid(0.0, 7200.0).priorities == (UserPriority("alice", "a", 4),)


@pytest.mark.slow
def test_one_loop_at_a_time(store: GridStore, store_url: str) -> None:
    other = GridStore(store_url)
    with store.only_loop(), pytest.raises(StoreError, match="another loop runs its campaigns"), other.only_loop():
        pass
    with other.only_loop():
        pass
    other.close()


@pytest.mark.slow
def test_users_and_the_loop_at_the_same_time(store: GridStore, store_url: str) -> None:
    """Campaigns are submitted, paused and cancelled while the loop runs; all numbers are right in the end."""
    submit(store, tasks=30)
    cluster = PaperCluster("a", 3)
    loop = loop_of(store, cluster)
    troubles: list[BaseException] = []

    def use(user: str) -> None:
        own = GridStore(store_url)
        try:
            for _ in range(4):
                number = submit(own, tasks=10, user=user)
                try:
                    own.pause(number, user)
                    own.resume(number, user)
                    own.cancel(number, user)
                except StoreError as error:
                    if "terminated" not in str(error):  # else the loop has been quicker
                        raise
        except BaseException as error:
            troubles.append(error)
        finally:
            own.close()

    users = [threading.Thread(target=use, args=(name,)) for name in ("bob", "carol")]
    for thread in users:
        thread.start()
    while any(thread.is_alive() for thread in users) or not loop.cycle().idle:
        cluster.pass_time(5.0)
        loop.cycle()
    assert troubles == []
    statuses = store.campaigns(ended=True)
    assert len(statuses) == 9
    for status in statuses:
        assert (status.pending, status.active) == (0, 0)
        assert status.terminated + status.failed == status.total
    assert statuses[0].terminated == 30
    assert set(cluster.starts.values()) == {1}


def test_what_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is no database, but long enough to look like a file " * 20)
    for url, reason in (
        (str(tmp_path / "text"), "file is not a database"),
        (str(tmp_path / "missing" / "grid.db"), "unable to open database file"),
        ("mysql://h/x", "expected the name of a file or the URL of SQLite or PostgreSQL: got mysql"),
        ("postgresql://x@/x?host=/nowhere", "connection .*failed|connection is bad"),
    ):
        with pytest.raises(StoreError, match=reason):
            GridStore(url)
