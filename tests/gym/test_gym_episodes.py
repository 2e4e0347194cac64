"""Episodes that are known: the observations, masks, rewards and infos of each environment and option, in all worlds.

`PYTHONPATH=tests python tests/gym/test_gym_episodes.py > tests/data/learning/episodes.txt` keeps the
episodes of today, after a change that is meant to change them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from python_worlds import in_python
from support import DATA

from batprotocol.model import DelayProfile, ParallelTaskHomogeneousProfile
from batprotocol.simulator import JobRow, Platform, SleepPState, StaticJob, Watts, Workload

if TYPE_CHECKING:
    from batprotocol.gym import Environment

WITHOUT_ENGINE = True

KNOWN = DATA / "learning" / "episodes.txt"
EASY_KINDS = ("easy", "easy=sjf", "easy=saf,no-spare", "easy=fcfs,strict", "easy=laf,once", "easy=fcfs,no-spare,strict")
TIMES = ("waiting", "expansion", "start", "fits", "requested")
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "batch": ("Batch", {}),
    "batch-flat": ("Batch", {"observation": "flat", "mask_in_observation": True}),
    "batch-end": ("Batch", {"reward_at": "end", "max_queue": 3, "max_running": 2}),
    "batch-blind": ("Batch", {"max_queue": 1, "max_running": 0, "features": ("f4", "present", "sjf", "fits", "fits")}),
    "batch-times": ("Batch", {"features": (*TIMES, *TIMES), "max_queue": 4, "wait": True}),
    "batch-many": ("Batch", {"features": ("start", "fits", *(6 * ("waiting", "start", "saf")))}),
    "batch-within": ("Batch", {"within": [(2, 34), (50, 60), (60, 91)]}),
    "batch-hosts": ("Batch", {"hosts": 23, "order": "wfp3", "backfilling": "easy"}),
    "batch-coarse": ("Batch", {"resolution": 10.0, "backfilling": "easy"}),
    "batch-half": ("Batch", {"resolution": 0.5, "backfilling": "easy=saf,strict"}),
    "batch-fine": ("Batch", {"resolution": 0.25, "wait": True, "choice": "fitting"}),
    "batch-metric": ("Batch", {"reward": lambda rows: -float(sum(row.waiting_time or 0.0 for row in rows))}),
    "fitting": ("Batch", {"choice": "fitting", "order": "sjf"}),
    "fitting-wait": ("Batch", {"choice": "fitting", "wait": True, "max_queue": 5, "reward": "waiting"}),
    "wait-order": ("Batch", {"wait": True, "order": "expansion", "max_queue": 4, "backfilling": "easy"}),
    **{f"batch-{kind}": ("Batch", {"backfilling": kind, "reward": "waiting"}) for kind in EASY_KINDS},
    "batch-easy-saf-order": ("Batch", {"backfilling": "easy=saf", "order": "saf", "wait": True}),
    "batch-easy-ljf-order": ("Batch", {"backfilling": "easy", "order": "ljf", "max_queue": 5}),
    "batch-greedy": ("Batch", {"backfilling": "greedy", "reward": "utilisation"}),
    "batch-greedy-largest": ("Batch", {"backfilling": "greedy=largest", "order": "lcfs"}),
    "policies": ("Policies", {}),
    "policies-many": ("Policies", {"policies": ("laf", "wfp3", "smallest"), "backfilling": "easy", "max_queue": 2}),
    "policies-fitting": ("Policies", {"choice": "fitting", "reward": "utilisation", "reward_at": "end"}),
    "backfill": ("Backfill", {}),
    "backfill-order": ("Backfill", {"order": "f2", "reward": "utilisation", "max_queue": 6}),
    "backfill-free": ("Backfill", {"reserve": False, "reward": "waiting", "order": "wfp3"}),
    "power": ("Power", {}),
    "power-levels": ("Power", {"levels": 2, "reward": "waiting", "order": "saf"}),
    "hosts": ("Hosts", {}),
    "hosts-order": ("Hosts", {"order": "sjf", "max_queue": 3, "reward": "utilisation"}),
}
PLAIN = [name for name, (kind, _) in KINDS.items() if kind not in ("Power", "Hosts")]


def workload(seed: int, count: int = 110, hosts: int = 20) -> Workload:
    """Jobs that crowd at some times, for fractions of seconds, with and without walltimes, and ids in no order."""
    random = Random(seed)
    jobs, now = [], 0.0
    for number in range(count):
        now += random.choice([0.0, 0.0, 1.0, round(random.expovariate(1 / 60), 2), 300.0 * (number % 7 == 0)])
        lasts = random.choice([10.0, 300.0, round(random.expovariate(1 / 400), 2) + 0.5])
        walltime = random.choice([None, 600.0, 300.0, lasts, round(lasts * 0.8 + 1, 2), 3.0 * lasts])
        size = random.choice([1, 1, 2, 4, random.randint(1, hosts), random.randint(1, hosts // 3), hosts])
        jobs.append(StaticJob(str(number * 37 % count), now, size, DelayProfile(lasts), walltime=walltime))
    return Workload(jobs, {})


def noted(value: Any) -> str:
    """A value of an observation or info as a text, with the digits that are the same on all machines."""
    if isinstance(value, dict):
        return ",".join(f"{name}:{noted(each)}" for name, each in value.items())
    if isinstance(value, np.ndarray):
        return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    return f"{value:.9e}" if isinstance(value, float) else str(value)


def episodes(kind: Callable[..., Any], options: dict[str, Any], source: object = None) -> str:
    """The digest of an episode that is drawn, and of one that begins where it is asked to."""
    env = kind(workload(7) if source is None else source, **{"jobs": 30, "reward_at": "step", **options})
    found = hashlib.sha256(repr((env.observation_space, env.action_space)).encode())
    chance = Random(5)
    for begin in ({"seed": 3}, {"options": {"first": 41}}):
        seen, info = env.reset(**begin)
        found.update(f"{noted(seen)} {noted(info)}".encode())
        is_over = False
        while not is_over:
            seen, reward, is_over, _, info = env.step(action(env, info["action_mask"], chance))
            found.update(f"{noted(seen)} {reward:.9e} {env.value():.9e} {noted(info)}".encode())
        found.update(repr([rows_of(row) for row in env.rows()]).encode())
    return found.hexdigest()[:16]


def rows_of(row: JobRow) -> tuple[Any, ...]:
    times = (row.submission_time, row.starting_time, row.execution_time, row.requested_time)
    return row.job_id, row.final_state, row.requested_number_of_resources, [f"{time or -1.0:.6f}" for time in times]


def action(env: Any, mask: Any, chance: Random) -> Any:
    """An action that is allowed, or now and then any one."""
    if hasattr(env.action_space, "n"):
        if chance.random() < 0.1:
            return chance.randrange(int(env.action_space.n))
        return chance.choice(np.flatnonzero(mask).tolist())
    choices = [chance.choice([0, 1, 2, 3]), 1] if chance.random() < 0.8 else [0, 1, 2, 3]
    return np.array([chance.choice(choices) for _ in env.action_space.nvec])


def kind_of(name: str) -> type[Environment]:
    import batprotocol.gym

    found: type[Environment] = getattr(batprotocol.gym, KINDS[name][0])
    return found


def known() -> dict[str, str]:
    return dict(line.split(" ") for line in KNOWN.read_text().splitlines())


@pytest.mark.parametrize("name", KINDS)
def test_episodes_are_those_that_are_known(name: str) -> None:
    assert episodes(kind_of(name), KINDS[name][1]) == known()[name]


@pytest.mark.parametrize("name", PLAIN)
def test_episodes_are_the_same_in_python(name: str) -> None:
    assert episodes(in_python(kind_of(name)), KINDS[name][1]) == known()[name]


def others() -> dict[str, Callable[[], str]]:
    """Episodes that Batsim simulates: on wholes of seconds and of other jobs, and on a platform of their own."""
    from batprotocol.gym import Batch, Hosts, Power

    whole = [
        StaticJob(str(number), float(number // 3 * 20), 1 + number * 7 % 13, DelayProfile(float(5 + number * 37 % 90)))
        for number in range(80)
    ]
    computing = [
        StaticJob(str(number), 30.0 * number, 1 + number % 5, ParallelTaskHomogeneousProfile(1e10 * (1 + number % 7)))
        for number in range(80)
    ]
    quick = Platform.homogeneous(
        20,
        speeds=(1e9, 1.0, 0.1, 0.05),
        watts=(Watts(50.0, 100.0, 100.0), Watts(5.0, 5.0, 5.0), Watts(60.0, 60.0, 60.0), Watts(70.0, 70.0, 70.0)),
        sleep_pstates=(SleepPState(1, 2, 3),),
        properties={"sleep_pstates": "1:2:3"},
        bandwidth=float("inf"),
        latency=0.0,
    )
    return {
        "whole": lambda: episodes(Batch, {"backfilling": "easy", "hosts": 16}, Workload(whole)),
        "whole-python": lambda: episodes(in_python(Batch), {"backfilling": "easy", "hosts": 16}, Workload(whole)),
        "simulated": lambda: episodes(Batch, {"simulated": True, "backfilling": "easy", "wait": True}),
        "computing": lambda: episodes(Batch, {"hosts": 8, "backfilling": "easy"}, Workload(computing)),
        "computing-hosts": lambda: episodes(Hosts, {"hosts": 8, "max_queue": 4}, Workload(computing)),
        "power-platform": lambda: episodes(Power, {"levels": 4, "platform": quick}),
    }


OTHERS = ("whole", "whole-python", "simulated", "computing", "computing-hosts", "power-platform")


@pytest.mark.parametrize("name", OTHERS)
def test_other_episodes_are_those_that_are_known(name: str) -> None:
    assert others()[name]() == known()[name]


def test_the_list_is_complete() -> None:
    assert list(known()) == [*KINDS, *OTHERS]


if __name__ == "__main__":
    for each in KINDS:
        print(each, episodes(kind_of(each), KINDS[each][1]))
    for each in OTHERS:
        print(each, others()[each]())
