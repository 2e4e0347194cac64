"""Environments whose jobs share hosts: no host gives more than it has, and masks are those of a search of all sets.

The checks look at the results, at what the jobs asked for, and at what the hosts offer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_hosts import (
    HOSTS,
    KINDS,
    RULES,
    asked_by_name,
    at_odd_times,
    can_start,
    checked,
    dependencies_hold,
    earliest,
    has_room,
    made,
    name_of,
    running,
    workloads,
)

from batprotocol.model import DelayProfile, FinalJobState
from batprotocol.policies import Order, Policy, SiteRules, State, WaitingJob, named
from batprotocol.simulator import JobRow, StaticJob, Workload, described_platform, simulate

WITHOUT_ENGINE = True


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(st.data(), st.sampled_from(sorted(KINDS)), st.sampled_from([None, RULES]), st.integers(0, 2**32 - 1))
def test_observations_masks_and_results(data: st.DataObject, kind: str, rules: SiteRules | None, seed: int) -> None:
    """Random episodes: observations lie in their space, no host gives too much, and masks are exact."""
    play(data, kind, rules, seed)


@pytest.mark.minutes
@settings(deadline=None, max_examples=2000)
@given(st.data(), st.sampled_from(sorted(KINDS)), st.sampled_from([None, RULES]), st.integers(0, 2**32 - 1))
def test_many_observations_masks_and_results(
    data: st.DataObject, kind: str, rules: SiteRules | None, seed: int
) -> None:
    play(data, kind, rules, seed)


def play(data: st.DataObject, kind: str, rules: SiteRules | None, seed: int) -> None:
    """Play a random episode, and compare all that can be seen with the search."""
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
            ends = list(zip(world.ends, taken, strict=True))
            untils = [earliest(asked[name], world.now, ends) - world.now for name in names]
            column = env.sight.names.index("start")
            row = np.empty(env.sight.size, np.float32)
            env.write(row)
            starts = row[: env.sight.running].reshape(8, env.sight.width)[: len(names), column]
            assert starts.tolist() == pytest.approx([min(until / (until + 3600), 1.0) for until in untils])
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


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
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


def test_jobs_without_a_walltime_are_killed_when_their_time_in_the_partition_is_over() -> None:
    """The reward knows it, too: a job is as slow as its time shows."""
    rules = SiteRules.of({"partitions": {"p": {"hosts": "ALL", "max_time": 10}}})
    profile = DelayProfile(100.0)
    jobs = [StaticJob(str(number), 0.0, 4, profile, extra_data='{"cores": 1}') for number in range(3)]
    env = made(Workload(jobs, {}), rules=rules, reward="waiting", reward_at="step")
    _, info = env.reset(seed=0)
    is_over, total = False, 0.0
    while not is_over:
        _, reward, is_over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
        total += reward
    assert [(row.starting_time, row.execution_time) for row in env.rows()] == [(0, 10), (0, 10), (10, 10)]
    assert {row.final_state for row in env.rows()} == {FinalJobState.COMPLETED_KILLED}
    assert total == pytest.approx(env.value())


# Policies


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


@pytest.mark.parametrize("seed", [0, 1, 34, 35])
def test_random_episodes_are_those_of_a_policy_in_the_same_order(seed: int) -> None:
    """A scheduler on the embedded Batsim that starts jobs in the order of an episode gives them the same hosts."""
    workload = at_odd_times(seed, dependency=["afterok", "afternotok", "after"], begin=["now+9"])
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
@pytest.mark.parametrize("seed", range(2))
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
