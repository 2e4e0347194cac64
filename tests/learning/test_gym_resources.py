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
    """The amounts that a job takes of each host, and the hosts where it can run."""

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
    """The hosts on which a job has space beside others."""
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


def earliest(first: Asked, now: float, ends: list[tuple[float, tuple[Asked, set[int]]]]) -> float:
    """When a job can start at the latest, if no other one starts before."""
    for moment in sorted({now, *(end for end, _ in ends)}):
        if can_start(first, [job for end, job in ends if end > moment], None):
            return moment
    return math.inf


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


def at_odd_times(seed: int, count: int = 40, **more: list[Any]) -> Workload:
    """Jobs of which no two events have the same time."""
    chance = np.random.default_rng(seed)
    choices: dict[str, list[Any]] = {"memory": ["1G", "4G"], "gres": [{"gpu": 1}], "constraint": ["ib", "!ib"], **more}
    times = iter(chance.permutation(40_000)[: 3 * count].tolist())
    jobs = []
    for number in range(count):
        data: dict[str, Any] = {"cores": int(chance.integers(1, 5))} if chance.random() < 0.9 else {}
        for key, values in choices.items():
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


@pytest.mark.parametrize("seed", range(3))
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


# Conventions


@pytest.mark.parametrize("kind", KINDS)
def test_gymnasiums_checker_has_nothing_to_say(kind: str) -> None:
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    import batprotocol.gym  # noqa: F401

    name, options = KINDS[kind]
    given = {"workload": at_odd_times(3, 12), "hosts": HOSTS, "site": RULES, "jobs": 10, "max_queue": 6}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(f"batprotocol/{name}-v0", **{**given, **options}).unwrapped)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["any, easy", "fitting, wait", "backfill"])
def test_copies_snapshots_and_vectors_go_on_alike(kind: str) -> None:
    from batprotocol.gym import VectorEnvironment

    workload, rules = at_odd_times(5, 40, dependency=["afterany"], user=[1]), None if kind == "backfill" else RULES
    envs = [made(workload, kind, rules, reward_at="step")]
    seen = [envs[0].reset(seed=1)]
    chance = np.random.default_rng(2)
    for turn in itertools.count():
        if turn == 3:
            envs += [pickle.loads(pickle.dumps(envs[0])), copy.deepcopy(envs[0]), made(workload, kind, rules)]
            envs[-1].reward_at = "step"
            envs[-1].restore(envs[0].snapshot())
        action = int(chance.choice(np.flatnonzero(seen[0][-1]["action_mask"])))
        seen = [env.step(action) for env in envs]
        for other in seen[1:]:
            np.testing.assert_equal(seen[0], other)
        if seen[0][2]:
            break
    assert turn > 5
    options = KINDS[kind][1]
    given = {"hosts": HOSTS, "site": rules, "jobs": 40, "max_queue": 8, "max_running": 4, "reward_at": "step"}
    vector = VectorEnvironment(type(envs[0]), num_envs=2, workload=workload, **{**given, **options})
    together, infos = vector.reset(seed=1)
    alone, info = envs[0].reset(seed=1)
    for _ in range(3):
        part = together if isinstance(together, np.ndarray) else together["resources"]
        np.testing.assert_equal(part[0], alone if isinstance(alone, np.ndarray) else alone["resources"])
        action = int(np.flatnonzero(info["action_mask"])[0])
        together, *_, infos = vector.step(np.array([action, action]))
        alone, *_, info = envs[0].step(action)
    np.testing.assert_equal(infos["action_mask"][0], info["action_mask"])


# Values by hand


def asking(name: str, at: float, size: int = 1, lasts: float = 10.0, walltime: float | None = 20.0, **data: Any) -> Any:
    return StaticJob(name, at, size, DelayProfile(lasts), walltime=walltime, extra_data=json.dumps(data))


def columns(env: Environment, seen: Any, place: int) -> dict[str, float]:
    return dict(zip(env.sight.names, seen["jobs"][place].tolist(), strict=True))


