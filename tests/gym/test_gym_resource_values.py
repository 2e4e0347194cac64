"""Environments whose jobs share hosts: values by hand, Gymnasium's conventions, copies, and errors."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from shared_hosts import HOSTS, KINDS, RULES, at_odd_times, made

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, ParallelTaskHomogeneousProfile, parse_hosts
from batprotocol.policies import SiteRules
from batprotocol.simulator import StaticJob, Workload, described_platform

if TYPE_CHECKING:
    from batprotocol.gym import Environment

WITHOUT_ENGINE = True

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


def test_a_backfilled_job_gets_hosts_on_which_it_delays_nobody() -> None:
    """The second host has a free core now, but the first job needs all of that host in 20 s."""
    jobs = [
        asking("short", 0.0, cores=3, constraint="ib"),
        asking("long", 0.0, 1, 30.0, 40.0, cores=4, constraint="ib"),
        asking("first", 1.0, cores=4, constraint="ib"),
        asking("other", 2.0, 1, 90.0, 100.0, cores=1),
    ]
    env = made(Workload(jobs, {}), "backfill")
    _, info = env.reset(seed=0)
    assert (env.world.queue.tolist(), env.world.now) == ([2, 3], 2)
    assert info["action_mask"].tolist() == [0, 1, *[0] * 6, 1]
    env.step(1)
    assert env.world.hosts_of(3) == parse_hosts("2")
    assert (env.world.hosts_of(2), env.world.starts[2]) == (parse_hosts("1"), 10)


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
        ({"site": SiteRules.of({"reservations": {"r": {}}})}, "reservations: expected a site without reservations"),
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
