"""Environments keep Gymnasium's conventions: its checker, seeds, copies, masks, vectors, and what is wrong is told."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import ROOT

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile
from batprotocol.simulator import StaticJob, Workload, load_metric

WITHOUT_ENGINE = True

IDS = ["Batch", "Policies", "Backfill", "Power", "Hosts"]
SMALL: dict[str, Any] = {"workload": "lublin:32?jobs=200&seed=3", "jobs": 40, "max_queue": 16}


def made(name: str, **options: Any) -> Any:
    import gymnasium

    import batprotocol.gym  # noqa: F401

    return gymnasium.make(f"batprotocol/{name}-v0", **{**SMALL, **options}).unwrapped


def drawn(env: Any, info: dict[str, Any]) -> Any:
    """An action that is allowed, drawn by the action space's own seed."""
    mask = info["action_mask"]
    if not hasattr(env.action_space, "n"):
        mask = tuple(np.split(mask, len(env.action_space.nvec)))
    return env.action_space.sample(mask)


def test_ids_are_registered() -> None:
    import gymnasium

    import batprotocol.gym  # noqa: F401

    assert sorted(name for name in gymnasium.registry if name.startswith("batprotocol/")) == sorted(
        f"batprotocol/{name}-v0" for name in IDS
    )


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("options", [{}, {"observation": "flat"}, {"mask_in_observation": True, "reward_at": "step"}])
def test_gymnasiums_checker_has_nothing_to_say(name: str, options: dict[str, Any]) -> None:
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(made(name, **options))


@pytest.mark.parametrize("name", IDS)
def test_one_seed_is_one_episode_and_copies_go_on_alike(name: str) -> None:
    envs = [made(name, reward_at="step", jobs=30 if name in ("Power", "Hosts") else 120) for _ in range(2)]
    told: list[Any] = [env.reset(seed=7) for env in envs]
    for turn in range(60):
        np.testing.assert_equal(told[0], told[-1])
        if len(told[0]) == 5 and told[0][2]:
            assert turn > 5
            break
        if turn == 5:
            envs += [pickle.loads(pickle.dumps(envs[0])), copy.deepcopy(envs[0]), copy.deepcopy(envs[1])]
            envs[-1].reset(seed=8)
            envs[-1].restore(envs[0].snapshot())
        for env in envs:
            env.action_space.seed(turn)
        told = [env.step(drawn(env, told[0][-1])) for env in envs]
        for each in told[1:]:
            np.testing.assert_equal(told[0], each)


def test_masks_are_told_in_three_ways() -> None:
    env = made("Batch", mask_in_observation=True, wait=True)
    seen, info = env.reset(seed=1)
    assert env.action_masks().dtype == np.bool_
    np.testing.assert_array_equal(env.action_masks(), info["action_mask"])
    np.testing.assert_array_equal(seen["action_mask"], info["action_mask"])
    assert env.action_masks().sum() == 2  # the job, and to wait


def test_steps_are_worth_as_much_as_the_end() -> None:
    for reward in ("bounded_slowdown", "waiting", "utilisation", lambda rows: -sum(row.waiting_time for row in rows)):
        sums = []
        for reward_at in ("step", "end"):
            env = made("Batch", reward=reward, reward_at=reward_at, backfilling="easy")
            env.begin_episode(seed=4)
            total, is_over = 0.0, False
            while not is_over:
                worth, is_over = env.decide(env.pick("fcfs"))
                total += worth
            sums.append(total)
        assert sums[0] == pytest.approx(sums[1], rel=1e-9)
        assert sums[0] != 0


def played(reward: object, **options: Any) -> tuple[float, Any]:
    """What an episode is worth, and the environment after it."""
    env = made("Batch", reward=reward, backfilling="easy", **options)
    env.begin_episode(seed=4)
    worth, is_over = 0.0, False
    while not is_over:
        worth, is_over = env.decide(env.pick("fcfs"))
    return worth, env


MINE = """
from batprotocol.simulator import metric

@metric(better="less")
def late(jobs):
    return sum(job.waiting_time > 60 for job in jobs)

@metric(better="more")
def busy(jobs, run):
    return run.metrics.utilisation

def undecided(jobs):
    return len(jobs)
"""


