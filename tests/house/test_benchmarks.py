"""The benchmarks of turns reach into sessions and replies: they run, on a few jobs, and tell something of each part."""

from __future__ import annotations

import io
import sys

import pytest
from support import ROOT

sys.path.append(str(ROOT / "tools"))

from benchmark import builds, environments, logs, round_trip, turns

WITHOUT_ENGINE = True

USUAL = round_trip.binary.ENGINES[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", turns.SCHEDULERS)
def test_each_part_of_a_turn_takes_its_time(name: str) -> None:
    budget = turns.measured(turns.SCHEDULERS[name], turns.AHEAD, 1)
    assert len(budget.parts) == len(turns.PARTS)
    assert all(budget.parts)


@pytest.mark.slow
@pytest.mark.parametrize(("jobs", "simulations"), [(2 * round_trip.PART, 1), (20, round_trip.WARM_UP + 2)])
def test_turns_are_measured_against_the_echo(jobs: int, simulations: int) -> None:
    recording = round_trip.delay_jobs("FCFS", jobs)._replace(simulations=simulations)
    ratio = round_trip.measure(recording, USUAL)
    assert ratio.name == f"FCFS, {jobs} delay jobs"
    assert ratio.scheduler > 0 < ratio.echo


@pytest.mark.slow
def test_steps_of_environments_are_measured_beside_cartpole() -> None:
    found = environments.measure(1, 16)
    assert environments.CARTPOLE in found
    assert len(found) == 1 + (1 + len(environments.VECTORS)) * len(environments.KINDS)
    assert all(each.microseconds > 0 for each in found.values())


@pytest.mark.slow
@pytest.mark.parametrize("steps", [0, 2])
def test_reading_logs_is_measured(steps: int) -> None:
    log = io.StringIO()
    rows = logs.write_log(log, 3000, steps)
    ids = {line.partition("|")[0] for line in log.getvalue().splitlines()[1:]}
    found = logs.measure(3000, steps)
    assert found[:2] == (rows, len([id for id in ids if "." not in id]))
    assert found.seconds > 0 < found.megabytes


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [True, False])
def test_a_build_is_as_another_one_that_is_the_same(at_once: bool) -> None:
    case = builds.Case("a few jobs", "multifactor+easy", 30, users=2, at_once=at_once)
    found = [builds.measure(sys.executable, case) for _ in range(2)]
    assert found[0].digest == found[1].digest
    assert all(each.seconds > 0 < each.megabytes for each in found)


@pytest.mark.parametrize("policy", ["fcfs.py:FCFS", "easy"])
def test_turns_of_a_build_are_measured(policy: str) -> None:
    case = builds.Case("a few turns", policy, 5, hosts=4, turns=True)
    found = [builds.measure(sys.executable, case) for _ in range(2)]
    assert found[0].digest == found[1].digest
    assert all(each.seconds > 0 and each.megabytes > 0 for each in found)
