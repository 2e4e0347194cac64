"""Environments whose jobs share hosts: no host gives more than it has, and masks are what a search of all sets says.

The checks look at the results, at what the jobs asked for, and at what the hosts offer.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, FinalJobState, ParallelTaskHomogeneousProfile, parse_hosts
from batprotocol.policies import SiteRules
from batprotocol.simulator import JobRow, StaticJob, Workload, described_platform

if TYPE_CHECKING:
    from batprotocol.gym import Environment

WITHOUT_ENGINE = True

HOSTS = "n[0-1] cores=4 memory=8G features=ib; g0 cores=4 gres=gpu:2; n2 cores=2 memory=4G"
"""The third host has GPUs, and memory without limit."""
CORES, MEMORY, GPUS = (4, 4, 4, 2), (8, 8, math.inf, 4), (0, 0, 2, 0)
IB = {0, 1}
PARTITIONS = {"batch": {0, 1, 3}, "gpu": {2}, "wide": {0, 1, 2, 3}}
RULES = SiteRules.of(
    {
        "partitions": {
            "batch": {"hosts": "n[0-2]", "default": True},
            "gpu": {"hosts": "g0"},
            "wide": {"hosts": "ALL", "max_hosts": 2},
        },
        "per_user": {"running": 2},
    }
)
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "any": ("Batch", {}),
    "any, easy": ("Batch", {"backfilling": "easy", "order": "sjf", "allocation": "spread"}),
    "any, easy=once": ("Batch", {"backfilling": "easy=fcfs,no-spare,strict,once", "wait": True}),
    "any, greedy": ("Batch", {"backfilling": "greedy", "order": "wfp3"}),
    "fitting": ("Batch", {"choice": "fitting", "allocation": "pack"}),
    "fitting, wait": ("Batch", {"choice": "fitting", "wait": True, "observation": "flat"}),
    "policies": ("Policies", {"mask_in_observation": True, "allocation": "best-fit"}),
    "backfill": ("Backfill", {}),
    "backfill, no reservation": ("Backfill", {"reserve": False, "max_running": 0}),
}


class Asked(NamedTuple):
    """What a job takes of each host, and where it can run."""

    size: int
    cores: int
    memory: int
    gpus: int
    is_whole: bool
    hosts: set[int]
    user: int | None
    is_contiguous: bool


def asked_of(job: StaticJob, rules: SiteRules | None) -> Asked:
    data = json.loads(job.extra_data or "{}")
    shares = any(key in data for key in ("cores", "memory", "gres")) and not data.get("exclusive")
    hosts = set(range(4)) if rules is None else PARTITIONS[data.get("partition", "batch")]
    if "constraint" in data:
        hosts = hosts & (IB if data["constraint"] == "ib" else set(range(4)) - IB)
    cores = data.get("cores", int(shares))
    memory, gpus = int(data.get("memory", "0G")[:-1]), data.get("gres", {}).get("gpu", 0)
    rest = (data.get("user"), data.get("contiguous", False))
    return Asked(job.resource_request, cores, memory, gpus, not shares, hosts, *rest)


@st.composite
def workloads(draw: st.DrawFn, has_rules: bool) -> Workload:
    """Jobs of whole seconds that ask for anything, some for what can never be, such as the job -1."""
    jobs, now = [], 0
    for number in range(draw(st.integers(1, 12))):
        now += draw(st.sampled_from([0, 0, 1, 5, 20]))
        data: dict[str, Any] = {}
        for key, values in (
            ("cores", [1, 1, 2, 3, 4]),
            ("memory", ["1G", "4G", "8G"]),
            ("gres", [{"gpu": 1}, {"gpu": 2}]),
            ("constraint", ["ib", "!ib"]),
            ("exclusive", [True]),
            ("contiguous", [True]),
            ("begin", ["now+7", 30]),
            ("user", [1, 2]),
            ("dependency", [f"{kind}:{draw(st.integers(0, number)) - 1}" for kind in ("afterok", "afterany", "after")]),
            ("deadline", ["now+60"]),
        ):
            if draw(st.integers(0, 9)) < (7 if key == "cores" else 2):
                data[key] = draw(st.sampled_from(values))
        if has_rules and draw(st.booleans()):
            data["partition"] = draw(st.sampled_from(sorted(PARTITIONS)))
        lasts, more = draw(st.integers(1, 30)), draw(st.sampled_from([None, -1, 0, 5, 30]))
        walltime = None if more is None else float(max(lasts + more, 1))
        size = draw(st.sampled_from([1, 1, 1, 2, 3]))
        profile = DelayProfile(float(lasts))
        jobs.append(StaticJob(f"{number}", float(now), size, profile, walltime=walltime, extra_data=json.dumps(data)))
    return Workload(jobs, {})


def made(workload: Workload, kind: str = "fitting", rules: SiteRules | None = None, **more: Any) -> Any:
    import batprotocol.gym

    name, options = KINDS[kind]
    given = {"hosts": HOSTS, "site": rules, "jobs": len(workload), "max_queue": 8, "max_running": 4}
    return getattr(batprotocol.gym, name)(workload, **{**given, **options, **more})


def has_room(asked: Asked, taken: list[tuple[Asked, set[int]]]) -> set[int]:
    """The hosts on which a job has room beside others."""
    found = set()
    for host in asked.hosts:
        there = [other for other, hosts in taken if host in hosts]
        if there and (asked.is_whole or any(other.is_whole for other in there)):
            continue
        sums = [asked, *there]
        if (
            sum(each.cores for each in sums) <= CORES[host]
            and sum(each.memory for each in sums) <= MEMORY[host]
            and sum(each.gpus for each in sums) <= GPUS[host]
        ):
            found.add(host)
    return found


def can_start(asked: Asked, taken: list[tuple[Asked, set[int]]], rules: SiteRules | None) -> bool:
    """Whether any set of hosts is one on which a job can start."""
    if rules is not None and sum(other.user == asked.user for other, _ in taken) >= 2:
        return False
    return any(
        not asked.is_contiguous or max(hosts) - min(hosts) < asked.size
        for hosts in itertools.combinations(sorted(has_room(asked, taken)), asked.size)
    )


def running(env: Environment, asked: dict[str, Asked]) -> list[tuple[Asked, set[int]]]:
    """The running jobs with their hosts, as the decisions had them."""
    found = []
    for job in env.world.end_jobs:
        name = env.log.job(env.world.first + job)[0].partition("!")[2]
        hosts = env.world.hosts_of(job)
        assert hosts is not None
        found.append((asked[name], set(hosts)))
    return found


def checked(rows: list[JobRow], asked: dict[str, Asked], rules: SiteRules | None) -> None:
    """No host gives more than it has at any time, and limits and dependencies are kept."""
    for row in rows:
        at = row.starting_time
        assert at is not None
        assert len(parse_hosts(row.allocated_resources)) == asked[row.job_id].size
        there = [
            (asked[other.job_id], set(parse_hosts(other.allocated_resources)))
            for other in rows
            if other is not row
            and other.starting_time is not None
            and other.finish_time is not None
            and (other.starting_time, other.job_id) < (at, row.job_id)
            and at < other.finish_time
        ]
        assert set(parse_hosts(row.allocated_resources)) <= has_room(asked[row.job_id], there)
        assert rules is None or sum(other.user == asked[row.job_id].user for other, _ in there) < 2


def dependencies_hold(rows: list[JobRow], workload: Workload) -> None:
    by_id = {row.job_id: row for row in rows}
    for submission in workload:
        data = json.loads(submission.job.extra_data or "{}")
        row = by_id.get(submission.id.partition("!")[2])
        if row is None or row.starting_time is None:
            continue
        if data.get("begin") == 30:
            assert row.starting_time >= 29.999
        if "dependency" in data:
            kind, _, name = data["dependency"].partition(":")
            other = by_id.get(name)
            if kind == "after":
                assert other is None or (other.starting_time or 0.0) <= row.starting_time
            elif kind == "afterany":
                assert other is None or (other.finish_time or 0.0) <= row.starting_time
            else:
                assert other is not None
                assert other.final_state is FinalJobState.COMPLETED_SUCCESSFULLY
                assert (other.finish_time or 0.0) <= row.starting_time


@settings(deadline=None, max_examples=40)
@given(st.data(), st.sampled_from(sorted(KINDS)), st.sampled_from([None, RULES]), st.integers(0, 2**32 - 1))
def test_observations_masks_and_results(data: st.DataObject, kind: str, rules: SiteRules | None, seed: int) -> None:
    """Random episodes: observations lie in their space, no host gives too much, and masks are exact."""
    workload = data.draw(workloads(rules is not None))
    asked = {
        each.id.partition("!")[2]: asked_of(
            StaticJob(each.id, 0.0, each.job.resource_request, DelayProfile(1.0), extra_data=each.job.extra_data), rules
        )
        for each in workload
    }
    env = made(workload, kind, rules, reward_at="step")
    chance = np.random.default_rng(seed)
    seen, info = env.reset(seed=0)
    total, is_over = 0.0, False
    while not is_over:
        assert env.observation_space.contains(seen)
        world = env.world
        if not world.is_over:
            taken = running(env, asked)
            names = [env.log.job(job)[0].partition("!")[2] for job in world.queue[:8]]
            possible = [can_start(asked[name], taken, rules) for name in names]
            assert world.fit(world.head(8)).tolist() == possible
            if "choice" in KINDS[kind][1]:
                assert info["action_mask"][:8].tolist() == [*map(int, possible), *[0] * (8 - len(names))]
        is_bold = chance.random() < 0.2
        actions = range(env.mask_size) if is_bold else np.flatnonzero(info["action_mask"])
        action = int(chance.choice(actions))
        is_allowed = bool(info["action_mask"][action])
        seen, reward, is_over, _, info = env.step(action)
        assert is_allowed == ("refused" not in info)
        total += reward
    assert env.observation_space.contains(seen)
    rows = env.rows()
    assert len(rows) + info["rejected_jobs"] == len(workload)
    assert total == pytest.approx(env.value())
    checked(rows, asked, rules)
    dependencies_hold(rows, workload)