def test_rewards_that_are_metrics_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "rewards_of_tests.py").write_text(MINE)
    mine = f"{tmp_path}/rewards_of_tests.py"
    worth, env = played(f"{mine}:late")
    expected = sum((row.waiting_time or 0.0) > 60 for row in env.world.rows())
    assert worth == -expected < 0
    assert played(load_metric(f"{mine}:late"))[0] == worth
    assert (
        pickle.loads(pickle.dumps(env)).reward.value(env.world) == copy.deepcopy(env).reward.value(env.world) == worth
    )
    assert played(f"{mine}:busy")[0] == pytest.approx(played("utilisation")[0])
    assert played(f"{mine}:late", simulated=True)[0] == worth
    with pytest.raises(InputError, match=r"does not define which direction is better: write @metric\(better='less'\)"):
        made("Batch", reward=f"{mine}:undecided")
    with pytest.raises(InputError, match="there is no file"):
        made("Batch", reward="nowhere.py:late")


def test_what_is_not_allowed_is_handled() -> None:
    env = made("Batch", choice="fitting", wait=True, max_queue=8)
    env.reset(seed=2)
    _, _, _, _, info = env.step(5)
    assert info["refused"] == "place 5 of the queue is empty: 1 jobs wait"
    env = made("Batch", max_queue=8)
    _, before = env.reset(seed=2)
    assert before["action_mask"].tolist() == [1] + 7 * [0]
    _, _, _, _, info = env.step(3)
    assert "refused" in info
    assert env.world.started[0] == 0


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda env: env.step(16), Exception, r"a whole number in \[0, 16\), got 16"),
        (lambda env: env.step(0.5), Exception, "a whole number"),
        (lambda env: env.step("a"), Exception, "a whole number"),
        (lambda env: env.reset(options={"frist": 1}), InputError, "expected the option first, got 'frist'"),
        (lambda env: env.reset(options={"first": 500}), InputError, r"expected first in \[0, 160\], got 500"),
        (lambda env: (env.close(), env.close(), env.reset()), Exception, "the environment is closed"),
        (lambda env: (env.close(), env.step(0)), Exception, "the environment is closed"),
        (lambda env: [env.step(0) for _ in range(41)], Exception, "the episode is over: call reset"),
        (lambda env: made("Batch").step(0), Exception, "no episode yet: call reset"),
    ],
)
def test_what_is_wrong_in_an_episode_is_told(call: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    env = made("Batch")
    env.reset(seed=1)
    with pytest.raises(error, match=text):
        call(env)


LARGE = Workload([StaticJob("1", 0.0, 9, DelayProfile(1.0)), StaticJob("2", 0.0, 2, DelayProfile(1.0))])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"workload": LARGE, "hosts": 4, "jobs": 1}, "job w0!1: it requests 9 hosts, and the machine has 4"),
        ({"jobs": 201}, "an episode has 201 jobs, and the log, or each given part of it, has fewer: use fewer jobs"),
        ({"jobs": 0}, "expected jobs, the number of jobs of an episode, a whole number >= 1"),
        ({"jobs": 20.5}, "expected jobs, the number of jobs"),
        ({"within": [(0, 30)]}, "has fewer"),
        ({"within": 5}, r"expected parts of the log as \(first, last \+ 1\), got 5"),
        ({"features": "waiting"}, "a list of at least one feature"),
        ({"max_queue": "a"}, "expected max_queue"),
        ({"within": [(0, 300)]}, "within the log's 200 jobs"),
        ({"order": "f9"}, "no queue order 'f9'"),
        ({"features": ["waitin"]}, "there is no feature 'waitin': expected waiting"),
        ({"observation": "box"}, "expected observation to be one of"),
        (
            {"reward": "speed"},
            "expected bounded_slowdown, waiting, utilisation, energy, carbon, cost, FILE.py:NAME, or a function",
        ),
        ({"reward_at": "day"}, "expected reward_at"),
        ({"render_mode": "human"}, "expected render_mode"),
        ({"backfilling": "conservative"}, "expected EASY or greedy backfilling"),
        ({"backfilling": "easy", "choice": "fitting"}, "use choice='any'"),
        ({"choice": "none"}, "expected choice to be"),
        ({"workload": 5}, "expected a workload, its name or a Log, got 5"),
        ({"max_queue": 0}, "expected max_queue, a whole number >= 1"),
        ({"resolution": 0.0}, "expected a resolution > 0"),
    ],
)
def test_wrong_arguments_are_told(options: dict[str, Any], text: str) -> None:
    from batprotocol.gym import Batch

    with pytest.raises(InputError, match=text):
        Batch(**{**SMALL, **options})


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("name", IDS)
def test_a_vector_is_what_gymnasium_makes_of_single_ones(name: str, mode: str) -> None:
    import gymnasium
    from gymnasium.utils.env_checker import data_equivalence

    import batprotocol.gym  # noqa: F401

    options = {**SMALL, "jobs": 6, "reward_at": "step"}
    ours = gymnasium.make_vec(f"batprotocol/{name}-v0", num_envs=3, autoreset_mode=mode, **options)
    theirs = gymnasium.vector.SyncVectorEnv([lambda: made(name, **options)] * 3, autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"].value == mode
    assert data_equivalence(ours.reset(seed=5), theirs.reset(seed=5), exact=True)
    for _ in range(20):
        actions = theirs.action_space.sample()
        assert data_equivalence(ours.step(actions), theirs.step(actions), exact=True)
    ours.close()
    theirs.close()
    with pytest.raises(Exception, match="closed"):
        ours.step(actions)


@pytest.mark.parametrize("mode", ["ansi", "rgb_array", None])
def test_a_vector_takes_lists_and_shows_each_environment(mode: str | None) -> None:
    """Actions may be numbers in a list or a tuple, as for single environments."""
    from batprotocol.gym import Batch, VectorEnvironment

    options = {**SMALL, "jobs": 6}
    ours = [VectorEnvironment(Batch, 2, render_mode=mode, **options) for _ in range(3)]
    alone = [made("Batch", render_mode=mode, **options) for _ in range(2)]
    for vector in ours:
        vector.reset(seed=5)
    for number, env in enumerate(alone):
        env.reset(seed=5 + number)
    for _ in range(4):
        rewards = [
            vector.step(kind([0, 0]))[1].tolist() for vector, kind in zip(ours, (list, tuple, np.array), strict=True)
        ]
        expected = [env.step(0)[1] for env in alone]
        assert rewards == [expected] * 3
        shown = ours[0].render()
        if mode is None:
            assert shown is None
        else:
            assert shown is not None
            assert [np.array_equal(one, env.render()) for one, env in zip(shown, alone, strict=True)] == [True, True]
    for wrong in ([0], [0, 0, 0], []):
        with pytest.raises(InputError, match="expected 2 actions, got"):
            ours[0].step(wrong)


@pytest.mark.slow
def test_a_vector_of_processes_takes_our_factories() -> None:
    import gymnasium

    import batprotocol.gym  # noqa: F401

    vector = gymnasium.make_vec("batprotocol/Batch-v0", num_envs=2, vectorization_mode="async", **SMALL)
    try:
        seen, _ = vector.reset(seed=1)
        assert seen["jobs"].shape == (2, 16, 8)
        alone, _ = made("Batch").reset(seed=2)
        np.testing.assert_array_equal(seen["jobs"][1], alone["jobs"])
    finally:
        vector.close()


def test_without_gymnasium_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['gymnasium'] = None; import batprotocol.gym"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (
        "PackageMissing: environments need the package gymnasium: pip install 'gymnasium>=1.1' 'numpy>=1.24'"
        in done.stderr
    )


