"""The reservations of long queues that stay or move: in one walk, in C and in Python, as one by one."""

from __future__ import annotations

import copy
import json
import math
from random import Random
from typing import Any

import pytest

from batprotocol.model import DelayProfile
from batprotocol.policies import Policy, SiteRules, named
from batprotocol.policies.availability import Amount
from batprotocol.policies.jobs import JobKind
from batprotocol.policies.site import futures, plan, state
from batprotocol.policies.site.futures import HostTimeline, PythonHostSteps
from batprotocol.policies.site.reservations import ReservationPlanner
from batprotocol.policies.site.state import PythonOpenHosts
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate

WITHOUT_ENGINE = True
AMOUNTS: list[Amount] = [(8, 0), (1, 1), (1, 2), (3, 4)]


def tables_of(random: Random, hosts: int) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    if random.random() < 0.4:
        last = random.randint(hosts // 2, hosts - 1)
        tables["partitions"] = {
            "batch": {"hosts": f"n[0-{last}]", "default": True, "tier": random.choice([1, 1, 2])},
            "debug": {"hosts": f"n[{random.randint(0, last)}-{hosts - 1}]", "tier": 1},
        }
    if random.random() < 0.4:
        tables["per_user"] = random.choice([{"running": random.randint(1, 5)}, {"hosts": random.randint(2, hosts)}])
    if random.random() < 0.2:
        tables["priority"] = {"weight_age": 1000, "weight_fairshare": random.choice([0, 1000])}
    if random.random() < 0.2:
        tables["reservations"] = {"all": {"hosts": "ALL", "begin": 40.0, "end": 70.0, "maintenance": True}}
    return tables


def decisions(seed: int) -> list[tuple[object, ...]]:
    """The starts and hosts of random jobs on a site, all of which have reservations."""
    random, time = Random(seed), 0.0
    hosts, shares, at_once = random.choice([4, 8, 70]), random.random() < 0.5, random.random() < 0.5
    tables, jobs = tables_of(random, hosts), list[StaticJob]()
    for number in range(60):
        time += 0.0 if at_once else random.choice([0.0, random.uniform(0, 9)])
        walltime = random.choice([float(random.randint(1, 40)), round(random.uniform(1, 40), 3)])
        extra: dict[str, Any] = {"user": str(random.randrange(3))}
        if shares and random.random() < 0.6:
            extra |= {"cores": random.choice([1, 2, 4]), "memory": random.choice(["1G", "4G"])}
        if "partitions" in tables and random.random() < 0.4:
            extra["partition"] = random.choice(["debug", "batch,debug"])
        size = min(random.randint(1, hosts), random.randint(1, hosts))
        profile = DelayProfile(walltime * random.choice([1.0, 1.2, random.random(), random.random()]))
        jobs.append(StaticJob(str(number), time, size, profile, walltime=walltime, extra_data=json.dumps(extra)))
    plain = named(random.choice(["conservative"] * 4 + ["conservative-sjf", "multifactor+conservative"]))()
    policy = Policy(plain.order, plain.backfilling, plain.allocation, site=SiteRules.of(tables))
    result = simulate(described_platform(f"n[0-{hosts - 1}] cores=8 memory=16G"), Workload(jobs), policy)
    return [(job.job_id, job.starting_time, str(job.allocated_resources), job.final_state) for job in result.jobs]


def compare(seed: int, patch: pytest.MonkeyPatch) -> None:
    found = decisions(seed)
    with patch.context() as changed:
        changed.setattr(ReservationPlanner, "remembers", False)
        assert decisions(seed) == found, seed
    with patch.context() as changed:
        changed.setattr(futures, "HostSteps", PythonHostSteps)
        changed.setattr(state, "OpenHosts", PythonOpenHosts)
        changed.setattr(plan, "keep", plan.python_keep)
        assert decisions(seed) == found, seed


@pytest.mark.parametrize("seed", range(12))
def test_walks_decide_as_plans_that_look_at_each_entry(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(seed, monkeypatch)


@pytest.mark.minutes
@pytest.mark.parametrize("begin", range(1000, 3000, 200))
def test_walks_decide_as_plans_that_look_at_each_entry_on_many_sites(
    begin: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(begin, begin + 200):
        compare(seed, monkeypatch)


def test_most_entries_are_kept_in_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    walk, looked, passed = plan.python_keep, list[int](), list[int]()

    def counted(entries: Any, given: plan.Walk, *rest: Any) -> Any:
        before = len(given.seen)
        entry = walk(entries, given, *rest)
        passed.append(len(given.seen) - before)
        looked.append(entry is not None)
        return entry

    monkeypatch.setattr(plan, "keep", counted)
    monkeypatch.setattr(plan, "python_keep", counted)
    for seed in range(8):
        decisions(seed)
    assert sum(passed) > sum(looked) > 50


@pytest.mark.parametrize("seed", range(10))
def test_an_amount_moves_as_it_is_given_back_and_taken(seed: int) -> None:
    random, timeline, now = Random(seed), HostTimeline(dict.fromkeys(range(70), (8, 8))), 0.0
    open_hosts = state.OpenHostsOfKinds(timeline)
    kinds = [JobKind(amount, frozenset(range(70)), dict.fromkeys(range(70), (8, 8))) for amount in AMOUNTS]
    for kind in kinds:
        open_hosts.of(kind, now)
    placed = []
    for _ in range(20):
        some, begin = sorted(random.sample(range(70), random.randint(1, 30))), random.uniform(0, 20)
        placed.append((some, begin, random.uniform(0.1, 20), random.choice(AMOUNTS)))
        timeline.take(some, begin, begin + placed[-1][2], placed[-1][3])
    for _ in range(20):
        now += random.choice([0.0, random.random()])
        timeline.advance(now)
        open_hosts.advance(now)
        hosts, begin, seconds, amount = placed.pop(random.randrange(len(placed)))
        others, start = sorted(random.sample(range(70), len(hosts))), now + random.uniform(0, 20)
        other = copy.deepcopy(timeline)
        other.watcher = None
        timeline.move(hosts, begin, others, start, seconds, amount, open_hosts.known)
        other.give_back(hosts, begin, begin + seconds, amount)
        other.take(others, start, start + seconds, amount)
        placed.append((others, start, seconds, amount))
        assert [*timeline.moments()] == [*other.moments()]
        assert timeline.since(timeline.changes - 2) == other.since(other.changes - 2)
        every = range(70)
        assert timeline.changed_since(every, timeline.changes - 2) == other.changed_since(every, other.changes - 2)
        for kind in kinds:
            assert timeline.lasting(hosts[0], kind.amount, now) == other.lasting(hosts[0], kind.amount, now)
            asked = random.randint(1, 70), 3.0, now, math.inf
            found = open_hosts.known[kind].earliest(*asked)
            anew = PythonOpenHosts(kind.hosts, kind.amount, now)
            for host in every:
                times, free = other.steps.following(host, now)
                steps = PythonHostSteps()
                steps.open(host, times, free)
                anew.change(steps, [host], now, math.inf)
            assert found == anew.earliest(*asked)


def test_a_walk_takes_what_a_plan_gives() -> None:
    if plan.keep is plan.python_keep:
        return
    with pytest.raises(TypeError, match="expected entries"):
        plan.keep(iter(()), (), 0, 0.0, 0.0)  # type: ignore[arg-type]
    given = plan.Walk({}, {}, set(), {}, set(), {}, PythonHostSteps(), set(), lambda *_: 0, None)
    with pytest.raises(TypeError, match="expected dictionaries"):
        plan.keep(iter(()), given, 0, 0.0, 0.0)
    assert plan.keep(iter(()), given._replace(steps=futures.HostSteps()), 0, 0.0, 0.0) is None
    with pytest.raises(TypeError, match="steps of hosts"):
        futures.move_amount(PythonHostSteps(), {}, [], 0.0, [], 0.0, 1.0, (1,), 0.0, {}, set(), 0)
