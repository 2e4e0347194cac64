"""Environments with carbon, prices and watts: what agents see, and what their rewards add up."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from batprotocol.errors import InputError
from batprotocol.gym import Backfill, Batch, Electric, Environment, Hosts, LogArrays, Policies, Power, VectorEnvironment
from batprotocol.workloads.electricity import Trace
from batprotocol.workloads.host_events import Exponential, FailureModel, Fixed

WITHOUT_ENGINE = True

LOG = LogArrays.of("lublin:16?jobs=60&seed=3")
CARBON = Trace([-1800.0, 0.0, 2500.0], [310.0, 100.0, 450.0], 5400.0, "g/kWh", repeats=True)
GREEN = Electric(carbon=CARBON, price="daily:0.2?swing=0.1", watts="idle=95,busy=250", forecast=3)


def played(environment: Environment, seed: int, steps: int = 10_000) -> tuple[list[Any], float, dict[str, Any]]:
    """The observations of an episode with random choices, the sum of its rewards, and the last info."""
    observation, info = environment.reset(seed=seed)
    seen, chance, is_over, total = [observation], np.random.default_rng(seed), False, 0.0
    while not is_over and len(seen) < steps:
        (allowed,) = np.nonzero(info["action_mask"])
        observation, reward, is_over, _, info = environment.step(int(chance.choice(allowed)))
        seen.append(observation)
        total += reward
    return seen, total, info


@pytest.mark.parametrize(
    "options", [{}, {"choice": "fitting", "wait": True}, {"backfilling": "easy", "observation": "flat"}]
)
def test_idle_watts_are_weighted_by_the_trace(options: dict[str, Any]) -> None:
    """Jobs are delays, so the machine always draws the same watts, and the carbon is the integral of the trace."""
    environment = Batch(LOG, jobs=12, electricity=GREEN, reward="carbon", reward_at="step", **options)
    _, total, info = played(environment, 1)
    rows = environment.rows()
    begin, end = min(row.submission_time for row in rows), max(row.finish_time or 0.0 for row in rows)
    grams = 16 * 95 * CARBON.integral(begin, end) / 3.6e6
    assert info["carbon_grams"] == pytest.approx(grams, rel=1e-6)
    assert total == pytest.approx(-grams / 1000, rel=1e-6)
    assert info["cost"] > 0


def test_what_agents_see() -> None:
    environment = Batch(LOG, jobs=12, electricity=GREEN, choice="fitting", wait=True)
    seen, _, _ = played(environment, 2)
    assert all(each["electricity"].shape == (1 + 2 * 4,) for each in seen)
    assert all(environment.observation_space.contains(each) for each in seen)
    watts = [float(each["electricity"][0]) for each in seen]  # jobs are delays: hosts are idle at all times
    assert watts[-1] == pytest.approx(95 / 250)
    assert all(each in (0.0, pytest.approx(95 / 250)) for each in watts)
    environment.reset(options={"first": 0})
    now = environment.world.now
    numbers = environment.observe()["electricity"]
    expected = [CARBON.at(now), *(CARBON.mean(now + 3600 * hour, now + 3600 * (hour + 1)) for hour in range(3))]
    assert numbers[1:5] == pytest.approx([(value - 100) / 350 for value in expected], rel=1e-5)
    flat = Batch(LOG, jobs=12, electricity=GREEN, observation="flat")
    flat.reset(options={"first": 0})
    assert flat.observe()[-9:] == pytest.approx(numbers)
    without = Batch(LOG, jobs=12)
    assert isinstance(without.observation_space, spaces.Dict)
    assert "electricity" not in without.observation_space.spaces


def test_a_trace_that_does_not_change_is_zero() -> None:
    """No value is between its least and its largest one. They are equal, and not the same object."""
    flat = Trace([0.0, 60.0, 120.0], [float("7.5"), float("7.50"), 15.0 / 2], 180.0, "g/kWh", repeats=True)
    environment = Batch(LOG, jobs=3, electricity=Electric(carbon=flat, watts="idle=95,busy=250", forecast=2))
    seen, _, _ = played(environment, 2)
    for each in seen:
        assert list(each["electricity"][1:]) == [0.0] * 3


def test_an_agent_that_waits_decides_when_the_intensity_changes() -> None:
    environment = Batch(LOG, jobs=2, electricity=GREEN, choice="fitting", wait=True)
    environment.reset(options={"first": 0})
    wait, times = environment.mask_size - 1, [environment.world.now]
    for _ in range(4):
        environment.step(wait)
        times.append(environment.world.now)
    changes = [CARBON.next_change(times[0])]
    assert changes[0] in times or environment.world.next == 2
    assert times == sorted(times)


def test_hosts_that_sleep_save_carbon() -> None:
    options: dict[str, Any] = {"jobs": 20, "electricity": GREEN, "reward": "carbon"}
    ends = {}
    for level in (4, 0):
        environment = Power(LOG, **options)
        environment.reset(options={"first": 0})
        is_over = False
        while not is_over:
            needed = environment.world.waiting or environment.world.ends
            _, reward, is_over, _, info = environment.step(4 if needed else level)
        ends[level] = info["carbon_grams"]
        assert reward == pytest.approx(-info["carbon_grams"] / 1000)
    assert ends[0] < ends[4]


@pytest.mark.parametrize("kind", [Policies, Backfill, Power, Hosts])
def test_environments_keep_to_gymnasiums_rules(kind: type[Environment]) -> None:
    check_env(kind(LOG, jobs=4, electricity=GREEN), skip_render_check=True)


def test_moments_and_copies() -> None:
    environment = Batch(LOG, jobs=12, electricity=GREEN, reward="cost", reward_at="step", choice="fitting", wait=True)
    played(environment, 3, steps=6)
    moment = environment.snapshot()
    other = pickle.loads(pickle.dumps(environment))
    ends = []
    for each in (environment, other):
        each.restore(moment)
        total, is_over, info = 0.0, False, {}
        while not is_over:
            _, reward, is_over, _, info = each.step(int(np.nonzero(each.allowed())[0][0]))
            total += reward
        ends.append((total, info["cost"], info["carbon_grams"]))
    assert ends[0] == ends[1]
    many = VectorEnvironment(Batch, 2, workload=LOG, jobs=4, electricity=GREEN)
    seen, _ = many.reset(seed=1)
    assert seen["electricity"].shape == (2, 9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"electricity": Electric(carbon="daily:-1")}, "expected a carbon intensity >= 0"),
        ({"electricity": Electric(carbon=Trace([0.0], [1.0], 9.0, "g/kWh"))}, "expected a carbon that repeats"),
        ({"electricity": Electric(watts="idle=1")}, "expected idle and busy"),
        ({"electricity": Electric(forecast=-1)}, "expected a forecast of hours >= 0"),
        ({"electricity": GREEN, "hosts": "n[0-15]"}, "electricity is for whole hosts"),
        ({"electricity": GREEN, "failures": FailureModel(Exponential(4e4), Fixed(3e3))}, "electricity is for whole"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Batch("lublin:16?jobs=60&seed=3", jobs=4, **options)


def test_rewards_need_electricity() -> None:
    environment = Batch(LOG, jobs=4, electricity=Electric(price="daily:0.2"), reward="carbon", reward_at="step")
    environment.reset(seed=1)
    with pytest.raises(InputError, match="does not know the carbon: use the option electricity with a carbon"):
        environment.step(0)
    with pytest.raises(InputError, match="does not know the price"):
        Batch(LOG, jobs=4).reset(seed=1) and played(Batch(LOG, jobs=4, reward="cost"), 1)