def test_both_pictures() -> None:
    env = made("Batch", render_mode="ansi")
    env.reset(seed=1)
    for _ in range(10):
        env.step(0)
    lines = env.render().splitlines()
    world = env.unwrapped.world
    names = [world.log.job(world.first + job)[0].partition("!")[2] for job in [*world.end_jobs, *world.queue]]
    assert lines[0].startswith(f"time {world.now:,.0f} s (")
    assert lines[0].endswith(f"{sum(world.sizes[job] for job in world.end_jobs)} of {world.log.hosts} hosts busy")
    assert lines[1].startswith(f"jobs: {len(world.end_jobs)} running, {len(world.queue)} waiting, ")
    assert [line.split()[0] for line in lines if line[:12].strip().isdigit()] == names[:20]
    assert sum("walltime" in line for line in lines) == 2  # the headings, with what is below
    env.render_mode = "rgb_array"
    image = env.render()
    assert image.shape == (540, 960, 3)
    assert image.dtype == np.uint8
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 5
    # The names of the jobs are written in the picture: without them, it is another one.
    assert (image == (32, 32, 32)).all(axis=2).sum() > 2000


def test_rlschedulers_layout() -> None:
    from batprotocol.gym import RLSchedulerLayout

    env = RLSchedulerLayout(made("Batch", max_queue=128))
    seen, _ = env.reset(seed=1)
    assert seen.shape == (128, 8)
    for _ in range(20):
        seen, _, _, _, _ = env.step(0)
        assert env.observation_space.contains(seen)
    world = env.unwrapped.world
    waiting = len(world.queue)
    assert 0 < waiting < 128
    assert seen[waiting:].tolist() == [[0, 1, 1, 1, 1, 1, 1, 0]] * (128 - waiting)
    for place, job in enumerate(world.queue):
        assert seen[place, 0] == np.float32((world.now - world.submitted[job]) / 43200)
        assert (seen[place, 7] > 0.5) == (world.sizes[job] <= world.free)
    with pytest.raises(InputError, match=r"expected 1 to 16 \(max_queue\) rows, got 128"):
        RLSchedulerLayout(made("Batch"))


