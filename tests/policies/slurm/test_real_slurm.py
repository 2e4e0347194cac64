"""A real Slurm as a witness: the same jobs start in the same order, on nodes that Slurm allows, and end alike.

`tools/real_slurm.py` recorded what Slurm does; where it is installed, some situations run on it again.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from servers import find
from slurm_logs import SlurmLog, each_job_is_there, starts_are_those_of_the_plugin, the_copy_is_the_log
from slurm_situations import Allowed, Runs, disorder, of_recording, simulated
from support import ROOT

sys.path.append(str(ROOT / "tools"))
from real_slurm import DATA, Situation, read_situations, record, site

WITHOUT_ENGINE = True
SITUATIONS = read_situations()
SLACK = 5
"""Seconds: Slurm looks at its queue now and then, so starts that are closer count as equal."""
AGAIN = ("gpus", "two_partitions", "never_satisfied")
"""What runs on a real Slurm: short, and of different kinds."""

NEEDED = ["faketime", "sbatch", "slurmctld", "slurmd"]
ACCOUNTING = [*NEEDED, "mariadb-install-db", "mariadbd", "slurmdbd"]


def recorded(name: str) -> Runs:
    return of_recording(json.loads((DATA / f"{name}.json").read_text()))


def ends(runs: Runs) -> dict[str, list[str]]:
    """How the runs of each job ended; none for a job that was refused or cancelled."""
    return {name: [run.state for run in each] for name, each in sorted(runs.items())}


def nodes(situation: Situation, runs: Runs) -> dict[str, list[list[str]]]:
    return {
        name: [sorted(run.nodes) for run in each]
        for name, each in sorted(runs.items())
        if name not in situation.elsewhere
    }


def alike(situation: Situation, slurms: Runs, ours: Runs, slack: float = SLACK) -> None:
    assert ends(ours) == ends(slurms)
    assert disorder(slurms, ours, slack) == []
    assert nodes(situation, ours) == nodes(situation, slurms)


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_situation_goes_as_in_slurm(name: str) -> None:
    situation, slurms = SITUATIONS[name], recorded(name)
    allowed = Allowed(situation)
    assert allowed.faults(slurms) == []  # the judge knows what Slurm does
    ours = simulated(situation)
    assert allowed.faults(ours) == []
    alike(situation, slurms, ours)


def test_there_is_a_recording_of_each_situation() -> None:
    assert {path.stem for path in DATA.glob("*.json")} == set(SITUATIONS)
    assert len(SITUATIONS) >= 20


def test_another_schedule_is_noticed() -> None:
    """Without backfilling, or on other nodes, the comparison fails."""
    slurms = recorded("backfilling")
    assert disorder(slurms, simulated(SITUATIONS["backfilling"], "fcfs+best-fit"), SLACK)
    spread = simulated(SITUATIONS["weights"], "conservative+pack")
    assert nodes(SITUATIONS["weights"], spread) != nodes(SITUATIONS["weights"], recorded("weights"))
    moved = {name: [run._replace(nodes=frozenset({"n3"})) for run in each] for name, each in recorded("gpus").items()}
    assert len(Allowed(SITUATIONS["features"]).faults(moved)) > 3


@pytest.mark.long
def test_situations_go_so_on_a_real_slurm() -> None:
    for name in NEEDED:
        find(name)
    with ThreadPoolExecutor(len(AGAIN)) as threads:
        made = dict(zip(AGAIN, threads.map(lambda name: record(SITUATIONS[name], 10), AGAIN), strict=True))
    for name, recording in made.items():
        alike(SITUATIONS[name], of_recording(recording), simulated(SITUATIONS[name]), 2 * SLACK)  # others work here
        assert ends(of_recording(recording)) == ends(recorded(name))


@pytest.mark.long
def test_the_log_of_a_real_slurm_is_taken_as_a_whole(tmp_path: Path) -> None:
    """A site of this minute, with accounting: tests/sites/logs has more to say of one that was recorded."""
    for name in ACCOUNTING:
        find(name)
    log = SlurmLog(tmp_path, record(site(3, 12, 240), 10)["files"])
    assert len(log.submitted) >= 25
    each_job_is_there(log)
    starts_are_those_of_the_plugin(log)
    as_json = log.imported(*log.nodes, "--attempts", "all", name="sacct.json")
    assert log.taken(as_json) == log.completed()
    the_copy_is_the_log(log, "--policies", "fcfs")
