"""The order `multifactor` on a site: by the priorities of its rules, as computed by hand and as each decision sorts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from batprotocol.model import DelayProfile
from batprotocol.policies import EASY, Multifactor, Policy, PolicyNameError, SiteRules, named
from batprotocol.policies.jobs import SiteEntry
from batprotocol.policies.site.state import SiteQueue
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate

WITHOUT_ENGINE = True

ACCOUNTS = {
    "physics": {"shares": 3, "users": {"ada": 1, "bo": 2}},
    "optics": {"parent": "physics", "shares": 2},
    "biology": {"shares": 1, "users": {"cy": 1}},
}


def job(name: str, at: float, time: float, size: int = 1, **data: Any) -> StaticJob:
    return StaticJob(name, at, size, DelayProfile(time), walltime=time + 5, extra_data=json.dumps(data))


def order_of(
    jobs: list[StaticJob], hosts: str = "n0 cores=4 memory=8G gres=gpu:2", **tables: Any
) -> tuple[list[str], Policy]:
    policy = Policy(Multifactor(), backfilling=EASY(), site=SiteRules.of(tables))
    result = simulate(described_platform(hosts), Workload(jobs, {}), policy)
    assert result.is_complete
    started = sorted((row.starting_time, row.job_id) for row in result.jobs if row.starting_time is not None)
    assert len(started) == len(jobs)
    return [job_id for _, job_id in started], policy


def test_fair_share_of_users_and_accounts() -> None:
    # Ada uses the machine for 100 s. Then biology is first, and of physics Bo, who has not used it yet.
    jobs = [job("0", 0, 100, user="ada"), *(job(user, 10, 10, user=user) for user in ("ada", "bo", "cy"))]
    for fair_tree in (True, False):
        rules = {"weight_fairshare": 1000, "fair_tree": fair_tree}
        order, _ = order_of(jobs, accounts=ACCOUNTS, priority=rules)
        assert order == ["0", "cy", "bo", "ada"]


def test_usage_counts_while_jobs_run() -> None:
    # Nothing has ended when the second host is free: only the running job of Ada is usage.
    jobs = [
        job("0", 0, 1000, user="ada"),
        job("1", 0, 50, 1, user="cy"),
        job("ada", 5, 10, user="ada"),
        job("bo", 6, 10, user="bo"),
    ]
    order, _ = order_of(jobs, "n[0-1] cores=4", priority={"weight_fairshare": 1000})
    assert order == ["0", "1", "bo", "ada"]


@pytest.mark.parametrize(
    ("weights", "data", "order"),
    [
        ({"weight_qos": 10}, ({"qos": "low"}, {"qos": "high"}, {}), "102"),
        ({"weight_qos": 10}, ({"nice": -11}, {"qos": "high"}, {"nice": 1}), "012"),
        ({"weight_partition": 10}, ({"partition": "slow"}, {"partition": "fast"}, {}), "102"),
        ({"weight_tres": "gres/gpu=10"}, ({}, {"gres": {"gpu": 1}}, {"gres": {"gpu": 2}}), "210"),
        ({"weight_job_size": 10}, ({"cores": 1}, {"cores": 3}, {"cores": 4}), "210"),
        ({"weight_job_size": 10, "favor_small": True}, ({"cores": 4}, {"cores": 3}, {"cores": 1}), "210"),
        ({"weight_age": 10, "max_age": 100}, ({"begin": 30}, {}, {"begin": 20}), "120"),
        ({"weight_age": 10}, ({"priority": 1}, {}, {"priority": 50}), "201"),
    ],
)
def test_factors(weights: dict[str, Any], data: tuple[dict[str, Any], ...], order: str) -> None:
    jobs = [job("first", 0, 50), *(job(str(number), 1, 10, **each) for number, each in enumerate(data))]
    tables = {
        "partitions": {
            "slow": {"hosts": "ALL", "priority": 1, "default": True},
            "fast": {"hosts": "ALL", "priority": 2},
        },
        "qos": {"high": {"priority": 10}, "low": {"priority": 5}},
        # One job at a time, so that jobs which share the host start in their order.
        "limits": {"running": 1},
        "priority": weights,
    }
    started, _ = order_of(jobs, **tables)
    assert "".join(started[1:]) == order


def test_charges() -> None:
    weights = {"tres_billing_weights": "CPU=1,Mem=1G,GRES/gpu=10", "weight_fairshare": 1, "decay_half_life": 0}
    jobs = [
        job("whole", 0, 10, user="ada"),  # 4 cores, 8 GiB and 2 GPUs: 32 units
        job("part", 20, 10, user="bo", cores=2, memory="1G", gres={"gpu": 1}),  # 13 units, half of them
        job("last", 40, 10, user="cy", qos="free"),
    ]
    tables = {"qos": {"free": {"usage_factor": 0.0}, "normal": {}}, "accounts": ACCOUNTS}
    _, policy = order_of(jobs, priority=weights, **tables)
    assert policy.site is not None
    priorities = policy.site.priorities
    assert priorities is not None
    used = {each.name: each.usage for each in priorities.root.walk() if each.usage}
    assert used == pytest.approx({"": 450, "physics": 450, "ada": 320, "bo": 130}, rel=1e-3)


def test_known_order_without_the_section(tmp_path: Any) -> None:
    """Rules without priorities leave the order as it is without a site."""
    jobs = [job(str(number), number % 7, 5 + number % 11, user=number % 3) for number in range(40)]
    starts = []
    for site in (None, SiteRules()):
        result = simulate(described_platform("n[0-1]"), Workload(jobs, {}), Policy(Multifactor(), site=site))
        starts.append([(row.job_id, row.starting_time) for row in result.jobs])
    assert starts[0] == starts[1]
    path = tmp_path / "site.toml"
    path.write_text('[priority]\nweight_age = 1000\nmax_age = "7-0"\n')
    assert named(f"multifactor+easy+site={path}")().rules.priority.max_age == 604800
    with pytest.raises(PolicyNameError, match=r"the site's file has the weights in its section priority"):
        named(f"multifactor=1,2,3+easy+site={path}")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["easy", "conservative", "easy=multifactor", "fcfs"])
def test_the_first_entries_are_those_of_the_highest_priority(
    seed: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    rules = {
        "accounts": ACCOUNTS,
        "partitions": {"a": {"hosts": "ALL", "default": True}, "b": {"hosts": "n[0-1]", "tier": 2, "priority": 3}},
        "priority": {
            "weight_age": 1000,
            "max_age": 60,
            "weight_fairshare": 2000,
            "weight_job_size": 500,
            "weight_partition": 100,
            "decay_half_life": random.choice([0, 50]),
            "calc_period": random.choice([0, 20]),
            "fair_tree": seed % 2 == 0,
        },
    }
    jobs = []
    for number in range(80):
        data: dict[str, Any] = {"user": random.choice(["ada", "bo", "cy", "di", 5])}
        if random.random() < 0.5:
            data["cores"] = random.randint(1, 4)
        if random.random() < 0.3:
            data["account"] = random.choice(list(ACCOUNTS))
        if random.random() < 0.3:
            data["partition"] = random.choice(["b", "a,b"])
        if random.random() < 0.1:
            data["priority"] = random.randint(500, 3000)
        jobs.append(job(str(number), random.randint(0, 60), random.randint(1, 20), random.choice([1, 1, 2]), **data))
    compared = 0
    original = SiteQueue.in_order

    def in_order(queue: SiteQueue) -> Iterator[SiteEntry]:
        nonlocal compared
        entries = list(original(queue))
        keys = [queue.key(entry) for entry in entries]
        assert len(entries) == sum(len(each.entries) for each in queue.jobs.values())
        for before, after in pairwise(keys):
            assert before <= after or (before[0] == after[0] and before[1] == pytest.approx(after[1], abs=1e-6))
            compared += 1
        return iter(entries)

    monkeypatch.setattr(SiteQueue, "in_order", in_order)
    policy = named(name if name == "fcfs" else f"multifactor+{name}")()
    policy = Policy(policy.order, backfilling=policy.backfilling, site=SiteRules.of(rules))
    assert simulate(described_platform("n[0-3] cores=4"), Workload(jobs, {}), policy).is_complete
    assert compared > 100