def test_a_split_window_sees_both_ends_of_the_queue() -> None:
    from batprotocol.gym import SplitWindow

    env = SplitWindow(made("Batch", jobs=100, max_queue=100, wait=True), window=8)
    seen, info = env.reset(seed=1)
    world = env.unwrapped.world
    assert info["action_mask"].tolist() == [1] + 7 * [0] + [1]
    while len(world.queue) < 20:
        assert env.observation_space.contains(seen)
        seen, _, _, _, info = env.step(8 if len(world.queue) < 12 else 0)
    whole, waiting = env.unwrapped.observe()["jobs"], len(world.queue)
    np.testing.assert_array_equal(seen["jobs"], np.concatenate((whole[:4], whole[waiting - 4 : waiting])))
    assert info["action_mask"].tolist() == env.action_masks().tolist() == [1] * 9
    last = world.queue[-1]
    env.step(7)
    assert last in world.started
    with pytest.raises(InputError, match="expected max_queue >= jobs, 40, got 16"):
        SplitWindow(made("Batch"))


def test_hosts_are_switched_on_where_nothing_else_would_happen() -> None:
    env = made("Power", jobs=20)
    env.reset(seed=1)
    is_over, refused, steps = False, 0, 0
    while not is_over:
        _, reward, is_over, _, info = env.step(0)
        refused += "refused" in info
        steps += 1
    assert refused
    assert len(env.rows()) == 20
    off = reward
    env.reset(seed=1)
    is_over = False
    while not is_over:
        _, reward, is_over, _, info = env.step(env.levels - 1)
    assert reward < off < 0  # what is always on takes more
    assert len(env.rows()) == 20


def test_hosts_are_those_that_were_given() -> None:
    env = made("Hosts", jobs=10)
    env.reset(seed=1)
    world = env.world
    size = world.sizes[0]
    action = np.zeros(32, np.int64)
    action[-size:] = 1
    env.step(action)
    assert list(world.allocations[0]) == list(range(32 - size, 32))
    chance, is_over = np.random.default_rng(0), False
    while not is_over:
        _, _, is_over, _, _ = env.step(env.action_space.sample() if chance.random() < 0.5 else first_fit(env))
    rows = env.rows()
    assert len(rows) == 10
    assert {row.job_id: row.host_count for row in rows} == {
        row.job_id: row.requested_number_of_resources for row in rows
    }


def first_fit(env: Any) -> Any:
    """Free hosts for the first job that fits."""
    action, world = np.zeros(len(env.action_space.nvec), np.int64), env.world
    for place, job in enumerate(world.queue[: env.max_queue]):
        if world.sizes[job] <= world.free:
            action[list(world.hosts)[: world.sizes[job]]] = place + 1
            break
    return action
