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


FEATURES = ("fits", "start", "waiting", "f4", "present", "expansion", "requested", "area", "processors", "sjf")


@settings(max_examples=40, deadline=None)
@given(workloads(), st.sampled_from(KINDS), st.integers(0, 2**32 - 1), st.sampled_from([None, 0.5, 4.0]))
def test_all_worlds_are_equal_decision_by_decision(
    workload: Workload, options: dict[str, Any], seed: int, resolution: float | None
) -> None:
    from batprotocol.gym import Batch, LogArrays
    from batprotocol.gym._world import PythonDirect

    class InPython(Batch):
        def make_world(self, first: int, ranks: Any, tried: Any) -> Any:
            return PythonDirect(self.log, first, self.jobs, ranks, tried)

    log = LogArrays(workload, hosts=HOSTS, resolution=resolution)
    options = {"jobs": len(log), "max_queue": 8, "max_running": 4, "features": FEATURES, **options}
    envs = [kind(log, reward_at="step", **options) for kind in (Batch, InPython)]
    if resolution != 4.0:  # else what Batsim does between two steps of the clock would matter
        envs.append(Batch(log, reward_at="step", simulated=True, **options))
    told: list[Any] = [(*env.reset(seed=0), 0.0, False) for env in envs]
    chance = np.random.default_rng(seed)
    while True:
        for other in told[1:]:
            np.testing.assert_equal(told[0][:2], other[:2])
            assert told[0][2] == pytest.approx(other[2], rel=1e-12, abs=1e-12)
            assert told[0][3] == other[3]
        if told[0][3]:
            break
        action = int(chance.choice(np.flatnonzero(told[0][1]["action_mask"])))
        told = [(seen, info, reward, over) for seen, reward, over, _, info in (env.step(action) for env in envs)]
    first, *others = ({row.job_id: row for row in env.rows()} for env in envs)
    assert len(first) == len(log)
    for rows in others:
        assert starts(first.values()) == starts(rows.values())
        for name, row in first.items():
            assert (row.execution_time, row.final_state) == (rows[name].execution_time, rows[name].final_state)


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
        ["none", "easy", "easy=sjf", "easy=fcfs,no-spare,strict,once", "easy=saf,strict", "greedy", "greedy=largest"]
    ),
    st.randoms(use_true_random=False),
)
def test_backfilling_is_that_of_policies(workload: Workload, kind: str, chance: Any) -> None:
    """Whatever is chosen: a policy that chooses the same, and keeps it, starts all jobs at the same times.

    Without an inner order, an environment backfills in the order of submissions, as it has no other one. A policy
    backfills in its own order, so it is given that of submissions.
    """
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
    inner = f"{kind}=fcfs" if kind in ("easy", "greedy") else kind
    policy = Policy(order, named(f"fcfs+{inner}")().backfilling, each=True, keeps=True, resolution=1)
    result = simulate(Platform.homogeneous(HOSTS, bandwidth=1e300, latency=0.0), workload, policy)
    assert starts(env.rows()) == starts(result.jobs)


def test_the_steps_in_c_refuse_what_would_lead_astray() -> None:
    """Nobody asks for this, but whoever does must not crash Python."""
    play_of = pytest.importorskip("batprotocol.gym._play").Play
    times = (np.array([0.0, 1.0]), np.array([9.0, 9.0]), np.array([5.0, 5.0]))
    fixed = (*times, np.array([1, 2], np.int64), None, None)
    play = play_of(fixed, 0, 2, 4, 1.0, 1.0, True)
    for call, error in (
        (lambda: play_of(fixed, 0, 3, 4, 1.0, 1.0, True), ValueError),
        (lambda: play_of(fixed, 0, 0, 4, 1.0, 1.0, True), ValueError),
        (lambda: play_of(fixed, -1, 2, 4, 1.0, 1.0, True), ValueError),
        (lambda: play_of(fixed, 0, 2, 1, 1.0, 1.0, True), ValueError),
        (lambda: play_of((*times, np.arange(4)[::2], None, None), 0, 2, 4, 1.0, 1.0, True), (ValueError, BufferError)),
        (lambda: play_of((*times, None, None, None), 0, 2, 4, 1.0, 1.0, True), TypeError),
        (lambda: play.take(0), IndexError),
        (lambda: play.start(2), IndexError),
        (lambda: play.start(-1), IndexError),
        (lambda: (play.start(0), play.start(0)), ValueError),
        (lambda: play.wait_for(0, None), ValueError),
        (lambda: play.set_queue(b"12345678"), ValueError),
        (lambda: play.set_state((0.0, 4, 3, 0, 0, 0, 0, b"")), ValueError),
        (lambda: play.see(bytearray(4), b"", b"", b"", (1, 0, 1, 0, 0, -1), ()), ValueError),
        (lambda: play.see(bytearray(4), b"", b"", b"", (1, 0, 1, 1, 0, -1), ()), ValueError),
    ):
        with pytest.raises(error):
            call()
