"""What is simulated directly is what the embedded Batsim says, and what is backfilled is what policies backfill."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.model import DelayProfile
from batprotocol.policies import Order, Policy, State, WaitingJob, named
from batprotocol.simulator import JobRow, Platform, StaticJob, Workload, simulate

WITHOUT_ENGINE = True

HOSTS = 6
TIMES = st.sampled_from([0.0, 1.0, 2.0, 5.0, 10.0, 30.0])


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Jobs of whole seconds, many of them at one time, whose walltimes may be shorter than they run, or missing."""
    jobs, now = [], 0.0
    for number in range(draw(st.integers(1, 14))):
        now += draw(TIMES)
        lasts = draw(st.sampled_from([1.0, 2.0, 3.0, 7.0, 10.0, 20.0]))
        walltime = draw(st.sampled_from([None, 1.0, 3.0, 10.0, 20.0, 25.0]))
        jobs.append(StaticJob(f"{number}", now, draw(st.integers(1, HOSTS)), DelayProfile(lasts), walltime))
    return Workload(jobs)


KINDS: list[dict[str, Any]] = [
    {},
    {"wait": True},
    {"choice": "fitting"},
    {"choice": "fitting", "wait": True},
    {"backfilling": "easy", "order": "sjf"},
    {"backfilling": "easy=saf"},
    {"backfilling": "easy=fcfs,no-spare,strict,once", "order": "wfp3"},
    {"backfilling": "greedy=sjf", "wait": True},
]


@settings(max_examples=40, deadline=None)
@given(workloads(), st.sampled_from(KINDS), st.integers(0, 2**32 - 1))
def test_both_worlds_are_equal_decision_by_decision(workload: Workload, options: dict[str, Any], seed: int) -> None:
    from batprotocol.gym import Batch, Log

    log = Log(workload, hosts=HOSTS)
    both = [
        Batch(log, jobs=len(log), max_queue=8, max_running=4, reward_at="step", simulated=simulated, **options)
        for simulated in (False, True)
    ]
    told: list[Any] = [(*env.reset(seed=0), 0.0, False) for env in both]
    chance = np.random.default_rng(seed)
    while True:
        np.testing.assert_equal(told[0][:2], told[1][:2])
        assert told[0][2] == pytest.approx(told[1][2], rel=1e-12, abs=1e-12)
        assert told[0][3] == told[1][3]
        if told[0][3]:
            break
        action = int(chance.choice(np.flatnonzero(told[0][1]["action_mask"])))
        told = [(seen, info, reward, over) for seen, reward, over, _, info in (env.step(action) for env in both)]
    direct, simulated = ({row.job_id: row for row in env.rows()} for env in both)
    assert direct.keys() == simulated.keys()
    assert len(direct) == len(log)
    assert starts(direct.values()) == starts(simulated.values())
    for name, row in direct.items():
        other = simulated[name]
        assert row.execution_time == other.execution_time
        assert row.final_state == other.final_state


def starts(rows: Iterable[JobRow]) -> dict[str, float]:
    """When jobs started; a message takes 1e-300 s at least."""
    return {row.job_id: round(row.starting_time or 0.0, 9) for row in rows}


class Given(Order):
    """An order by keys that were drawn."""

    def __init__(self, keys: dict[str, int]) -> None:
        self.keys = keys

    def key(self, job: WaitingJob, state: State) -> int:
        return self.keys[job.id]


@settings(max_examples=30, deadline=None)
@given(
    workloads(),
    st.sampled_from(
        ["none", "easy", "easy=sjf", "easy=fcfs,no-spare,strict,once", "easy=saf,strict", "greedy=largest"]
    ),
    st.randoms(use_true_random=False),
)
def test_backfilling_is_that_of_policies(workload: Workload, kind: str, chance: Any) -> None:
    """Whatever is chosen: a policy that chooses the same, and keeps it, starts all jobs at the same times."""
    from batprotocol.gym import Batch

    numbers = list(range(len(workload)))
    chance.shuffle(numbers)
    order = Given({submission.id: number for submission, number in zip(workload, numbers, strict=True)})
    backfilling = named(f"fcfs+{kind}")().backfilling
    env = Batch(workload, hosts=HOSTS, jobs=len(workload), backfilling=backfilling)
    env.begin_episode()
    is_over = False
    while not is_over:
        _, is_over = env.decide(env.pick(order))
    policy = Policy(order, named(f"fcfs+{kind}")().backfilling, each=True, keeps=True, resolution=1)
    result = simulate(Platform.homogeneous(HOSTS, bandwidth=1e300, latency=0.0), workload, policy)
    assert starts(env.rows()) == starts(result.jobs)
