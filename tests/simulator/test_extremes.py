"""Simulations that go to the ends: equal on all builds and machines, and what they reach."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a program, too

import extremes
from seeds import come_to, played
from support import DATA

from batprotocol.model import JobCompletedEvent
from batprotocol.simulator import read_workload

WITHOUT_ENGINE = True

SEEDS = range(40)
FAR_AND_NEAR = (103, 113)
"""Of 120 simulations, one of those that last longest, and one of those that are over soonest."""
KNOWN = DATA / "extremes.txt"
"""What the simulations of the seeds came to: `python tests/simulator/extremes.py digests 0 40` says it anew."""


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("part", range(8))
def test_they_come_to_what_they_came_to(part: int, tmp_path: Path) -> None:
    known = dict(line.split() for line in KNOWN.read_text().splitlines())
    for seed in SEEDS[part::8]:
        folder = tmp_path / str(seed)
        assert come_to(extremes.write(seed, folder / "inputs"), folder) == known[str(seed)], seed


@pytest.mark.slow
@pytest.mark.long
def test_they_go_to_the_ends(tmp_path: Path) -> None:
    ends, states, platforms = [], set(), ""
    for seed in range(120):
        given = extremes.write(seed, tmp_path / str(seed) / "inputs")
        platforms += given.platform.read_text()
        if seed not in FAR_AND_NEAR:
            continue
        (tmp_path / str(seed) / "out").mkdir()
        messages, _ = played(given, tmp_path / str(seed) / "out")
        ends.append(messages[-1].now)
        states |= {event.state for each in messages for event in each.events if isinstance(event, JobCompletedEvent)}
    assert min(ends) < 10 < 1e8 < max(ends)
    assert len(states) >= 3
    kinds = (
        "Vivaldi",
        "FAT_TREE",
        "TORUS",
        "DRAGONFLY",
        "Floyd",
        "Dijkstra",
        'pstate="1"',
        'TCP-gamma" value="0"',
        '"loop"',
    )
    assert [words for words in kinds if words not in platforms] == []


FEATURES = """
energy | hosts that can sleep | storages | several workloads | external events | kill | probe | periodic call
times of 1e-09 s | times of 1e+09 s | platform: a graph | platform: a topology | platform: clusters | platform: Vivaldi
platform: hosts with all routes | platform: zones in zones | topology: FAT_TREE | topology: TORUS | topology: DRAGONFLY
topology: DRAGONFLY with few blades | stop: a call that runs | stop: a call that does not run | stop: a probe that runs
stop: a probe that does not run | registered: delay | registered: known | registered: sequence | registered: task
registered: trace | executed: DelayProfile | executed: ParallelTaskProfile | executed: ParallelTaskHomogeneousProfile
executed: ParallelTaskOnStorageHomogeneousProfile | executed: ParallelTaskDataStagingBetweenStoragesProfile
executed: TraceReplayProfile | executed: a sequence with a part that cannot be simulated, and is not reached
placement: a mapping | placement: an override | placement: cores first | placement: of storages
power state: a change | power state: a change in a switch | power state: off | power state: on
"""
"""What the simulations are for: each is drawn again and again."""


@pytest.mark.slow
@pytest.mark.long
def test_everything_is_drawn_and_nothing_is_refused(tmp_path: Path) -> None:
    """Batsim can run all of them: what it refuses or crashes on is never drawn."""
    drawn: Counter[str] = Counter()
    refused = []
    for seed in range(60):
        _, ends = extremes.run_of(seed, tmp_path / str(seed), drawn)
        refused += [(seed, ends)] if ends.endswith("error") else []
    assert not refused
    wanted = [feature.strip() for line in FEATURES.strip().splitlines() for feature in line.split(" | ")]
    assert [feature for feature in wanted if not drawn[feature]] == []
    assert set(wanted) >= {feature for feature in drawn if ":" in feature}, "a new feature: name it above"


def test_no_profile_is_without_a_job(tmp_path: Path) -> None:
    """Batsim crashes when it forwards such a profile at the beginning."""
    for seed in range(20):
        for path in extremes.write(seed, tmp_path / str(seed)).workloads:
            workload = read_workload(path)
            assert workload.profiles.keys() == workload.referenced_profiles


def test_a_run_is_described_as_batsim_takes_it(tmp_path: Path) -> None:
    given = extremes.write(8, tmp_path)
    words = extremes.command_of(given).split()
    assert words[:2] == ["-p", "platform.xml"]
    assert words.count("-w") == len(given.workloads)
    assert ("--energy-host" in words) is given.energy
