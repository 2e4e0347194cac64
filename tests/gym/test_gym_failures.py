"""Environments whose hosts fail: no job has a host that is away, and observations report how many are."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.gym import Backfill, Batch, Hosts, LogArrays, Policies, Power, VectorEnvironment
from batprotocol.gym._simulated import FailingWorld
from batprotocol.model import FinalJobState
from batprotocol.model.hosts import parse_hosts
from batprotocol.workloads.host_events import Exponential, FailureModel, Fixed, HostEvent, HostStates, read_host_event

WITHOUT_ENGINE = True

LOG = "lublin:16?jobs=120&seed=3"
SHARED = LogArrays.of(LOG)
OFTEN = FailureModel(Exponential(40_000.0), Fixed(3_000.0))


def lines(events: list[tuple[float, dict[str, Any]]]) -> str:
    return "".join(
        json.dumps({"type": "generic", "timestamp": time, "data": json.dumps(data)}) + "\n" for time, data in events
    )


def played(environment: Batch, seed: int) -> tuple[list[Any], dict[str, Any]]:
    """The observations of an episode with random choices, and the last info."""
    observation, info = environment.reset(seed=seed)
    seen, chance, is_over = [observation], np.random.default_rng(seed), False
    while not is_over:
        (allowed,) = np.nonzero(info["action_mask"])
        observation, _, is_over, _, info = environment.step(int(chance.choice(allowed)))
        seen.append(observation)
    return seen, info


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"backfilling": "easy"},
        {"choice": "fitting"},
        {"choice": "fitting", "wait": True},
        {"backfilling": "greedy"},
    ],
)
def test_no_job_runs_on_a_host_that_is_away(options: dict[str, Any]) -> None:
    environment = Batch(LOG, jobs=40, failures=OFTEN, observation="flat", **options)
    lost = 0
    for seed in range(2):
        _, info = played(environment, seed)
        world = environment.world
        assert isinstance(world, FailingWorld)
        rows = environment.rows()
        assert len(rows) == 40
        killed = [row for row in rows if row.final_state is FinalJobState.COMPLETED_KILLED]
        assert info["lost_jobs"] == len(killed)
        lost += len(killed)
        expect_apart(world, rows)
    assert lost


def expect_apart(world: FailingWorld, rows: list[Any]) -> None:
    """No job starts on a host that is away, and none is there after a failure."""
    (events,) = world._simulator._setup.event_lists
    states = HostStates(16)
    away: list[tuple[float, set[int], set[int]]] = [(-1.0, set(), set())]
    for each in events.events:
        change = read_host_event(each.data)
        assert isinstance(change, HostEvent)
        states.take(each.timestamp, change)
        away.append((each.timestamp, set(states.down), set(states.drained)))
    for row in rows:
        hosts = set(parse_hosts(row.allocated_resources))
        before, after = (  # a host may come back at that time
            [down | drained for time, down, drained in away if time <= row.starting_time + shift][-1]
            for shift in (-1e-3, 1e-3)
        )
        assert not hosts & before & after
        for time, down, _ in away:
            if row.starting_time < time < row.finish_time - 1e-3:
                assert not hosts & down


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(st.integers(0, 5000), st.integers(1, 4000), st.sets(st.integers(0, 15), min_size=1), st.booleans()),
        max_size=6,
    ),
    st.integers(0, 99),
)
def test_given_events(tmp_path_factory: pytest.TempPathFactory, drawn: list[Any], seed: int) -> None:
    """Outages of different hosts, as failures or drains; a job on a drained host runs to its end."""
    events, used = [], set()
    for begin, lasting, hosts, fails in drawn:
        hosts -= used
        used |= hosts
        if hosts:
            text = ",".join(map(str, sorted(hosts)))
            events.append((float(begin), {"hosts": text, "state": "down" if fails else "drain"}))
            events.append((float(begin + lasting), {"hosts": text, "state": "up"}))
    path = tmp_path_factory.mktemp("events") / "events.jsonl"
    path.write_text(lines(sorted(events, key=lambda each: each[0])))
    environment = Batch(SHARED, jobs=10, failures=path, backfilling="easy")
    played(environment, seed)
    rows = environment.rows()
    assert len(rows) == 10
    world = environment.world
    assert isinstance(world, FailingWorld)
    expect_apart(world, rows)
    if not any(fails for *_, fails in drawn):
        assert world.lost == 0


def test_observations_report_the_hosts_away(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(lines([(0.5, {"hosts": "0-3", "state": "down"}), (1e7, {"hosts": "0-3", "state": "up"})]))
    environment = Batch(LOG, jobs=10, failures=path)
    plain = Batch(LOG, jobs=10)
    assert environment.observation_space["machine"].shape == (4,)
    assert plain.observation_space["machine"].shape == (3,)
    seen, _ = played(environment, 1)
    assert {float(each["machine"][3]) for each in seen[2:-1]} == {0.25}
    assert all(environment.observation_space.contains(each) for each in seen)


@pytest.mark.parametrize("kind", [Batch, Policies, Backfill])
def test_conventions(kind: Any) -> None:
    check_env(kind(LOG, jobs=15, failures=OFTEN), skip_render_check=True)


def test_an_episode_without_failures_is_that_of_the_embedded_batsim() -> None:
    never = FailureModel(Exponential(1e12), Fixed(1.0))
    one, other = Batch(LOG, jobs=30, failures=never, backfilling="easy"), Batch(LOG, jobs=30, backfilling="easy")
    for environment in (one, other):
        environment.reset(seed=4, options={"first": 7})
        is_over = False
        while not is_over:
            _, is_over = environment.decide(environment.pick("sjf"))
    ours, theirs = (
        [(row.job_id, row.starting_time, row.execution_time) for row in sorted(each.rows(), key=lambda row: row.job_id)]
        for each in (one, other)
    )
    assert ours == pytest.approx(theirs) if not ours else [each[0] for each in ours] == [each[0] for each in theirs]
    for mine, direct in zip(ours, theirs, strict=True):
        assert mine[1:] == pytest.approx(direct[1:], abs=1e-3)


def test_seeds_draw_failures() -> None:
    environment = Batch(LOG, jobs=30, failures=OFTEN, observation="flat")
    first, again, other = (played(environment, seed)[0] for seed in (5, 5, 6))
    assert all(np.array_equal(one, two) for one, two in zip(first, again, strict=True))
    assert len(first) != len(other) or not all(np.array_equal(one, two) for one, two in zip(first, other, strict=True))


def test_moments_are_kept() -> None:
    environment = Batch(LOG, jobs=30, failures=OFTEN, observation="flat")
    environment.reset(seed=1)
    for _ in range(10):
        environment.decide(0)
    moment = pickle.loads(pickle.dumps(environment.snapshot()))
    ends = []
    for _ in range(2):
        environment.restore(moment)
        is_over = False
        while not is_over:
            value, is_over = environment.decide(0)
        ends.append((value, environment.world.now, environment.world.lost))
    assert ends[0] == ends[1]


def test_several_at_a_time() -> None:
    environments = VectorEnvironment(Batch, 2, workload=LOG, jobs=15, failures=OFTEN)
    observations, _ = environments.reset(seed=1)
    assert observations["machine"].shape == (2, 4)


def test_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(lines([(5.0, {"hosts": "0", "state": "down"})]))
    with pytest.raises(InputError, match=r"events\.jsonl: state: host 0 does not come back"):
        Batch(LOG, jobs=9, failures=path)
    path.write_text(lines([(5.0, {"hosts": "99", "state": "down"})]))
    with pytest.raises(InputError, match=r"events\.jsonl:1: hosts: there is no host 99"):
        Batch(LOG, jobs=9, failures=path)
    path.write_text(lines([(5.0, {"hosts": "0", "window": {"begin": 9, "end": 10}})]))
    with pytest.raises(InputError, match="no windows"):
        Batch(LOG, jobs=9, failures=path)
    with pytest.raises(InputError, match="expected failures as a FailureModel"):
        Batch(LOG, jobs=9, failures=[])
    with pytest.raises(InputError, match="failures are for Batch, Policies and Backfill"):
        Batch(LOG, jobs=9, hosts="n[0-15] cores=2", failures=OFTEN)
    for kind in (Power, Hosts):
        with pytest.raises(InputError, match="failures are for"):
            kind(failures=OFTEN)
