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
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, FinalJobState, ParallelTaskHomogeneousProfile, parse_hosts
from batprotocol.policies import Order, Policy, SiteRules, State, WaitingJob, named
from batprotocol.simulator import JobRow, StaticJob, Workload, described_platform, simulate

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


def asked_by_name(workload: Workload, rules: SiteRules | None) -> dict[str, Asked]:
    found = {}
    for each in workload:
        job = StaticJob(each.id, 0.0, each.job.resource_request, DelayProfile(1.0), extra_data=each.job.extra_data)
        found[each.id.partition("!")[2]] = asked_of(job, rules)
    return found


def name_of(env: Environment, job: int) -> str:
    return env.log.job(env.world.first + job)[0].partition("!")[2]


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
        hosts = env.world.hosts_of(job)
        assert hosts is not None
        found.append((asked[name_of(env, job)], set(hosts)))
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
    asked = asked_by_name(workload, rules)
    env = made(workload, kind, rules, reward_at="step")
    chance = np.random.default_rng(seed)
    seen, info = env.reset(seed=0)
    total, is_over = 0.0, False
    while not is_over:
        assert env.observation_space.contains(seen)
        world = env.world
        if not world.is_over:
            taken = running(env, asked)
            names = [name_of(env, job) for job in world.queue[:8]]
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


# Backfilling


def earliest(first: Asked, now: float, ends: list[tuple[float, tuple[Asked, set[int]]]]) -> float:
    """When a job can start at the latest, if no other one starts before."""
    for moment in sorted({now, *(end for end, _ in ends)}):
        if can_start(first, [job for end, job in ends if end > moment], None):
            return moment
    return math.inf


@settings(deadline=None, max_examples=40)
@given(workloads(False), st.integers(0, 2**32 - 1))
def test_a_job_may_be_backfilled_if_it_does_not_delay_the_first(workload: Workload, seed: int) -> None:
    """The mask is what a search of all sets of hosts finds, and the first job starts when it was promised to."""
    asked = asked_by_name(workload, None)
    env = made(workload, "backfill")
    chance = np.random.default_rng(seed)
    _, info = env.reset(seed=0)
    promised: dict[tuple[int, int], float] = {}
    while not env.world.is_over:
        world = env.world
        ends = list(zip(world.ends, running(env, asked), strict=True))
        first, *others = world.queue[:8]
        start = earliest(asked[name_of(env, first)], world.now, ends)
        before = sum(job < first for job in world.started)  # those come before it, also if they are ready later
        assert start <= promised.get((first, before), math.inf)
        promised = {(first, before): start}
        possible = []
        for job in others:
            own, end = asked[name_of(env, job)], world.now + world.walltimes[job]
            room = sorted(has_room(own, [each for _, each in ends]))
            late = [each for until, each in ends if until > start]
            possible.append(
                any(
                    (not own.is_contiguous or max(hosts) - min(hosts) < own.size)
                    and (end <= start or can_start(asked[name_of(env, first)], [*late, (own, set(hosts))], None))
                    for hosts in itertools.combinations(room, own.size)
                )
            )
        assert info["action_mask"].tolist() == [0, *possible, *[0] * (7 - len(others)), 1]
        _, _, _, _, info = env.step(int(chance.choice(np.flatnonzero(info["action_mask"]))))
    for (job, before), start in promised.items():
        assert env.world.starts[job] <= start or before < sum(other < job for other in env.world.started)


def at_odd_times(seed: int, count: int = 40, **more: list[Any]) -> Workload:
    """Jobs of which no two events have the same time."""
    chance = np.random.default_rng(seed)
    times = iter(chance.permutation(40_000)[: 3 * count].tolist())
    jobs = []
    for number in range(count):
        data: dict[str, Any] = {"cores": int(chance.integers(1, 5))} if chance.random() < 0.9 else {}
        for key, values in {"memory": ["1G", "4G"], "gres": [{"gpu": 1}], "constraint": ["ib", "!ib"], **more}.items():
            if chance.random() < 0.3:
                data[key] = values[int(chance.integers(len(values)))]
        if chance.random() < 0.3 and number and "dependency" in more:
            data["dependency"] = f"{data.get('dependency', 'afterany')}:{int(chance.integers(number))}"
        else:
            data.pop("dependency", None)
        lasts = next(times) / 1000 + number / 1e3
        walltime = lasts + next(times) / 1000
        at, size = next(times) / 200, int(chance.integers(1, 3))
        jobs.append(
            StaticJob(str(number), at, size, DelayProfile(lasts), walltime=walltime, extra_data=json.dumps(data))
        )
    return Workload(sorted(jobs, key=lambda job: job.submission_time), {})


class Given(Order):
    """An order by keys that are given."""

    def __init__(self, keys: dict[str, int]) -> None:
        self.keys = keys

    def key(self, job: WaitingJob, state: State) -> int:
        return self.keys.get(job.id, len(self.keys))


def rows_of(rows: Iterable[JobRow]) -> dict[str, tuple[Any, ...]]:
    """When and where the jobs ran that did."""
    return {
        row.job_id: (round(row.starting_time, 3), round(row.finish_time or 0.0, 3), row.allocated_resources)
        for row in rows
        if row.starting_time is not None
    }


@pytest.mark.parametrize("seed", range(6))
def test_random_episodes_are_those_of_a_policy_in_the_same_order(seed: int) -> None:
    """A scheduler on the embedded Batsim that starts jobs in the order of an episode gives them the same hosts."""
    workload = at_odd_times(seed, dependency=["afterok", "afternotok"], begin=["now+9"])
    platform = described_platform(HOSTS)
    env = made(workload, "any", platform=platform, hosts=None, allocation=("first", "pack")[seed % 2])
    _, info = env.reset(seed=0)
    env.action_space.seed(seed)
    is_over = False
    while not is_over:
        _, _, is_over, _, info = env.step(env.action_space.sample(info["action_mask"]))
    keys = {env.log.job(job)[0]: place for place, job in enumerate(env.world.started)}
    policy = Policy(Given(keys), allocation=named(("fcfs", "fcfs+pack")[seed % 2])().allocation)
    result = simulate(platform, workload, policy)
    assert result.is_complete
    assert rows_of(env.rows()) == rows_of(result.jobs)
    assert info["rejected_jobs"] == sum(row.starting_time is None for row in result.jobs)
    measured = result.metrics()
    assert info["mean_waiting_time"] == pytest.approx(measured.waiting.mean, abs=1e-3)
    assert -env.value() == pytest.approx(measured.bounded_slowdown.mean, abs=1e-3)


@pytest.mark.parametrize("kind", ["any, easy", "fitting", "any, greedy"])
@pytest.mark.parametrize("seed", range(3))
def test_the_first_job_is_that_of_policies(kind: str, seed: int) -> None:
    name = {"any, easy": "fcfs+easy", "fitting": "greedy", "any, greedy": "greedy"}[kind]
    workload = at_odd_times(seed + 10)
    env = made(workload, kind, order=None, allocation="first", max_queue=40)
    env.begin_episode(seed=0)
    is_over = False
    while not is_over:
        _, is_over = env.decide(env.pick("fcfs"))
    result = simulate(described_platform(HOSTS), workload, named(name)())
    assert rows_of(env.rows()) == rows_of(result.jobs)
