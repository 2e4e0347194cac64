"""The example of a scheduler, with nodes at a real broker: it migrates and freezes jobs when bandwidth runs out."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Any

import pytest
from brokers import PATIENCE, Mosquitto
from fast_nodes import nodes
from processes import ENVIRONMENT
from support import ROOT

from batprotocol.fast import run

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow
EXAMPLE = ROOT / "examples" / "fast_coschedule.py"
TIMES = [
    option
    for deed in ("start", "stop", "suspend", "resume", "migrate", "mmbwmon")
    for option in (f"--{deed}-time", "0.01")
]


def example() -> Any:
    """The module of the example, which is in no package."""
    spec = importlib.util.spec_from_file_location("fast_coschedule", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_jobs(broker: Mosquitto, uses: dict[str, float], hosts: list[str], *options: str) -> Any:
    """What the scheduler did with jobs that use so much of a node's bandwidth each."""
    module = example()
    shares = [option for name, use in uses.items() for option in ("--bandwidth", f"{name}:{use}")]
    scheduler = module.CoScheduler(hosts, [module.Job(name, 1.5) for name in uses])
    with nodes(hosts, broker.address, *TIMES, *shares, *options):
        run(scheduler, broker.address)
    return scheduler


def test_jobs_that_go_together_stay_where_they_are(mosquitto: Mosquitto) -> None:
    scheduler = run_jobs(mosquitto, dict.fromkeys("abcd", 0.3), ["node-a", "node-b"])
    assert sorted(scheduler.finished) == ["a", "b", "c", "d"]
    assert (scheduler.migrated, scheduler.frozen) == ([], [])


def test_a_job_that_needs_too_much_swaps_its_place(mosquitto: Mosquitto) -> None:
    """a and c are on the first node, which cannot carry both; b needs little."""
    scheduler = run_jobs(mosquitto, {"a": 0.6, "b": 0.1, "c": 0.6}, ["node-a", "node-b"])
    assert sorted(scheduler.finished) == ["a", "b", "c"]
    assert (scheduler.migrated, scheduler.frozen) == (["c"], [])


def test_a_job_that_fits_nowhere_is_frozen(mosquitto: Mosquitto) -> None:
    scheduler = run_jobs(mosquitto, {"a": 0.6, "b": 0.6}, ["node-a"])
    assert scheduler.finished == ["a", "b"]
    assert (scheduler.migrated, scheduler.frozen) == ([], ["b"])


def test_jobs_that_fail_are_given_up(mosquitto: Mosquitto, capsys: pytest.CaptureFixture[str]) -> None:
    scheduler = run_jobs(mosquitto, dict.fromkeys("abcd", 0.1), ["node-a"], "--fail", "start:0.5", "--seed", "3")
    failed = {line.split()[0] for line in capsys.readouterr().err.splitlines()}
    assert len(failed) == 2
    assert sorted([*scheduler.finished, *failed]) == ["a", "b", "c", "d"]


def test_it_is_a_program_too(mosquitto: Mosquitto) -> None:
    command = [sys.executable, str(EXAMPLE), mosquitto.address, "node-a", "node-b"]
    with nodes(["node-a", "node-b"], mosquitto.address, *TIMES):
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout.startswith("finished: 8")