def test_units_by_hand() -> None:
    """Hosts of 4, 4, 4 and 2 cores; 8, 8, unlimited and 4 GiB; two GPUs on the third one."""
    jobs = [
        asking("a", 0.0, cores=3, memory="2G", user=1),
        asking("b", 0.0, gres={"gpu": 1}, cores=1, memory="64G", partition="gpu", user=2),
        asking("c", 0.0, 2, cores=4, user=3, partition="wide"),
        asking("d", 0.0, 2, walltime=None, partition="wide,batch", user=4),
    ]
    env = made(Workload(jobs, {}), "any", RULES, features=None)
    seen, _ = env.reset(seed=0)
    assert env.machine.resources == ("hosts", "cores", "memory", "gres:gpu")
    assert env.machine.partitions == ("batch", "gpu", "wide")
    assert env.sight.names[-6:] == ("cores", "memory", "gres:gpu", "partition:batch", "partition:gpu", "partition:wide")
    # No partition has n2 but the one that has all.
    assert seen["resources"].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]]
    names, expected = env.sight.names[-6:], [0.75, 0.25, 0.0, 1.0, 0.0, 0.0]
    assert [columns(env, seen, 0)[name] for name in names] == expected
    env.world.advance(), env.world.advance(), env.world.advance()
    seen = env.observe()
    assert [columns(env, seen, 1)[name] for name in names] == [0.25, 1.0, 0.5, 0.0, 1.0, 0.0]
    assert [columns(env, seen, 2)[name] for name in names] == [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert [columns(env, seen, 3)[name] for name in names] == [1.0, 1.0, 1.0, 1.0, 0.0, 1.0]
    assert [columns(env, seen, place)["fits"] for place in range(4)] == [1, 1, 1, 1]
    for _ in range(2):
        seen, *_ = env.step(0)
    # Job a has 3 cores and 2 GiB of the first host, and job b a core and a GPU of the third one.
    assert [env.world.hosts_of(job) for job in (0, 1)] == [parse_hosts("0"), parse_hosts("2")]
    shares = [[2 / 4, 10 / 14, 26 / 28, 1 / 2], [2 / 3, 7 / 10, 18 / 20, 0], [0, 3 / 4, 1, 1 / 2]]
    assert seen["resources"] == pytest.approx(np.array([*shares, shares[0]]))
    assert seen["machine"].tolist() == [0.5, 0.0, 1.0]
    assert [columns(env, seen, place)["fits"] for place in range(2)] == [0, 1]
    until = 20 / 3620  # the walltime of a, as c needs its host
    assert [columns(env, seen, place)["start"] for place in range(2)] == pytest.approx([until, 0])
    seen, *_ = env.step(1)  # job d has the two free hosts for itself
    assert env.world.hosts_of(3) == parse_hosts("1 3")
    assert seen["resources"][0] == pytest.approx(np.array([0, 4 / 14, 14 / 28, 1 / 2]))
    assert columns(env, seen, 0)["start"] == pytest.approx(until)  # with the hosts of a and of b
    assert (env.world.busy, env.world.free) == (4, 0)


def test_pictures_have_the_jobs_of_a_host_one_below_the_other() -> None:
    jobs = [asking(name, 0.0, cores=1) for name in "ab"] + [asking("c", 0.0, 3, cores=2)]
    env = made(Workload(jobs, {}), "any", render_mode="ansi", allocation="pack")
    env.reset(seed=0)
    env.step(0), env.step(0), env.world.start(env.world.take(0))
    lines = env.render().splitlines()
    assert lines[0] == "time 0 s: 4 of 4 hosts busy"
    assert "free: 43% of cores, 100% of memory, 100% of gres:gpu" in lines
    allocations = {line.split()[0]: line.split()[-1] for line in lines[-3:]}
    assert allocations == {"a": "3", "b": "3", "c": "0-2"}
    env.render_mode = "rgb_array"
    last = env.render()[393:492, 300, 0]  # beyond the bars of 20 s, in the rows of the last host
    assert np.flatnonzero(last == 255).tolist() == [48, 98]  # a line below each job


def test_a_job_that_waits_until_its_deadline_is_rejected() -> None:
    jobs = [
        asking("long", 0.0, 4, 100.0, None, exclusive=True),
        asking("late", 1.0, 1, 10.0, 20.0, cores=1, deadline=50),
        asking("next", 2.0, 1, 10.0, 20.0, cores=1),
    ]
    env = made(Workload(jobs, {}), "any", reward="waiting")
    env.reset(seed=0)
    env.step(0)
    assert env.world.queue.tolist() == [1]
    _, _, is_over, _, info = env.step(0)  # it waits until it can end in time no more
    assert not is_over
    assert env.world.now == pytest.approx(30.0)
    assert env.world.reasons() == {"w0!late": "it would end at 51 s at the earliest, and its deadline is 50 s"}
    _, reward, is_over, _, info = env.step(0)
    assert is_over
    assert info["rejected_jobs"] == 1
    assert reward == -(0 + 98) / 2
    assert [row.job_id for row in env.rows()] == ["long", "next"]


def test_jobs_before_an_episode_have_succeeded() -> None:
    jobs = [
        asking("1", 0.0),
        asking("2", 1.0, array="a_1"),
        asking("3", 10.0, dependency="afterok:1"),
        asking("4", 10.0, dependency="afternotok:1"),
        asking("5", 10.0, dependency="afterany:a"),
        asking("6", 10.0, dependency="afterok:7"),
    ]
    env = made(Workload(jobs, {}), "fitting", jobs=4)
    env.reset(options={"first": 2})
    assert env.world.queue.tolist() == [0]
    is_over = False
    while not is_over:
        _, is_over = env.decide(0)
    assert env.world.started.tolist() == [0, 2]
    assert env.world.reasons() == {
        "w0!4": "it waits for w0!1 to fail, which succeeded",
        "w0!6": "it waits for w0!7, which was never submitted",
    }


def test_time_passes_until_a_job_may_begin_and_tasks_have_executors() -> None:
    profile = ParallelTaskHomogeneousProfile(4e9, 0.0)
    data = json.dumps({"begin": 40, "tasks": 4})
    jobs = [StaticJob("1", 0.0, 2, profile, walltime=90.0, extra_data=data)]
    env = made(Workload(jobs, {}), "fitting, wait", observation="dict")
    seen, info = env.reset(seed=0)
    assert env.world.now == 40
    assert columns(env, seen, 0)["waiting"] == pytest.approx(40 / 3640)
    assert info["action_mask"].tolist() == [1, *[0] * 8]
    _, reward, is_over, _, info = env.step(0)
    assert is_over
    assert [(row.starting_time, row.execution_time) for row in env.rows()] == [(pytest.approx(40), pytest.approx(4))]
    assert reward == pytest.approx(-4.4)  # 44 s instead of at least 10 s


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"hosts": "n0 cores=0"}, "n0: property cores: expected a whole number >= 1"),
        ({"platform": described_platform("n0")}, "exclude one another"),
        ({"hosts": 3, "platform": described_platform("n0")}, "expected the 1 hosts of the platform, got 3"),
        ({"hosts": None, "platform": 7}, "expected a platform or its file, got 7"),
        ({"allocation": "tallest"}, "there is no allocation 'tallest'; `batproto policies` lists all"),
        ({"allocation": "fastest"}, "expected an allocation for jobs that share hosts, such as pack or spread"),
        ({"hosts": 4, "allocation": "pack"}, "needs hosts that jobs share"),
        ({"site": SiteRules.of({"partitions": {"p": {"hosts": "x"}}})}, "the platform has no host 'x'"),
        ({"features": ["gres:fpga"]}, "no feature 'gres:fpga': expected waiting, .*, cores, memory, gres:gpu, or"),
    ],
)
def test_what_cannot_be_used_is_an_error(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        made(Workload([asking("1", 0.0)], {}), **options)


def test_errors_of_jobs_and_of_other_environments(tmp_path: Path) -> None:
    from batprotocol.gym import Hosts, Power

    with pytest.raises(InputError, match="job 'w0!1': memory: expected memory >= 0"):
        made(Workload([asking("1", 0.0, memory=-1)], {}))
    for kind in (Hosts, Power):
        with pytest.raises(InputError, match=f"{kind.__name__} does not support jobs that share hosts: use Batch"):
            kind(Workload([asking("1", 0.0)], {}), jobs=1, hosts=HOSTS)
    site = tmp_path / "site.toml"
    site.write_text("[partitions.all]\nhosts = 'ALL'\n")
    assert made(Workload([asking("1", 0.0)], {}), hosts=3, site=site).machine.partitions == ("all",)
