"""Jobs that start beside reservations which move: what earlier attempts have shown changes no decision."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import pytest

from batprotocol.model import DelayProfile
from batprotocol.policies import Policy, SiteRules, named
from batprotocol.policies.availability import Amount
from batprotocol.policies.site.futures import HostTimeline
from batprotocol.policies.site.reservations import ReservationPlanner, TriedBeside
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate

WITHOUT_ENGINE = True
WHOLE: Amount = (8, 4)
AMOUNTS: list[Amount] = [(8, 0), (1, 1), (1, 2), (3, 4)]


def decisions(seed: int) -> list[tuple[object, ...]]:
    """The starts and hosts of random jobs on a site with partitions that share hosts."""
    random = Random(seed)
    hosts, place, time = random.choice([4, 8, 20]), random.random(), 0.0
    first, last = int(place * hosts / 2), hosts - 1 - int(place * hosts / 3)
    tables: dict[str, Any] = {
        "partitions": {
            "batch": {"hosts": f"n[0-{last}]", "default": True, "tier": random.choice([1, 2])},
            "debug": {"hosts": f"n[{first}-{hosts - 1}]", "tier": random.choice([1, 1, 2])},
            "long": {"hosts": f"n[0-{hosts - 1}]", "tier": 1},
        }
    }
    if random.random() < 0.2:
        tables["reservations"] = {"lab": {"hosts": "n[0-1]", "begin": 30.0, "end": 90.0, "users": ["1"]}}
    jobs = []
    for number in range(60):
        time += random.choice([0.0, 0.0, random.uniform(0, 9)])
        walltime = random.choice([float(random.randint(1, 40)), round(random.uniform(1, 40), 3)])
        extra: dict[str, Any] = {"user": str(random.randrange(3))}
        if random.random() < 0.6:
            extra |= {"cores": random.choice([1, 2, 4]), "memory": random.choice(["1G", "4G"])}
        if random.random() < 0.6:
            extra["partition"] = random.choice(["batch", "debug", "batch,debug", "long", "debug,long"])
        size = min(random.randint(1, hosts), random.randint(1, hosts), last + 1, hosts - first)
        profile = DelayProfile(walltime * random.choice([1.0, 1.2, random.random()]))
        jobs.append(StaticJob(str(number), time, size, profile, walltime=walltime, extra_data=json.dumps(extra)))
    plain = named(random.choice(["easy", "easy", "easy-sjf", "easy=sjf", "easy=strict", "easy=once", "easy+pack"]))()
    policy = Policy(plain.order, plain.backfilling, plain.allocation, site=SiteRules.of(tables))
    result = simulate(described_platform(f"n[0-{hosts - 1}] cores=8 memory=16G"), Workload(jobs), policy)
    return [(job.job_id, job.starting_time, str(job.allocated_resources), job.final_state) for job in result.jobs]


def compare(seed: int, patch: pytest.MonkeyPatch) -> None:
    with patch.context() as changed:
        changed.setattr(ReservationPlanner, "remembers", False)
        expected = decisions(seed)
    assert decisions(seed) == expected, seed


@pytest.mark.parametrize("seed", range(20))
def test_what_attempts_have_shown_changes_no_decision(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(seed, monkeypatch)


@pytest.mark.minutes
@pytest.mark.parametrize("begin", range(1000, 3000, 200))
def test_what_attempts_have_shown_changes_no_decision_in_many_sites(
    begin: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(begin, begin + 200):
        compare(seed, monkeypatch)


def test_few_attempts_are_made_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    may_move = TriedBeside.may_move

    def counted(tried: TriedBeside, *given: Any) -> bool:
        asked.append(may_move(tried, *given))
        return asked[-1]

    monkeypatch.setattr(TriedBeside, "may_move", counted)
    for seed in range(20):
        decisions(seed)
    assert asked.count(False) > 50
    assert asked.count(True) > 50


@pytest.mark.parametrize("seed", range(40))
def test_what_was_tried_and_given_back_leaves_no_trace(seed: int) -> None:
    random, timeline, now = Random(seed), HostTimeline(dict.fromkeys(range(6), WHOLE)), 0.0
    taken: list[tuple[list[int], float, float, Amount]] = []

    def drawn() -> tuple[list[int], float, float, Amount]:
        begin = now + random.choice([0.0, random.uniform(0, 20)])
        return random.sample(range(6), 3), begin, begin + random.uniform(0.1, 20), random.choice(AMOUNTS)

    def answers(timeline: HostTimeline) -> list[object]:
        chance = Random(seed)
        lasting = [timeline.lasting(host, amount, now) for host in range(6) for amount in AMOUNTS]
        changed = timeline.changed_since(range(6), timeline.changes - chance.randint(0, 5))
        return [lasting, changed, timeline.changes, [*timeline.moments()], timeline.since(timeline.changes - 3)]

    for _ in range(20):
        now += random.choice([0.0, random.random()])
        timeline.advance(now)
        taken.append(drawn())
        timeline.take(*taken[-1])
        if random.random() < 0.4:
            timeline.give_back(*taken.pop(random.randrange(len(taken))))
        answers(timeline)
        before, tried = copy.deepcopy(timeline), [drawn() for _ in range(random.randint(0, 4))]
        timeline.attempt()
        for each in tried:
            timeline.take(*each)
            answers(timeline)
        for each in random.sample(tried, len(tried)):
            timeline.give_back(*each)
        if random.random() < 0.8:
            timeline.undone_all()
            assert answers(timeline) == answers(before)
        else:
            timeline.succeeded()
            assert timeline.changes == before.changes + 2 * len(tried)
            assert [*timeline.moments()] == [*before.moments()]
