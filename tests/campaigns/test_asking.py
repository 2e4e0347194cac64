"""Clusters are asked side by side: one that does not answer keeps nobody waiting, one that nobody uses is not asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, ItemsView
from itertools import pairwise

import pytest
from clusters import PaperCluster

from batprotocol.campaigns.loop import ClusterConnections, Cycle, Loop
from batprotocol.campaigns.managers import ResourceManager
from batprotocol.campaigns.model import Campaign, ClusterProperties, GridSettings, Observation
from batprotocol.campaigns.store import ClusterEntry, GridStore
from batprotocol.errors import ClusterError

WITHOUT_ENGINE = True

PATIENCE = 0.01


class Slow(PaperCluster):
    """Answers when the test lets it, or fails."""

    def __init__(self, name: str, resources: int) -> None:
        super().__init__(name, resources)
        self.asked = 0
        self.reachable = True
        self.may_answer, self.is_asked = threading.Event(), threading.Event()

    def look(self) -> Observation:
        self.asked += 1
        self.is_asked.set()
        self.may_answer.wait()
        if not self.reachable:
            raise ClusterError("nobody is there", self.name)
        return super().look()


def world(*names: str, tasks: int = 8, patience: float = PATIENCE) -> tuple[GridStore, Loop, PaperCluster, Slow]:
    """A loop upon a cluster that answers and one that is slow, and a campaign on those of these names."""
    store, quick, slow = GridStore("sqlite://"), PaperCluster("quick", 2), Slow("slow", 2)
    for cluster in (slow, quick):
        store.register(ClusterEntry(name=cluster.name))
    says = tuple(ClusterProperties(cluster=name, exec_file="x") for name in names)
    store.submit(Campaign(user="u", name="n", clusters=says), [str(task) for task in range(tasks)], now=0.0)
    return store, Loop(store, [slow, quick], GridSettings(finalize=False), lambda: quick.time, patience), quick, slow


def on(cycle: Cycle) -> set[str]:
    return {job.cluster for job in cycle.launched}


def settled(loop: Loop, slow: Slow) -> Cycle:
    """The cycle in which a slow cluster's answer is taken up."""
    while True:
        cycle = loop.cycle()
        if heard(cycle, slow):
            return cycle


def heard(cycle: Cycle, slow: Slow) -> bool:
    return any(seen.cluster == slow.name for seen in cycle.observations)


def test_others_go_on_while_one_does_not_answer() -> None:
    store, loop, quick, slow = world("quick", "slow", tasks=100)
    for _ in range(3):
        cycle = loop.cycle()
        assert on(cycle) <= {"quick"}, "nothing is known of what is free on the other"
        quick.pass_time(1.0)
    slow.is_asked.wait()
    assert slow.asked == 1, "it has yet to answer"
    assert store.events() == ()
    slow.may_answer.set()
    while "slow" not in on(settled(loop, slow)):
        quick.pass_time(1.0)
    loop.close()


@pytest.mark.slow
def test_one_that_fails_is_asked_more_and_more_rarely() -> None:
    store, loop, quick, slow = world("quick", "slow", patience=600.0)  # each cycle has its answer
    slow.reachable = False
    slow.may_answer.set()
    settled(loop, slow)
    assert [event.code for event in store.events()] == ["CONNECTION_REFUSED", "BLACKLIST"]
    asked = []
    for _ in range(130):
        quick.time += 1.0
        before = slow.asked
        cycle = loop.cycle()
        if slow.asked > before:
            asked.append(quick.time)
            if not heard(cycle, slow):
                settled(loop, slow)
    pauses = [later - earlier for earlier, later in pairwise(asked)]
    assert pauses[:3] == [2.0, 4.0, 8.0]
    assert max(pauses) == 60.0
    slow.reachable = True
    quick.time += 60.0
    settled(loop, slow)
    assert store.events() == ()
    loop.close()


def test_a_late_answer_to_another_question_is_no_answer_to_this_one() -> None:
    may_answer = threading.Event()
    clusters = ClusterConnections([PaperCluster("quick", 2), PaperCluster("slow", 2)], PATIENCE)
    assert clusters.ask("request", {"slow": lambda manager: may_answer.wait()}, 0.0) == ({}, [])
    (asked,) = (station.asked for station in clusters._stations.values() if station.asked is not None)

    class Meanwhile(dict[str, Callable[[ResourceManager], str]]):
        """Questions, of which the first is asked only when the answer to an earlier one has come."""

        def items(self) -> ItemsView[str, Callable[[ResourceManager], str]]:
            may_answer.set()
            asked.result()
            return super().items()

    answers, errors = clusters.ask("look", Meanwhile(quick=lambda manager: "seen"), 0.0)
    assert "slow" not in answers
    assert errors == []
    clusters.close()


def test_one_that_nobody_uses_is_not_asked() -> None:
    store, loop, quick, slow = world("quick")
    while not loop.cycle().idle:
        quick.pass_time(1.0)
    assert slow.asked == 0
    assert quick.look().jobs == ()
    loop.close()
    store.close()
