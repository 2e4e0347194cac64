"""The benchmarks of turns reach into sessions and replies: they run, on a few jobs, and tell something of each part."""

from __future__ import annotations

import io
import random
import sys
from pathlib import Path

import pytest
from servers import find
from support import ROOT

sys.path.append(str(ROOT / "tools"))

from benchmark import builds, cpp, environments, in_process, logs, round_trip, turns

from batprotocol import DelayProfile
from batprotocol.edc.commands.scheduler import load
from batprotocol.simulator import StaticJob, Workload

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


def crowded(seed: int) -> Workload:
    """Jobs for 64 hosts that wait: some of them are too large, some have no walltime, and many end at the same time."""
    draw, time, jobs = random.Random(seed), 0.0, []
    for number in range(150):
        time += draw.choice([0.0, draw.uniform(0, 30)])
        walltime = draw.choice([50.0, 100.0, round(draw.uniform(1, 300), 2)])
        profile = DelayProfile(walltime * draw.choice([0.5, 1.0, 2.0]))
        size = draw.choice([1, 2, 5, 16, 30, 64, 65])
        given = walltime if draw.random() < 0.9 else None
        jobs.append(StaticJob(f"{number}", time, size, profile, walltime=given))
    return Workload(jobs, {})


@pytest.mark.slow
def test_schedulers_in_cpp_decide_as_the_examples(tmp_path: Path) -> None:
    """Over a socket, and in the process of a host as Batsim is one."""
    for needed in ("flatc", "g++", "flatbuffers/flatbuffers.h", "zmq.h"):
        find(needed)
    host, in_cpp = in_process.compiled(str(tmp_path)), cpp.scheduled(tmp_path)
    for case in cpp.CASES[:2]:
        for seed in range(10):
            messages, replies = turns.recorded(load(case.example)(), crowded(seed))
            said = [message.to_binary() for message in messages]
            for manner in in_cpp[case.scheduler]:
                spent, decided = cpp.played(host, str(tmp_path), manner, said)
                assert decided == replies[1:]
                assert all(spent)


@pytest.mark.slow
def test_turns_are_measured_beside_those_in_cpp() -> None:
    for needed in ("flatc", "g++", "flatbuffers/flatbuffers.h", "zmq.h"):
        find(needed)
    head, *rows = cpp.compared({"this one": sys.executable}, 30, 1)
    assert head[1:] == ["C++", "this one"]
    assert len(rows) == len(cpp.CASES) * 2 * len(in_process.Spent._fields)
    assert all(float(row[1]) > 0 for row in rows)
